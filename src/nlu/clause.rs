//! What one clause says: who does what to which, how much, and when. `scan` cuts sentences into them.

use super::index::Target;
use super::number::Value;
use super::time::Time;
use super::vocabulary::{Attribute, Class, Mode, Occasion, Pred, Remark, StateWord, Word};

/// One noun of a noun phrase with everything that it can name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noun {
    /// In order.
    pub targets: Vec<Target>,
    /// Entities with a part of their name here, in order.
    pub parts: Vec<usize>,
    pub classes: Vec<Class>,
    /// Entities whose names hold what is special in the words of a kind: the "ceiling" of "ceiling light".
    pub special: Vec<usize>,
    /// Entities that bear the word itself, where it is not the plain one of its kind: of several lights the one called
    /// "chandelier".
    pub called: Vec<usize>,
    pub text: String,
    pub plural: bool,
}

impl Noun {
    pub fn names_entity(&self) -> bool {
        self.targets.iter().any(|target| matches!(target, Target::Entity(_) | Target::Scene(_)))
    }

    /// The entities that it names in full.
    pub fn entities(&self) -> impl Iterator<Item = usize> {
        self.targets.iter().filter_map(|target| match target {
            Target::Entity(item) => Some(*item),
            Target::Area(_) | Target::Floor(_) | Target::Scene(_) => None,
        })
    }

    /// Whether it is the full name of an entity.
    pub fn has_entity_target(&self) -> bool {
        self.entities().next().is_some()
    }

    /// Whether it only says where.
    pub fn is_place(&self) -> bool {
        !self.targets.is_empty()
            && self.classes.is_empty()
            && self.targets.iter().all(|target| matches!(target, Target::Area(_) | Target::Floor(_)))
    }

    pub fn is_head(&self) -> bool {
        !self.is_place() && (self.names_entity() || !self.classes.is_empty())
    }
}

/// What the verb acts on, as said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Np {
    pub nouns: Vec<Noun>,
    pub all: bool,
    /// "Both lights": all of them, where these are two.
    pub both: bool,
    pub any: bool,
    pub plural: bool,
    /// "One of the lights": which one is not said.
    pub one_of: bool,
    /// How the things must be that are meant: "the open blinds".
    pub such: Option<StateWord>,
    /// Here, upstairs, outside, in the house.
    pub places: Vec<Word>,
    /// Words in it that nothing explains.
    pub unknown: Vec<String>,
    /// Index of the first token, for the order of things.
    pub start: usize,
    /// Whether it was coordinated with the one before it ("and").
    pub joined: bool,
}

impl Np {
    pub fn is_place(&self) -> bool {
        self.unknown.is_empty()
            && (!self.nouns.is_empty() || !self.places.is_empty())
            && self.nouns.iter().all(Noun::is_place)
    }

    pub fn has_class(&self, class: Class) -> bool {
        self.nouns.iter().any(|noun| noun.classes.contains(&class))
    }

    /// Whether it names one thing of a kind by what that one alone is called: "the chandelier".
    pub fn singles_out(&self) -> bool {
        !self.plural && self.nouns.iter().any(|noun| noun.has_entity_target() || !noun.called.is_empty())
    }

    /// Whether it names kinds of things and places, and nothing by its own name.
    pub fn names_kinds_only(&self) -> bool {
        self.nouns.iter().all(|noun| noun.is_place() || (!noun.classes.is_empty() && !noun.names_entity()))
    }

    pub fn has_place(&self) -> bool {
        !self.places.is_empty() || self.nouns.iter().any(Noun::is_place)
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let words = self.unknown.iter().chain(self.nouns.iter().map(|noun| &noun.text));
        for word in words.filter(|word| !word.is_empty()) {
            let han = word.chars().next().is_some_and(super::text::is_han);
            if !text.is_empty() && !han {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }
}

/// How a clause stands to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Main,
    /// if …: looked at now.
    If,
    /// unless …
    Unless,
    /// when …: a standing rule.
    When,
}

/// Everything that one clause says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clause {
    pub role: Role,
    pub preds: Vec<Pred>,
    pub states: Vec<StateWord>,
    pub nps: Vec<Np>,
    pub except: Vec<Np>,
    pub attributes: Vec<Attribute>,
    pub values: Vec<Value>,
    pub levels: Vec<u8>,
    pub colors: Vec<usize>,
    pub whites: Vec<u16>,
    pub modes: Vec<Mode>,
    pub times: Vec<Time>,
    pub remarks: Vec<Remark>,
    pub occasions: Vec<Occasion>,
    /// Words that shape it: to, by, up, little, not, all, it, again …
    pub words: Vec<Word>,
    pub question: Option<Word>,
    pub unknown: Vec<String>,
    /// Whether it says something that is not understood in words that are all known.
    pub spoiled: bool,
    pub start: usize,
    pub end: usize,
    /// The kind that the verb itself names: "vacuum", "light up".
    pub implied: Option<Class>,
    /// The token at which the first verb stands.
    pub pred_at: Option<usize>,
    /// Whether the first noun phrase came before the verb.
    pub np_first: bool,
    /// Whether its time stands before everything but places: such a time is for what follows too.
    pub times_first: bool,
    /// Whether "now" is said in it.
    pub now: bool,
    /// Whether a sentence ended before it.
    pub after_stop: bool,
}

impl Clause {
    pub fn word(&self, word: Word) -> bool {
        self.words.contains(&word)
    }

    pub fn pred(&self, pred: Pred) -> bool {
        self.preds.contains(&pred)
    }

    /// Whether it says what to do, or asks something, by itself.
    pub fn has_predicate(&self) -> bool {
        !self.preds.is_empty()
            || !self.states.is_empty()
            || !self.remarks.is_empty()
            || !self.occasions.is_empty()
            || self.question.is_some()
            || self.words.iter().any(|word| matches!(word, Word::Up | Word::Down))
            || (!self.nps.is_empty() && self.has_value())
            || (!self.attributes.is_empty() && self.has_value())
    }

    pub fn has_value(&self) -> bool {
        !self.values.is_empty()
            || !self.levels.is_empty()
            || !self.colors.is_empty()
            || !self.whites.is_empty()
            || !self.modes.is_empty()
            || self.word(Word::Halve)
            || self.word(Word::Max)
            || self.word(Word::Min)
    }

    pub fn is_empty(&self) -> bool {
        *self == self.fresh()
    }

    /// A clause that says nothing, where this one stands.
    fn fresh(&self) -> Clause {
        Clause {
            role: self.role,
            start: self.start,
            end: self.end,
            now: self.now,
            after_stop: self.after_stop,
            ..Clause::default()
        }
    }

    /// Whether it says nothing but some of these words.
    fn only_says(&self, known: impl Fn(&Word) -> bool) -> bool {
        let fresh = Clause { words: self.words.clone(), ..self.fresh() };
        !self.words.is_empty() && self.words.iter().all(known) && *self == fresh
    }

    /// "…, the front door is unlocked": a report among commands. "Make sure the door is locked and the gate is closed" is
    /// none.
    pub fn tells_how_it_is(&self, before: Option<&Clause>) -> bool {
        let brings_about = before.is_some_and(|before| before.pred(Pred::Set) && !before.has_value());
        let tells = self.says_what_to_do() || self.has_value();
        self.word(Word::Is) && tells && !self.word(Word::Polite) && !brings_about
    }

    /// "It's too dark in the kitchen", and nothing to be done.
    pub fn only_remarks(&self) -> bool {
        !self.remarks.is_empty() && !self.says_what_to_do() && !self.has_value()
    }

    /// Whether it has a verb, or a state to be brought about.
    pub fn says_what_to_do(&self) -> bool {
        !self.preds.is_empty() || !self.states.is_empty()
    }

    /// Whether it says nothing but a time, and not how long something lasts.
    pub fn only_tells_when(&self) -> bool {
        let fresh = Clause { times: self.times.clone(), times_first: self.times_first, ..self.fresh() };
        let lasts = |time: &Time| matches!(time, Time::For(_));
        !self.times.is_empty() && !self.times.iter().any(lasts) && *self == fresh
    }

    /// "In ten, no, twenty minutes": whether a correction puts a length of time for a bare number, of which it is not known
    /// what both are for.
    pub fn is_muddled_by(&self, correction: &Clause) -> bool {
        let number = self.values.iter().any(|value| matches!(value, Value::Number(_)));
        number && correction.values.iter().any(|value| matches!(value, Value::Duration(_)))
    }

    /// Whether it takes back what was said before: "never mind".
    pub fn retracts(&self) -> bool {
        self.only_says(|word| *word == Word::NeverMind)
    }

    /// Whether it says what is to be left as it is: "don't turn off the tv", "leave the kitchen on".
    pub fn spares(&self) -> bool {
        let left = |state: &StateWord| {
            matches!(
                state,
                StateWord::On
                    | StateWord::Off
                    | StateWord::Open
                    | StateWord::Closed
                    | StateWord::Playing
                    | StateWord::Running
            )
        };
        let keeps = self.word(Word::Keep)
            && self.states.iter().all(left)
            && self.preds.iter().all(|pred| *pred == Pred::Set)
            && !self.has_value()
            && self.attributes.is_empty()
            && self.times.is_empty();
        self.word(Word::Not) || keeps
    }

    /// Only a light verb so far: what follows completes it.
    pub fn is_light(&self) -> bool {
        self.preds.iter().all(|pred| matches!(pred, Pred::Set | Pred::Tell | Pred::Start | Pred::Play))
            && self.states.is_empty()
            && !self.has_value()
    }

    pub fn absorb(&mut self, other: Clause) {
        let into_except = !self.except.is_empty() && other.except.is_empty() && !other.has_predicate();
        for mut np in other.nps {
            np.joined = true;
            if into_except {
                self.except.push(np);
            } else {
                self.nps.push(np);
            }
        }
        self.except.extend(other.except);
        self.preds.extend(other.preds);
        self.states.extend(other.states);
        self.attributes.extend(other.attributes);
        self.values.extend(other.values);
        self.levels.extend(other.levels);
        self.colors.extend(other.colors);
        self.whites.extend(other.whites);
        self.modes.extend(other.modes);
        self.times.extend(other.times);
        self.remarks.extend(other.remarks);
        self.occasions.extend(other.occasions);
        self.words.extend(other.words);
        self.unknown.extend(other.unknown);
        self.question = self.question.or(other.question);
        self.implied = self.implied.or(other.implied);
        self.pred_at = self.pred_at.or(other.pred_at);
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.now |= other.now;
        self.spoiled |= other.spoiled;
    }

    /// Whether it says nothing but that what came before was wrong: "no", 不对, 不.
    pub fn only_corrects(&self) -> bool {
        self.only_says(|word| matches!(word, Word::No | Word::Not | Word::Correction))
    }

    /// Replaces what `other` names anew: the last thing, or its place, the values, the times.
    pub fn correct(&mut self, other: Clause) {
        let places = other.nps.iter().all(Np::is_place);
        self.spoiled |= other.spoiled || self.is_muddled_by(&other);
        // "Turn off, I mean on the porch light": a verb alone was corrected, and not by what is read as a thing.
        if self.nps.is_empty() && !other.nps.is_empty() && !self.preds.is_empty() {
            self.spoiled = true;
        }
        match self.nps.last_mut() {
            Some(last) if places && !last.is_place() => {
                for np in other.nps {
                    last.nouns.retain(|noun| !noun.is_place());
                    last.nouns.extend(np.nouns);
                    last.places = np.places;
                }
            }
            Some(_) | None if other.nps.is_empty() => {}
            Some(_) | None => {
                self.nps.pop();
                self.nps.extend(other.nps);
            }
        }
        let replace = |known: &mut Vec<Time>, new: Vec<Time>| {
            if !new.is_empty() {
                *known = new;
            }
        };
        replace(&mut self.times, other.times);
        // "In ten minutes, no, twenty minutes"
        let after = self.times.iter_mut().find_map(|time| match time {
            Time::After(seconds) => Some(seconds),
            _ => None,
        });
        if let (Some(after), [Value::Duration(seconds)]) = (after, other.values.as_slice()) {
            *after = *seconds;
        } else if !other.values.is_empty() {
            self.values = other.values;
        }
        self.unknown.extend(other.unknown);
        self.except.extend(other.except);
        self.end = self.end.max(other.end);
    }

    /// Puts a clause that has no predicate before this one.
    pub fn prepend(&mut self, mut other: Clause) {
        std::mem::swap(self, &mut other);
        self.absorb(other);
    }
}
