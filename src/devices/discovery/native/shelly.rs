//! Shelly devices of the second generation and later, by their RPC notifications on `<id>/events/rpc`.
//!
//! A device tells its components in `NotifyFullStatus` when it connects, parts of them in `NotifyStatus`, and all of
//! them in its answer to `Shelly.GetStatus`, which comes on `<id>/homeloop/rpc`. Commands are RPC calls on `<id>/rpc`;
//! availability is `<id>/online`, which is retained: by that a device is found that says nothing else for now.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Native, announced, keys};
use crate::devices::codec::Message;
use crate::devices::discovery::message::Announced;

/// The components that a device was seen to have.
#[derive(Default)]
pub struct Device {
    components: BTreeSet<String>,
    /// Values inside components: `switch:0.apower`.
    values: BTreeSet<(String, &'static str)>,
}

/// Measured values of a component: key, name, class, unit.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("apower", "power", "power", "W"),
    ("voltage", "voltage", "voltage", "V"),
    ("current", "current", "current", "A"),
    ("tC", "temperature", "temperature", "°C"),
    ("rh", "humidity", "humidity", "%"),
    ("lux", "illuminance", "illuminance", "lx"),
];

/// The states of components in a notification, or in the answer to [`question`].
pub fn status(json: &Value, answered: bool) -> Option<&Map<String, Value>> {
    if answered {
        return json.get("result")?.as_object();
    }
    let method = json.get("method")?.as_str()?;
    matches!(method, "NotifyFullStatus" | "NotifyStatus").then(|| json.get("params")?.as_object())?
}

/// Asks a device for the states of all its components. Each answers in its own tree, where it may publish on brokers
/// that hold devices to theirs.
pub fn question(id: &str) -> Message {
    let payload = json!({"id": 1, "src": format!("{id}/homeloop"), "method": "Shelly.GetStatus"});
    Message::text(format!("{id}/rpc"), payload.to_string())
}

impl Device {
    /// Reads states of components; announces everything anew when a component or value is new.
    pub fn told(&mut self, id: &str, status: &Map<String, Value>) -> Option<Native> {
        let before = (self.components.len(), self.values.len());
        for (name, status) in status {
            let Some((kind, number)) = name.split_once(':') else { continue };
            let known = matches!(
                kind,
                "switch" | "light" | "cover" | "input" | "temperature" | "humidity" | "illuminance" | "pm1"
            );
            if !known || number.parse::<u16>().is_err() || self.components.len() > 64 {
                continue;
            }
            self.components.insert(name.clone());
            for (key, ..) in VALUES.iter().filter(|(key, ..)| status.get(*key).is_some_and(Value::is_number))
            {
                self.values.insert((name.clone(), key));
            }
        }
        if before == (self.components.len(), self.values.len()) {
            return None;
        }
        let mut items: Vec<Announced> =
            self.components.iter().filter_map(|name| component(id, name)).collect();
        items.extend(self.values.iter().filter_map(|(name, key)| value(id, name, key)));
        Some(Native::of(items))
    }
}

/// The MAC at the end of an id such as `shellyplus1-a8032ab12345`.
pub fn mac(id: &str) -> Option<&str> {
    let (_, mac) = id.rsplit_once('-')?;
    (mac.len() == 12 && mac.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(mac)
}

/// A template that reads `member` of a component from a notification, an answer or its own status topic.
fn read(name: &str, member: &str, value: &str) -> String {
    format!(
        "{{% set c = value_json.params['{name}'] if value_json.params is defined \
         else value_json.result['{name}'] if value_json.result is defined else value_json %}}\
         {{% if c is defined and c.{member} is defined %}}{value}{{% endif %}}"
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
        "light" => {
            config.remove("state_topic");
            let on = format!(
                "{{\"id\":1,\"src\":\"homeloop\",\"method\":\"Light.Set\",\"params\":{{\"id\":{number},\"on\":true\
                 {{% if brightness is defined %}},\"brightness\":{{{{ (brightness / 2.55) | round(0) }}}}{{% endif %}}}}}}"
            );
            config.extend(keys(json!({
                "schema": "template",
                "command_topic": rpc,
                "state_topic": states,
                "command_on_template": on,
                "command_off_template": on_off("Light.Set", false),
                "state_template": read(name, "output", "{{ 'on' if c.output else 'off' }}"),
                "brightness_template": read(name, "brightness", "{{ (c.brightness * 2.55) | round(0) }}"),
            })));
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
        _ => None,
    }
}

fn value(id: &str, name: &str, key: &str) -> Option<Announced> {
    let (key, label, class, unit) = VALUES.iter().find(|(known, ..)| *known == key)?;
    let mut config = shared(id, name, &format!("{} {label}", name.replace(':', " ")));
    config.extend(keys(json!({
        "value_template": read(name, key, &format!("{{{{ c.{key} }}}}")),
        "device_class": class,
        "unit_of_measurement": unit,
        "state_class": "measurement",
    })));
    Some(announced("sensor", &format!("{id}-{}-{key}", name.replace(':', "-")), config))
}
