//! Entity ids: who claims an object id, and which number each claimant has.
//!
//! Ids follow from what is announced and not from the order of arrival: claimants of one object id are sorted by
//! topic, the first has the plain id, the second `_2`. So ids are the same after every restart.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::super::names;
use super::super::topic::ItemKey;
use super::{Discovery, DiscoveryChange};
use crate::home::{Domain, EntityId};

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

    pub fn claim(&mut self, domain: Domain, object: &str, topic: &str, key: &ItemKey) -> Claim {
        let claim = (domain, object.to_owned());
        let claimants = self.claims.entry(claim.clone()).or_default();
        claimants.push((topic.to_owned(), key.clone()));
        claimants.sort();
        claim
    }

    pub fn release(&mut self, claim: &Claim, key: &ItemKey) {
        if let Some(claimants) = self.claims.get_mut(claim) {
            claimants.retain(|(_, known)| known != key);
            if claimants.is_empty() {
                self.claims.remove(claim);
            }
        }
    }

    pub fn claimants(&self, claim: &Claim) -> &[(String, ItemKey)] {
        self.claims.get(claim).map(Vec::as_slice).unwrap_or_default()
    }

    /// The id of `key` among the claimants of its object id.
    pub fn of(&self, claim: &Claim, key: &ItemKey) -> EntityId {
        let place = self.claimants(claim).iter().position(|(_, known)| known == key).unwrap_or(0);
        (0..)
            .map(|nth| names::numbered(claim.0, &claim.1, nth))
            .filter(|id| !self.taken.contains(id))
            .nth(place)
            .unwrap_or_else(|| names::numbered(claim.0, &claim.1, place))
    }
}

impl Discovery {
    /// Gives the known claimants of an object id the numbers that they have now.
    pub(super) fn renumber(&mut self, claim: &Claim, changes: &mut Vec<DiscoveryChange>) {
        let claimants = self.ids.claimants(claim).to_vec();
        let mut moved = Vec::new();
        for (topic, key) in &claimants {
            let id = self.ids.of(claim, key);
            let Some(item) = self.items.get(key).filter(|item| item.entity.id != id) else { continue };
            let Ok(made) = self.make(topic, key, &item.config, id, &item.entity.name) else { continue };
            // All old ids are free before the first new one is given.
            changes.push(DiscoveryChange::Removed(item.entity.id.clone()));
            moved.push((key, made));
        }
        for (key, made) in moved {
            let Some(item) = self.items.get_mut(key) else { continue };
            item.entity.id = made.entity.id;
            item.codec = made.codec;
            item.availability = made.availability;
            changes.push(DiscoveryChange::Added {
                entity: item.entity.clone(),
                codec: Arc::clone(&item.codec),
                initial: made.initial,
            });
        }
    }
}
