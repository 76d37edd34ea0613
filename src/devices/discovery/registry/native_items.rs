//! Native announcements in the registry, and which of two announcements of one device counts.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::super::fields::{Refusal, text_of, valid_filter};
use super::super::topic::ItemKey;
use super::{Discovery, DiscoveryChange, ignored};
use crate::devices::codec::Message;
use crate::home::{Category, Domain};

/// How the ids of native items begin; no discovery topic can have such an id.
pub(super) const NATIVE: &str = "native ";

impl Discovery {
    /// How many main entities of a domain the device of each name has: a name is an identifier, or an
    /// [`address_name`].
    pub fn by_device(&self) -> HashMap<(String, Domain), usize> {
        let mut counts = HashMap::new();
        for item in self.items.all().filter(|item| item.entity.category == Category::Main) {
            for name in device_names(&item.config.read()) {
                *counts.entry((name, item.entity.id.domain())).or_default() += 1;
            }
        }
        counts
    }

    /// Reads a message that is no discovery message: perhaps a native announcement.
    pub(super) fn native(&mut self, topic: &str, payload: &[u8]) -> Vec<DiscoveryChange> {
        let mut native = match self.natives.read(topic, payload) {
            None => return Vec::new(),
            Some(Err(why)) => {
                return vec![DiscoveryChange::Refused {
                    topic: topic.to_owned(),
                    why: Refusal::NotJson(why),
                }];
            }
            Some(Ok(native)) => native,
        };
        let owner = native.topic.take();
        let topic = owner.as_deref().unwrap_or(topic);
        if self.quarantine.holds(topic) {
            return vec![DiscoveryChange::Refused { topic: topic.to_owned(), why: Refusal::Quarantined }];
        }
        let (known, mut items) = (&self.devices, native.items);
        let before = items.len();
        items.retain(|item| {
            let names = item.config.as_ref().map(device_names).unwrap_or_default();
            !names.iter().any(|name| known.contains_key(name))
        });
        let mut changes: Vec<DiscoveryChange> = native.note.iter().map(|note| ignored(topic, note)).collect();
        if items.len() < before {
            changes.push(ignored(topic, "the device announces itself through discovery too"));
        }
        let present: HashSet<&ItemKey> = items.iter().map(|item| &item.key).collect();
        let mut gone = self.items.of_topic(topic);
        gone.retain(|key| !present.contains(key) && self.items.get(key).is_some_and(|item| item.native));
        for key in gone {
            self.remove(&key, &mut changes);
        }
        changes.extend(self.announce(topic, items));
        changes
    }

    /// What devices that keep no state retained are to be asked: who was not asked yet, or `anew` everybody. A topic
    /// that no device may be given is not used for that either.
    pub fn questions(&mut self, anew: bool) -> Vec<Message> {
        let mut messages = self.natives.questions(anew);
        messages.retain(|message| {
            !message.topic.contains(['+', '#'])
                && valid_filter(&message.topic)
                && self.reserved.reason(&message.topic).is_none()
        });
        messages
    }

    /// Whether [`Discovery::questions`] has something for a device that was not asked yet.
    pub fn has_questions(&self) -> bool {
        self.natives.has_questions()
    }

    /// A device that announces itself through discovery is no longer taken from its native announcement.
    pub(super) fn prefer(&mut self, config: &Map<String, Value>, changes: &mut Vec<DiscoveryChange>) {
        let names = device_names(config);
        if names.iter().all(|name| self.devices.contains_key(name)) {
            return;
        }
        for key in self.items.native_of(&names) {
            self.remove(&key, changes);
        }
    }

    /// One announced item less names this device.
    pub(super) fn forget_device(&mut self, config: &Map<String, Value>) {
        for name in device_names(config) {
            if let Some(count) = self.devices.get_mut(&name) {
                *count -= 1;
                if *count == 0 {
                    self.devices.remove(&name);
                }
            }
        }
    }
}

/// The name of a device by its address (MAC and the like), however it is written.
pub fn address_name(address: &str) -> String {
    let plain = address.chars().filter(char::is_ascii_hexdigit).collect::<String>();
    format!("address {}", plain.to_ascii_lowercase())
}

/// What a device is called by: its identifiers, and addresses without their punctuation.
pub(super) fn device_names(config: &Map<String, Value>) -> Vec<String> {
    let Some(device) = config.get("device").and_then(Value::as_object) else { return Vec::new() };
    let mut names = Vec::new();
    match device.get("identifiers") {
        Some(Value::Array(list)) => names.extend(list.iter().filter_map(text_of)),
        Some(value) => names.extend(text_of(value)),
        None => {}
    }
    for pair in device.get("connections").and_then(Value::as_array).into_iter().flatten() {
        if let Some(address) = pair.get(1).and_then(text_of) {
            names.push(address_name(&address));
        }
    }
    names
}
