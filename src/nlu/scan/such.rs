//! Words that say which things are meant by how they are: "the open blinds", "the lights that are on", 开着的灯.

use super::Scanner;
use crate::nlu::clause::{Noun, Role};
use crate::nlu::lattice::Span;
use crate::nlu::lexicon::Sense;
use crate::nlu::vocabulary::{Pred, StateWord, Word};

impl Scanner<'_> {
    /// Takes a word that says which things are meant; `false` where it stands for something else here.
    pub(super) fn such(&mut self, span: &Span, position: usize) -> bool {
        let Some(state) = span.such().filter(|_| !self.asking && self.clause.role == Role::Main) else {
            return false;
        };
        if self.stands_before_its_thing(position) {
            self.such = Some(state);
            return true;
        }
        if !self.follows_its_thing(span, state, position) {
            return false;
        }
        let np = match &mut self.np {
            Some(np) => Some(np),
            None => self.clause.nps.last_mut(),
        };
        np.map(|np| np.such = Some(state)).is_some()
    }

    /// "Close any open blinds", and not "open blinds": a verb, or what opens a phrase, stands before.
    fn stands_before_its_thing(&self, position: usize) -> bool {
        let thing = |span: &Span| {
            let class = span.sense(|sense| matches!(sense, Sense::Class(_)));
            class || !span.targets().is_empty() || !span.parts().is_empty()
        };
        let before = position.checked_sub(1).and_then(|before| self.row.get(before));
        let opened = before.is_some_and(|before| self.is_determiner(before) || before.word(Word::Any));
        let begun = !self.clause.preds.is_empty() && !self.clause.word(Word::Keep);
        self.row.get(position + 1).is_some_and(thing)
            && self.np.as_ref().is_none_or(|np| np.nouns.iter().all(Noun::is_place))
            && (self.han || opened || begun)
    }

    /// "Ferme les volets ouverts", "turn off the lights that are on": what a verb brings about is no such word.
    fn follows_its_thing(&self, span: &Span, state: StateWord, position: usize) -> bool {
        let before = position.checked_sub(1).and_then(|before| self.row.get(before));
        let said = self.np.is_some()
            || before.is_some_and(|before| before.sense(|sense| matches!(sense, Sense::State(_))));
        // "I want it turned off" is none.
        let relative = span.end > span.start + 1 && !span.sense(|sense| !matches!(sense, Sense::Such(_)));
        let ended = self.clause.preds.iter().any(|pred| ends(*pred, state));
        !self.han && said && (self.np.is_some() || !self.clause.nps.is_empty()) && (relative || ended)
    }
}

/// Whether a verb ends a state: what is open is closed.
fn ends(pred: Pred, state: StateWord) -> bool {
    match pred {
        Pred::Off | Pred::OffOrClose => {
            matches!(state, StateWord::On | StateWord::Open | StateWord::Playing | StateWord::Running)
        }
        Pred::Close => matches!(state, StateWord::On | StateWord::Open),
        Pred::Lock => state == StateWord::Unlocked,
        Pred::Pause | Pred::Stop => matches!(state, StateWord::Playing | StateWord::Running | StateWord::On),
        Pred::On | Pred::OnOrOpen => matches!(state, StateWord::Off | StateWord::Closed),
        Pred::Open => matches!(state, StateWord::Off | StateWord::Closed),
        Pred::Unlock => state == StateWord::Locked,
        _ => false,
    }
}
