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
}

impl Discovery {
    /// Stores a new item and pins it; what is not trusted yet only reports.
    pub(super) fn keep(&mut self, new: New, mut made: Made, changes: &mut Vec<DiscoveryChange>) {
        let New { topic, key, config, object, unique_id, device } = new;
        let native = key.id.starts_with(NATIVE);
        let pin = Pin::of(&made.entity, &made.publishes, (self.gate)(&made.entity));
        let name = pin_name(&key, unique_id.as_deref());
        let why = match self.pins.0.get(&name) {
            Some(known) => known.suspends(&pin),
            None if self.accept == Accept::Manual && !made.entity.actions.is_empty() => {
                Some(WAITS.to_owned())
            }
            None => {
                self.pin(&key.component, name, pin);
                None
            }
        };
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
            availability: made.availability,
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
        let (_, names) = self.naming(key, &config)?;
        let made = self.make(&topic, key, &config, id.clone(), &names.shown)?;
        let pin = Pin::of(&made.entity, &made.publishes, (self.gate)(&made.entity));
        let unique_id = config.get("unique_id").and_then(text_of);
        let name = pin_name(key, unique_id.as_deref());
        let why = self.pins.0.get(&name).and_then(|known| known.suspends(&pin));
        let waits = self.accept == Accept::Manual && !self.pins.0.contains_key(&name);
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
        if let (Some(before), Some(after)) = (&item.availability, &made.availability) {
            after.inherit(before);
        }
        item.availability = made.availability;
        item.codec = made.codec;
        item.entity = made.entity;
        item.pending = waits.then(|| WAITS.to_owned());
        item.config = Keys::of(&config);
        if waits {
            item.entity.actions.clear();
        }
        changes
            .push(DiscoveryChange::Updated { entity: item.entity.clone(), codec: Arc::clone(&item.codec) });
        if !waits {
            self.pin(&key.component, name, pin);
        }
        Ok(())
    }

    /// Remembers what an item is. What can never act has nothing to be held to: it is not pinned.
    fn pin(&mut self, component: &str, name: String, pin: Pin) {
        let reads_only =
            matches!(component, "binary_sensor" | "camera" | "device_tracker" | "event" | "image" | "sensor");
        if !reads_only {
            self.pins.0.insert(name, pin);
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
