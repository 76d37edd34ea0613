//! Whether a condition of a command holds now.

use super::Asker;
use super::measured::limit;
use crate::nlu::clause::Clause;
use crate::nlu::describe::{self, Truth};
use crate::nlu::vocabulary::{Attribute, Word};

impl Asker<'_, '_> {
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
            let value = describe::amount(self.item(item)?, self.state(item), attribute)?;
            return match (clause.word(Word::Above), clause.word(Word::Below)) {
                (true, false) => Some(value > limit),
                (false, true) => Some(value < limit),
                _ => None,
            };
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
        let yes = |truth: &Truth| *truth == Truth::Yes;
        Some(if all { truths.iter().all(yes) } else { truths.iter().any(yes) })
    }
}
