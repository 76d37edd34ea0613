//! What a sentence says is not to be touched: "…, but leave the kitchen on", 书房灯不要关，其他的都关了.
//!
//! Exclusions inside one clause ("except the kitchen") are `scope`'s.

use crate::home::Domain;

use super::clause::{Clause, Noun, Np};
use super::command::{Command, Running, Stop};
use super::describe::{Truth, truth};
use super::frame::Frame;
use super::resolve::Found;
use super::scope::distributed;
use super::vocabulary::{Class, Pred, StateWord, Word};

impl Command<'_> {
    /// The items that clauses beside a command forbid or keep as they are.
    ///
    /// # Errors
    /// One of them names what the house does not have.
    pub fn spared(&self, clauses: &[&Clause]) -> Result<Vec<usize>, Stop> {
        let mut spared = Vec::new();
        if clauses.iter().all(|clause| clause.spares()) {
            return Ok(spared);
        }
        let frame = Frame::question();
        let resolver = self.resolver(&frame, &Running::default());
        for clause in clauses.iter().filter(|clause| clause.spares()) {
            for np in distributed(&clause.nps) {
                match resolver.excluded(&np) {
                    Some(found) => spared.extend(found),
                    None => return Err(Box::new(self.unknown(&np.text()))),
                }
            }
        }
        Ok(spared)
    }

    /// "Leave the kitchen lights on", where one of them is on: they stay as they are.
    pub fn is_kept(&self, clause: &Clause, running: &Running) -> bool {
        let Some(frame) = Frame::of(clause) else { return false };
        let resolver = self.resolver(&frame, running);
        // "Leave the garage door open" opens nothing that is closed.
        if frame.pred == Pred::Open {
            return true;
        }
        let states =
            [(Pred::On, StateWord::On), (Pred::Off, StateWord::Off), (Pred::Close, StateWord::Closed)];
        let Some((_, wanted)) = states.into_iter().find(|(pred, _)| *pred == frame.pred) else {
            return clause.states.is_empty();
        };
        clause.nps.iter().any(|np| match resolver.find(np) {
            Found::Items(items) => {
                let is = |item: &usize| {
                    let known = self.index.items.get(*item);
                    known.is_some_and(|known| truth(known, resolver.state(*item), wanted) == Truth::Yes)
                };
                items.iter().any(is)
            }
            Found::Several(_)
            | Found::Scene(_)
            | Found::Unknown(_)
            | Found::Nothing(_)
            | Found::NoneSo(_)
            | Found::NothingIn(_)
            | Found::Missing => false,
        })
    }

    /// What "the others" leaves out: what the sentence named before, else what was last spoken of. `None` where the
    /// clause says nothing of others.
    ///
    /// # Errors
    /// Nothing was named that these could be the others of.
    pub fn not_the_others(
        &self,
        clause: &Clause,
        frame: &Frame,
        running: &Running,
    ) -> Result<Option<Vec<usize>>, Stop> {
        let other = clause.word(Word::Other) && frame.nps.iter().any(|np| np.plural || np.all);
        if !other && !clause.word(Word::Others) {
            return Ok(None);
        }
        let mut named = running.named.clone();
        named.extend(&running.spared);
        if named.is_empty() {
            let spoken = self.dialogue.entities.iter();
            named.extend(spoken.filter_map(|id| self.index.item_of(id.as_str())));
        }
        if named.is_empty() { Err(Box::new(self.not_understood(Vec::new()))) } else { Ok(Some(named)) }
    }

    /// "The other lights", "the rest": all of what is said, or of the kind of those that it leaves out.
    pub fn mean_the_others(&self, others: &[usize], nps: &mut Vec<Np>) {
        for np in nps.iter_mut() {
            np.all = true;
        }
        if nps.is_empty() {
            nps.push(self.like(others));
        }
    }

    /// "The rest": things of the kind of those that it leaves out.
    fn like(&self, items: &[usize]) -> Np {
        let of = |domain: Domain| {
            items
                .iter()
                .all(|item| self.index.items.get(*item).is_some_and(|item| item.entity.domain() == domain))
        };
        // Beside a television "the rest" is whatever is on.
        let kinds = [
            (Domain::Light, Class::Light),
            (Domain::Cover, Class::Cover),
            (Domain::Fan, Class::Fan),
            (Domain::Lock, Class::Lock),
        ];
        let kind = kinds.into_iter().find(|(domain, _)| of(*domain));
        let class = kind.map_or(Class::Everything, |(_, class)| class);
        Np { nouns: vec![Noun { classes: vec![class], ..Noun::default() }], all: true, ..Np::default() }
    }
}
