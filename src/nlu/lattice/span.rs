//! One stretch of a sentence and its readings.

use crate::nlu::index::Target;
use crate::nlu::lexicon::Sense;
use crate::nlu::number::Value;
use crate::nlu::time::Time;
use crate::nlu::vocabulary::{StateWord, Word};

/// A stretch of tokens and everything that it can mean.
#[derive(Debug, Clone)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub readings: Vec<Reading>,
    /// Whether the last token was plural.
    pub plural: bool,
    /// Whether it was misspelt, or misheard.
    pub fuzzy: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    Sense(Sense),
    /// The full name of something of the house.
    Name(Vec<Target>),
    /// Part of the names of these entities.
    Part(Vec<usize>),
    Value(Value),
    Time(Time),
    /// A mark that ends a phrase.
    Mark,
    /// Nothing explains it.
    Unknown,
}

impl Span {
    pub fn sense(&self, test: impl Fn(&Sense) -> bool) -> bool {
        self.readings.iter().any(|reading| match reading {
            Reading::Sense(sense) => test(sense),
            Reading::Name(_)
            | Reading::Part(_)
            | Reading::Value(_)
            | Reading::Time(_)
            | Reading::Mark
            | Reading::Unknown => false,
        })
    }

    pub fn word(&self, word: Word) -> bool {
        self.sense(|sense| *sense == Sense::Word(word))
    }

    /// How things are of which it says that these are meant.
    pub fn such(&self) -> Option<StateWord> {
        self.readings.iter().find_map(|reading| match reading {
            Reading::Sense(Sense::Such(state)) => Some(*state),
            Reading::Sense(_)
            | Reading::Name(_)
            | Reading::Part(_)
            | Reading::Value(_)
            | Reading::Time(_)
            | Reading::Mark
            | Reading::Unknown => None,
        })
    }

    pub fn value(&self) -> Option<Value> {
        self.readings.iter().find_map(|reading| match reading {
            Reading::Value(value) => Some(*value),
            Reading::Sense(_)
            | Reading::Name(_)
            | Reading::Part(_)
            | Reading::Time(_)
            | Reading::Mark
            | Reading::Unknown => None,
        })
    }

    pub fn time(&self) -> Option<Time> {
        self.readings.iter().find_map(|reading| match reading {
            Reading::Time(time) => Some(*time),
            Reading::Sense(_)
            | Reading::Name(_)
            | Reading::Part(_)
            | Reading::Value(_)
            | Reading::Mark
            | Reading::Unknown => None,
        })
    }

    pub fn targets(&self) -> &[Target] {
        self.readings
            .iter()
            .find_map(|reading| match reading {
                Reading::Name(targets) => Some(targets.as_slice()),
                Reading::Sense(_)
                | Reading::Part(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
            .unwrap_or(&[])
    }

    pub fn parts(&self) -> &[usize] {
        self.readings
            .iter()
            .find_map(|reading| match reading {
                Reading::Part(items) => Some(items.as_slice()),
                Reading::Sense(_)
                | Reading::Name(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
            .unwrap_or(&[])
    }

    pub fn is_verb(&self) -> bool {
        self.sense(|sense| matches!(sense, Sense::Pred(_)))
    }

    pub fn is_state(&self) -> bool {
        self.sense(|sense| matches!(sense, Sense::State(_)))
    }

    pub fn is_mark(&self) -> bool {
        self.readings.contains(&Reading::Mark)
    }

    pub fn is_unknown(&self) -> bool {
        self.readings.contains(&Reading::Unknown)
    }
}
