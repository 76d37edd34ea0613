//! What a clause says beside what its verb can take: then it was not understood, and nothing is done.

use super::clause::Clause;
use super::command::{Command, Stop};
use super::frame::Frame;
use super::lexicon::Sense;
use super::number::Value;
use super::vocabulary::{Pred, StateWord, Word};

impl Command<'_> {
    /// A value or a setting that the verb cannot take is something that was not understood.
    /// # Errors
    /// Something is left.
    pub fn no_leftovers(&self, clause: &Clause, frame: &Frame) -> Result<(), Stop> {
        let counted = clause.values.iter().any(|value| !matches!(value, Value::Duration(_)));
        let valued = counted || frame.color.is_some() || frame.white.is_some();
        let several = clause.nps.iter().any(|np| np.plural || np.all) || clause.word(Word::All);
        let odd = clause.words.iter().any(|word| is_odd(*word) && !(*word == Word::Other && several));
        let choice = clause.word(Word::Or) && frame.pred != Pred::Toggle;
        let colors = clause.colors.iter().any(|color| Some(*color) != frame.color);
        // "Turn on the lamp 25" says no share of anything.
        let numbers = clause.values.iter().any(|value| matches!(value, Value::Number(_)));
        let bare = numbers
            && matches!(frame.pred, Pred::On | Pred::OnOrOpen)
            && !clause.word(Word::To)
            && frame.attribute.is_none();
        // "To 30 and 60 percent": which is for what? "To 20 degrees, it's 30 in here" tells what is.
        let shares = |value: &Value| match value {
            Value::Number(number)
            | Value::Percent(number)
            | Value::Celsius(number)
            | Value::Fahrenheit(number) => Some(*number),
            Value::Kelvin(_) | Value::Duration(_) => None,
        };
        let mut shared = clause.values.iter().filter_map(shares);
        let first = shared.next();
        // "Set the lamp two fifty percent" is a "to" that was heard wrongly.
        let heard = first.is_some_and(|first| self.sounds_like_to(first)) || clause.word(Word::From);
        let two = !heard && shared.any(|other| Some(other) != first);
        let both = clause.states.contains(&StateWord::On) && clause.states.contains(&StateWord::Off);
        let torn = both && !clause.word(Word::Or) && frame.pred != Pred::Toggle;
        // "… and tell me if the light is on"
        let tells = clause.pred(Pred::Tell) && !clause.states.is_empty();
        let halves = !clause.levels.is_empty() && counted;
        let only = clause.word(Word::Only) && (clause.word(Word::Except) || clause.word(Word::Not));
        let remarks = (!clause.occasions.is_empty() && !clause.preds.is_empty())
            || (!clause.remarks.is_empty() && counted);
        // "Water is wet" tells something.
        let told = clause.states.iter().any(|state| is_only_seen(*state)) && !clause.preds.is_empty();
        if clause.spoiled
            || (takes_no_value(frame.pred) && valued)
            || odd
            || two
            || halves
            || torn
            || tells
            || only
            || choice
            || colors
            || bare
            || remarks
            || told
        {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        Ok(())
    }
}

impl Command<'_> {
    /// Whether the word for a number sounds like "to": "two".
    fn sounds_like_to(&self, number: f64) -> bool {
        let words = self.lexicon.number_words.iter().filter(|(_, value)| **value == number);
        words.map(|(word, _)| word).any(|word| self.lexicon.means(word, Sense::Word(Word::To)))
    }
}

/// States that nothing can be put into.
fn is_only_seen(state: StateWord) -> bool {
    matches!(state, StateWord::Detected | StateWord::Jammed | StateWord::Available | StateWord::Unavailable)
}

/// Verbs beside which a value says something that is not understood.
fn takes_no_value(pred: Pred) -> bool {
    matches!(
        pred,
        Pred::Off
            | Pred::Lock
            | Pred::Unlock
            | Pred::Stop
            | Pred::Toggle
            | Pred::Pause
            | Pred::Resume
            | Pred::Next
            | Pred::Previous
            | Pred::Mute
            | Pred::Unmute
            | Pred::Dock
            | Pred::Mow
            | Pred::Disarm
    )
}

/// Words that shape a sentence in a way that no command does, or belong to a time that was not read.
fn is_odd(word: Word) -> bool {
    matches!(
        word,
        Word::Until
            | Word::Because
            | Word::Later
            | Word::After
            | Word::May
            | Word::Other
            | Word::NeverMind
            | Word::HowMany
            | Word::Which
            | Word::Who
            | Word::Where
            | Word::OClock
            | Word::Hour
            | Word::Minute
            | Word::Second
            | Word::Day
            | Word::Week
            | Word::Month
            | Word::Year
            | Word::MonthMark
            | Word::DayMark
            | Word::January
            | Word::February
            | Word::March
            | Word::April
            | Word::June
            | Word::July
            | Word::August
            | Word::September
            | Word::October
            | Word::November
            | Word::December
    )
}
