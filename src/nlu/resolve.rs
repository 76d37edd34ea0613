//! From noun phrases to entities of the house. An unknown place or name is never widened.
//!
//! `matching` finds what a phrase can mean, `narrow` what it means of several, and `sweep` what "everything" is.

mod matching;
mod narrow;
mod sweep;

use crate::home::{Domain, House, State};

use super::amount::Amount;
use super::clause::{Noun, Np};
use super::describe::{Truth, can_be, truth};
use super::dialogue::Dialogue;
use super::frame::Frame;
use super::index::{HouseIndex, Item, Target};
use super::kinds::{belongs, related};
use super::number::Value;
use super::vocabulary::{Class, Pred, StateWord};

/// What a noun phrase was found to mean. Numbers index [`HouseIndex::items`].
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Items(Vec<usize>),
    /// One of these: which?
    Several(Vec<usize>),
    Scene(String),
    /// A word of it is nothing that the house has.
    Unknown(String),
    /// Everything in it is known, and together it is nothing.
    Nothing(String),
    /// Nothing of what is meant is in this state.
    NoneSo(StateWord),
    /// The place is known, and nothing in it can do that.
    NothingIn(String),
    /// The sentence does not say what.
    Missing,
}

/// Where and when the sentence was said.
pub struct Resolver<'a> {
    pub house: &'a House,
    pub index: &'a HouseIndex,
    pub dialogue: &'a Dialogue,
    /// The caller's area.
    pub area: Option<usize>,
    /// The place that an earlier clause of the sentence named.
    pub carried: Vec<usize>,
    /// Whether it was named, and not only acted in.
    pub carried_named: bool,
    /// What is to be done.
    pub frame: &'a Frame,
}

impl Resolver<'_> {
    fn item(&self, item: usize) -> Option<&Item> {
        self.index.items.get(item)
    }

    pub fn state(&self, item: usize) -> Option<&State> {
        self.house.state(self.item(item)?.entity.id.as_str())
    }

    /// Whether an item is in a state other than off.
    fn is_on(&self, item: usize) -> bool {
        self.state(item).and_then(State::text).is_some_and(|state| state != "off")
    }

    /// Whether an item is in the state that a phrase says: "the open blinds".
    pub(super) fn is_such(&self, item: usize, np: &Np) -> bool {
        np.such.is_none_or(|state| {
            // What pauses is on too.
            let (state, wanted) = match state {
                StateWord::On => (StateWord::Off, Truth::No),
                other => (other, Truth::Yes),
            };
            self.item(item)
                .is_some_and(|known| can_be(known, state) && truth(known, self.state(item), state) == wanted)
        })
    }

    fn fits(&self, item: &Item) -> bool {
        self.frame.fits(item.entity.domain()) && !item.entity.actions.is_empty()
    }

    /// What a noun phrase of a command means.
    pub fn find(&self, np: &Np) -> Found {
        match (self.found(np), np.such) {
            (Found::Nothing(_) | Found::NothingIn(_), Some(state)) => Found::NoneSo(state),
            (found, _) => found,
        }
    }

    fn found(&self, np: &Np) -> Found {
        if !np.unknown.is_empty() {
            return Found::Unknown(np.text());
        }
        if let Some(scene) = self.scene(np) {
            return Found::Scene(scene);
        }
        if np.has_class(Class::Everything) || (np.has_class(Class::Device) && (np.all || np.plural)) {
            return self.everything(np);
        }
        let mut np = np.clone();
        if np.is_place() {
            let Some(class) = self.class_of_place(&np) else { return Found::Missing };
            np.nouns.push(Noun { classes: vec![class], ..Noun::default() });
            np.all |= class == Class::Light || self.frame.secures();
            return self.choose(&np, true);
        }
        if np.nouns.is_empty() {
            return Found::Missing;
        }
        self.choose(&np, false)
    }

    /// What "turn off the kitchen" means.
    fn class_of_place(&self, place: &Np) -> Option<Class> {
        if self.is_warmth(place) {
            return Some(Class::Climate);
        }
        let pred = self.frame.pred;
        let switches =
            matches!(pred, Pred::On | Pred::Off | Pred::OnOrOpen | Pred::OffOrClose | Pred::Toggle);
        let sets = matches!(pred, Pred::Set | Pred::Raise | Pred::Lower) && self.frame.sets();
        let moves = matches!(pred, Pred::Open | Pred::Close);
        let kind = if switches || sets { Some(Class::Light) } else { moves.then_some(Class::Cover) };
        self.frame.implied().or(kind)
    }

    /// "Set the living room to 21", where it has something that heats or cools: degrees, and no share of its light.
    fn is_warmth(&self, place: &Np) -> bool {
        const ROOM: std::ops::RangeInclusive<f64> = 16.0..=28.0;
        let degrees = self.frame.pred == Pred::Set
            && self.frame.attribute.is_none()
            && self.frame.color.is_none()
            && matches!(self.frame.amount, Some(Amount::To(Value::Number(number))) if ROOM.contains(&number));
        if !degrees {
            return false;
        }
        let mut np = place.clone();
        np.nouns.push(Noun { classes: vec![Class::Climate], ..Noun::default() });
        !self.matching(&np, &|item| self.fits(item)).is_empty()
    }

    fn scene(&self, np: &Np) -> Option<String> {
        if !self.frame.fits(Domain::Scene) {
            return None;
        }
        np.nouns.iter().flat_map(|noun| &noun.targets).find_map(|target| match target {
            Target::Scene(scene) => self.index.scenes.get(*scene).map(|(id, _)| id.clone()),
            Target::Entity(_) | Target::Area(_) | Target::Floor(_) => None,
        })
    }

    fn choose(&self, np: &Np, by_place: bool) -> Found {
        let fits = |item: &Item| self.fits(item);
        let mut items = self.best(self.matching(np, &fits));
        if items.is_empty() || self.elsewhere(&items, np) {
            let others = self.stand_ins(np);
            let here: Vec<usize> = others
                .iter()
                .copied()
                .filter(|item| self.item(*item).is_some_and(|item| item.area == self.area))
                .collect();
            // Who says "curtains" where there are only blinds means those, and not the curtains of another room.
            if items.is_empty() {
                items = others;
            } else if !here.is_empty() {
                items = here;
            }
        }
        if items.is_empty() {
            // It exists, but cannot do that: the fault says so.
            items = self.best(self.matching(np, &|item| !item.entity.actions.is_empty()));
            if items.len() > 1 && !np.all && !np.plural {
                items = self.narrowed(&items, np);
            }
            if items.is_empty() {
                return if by_place { Found::NothingIn(np.text()) } else { Found::Nothing(np.text()) };
            }
            return Found::Items(items);
        }
        match self.one_or_all(items, np, by_place) {
            Found::Items(items) => Found::Items(self.uncritical(self.those_on(items), np)),
            other => other,
        }
    }

    /// Whether a place is not said, the caller's is known, and none of the items is there.
    fn elsewhere(&self, items: &[usize], np: &Np) -> bool {
        let placed = !np.places.is_empty() || np.nouns.iter().any(Noun::is_place);
        let there = |item: &usize| self.item(*item).is_some_and(|item| item.area == self.area);
        !placed && !np.all && np.names_kinds_only() && self.area.is_some() && !items.iter().any(there)
    }

    /// Curtains for blinds, where there are no blinds.
    fn stand_ins(&self, np: &Np) -> Vec<usize> {
        let mut wider = np.clone();
        for noun in &mut wider.nouns {
            let more: Vec<Class> = noun.classes.iter().flat_map(|class| related(*class)).copied().collect();
            noun.classes.extend(more);
        }
        if wider == *np {
            return Vec::new();
        }
        // A television is no speaker.
        let speaker = np.has_class(Class::Speaker);
        let fits = |item: &Item| self.fits(item) && !(speaker && belongs(item, Class::Tv) == 2);
        self.best(self.matching(&wider, &fits))
    }

    /// What an exclusion takes away; `None` where it names nothing that is known.
    pub fn excluded(&self, np: &Np) -> Option<Vec<usize>> {
        // "All but two lamps": which two?
        let none = np.nouns.is_empty() && np.places.is_empty();
        if !np.unknown.is_empty() || none || np.one_of {
            return None;
        }
        let found = self.matching(np, &|_| true);
        // 灯带 is a kind of light, and here the name of one.
        let named = np.nouns.iter().any(Noun::has_entity_target);
        let mut items: Vec<usize> =
            if named { self.best(found) } else { found.into_iter().map(|(item, _)| item).collect() };
        // Of the lights "the chandelier" is the one that is called so.
        for noun in np.nouns.iter().filter(|noun| !noun.called.is_empty()) {
            items.retain(|item| noun.called.contains(item));
        }
        (!items.is_empty()).then_some(items)
    }

    /// The kind of thing that the frame implies, as if it had been said.
    pub fn implied_np(&self) -> Option<Np> {
        let class = self.frame.implied()?;
        Some(Np { nouns: vec![Noun { classes: vec![class], ..Noun::default() }], ..Np::default() })
    }

    /// What is meant where no thing is named: the conversation's, or what the setting implies.
    pub fn unnamed(&self, pronoun: bool) -> Found {
        let spoken: Vec<usize> = self
            .dialogue
            .entities
            .iter()
            .filter_map(|id| self.index.item_of(id.as_str()))
            .filter(|item| self.item(*item).is_some_and(|item| self.fits(item)))
            .collect();
        if pronoun && !spoken.is_empty() {
            return Found::Items(spoken);
        }
        // "Lock it" of a garage door is not for every lock of the house.
        let locks = matches!(self.frame.pred, Pred::Lock | Pred::Unlock);
        if pronoun && locks && !self.dialogue.entities.is_empty() {
            return Found::Missing;
        }
        let (Some(class), Some(np)) = (self.frame.implied(), self.implied_np()) else {
            return if pronoun || spoken.is_empty() { Found::Missing } else { Found::Items(spoken) };
        };
        let mut items: Vec<usize> =
            self.matching(&np, &|item| self.fits(item)).into_iter().map(|(item, _)| item).collect();
        if items.is_empty() && class == Class::Cover {
            return Found::Missing;
        }
        if self.frame.remark {
            return self.remarked(items);
        }
        if self.frame.secures() && !items.is_empty() && spoken.is_empty() {
            return Found::Items(items);
        }
        if !self.carried.is_empty() {
            let carried = self.in_carried(&items);
            if !carried.is_empty() {
                items = carried;
            }
        }
        if !spoken.is_empty() && self.area.is_none() && items.len() > 1 {
            return Found::Items(spoken);
        }
        if items.is_empty() {
            return Found::Missing;
        }
        match self.one_or_all(items, &np, false) {
            Found::Items(items) => Found::Items(self.those_on(items)),
            other => other,
        }
    }

    /// A remark about a place that is named.
    pub fn remarked_at(&self, np: &Np) -> Found {
        if !np.unknown.is_empty() {
            return Found::Unknown(np.text());
        }
        // "The TV is too loud": that one, and not what is in the room.
        if !np.is_place() {
            return self.find(np);
        }
        let area = np.nouns.iter().flat_map(|noun| &noun.targets).find_map(|target| match target {
            Target::Area(area) => Some(*area),
            Target::Entity(_) | Target::Floor(_) | Target::Scene(_) => None,
        });
        let there = Resolver {
            house: self.house,
            index: self.index,
            dialogue: self.dialogue,
            area: area.or(self.area),
            carried: Vec::new(),
            carried_named: false,
            frame: self.frame,
        };
        there.unnamed(false)
    }

    /// The areas of items, to be carried to the next clause.
    pub fn areas(&self, items: &[usize]) -> Vec<usize> {
        let mut areas: Vec<usize> =
            items.iter().filter_map(|item| self.item(*item)).filter_map(|item| item.area).collect();
        areas.sort_unstable();
        areas.dedup();
        areas
    }

    /// The entities that a question's noun phrase means, of those that could be meant.
    pub fn asked(&self, np: &Np, relevant: &dyn Fn(&Item) -> bool) -> Vec<usize> {
        let found = self.matching(np, relevant);
        let items = self.best(found);
        let single = !np.all && !np.plural && !np.any && np.places.is_empty();
        if single && items.len() > 1 && !np.nouns.is_empty() && !np.nouns.iter().any(Noun::is_place) {
            return self.near(items);
        }
        items
    }
}
