//! Questions, answered from the state of the house.
//!
//! `several` takes the questions of a sentence apart, `subjects` finds what a question is about, `states` is
//! about what is on or open, `measured` about attributes ("how warm"), `conditions` about what holds now
//! ("if the window is open").

mod conditions;
mod measured;
mod several;
mod states;
mod subjects;

use crate::home::{Domain, State, attr};

use super::clause::{Clause, Noun, Np};
use super::command::Command;
use super::describe::{self, number};
use super::frame::Frame;
use super::index::{Item, Target};
use super::kinds::{belongs, related};
use super::resolve::Resolver;
use super::understanding::{RefuseReason, Understanding};
use super::vocabulary::{Attribute, Class, Pred, StateWord, Word};

/// Answers the questions of one sentence.
pub struct Asker<'a, 'b> {
    pub command: &'a Command<'b>,
}

/// What has come about where a verb was done: "did I lock the door".
const STATES: &[(&[Pred], StateWord)] = &[
    (&[Pred::On, Pred::OnOrOpen], StateWord::On),
    (&[Pred::Off, Pred::OffOrClose], StateWord::Off),
    (&[Pred::Open], StateWord::Open),
    (&[Pred::Close], StateWord::Closed),
    (&[Pred::Lock], StateWord::Locked),
    (&[Pred::Unlock], StateWord::Unlocked),
    (&[Pred::Arm, Pred::ArmAway, Pred::ArmHome, Pred::ArmNight, Pred::ArmVacation], StateWord::Armed),
    (&[Pred::Disarm], StateWord::Disarmed),
    (&[Pred::Play], StateWord::Playing),
    (&[Pred::Pause], StateWord::Paused),
    (&[Pred::Clean], StateWord::Cleaning),
];

/// Names read aloud at most; more are counted.
const NAMES: usize = 10;

impl Asker<'_, '_> {
    fn one(&self, clauses: &[Clause]) -> Understanding {
        let says = |clause: &&Clause| {
            !clause.nps.is_empty()
                || !clause.attributes.is_empty()
                || !clause.states.is_empty()
                || !clause.preds.is_empty()
        };
        let asks = |clause: &&Clause| !clause.states.is_empty() || !clause.attributes.is_empty();
        let Some(clause) = clauses.iter().find(asks).or_else(|| clauses.iter().find(says)) else {
            return self.command.not_understood(Vec::new());
        };
        // "Which of the lights is brightest"
        if clause.question == Some(Word::Which) && (clause.word(Word::Max) || clause.word(Word::Min)) {
            return self.command.not_understood(Vec::new());
        }
        if let Some(text) = self.clock(clause) {
            return Understanding::Answer { text, entities: Vec::new() };
        }
        if let Some(np) = clause.nps.iter().find(|np| !np.unknown.is_empty())
            && !np.nouns.iter().any(Noun::has_entity_target)
        {
            return if np.nouns.is_empty() {
                self.command.not_understood(np.unknown.clone())
            } else {
                self.command.unknown(&np.text())
            };
        }
        if clause.attributes.contains(&Attribute::Age) {
            return self.about_attribute(clause, Attribute::Age);
        }
        let states = self.states(clause);
        // "How about turning off the tv" asks for no state.
        let did = clause.word(Word::Did) || clause.question == Some(Word::Did);
        let done = matches!(clause.question, Some(Word::What | Word::Who));
        // 打开车库门安全吗: what is asked of it is not known.
        let odd = !clause.unknown.is_empty() || clause.nps.iter().any(|np| !np.unknown.is_empty());
        if clause.states.is_empty() && !states.is_empty() && ((done && !did) || odd) {
            return self.command.not_understood(Vec::new());
        }
        // "Who turned on the tv" asks for no state either.
        let people = |state: &StateWord| matches!(state, StateWord::Home | StateWord::Away);
        if clause.question == Some(Word::Who) && !states.is_empty() && !states.iter().any(people) {
            return self.command.not_understood(Vec::new());
        }
        let home = states.iter().find(|state| matches!(state, StateWord::Home | StateWord::Away));
        if let Some(state) = home.or(states.first()) {
            return self.about_state(clause, *state);
        }
        // "What temperature is the heating set to?" asks for the one that was set.
        let asked = clause.attributes.iter().filter(|attribute| **attribute != Attribute::Status);
        let target = asked.clone().find(|attribute| **attribute == Attribute::TargetTemperature);
        if let Some(attribute) = target.or(asked.clone().next()) {
            return self.about_attribute(clause, *attribute);
        }
        // "Is it over 20 in the office?"
        if (clause.word(Word::Above) || clause.word(Word::Below)) && measured::limit(clause).is_some() {
            return self.about_attribute(clause, Attribute::Temperature);
        }
        self.about_thing(clause)
    }

    /// The states asked for; "did I lock the door" asks for locked.
    pub(super) fn states(&self, clause: &Clause) -> Vec<StateWord> {
        let mut states = clause.states.clone();
        let of = |pred: &Pred| STATES.iter().find(|(preds, _)| preds.contains(pred)).map(|(_, state)| *state);
        states.extend(clause.preds.iter().filter_map(of));
        // "How cold is it out on the porch"
        let weather = [Attribute::Temperature, Attribute::Humidity];
        if clause.attributes.iter().any(|attribute| weather.contains(attribute)) {
            states.retain(|state| *state != StateWord::Off);
        }
        // "Who is out": of people that is away.
        if clause.question == Some(Word::Who) && clause.nps.is_empty() {
            for state in &mut states {
                if *state == StateWord::Off {
                    *state = StateWord::Away;
                }
            }
        }
        if states.is_empty()
            && clause.nps.iter().any(|np| np.has_class(Class::Person))
            && clause.nps.iter().any(|np| np.places.contains(&Word::House))
        {
            states.push(StateWord::Home);
        }
        // "Is there smoke in the kitchen?"
        let there = matches!(clause.question, Some(Word::Is | Word::Did | Word::Asks));
        let sensed = [Class::Motion, Class::Presence, Class::Smoke, Class::Leak];
        if states.is_empty()
            && there
            && clause.attributes.is_empty()
            && clause.nps.iter().any(|np| sensed.iter().any(|class| np.has_class(*class)))
        {
            states.push(StateWord::Detected);
        }
        states
    }

    fn clock(&self, clause: &Clause) -> Option<String> {
        let now = self.command.request.now;
        let only = |attribute: Attribute| clause.attributes.contains(&attribute) && clause.nps.is_empty();
        if only(Attribute::Clock) {
            return Some(self.command.say("time", &[("time", &now.format("%H:%M").to_string())]));
        }
        only(Attribute::Date).then(|| describe::date(self.command.lexicon, now))
    }

    /// The entities that a question is about. `relevant` says which could be meant at all.
    pub(super) fn about(&self, np: Option<&Np>, relevant: &dyn Fn(&Item) -> bool) -> Vec<usize> {
        let frame = Frame::question();
        let resolver = self.resolver(&frame);
        let Some(np) = np else { return resolver.asked(&Np::default(), relevant) };
        let found = resolver.asked(np, relevant);
        if !found.is_empty() {
            return found;
        }
        let mut wider = np.clone();
        for noun in &mut wider.nouns {
            let more: Vec<Class> = noun.classes.iter().flat_map(|class| related(*class)).copied().collect();
            noun.classes.extend(more);
        }
        resolver.asked(&wider, relevant)
    }

    fn resolver<'c>(&'c self, frame: &'c Frame) -> Resolver<'c> {
        Resolver {
            house: self.command.house,
            index: self.command.index,
            dialogue: self.command.dialogue,
            area: self.command.area(),
            carried: Vec::new(),
            carried_named: false,
            frame,
        }
    }

    pub(super) fn item(&self, item: usize) -> Option<&Item> {
        self.command.index.items.get(item)
    }

    pub(super) fn state(&self, item: usize) -> Option<&State> {
        self.command.house.state(self.item(item)?.entity.id.as_str())
    }

    pub(super) fn name(&self, item: usize, among: &[usize]) -> String {
        self.command.distinct_name(item, among)
    }

    pub(super) fn names(&self, items: &[usize]) -> String {
        let names: Vec<String> = items.iter().take(NAMES).map(|item| self.name(*item, items)).collect();
        let mut text = describe::list(self.command.lexicon, &names);
        if items.len() > NAMES {
            text.push_str(&self.command.say("and_others", &[("count", &(items.len() - NAMES).to_string())]));
        }
        text
    }

    pub(super) fn reply(&self, text: String, items: &[usize]) -> Understanding {
        let entities =
            items.iter().filter_map(|item| self.item(*item)).map(|item| item.entity.id.clone()).collect();
        Understanding::Answer { text, entities }
    }

    pub(super) fn nothing(&self, clause: &Clause) -> Understanding {
        let said: Vec<String> = clause.nps.iter().map(Np::text).filter(|text| !text.is_empty()).collect();
        if said.is_empty() {
            return self.command.not_understood(Vec::new());
        }
        let reply = self.command.say("nothing_there", &[("what", &said.join(" "))]);
        Understanding::Refuse { reply, reason: RefuseReason::NothingThere }
    }

    pub(super) fn pronoun(&self, clause: &Clause) -> Vec<usize> {
        if clause.nps.is_empty() && (clause.word(Word::It) || clause.word(Word::Them)) {
            return self
                .command
                .dialogue
                .entities
                .iter()
                .filter_map(|id| self.command.index.item_of(id.as_str()))
                .collect();
        }
        Vec::new()
    }

    pub(super) fn describe(&self, item: usize) -> String {
        self.item(item)
            .map(|known| describe::state(self.command.lexicon, known, self.state(item)))
            .unwrap_or_default()
    }

    pub(super) fn age(&self, item: usize) -> String {
        describe::age(self.command.lexicon, self.state(item), self.command.request.now)
    }

    pub(super) fn since(&self, items: &[usize]) -> Understanding {
        let Some(item) = items.first() else { return self.command.not_understood(Vec::new()) };
        let text = describe::since(
            self.command.lexicon,
            &self.name(*item, items),
            &self.describe(*item),
            self.state(*item),
            self.command.request.now,
        );
        self.reply(text, items)
    }

    /// Status, weather, where somebody is, and whatever else is asked about a named thing.
    fn about_thing(&self, clause: &Clause) -> Understanding {
        let Some(np) = clause.nps.first() else {
            let spoken = self.pronoun(clause);
            return if spoken.is_empty() { self.nothing(clause) } else { self.status(&spoken) };
        };
        if np.has_class(Class::Weather) {
            return self.weather(clause);
        }
        let mut items = self.about(Some(np), &|item| {
            !matches!(item.entity.domain(), Domain::Scene | Domain::Script | Domain::Button)
        });
        if np.is_place() {
            items.clear();
        }
        if items.is_empty() {
            return self.nothing(clause);
        }
        self.status(&items)
    }

    pub(super) fn status(&self, items: &[usize]) -> Understanding {
        let parts: Vec<String> = items
            .iter()
            .take(NAMES)
            .map(|item| {
                self.command
                    .say("one_is", &[("name", &self.name(*item, items)), ("is", &self.describe(*item))])
            })
            .collect();
        let mut text =
            self.command.say("sentence", &[("text", &describe::list(self.command.lexicon, &parts))]);
        if let [item] = items {
            text.push_str(&self.age(*item));
        }
        self.reply(text, items)
    }

    fn weather(&self, clause: &Clause) -> Understanding {
        let all = self.about(None, &|item| belongs(item, Class::Weather) == 2);
        let named: Vec<usize> = clause
            .nps
            .iter()
            .flat_map(|np| &np.nouns)
            .flat_map(|noun| {
                all.iter()
                    .copied()
                    .filter(|item| noun.targets.contains(&Target::Entity(*item)) || noun.parts.contains(item))
            })
            .collect();
        let Some(item) = named.first().or(all.first()) else { return self.nothing(clause) };
        let state = self.describe(*item);
        let text = match self.state(*item).and_then(|state| state.attribute_number(attr::TEMPERATURE)) {
            Some(degrees) => self.command.say(
                "weather",
                &[("name", &self.name(*item, &[])), ("is", &state), ("degrees", &number(degrees))],
            ),
            None => self.command.say(
                "sentence",
                &[("text", &self.command.say("one_is", &[("name", &self.name(*item, &[])), ("is", &state)]))],
            ),
        };
        self.reply(text, &[*item])
    }
}
