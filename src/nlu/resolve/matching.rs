//! Everything that a noun phrase can mean, and how surely. Only what a noun can reach is looked at, so that a house of
//! thousands of things costs no more than the ones that bear the name, the kind or the place.

use super::Resolver;
use crate::nlu::clause::{Noun, Np};
use crate::nlu::index::{Item, Target};
use crate::nlu::kinds::belongs;
use crate::nlu::vocabulary::{Class, Pred, Word};

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
    /// Items that every noun of the phrase accepts, with how surely, in the order of the house.
    pub(super) fn matching(&self, np: &Np, fits: &dyn Fn(&Item) -> bool) -> Vec<(usize, u8)> {
        let named = np.nouns.iter().any(Noun::has_entity_target);
        let mut found = Vec::new();
        for position in self.candidates(np, named) {
            let Some(item) = self.item(position) else { continue };
            if !fits(item)
                || !self.is_such(position, np)
                || !np.places.iter().all(|word| self.place_word(item, *word))
            {
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
        for noun in np.nouns.iter().filter(|noun| !noun.special.is_empty()) {
            let special = |(item, _): &(usize, u8)| noun.special.binary_search(item).is_ok();
            if found.iter().any(special) {
                found.retain(special);
            }
        }
        // "The AC" is rather what is called so than a thermostat that can cool.
        let class = Class::AirConditioner;
        let called =
            |(item, _): &(usize, u8)| self.item(*item).is_some_and(|item| item.named.contains(&class));
        if !np.all && !np.plural && np.has_class(class) && found.iter().any(called) {
            found.retain(called);
        }
        found
    }

    /// What the noun that reaches the fewest items reaches; all items where there is no noun.
    fn candidates(&self, np: &Np, named: bool) -> Vec<usize> {
        let narrows = |noun: &&Noun| !(named && noun.is_place());
        let size =
            |noun: &&Noun| self.index.reach(noun).map(<[usize]>::len).sum::<usize>() + noun.targets.len();
        let fewest = np.nouns.iter().filter(narrows).min_by_key(size);
        let Some(noun) = fewest else { return (0..self.index.items.len()).collect() };
        let mut items: Vec<usize> = noun.entities().collect();
        items.extend(self.index.reach(noun).flatten());
        items.sort_unstable();
        items.dedup();
        items
    }

    /// The best of the matches: exact names before kinds, kinds before what only sounds like it.
    pub(super) fn best(&self, found: Vec<(usize, u8)>) -> Vec<usize> {
        let top = found.iter().map(|(_, score)| *score).max().unwrap_or(0);
        found.into_iter().filter(|(_, score)| *score == top).map(|(item, _)| item).collect()
    }

    /// Whether an item is in the area of a place, or on its floor.
    pub(super) fn in_target(&self, item: &Item, target: Target) -> bool {
        match target {
            Target::Area(area) => item.area == Some(area),
            Target::Floor(floor) => item.floor == Some(floor),
            Target::Entity(_) | Target::Scene(_) => false,
        }
    }

    fn noun_score(&self, noun: &Noun, position: usize, item: &Item) -> u8 {
        let mut best = 0;
        if noun.targets.binary_search(&Target::Entity(position)).is_ok() {
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
        if noun.parts.binary_search(&position).is_ok() {
            best = best.max(score::PART);
        }
        best
    }

    pub(super) fn place_word(&self, item: &Item, word: Word) -> bool {
        let floor = |test: &dyn Fn(i8) -> bool| {
            item.floor
                .and_then(|floor| self.index.floors.get(floor))
                .is_some_and(|floor| floor.level.is_some_and(test))
        };
        // Where "here" is must be known to act there.
        let here = match self.area {
            Some(area) => item.area == Some(area),
            None => self.frame.pred == Pred::Tell,
        };
        (word != Word::Here || here)
            && (word != Word::Outside || item.outside)
            && (word != Word::Upstairs || floor(&|level| level > 0))
            && (word != Word::Downstairs || floor(&|level| level <= 0))
    }
}
