//! "Everything", and all of a kind: what is swept up by it and what is not.

use super::{Found, Resolver};
use crate::home::{Domain, State};
use crate::nlu::clause::{Noun, Np};
use crate::nlu::index::{Item, Target};
use crate::nlu::vocabulary::{Class, Pred};

impl Resolver<'_> {
    /// "Turn off all the switches" leaves the freezer on.
    pub(super) fn uncritical(&self, items: Vec<usize>, np: &Np) -> Vec<usize> {
        let sweeps = np.names_kinds_only() && items.len() > 1;
        if !sweeps || !matches!(self.frame.pred, Pred::Off | Pred::OffOrClose) {
            return items;
        }
        let safe = |item: &usize| self.item(*item).is_some_and(|item| !item.critical);
        let kept: Vec<usize> = items.iter().copied().filter(safe).collect();
        if kept.is_empty() { items } else { kept }
    }

    /// "Everything": what may be switched without a thought; never locks, alarm, climate, freezers, routers.
    pub(super) fn everything(&self, np: &Np) -> Found {
        // "Lower everything": the volume, the blinds or the light?
        if matches!(self.frame.pred, Pred::Raise | Pred::Lower) {
            return Found::Missing;
        }
        let sweeps =
            |noun: &&Noun| noun.classes.contains(&Class::Everything) || noun.classes.contains(&Class::Device);
        let placed = |noun: &&Noun| {
            noun.targets.iter().any(|target| matches!(target, Target::Area(_) | Target::Floor(_)))
        };
        // "The garage" is a door too; beside "everything" it says where.
        if let Some(odd) = np.nouns.iter().find(|noun| !sweeps(noun) && !placed(noun)) {
            return Found::Unknown(odd.text.clone());
        }
        let place = |item: &Item| {
            np.nouns
                .iter()
                .filter(|noun| !sweeps(noun) && placed(noun))
                .all(|noun| noun.targets.iter().any(|target| self.in_target(item, *target)))
                && np.places.iter().all(|word| self.place_word(item, *word))
        };
        let items: Vec<usize> = self
            .index
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| self.is_swept(item) && place(item))
            .map(|(position, _)| position)
            .filter(|item| self.is_such(*item, np))
            .collect();
        // What is off already is not told one by one, unless all of it is.
        let off = matches!(self.frame.pred, Pred::Off | Pred::OffOrClose);
        let on = |item: &usize| self.state(*item).and_then(State::text) != Some("off");
        let still: Vec<usize> = items.iter().copied().filter(on).collect();
        match (items.is_empty(), off && !still.is_empty()) {
            (true, _) => Found::Nothing(np.text()),
            (false, true) => Found::Items(still),
            (false, false) => Found::Items(self.those_on(items)),
        }
    }

    /// Whether an item is one of those that "everything" means for this verb.
    fn is_swept(&self, item: &Item) -> bool {
        let domain = item.entity.domain();
        let swept = if self.frame.secures() {
            domain == Domain::Lock
        } else if matches!(self.frame.pred, Pred::Open | Pred::Close) {
            let hangs = ["blind", "curtain", "shade", "shutter", "awning"];
            domain == Domain::Cover
                && item.entity.device_class.as_deref().is_some_and(|class| hangs.contains(&class))
        } else {
            matches!(domain, Domain::Light | Domain::Switch | Domain::Fan | Domain::MediaPlayer)
        };
        // "Everything yellow": what has no colour is not meant.
        let colored = self.frame.color.is_some() || self.frame.white.is_some();
        swept && (!colored || domain == Domain::Light) && !item.critical && self.fits(item)
    }
}
