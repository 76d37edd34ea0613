//! What a question about a state is about, and what is said where that cannot be in the state.

use super::Asker;
use crate::nlu::clause::{Clause, Noun, Np};
use crate::nlu::describe;
use crate::nlu::index::Item;
use crate::nlu::understanding::Understanding;
use crate::nlu::vocabulary::{Class, StateWord};

impl Asker<'_, '_> {
    /// The things that a question about a state is about: those that can be in it.
    pub(super) fn able(&self, np: Option<&Np>, state: StateWord) -> Vec<usize> {
        let relevant = |item: &Item| describe::can_be(item, state);
        let swept = |item: &Item| describe::can_be(item, state) && describe::is_switched(item, state);
        match np {
            Some(np) if np.is_place() || np.has_class(Class::Everything) || np.has_class(Class::Device) => {
                let mut place = np.clone();
                place.nouns.retain(Noun::is_place);
                self.about(Some(&place), &swept)
            }
            Some(np) => {
                let found = self.about(Some(np), &relevant);
                let able = |item: usize| self.item(item).is_some_and(&relevant);
                if found.is_empty() { self.beside(np, &able) } else { found }
            }
            None => self.about(None, &swept),
        }
    }

    /// "Is the front door closed?", of a lock with a contact beside it: what can tell has the name in its own.
    pub(super) fn beside(&self, np: &Np, can: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let lexicon = self.command.lexicon;
        let named: Vec<Vec<String>> = np
            .nouns
            .iter()
            .flat_map(Noun::entities)
            .filter_map(|item| self.item(item))
            .map(|item| lexicon.keys(item.entity.name_in(lexicon.language)))
            .filter(|keys| !keys.is_empty())
            .collect();
        let holds = |item: &Item| {
            let keys = lexicon.keys(item.entity.name_in(lexicon.language));
            named.iter().any(|name| keys.windows(name.len()).any(|window| window == name.as_slice()))
        };
        let all = self.command.index.items.iter().enumerate();
        all.filter(|(position, item)| can(*position) && holds(item)).map(|(item, _)| item).collect()
    }

    /// Where what is named cannot be in the state that is asked for: how it is.
    pub(super) fn not_of(&self, np: &Np, clause: &Clause) -> Understanding {
        let known = if np.is_place() { Vec::new() } else { self.about(Some(np), &|_| true) };
        if known.is_empty() { self.nothing(clause) } else { self.status(&known) }
    }
}
