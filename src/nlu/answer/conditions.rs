//! Whether a condition of a command holds now.

use super::Asker;
use super::measured::limit;
use crate::home::Domain;
use crate::nlu::clause::{Clause, Role};
use crate::nlu::describe::{self, Truth};
use crate::nlu::index::Item;
use crate::nlu::vocabulary::{Attribute, Word};

impl Asker<'_, '_> {
    /// What a condition is about, where it can be acted on: those of them that are as it says.
    pub fn subject(&self, clause: &Clause) -> Vec<usize> {
        let Some(np) = clause.nps.first() else { return Vec::new() };
        let acts = |item: &Item| !item.entity.actions.is_empty();
        let Some(state) = self.states(clause).first().copied() else { return self.about(Some(np), &acts) };
        let items = self.about(Some(np), &|item| acts(item) && describe::can_be(item, state));
        let is = |item: &usize| {
            self.item(*item)
                .is_some_and(|known| describe::truth(known, self.state(*item), state) == Truth::Yes)
        };
        let those: Vec<usize> = items.iter().copied().filter(is).collect();
        if those.is_empty() || clause.role == Role::Unless || clause.word(Word::Not) { items } else { those }
    }

    /// Whether a condition holds now; `None` where it cannot be told. Its missing place is that of `main`.
    pub fn holds(&self, clause: &Clause, main: Option<&Clause>) -> Option<bool> {
        if clause.nps.iter().any(|np| !np.unknown.is_empty()) || !clause.times.is_empty() {
            return None;
        }
        let mut clause = clause.clone();
        if clause.nps.is_empty()
            && let Some(main) = main
        {
            clause.nps = main.nps.clone();
        }
        if let Some(limit) = limit(&clause) {
            let attribute = clause
                .attributes
                .first()
                .or_else(|| main.and_then(|main| main.attributes.first()))
                .copied()
                .unwrap_or(Attribute::Temperature);
            let attribute =
                if attribute == Attribute::TargetTemperature { Attribute::Temperature } else { attribute };
            let item = *self.with_attribute(&clause, attribute).first()?;
            // What a humidifier aims at is not how humid it is.
            if attribute == Attribute::Humidity && self.item(item)?.entity.domain() == Domain::Humidifier {
                return None;
            }
            let value = describe::amount(self.item(item)?, self.state(item), attribute)?;
            let holds = match (clause.word(Word::Above), clause.word(Word::Below)) {
                (true, false) => value > limit,
                (false, true) => value < limit,
                _ => return None,
            };
            // "If it is not above 20"
            return Some(holds != clause.word(Word::Not));
        }
        let state = *self.states(&clause).first()?;
        let items = self.about(clause.nps.first(), &|item| describe::can_be(item, state));
        let mut truths = Vec::new();
        for item in &items {
            truths.push(describe::truth(self.item(*item)?, self.state(*item), state));
        }
        if truths.is_empty() || truths.contains(&Truth::Unknown) {
            return None;
        }
        let all = clause.nps.iter().any(|np| np.all) || self.wants_all(&clause, state);
        let not = clause.word(Word::Not);
        // "If any door isn't locked" asks for one that is not; "if no lights are on" denies the whole.
        if not && clause.nps.iter().any(|np| np.any) {
            return Some(truths.contains(&Truth::No));
        }
        let yes = |truth: &Truth| *truth == Truth::Yes;
        let holds = if all { truths.iter().all(yes) } else { truths.iter().any(yes) };
        Some(holds != not)
    }
}
