//! Entity ids: who claims an object id, and which number each claimant has.
//!
//! Ids follow from what is announced and not from the order of arrival: claimants of one object id are sorted by
//! topic, the first has the plain id, the second `_2`. So ids are the same after every restart.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::super::names;
use super::super::topic::ItemKey;
use super::{Discovery, DiscoveryChange};
use crate::home::{Domain, EntityId, Update};

/// Most entities with one object id. Each newcomer may give the others new numbers, so there must be an end.
pub(super) const MAX_NAMESAKES: usize = 512;

/// A domain and an object id.
pub(super) type Claim = (Domain, String);

pub(super) struct Ids {
    /// Ids that are never given away.
    taken: HashSet<EntityId>,
    /// Claimants with their topics, sorted.
    claims: BTreeMap<Claim, Vec<(String, ItemKey)>>,
}

impl Ids {
    pub fn new(taken: HashSet<EntityId>) -> Self {
        Self { taken, claims: BTreeMap::new() }
    }

    /// Notes a claimant and gives its place among the others; `None` where there are too many already.
    pub fn claim(
        &mut self,
        domain: Domain,
        object: &str,
        topic: &str,
        key: &ItemKey,
    ) -> Option<(Claim, usize)> {
        let claim = (domain, object.to_owned());
        let claimants = self.claims.entry(claim.clone()).or_default();
        if claimants.len() >= MAX_NAMESAKES {
            return None;
        }
        let new = (topic.to_owned(), key.clone());
        let place = claimants.partition_point(|known| *known < new);
        claimants.insert(place, new);
        Some((claim, place))
    }

    /// Forgets a claimant; gives the place that it had.
    pub fn release(&mut self, claim: &Claim, key: &ItemKey) -> usize {
        let Some(claimants) = self.claims.get_mut(claim) else { return 0 };
        let place = claimants.iter().position(|(_, known)| known == key);
        if let Some(place) = place {
            claimants.remove(place);
        }
        if claimants.is_empty() {
            self.claims.remove(claim);
        }
        place.unwrap_or(0)
    }

    pub fn claimants(&self, claim: &Claim) -> &[(String, ItemKey)] {
        self.claims.get(claim).map(Vec::as_slice).unwrap_or_default()
    }

    /// The id of the claimant at `place`.
    pub fn of(&self, claim: &Claim, place: usize) -> EntityId {
        (0..)
            .map(|nth| names::numbered(claim.0, &claim.1, nth))
            .filter(|id| !self.taken.contains(id))
            .nth(place)
            .unwrap_or_else(|| names::numbered(claim.0, &claim.1, place))
    }
}

impl Discovery {
    /// Gives the known claimants of an object id from `first` on the numbers that they have now.
    pub(super) fn renumber(&mut self, claim: &Claim, first: usize, changes: &mut Vec<DiscoveryChange>) {
        let claimants = self.ids.claimants(claim).get(first..).unwrap_or_default().to_vec();
        let mut moved = Vec::new();
        for (place, (topic, key)) in (first..).zip(&claimants) {
            let id = self.ids.of(claim, place);
            let Some(item) = self.items.get(key).filter(|item| item.entity.id != id) else { continue };
            let config = item.config.read();
            let Ok(made) = self.make(topic, key, &config, id, &item.entity.name) else { continue };
            // All old ids are free before the first new one is given.
            changes.push(DiscoveryChange::Removed(item.entity.id.clone()));
            moved.push((key, made));
        }
        for (key, made) in moved {
            self.items.set_id(key, made.entity.id);
            let Some(item) = self.items.get_mut(key) else { continue };
            let initial = match item.pending.is_some() {
                // The codec stays the accepted one; only its templates still see the old id.
                true => Update { availability: made.initial.availability, ..Update::default() },
                false => {
                    made.codec.inherit(item.codec.as_ref());
                    item.codec = made.codec;
                    made.initial
                }
            };
            changes.push(DiscoveryChange::Added {
                entity: item.entity.clone(),
                codec: Arc::clone(&item.codec),
                initial,
            });
        }
    }
}
