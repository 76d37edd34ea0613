//! zigbee2mqtt's `…/bridge/devices`: the list of all devices with what they expose.
//!
//! States come as one JSON object on the device's topic, availability on `…/availability` and `…/bridge/state`,
//! commands go to `…/set` or `…/set/<property>`. Unique ids are those of its Home Assistant discovery.

use serde_json::{Map, Value, json};

use super::classes::{binary_class, class};
use super::{Native, announced, keys};
use crate::devices::discovery::availability::HEARD;
use crate::devices::discovery::message::Announced;

/// Bit of an exposed feature's access: it can be set.
const SETTABLE: i64 = 2;

/// One device of the list.
struct Device<'a> {
    base: &'a str,
    ieee: &'a str,
    name: &'a str,
    /// `<base>/<friendly name>`.
    topic: String,
    vendor: &'a str,
    model: &'a str,
}

/// Announces every device that is known to zigbee2mqtt and not disabled.
pub fn devices(base: &str, list: &Value) -> Result<Native, String> {
    let list = list.as_array().ok_or("it is no list of devices")?;
    let (mut items, mut unreachable) = (Vec::new(), 0usize);
    for entry in list {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let (Some(ieee), Some(name)) = (text("ieee_address"), text("friendly_name")) else { continue };
        let off = entry.get("disabled").and_then(Value::as_bool).unwrap_or(false);
        let Some(definition) = entry.get("definition").filter(|definition| definition.is_object()) else {
            continue;
        };
        if off || text("type") == Some("Coordinator") {
            continue;
        }
        // Such a name is no topic: nobody can listen to it.
        if name.contains(['+', '#']) || name.chars().any(char::is_control) {
            unreachable += 1;
            continue;
        }
        let part = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
        let device = Device {
            base,
            ieee,
            name,
            topic: format!("{base}/{name}"),
            vendor: part("vendor"),
            model: part("description"),
        };
        for expose in definition.get("exposes").and_then(Value::as_array).into_iter().flatten() {
            items.extend(device.expose(expose));
        }
    }
    items.dedup_by(|first, second| first.key == second.key);
    let note = (unreachable > 0)
        .then(|| format!("{unreachable} devices have names with + or #, which no topic can have"));
    Ok(Native { items, note, topic: None })
}

/// A feature of a composite expose.
fn feature<'v>(expose: &'v Value, name: &str) -> Option<&'v Value> {
    let list = expose.get("features")?.as_array()?;
    list.iter().find(|feature| feature.get("name").and_then(Value::as_str) == Some(name))
}

fn property(feature: &Value) -> Option<&str> {
    feature.get("property").and_then(Value::as_str)
}

fn path(property: &str) -> String {
    format!("{{{{ value_json['{}'] }}}}", property.replace('\'', ""))
}

fn words(feature: &Value) -> Vec<Value> {
    feature.get("values").and_then(Value::as_array).cloned().unwrap_or_default()
}

impl Device<'_> {
    fn shared(&self, name: Option<&str>) -> Map<String, Value> {
        keys(json!({
            "name": name,
            "state_topic": self.topic,
            "availability": [
                {
                    "topic": format!("{}/bridge/state", self.base),
                    // JSON since 1.3; plain text before.
                    "value_template": "{{ value_json.state if value_json is mapping else value }}",
                },
                {
                    "topic": format!("{}/availability", self.topic),
                    "value_template": "{{ value_json.state if value_json is mapping else value }}",
                },
            ],
            // The bridge being online says nothing about a device that is not.
            HEARD: true,
            "device": {
                "identifiers": [format!("zigbee2mqtt_{}", self.ieee)],
                "name": self.name,
                "manufacturer": self.vendor,
                "model": self.model,
            },
        }))
    }

    fn made(&self, component: &str, object: &str, config: Map<String, Value>) -> Announced {
        announced(component, &format!("{}_{object}_{}", self.ieee, self.base), config)
    }

    fn set(&self, property: &str) -> String {
        format!("{}/set/{property}", self.topic)
    }

    fn expose(&self, expose: &Value) -> Option<Announced> {
        let endpoint = expose.get("endpoint").and_then(Value::as_str);
        let object =
            |word: &str| endpoint.map_or_else(|| word.to_owned(), |endpoint| format!("{word}_{endpoint}"));
        match expose.get("type").and_then(Value::as_str)? {
            "light" => self.light(expose, endpoint, &object("light")),
            "switch" => {
                let state = feature(expose, "state")?;
                let mut config = self.shared(endpoint);
                self.on_off(state, &mut config)?;
                Some(self.made("switch", &object("switch"), config))
            }
            "lock" => {
                let state = feature(expose, "state")?;
                let property = property(state)?;
                let mut config = self.shared(endpoint);
                config.extend(keys(json!({
                    "command_topic": self.set(property),
                    "value_template": path(property),
                    "payload_lock": state.get("value_on"),
                    "payload_unlock": state.get("value_off"),
                    "state_locked": state.get("value_on"),
                    "state_unlocked": state.get("value_off"),
                })));
                Some(self.made("lock", &object("lock"), config))
            }
            "cover" => self.cover(expose, endpoint, &object("cover")),
            "climate" => self.climate(expose, endpoint, &object("climate")),
            "fan" => self.fan(expose, endpoint),
            "numeric" | "binary" | "enum" | "text" => self.simple(expose),
            _ => None,
        }
    }

    fn on_off(&self, state: &Value, config: &mut Map<String, Value>) -> Option<()> {
        let property = property(state)?;
        config.extend(keys(json!({
            "command_topic": self.set(property),
            "value_template": path(property),
            "payload_on": state.get("value_on"),
            "payload_off": state.get("value_off"),
        })));
        Some(())
    }

    fn light(&self, expose: &Value, endpoint: Option<&str>, object: &str) -> Option<Announced> {
        let mut config = self.shared(endpoint);
        let number = |feature: &Value, key: &str| feature.get(key).and_then(Value::as_f64);
        // An endpoint of its own has its own topics and keys, which JSON lights have not.
        if let Some(endpoint) = endpoint {
            let state = property(feature(expose, "state")?)?;
            config.extend(keys(json!({
                "command_topic": self.set(state),
                "state_value_template": path(state),
            })));
            if let Some(brightness) = feature(expose, "brightness").and_then(property) {
                config.extend(keys(json!({
                    "brightness_command_topic": self.set(brightness),
                    "brightness_state_topic": self.topic,
                    "brightness_value_template": path(brightness),
                    "brightness_scale": 254,
                })));
            }
            let _ = endpoint;
            return Some(self.made("light", object, config));
        }
        let mut modes = Vec::new();
        config.extend(keys(json!({"schema": "json", "command_topic": format!("{}/set", self.topic)})));
        if let Some(brightness) = feature(expose, "brightness") {
            config.insert("brightness".into(), true.into());
            config.insert("brightness_scale".into(), number(brightness, "value_max").unwrap_or(254.0).into());
        }
        if let Some(white) = feature(expose, "color_temp") {
            modes.push("color_temp");
            config.insert("min_mireds".into(), number(white, "value_min").unwrap_or(153.0).into());
            config.insert("max_mireds".into(), number(white, "value_max").unwrap_or(500.0).into());
        }
        if feature(expose, "color_xy").is_some() {
            modes.push("xy");
        } else if feature(expose, "color_hs").is_some() {
            modes.push("hs");
        }
        if !modes.is_empty() {
            config.insert("supported_color_modes".into(), modes.into());
        }
        Some(self.made("light", object, config))
    }

    fn cover(&self, expose: &Value, endpoint: Option<&str>, object: &str) -> Option<Announced> {
        let mut config = self.shared(endpoint);
        let state = feature(expose, "state").and_then(property).unwrap_or("state");
        config.insert("command_topic".into(), self.set(state).into());
        // The state says the last command; where there is a position, that tells.
        match feature(expose, "position").and_then(property) {
            Some(position) => {
                config.remove("state_topic");
                config.extend(keys(json!({
                    "position_topic": self.topic,
                    "position_template": path(position),
                    "set_position_topic": self.set(position),
                })));
            }
            None => config.extend(keys(json!({
                "value_template": path(state),
                "state_open": "OPEN",
                "state_closed": "CLOSE",
                "state_stopped": "STOP",
            }))),
        }
        if let Some(tilt) = feature(expose, "tilt").and_then(property) {
            config.extend(keys(json!({
                "tilt_command_topic": self.set(tilt),
                "tilt_status_topic": self.topic,
                "tilt_status_template": path(tilt),
                "payload_stop_tilt": null,
            })));
        }
        Some(self.made("cover", object, config))
    }

    fn climate(&self, expose: &Value, endpoint: Option<&str>, object: &str) -> Option<Announced> {
        let mut config = self.shared(endpoint);
        config.remove("state_topic");
        let target = ["occupied_heating_setpoint", "current_heating_setpoint", "occupied_cooling_setpoint"]
            .into_iter()
            .find_map(|name| feature(expose, name))?;
        let property_of = property(target)?;
        config.extend(keys(json!({
            "temperature_command_topic": self.set(property_of),
            "temperature_state_topic": self.topic,
            "temperature_state_template": path(property_of),
            "modes": [],
        })));
        for (key, limit) in
            [("min_temp", "value_min"), ("max_temp", "value_max"), ("temp_step", "value_step")]
        {
            if let Some(value) = target.get(limit) {
                config.insert(key.into(), value.clone());
            }
        }
        if let Some(local) = feature(expose, "local_temperature").and_then(property) {
            config.insert("current_temperature_topic".into(), self.topic.clone().into());
            config.insert("current_temperature_template".into(), path(local).into());
        }
        if let Some(mode) = feature(expose, "system_mode")
            && let Some(name) = property(mode)
        {
            config.extend(keys(json!({
                "mode_command_topic": self.set(name),
                "mode_state_topic": self.topic,
                "mode_state_template": path(name),
                "modes": words(mode),
            })));
        }
        if let Some(preset) = feature(expose, "preset")
            && let Some(name) = property(preset)
        {
            let presets: Vec<Value> = words(preset).into_iter().filter(|word| word != "none").collect();
            config.extend(keys(json!({
                "preset_mode_command_topic": self.set(name),
                "preset_mode_state_topic": self.topic,
                "preset_mode_value_template": path(name),
                "preset_modes": presets,
            })));
        }
        if let Some(running) = feature(expose, "running_state").and_then(property) {
            let words = "{'idle': 'idle', 'heat': 'heating', 'cool': 'cooling', 'fan_only': 'fan'}";
            config.insert("action_topic".into(), self.topic.clone().into());
            config.insert(
                "action_template".into(),
                format!("{{{{ {words}[value_json['{running}']] | default('') }}}}").into(),
            );
        }
        Some(self.made("climate", object, config))
    }

    fn fan(&self, expose: &Value, endpoint: Option<&str>) -> Option<Announced> {
        let state = feature(expose, "state")?;
        let mut config = self.shared(endpoint);
        self.on_off(state, &mut config)?;
        if let Some(template) = config.remove("value_template") {
            config.insert("state_value_template".into(), template);
        }
        if let Some(mode) = feature(expose, "mode")
            && let Some(name) = property(mode)
        {
            config.extend(keys(json!({
                "preset_mode_command_topic": self.set(name),
                "preset_mode_state_topic": self.topic,
                "preset_mode_value_template": path(name),
                "preset_modes": words(mode),
            })));
        }
        Some(self.made("fan", "fan", config))
    }

    /// A value of its own: read only as a sensor, else as what it can be set to.
    fn simple(&self, expose: &Value) -> Option<Announced> {
        let name = property(expose)?;
        let kind = expose.get("type").and_then(Value::as_str)?;
        let label = expose.get("label").and_then(Value::as_str).unwrap_or(name);
        let settable = expose.get("access").and_then(Value::as_i64).unwrap_or(0) & SETTABLE != 0;
        let mut config = self.shared(Some(label));
        config.insert("value_template".into(), path(name).into());
        let category = expose.get("category").and_then(Value::as_str);
        let component = match (kind, settable) {
            ("numeric", false) => "sensor",
            ("numeric", true) => "number",
            ("binary", false) => "binary_sensor",
            ("binary", true) => "switch",
            ("enum", false) | ("text", false) => "sensor",
            ("enum", true) => "select",
            _ => "text",
        };
        match category {
            Some("diagnostic") => {
                config.insert("entity_category".into(), "diagnostic".into());
            }
            // What cannot be read of a sensor cannot be configured either.
            Some("config") if settable => {
                config.insert("entity_category".into(), "config".into());
            }
            _ => {}
        }
        if settable {
            config.insert("command_topic".into(), self.set(name).into());
        }
        match kind {
            "numeric" => {
                if let (Some(class), false) = (class(name), settable) {
                    config.insert("device_class".into(), class.into());
                }
                for (key, from) in [
                    ("unit_of_measurement", "unit"),
                    ("min", "value_min"),
                    ("max", "value_max"),
                    ("step", "value_step"),
                ] {
                    if let Some(value) = expose.get(from).filter(|value| !value.is_null()) {
                        config.insert(key.into(), value.clone());
                    }
                }
                if !settable {
                    config.insert("state_class".into(), "measurement".into());
                }
            }
            "binary" => {
                config.insert("payload_on".into(), expose.get("value_on").cloned().unwrap_or(true.into()));
                config.insert("payload_off".into(), expose.get("value_off").cloned().unwrap_or(false.into()));
                // A contact is closed where the sensor says true.
                if name == "contact" {
                    config.insert("payload_on".into(), false.into());
                    config.insert("payload_off".into(), true.into());
                }
                if let (Some(class), false) = (binary_class(name), settable) {
                    config.insert("device_class".into(), class.into());
                }
            }
            "enum" if settable => {
                config.insert("options".into(), words(expose).into());
            }
            _ => {}
        }
        Some(self.made(component, name, config))
    }
}
