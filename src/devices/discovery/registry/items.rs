//! The announced items, found by key, by topic, by entity id and, for native ones, by device.
//!
//! An announcement, a removal and a question about one entity look at what they concern and at nothing else: a house may
//! announce tens of thousands of items in one burst.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::topic::ItemKey;
use super::native_items::device_names;
use crate::devices::codec::Codec;
use crate::home::{Entity, EntityId};

pub(super) struct Item {
    /// The topic that owns it.
    pub topic: String,
    pub config: Keys,
    pub object: String,
    pub unique_id: Option<String>,
    pub device: Option<String>,
    pub entity: Entity,
    pub codec: Arc<dyn Codec>,
    /// Read from a device's own announcement.
    pub native: bool,
    /// Why a person has to accept the present definition first, if so.
    pub pending: Option<String>,
}

/// The keys of an announcement as JSON text. As maps they would be the largest part of what is known of a house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys(Box<str>);

impl Keys {
    pub fn of(config: &Map<String, Value>) -> Self {
        Self(serde_json::to_string(config).unwrap_or_default().into())
    }

    pub fn read(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

#[derive(Default)]
pub(super) struct Items {
    by_key: HashMap<ItemKey, Item>,
    by_topic: HashMap<String, Vec<ItemKey>>,
    by_id: HashMap<EntityId, ItemKey>,
    /// Native items by each name of their device.
    native: HashMap<String, Vec<ItemKey>>,
}

impl Items {
    pub fn get(&self, key: &ItemKey) -> Option<&Item> {
        self.by_key.get(key)
    }

    /// An item, to be changed in everything but its topic, its id and its device: those are found by.
    pub fn get_mut(&mut self, key: &ItemKey) -> Option<&mut Item> {
        self.by_key.get_mut(key)
    }

    pub fn all(&self) -> impl Iterator<Item = &Item> {
        self.by_key.values()
    }

    pub fn of_entity(&self, id: &str) -> Option<(&ItemKey, &Item)> {
        let key = self.by_id.get(id)?;
        Some((key, self.by_key.get(key)?))
    }

    /// What `topic` owns, in the order of the keys.
    pub fn of_topic(&self, topic: &str) -> Vec<ItemKey> {
        let mut keys = self.by_topic.get(topic).cloned().unwrap_or_default();
        keys.sort();
        keys
    }

    /// The native items of a device that has one of these names, in the order of the keys.
    pub fn native_of(&self, names: &[String]) -> Vec<ItemKey> {
        let mut keys: Vec<ItemKey> =
            names.iter().filter_map(|name| self.native.get(name)).flatten().cloned().collect();
        keys.sort();
        keys.dedup();
        keys
    }

    pub fn insert(&mut self, key: ItemKey, item: Item) {
        self.by_topic.entry(item.topic.clone()).or_default().push(key.clone());
        self.by_id.insert(item.entity.id.clone(), key.clone());
        if item.native {
            for name in device_names(&item.config.read()) {
                self.native.entry(name).or_default().push(key.clone());
            }
        }
        self.by_key.insert(key, item);
    }

    pub fn remove(&mut self, key: &ItemKey) -> Option<Item> {
        let item = self.by_key.remove(key)?;
        forget(&mut self.by_topic, &item.topic, key);
        // A renumbered neighbour may have this id already.
        if self.by_id.get(&item.entity.id) == Some(key) {
            self.by_id.remove(&item.entity.id);
        }
        if item.native {
            for name in device_names(&item.config.read()) {
                forget(&mut self.native, &name, key);
            }
        }
        Some(item)
    }

    /// Gives an item another id. Its old one is taken out of the index unless somebody else has it by now.
    pub fn set_id(&mut self, key: &ItemKey, id: EntityId) {
        let Some(item) = self.by_key.get_mut(key) else { return };
        let old = std::mem::replace(&mut item.entity.id, id.clone());
        if self.by_id.get(&old) == Some(key) {
            self.by_id.remove(&old);
        }
        self.by_id.insert(id, key.clone());
    }
}

fn forget(table: &mut HashMap<String, Vec<ItemKey>>, name: &str, key: &ItemKey) {
    if let Some(keys) = table.get_mut(name) {
        keys.retain(|known| known != key);
        if keys.is_empty() {
            table.remove(name);
        }
    }
}
