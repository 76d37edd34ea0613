//! Clauses that say nothing by themselves joined to the ones beside them, and corrections put in place.

use super::Break;
use crate::nlu::amount::steps;
use crate::nlu::clause::{Clause, Np, Role};
use crate::nlu::vocabulary::{Pred, Word};

/// A clause and what stands after it.
pub(super) type Cut = (Clause, Break);

/// Joins what `scan` cut.
pub(super) fn merged(cuts: Vec<Cut>) -> Vec<Clause> {
    let mut merger = Merger::default();
    for (clause, after) in cuts {
        merger.take(clause, after);
    }
    merger.finish()
}

#[derive(Default)]
struct Merger {
    clauses: Vec<Clause>,
    /// What had no verb yet, and waits for one.
    waiting: Option<Clause>,
    /// What stood before the clause that is looked at.
    between: Break,
    correcting: bool,
    retracted: bool,
}

impl Merger {
    fn take(&mut self, mut clause: Clause, after: Break) {
        if clause.only_corrects() {
            self.correcting = !self.clauses.is_empty() || self.waiting.is_some();
            return;
        }
        if clause.retracts() {
            // "Turn on the lamp and leave it" takes nothing back.
            if self.between != Break::And {
                self.clauses.clear();
                self.waiting = None;
                self.retracted = true;
            }
            return;
        }
        let corrects = std::mem::take(&mut self.correcting) || clause.word(Word::Correction);
        clause.words.retain(|word| *word != Word::Correction);
        if corrects {
            self.without_what_waits(&mut clause);
        }
        let complete = clause.has_predicate() || clause.role != Role::Main;
        // "Turn off everything, wait, not the coffee machine" keeps that.
        let keeps = !complete && clause.word(Word::Not) && !clause.nps.is_empty();
        if corrects && !keeps && !self.clauses.is_empty() {
            self.correct(clause, complete);
        } else {
            self.spare(&mut clause, complete);
            self.join(clause, complete, after);
        }
        self.between = after;
    }

    /// "Five, no, ten minutes", "the lamp, no, the fan": what was corrected before its verb is not meant.
    fn without_what_waits(&mut self, clause: &mut Clause) {
        if !self.clauses.is_empty() {
            return;
        }
        if let Some(before) = self.waiting.take() {
            clause.spoiled |= before.is_muddled_by(clause);
            if clause.nps.is_empty() {
                clause.nps = before.nps;
            }
        }
    }

    /// Puts a correction into the last clause, or in its place.
    fn correct(&mut self, mut clause: Clause, complete: bool) {
        let Some(last) = self.clauses.last_mut() else { return };
        match complete {
            false => last.correct(clause),
            // "Turn the tv off, no wait, mute it": the same thing, and another verb.
            true if clause.nps.is_empty() && !last.nps.is_empty() && clause.says_what_to_do() => {
                clause.spoiled |= last.is_muddled_by(&clause);
                clause.nps = std::mem::take(&mut last.nps);
                clause.words.retain(|word| !matches!(word, Word::It | Word::Them));
                *last = clause;
            }
            // "Turn on the lamp, no, turn on the fan": what was said before is not meant.
            true if clause.nps.is_empty() => self.clauses.push(clause),
            true => *last = clause,
        }
    }

    /// "Turn off the lights, not the hallway", 只留灯带: what is not meant goes to the clause before.
    fn spare(&mut self, clause: &mut Clause, complete: bool) {
        let spared = |word: &Word| matches!(word, Word::Not | Word::Keep);
        if !complete
            && clause.words.iter().any(spared)
            && clause.values.is_empty()
            && let Some(before) = self.clauses.last_mut()
            && before.role == Role::Main
            && !before.nps.is_empty()
        {
            before.except.append(&mut clause.nps);
            clause.words.retain(|word| !spared(word));
        }
    }

    fn join(&mut self, mut clause: Clause, complete: bool, after: Break) {
        let (between, alone) = (self.between, self.waiting.is_none());
        if complete && alone && self.clauses.last_mut().is_some_and(|before| excuses(before, &mut clause)) {
            self.clauses.pop();
        } else if complete && self.clauses.last().is_some_and(|before| says_again(before, &clause)) {
            return;
        }
        match (complete, self.clauses.last_mut()) {
            (true, Some(before)) if between != Break::Strong && alone && shares(before, &clause) => {
                before.absorb(clause);
            }
            (true, _) => {
                if clause.role == Role::Main
                    && let Some(before) = self.waiting.take()
                {
                    clause.prepend(before);
                }
                self.clauses.push(clause);
            }
            // "Turn off the light and in ten minutes the coffee machine", "… in an hour and the porch light now".
            (false, Some(before)) if between != Break::Comma && alone && own_time(before, &clause) => {
                clause.preds.clone_from(&before.preds);
                clause.states.clone_from(&before.states);
                self.clauses.push(clause);
            }
            // 先关电视，五分钟后再关灯: the time is for what follows.
            (false, Some(_)) if alone && after == Break::Strong && clause.only_tells_when() => {
                self.waiting = Some(clause);
            }
            (false, Some(before)) if between != Break::Strong && alone && before.role == Role::Main => {
                before.absorb(clause);
            }
            (false, _) => match &mut self.waiting {
                Some(before) => before.absorb(clause),
                None => self.waiting = Some(clause),
            },
        }
    }

    fn finish(mut self) -> Vec<Clause> {
        if let Some(rest) = self.waiting {
            match self.clauses.last_mut() {
                Some(last) if last.role == Role::Main => last.absorb(rest),
                Some(_) | None => self.clauses.push(rest),
            }
        }
        // "… never mind", "… no": nothing of it is meant.
        if self.correcting || (self.retracted && self.clauses.is_empty()) {
            return vec![Clause { words: vec![Word::NeverMind], ..Clause::default() }];
        }
        self.clauses
    }
}

/// "The kitchen light is too bright, dim it a little": whether a remark is only why, and of the thing that it names. The
/// clause behind it takes the thing.
fn excuses(before: &mut Clause, clause: &mut Clause) -> bool {
    let thing = !before.nps.is_empty() && !before.nps.iter().all(Np::is_place);
    let bare = clause.role == Role::Main && clause.nps.is_empty() && clause.says_what_to_do();
    let excuses = before.role == Role::Main && before.only_remarks() && thing && bare && !clause.spares();
    if excuses {
        clause.nps = std::mem::take(&mut before.nps);
        clause.words.retain(|word| !matches!(word, Word::It | Word::Them));
    }
    excuses
}

/// "It's too loud, turn it down": whether a clause only wishes what the remark before it wishes too.
fn says_again(before: &Clause, clause: &Clause) -> bool {
    let [remark] = before.remarks.as_slice() else { return false };
    let Some(up) = remark.wishes_more() else { return false };
    let way = match (clause.word(Word::Up), clause.word(Word::Down)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => clause.preds.iter().find_map(|pred| steps(*pred)),
    };
    let plain = clause.preds.iter().all(|pred| *pred == Pred::Set || steps(*pred).is_some());
    let bare =
        clause.nps.is_empty() && !clause.has_value() && clause.times.is_empty() && clause.states.is_empty();
    before.only_remarks() && clause.word(Word::It) && plain && bare && way == Some(up)
}

/// Whether a clause without a verb names something and a time of its own for it.
fn own_time(before: &Clause, clause: &Clause) -> bool {
    let names = before.role == Role::Main
        && before.has_predicate()
        && !clause.has_value()
        && clause.nps.iter().any(|np| !np.is_place());
    let at_once = clause.now && !before.times.is_empty();
    let later = before.now && before.times.is_empty() && !clause.times.is_empty();
    names && (at_once || later || (clause.times_first && !clause.times.is_empty() && !before.times_first))
}

/// "Set the floor lamp and the desk lamp to 30 %": whether the value of a clause is also for the one before it, whose
/// verb has none.
fn shares(before: &Clause, clause: &Clause) -> bool {
    let takes_value =
        |pred: &Pred| steps(*pred).is_some() || matches!(pred, Pred::Set | Pred::Open | Pred::Close);
    let light = before.preds.iter().all(|pred| *pred == Pred::Set);
    let plain = clause.role == Role::Main
        && (clause.preds.is_empty() || (light && clause.np_first))
        && clause.remarks.is_empty()
        && clause.occasions.is_empty()
        && clause.question.is_none()
        && clause.nps.iter().any(|np| np.joined)
        && (clause.states.is_empty() || light);
    plain
        && before.role == Role::Main
        && !before.preds.is_empty()
        && before.preds.iter().all(takes_value)
        && before.states.is_empty()
        && !before.has_value()
        && !before.nps.is_empty()
        && !before.spares()
        && !clause.spares()
}
