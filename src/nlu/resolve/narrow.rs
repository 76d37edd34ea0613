//! Which of several things is meant: by number, place, caller, conversation and state.

use crate::home::{Domain, State};

use super::{Found, Resolver};
use crate::nlu::amount::Amount;
use crate::nlu::clause::{Noun, Np};
use crate::nlu::index::Target;
use crate::nlu::vocabulary::{Pred, Word};

impl Resolver<'_> {
    pub(super) fn one_or_all(&self, items: Vec<usize>, np: &Np, by_place: bool) -> Found {
        if items.len() == 1 {
            return Found::Items(items);
        }
        let place = np.nouns.iter().any(Noun::is_place) || !np.places.is_empty();
        // "Close any open blinds": whichever they are, where nothing is made less safe.
        let rests = !matches!(self.frame.pred, Pred::Unlock | Pred::Disarm | Pred::Open | Pred::OnOrOpen);
        if np.such.is_some() && (np.plural || np.any) && !np.one_of && rests {
            return Found::Items(if place { items } else { self.near(items) });
        }
        // "Some lights": which?
        if np.one_of {
            return Found::Several(items);
        }
        // "Turn off any lights": whichever are on.
        if np.any && np.plural && self.frame.pred != Pred::Tell {
            return match self.frame.rests() {
                true if place => Found::Items(items),
                true => Found::Items(self.near(items)),
                false => Found::Several(items),
            };
        }
        let named = place || np.places.contains(&Word::House) || !np.names_kinds_only();
        // "Both lights", where there are seven
        if np.both && self.frame.pred != Pred::Tell {
            let near = self.near(items.clone());
            return if near.len() == 2 { Found::Items(near) } else { Found::Several(items) };
        }
        if np.all || (np.plural && (named || self.frame.secures())) {
            // "Close the bedroom blinds and turn off all the lights": of the house.
            let whole = place || (np.all && self.area.is_none() && !self.carried_named);
            return Found::Items(if whole { items } else { self.near(items) });
        }
        if np.plural {
            // "The lights" are those of one room; which one, where nothing says it?
            let near = self.near(items);
            return if self.in_one_area(&near) { Found::Items(near) } else { Found::Several(near) };
        }
        let narrowed = self.narrowed(&items, np);
        if narrowed.len() == 1 {
            return Found::Items(narrowed);
        }
        if self.are_one(&narrowed, items.len(), np, by_place) {
            return Found::Items(narrowed);
        }
        Found::Several(narrowed)
    }

    /// "The light" of a room or of a floor: several things that are meant as one.
    fn are_one(&self, narrowed: &[usize], of: usize, np: &Np, by_place: bool) -> bool {
        let place = np.nouns.iter().any(Noun::is_place) || !np.places.is_empty();
        let by_floor =
            np.nouns.iter().any(|noun| noun.targets.iter().any(|target| matches!(target, Target::Floor(_))))
                || np.places.iter().any(|word| *word != Word::Here);
        let harmless = narrowed.iter().filter_map(|item| self.item(*item)).all(|item| {
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
        let of_one_area = self.in_one_area(narrowed) && (place || narrowed.len() < of);
        np.names_kinds_only() && harmless && (of_one_area || by_floor || by_place)
    }

    fn in_one_area(&self, items: &[usize]) -> bool {
        let mut areas = items.iter().filter_map(|item| self.item(*item)).map(|item| item.area);
        let first = areas.next();
        areas.all(|area| Some(area) == first)
    }

    /// Those where the caller is; all, if none is there.
    pub(super) fn near(&self, items: Vec<usize>) -> Vec<usize> {
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

    pub(super) fn in_carried(&self, items: &[usize]) -> Vec<usize> {
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
    pub(super) fn narrowed(&self, items: &[usize], np: &Np) -> Vec<usize> {
        let mut items = items.to_vec();
        let keep = |items: &mut Vec<usize>, kept: Vec<usize>| {
            if !kept.is_empty() {
                *items = kept;
            }
        };
        for noun in np.nouns.iter().filter(|noun| !noun.called.is_empty()) {
            let called = items.iter().copied().filter(|item| noun.called.contains(item)).collect();
            keep(&mut items, called);
        }
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
        if matches!(self.frame.pred, Pred::Resume | Pred::Play) {
            return &["paused"];
        }
        let on = matches!(self.frame.pred, Pred::On | Pred::OnOrOpen);
        if on { &[] } else { &["playing", "buffering"] }
    }

    fn is_domain(&self, item: usize, domain: Domain) -> bool {
        self.item(item).is_some_and(|item| item.entity.domain() == domain)
    }

    /// A change by steps is for what is on, where some of several are.
    pub(super) fn those_on(&self, items: Vec<usize>) -> Vec<usize> {
        let stepped = matches!(self.frame.amount, Some(Amount::Step { .. } | Amount::By(_)));
        if !stepped || items.len() < 2 {
            return items;
        }
        let on: Vec<usize> = items.iter().copied().filter(|item| self.is_on(*item)).collect();
        if on.is_empty() { items } else { on }
    }

    /// "Too bright in here": the lights that are on here.
    pub(super) fn remarked(&self, items: Vec<usize>) -> Found {
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
        let on: Vec<usize> = here.iter().copied().filter(|item| self.is_on(*item)).collect();
        match (here.is_empty(), on.is_empty()) {
            (true, _) => Found::Missing,
            (false, true) => Found::Items(here),
            (false, false) => Found::Items(on),
        }
    }
}
