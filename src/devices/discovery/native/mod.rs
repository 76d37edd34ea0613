//! Devices that announce themselves in their own words: Tasmota, zigbee2mqtt and Shelly.
//!
//! Each reader turns an announcement into the keys of Home Assistant's discovery, so that there is one codec, one
//! registry and one set of rules. A device that also announces itself through Home Assistant's discovery is taken
//! from there, and from here only until then.

mod classes;
mod questions;
mod shelly;
mod tasmota;
mod zigbee2mqtt;

use std::collections::HashMap;

use serde_json::{Map, Value};

use self::questions::Questions;
use super::message::Announced;
use super::topic::ItemKey;
use crate::devices::codec::Message;

/// What a native message says.
pub(super) struct Native {
    /// Everything that this topic announces now; what it announced before and is not here is gone.
    pub items: Vec<Announced>,
    /// What could not be announced, for the log.
    pub note: Option<String>,
    /// The topic that owns the items, where a device announces them on several.
    pub topic: Option<String>,
}

impl Native {
    pub fn of(items: Vec<Announced>) -> Self {
        Self { items, note: None, topic: None }
    }
}

/// Most devices that are remembered because of what they said unasked.
const MAX_DEVICES: usize = 4096;

/// The readers, with what they must remember between messages.
#[derive(Default)]
pub(super) struct Natives {
    tasmota: HashMap<String, tasmota::Device>,
    shelly: HashMap<String, shelly::Device>,
    questions: Questions,
}

impl Natives {
    /// The topics that announce.
    pub fn subscriptions() -> Vec<String> {
        [
            "tasmota/discovery/+/config",
            "tasmota/discovery/+/sensors",
            "+/bridge/devices",
            "+/events/rpc",
            "+/homeloop/rpc",
            "+/online",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// What devices that keep no state retained are to be asked: who was not asked yet, or `anew` everybody.
    pub fn questions(&mut self, anew: bool) -> Vec<Message> {
        self.questions.take(anew)
    }

    /// Whether somebody was not asked yet.
    pub fn has_questions(&self) -> bool {
        self.questions.is_open()
    }

    /// Reads a message; `None` if it announces nothing. An announcement that cannot be read is an error text.
    pub fn read(&mut self, topic: &str, payload: &[u8]) -> Option<Result<Native, String>> {
        let json =
            |payload: &[u8]| serde_json::from_slice::<Value>(payload).map_err(|error| error.to_string());
        if let Some(rest) = topic.strip_prefix("tasmota/discovery/") {
            let (mac, kind) = rest.split_once('/')?;
            return match (kind, payload.is_empty()) {
                ("config" | "sensors", true) => {
                    if kind == "config" {
                        self.tasmota.remove(mac);
                        self.questions.remove(topic);
                    }
                    Some(Ok(Native::of(Vec::new())))
                }
                ("config" | "sensors", false)
                    if self.tasmota.len() >= MAX_DEVICES && !self.tasmota.contains_key(mac) =>
                {
                    Some(Err(format!("more than {MAX_DEVICES} devices announce themselves so")))
                }
                ("config", false) => Some(json(payload).and_then(|json| {
                    let device = self.tasmota.entry(mac.to_owned()).or_default();
                    let native = device.configure(topic, json);
                    if native.is_ok() {
                        self.questions.ask(topic, device.questions());
                    }
                    native
                })),
                ("sensors", false) => Some(json(payload).map(|json| {
                    let device = self.tasmota.entry(mac.to_owned()).or_default();
                    device.sensors(&json)
                })),
                _ => None,
            };
        }
        if let Some(base) = topic.strip_suffix("/bridge/devices") {
            return Some(match payload.is_empty() {
                true => Ok(Native::of(Vec::new())),
                false => json(payload).and_then(|json| zigbee2mqtt::devices(base, &json)),
            });
        }
        if let Some(id) = topic.strip_suffix("/online") {
            // One level on which something is online may be anything; a Shelly is told by its address.
            if payload == b"true" && shelly::mac(id).is_some() {
                self.questions.ask(id, vec![shelly::question(id)]);
            } else {
                // It is asked when it comes back, and until then it takes nobody's place.
                self.questions.remove(id);
            }
            return None;
        }
        let (id, answered) = match topic.strip_suffix("/events/rpc") {
            Some(id) => (id, false),
            None => (topic.strip_suffix("/homeloop/rpc")?, true),
        };
        let json = json(payload).ok()?;
        let status = shelly::Status::of(&json, answered)?;
        if self.shelly.len() >= MAX_DEVICES && !self.shelly.contains_key(id) {
            return None;
        }
        let native = self.shelly.entry(id.to_owned()).or_default().told(id, &status)?;
        self.questions.ask(id, vec![shelly::question(id)]);
        Some(Ok(Native { topic: Some(format!("{id}/events/rpc")), ..native }))
    }
}

/// One component in Home Assistant's keys. The unique id is the identity.
pub(super) fn announced(component: &str, unique_id: &str, mut config: Map<String, Value>) -> Announced {
    config.insert("unique_id".into(), unique_id.into());
    Announced {
        key: ItemKey { component: component.into(), id: format!("native {unique_id}") },
        config: Some(config),
    }
}

/// The keys of a JSON object literal.
pub(super) fn keys(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
