//! From tokens to the best row of spans: what each stretch of the sentence can mean.

mod slips;
mod span;

pub use span::{Reading, Span};

use super::index::{HouseIndex, Target};
use super::lexicon::{Lexicon, Phrase, Sense};
use super::number::{Numbers, Value};
use super::text::{Kind, Token};
use super::vocabulary::Word;

/// Costs of a span: fewer, longer and surer ones are better.
mod cost {
    pub const NAME: f32 = 1.0;
    pub const PHRASE: f32 = 1.0;
    pub const FILLER: f32 = 0.9;
    pub const VALUE: f32 = 0.95;
    pub const PART: f32 = 1.7;
    pub const FUZZY: f32 = 2.6;
    pub const UNKNOWN: f32 = 5.0;
    /// Each further character of an unknown Chinese word.
    pub const UNKNOWN_HAN: f32 = 3.0;
}

/// What a lattice is made of.
pub struct Lattice<'a> {
    pub tokens: &'a [Token],
    pub lexicon: &'a Lexicon,
    pub index: &'a HouseIndex,
    /// Whether the name of this entity counts: in commands only those of things that can be acted on.
    pub counts: &'a dyn Fn(usize) -> bool,
}

impl Lattice<'_> {
    /// The cheapest row of spans that covers every token.
    pub fn best(&self) -> Vec<Span> {
        let spans = self.path(self.spans());
        if !spans.iter().any(Span::is_unknown) {
            return spans;
        }
        let mut all = self.spans();
        let before = all.len();
        self.misspelt(&spans, &mut all);
        if all.len() == before {
            return spans;
        }
        self.path(all)
    }

    /// Every span with a known meaning.
    fn spans(&self) -> Vec<(Span, f32)> {
        let numbers = Numbers { tokens: self.tokens, lexicon: self.lexicon };
        let mut spans: Vec<(Span, f32)> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            if token.kind == Kind::Mark {
                self.add(&mut spans, at, at + 1, Reading::Mark, cost::FILLER);
                continue;
            }
            for phrase in self.lexicon.starting(&token.key) {
                if self.follows(at, &phrase.keys)
                    && !self.is_things(token, phrase)
                    && (self.lexicon.han_numbers || !tells_which(phrase) || self.follows_a_thing(at))
                {
                    for sense in &phrase.senses {
                        let price =
                            if *sense == Sense::Word(Word::Filler) { cost::FILLER } else { cost::PHRASE };
                        self.add(&mut spans, at, at + phrase.keys.len(), Reading::Sense(*sense), price);
                    }
                }
            }
            for entry in self.index.starting(&token.key) {
                if self.follows(at, &entry.keys) {
                    let targets: Vec<Target> = entry
                        .targets
                        .iter()
                        .copied()
                        .filter(|target| match target {
                            Target::Entity(item) => (self.counts)(*item),
                            Target::Area(_) | Target::Floor(_) | Target::Scene(_) => true,
                        })
                        .collect();
                    if !targets.is_empty() {
                        self.add(&mut spans, at, at + entry.keys.len(), Reading::Name(targets), cost::NAME);
                    }
                }
            }
            if let Some((value, length)) = numbers.value(at)
                && !self.is_pronoun(at, length, value)
            {
                self.add(&mut spans, at, at + length, Reading::Value(value), cost::VALUE);
            }
            if let Some((time, length)) = numbers.time(at) {
                self.add(&mut spans, at, at + length, Reading::Time(time), cost::VALUE);
            }
            self.parts(at, &mut spans);
            self.add(&mut spans, at, at + 1, Reading::Unknown, self.unknown(at));
        }
        spans
    }

    /// "The kitchen one": a number word that says nothing, unless "to" or the like stands before it.
    fn is_pronoun(&self, at: usize, length: usize, value: Value) -> bool {
        let can_mean = |at: usize, words: &[Word]| {
            self.tokens.get(at).is_some_and(|token| {
                words.iter().any(|word| self.lexicon.means(&token.key, Sense::Word(*word)))
            })
        };
        let wanted =
            at.checked_sub(1).is_some_and(|before| can_mean(before, &[Word::To, Word::By, Word::At]));
        let plain = length == 1 && matches!(value, Value::Number(_));
        !self.lexicon.han_numbers && plain && !wanted && can_mean(at, &[Word::Filler])
    }

    fn unknown(&self, at: usize) -> f32 {
        let han = |at: usize| self.tokens.get(at).is_some_and(|token| token.kind == Kind::Han);
        if at > 0 && han(at) && han(at - 1) { cost::UNKNOWN_HAN } else { cost::UNKNOWN }
    }

    fn parts(&self, at: usize, spans: &mut Vec<(Span, f32)>) {
        let Some(token) = self.tokens.get(at) else { return };
        let longest = if token.kind == Kind::Han { 6 } else { 1 };
        let mut part = String::new();
        for (offset, token) in self.tokens.iter().skip(at).take(longest).enumerate() {
            if offset > 0 && token.kind != Kind::Han {
                break;
            }
            part.push_str(&token.key);
            if let Some(items) = self.index.with_part(&part) {
                let items: Vec<usize> = items.iter().copied().filter(|item| (self.counts)(*item)).collect();
                if !items.is_empty() {
                    self.add(spans, at, at + offset + 1, Reading::Part(items), cost::PART);
                }
            }
        }
    }

    /// "Turn the lights up" is no "light up": a verb of several words does not begin with things.
    fn is_things(&self, token: &Token, phrase: &Phrase) -> bool {
        let verb = |phrase: &Phrase| phrase.senses.iter().any(|sense| matches!(sense, Sense::Pred(_)));
        let thing = |phrase: &Phrase| {
            phrase.keys.len() == 1 && phrase.senses.iter().any(|sense| matches!(sense, Sense::Class(_)))
        };
        token.plural
            && phrase.keys.len() > 1
            && verb(phrase)
            && self.lexicon.starting(&token.key).iter().any(thing)
    }

    /// "Turn off the lights that are on", and not "make sure that is on".
    fn follows_a_thing(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).and_then(|before| self.tokens.get(before)) else { return false };
        let class = |phrase: &Phrase| {
            phrase.keys.len() == 1 && phrase.senses.iter().any(|sense| matches!(sense, Sense::Class(_)))
        };
        self.lexicon.starting(&before.key).iter().any(class) || self.index.with_part(&before.key).is_some()
    }

    fn follows(&self, at: usize, keys: &[String]) -> bool {
        keys.iter()
            .enumerate()
            .all(|(offset, key)| self.tokens.get(at + offset).is_some_and(|token| token.key == *key))
    }

    fn add(&self, spans: &mut Vec<(Span, f32)>, start: usize, end: usize, reading: Reading, price: f32) {
        let known = spans.iter_mut().rev().take_while(|(span, _)| span.start == start);
        for (span, cheapest) in known {
            if span.end == end && !span.fuzzy {
                if reading != Reading::Unknown || span.readings.is_empty() {
                    span.readings.push(reading);
                    *cheapest = cheapest.min(price);
                }
                return;
            }
        }
        let plural =
            end.checked_sub(1).and_then(|last| self.tokens.get(last)).is_some_and(|token| token.plural);
        spans.push((Span { start, end, readings: vec![reading], plural, fuzzy: false }, price));
    }

    /// The cheapest path through the spans; of equal ones the one whose spans start longer.
    fn path(&self, spans: Vec<(Span, f32)>) -> Vec<Span> {
        let count = self.tokens.len();
        let mut by_start: Vec<Vec<(Span, f32)>> = vec![Vec::new(); count];
        for (span, price) in spans {
            if let Some(list) = by_start.get_mut(span.start) {
                list.push((span, price));
            }
        }
        let mut best: Vec<(f32, usize)> = vec![(0.0, 0); count + 1];
        for start in (0..count).rev() {
            let mut chosen = (f32::INFINITY, 0);
            for (position, (span, price)) in by_start.get(start).into_iter().flatten().enumerate() {
                let rest = best.get(span.end).map_or(f32::INFINITY, |(price, _)| *price);
                // A hair for the longer one.
                let total = price + rest - 0.001 * (span.end - span.start) as f32;
                if total < chosen.0 {
                    chosen = (total, position);
                }
            }
            if let Some(slot) = best.get_mut(start) {
                *slot = chosen;
            }
        }
        let mut row = Vec::new();
        let mut at = 0;
        while at < count {
            let position = best.get(at).map_or(0, |(_, position)| *position);
            let Some(list) = by_start.get_mut(at) else { break };
            if position >= list.len() {
                break;
            }
            let (span, _) = list.swap_remove(position);
            at = span.end;
            row.push(span);
        }
        row
    }
}

/// Whether a phrase only says which things are meant: "that are on".
fn tells_which(phrase: &Phrase) -> bool {
    phrase.keys.len() > 1 && phrase.senses.iter().all(|sense| matches!(sense, Sense::Such(_)))
}
