//! Which of its meanings a word has here, where it is no noun.

use super::{Break, Scanner};
use crate::nlu::clause::Role;
use crate::nlu::index::Target;
use crate::nlu::lattice::{Reading, Span};
use crate::nlu::lexicon::Sense;
use crate::nlu::vocabulary::{Pred, StateWord, Word};

impl Scanner<'_> {
    /// A word of the lexicon that is no noun here.
    pub(super) fn sense(&mut self, span: &Span, position: usize) {
        let chosen = self.chosen(span, position);
        // 没锁的 before nothing that it could be said of.
        self.clause.spoiled |= chosen.is_none() && span.such().is_some();
        if let Some(sense) = chosen {
            if matches!(sense, Sense::Pred(_)) && self.remarked_before(position) {
                self.separate(Break::Comma);
                self.clause.start = span.start;
                self.clause.end = span.end;
            }
            self.apply(sense, span);
            // 降到 is both: lower, and to; 亮一点 brighter, and a little.
            for word in [Word::To, Word::By, Word::Halve, Word::Little, Word::Keep] {
                if matches!(sense, Sense::Pred(_)) && span.word(word) {
                    self.clause.words.push(word);
                }
            }
        }
    }

    /// The meaning that it has here.
    fn chosen(&self, span: &Span, position: usize) -> Option<Sense> {
        let find = |test: &dyn Fn(&Sense) -> bool| {
            span.readings.iter().find_map(|reading| match reading {
                Reading::Sense(sense) if test(sense) => Some(*sense),
                Reading::Sense(_)
                | Reading::Name(_)
                | Reading::Part(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
        };
        let state = find(&|sense| matches!(sense, Sense::State(_))).or_else(|| {
            span.such().map(Sense::State).filter(|_| self.asking || self.clause.role != Role::Main)
        });
        let pred = find(&|sense| matches!(sense, Sense::Pred(_)));
        let value = find(&|sense| {
            matches!(sense, Sense::Color(_) | Sense::White(_) | Sense::Level(_) | Sense::Mode(_))
        });
        let remark = find(&|sense| matches!(sense, Sense::Remark(_) | Sense::Occasion(_)));
        let attribute = find(&|sense| matches!(sense, Sense::Attribute(_)));
        // 不要 is a "no" and a "not": what forbids comes first.
        let word = self.word_here(span, position).map(Sense::Word);
        let article = span.word(Word::Article) && state.is_some() && self.noun_follows(position);
        let mode = find(&|sense| matches!(sense, Sense::Mode(_)));
        // "Set the alarm to away", "arm the alarm in night mode".
        let as_state = state.is_some() && !self.asking && self.wants_mode(position);
        let as_occasion = matches!(remark, Some(Sense::Occasion(_))) && !self.clause.preds.is_empty();
        if article {
            None
        } else if mode.is_some() && (as_state || as_occasion) {
            mode
        } else if remark.is_some() && !self.asking {
            remark
        } else if self.is_floor(span) {
            word
        } else if span.word(Word::To) && state.is_some() && self.value_follows(position) {
            Some(Sense::Word(Word::To))
        } else if self.on_is_link(span, position) || shapes(word) {
            word
        } else if state.is_some() && (self.asking || pred.is_none() || self.state_fits()) {
            state
        } else if let (Some(_), Some(Sense::Word(Word::Up | Word::Down))) = (pred, word) {
            word
        } else if pred.is_some() && !(self.asking && (word.is_some() || attribute.is_some())) {
            pred
        } else {
            attribute.or(value).or(word).or(remark)
        }
    }

    /// Whether a whole remark stands before, and a command begins here: "I'm going to bed set the house to sleep mode".
    /// Speech recognition writes no commas.
    fn remarked_before(&self, position: usize) -> bool {
        let clause = &self.clause;
        let bare = clause.preds.is_empty() && clause.nps.is_empty() && clause.states.is_empty();
        let goes_on = self.row.get(position + 1).is_some_and(|next| !next.is_mark());
        !clause.occasions.is_empty() && bare && self.np.is_none() && goes_on
    }

    /// Which word of its kind a span is here: 不要 is a "no" and a "not", and what forbids comes first; "à" and "de"
    /// say how much before a value, and where elsewhere; "la" is a pronoun where nothing follows.
    fn word_here(&self, span: &Span, position: usize) -> Option<Word> {
        let first = |words: &[Word]| words.iter().copied().find(|word| span.word(*word));
        // "Then" also fills sentences; between two commands it divides them.
        let shaping = [Word::Not, Word::If, Word::Unless, Word::Except, Word::And, Word::Then];
        if let Some(word) = first(&shaping) {
            return Some(word);
        }
        if self.value_follows(position)
            && let Some(word) = first(&[Word::To, Word::By])
        {
            return Some(word);
        }
        let last = self.row.get(position + 1).is_none_or(|next| {
            next.is_mark() || next.word(Word::And) || next.word(Word::Then) || next.word(Word::Polite)
        });
        if span.word(Word::Article)
            && last
            && let Some(word) = first(&[Word::It, Word::Them])
        {
            return Some(word);
        }
        let by_value = span.word(Word::To) || span.word(Word::By);
        if by_value
            && !self.han
            && let Some(word) = first(&[Word::OnLink, Word::Link])
        {
            return Some(word);
        }
        span.readings.iter().find_map(|reading| match reading {
            Reading::Sense(Sense::Word(word)) if !marks(*word) => Some(*word),
            Reading::Sense(_)
            | Reading::Name(_)
            | Reading::Part(_)
            | Reading::Value(_)
            | Reading::Time(_)
            | Reading::Mark
            | Reading::Unknown => None,
        })
    }

    /// "ein Licht": an article; "schalte das Licht ein": on.
    fn noun_follows(&self, position: usize) -> bool {
        self.row.get(position + 1).is_some_and(|next| {
            !next.targets().is_empty()
                || !next.parts().is_empty()
                || next.sense(|sense| matches!(sense, Sense::Class(_)))
        })
    }

    /// "auf 50 %" is to, "auf" alone is open.
    fn value_follows(&self, position: usize) -> bool {
        self.row.get(position + 1).is_some_and(|next| {
            next.value().is_some()
                || next.word(Word::Max)
                || next.word(Word::Min)
                || next.sense(|sense| {
                    matches!(sense, Sense::Color(_) | Sense::White(_) | Sense::Level(_) | Sense::Mode(_))
                })
        })
    }

    /// "on" before a floor, a list or a thing, in a clause that has its verb.
    pub(super) fn on_is_link(&self, span: &Span, position: usize) -> bool {
        if !span.word(Word::OnLink) {
            return false;
        }
        let mut after = position + 1;
        while self.row.get(after).is_some_and(|span| {
            span.word(Word::Filler) && !span.sense(|sense| matches!(sense, Sense::Pred(_) | Sense::State(_)))
        }) {
            after += 1;
        }
        let Some(next) = self.row.get(after) else { return false };
        let thing = next.targets().iter().any(|target| !matches!(target, Target::Scene(_)))
            || (!next.parts().is_empty() && !next.word(Word::Link));
        let floor = next.targets().iter().any(|target| matches!(target, Target::Floor(_)));
        let verb = self.clause.preds.iter().any(|pred| *pred != Pred::Set)
            || !self.clause.states.is_empty()
            || self.clause.word(Word::Up)
            || self.clause.word(Word::Down)
            || self.clause.has_value();
        let later =
            self.row.iter().skip(after + 1).any(|span| {
                span.sense(|sense| matches!(sense, Sense::State(StateWord::On | StateWord::Off)))
            });
        (thing && verb) || (floor && later)
    }

    /// A state completes "make sure …", "leave … open"; elsewhere "open" is the verb.
    pub(super) fn state_fits(&self) -> bool {
        let light = self.clause.pred(Pred::Set) || self.clause.word(Word::Keep);
        light && (self.np.is_some() || !self.clause.nps.is_empty())
    }

    /// "Oben alle Lichter aus": before anything that could be up, it says where.
    fn is_floor(&self, span: &Span) -> bool {
        let place = span.word(Word::Upstairs) || span.word(Word::Downstairs);
        place && !self.asking && self.np.is_none() && self.clause.nps.is_empty()
    }

    pub(super) fn apply(&mut self, sense: Sense, span: &Span) {
        match sense {
            Sense::Pred(pred) => self.pred(pred, span),
            Sense::State(state) => {
                self.close_np();
                self.excepting = false;
                self.clause.states.push(state);
            }
            Sense::Attribute(attribute) => {
                // "the brightness of the lamp", "living room temperature": the phrase goes on.
                self.clause.attributes.push(attribute);
            }
            Sense::Word(word) => self.word(word, span),
            Sense::Mode(mode) => self.clause.modes.push(mode),
            Sense::Remark(remark) => self.clause.remarks.push(remark),
            Sense::Occasion(occasion) => self.clause.occasions.push(occasion),
            Sense::Color(color) => self.clause.colors.push(color),
            Sense::White(kelvin) => self.clause.whites.push(kelvin),
            Sense::Level(level) => self.clause.levels.push(level),
            Sense::Class(_) | Sense::Talk(_) | Sense::Such(_) => {}
        }
    }
}

/// Words that only mark a sentence or a verb, and shape no clause by themselves.
fn marks(word: Word) -> bool {
    matches!(
        word,
        Word::Now
            | Word::Subject
            | Word::Already
            | Word::Past
            | Word::Lacking
            | Word::Nobody
            | Word::Finished
            | Word::Lasting
            | Word::Modal
            | Word::Weekly
            | Word::MinutesPast
            | Word::MinutesTo
            | Word::Less
            | Word::Quarter
            | Word::QuarterHour
            | Word::Channel
    )
}

/// Words whose shape of the sentence comes before any other meaning.
fn shapes(word: Option<Sense>) -> bool {
    matches!(
        word,
        Some(Sense::Word(
            Word::Not | Word::If | Word::Unless | Word::Except | Word::And | Word::Then | Word::Polite
        ))
    )
}
