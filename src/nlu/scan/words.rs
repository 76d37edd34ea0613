//! What verbs and the words that shape a sentence do to the clause.

use super::Scanner;
use crate::nlu::clause::{Noun, Np, Role};
use crate::nlu::lattice::{Reading, Span};
use crate::nlu::lexicon::Sense;
use crate::nlu::vocabulary::{Pred, Word};

impl Scanner<'_> {
    pub(super) fn pred(&mut self, pred: Pred, span: &Span) {
        self.close_np();
        self.excepting = false;
        let targets = !self.clause.nps.is_empty();
        let complete = !self.clause.preds.is_empty() || !self.clause.states.is_empty();
        // "Advance … to the next song", "activate … to clean": the verb goes on.
        let goes_on = self.clause.preds.last() == Some(&pred)
            || (!self.han && !self.clause.has_value() && self.clause.words.last() == Some(&Word::To));
        let condition = self.clause.role != Role::Main && (complete || self.clause.has_value());
        let new = (complete
            && !goes_on
            && !self.clause.is_light()
            && (targets || self.clause.has_value())
            && !self.asking)
            || (condition && !self.asking);
        if new {
            // 打开客厅灯窗帘拉上: the last thing belongs to this verb.
            let moved = (self.han && self.clause.nps.len() > 1 && !self.clause.np_first)
                .then(|| self.clause.nps.pop_if(|np| !np.joined))
                .flatten();
            self.close_clause(false);
            self.clause.start = moved.as_ref().map_or(span.start, |np| np.start);
            self.clause.end = span.end;
            if let Some(np) = moved {
                self.clause.np_first = true;
                self.clause.nps.push(np);
            }
        }
        self.clause.implied = self.clause.implied.or_else(|| {
            span.readings.iter().find_map(|reading| match reading {
                Reading::Sense(Sense::Class(class)) => Some(*class),
                Reading::Sense(_)
                | Reading::Name(_)
                | Reading::Part(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
        });
        self.clause.pred_at = self.clause.pred_at.or(Some(span.start));
        self.clause.preds.push(pred);
    }

    pub(super) fn word(&mut self, word: Word, span: &Span) {
        match word {
            Word::Filler => {}
            Word::Polite => {
                self.clause.words.push(word);
            }
            Word::And => self.separate(false),
            Word::Or => {
                self.clause.words.push(Word::Or);
                // "On or off" is one state to be chosen.
                let state = self.row.iter().any(|next| {
                    next.start == span.end && next.sense(|sense| matches!(sense, Sense::State(_)))
                });
                if self.clause.states.is_empty() || !state {
                    self.separate(false);
                }
            }
            Word::Correction => {
                self.separate(false);
                self.clause.words.push(word);
            }
            Word::Then => self.separate(true),
            Word::Except => {
                self.close_np();
                self.excepting = true;
            }
            Word::ExceptEnd => {
                self.close_np();
                self.excepting = false;
            }
            Word::Link | Word::OnLink | Word::In | Word::At => {
                self.linked = self.np.is_some() || self.reopen()
            }
            Word::If | Word::Unless | Word::When => self.condition(word, span),
            Word::Here | Word::House | Word::Outside | Word::Upstairs | Word::Downstairs => {
                self.place(word, span)
            }
            Word::Which
            | Word::HowMany
            | Word::What
            | Word::Where
            | Word::Who
            | Word::HowLong
            | Word::Asks => {
                self.clause.question = self.clause.question.or(Some(word));
                self.clause.words.push(word);
            }
            Word::Is | Word::Did => {
                if self.asking {
                    self.clause.question = self.clause.question.or(Some(word));
                }
            }
            _ => self.clause.words.push(word),
        }
    }

    /// "lights on in the kitchen": the place belongs to the phrase that was closed by the verb.
    pub(super) fn reopen(&mut self) -> bool {
        if self.han || self.excepting {
            return false;
        }
        if let Some(np) = self.clause.nps.pop_if(|np| !np.is_place()) {
            self.np = Some(np);
            return true;
        }
        false
    }

    pub(super) fn condition(&mut self, word: Word, span: &Span) {
        if self.clause.pred(Pred::Tell) || self.asking && word == Word::When {
            self.clause.question = self.clause.question.or(Some(Word::Is));
            return;
        }
        self.separate(false);
        self.clause.start = span.start;
        self.clause.role = match word {
            Word::Unless => Role::Unless,
            Word::When => Role::When,
            _ => Role::If,
        };
    }

    pub(super) fn place(&mut self, word: Word, span: &Span) {
        if self.np.as_ref().is_some_and(|np| self.han && np.nouns.iter().any(Noun::is_head)) && !self.linked {
            self.close_np();
        }
        self.linked = false;
        let words = std::mem::take(&mut self.clause.words);
        let reopened = self.np.is_none() && self.reopen();
        let np = self.np.get_or_insert_with(|| Np { start: span.start, ..Np::default() });
        for said in words {
            match said {
                Word::All | Word::Both if !reopened => np.all = true,
                other => self.clause.words.push(other),
            }
        }
        np.places.push(word);
        self.linked = self.han;
    }
}
