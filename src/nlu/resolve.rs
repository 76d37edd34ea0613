//! From noun phrases to entities of the house. An unknown place or name is never widened.

use crate::home::{Domain, House, State};

use super::clause::{Noun, Np};
use super::dialogue::Dialogue;
use super::frame::Frame;
use super::index::{HouseIndex, Item, Target, belongs, related};
use super::vocabulary::{Class, Pred, Word};

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
    /// Fillers of names that stand for nothing.
    pub frame: &'a Frame,
}

/// How sure a noun is about an item; 0 is not at all.
mod score {
    pub const NAME: u8 = 4;
    pub const KIND: u8 = 3;
    pub const PART: u8 = 2;
    pub const WEAK: u8 = 1;
}

/// What is sure in every word comes before what is not.
const SURE: u8 = 64;

impl Resolver<'_> {
    fn item(&self, item: usize) -> Option<&Item> {
        self.index.items.get(item)
    }

    pub fn state(&self, item: usize) -> Option<&State> {
        self.house.state(self.item(item)?.entity.id.as_str())
    }

    fn fits(&self, item: &Item) -> bool {
        self.frame.fits(item.entity.domain()) && !item.entity.actions.is_empty()
    }

    /// Whether an item is in the area of a place, or on its floor.
    fn in_target(&self, item: &Item, target: Target) -> bool {
        match target {
            Target::Area(area) => item.area == Some(area),
            Target::Floor(floor) => item.floor == Some(floor),
            Target::Entity(_) | Target::Scene(_) => false,
        }
    }

    fn noun_score(&self, noun: &Noun, position: usize, item: &Item) -> u8 {
        let mut best = 0;
        if noun.targets.contains(&Target::Entity(position)) {
            best = score::NAME;
        }
        if noun.targets.iter().any(|target| self.in_target(item, *target)) {
            // "The garage" is rather its door than whatever stands in it.
            best = best.max(if noun.classes.is_empty() { score::KIND } else { score::PART });
        }
        for class in &noun.classes {
            best = best.max(match belongs(item, *class) {
                2 => score::KIND,
                1 => score::WEAK,
                _ => 0,
            });
        }
        if noun.parts.contains(&position) {
            best = best.max(score::PART);
        }
        best
    }

    fn place_word(&self, item: &Item, word: Word) -> bool {
        let floor = |test: &dyn Fn(i8) -> bool| {
            item.floor
                .and_then(|floor| self.index.floors.get(floor))
                .is_some_and(|floor| floor.level.is_some_and(test))
        };
        match word {
            // Where "here" is must be known to act there.
            Word::Here => match self.area {
                Some(area) => item.area == Some(area),
                None => self.frame.pred == Pred::Tell,
            },
            Word::Outside => item.outside,
            Word::Upstairs => floor(&|level| level > 0),
            Word::Downstairs => floor(&|level| level <= 0),
            _ => true,
        }
    }

    /// Items that every noun of the phrase accepts, with how surely.
    fn matching(&self, np: &Np, fits: &dyn Fn(&Item) -> bool) -> Vec<(usize, u8)> {
        let named =
            np.nouns.iter().any(|noun| noun.targets.iter().any(|target| matches!(target, Target::Entity(_))));
        let mut found = Vec::new();
        for (position, item) in self.index.items.iter().enumerate() {
            if !fits(item) || !np.places.iter().all(|word| self.place_word(item, *word)) {
                continue;
            }
            let mut total = 0;
            let mut least = u8::MAX;
            for noun in &np.nouns {
                let mut score = self.noun_score(noun, position, item);
                // "the front door in the hall", of a door that has no area.
                if score == 0 && named && noun.is_place() && item.area.is_none() {
                    score = score::WEAK;
                }
                total += score;
                least = least.min(score);
            }
            if least > 0 {
                found.push((position, if least == score::WEAK { total } else { total + SURE }));
            }
        }
        found
    }

    /// The best of the matches: exact names before kinds, kinds before what only sounds like it.
    fn best(&self, found: Vec<(usize, u8)>) -> Vec<usize> {
        let top = found.iter().map(|(_, score)| *score).max().unwrap_or(0);
        found.into_iter().filter(|(_, score)| *score == top).map(|(item, _)| item).collect()
    }

    /// What a noun phrase of a command means.
    pub fn find(&self, np: &Np) -> Found {
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
            let Some(class) = self.class_of_place() else { return Found::Missing };
            np.nouns.push(Noun { classes: vec![class], ..Noun::default() });
            np.all |= class == Class::Light;
            return self.choose(&np, true);
        }
        if np.nouns.is_empty() {
            return Found::Missing;
        }
        self.choose(&np, false)
    }

    /// What "turn off the kitchen" means.
    fn class_of_place(&self) -> Option<Class> {
        self.frame.implied().or(match self.frame.pred {
            Pred::On | Pred::Off | Pred::OnOrOpen | Pred::OffOrClose | Pred::Toggle => Some(Class::Light),
            Pred::Set | Pred::Raise | Pred::Lower if self.frame.sets() => Some(Class::Light),
            Pred::Open | Pred::Close => Some(Class::Cover),
            _ => None,
        })
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
        if items.is_empty() {
            items = self.stand_ins(np);
        }
        if items.is_empty() {
            // It exists, but cannot do that: the fault says so.
            items = self.best(self.matching(np, &|item| !item.entity.actions.is_empty()));
            if items.len() > 1 && !np.all && !np.plural {
                items = self.narrowed(&items, np);
            }
            return if items.is_empty() { Found::Nothing(np.text()) } else { Found::Items(items) };
        }
        match self.one_or_all(items, np, by_place) {
            Found::Items(items) => Found::Items(self.those_on(items)),
            other => other,
        }
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
        self.best(self.matching(&wider, &|item| self.fits(item)))
    }

    fn one_or_all(&self, items: Vec<usize>, np: &Np, by_place: bool) -> Found {
        if items.len() == 1 {
            return Found::Items(items);
        }
        let place = np.nouns.iter().any(Noun::is_place) || !np.places.is_empty();
        if np.all || np.plural {
            let whole = np.places.contains(&Word::House);
            return Found::Items(if place || whole { items } else { self.near(items) });
        }
        let narrowed = self.narrowed(&items, np);
        if narrowed.len() == 1 {
            return Found::Items(narrowed);
        }
        let kinds_only = np.nouns.iter().all(|noun| {
            noun.is_place()
                || !noun.classes.is_empty()
                    && !noun.targets.iter().any(|target| matches!(target, Target::Entity(_)))
        });
        let one_area = narrowed
            .iter()
            .filter_map(|item| self.item(*item))
            .map(|item| item.area)
            .collect::<std::collections::HashSet<_>>()
            .len()
            == 1;
        let by_floor =
            np.nouns.iter().any(|noun| noun.targets.iter().any(|target| matches!(target, Target::Floor(_))))
                || np.places.iter().any(|word| *word != Word::Here);
        let several = narrowed.iter().filter_map(|item| self.item(*item)).all(|item| {
            matches!(
                item.entity.domain(),
                Domain::Light
                    | Domain::Fan
                    | Domain::Cover
                    | Domain::Climate
                    | Domain::MediaPlayer
                    | Domain::Humidifier
            ) && !matches!(item.entity.device_class.as_deref(), Some("garage" | "gate" | "door"))
        });
        if kinds_only
            && several
            && ((one_area && (place || narrowed.len() < items.len())) || by_floor || by_place)
        {
            return Found::Items(narrowed);
        }
        Found::Several(narrowed)
    }

    /// Those where the caller is; all, if none is there.
    fn near(&self, items: Vec<usize>) -> Vec<usize> {
        let here: Vec<usize> = items
            .iter()
            .copied()
            .filter(|item| self.area.is_some() && self.item(*item).is_some_and(|item| item.area == self.area))
            .collect();
        if !here.is_empty() {
            return here;
        }
        let carried = self.in_carried(&items);
        if carried.is_empty() { items } else { carried }
    }

    fn in_carried(&self, items: &[usize]) -> Vec<usize> {
        items
            .iter()
            .copied()
            .filter(|item| {
                self.item(*item)
                    .is_some_and(|item| item.area.is_some_and(|area| self.carried.contains(&area)))
            })
            .collect()
    }

    /// Fewer of several: by what an earlier clause named, by where the caller is, by what plays.
    fn narrowed(&self, items: &[usize], np: &Np) -> Vec<usize> {
        let mut items = items.to_vec();
        let keep = |items: &mut Vec<usize>, kept: Vec<usize>| {
            if !kept.is_empty() {
                *items = kept;
            }
        };
        let place = np.nouns.iter().any(Noun::is_place) || !np.places.is_empty();
        if !place {
            let carried = self.in_carried(&items);
            keep(&mut items, carried);
            let here: Vec<usize> = items
                .iter()
                .copied()
                .filter(|item| {
                    self.area.is_some() && self.item(*item).is_some_and(|item| item.area == self.area)
                })
                .collect();
            keep(&mut items, here);
        }
        if items.len() > 1 && items.iter().all(|item| self.is_domain(*item, Domain::MediaPlayer)) {
            let wanted = self.playing_states();
            let active: Vec<usize> = items
                .iter()
                .copied()
                .filter(|item| {
                    self.state(*item).and_then(State::text).is_some_and(|state| wanted.contains(&state))
                })
                .collect();
            keep(&mut items, active);
        }
        items
    }

    fn playing_states(&self) -> &'static [&'static str] {
        match self.frame.pred {
            Pred::Resume | Pred::Play => &["paused"],
            Pred::On | Pred::OnOrOpen => &[],
            _ => &["playing", "buffering"],
        }
    }

    fn is_domain(&self, item: usize, domain: Domain) -> bool {
        self.item(item).is_some_and(|item| item.entity.domain() == domain)
    }

    /// "Everything": what may be switched without a thought; never locks, alarm, climate, freezers, routers.
    fn everything(&self, np: &Np) -> Found {
        let closing = matches!(self.frame.pred, Pred::Open | Pred::Close);
        let place = |item: &Item| {
            np.nouns
                .iter()
                .filter(|noun| noun.is_place())
                .all(|noun| noun.targets.iter().any(|target| self.in_target(item, *target)))
                && np.places.iter().all(|word| self.place_word(item, *word))
        };
        let items: Vec<usize> = self
            .index
            .items
            .iter()
            .enumerate()
            .filter(|(position, item)| {
                let domain = item.entity.domain();
                let swept = if closing {
                    domain == Domain::Cover
                        && matches!(
                            item.entity.device_class.as_deref(),
                            Some("blind" | "curtain" | "shade" | "shutter" | "awning")
                        )
                } else {
                    matches!(domain, Domain::Light | Domain::Switch | Domain::Fan | Domain::MediaPlayer)
                };
                let off = self.state(*position).and_then(State::text) == Some("off");
                let already = off && matches!(self.frame.pred, Pred::Off | Pred::OffOrClose);
                swept && !item.critical && !already && self.fits(item) && place(item)
            })
            .map(|(position, _)| position)
            .collect();
        if items.is_empty() { Found::Nothing(np.text()) } else { Found::Items(items) }
    }

    /// What an exclusion takes away; `None` where it names nothing that is known.
    pub fn excluded(&self, np: &Np) -> Option<Vec<usize>> {
        if !np.unknown.is_empty() || (np.nouns.is_empty() && np.places.is_empty()) {
            return None;
        }
        let found = self.matching(np, &|_| true);
        (!found.is_empty()).then(|| found.into_iter().map(|(item, _)| item).collect())
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
        let Some(class) = self.frame.implied() else {
            return if pronoun || spoken.is_empty() { Found::Missing } else { Found::Items(spoken) };
        };
        let np = Np { nouns: vec![Noun { classes: vec![class], ..Noun::default() }], ..Np::default() };
        let mut items: Vec<usize> =
            self.matching(&np, &|item| self.fits(item)).into_iter().map(|(item, _)| item).collect();
        if items.is_empty() && class == Class::Cover {
            return Found::Missing;
        }
        if self.frame.remark {
            return self.remarked(items);
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
        self.one_or_all(items, &np, false)
    }

    /// A remark about a place that is named.
    pub fn remarked_at(&self, np: &Np) -> Found {
        if !np.unknown.is_empty() {
            return Found::Unknown(np.text());
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
            frame: self.frame,
        };
        there.unnamed(false)
    }

    /// A change by steps is for what is on, where some of several are.
    fn those_on(&self, items: Vec<usize>) -> Vec<usize> {
        let stepped = matches!(
            self.frame.amount,
            Some(super::frame::Amount::Step { .. } | super::frame::Amount::By(_))
        );
        if !stepped || items.len() < 2 {
            return items;
        }
        let on: Vec<usize> = items
            .iter()
            .copied()
            .filter(|item| self.state(*item).and_then(State::text).is_some_and(|state| state != "off"))
            .collect();
        if on.is_empty() { items } else { on }
    }

    /// "Too bright in here": the lights that are on here.
    fn remarked(&self, items: Vec<usize>) -> Found {
        let Some(area) = self.area else {
            return match items.as_slice() {
                [_] => Found::Items(items),
                [] => Found::Missing,
                _ => Found::Several(items),
            };
        };
        let here: Vec<usize> = items
            .into_iter()
            .filter(|item| self.item(*item).is_some_and(|item| item.area == Some(area)))
            .collect();
        let on: Vec<usize> = here
            .iter()
            .copied()
            .filter(|item| self.state(*item).and_then(State::text).is_some_and(|state| state != "off"))
            .collect();
        match (here.is_empty(), on.is_empty()) {
            (true, _) => Found::Missing,
            (false, true) => Found::Items(here),
            (false, false) => Found::Items(on),
        }
    }

    /// The areas of items, to be carried to the next clause.
    pub fn areas(&self, items: &[usize]) -> Vec<usize> {
        let mut areas: Vec<usize> =
            items.iter().filter_map(|item| self.item(*item)).filter_map(|item| item.area).collect();
        areas.sort_unstable();
        areas.dedup();
        areas
    }
}

impl Resolver<'_> {
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
