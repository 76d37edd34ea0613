//! Kitchen timers: start, change, stop, and how long is left.

use super::command::Command;
use super::index::Target;
use super::lattice::{Reading, Span};
use super::lexicon::Sense;
use super::number::Value;
use super::text::{Kind, joined};
use super::time::Time;
use super::understand::Sentence;
use super::understanding::{Intent, TimerChange, TimerFilter, Understanding};
use super::vocabulary::{Class, Pred, StateWord, Word};

/// The longest timer, in seconds: a week is more than anybody times.
const LONGEST: u64 = 604_800;

/// What a sentence about a timer holds.
#[derive(Default)]
struct Said {
    preds: Vec<Pred>,
    /// Each duration, and whether "by" or "for" stands before it.
    durations: Vec<(u64, Option<Word>)>,
    all: bool,
    /// Whether the last duration comes on top of what is left: "another five minutes".
    more: bool,
    /// Position of the word "timer" in the row.
    timer: usize,
    /// Whether the verb that changes it stands before the first duration.
    verb_first: bool,
    query: bool,
    /// A question: it changes nothing.
    asking: bool,
}

impl Said {
    /// "Five minutes more" can only be for the timer.
    fn only_changes(&self, row: &[Span]) -> bool {
        let bare = row.iter().all(|span| {
            span.is_mark()
                || span.word(Word::Filler)
                || span.word(Word::And)
                || span.value().is_some()
                || span.sense(|sense| matches!(sense, Sense::Pred(Pred::Add | Pred::Remove)))
        });
        let changes = self.preds.iter().any(|pred| matches!(pred, Pred::Add | Pred::Remove));
        bare && changes && !self.durations.is_empty()
    }
}

impl Command<'_> {
    /// Reads a sentence that has the word "timer"; `None` where it is about something else.
    pub fn timer(&self, sentence: &Sentence) -> Option<Understanding> {
        let more = |key: &str| self.lexicon.means(key, Sense::Word(Word::More));
        let said = said(sentence, &more)?;
        // "Turn off the light …": a command beside the timer is not for the timer.
        let other = sentence.row.iter().any(|span| {
            span.sense(|sense| matches!(sense, Sense::Class(Class::Light | Class::Fan | Class::Everything)))
        });
        let switched = [Pred::On, Pred::Off, Pred::OnOrOpen, Pred::OffOrClose];
        if other && said.preds.iter().any(|pred| switched.contains(pred)) {
            return None;
        }
        let filter = TimerFilter {
            label: self.label(sentence, said.timer),
            length: None,
            area: sentence.row.iter().flat_map(Span::targets).find_map(|target| match target {
                Target::Area(area) => self.index.areas.get(*area).map(|area| area.id.clone()),
                Target::Entity(_) | Target::Floor(_) | Target::Scene(_) => None,
            }),
        };
        if is_for_another(sentence, said.timer) {
            return None;
        }
        let change = self.change(&said, filter)?;
        Some(Understanding::Act(vec![Intent::Timer(change)]))
    }

    fn change(&self, said: &Said, filter: TimerFilter) -> Option<TimerChange> {
        let has = |preds: &[Pred]| !said.asking && said.preds.iter().any(|pred| preds.contains(pred));
        let length = said.durations.last().map(|(seconds, _)| *seconds);
        let known = |filter: TimerFilter| TimerFilter { length, ..filter };
        if has(&[Pred::Pause]) {
            return Some(TimerChange::Pause(known(filter)));
        }
        if has(&[Pred::Resume]) {
            return Some(TimerChange::Resume(known(filter)));
        }
        let grows = has(&[Pred::Add, Pred::Raise]) || (said.more && has(&[Pred::Set]));
        let shrinks = has(&[Pred::Lower, Pred::Remove]);
        if (grows || shrinks) && !said.durations.is_empty() {
            let (seconds, length) = Self::changed(said)?;
            let timer = TimerFilter { length, ..filter };
            return Some(if grows {
                TimerChange::Extend { timer, seconds }
            } else {
                TimerChange::Shorten { timer, seconds }
            });
        }
        if has(&[Pred::Cancel, Pred::Stop, Pred::Off, Pred::OffOrClose, Pred::Remove]) {
            return Some(if said.all {
                TimerChange::CancelAll { area: filter.area }
            } else {
                TimerChange::Cancel(known(filter))
            });
        }
        if said.query {
            return Some(TimerChange::Query(known(filter)));
        }
        let length = length.filter(|seconds| *seconds <= LONGEST);
        length.map(|seconds| TimerChange::Start { seconds, label: filter.label })
    }

    /// Which of two durations is the change, and which the length of the timer.
    fn changed(said: &Said) -> Option<(u64, Option<u64>)> {
        let (first, rest) = said.durations.split_first()?;
        let Some(second) = rest.first() else { return Some((first.0, None)) };
        let is = |word: Word| said.durations.iter().position(|(_, before)| *before == Some(word));
        // "Reducir el temporizador de 5 minutos en media hora"
        let by = is(Word::By).or_else(|| is(Word::In));
        // "Add 5 minutes to the 20 minute timer", 把20分钟的计时器延长5分钟.
        let change_is_last = by == Some(1) || (by.is_none() && !said.verb_first);
        Some(if change_is_last { (second.0, Some(first.0)) } else { (first.0, Some(second.0)) })
    }

    /// Where the name stands that a word announces: after it, or before it where nothing follows ("ihn Pizza nennen").
    fn named(&self, row: &[Span], position: usize) -> (usize, usize) {
        let mut from = position + 1;
        while row.get(from).is_some_and(opens_name) {
            from += 1;
        }
        let goes_on = |span: &Span| {
            let of = self.lexicon.han_numbers && span.word(Word::Link);
            let stops = span.word(Word::By) || span.word(Word::For) || of;
            span.time().is_none() && span.value().is_none() && !span.is_mark() && !stops
        };
        let mut to = from + row.iter().skip(from).take_while(|span| goes_on(span)).count();
        // "setze den Timer für Pizza fort": what ends the sentence is not its name.
        while to > from + 1 && row.get(to - 1).is_some_and(|span| !names_timer(span)) {
            to -= 1;
        }
        if from < to {
            return (from, to);
        }
        let before = (0..position).rev().take_while(|at| row.get(*at).is_some_and(names_timer)).last();
        (before.unwrap_or(position), position)
    }

    /// "pizza timer", "timer named pizza", "timer for pizza", 煮面计时器.
    fn label(&self, sentence: &Sentence, timer: usize) -> Option<String> {
        let row = &sentence.row;
        let text = |from: usize, to: usize| {
            let start = row.get(from)?.start;
            let end = row.get(to.checked_sub(1)?)?.end;
            let label = joined(sentence.tokens.get(start..end)?);
            (!label.is_empty()).then_some(label)
        };
        for (position, span) in row.iter().enumerate() {
            let names = span.word(Word::Named)
                || (position > timer
                    && span.word(Word::For)
                    && row.iter().skip(position + 1).find(|span| !opens_name(span)).is_some_and(names_timer));
            if names {
                let (from, to) = self.named(row, position);
                return text(from, to);
            }
        }
        let mut start = timer;
        while let Some(before) = start.checked_sub(1)
            && row.get(before).is_some_and(names_timer)
        {
            start = before;
        }
        if start < timer {
            return text(start, timer);
        }
        if self.lexicon.han_numbers
            && let Some(label) = before_length(row, timer).and_then(|(from, to)| text(from, to))
        {
            return Some(label);
        }
        // "minuteur pizza"
        let named = |span: &Span| span.is_unknown() || (!span.parts().is_empty() && !span.sense(|_| true));
        let opens = |span: &&Span| span.word(Word::Link) || opens_name(span);
        let from = timer + 1 + row.iter().skip(timer + 1).take_while(opens).count();
        let after = row.iter().skip(from).take_while(|span| named(span)).count();
        if after > 0 { text(from, from + after) } else { None }
    }
}

/// "Set a timer to turn off the oven": what is switched off is not the timer.
fn is_for_another(sentence: &Sentence, timer: usize) -> bool {
    let row = &sentence.row;
    let switches = |span: &Span| {
        let preds = [Pred::On, Pred::Off, Pred::OnOrOpen, Pred::OffOrClose];
        span.sense(|sense| matches!(sense, Sense::Pred(pred) if preds.contains(pred)))
    };
    let Some(at) = row.iter().skip(timer + 1).position(switches) else { return false };
    row.iter().skip(timer + at + 2).any(|span| span.is_unknown() || !span.targets().is_empty())
}

/// 煮面的八分钟计时器: the name that stands before the length.
fn before_length(row: &[Span], timer: usize) -> Option<(usize, usize)> {
    let skipped = |span: &Span| span.value().is_some() || span.time().is_some() || span.word(Word::Link);
    let to = (0..timer).rev().find(|at| row.get(*at).is_some_and(|span| !skipped(span)))? + 1;
    let linked = row.get(to).is_some_and(|span| span.word(Word::Link));
    let from = (0..to).rev().take_while(|at| row.get(*at).is_some_and(names_timer)).last()?;
    linked.then_some((from, to))
}

/// An article before a name: "for the pizza".
fn opens_name(span: &Span) -> bool {
    span.word(Word::Article)
        || (span.word(Word::Filler) && !span.sense(|sense| !matches!(sense, Sense::Word(_))))
}

/// Whether a span can be part of a timer's name: nothing that shapes the command.
fn names_timer(span: &Span) -> bool {
    if span.targets().iter().any(|target| matches!(target, Target::Area(_))) {
        return false;
    }
    span.readings.iter().all(|reading| match reading {
        Reading::Unknown | Reading::Part(_) | Reading::Name(_) => true,
        Reading::Sense(sense) => match sense {
            Sense::Class(class) => !matches!(class, Class::Timer | Class::Everything),
            Sense::Color(_) | Sense::Attribute(_) => true,
            Sense::Pred(_)
            | Sense::State(_)
            | Sense::Such(_)
            | Sense::Word(_)
            | Sense::Mode(_)
            | Sense::Remark(_)
            | Sense::Occasion(_)
            | Sense::Talk(_)
            | Sense::White(_)
            | Sense::Level(_) => false,
        },
        Reading::Value(_) | Reading::Time(_) | Reading::Mark => false,
    })
}

/// "Another five minutes", "five minutes more": of "for another five minutes" it is how long a new one runs.
fn comes_on_top(sentence: &Sentence, position: usize, more: &dyn Fn(&str) -> bool) -> bool {
    let row = &sentence.row;
    let Some(span) = row.get(position) else { return false };
    let says =
        |at: Option<usize>, word: Word| at.and_then(|at| row.get(at)).is_some_and(|span| span.word(word));
    let before = position.checked_sub(1);
    let inside = sentence.tokens.get(span.start..span.end).unwrap_or_default();
    let on_top = inside.iter().any(|token| more(&token.key))
        || says(before, Word::More)
        || says(Some(position + 1), Word::More);
    let length = matches!(span.value(), Some(Value::Duration(_)));
    length && on_top && !says(position.checked_sub(2), Word::For)
}

/// `more` says whether a word alone can mean "more".
fn said(sentence: &Sentence, more: &dyn Fn(&str) -> bool) -> Option<Said> {
    // "Give me a ten minute timer" asks nothing.
    let gives = sentence.row.windows(3).any(|row| {
        let length = |span: &Span| matches!(span.value(), Some(Value::Duration(_)));
        let tells = |span: &Span| span.sense(|sense| *sense == Sense::Pred(Pred::Tell));
        matches!(row, [tell, one, long] if tells(tell) && one.word(Word::One) && length(long))
    });
    let asking = sentence.asking && !gives;
    let mut said = Said { query: asking, asking, ..Said::default() };
    let mut before: Option<Word> = None;
    let mut found = false;
    for (position, span) in sentence.row.iter().enumerate() {
        let unit = sentence.tokens.get(span.start).is_some_and(|token| token.kind == Kind::Mark);
        if unit {
            continue;
        }
        if span.sense(|sense| *sense == Sense::Class(Class::Timer)) {
            said.timer = position;
            said.all |= span.plural;
            found = true;
        }
        said.more |= comes_on_top(sentence, position, more);
        if let Some(Value::Duration(seconds)) = span.value() {
            said.durations.push((seconds, before));
        } else if let Some(Time::After(seconds)) = span.time() {
            said.durations.push((seconds, Some(Word::In)));
        } else if let Some(Time::For(seconds)) = span.time() {
            said.durations.push((seconds, Some(Word::For)));
        }
        said.all |= span.word(Word::All) || span.word(Word::House);
        said.query |= span.sense(|sense| matches!(sense, Sense::Attribute(_)));
        for reading in &span.readings {
            if let Reading::Sense(Sense::Pred(pred)) = reading {
                let changes = matches!(pred, Pred::Add | Pred::Remove | Pred::Raise | Pred::Lower);
                said.verb_first |= changes && said.durations.is_empty();
                said.preds.push(*pred);
            }
        }
        // "Alle Timer aus"
        if found && span.sense(|sense| *sense == Sense::State(StateWord::Off)) {
            said.preds.push(Pred::Off);
        }
        // "de" of "un minuteur de 5 minutes" says how long it is, "um" and "by" how much it changes.
        before = (span.word(Word::By) && !span.word(Word::Link)).then_some(Word::By);
    }
    if !found && said.only_changes(&sentence.row) {
        said.timer = sentence.row.len();
        return Some(said);
    }
    found.then_some(said)
}
