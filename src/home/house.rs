//! The registry of entities and their states, and what changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::entity::{Entity, EntityId};
use super::place::{Places, Scene};
use super::state::{Stamp, State, Update};

/// Everything known about the home now. Entities and scenes are kept in the order of their ids, so that what is
/// derived from them (tools, prompt) is the same for the same home.
#[derive(Debug, Clone, Default)]
pub struct House {
    pub places: Places,
    pub scenes: BTreeMap<String, Scene>,
    entities: BTreeMap<EntityId, Arc<Entity>>,
    states: HashMap<EntityId, State>,
    /// Grows with every change of the registry (not of states): what is derived from it is rebuilt then. No two
    /// contents of any registry of this process have the same one, except clones; 0 is the empty registry.
    revision: u64,
    sequence: u64,
}

/// The last revision given to any registry.
static REVISION: AtomicU64 = AtomicU64::new(0);

fn next_revision() -> u64 {
    REVISION.fetch_add(1, Ordering::Relaxed) + 1
}

/// A report that was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub entity: EntityId,
    pub state: State,
    /// False where the report repeated what was known. Only those who asked for such reports see them.
    pub changed: bool,
}

impl House {
    pub fn new(places: Places) -> Self {
        Self { places, revision: next_revision(), ..Self::default() }
    }

    /// Adds or replaces an entity; a known state is kept.
    pub fn insert(&mut self, entity: Entity) {
        self.revision = next_revision();
        self.states.entry(entity.id.clone()).or_default();
        self.entities.insert(entity.id.clone(), Arc::new(entity));
    }

    /// Removes an entity and its state; says whether it was there.
    pub fn remove(&mut self, id: &EntityId) -> bool {
        let was = self.entities.remove(id).is_some();
        self.states.remove(id);
        if was {
            self.revision = next_revision();
        }
        was
    }

    pub fn insert_scene(&mut self, scene: Scene) {
        self.revision = next_revision();
        self.scenes.insert(scene.id.clone(), scene);
    }

    pub fn entity(&self, id: &str) -> Option<&Arc<Entity>> {
        self.entities.get(id)
    }

    pub fn entities(&self) -> impl Iterator<Item = &Arc<Entity>> {
        self.entities.values()
    }

    pub fn len(&self) -> usize {
        self.entities.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    pub fn state(&self, id: &str) -> Option<&State> {
        self.states.get(id)
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The number of the last report; a report after it has a larger one.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The area of an entity by name, for people.
    pub fn area_name(&self, entity: &Entity) -> Option<&str> {
        let area = self.places.areas.get(entity.area.as_deref()?)?;
        Some(&area.name)
    }

    /// Applies a report to an entity that is known; `stamp.sequence` is given here. Returns whether anything that
    /// a person would see changed, or `None` for an unknown entity.
    pub fn apply(&mut self, id: &EntityId, update: &Update, mut stamp: Stamp) -> Option<bool> {
        let state = self.states.get_mut(id)?;
        self.sequence += 1;
        stamp.sequence = self.sequence;
        Some(state.apply(update, stamp))
    }

    /// The leaves of a group, at any depth; an entity that is no group is its own leaf. A loop ends at itself.
    pub fn leaves(&self, id: &EntityId) -> Vec<EntityId> {
        let mut leaves = Vec::new();
        let mut seen = Vec::new();
        let mut open = vec![id.clone()];
        while let Some(id) = open.pop() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id.clone());
            match self.entities.get(&id) {
                Some(entity) if !entity.members.is_empty() => {
                    open.extend(entity.members.iter().rev().cloned())
                }
                Some(_) | None => leaves.push(id),
            }
        }
        leaves
    }
}
