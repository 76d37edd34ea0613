//! Shelly devices of the second generation and later, by their RPC notifications on `<id>/events/rpc`.
//!
//! A device tells its components in `NotifyFullStatus` when it connects, parts of them in `NotifyStatus`, and all of
//! them in its answer to `Shelly.GetStatus`, which comes on `<id>/homeloop/rpc`. Commands are RPC calls on `<id>/rpc`;
//! availability is `<id>/online`, which is retained: by that a device is found that says nothing else for now.

mod lights;
mod measured;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use self::measured::Measured;
use super::{Native, announced, keys};
use crate::devices::codec::Message;
use crate::devices::discovery::message::Announced;

/// Most components of a device that are read; each measures a few values at most.
const MAX_COMPONENTS: usize = 64;

/// What a device was seen to have.
#[derive(Default)]
pub struct Device {
    components: BTreeSet<String>,
    /// Measured values inside components: `switch:0` and `apower`.
    values: BTreeSet<(String, &'static str)>,
    on_battery: bool,
    /// After how many seconds it wakes up by itself, if it sleeps.
    wakeup_s: Option<u64>,
}

/// The states of components in a message.
pub struct Status<'a> {
    components: &'a Map<String, Value>,
    /// Whether these are all components of the device.
    whole: bool,
}

impl<'a> Status<'a> {
    /// Reads a notification, or the answer to [`question`].
    pub fn of(json: &'a Value, answered: bool) -> Option<Self> {
        if answered {
            return Some(Self { components: json.get("result")?.as_object()?, whole: true });
        }
        let whole = match json.get("method")?.as_str()? {
            "NotifyFullStatus" => true,
            "NotifyStatus" => false,
            _ => return None,
        };
        Some(Self { components: json.get("params")?.as_object()?, whole })
    }
}

/// Asks a device for the states of all its components. Each answers in its own tree, where it may publish on brokers
/// that hold devices to theirs.
pub fn question(id: &str) -> Message {
    let payload = json!({"id": 1, "src": format!("{id}/homeloop"), "method": "Shelly.GetStatus"});
    Message::text(format!("{id}/rpc"), payload.to_string())
}

impl Device {
    /// Reads states of components; announces everything anew when something is new, or gone.
    pub fn told(&mut self, id: &str, status: &Status<'_>) -> Option<Native> {
        let before = (self.on_battery, self.wakeup_s);
        let mut new = false;
        if status.whole {
            // A device of several profiles has other components after a change.
            let known = self.components.len();
            self.components.retain(|name| status.components.contains_key(name));
            self.values.retain(|(name, _)| status.components.contains_key(name));
            new = self.components.len() < known;
        }
        for (name, status) in status.components {
            let Some(kind) = known_kind(name) else {
                self.wakeup_s = wakeup_seconds(name, status).or(self.wakeup_s);
                continue;
            };
            if !self.components.contains(name) && self.components.len() >= MAX_COMPONENTS {
                continue;
            }
            new |= self.components.insert(name.clone());
            for measured in Measured::ALL.iter().filter(|measured| measured.stands_in(status)) {
                new |= self.values.insert((name.clone(), measured.path));
            }
            if kind == "devicepower" {
                // A part of a state may leave out what has not changed.
                let plugged = status.pointer("/external/present").and_then(Value::as_bool);
                let plugged = plugged.or(status.get("battery").filter(|_| !self.on_battery).map(|_| false));
                self.on_battery = plugged.map_or(self.on_battery, |plugged| !plugged);
            }
        }
        if !new && before == (self.on_battery, self.wakeup_s) {
            return None;
        }
        let mut items: Vec<Announced> =
            self.components.iter().filter_map(|name| component(id, name)).collect();
        items.extend(self.values.iter().filter_map(|(name, path)| Measured::announced(id, name, path)));
        if self.on_battery || self.wakeup_s.is_some() {
            // It sleeps most of the time, and is off then. What it said counts until it should long have come back.
            let silent = self.wakeup_s.unwrap_or(DAY_S).max(HOUR_S) * 2 + HOUR_S;
            for config in items.iter_mut().filter_map(|item| item.config.as_mut()) {
                config.retain(|key, _| !key.starts_with("availability_"));
                config.insert("expire_after".into(), silent.into());
            }
        }
        Some(Native::of(items))
    }
}

/// The kind of a component, if it is one that is read: `switch` of `switch:0`.
fn known_kind(name: &str) -> Option<&str> {
    let (kind, number) = name.split_once(':')?;
    let numbered = (1..=5).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let known = ACTING.contains(&kind)
        || MEASURING.contains(&kind)
        || WARNING.iter().any(|(known, _)| *known == kind);
    Some(kind).filter(|_| numbered && known)
}

/// After how many seconds a sleeping device comes back, from its `sys`; `None` for one that does not sleep.
fn wakeup_seconds(name: &str, status: &Value) -> Option<u64> {
    let seconds = status.get("wakeup_period").filter(|_| name == "sys")?.as_u64()?;
    Some(seconds).filter(|seconds| (1..=MAX_WAKEUP_S).contains(seconds))
}

const HOUR_S: u64 = 3600;
const DAY_S: u64 = 24 * HOUR_S;
/// Longest sleep that is believed.
const MAX_WAKEUP_S: u64 = 31 * DAY_S;

/// Kinds of components that can be acted on or that are on or off; see [`component`].
const ACTING: &[&str] = &["switch", "light", "rgb", "rgbw", "cct", "rgbcct", "cover", "input"];

/// Kinds of components that only measure; see [`Measured`].
const MEASURING: &[&str] = &[
    "pm1",
    "em",
    "em1",
    "emdata",
    "em1data",
    "temperature",
    "humidity",
    "illuminance",
    "voltmeter",
    "devicepower",
];

/// Kinds of components that warn, with their device classes.
const WARNING: &[(&str, &str)] = &[("smoke", "smoke"), ("flood", "moisture")];

/// The MAC at the end of an id such as `shellyplus1-a8032ab12345`.
pub fn mac(id: &str) -> Option<&str> {
    let (_, mac) = id.rsplit_once('-')?;
    (mac.len() == 12 && mac.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(mac)
}

/// A template that reads `path` of a component from a notification, an answer or its own status topic; in `value` the
/// component is `c`.
fn read(name: &str, path: &str, value: &str) -> String {
    let mut known = "c is defined".to_owned();
    for (end, _) in path.match_indices('.').chain([(path.len(), "")]) {
        if let Some(part) = path.get(..end) {
            known.push_str(&format!(" and c.{part} is defined"));
        }
    }
    format!(
        "{{% set c = value_json.params['{name}'] if value_json.params is defined \
         else value_json.result['{name}'] if value_json.result is defined else value_json %}}\
         {{% if {known} %}}{value}{{% endif %}}"
    )
}

fn shared(id: &str, name: &str, label: &str) -> Map<String, Value> {
    let connections: Vec<Value> = mac(id).map(|mac| json!(["mac", mac])).into_iter().collect();
    keys(json!({
        "name": label,
        "availability_topic": format!("{id}/online"),
        "payload_available": "true",
        "payload_not_available": "false",
        "device": {"identifiers": [id], "connections": connections, "name": id, "manufacturer": "Shelly"},
        "state_topic": [
            format!("{id}/events/rpc"),
            format!("{id}/status/{name}"),
            format!("{id}/homeloop/rpc"),
        ],
    }))
}

fn call(method: &str, params: &str) -> String {
    format!("{{\"id\":1,\"src\":\"homeloop\",\"method\":\"{method}\",\"params\":{{{params}}}}}")
}

fn component(id: &str, name: &str) -> Option<Announced> {
    let (kind, number) = name.split_once(':')?;
    let mut config = shared(id, name, &name.replace(':', " "));
    let states = config.get("state_topic").cloned().unwrap_or_default();
    let rpc = format!("{id}/rpc");
    let unique = format!("{id}-{kind}-{number}");
    let on_off = |method: &str, on: bool| call(method, &format!("\"id\":{number},\"on\":{on}"));
    match kind {
        "switch" => {
            config.extend(keys(json!({
                "command_topic": rpc,
                "value_template": read(name, "output", "{{ c.output }}"),
                "payload_on": on_off("Switch.Set", true),
                "payload_off": on_off("Switch.Set", false),
                "state_on": "True",
                "state_off": "False",
            })));
            Some(announced("switch", &unique, config))
        }
        "light" | "rgb" | "rgbw" | "cct" | "rgbcct" => {
            config.extend(lights::keys_of(kind, number, name, &rpc));
            Some(announced("light", &unique, config))
        }
        "cover" => {
            let plain = |method: &str| call(method, &format!("\"id\":{number}"));
            let position = call("Cover.GoToPosition", &format!("\"id\":{number},\"pos\":{{{{ position }}}}"));
            config.extend(keys(json!({
                "command_topic": rpc,
                "payload_open": plain("Cover.Open"),
                "payload_close": plain("Cover.Close"),
                "payload_stop": plain("Cover.Stop"),
                "value_template": read(name, "state", "{{ c.state }}"),
                "position_topic": states,
                "position_template": read(name, "current_pos", "{{ c.current_pos }}"),
                "set_position_topic": rpc,
                "set_position_template": position,
            })));
            Some(announced("cover", &unique, config))
        }
        "input" => {
            config.extend(keys(json!({
                "value_template": read(name, "state", "{{ c.state }}"),
                "payload_on": "True",
                "payload_off": "False",
            })));
            Some(announced("binary_sensor", &unique, config))
        }
        _ => {
            let (_, class) = WARNING.iter().find(|(known, _)| *known == kind)?;
            config.extend(keys(json!({
                "value_template": read(name, "alarm", "{{ c.alarm }}"),
                "payload_on": "True",
                "payload_off": "False",
                "device_class": class,
            })));
            Some(announced("binary_sensor", &unique, config))
        }
    }
}
