//! Questions about settings and measurements.

use super::{Asker, NAMES};
use crate::home::Domain;
use crate::nlu::clause::{Clause, Noun, Np};
use crate::nlu::describe;
use crate::nlu::number::Value;
use crate::nlu::scope::distributed;
use crate::nlu::understanding::{RefuseReason, Understanding};
use crate::nlu::vocabulary::{Attribute, Class, Word};

impl Asker<'_, '_> {
    pub(super) fn about_attribute(&self, clause: &Clause, attribute: Attribute) -> Understanding {
        if attribute == Attribute::Age {
            let np = clause.nps.first();
            let items = if np.is_some() { self.about(np, &|_| true) } else { self.pronoun(clause) };
            return self.since(&items);
        }
        let items = self.with_attribute(clause, attribute);
        // "How bright is the desk lamp?"
        if items.is_empty() && attribute == Attribute::Illuminance {
            return self.about_attribute(clause, Attribute::Brightness);
        }
        if items.is_empty() {
            return self.not_known(clause);
        }
        if let Some(compared) = self.compared(clause, attribute, &items) {
            return compared;
        }
        let parts: Vec<String> = items
            .iter()
            .take(NAMES)
            .filter_map(|item| {
                let value =
                    describe::value(self.command.lexicon, self.item(*item)?, self.state(*item), attribute)?;
                Some(self.command.say("one_is", &[("name", &self.name(*item, &items)), ("is", &value)]))
            })
            .collect();
        if parts.is_empty() {
            let text = self.command.say("state_unknown", &[("name", &self.names(&items))]);
            return self.reply(text, &items);
        }
        let mut text =
            self.command.say("sentence", &[("text", &describe::list(self.command.lexicon, &parts))]);
        if let [item] = items.as_slice() {
            text.push_str(&self.age(*item));
        }
        self.reply(text, &items)
    }

    /// What is named is there, and does not tell what is asked.
    fn not_known(&self, clause: &Clause) -> Understanding {
        let named: Vec<usize> = clause
            .nps
            .iter()
            .filter(|np| np.unknown.is_empty() && !np.is_place())
            .flat_map(|np| self.about(Some(np), &|_| true))
            .collect();
        if !named.is_empty() {
            let text = self.command.say("state_unknown", &[("name", &self.names(&named))]);
            return self.reply(text, &named);
        }
        match clause.nps.iter().find(|np| np.is_place() && !np.text().is_empty()) {
            Some(place) => {
                let reply = self.command.say("not_told_there", &[("where", &place.text())]);
                Understanding::Refuse { reply, reason: RefuseReason::NothingThere }
            }
            None => self.nothing(clause),
        }
    }

    /// "The battery of the kitchen sink": what knows it of the device that was named.
    fn of_the_same_device(&self, np: &Np, knows: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let device = |item: usize| self.item(item)?.entity.device.as_ref().map(|device| &device.id);
        let named: Vec<_> =
            self.about(Some(np), &|_| true).into_iter().filter_map(|item| device(item).cloned()).collect();
        let same = |item: &usize| device(*item).is_some_and(|id| named.contains(id));
        (0..self.command.index.items.len()).filter(|item| knows(*item) && same(item)).collect()
    }

    /// The entities that know an attribute, best first: a sensor of it before a device that has it too.
    pub(super) fn with_attribute(&self, clause: &Clause, attribute: Attribute) -> Vec<usize> {
        let nps = distributed(&clause.nps);
        if nps.iter().filter(|np| !np.nouns.is_empty() || !np.places.is_empty()).count() > 1 {
            let one = |np: Np| Clause { nps: vec![np], ..clause.clone() };
            let mut items: Vec<usize> =
                nps.into_iter().flat_map(|np| self.with_attribute(&one(np), attribute)).collect();
            let mut seen = std::collections::HashSet::new();
            items.retain(|item| seen.insert(*item));
            return items;
        }
        let spoken = self.pronoun(clause);
        let knows = |item: usize| {
            self.item(item).is_some_and(|known| describe::knows(known, self.state(item), attribute))
        };
        if !spoken.is_empty() {
            return spoken.into_iter().filter(|item| knows(*item)).collect();
        }
        let np = clause.nps.iter().find(|np| !np.nouns.is_empty() || !np.places.is_empty());
        let mut items: Vec<usize> =
            self.about(np, &|_| true).into_iter().filter(|item| knows(*item)).collect();
        if items.is_empty()
            && let Some(np) = np
        {
            items = self.of_the_same_device(np, &knows);
        }
        if items.is_empty()
            && let Some(np) = np
        {
            items = self.beside(np, &|item| knows(item));
        }
        let outside = np.is_none_or(|np| np.places.contains(&Word::Outside) && np.nouns.is_empty());
        if items.is_empty() && outside {
            items = self.command.index.of_class(Class::Weather).to_vec();
            items.retain(|item| knows(*item));
        }
        let exact = np.is_some_and(|np| np.nouns.iter().any(Noun::has_entity_target));
        let place = np.is_some_and(|np| np.nouns.iter().any(Noun::is_place) || !np.places.is_empty());
        if !exact
            && !place
            && items.len() > 1
            && let Some(area) = self.command.area()
        {
            let here: Vec<usize> = items
                .iter()
                .copied()
                .filter(|item| self.item(*item).is_some_and(|item| item.area == Some(area)))
                .collect();
            if !here.is_empty() {
                items = here;
            }
        }
        let sensors: Vec<usize> = items
            .iter()
            .copied()
            .filter(|item| self.item(*item).is_some_and(|item| item.entity.domain() == Domain::Sensor))
            .collect();
        if !sensors.is_empty() && !exact { sensors } else { items }
    }

    /// "Is it warmer than 23 in the office?"
    pub(super) fn compared(
        &self,
        clause: &Clause,
        attribute: Attribute,
        items: &[usize],
    ) -> Option<Understanding> {
        let limit = limit(clause)?;
        let above = if clause.word(Word::Above) {
            true
        } else if clause.word(Word::Below) {
            false
        } else {
            return None;
        };
        let item = items.first()?;
        let value = describe::amount(self.item(*item)?, self.state(*item), attribute)?;
        let holds = if above { value > limit } else { value < limit };
        let is = describe::value(self.command.lexicon, self.item(*item)?, self.state(*item), attribute)?;
        let key = if holds { "yes_it_is" } else { "no_it_is" };
        let text = self.command.say(key, &[("name", &self.name(*item, items)), ("is", &is)]);
        Some(self.reply(text, items))
    }
}

/// The number that a comparison names.
pub(super) fn limit(clause: &Clause) -> Option<f64> {
    clause.values.iter().find_map(|value| match value {
        Value::Number(number) | Value::Percent(number) | Value::Celsius(number) => Some(*number),
        Value::Fahrenheit(number) => Some(*number),
        Value::Kelvin(_) | Value::Duration(_) => None,
    })
}
