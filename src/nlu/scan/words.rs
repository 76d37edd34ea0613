//! What verbs and the words that shape a sentence do to the clause.

use super::{Break, Scanner};
use crate::nlu::amount::steps;
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
        let next = self.row.iter().find(|next| next.start == span.end);
        // "Make the lamp 20 percent brighter": by how much, said before the verb.
        let moves = matches!(pred, Pred::Open | Pred::Close) && self.clause.word(Word::By);
        let by = (steps(pred).is_some() || moves)
            && !(self.clause.values.is_empty() && self.clause.levels.is_empty())
            && self.clause.preds.iter().all(|pred| *pred == Pred::Set)
            && self.clause.states.is_empty()
            && self.clause.colors.is_empty()
            && !self.clause.word(Word::To)
            && next.is_none_or(|next| !is_thing(next) && next.value().is_none());
        if by {
            self.clause.words.push(Word::By);
        }
        // "Advance … to the next song", "activate … to clean": the verb goes on.
        let goes_on = self.clause.preds.last() == Some(&pred)
            || (!self.han && !self.clause.has_value() && self.clause.words.last() == Some(&Word::To))
            || self.completes(pred, span, next);
        let condition = self.clause.role != Role::Main && (complete || self.clause.has_value());
        let new = (complete
            && !goes_on
            && !by
            && !self.clause.is_light()
            && (targets || self.clause.has_value())
            && !self.asking)
            || (condition && !self.asking);
        if new {
            // 打开客厅灯窗帘拉上: the last thing belongs to this verb.
            let moved = (self.han && self.clause.nps.len() > 1 && !self.clause.np_first)
                .then(|| self.clause.nps.pop_if(|np| !np.joined))
                .flatten();
            self.close_clause(Break::None);
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

    /// Whether a verb only completes the one before it: "den nächsten Titel abspielen", "Rover saugen beenden", 暂停扫地,
    /// and a light verb at the very end, "zurück zur Station schicken".
    fn completes(&self, pred: Pred, span: &Span, next: Option<&Span>) -> bool {
        let Some(last) = self.clause.preds.last() else { return false };
        let plays = matches!(last, Pred::Next | Pred::Previous)
            && matches!(pred, Pred::Play | Pred::Start | Pred::Set | Pred::Resume);
        let beside = self
            .row
            .iter()
            .any(|before| before.end == span.start && before.sense(|sense| *sense == Sense::Pred(*last)));
        let from = self.row.iter().any(|before| before.end == span.start && before.word(Word::From));
        let acts = |pred: Pred| matches!(pred, Pred::Clean | Pred::Mow | Pred::Water);
        let handles =
            |pred: Pred| matches!(pred, Pred::Stop | Pred::Pause | Pred::Resume | Pred::Cancel | Pred::Start);
        // "Cancel opening the garage" opens nothing.
        let halts = matches!(last, Pred::Stop | Pred::Cancel) && pred != Pred::Set;
        let activity = (acts(*last) && handles(pred)) || (handles(*last) && acts(pred)) || halts;
        let ends = next.is_none_or(|next| {
            next.is_mark() || [Word::And, Word::Then, Word::Polite].iter().any(|word| next.word(*word))
        });
        plays
            || (beside && activity)
            || (from && handles(*last) && acts(pred))
            || (!self.han && pred == Pred::Set && ends && self.np.is_none())
    }

    pub(super) fn word(&mut self, word: Word, span: &Span) {
        use Word::{
            And, At, Did, Except, ExceptEnd, Filler, Here, House, In, Is, Link, OnLink, Or, Outside, Then,
        };
        // "…, the door is unlocked": what only fills elsewhere tells a report here.
        let begins = self.clause.preds.is_empty() && self.clause.states.is_empty();
        if span.word(Is) && !self.asking && !self.han && begins {
            self.clause.words.push(Is);
        }
        if matches!(word, Here | House | Outside | Word::Upstairs | Word::Downstairs) {
            self.place(word, span);
        } else if matches!(word, Link | OnLink | In | At) {
            self.linked = self.np.is_some() || self.reopen();
        } else if matches!(word, Word::If | Word::Unless | Word::When) {
            self.condition(word, span);
        } else if word == Word::No
            && !self.han
            && self.row.iter().any(|next| next.start == span.end && is_thing(next))
        {
            // "No lights on"
            self.clause.words.push(Word::Not);
        } else if word == Word::IfAfter {
            // 后门没锁的话就锁上
            self.close_np();
            if self.clause.role == Role::Main && !self.asking {
                self.clause.role = Role::If;
            }
            self.separate(Break::Comma);
        } else if matches!(word, Is | Did) {
            if self.asking {
                self.clause.question = self.clause.question.or(Some(word));
            }
        } else if word == Word::All
            && self.excepting
            && self.np.as_ref().is_some_and(|np| !np.nouns.is_empty())
        {
            // "Bis auf den Kronleuchter alle Lampen": without a comma.
            self.close_np();
            self.excepting = false;
            self.clause.words.push(word);
        } else if matches!(word, And | Or | Then | Word::Correction) {
            self.parts(word, span);
        } else if matches!(word, Except | ExceptEnd | Word::ExceptAfter | Word::Others | Word::Object) {
            self.exclusion(word, span);
        } else if word == Word::Any {
            self.clause.words.push(word);
            // "Some lights", "des lumières": not whichever there are.
            if !self.asking && (span.word(Word::OneOf) || span.word(Word::Article)) {
                self.clause.words.push(Word::OneOf);
            }
        } else if word != Filler {
            if asks(word) {
                self.clause.question = self.clause.question.or(Some(word));
            }
            self.clause.words.push(word);
        }
    }

    /// Words between two clauses, or two things of one.
    fn parts(&mut self, word: Word, span: &Span) {
        if word == Word::And {
            // "Kitchen light plus 10"
            let adds = span.word(Word::Plus)
                && self.row.iter().any(|next| next.start == span.end && next.value().is_some());
            if adds
                && !self.han
                && self.clause.values.is_empty()
                && (self.np.is_some() || !self.clause.nps.is_empty())
            {
                self.clause.words.push(Word::More);
            }
            self.separate(Break::And);
        } else if word == Word::Or {
            self.or(span);
        } else if word == Word::Then {
            // "Apaga la tele luego": at the very end it is some later time.
            if span.word(Word::Later)
                && self.row.iter().all(|next| next.start <= span.start || next.is_mark())
                && !self.clause.preds.is_empty()
            {
                self.clause.words.push(Word::Later);
                return;
            }
            self.separate(Break::Strong);
        } else if word == Word::Correction {
            self.separate(Break::Comma);
            // 打开阳台灯不是书房灯: "not that one".
            let denied = self.han
                && self
                    .row
                    .iter()
                    .any(|next| next.start == span.end && (is_thing(next) || next.word(Word::All)));
            self.clause.words.push(if denied && span.word(Word::No) { Word::Not } else { word });
        }
    }

    /// Words that open, close or follow what is excluded.
    fn exclusion(&mut self, word: Word, span: &Span) {
        let next = self.row.iter().find(|next| next.start == span.end);
        if word == Word::Except {
            let verb = |next: &Span| {
                next.word(Word::Not)
                    || (next.targets().is_empty() && next.sense(|sense| matches!(sense, Sense::Pred(_))))
            };
            // "…, but leave the kitchen on", "but don't …": another clause, which says it with its own verb.
            if next.is_some_and(verb) {
                self.separate(Break::And);
                return;
            }
            // "…, the kitchen excepted"
            if next.is_none_or(Span::is_mark) && self.clause.preds.is_empty() {
                self.excluded_before();
                return;
            }
        }
        if word == Word::ExceptAfter {
            self.clause.words.push(Word::Except);
            self.excluded_before();
            return;
        }
        // 把书房以外的灯都关了: without a word that opens it.
        if word == Word::ExceptEnd && !self.excepting && span.end - span.start > 1 {
            self.excepting = self.np.is_some();
        }
        let open = self.excepting;
        if word != Word::Object || open {
            self.close_np();
            self.excepting = word == Word::Except;
        }
        // What is kept must be named: `clause` refuses where nothing follows.
        if word == Word::Except {
            self.clause.words.push(word);
        }
        let named = open || !self.clause.except.is_empty();
        if (word == Word::Others && !named) || word == Word::Object {
            self.clause.words.push(word);
        }
    }

    /// 书房除外: the phrase, or the time, that stands before the word.
    fn excluded_before(&mut self) {
        self.close_np();
        if self.clause.preds.is_empty() && self.clause.states.is_empty() {
            // 书房和主卧除外: all that "and" joins.
            while let Some((before, _)) = self.done.pop_if(|(clause, after)| {
                *after == Break::And && !clause.has_predicate() && clause.times.is_empty()
            }) {
                self.clause.except.extend(before.nps);
            }
        }
        let clause = &mut self.clause;
        if clause.preds.is_empty() && clause.states.is_empty() {
            clause.except.append(&mut clause.nps);
            for time in &mut clause.times {
                *time = time.excluded();
            }
            clause.times_first = false;
        } else if let Some(np) = clause.nps.pop() {
            clause.except.push(np);
        } else if let Some(time) = clause.times.last_mut() {
            *time = time.excluded();
        }
    }

    /// "On or off" is one state to be chosen; elsewhere a new clause begins.
    fn or(&mut self, span: &Span) {
        self.clause.words.push(Word::Or);
        let state = self
            .row
            .iter()
            .any(|next| next.start == span.end && next.sense(|sense| matches!(sense, Sense::State(_))));
        if self.clause.states.is_empty() || !state {
            self.separate(Break::And);
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
        self.separate(Break::Comma);
        self.clause.start = span.start;
        self.clause.role = if word == Word::Unless {
            Role::Unless
        } else if word == Word::When {
            Role::When
        } else {
            Role::If
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
                Word::All if !reopened => np.all = true,
                Word::Both if !reopened => (np.all, np.both) = (true, true),
                other => self.clause.words.push(other),
            }
        }
        np.places.push(word);
        self.linked = self.han;
    }
}

fn is_thing(span: &Span) -> bool {
    !span.targets().is_empty() || span.sense(|sense| matches!(sense, Sense::Class(_)))
}

/// Words that make a question of a clause.
fn asks(word: Word) -> bool {
    matches!(
        word,
        Word::Which | Word::HowMany | Word::What | Word::Where | Word::Who | Word::HowLong | Word::Asks
    )
}
