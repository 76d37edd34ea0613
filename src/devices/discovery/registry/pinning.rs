//! What is pinned at first sight, and what a changed announcement may change by itself.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::build::{self, Made};
use super::super::fields::{Refusal, text_of};
use super::super::topic::ItemKey;
use super::super::trust::Pin;
use super::items::{Item, Keys};
use super::native_items::{NATIVE, device_names};
use super::{Accept, Discovery, DiscoveryChange, pin_name};

/// Why a new entity only reports where everything new must be accepted.
const WAITS: &str = "a person has to accept new devices";

/// An item that nobody announced before.
pub(super) struct New {
    pub topic: String,
    pub key: ItemKey,
    pub config: Map<String, Value>,
    pub object: String,
    pub unique_id: Option<String>,
    pub device: Option<String>,
    /// The key that it had before another topic took it over.
    pub moved_from: Option<ItemKey>,
}

impl Discovery {
    /// What `made` would be pinned as.
    pub(super) fn pin_of(&self, made: &Made) -> Pin {
        Pin::of(&made.entity, &made.publishes, &made.surface, (self.gate)(&made.entity))
    }

    /// Everything that is pinned for an item, whatever unique id it had: another one is no other item.
    fn pins_of(&self, key: &ItemKey) -> impl Iterator<Item = (&String, &Pin)> {
        let prefix = pin_name(key, None);
        let from = self.pins.0.range(prefix.clone()..);
        from.take_while(move |(name, _)| name.starts_with(&prefix))
    }

    /// Whether a person has to accept this item before it acts for the first time.
    fn waits(&self, key: &ItemKey, made: &Made) -> bool {
        self.accept == Accept::Manual && !made.entity.actions.is_empty() && self.pins_of(key).next().is_none()
    }

    /// What an item was held to under its old key it is held to under its new one, also while it is suspended and
    /// after a restart: there is no pin under the old key any more.
    fn move_pins(&mut self, from: &ItemKey, to: &ItemKey) {
        if from == to {
            return;
        }
        let (old, new) = (pin_name(from, None), pin_name(to, None));
        let names: Vec<String> = self.pins_of(from).map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(pin) = self.pins.0.remove(&name) else { continue };
            let mut name = format!("{new}{}", name.strip_prefix(&old).unwrap_or_default());
            // Somebody was there before: the item is held to both until a person has accepted it.
            while self.pins.0.get(&name).is_some_and(|known| *known != pin) {
                name.push('\'');
            }
            self.pins.0.insert(name, pin);
        }
    }

    /// Stores a new item and pins it; what is not trusted yet only reports.
    pub(super) fn keep(&mut self, new: New, mut made: Made, changes: &mut Vec<DiscoveryChange>) {
        let New { topic, key, config, object, unique_id, device, moved_from } = new;
        let native = key.id.starts_with(NATIVE);
        let pin = self.pin_of(&made);
        if let Some(old) = &moved_from {
            self.move_pins(old, &key);
        }
        let why = self.pins_of(&key).find_map(|(_, known)| known.suspends(&pin));
        let why = why.or_else(|| self.waits(&key, &made).then(|| WAITS.to_owned()));
        if why.is_none() {
            self.pin(&key, unique_id.as_deref(), pin);
        }
        if why.is_some() {
            made.entity.actions.clear();
        }
        let id = made.entity.id.clone();
        changes.push(DiscoveryChange::Added {
            entity: made.entity.clone(),
            codec: Arc::clone(&made.codec),
            initial: made.initial,
        });
        if let Some(why) = &why {
            changes.push(DiscoveryChange::Suspended { entity: id, why: why.clone() });
        }
        let item = Item {
            topic,
            config: Keys::of(&config),
            object,
            unique_id,
            device,
            entity: made.entity,
            codec: made.codec,
            native,
            pending: why,
        };
        if !native {
            for name in device_names(&config) {
                *self.devices.entry(name).or_default() += 1;
            }
        }
        self.items.insert(key, item);
    }

    /// A known item with a changed announcement: capabilities are replaced at once, unless a person must look first.
    pub(super) fn change(
        &mut self,
        key: &ItemKey,
        config: Map<String, Value>,
        changes: &mut Vec<DiscoveryChange>,
    ) -> Result<(), Refusal> {
        let Some(item) = self.items.get(key) else { return Ok(()) };
        let (topic, id) = (item.topic.clone(), item.entity.id.clone());
        let unique_id = config.get("unique_id").and_then(text_of);
        self.free_unique_id(key, unique_id.as_deref(), &topic)?;
        let (_, names) = self.naming(key, &config)?;
        let made = self.make(&topic, key, &config, id.clone(), &names.shown)?;
        let pin = self.pin_of(&made);
        let why = self.pins_of(key).find_map(|(_, known)| known.suspends(&pin));
        let waits = self.waits(key, &made);
        self.move_device(key, &config);
        let Some(item) = self.items.get_mut(key) else { return Ok(()) };
        if let Some(why) = why {
            // The codec stays the accepted one: it keeps reading, and nothing is sent in the new way.
            item.entity.actions.clear();
            item.pending = Some(why.clone());
            item.config = Keys::of(&config);
            changes.push(DiscoveryChange::Updated {
                entity: item.entity.clone(),
                codec: Arc::clone(&item.codec),
            });
            changes.push(DiscoveryChange::Suspended { entity: id, why });
            return Ok(());
        }
        made.codec.inherit(item.codec.as_ref());
        item.codec = made.codec;
        item.entity = made.entity;
        item.pending = waits.then(|| WAITS.to_owned());
        item.config = Keys::of(&config);
        if waits {
            item.entity.actions.clear();
        }
        changes
            .push(DiscoveryChange::Updated { entity: item.entity.clone(), codec: Arc::clone(&item.codec) });
        self.rename_unique_id(key, unique_id.clone());
        if !waits {
            self.pin(key, unique_id.as_deref(), pin);
        }
        Ok(())
    }

    /// Remembers what an item is now, in place of what it was under any unique id. What cannot act has nothing to be
    /// held to, and says nothing about what it may do once it can: it is not pinned, and an earlier pin stays.
    pub(super) fn pin(&mut self, key: &ItemKey, unique_id: Option<&str>, pin: Pin) {
        if pin.verbs.is_empty() {
            return;
        }
        let name = pin_name(key, unique_id);
        let old: Vec<String> =
            self.pins_of(key).map(|(known, _)| known).filter(|known| **known != name).cloned().collect();
        for known in old {
            self.pins.0.remove(&known);
        }
        self.pins.0.insert(name, pin);
    }

    /// Whether `unique_id` is nobody else's.
    pub(super) fn free_unique_id(
        &self,
        key: &ItemKey,
        unique_id: Option<&str>,
        topic: &str,
    ) -> Result<(), Refusal> {
        if let Some(unique_id) = unique_id
            && let Some(owner) = self.unique.get(&(key.component.clone(), unique_id.to_owned()))
            && owner != key
            && let Some(owner) = self.items.get(owner)
        {
            let first = &owner.topic;
            return Err(Refusal::Conflict(format!(
                "unique_id {unique_id:?} on {topic} belongs to {first} already"
            )));
        }
        Ok(())
    }

    /// The item is found by the unique id of its present announcement, and no longer by an earlier one.
    pub(super) fn rename_unique_id(&mut self, key: &ItemKey, unique_id: Option<String>) {
        let Some(item) = self.items.get_mut(key).filter(|item| item.unique_id != unique_id) else { return };
        if let Some(old) = std::mem::replace(&mut item.unique_id, unique_id.clone()) {
            self.unique.remove(&(key.component.clone(), old));
        }
        if let Some(unique_id) = unique_id {
            self.unique.insert((key.component.clone(), unique_id), key.clone());
        }
    }

    /// Counts an item for its new device when the announcement moved it.
    fn move_device(&mut self, key: &ItemKey, config: &Map<String, Value>) {
        let device = config.get("device").and_then(Value::as_object).and_then(build::device_id);
        let Some(item) = self.items.get_mut(key) else { return };
        if item.device == device {
            return;
        }
        if let Some(count) = item.device.take().and_then(|old| self.per_device.get_mut(&old)) {
            *count = count.saturating_sub(1);
        }
        if let Some(device) = &device {
            *self.per_device.entry(device.clone()).or_default() += 1;
        }
        item.device = device;
    }
}
