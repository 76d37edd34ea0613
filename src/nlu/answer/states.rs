//! Questions about states: whether something is on, which are open, how many are locked.

use super::{Asker, NAMES};
use crate::nlu::clause::{Clause, Np};
use crate::nlu::describe::{self, Truth};
use crate::nlu::scope::distributed;
use crate::nlu::understanding::Understanding;
use crate::nlu::vocabulary::{Attribute, Class, StateWord, Word};

impl Asker<'_, '_> {
    pub(super) fn about_state(&self, clause: &Clause, state: StateWord) -> Understanding {
        let nps: Vec<Np> = distributed(&clause.nps)
            .into_iter()
            .filter(|np| !np.nouns.is_empty() || !np.places.is_empty())
            .collect();
        // "Did anyone turn off the tv": of the television.
        let person = |np: &Np| np.has_class(Class::Person);
        let about_people = matches!(state, StateWord::Home | StateWord::Away) || nps.iter().all(person);
        let nps: Vec<Np> = nps.into_iter().filter(|np| about_people || !person(np)).collect();
        let mut items = self.pronoun(clause);
        if items.is_empty() && nps.is_empty() {
            items = self.able(None, state);
        }
        for np in &nps {
            let found = self.able(Some(np), state);
            if found.is_empty() {
                return self.not_of(np, clause);
            }
            items.extend(found.into_iter().filter(|item| !items.contains(item)).collect::<Vec<_>>());
        }
        if items.is_empty() {
            return self.nothing(clause);
        }
        let truth = |item: &usize| {
            self.item(*item).map_or(Truth::Unknown, |known| describe::truth(known, self.state(*item), state))
        };
        let with = |wanted: Truth| -> Vec<usize> {
            items.iter().copied().filter(|item| truth(item) == wanted).collect()
        };
        let (yes, no, unknown) = (with(Truth::Yes), with(Truth::No), with(Truth::Unknown));
        if clause.question == Some(Word::HowMany) {
            return self.counted(&yes, state);
        }
        if clause.attributes.contains(&Attribute::Age) || clause.question == Some(Word::HowLong) {
            return self.since(if yes.is_empty() { &items } else { &yes });
        }
        // "Is nobody home": who is.
        let nobody = clause.word(Word::Not) && clause.nps.iter().any(person);
        if nobody || matches!(clause.question, Some(Word::Which | Word::What | Word::Who)) {
            return self.which(&yes, state);
        }
        if items.len() == 1 {
            return self.single(&items, truth(items.first().unwrap_or(&0)));
        }
        let all = nps.iter().any(|np| np.all) || clause.word(Word::All);
        // "Are the lamp and the fan on?" asks for both; "are any lights on" for one.
        let each = nps.len() > 1 && nps.iter().all(|np| !np.any && !np.plural);
        if all || each || self.wants_all(clause, state) {
            return self.all_are(&items, &yes, &no, &unknown, state);
        }
        if yes.is_empty() {
            let key = if unknown.is_empty() { "none" } else { "none_known" };
            return self.reply(self.command.say(key, &[("state", &self.word(state))]), &items);
        }
        let values = [("names", self.names(&yes)), ("state", self.word(state))];
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.reply(self.command.say("some", &values), &yes)
    }

    fn counted(&self, yes: &[usize], state: StateWord) -> Understanding {
        let key = if yes.is_empty() { "count_none" } else { "count" };
        let (count, names, word) = (yes.len().to_string(), self.names(yes), self.word(state));
        let text = self.command.say(key, &[("count", &count), ("names", &names), ("state", &word)]);
        self.reply(text, yes)
    }

    fn word(&self, state: StateWord) -> String {
        self.command.lexicon.phrase(&format!("is.{}", state.word())).unwrap_or(state.word()).to_owned()
    }

    /// "Did I lock the door", "are the windows closed": safe states are asked of all.
    pub(super) fn wants_all(&self, clause: &Clause, state: StateWord) -> bool {
        matches!(state, StateWord::Locked | StateWord::Closed | StateWord::Off | StateWord::Armed)
            && !clause.nps.iter().any(|np| np.any)
            && !clause.word(Word::Any)
    }

    fn which(&self, yes: &[usize], state: StateWord) -> Understanding {
        let text = if yes.is_empty() {
            self.command.say("none", &[("state", &self.word(state))])
        } else {
            self.command.say("these", &[("names", &self.names(yes)), ("state", &self.word(state))])
        };
        self.reply(text, yes)
    }

    fn single(&self, items: &[usize], truth: Truth) -> Understanding {
        let Some(item) = items.first() else { return self.command.not_understood(Vec::new()) };
        let key = match truth {
            Truth::Yes => "yes_it_is",
            Truth::No => "no_it_is",
            Truth::Unknown => "state_unknown",
        };
        let is = self.describe(*item);
        let text = self.command.say(key, &[("name", &self.name(*item, items)), ("is", &is)]);
        self.reply(format!("{text}{}", self.age(*item)), items)
    }

    fn all_are(
        &self,
        items: &[usize],
        yes: &[usize],
        no: &[usize],
        unknown: &[usize],
        state: StateWord,
    ) -> Understanding {
        let word = self.word(state);
        if yes.len() == items.len() {
            return self.reply(self.command.say("all_are", &[("state", &word)]), items);
        }
        if no.is_empty() {
            let text = self.command.say("not_all_known", &[("names", &self.names(unknown))]);
            return self.reply(text, unknown);
        }
        let said: Vec<String> = no
            .iter()
            .take(NAMES)
            .map(|item| {
                self.command.say("one_is", &[("name", &self.name(*item, no)), ("is", &self.describe(*item))])
            })
            .collect();
        let text = self.command.say("not_all", &[("list", &describe::list(self.command.lexicon, &said))]);
        self.reply(text, no)
    }
}
