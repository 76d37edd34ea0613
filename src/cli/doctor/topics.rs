//! What lies on the broker's topics: announcements, who takes commands where, and messages that are retained on topics
//! on which nothing may be.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Finding;
use crate::devices::discovery::Table;
use crate::mqtt::topics::{Topics, matches};
use crate::settings::Settings;
use crate::settings::home_file::{HomeEntity, HomeFile};

/// Where Tasmota, zigbee2mqtt and Shelly announce themselves in their own form.
const NATIVE: [&str; 4] =
    ["tasmota/discovery/+/config", "zigbee2mqtt/bridge/devices", "shellies/announce", "+/events/rpc"];

/// Filters of announcements.
pub fn announcements(settings: &Settings) -> Vec<String> {
    if !settings.discovery.enabled {
        return Vec::new();
    }
    let prefix = &settings.discovery.prefix;
    let mut filters = vec![format!("{prefix}/+/+/config"), format!("{prefix}/+/+/+/config")];
    filters.extend(NATIVE.iter().map(|filter| (*filter).to_owned()));
    filters
}

/// The topics on which an entity of the home file takes commands.
pub fn commands_of(known: &HomeEntity) -> impl Iterator<Item = &str> {
    known.codec.iter().flat_map(|codec| codec.command_topics())
}

/// What was heard on a broker.
pub struct Heard<'s> {
    filters: Vec<String>,
    own: Vec<String>,
    settings: &'s Settings,
    /// Who takes commands on a topic: an entity of the home file, or an announced device.
    takers: BTreeMap<String, BTreeSet<String>>,
    of_home: BTreeSet<String>,
    retained: BTreeSet<String>,
    /// Retained announcements that are no removal.
    pub announcements: usize,
}

impl<'s> Heard<'s> {
    pub fn new(settings: &'s Settings, home: &HomeFile) -> Self {
        let mut takers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for known in &home.entities {
            for topic in commands_of(known) {
                takers.entry(topic.to_owned()).or_default().insert(known.entity.id.to_string());
            }
        }
        Self {
            filters: announcements(settings),
            own: Topics::new(&settings.base_topic()).map(|topics| topics.subscriptions()).unwrap_or_default(),
            settings,
            of_home: takers.keys().cloned().collect(),
            takers,
            retained: BTreeSet::new(),
            announcements: 0,
        }
    }

    /// Takes a message that the broker had retained.
    pub fn retained(&mut self, topic: &str, payload: &[u8]) {
        if payload.is_empty() {
            return;
        }
        if self.own.iter().any(|filter| matches(filter, topic)) || self.takers.contains_key(topic) {
            self.retained.insert(topic.to_owned());
        }
        if self.filters.iter().any(|filter| matches(filter, topic)) {
            self.announcements += 1;
            if let Ok(Value::Object(announcement)) = serde_json::from_slice(payload) {
                self.announced(topic, announcement);
            }
        }
    }

    /// The command topics of announced devices.
    pub fn announced_commands(&self) -> impl Iterator<Item = &str> {
        self.takers.keys().filter(|topic| !self.of_home.contains(*topic)).map(String::as_str)
    }

    fn announced(&mut self, topic: &str, announcement: Map<String, Value>) {
        if !topic.starts_with(self.settings.discovery.prefix.as_str()) {
            return;
        }
        let announcement = Table::Entity.expand(announcement);
        let device = device(&announcement).unwrap_or_else(|| topic.to_owned());
        let base = announcement.get("~").and_then(Value::as_str).unwrap_or_default().to_owned();
        let components = announcement.get("components").and_then(Value::as_object);
        let inner: Vec<Map<String, Value>> = components
            .into_iter()
            .flat_map(|components| components.values())
            .filter_map(|component| component.as_object().cloned())
            .map(|component| Table::Entity.expand(component))
            .collect();
        for config in inner.iter().chain(std::iter::once(&announcement)) {
            let base = config.get("~").and_then(Value::as_str).unwrap_or(&base);
            for (_, value) in config.iter().filter(|(key, _)| key.ends_with("command_topic")) {
                let Some(text) = value.as_str() else { continue };
                let text = resolved(text, base);
                self.takers.entry(text).or_default().insert(device.clone());
            }
        }
    }

    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.retained.iter().map(|topic| retained(topic)).collect();
        let shared = self.takers.iter().filter(|(_, takers)| takers.len() > 1);
        findings.extend(shared.map(|(topic, takers)| {
            let takers: Vec<&str> = takers.iter().map(String::as_str).collect();
            Finding::fault(
                "topics",
                format!(
                    "{} take commands on {topic:?}; an action on one would move the other",
                    takers.join(" and ")
                ),
                "give each device a topic of its own, or leave out the entity that is there twice",
            )
        }));
        if findings.is_empty() {
            findings.push(Finding::good("topics", "no command topic holds a retained message or is shared"));
        }
        findings
    }
}

fn retained(topic: &str) -> Finding {
    Finding::fault(
        "topics",
        format!(
            "a message is retained on the command topic {topic:?}: it is obeyed again at every start of the broker or \
             the device"
        ),
        format!("remove it: `mosquitto_pub -r -n -t {}`", quoted(topic)),
    )
}

/// For a shell: what is retained may have any name.
fn quoted(topic: &str) -> String {
    format!("'{}'", topic.replace('\'', "'\\''"))
}

/// What names a device: its first identifier.
fn device(announcement: &Map<String, Value>) -> Option<String> {
    let device = Table::Device.expand(announcement.get("device")?.as_object()?.clone());
    let identifiers = device.get("identifiers").or_else(|| device.get("connections"))?;
    let first = identifiers.as_array().map_or(Some(identifiers), |list| list.first())?;
    let name = device.get("name").and_then(Value::as_str).unwrap_or_default();
    let id = first.as_str().map_or_else(|| first.to_string(), str::to_owned);
    Some(format!("the announced device {name:?} ({id})"))
}

/// `~` at one end stands for the base.
fn resolved(topic: &str, base: &str) -> String {
    match (topic.strip_prefix('~'), topic.strip_suffix('~')) {
        (Some(rest), _) => format!("{base}{rest}"),
        (None, Some(rest)) => format!("{rest}{base}"),
        (None, None) => topic.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(messages: &[(&str, &str)]) -> Vec<String> {
        let settings = Settings::load(&[]).unwrap();
        let home = HomeFile::default();
        let mut heard = Heard::new(&settings, &home);
        for (topic, payload) in messages {
            heard.retained(topic, payload.as_bytes());
        }
        heard.findings().into_iter().map(|finding| finding.says).collect()
    }

    #[test]
    fn two_devices_on_one_command_topic_are_found_and_two_entities_of_one_device_are_not() {
        let one = r#"{"~": "zigbee2mqtt/x", "cmd_t": "~/set", "dev": {"ids": ["1"], "name": "A"}}"#;
        let same = r#"{"command_topic": "zigbee2mqtt/x/set", "device": {"identifiers": "1", "name": "A"}}"#;
        let other =
            r#"{"command_topic": "zigbee2mqtt/x/set", "device": {"identifiers": ["2"], "name": "B"}}"#;
        let shared = says(&[
            ("homeassistant/light/a/config", one),
            ("homeassistant/switch/a/config", same),
            ("homeassistant/switch/b/config", other),
        ]);
        assert_eq!(shared.len(), 1, "{shared:?}");
        assert!(shared[0].contains("\"A\" (1)") && shared[0].contains("\"B\" (2)"), "{shared:?}");
        let alone = says(&[("homeassistant/light/a/config", one), ("homeassistant/switch/a/config", same)]);
        assert!(alone[0].starts_with("no command topic"), "{alone:?}");
    }

    #[test]
    fn what_is_retained_on_command_topics_is_found() {
        let announced = r#"{"pct_cmd_t": "fan/set", "dev": {"ids": ["1"]}}"#;
        let found = says(&[
            ("homeassistant/fan/a/config", announced),
            ("fan/set", "40"),
            ("fan/state", "40"),
            ("homeloop/home/command", "unlock the front door"),
            ("homeloop/home/status", "online"),
            ("homeloop/home/stop", ""),
        ]);
        let topics: Vec<bool> = ["fan/set", "homeloop/home/command"]
            .iter()
            .map(|topic| found.iter().any(|says| says.contains(topic)))
            .collect();
        assert_eq!((found.len(), topics), (2, vec![true, true]), "{found:?}");
    }
}
