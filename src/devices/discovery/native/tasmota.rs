//! Tasmota's `tasmota/discovery/<MAC>/config` and `…/sensors`.
//!
//! States come on `tele/STATE`, `tele/SENSOR` and `stat/RESULT`, availability on `tele/LWT`, commands go to `cmnd/…`.
//! Names and ids are those of Home Assistant's own Tasmota integration.

mod readings;

use serde_json::{Map, Value, json};

use super::{Native, announced, keys};
use crate::devices::codec::Message;
use crate::devices::discovery::message::Announced;

/// One Tasmota device: its configuration, and the sensors that may come before it.
#[derive(Default)]
pub struct Device {
    config: Option<Config>,
    sensors: Option<Value>,
}

#[derive(Clone)]
struct Config {
    mac: String,
    name: String,
    discovery: String,
    command: String,
    stat: String,
    tele: String,
    raw: Value,
}

const EFFECTS: [&str; 5] = ["Solid", "Wake up", "Cycle up", "Cycle down", "Random"];

impl Device {
    /// Takes the configuration; announces everything but the sensors, which have their own topic.
    pub fn configure(&mut self, topic: &str, raw: Value) -> Result<Native, String> {
        let config = Config::read(topic, raw)?;
        let mut items = config.relays();
        items.extend(config.shutters());
        items.extend(config.fan());
        items.extend(config.switches());
        items.extend(config.status());
        // Sensors that were announced first wait for the device.
        if let Some(sensors) = self.sensors.take() {
            items.extend(config.sensors(&sensors));
        }
        self.config = Some(config);
        Ok(Native::of(items))
    }

    /// Asks for the state, which comes on `stat/RESULT` at once, and for the measurements: without a number
    /// `TelePeriod` sets nothing, and has them told now instead of in some minutes.
    pub fn questions(&self) -> Vec<Message> {
        let ask = |config: &Config, command: &str| Message::text(format!("{}{command}", config.command), "");
        self.config
            .iter()
            .flat_map(|config| ["STATE", "TelePeriod"].map(|command| ask(config, command)))
            .collect()
    }

    pub fn sensors(&mut self, json: &Value) -> Native {
        let sample = json.get("sn").cloned().unwrap_or_default();
        match &self.config {
            Some(config) => Native::of(config.sensors(&sample)),
            None => {
                self.sensors = Some(sample);
                Native::of(Vec::new())
            }
        }
    }
}

impl Config {
    fn read(topic: &str, raw: Value) -> Result<Self, String> {
        let text = |key: &str| raw.get(key).and_then(Value::as_str);
        let need = |key: &'static str| text(key).ok_or_else(|| format!("{key} is missing"));
        let (own, pattern) = (need("t")?, need("ft")?);
        let prefix = |at: usize, default: &'static str| {
            let word = raw.get("tp").and_then(|list| list.get(at)).and_then(Value::as_str).unwrap_or(default);
            let base = pattern.replace("%prefix%", word).replace("%topic%", own);
            if base.ends_with('/') { base } else { base + "/" }
        };
        Ok(Self {
            mac: need("mac")?.to_owned(),
            name: need("dn")?.to_owned(),
            discovery: topic.to_owned(),
            command: prefix(0, "cmnd"),
            stat: prefix(1, "stat"),
            tele: prefix(2, "tele"),
            raw,
        })
    }

    /// The keys that every component has.
    fn shared(&self, name: Option<&str>) -> Map<String, Value> {
        let text = |key: &str, default: &str| {
            self.raw.get(key).and_then(Value::as_str).unwrap_or(default).to_owned()
        };
        // A component that is called as its device has the device's name.
        let name = name.filter(|name| *name != self.name);
        keys(json!({
            "name": name,
            "availability_topic": format!("{}LWT", self.tele),
            "payload_available": text("onln", "Online"),
            "payload_not_available": text("ofln", "Offline"),
            "device": {
                "connections": [["mac", self.mac]],
                "identifiers": [format!("tasmota_{}", self.mac)],
                "name": self.name,
                "manufacturer": "Tasmota",
                "model": text("md", "Tasmota"),
            },
        }))
    }

    fn numbers(&self, key: &str) -> Vec<i64> {
        let list = self.raw.get(key).and_then(Value::as_array);
        list.map(|list| list.iter().map(|value| value.as_i64().unwrap_or(0)).collect()).unwrap_or_default()
    }

    fn option(&self, number: &str) -> i64 {
        self.raw.get("so").and_then(|options| options.get(number)).and_then(Value::as_i64).unwrap_or(0)
    }

    fn text_at(&self, key: &str, at: usize) -> Option<&str> {
        self.raw.get(key)?.get(at)?.as_str().filter(|text| !text.is_empty())
    }

    /// Topics of telemetry, and `RESULT`: answers to commands. With option 4 each command has an answer topic of its own.
    fn states(&self, of: &[&str]) -> Value {
        let topics = of.iter().map(|name| match (*name, self.option("4")) {
            ("RESULT", 0) => format!("{}RESULT", self.stat),
            ("RESULT", _) => format!("{}+", self.stat),
            (name, _) => format!("{}{name}", self.tele),
        });
        topics.collect::<Vec<_>>().into()
    }

    /// Reads a member of a message. Where answers have topics of their own, other ones come on these that are no JSON.
    fn member(&self, name: &str) -> String {
        match self.option("4") {
            0 => format!("{{{{ value_json.{name} }}}}"),
            _ => format!("{{% if value_json is mapping %}}{{{{ value_json.{name} }}}}{{% endif %}}"),
        }
    }

    /// The device's words for on and off, which its owner may have changed.
    fn on_and_off(&self) -> Map<String, Value> {
        let word = |at: usize, default: &str| self.text_at("state", at).unwrap_or(default).to_owned();
        keys(json!({"payload_on": word(1, "ON"), "payload_off": word(0, "OFF")}))
    }

    /// Relays as switches, and lights.
    fn relays(&self) -> Vec<Announced> {
        let relays = self.numbers("rl");
        let used = relays.iter().filter(|kind| **kind != 0).count();
        let mut items = Vec::new();
        for (at, kind) in relays.iter().enumerate() {
            let power = if used == 1 { "POWER".to_owned() } else { format!("POWER{}", at + 1) };
            let default = format!("{} {}", self.name, at + 1);
            let name = self.text_at("fn", at).or((used > 1).then_some(default.as_str()));
            let mut config = self.shared(name);
            config.insert("command_topic".into(), format!("{}{power}", self.command).into());
            config.insert("state_topic".into(), self.states(&["STATE", "RESULT"]));
            config.extend(self.on_and_off());
            let path = self.member(&power);
            let unique = |kind: &str| format!("{}_{kind}_{at}", self.mac);
            match (kind, self.option("30")) {
                (1, 0) => {
                    config.insert("value_template".into(), path.into());
                    items.push(announced("switch", &unique("switch_relay"), config));
                }
                (1, _) => {
                    config.insert("state_value_template".into(), path.into());
                    items.push(announced("light", &unique("light_relay"), config));
                }
                (2, _) => {
                    config.insert("state_value_template".into(), path.into());
                    // With option 68 each channel is a lamp of its own.
                    let before = relays.iter().take(at).filter(|kind| **kind == 2).count();
                    self.light(&mut config, (self.option("68") != 0).then_some(before + 1));
                    items.push(announced("light", &unique("light_light"), config));
                }
                _ => {}
            }
        }
        items
    }

    /// The keys of a dimmable light by its subtype: 1 dimmer, 2 white, 3 RGB, 4 RGBW, 5 RGB and white. A single
    /// `channel` is a dimmer.
    fn light(&self, config: &mut Map<String, Value>, channel: Option<usize>) {
        let subtype = match channel {
            Some(_) => 1,
            None => self.raw.get("lt_st").and_then(Value::as_i64).unwrap_or(0),
        };
        let dimmer = channel.map_or_else(|| "Dimmer".to_owned(), |number| format!("Channel{number}"));
        let states = self.states(&["STATE", "RESULT"]);
        let mut set = |name: &str, command: &str, value: &str| {
            config.insert(format!("{name}_command_topic"), format!("{}{command}", self.command).into());
            config.insert(format!("{name}_state_topic"), states.clone());
            config.insert(format!("{name}_value_template"), value.into());
        };
        let white = "value_json.White | default(0) | int > 0";
        if subtype >= 1 {
            set("brightness", &dimmer, &format!("{{{{ value_json.{dimmer} }}}}"));
        }
        if subtype >= 3 {
            let not_white = if subtype >= 4 { format!(" and not ({white})") } else { String::new() };
            let hs = format!(
                "{{% if value_json.HSBColor is defined{not_white} %}}{{% set p = value_json.HSBColor.split(',') %}}\
                 {{{{ p[0] }}}},{{{{ p[1] }}}}{{% endif %}}"
            );
            set("hs", "Backlog", &hs);
            let scheme = format!(
                "{{% if value_json.Scheme is defined %}}{{{{ {EFFECTS:?}[value_json.Scheme] }}}}{{% endif %}}"
            );
            set("effect", "Scheme", &scheme.replace('"', "'"));
        }
        match subtype {
            2 => set("color_temp", "CT", "{{ value_json.CT }}"),
            5 => {
                let value = format!(
                    "{{% if value_json.CT is defined and {white} %}}{{{{ value_json.CT }}}}{{% endif %}}"
                );
                set("color_temp", "CT", &value);
            }
            _ => {}
        }
        if subtype >= 1 {
            config.insert("brightness_scale".into(), 100.into());
        }
        if subtype >= 3 {
            let command = "NoDelay;HsbColor1 {{ hue | round(0) }};NoDelay;HsbColor2 {{ sat | round(0) }}";
            config.insert("hs_command_template".into(), command.into());
            config.insert("effect_list".into(), EFFECTS.to_vec().into());
            let index = format!("{{{{ {EFFECTS:?}.index(value) }}}}").replace('"', "'");
            config.insert("effect_command_template".into(), index.into());
        }
    }

    /// Two relays of kind 3 are one shutter.
    fn shutters(&self) -> Vec<Announced> {
        let count = self.numbers("rl").iter().filter(|kind| **kind == 3).count() / 2;
        (0..count)
            .map(|at| {
                let number = at + 1;
                let own = format!("Shutter{number}");
                let mut config = self.shared(Some(&format!("cover {number}")));
                let states = self.states(&["SENSOR", "RESULT"]);
                let read = |member: &str, value: &str| {
                    format!(
                        "{{% if value_json is mapping and value_json.{own} is defined and value_json.{own}.{member} is defined %}}{value}{{% endif %}}"
                    )
                };
                let path = |member: &str| format!("{{{{ value_json.{own}.{member} }}}}");
                let direction = format!("{{{{ {{1: 'opening', -1: 'closing', 0: 'stopped'}}[value_json.{own}.Direction] }}}}");
                config.extend(keys(json!({
                    "command_topic": format!("{}Backlog", self.command),
                    "payload_open": format!("ShutterOpen{number}"),
                    "payload_close": format!("ShutterClose{number}"),
                    "payload_stop": format!("ShutterStop{number}"),
                    "position_topic": states,
                    "position_template": read("Position", &path("Position")),
                    "set_position_topic": format!("{}ShutterPosition{number}", self.command),
                    "state_topic": states,
                    "value_template": read("Direction", &direction),
                })));
                let tilt = self.raw.get("sht").and_then(|list| list.get(at)).and_then(Value::as_array);
                let limit = |place: usize| tilt.and_then(|tilt| tilt.get(place)).and_then(Value::as_i64).unwrap_or(0);
                if limit(0) != limit(1) {
                    config.extend(keys(json!({
                        "tilt_command_topic": format!("{}ShutterTilt{number}", self.command),
                        "tilt_status_topic": states,
                        "tilt_status_template": read("Tilt", &path("Tilt")),
                        "tilt_min": limit(0),
                        "tilt_max": limit(1),
                        "tilt_closed_value": limit(0),
                        "tilt_opened_value": limit(1),
                        "payload_stop_tilt": null,
                    })));
                }
                announced("cover", &format!("{}_cover_shutter_{at}", self.mac), config)
            })
            .collect()
    }

    fn fan(&self) -> Option<Announced> {
        if self.raw.get("if").and_then(Value::as_i64) != Some(1) {
            return None;
        }
        let mut config = self.shared(self.text_at("fn", 0));
        let states = self.states(&["STATE", "RESULT"]);
        let topic = format!("{}FanSpeed", self.command);
        config.extend(keys(json!({
            "command_topic": topic,
            // The middle one of three speeds.
            "payload_on": "2",
            "payload_off": "0",
            "state_topic": states,
            "state_value_template":
                "{% if value_json is mapping and value_json.FanSpeed is defined %}{{ '2' if value_json.FanSpeed | int > 0 else '0' }}{% endif %}",
            "percentage_command_topic": topic,
            "percentage_state_topic": states,
            "percentage_value_template":
                "{% if value_json is mapping and value_json.FanSpeed is defined %}{{ value_json.FanSpeed }}{% endif %}",
            "speed_range_min": 1,
            "speed_range_max": 3,
        })));
        Some(announced("fan", &format!("{}_fan_fan_ifan", self.mac), config))
    }

    /// Inputs with a switch mode of their own.
    fn switches(&self) -> Vec<Announced> {
        let modes = self.numbers("swc");
        let used = modes.iter().enumerate().filter(|(_, mode)| **mode >= 0);
        used.map(|(at, _)| {
            let own = format!("Switch{}", at + 1);
            let default = format!("switch {}", at + 1);
            let mut config = self.shared(Some(self.text_at("swn", at).unwrap_or(&default)));
            config.insert("state_topic".into(), self.states(&["SENSOR", "RESULT"]));
            config.extend(self.on_and_off());
            let template = format!(
                "{{% if value_json is mapping and value_json.{own} is defined %}}\
                 {{{{ value_json.{own}.Action if value_json.{own} is mapping else value_json.{own} }}}}{{% endif %}}"
            );
            config.insert("value_template".into(), template.into());
            announced("binary_sensor", &format!("{}_binary_sensor_switch_{at}", self.mac), config)
        })
        .collect()
    }
}
