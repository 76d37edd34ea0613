//! Which texts of a recording are personal, and what stands in their place.
//!
//! Names of devices become `Device 1`, `Device 2`…; hardware addresses, IP addresses, mail addresses, places on the map
//! and whatever stands under a key like `password` or `ssid` are replaced. The same text is replaced by the same text
//! everywhere, in topics too, so that a recording still plays as it did. What cannot be known is kept: a name that only
//! stands in a topic that no announcement mentions, or in free text. Look through a file before you share it.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use serde_json::Value;

use crate::app::replay::Recorded;
use crate::devices::discovery::slug;

/// Keys of announcements whose texts are names that people gave.
const NAME_KEYS: &[&str] = &["name", "friendly_name", "dn", "fn", "hn", "sa", "suggested_area"];

/// Shorter names are not replaced: they would be found everywhere.
const SHORTEST: usize = 3;

/// What is replaced by what.
#[derive(Default)]
pub struct Replacements {
    by_text: BTreeMap<String, String>,
    finder: Option<(AhoCorasick, Vec<String>)>,
    secrets: Option<Regex>,
}

impl Replacements {
    /// Finds what is personal in all messages.
    pub fn of(messages: &[Recorded], prefix: &str) -> Self {
        let mut names = BTreeSet::new();
        let mut addresses = BTreeSet::new();
        let pattern = addresses_pattern();
        for message in messages {
            let Ok(text) = std::str::from_utf8(&message.payload) else { continue };
            let announces = (message.topic.starts_with(prefix) && message.topic.ends_with("/config"))
                || message.topic.starts_with("tasmota/discovery/")
                || message.topic.ends_with("/bridge/devices");
            if announces && let Ok(json) = serde_json::from_str::<Value>(text) {
                device_names(&json, false, &mut names);
            }
            if let Some(pattern) = &pattern {
                addresses.extend(
                    [message.topic.as_str(), text]
                        .into_iter()
                        .flat_map(|text| pattern.find_iter(text))
                        .map(|found| found.as_str().to_owned()),
                );
            }
        }
        let mut by_text = BTreeMap::new();
        for (number, name) in (1..).zip(&names) {
            by_text.insert(name.clone(), format!("Device {number}"));
            // The same name as ids write it: some drop an apostrophe, some put a line in its place.
            for written in [slug(name), underscored(name)] {
                if written.len() >= SHORTEST && written != *name {
                    by_text.entry(written).or_insert(format!("device_{number}"));
                }
            }
        }
        for (number, address) in (1..).zip(&addresses) {
            by_text.insert(address.clone(), like(address, number));
        }
        Self::build(by_text)
    }

    fn build(by_text: BTreeMap<String, String>) -> Self {
        let (patterns, with): (Vec<String>, Vec<String>) = by_text.clone().into_iter().unzip();
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns);
        Self {
            by_text,
            finder: finder.ok().map(|finder| (finder, with)),
            secrets: Regex::new(concat!(
                r#"(?i)("(?:[a-z0-9_ ]*(?:password|passwd|token|secret|api_?key|ssid|wifi_?key|latitude|longitude|"#,
                r#"network_key|pan_id|pincode|user_?code)[a-z0-9_ ]*|lat|lon|code|email)"\s*:\s*)"#,
                r#"("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|\[[^\[\]{}]*\])"#
            ))
            .ok(),
        }
    }

    /// How many texts are replaced.
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// A topic or payload with everything replaced.
    pub fn text(&self, text: &str) -> String {
        let mut text = match &self.finder {
            Some((finder, with)) => finder.replace_all(text, with),
            None => text.to_owned(),
        };
        if let Some(secrets) = &self.secrets {
            text = secrets
                .replace_all(&text, |found: &Captures<'_>| {
                    let (key, value) = (group(found, 1), group(found, 2));
                    let blank = match value.as_bytes().first() {
                        Some(b'"') => "\"removed\"",
                        Some(b'[') => "[]",
                        _ => "0",
                    };
                    format!("{key}{blank}")
                })
                .into_owned();
        }
        text
    }
}

/// A name in lower case with a line for everything that is no letter or digit.
fn underscored(name: &str) -> String {
    let level = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
    name.to_lowercase().chars().map(level).collect()
}

fn group<'t>(found: &Captures<'t>, number: usize) -> &'t str {
    found.get(number).map_or("", |found| found.as_str())
}

/// Hardware addresses in all their forms, IP addresses, mail addresses.
fn addresses_pattern() -> Option<Regex> {
    Regex::new(concat!(
        r"0x[0-9a-fA-F]{16}",
        r"|\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?::[0-9a-fA-F]{2}){0,2}\b",
        r"|\b[0-9A-F]{12}\b|\b[0-9a-f]{12}\b",
        r"|\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b",
        r"|[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}"
    ))
    .ok()
}

/// Names of devices in an announcement; names of single entities say what they measure and stay.
fn device_names(json: &Value, in_device: bool, names: &mut BTreeSet<String>) {
    match json {
        Value::Object(map) => {
            // Only a device, native announcements and lists of a bridge hold names that people gave.
            let own = in_device || map.contains_key("ieee_address") || map.contains_key("dn");
            for (key, value) in map {
                if own && NAME_KEYS.contains(&key.as_str()) {
                    texts(value, names);
                }
                device_names(value, matches!(key.as_str(), "device" | "dev"), names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| device_names(item, in_device, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn texts(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.chars().count() >= SHORTEST => {
            names.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
    }
}

/// An address of the same form that belongs to nobody.
fn like(address: &str, number: usize) -> String {
    if address.contains('@') {
        format!("person{number}@example.org")
    } else if address.contains('.') {
        // 192.0.2.0/24 is kept for examples (RFC 5737).
        format!("192.0.2.{}", number % 256)
    } else if let Some(digits) = address.strip_prefix("0x") {
        format!("0x{number:0>width$x}", width = digits.len())
    } else {
        let digits = address.chars().filter(char::is_ascii_hexdigit).count();
        // The second bit of the first byte: an address that no maker gives away.
        let plain = format!("02{number:0>width$x}", width = digits - 2);
        let cased =
            if address.bytes().any(|byte| byte.is_ascii_uppercase()) { plain.to_uppercase() } else { plain };
        let mut rest = cased.chars();
        address.chars().map(|letter| if letter == ':' { ':' } else { rest.next().unwrap_or('0') }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(topic: &str, payload: &str) -> Recorded {
        Recorded { topic: topic.into(), payload: payload.into(), retain: true }
    }

    #[test]
    fn names_and_addresses_are_the_same_everywhere_and_no_longer_there() {
        let config = r#"{"name":"Power","uniq_id":"0x00158d0001a2b3c4_power","stat_t":"zigbee2mqtt/Anna's lamp",
            "dev":{"ids":["0x00158d0001a2b3c4"],"name":"Anna's lamp","cns":[["mac","AA:BB:CC:11:22:33"]]}}"#;
        let messages = [
            message("homeassistant/sensor/0x00158d0001a2b3c4/power/config", config),
            message("zigbee2mqtt/Anna's lamp", r#"{"power":3,"ip":"10.1.2.3","mac":"aabbcc112233"}"#),
            message("esp/anna_s_lamp/x", "anna@mail.example"),
        ];
        let replacements = Replacements::of(&messages, "homeassistant");
        let written: Vec<(String, String)> = messages
            .iter()
            .map(|message| {
                let payload = std::str::from_utf8(&message.payload).unwrap();
                (replacements.text(&message.topic), replacements.text(payload))
            })
            .collect();
        for (topic, payload) in &written {
            for personal in
                ["Anna", "anna", "00158d0001a2b3c4", "AA:BB", "aabbcc11", "10.1.2.3", "mail.example"]
            {
                assert!(
                    !topic.contains(personal) && !payload.contains(personal),
                    "{personal}: {topic} {payload}"
                );
            }
        }
        let config: Value = serde_json::from_str(&written[0].1).unwrap();
        assert_eq!(config["stat_t"], written[1].0.as_str(), "the recording still plays");
        assert_eq!(config["name"], "Power", "what an entity measures stays");
        let id = config["dev"]["ids"][0].as_str().unwrap();
        assert_eq!(id.len(), 18);
        assert!(written[0].0.contains(id));
    }

    #[test]
    fn secrets_and_places_are_removed_whatever_they_are() {
        let replacements = Replacements::of(&[], "homeassistant");
        for (text, expected) in [
            (r#"{"wifi_password": "a\"b", "x": 1}"#, r#"{"wifi_password": "removed", "x": 1}"#),
            (r#"{"latitude":52.1,"longitude":-0.2}"#, r#"{"latitude":0,"longitude":0}"#),
            (r#"{"network_key":[1,2,3],"code":"1234"}"#, r#"{"network_key":[],"code":"removed"}"#),
            (
                r#"{"code_format":"^\\d{4}$","value":"latitude"}"#,
                r#"{"code_format":"^\\d{4}$","value":"latitude"}"#,
            ),
            ("ON", "ON"),
        ] {
            assert_eq!(replacements.text(text), expected);
        }
    }
}
