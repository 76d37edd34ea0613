//! From a payload to announced components: abbreviations, `~`, device messages, removal and migration.

use serde_json::{Map, Value};

use super::abbreviations::Table;
use super::fields::{Refusal, valid_filter};
use super::topic::{ConfigTopic, ItemKey};

/// What one discovery message says.
#[derive(Debug, Clone, PartialEq)]
pub enum Announcement {
    /// An empty payload: everything that this topic owns is gone.
    Remove,
    /// `{"migrate_discovery": true}`: keep what is known, another topic takes over.
    Migrate,
    Items(Vec<Announced>),
}

/// One component of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced {
    pub key: ItemKey,
    /// Full keys, `~` resolved. `None` removes the component from its device message.
    pub config: Option<Map<String, Value>>,
}

/// Options of a device message that a component without its own takes over.
const SHARED: &[&str] = &[
    "availability",
    "availability_mode",
    "availability_template",
    "availability_topic",
    "payload_available",
    "payload_not_available",
    "command_topic",
    "state_topic",
    "encoding",
    "qos",
    "message_expiry_interval",
];

const DEVICE_KEYS: &[&str] = &["device", "origin", "components", "child_devices", "migrate_discovery"];

/// Reads the payload of a message on `topic`.
pub fn read(topic: &ConfigTopic, payload: &[u8]) -> Result<Announcement, Refusal> {
    if payload.is_empty() {
        return Ok(Announcement::Remove);
    }
    let json: Value = serde_json::from_slice(payload).map_err(|error| Refusal::NotJson(error.to_string()))?;
    let Value::Object(object) = json else {
        return Err(Refusal::NotJson("it is JSON of another type".into()));
    };
    if object.is_empty() {
        return Ok(Announcement::Remove);
    }
    let object = Table::Entity.expand(object);
    if let Some(migrate) = object.get("migrate_discovery") {
        return match (migrate, object.len()) {
            (Value::Bool(true), 1) => Ok(Announcement::Migrate),
            _ => Err(Refusal::Wrong {
                key: "migrate_discovery".into(),
                value: migrate.to_string(),
                expected: "true, and no other key".into(),
            }),
        };
    }
    if topic.is_device() {
        return device_message(topic, object).map(Announcement::Items);
    }
    let config = component(object)?;
    Ok(Announcement::Items(vec![Announced { key: topic.key(), config: Some(config) }]))
}

/// Expands the nested objects of one component and resolves its `~`.
fn component(mut config: Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    expand_nested(&mut config, "device", Table::Device);
    expand_nested(&mut config, "origin", Table::Origin);
    match config.get_mut("availability") {
        Some(Value::Array(items)) => {
            for item in items.iter_mut() {
                if let Value::Object(object) = item {
                    *object = Table::Entity.expand(std::mem::take(object));
                }
            }
        }
        Some(Value::Object(object)) => {
            let object = Table::Entity.expand(std::mem::take(object));
            config.insert("availability".into(), Value::Array(vec![Value::Object(object)]));
        }
        _ => {}
    }
    let base = match config.remove("~") {
        None => return Ok(config),
        Some(Value::String(base)) if valid_filter(&base) => base,
        Some(other) => {
            return Err(Refusal::Wrong {
                key: "~".into(),
                value: other.to_string(),
                expected: "a topic".into(),
            });
        }
    };
    for (key, value) in config.iter_mut() {
        match value {
            Value::String(text) if key.ends_with("topic") => resolve(text, &base),
            Value::Array(items) if key == "availability" => {
                for item in items {
                    if let Some(Value::String(text)) = item.get_mut("topic") {
                        resolve(text, &base);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(config)
}

fn expand_nested(config: &mut Map<String, Value>, key: &str, table: Table) {
    if let Some(Value::Object(object)) = config.get_mut(key) {
        *object = table.expand(std::mem::take(object));
    }
}

/// Replaces `~` at the start or else at the end; never in the middle.
fn resolve(topic: &mut String, base: &str) {
    if let Some(rest) = topic.strip_prefix('~') {
        *topic = format!("{base}{rest}");
    } else if let Some(rest) = topic.strip_suffix('~') {
        *topic = format!("{rest}{base}");
    }
}

fn device_message(topic: &ConfigTopic, mut object: Map<String, Value>) -> Result<Vec<Announced>, Refusal> {
    expand_nested(&mut object, "device", Table::Device);
    expand_nested(&mut object, "origin", Table::Origin);
    for key in ["device", "origin"] {
        if !object.get(key).is_some_and(Value::is_object) {
            return Err(Refusal::Missing(key.into()));
        }
    }
    if !object.get("origin").and_then(|origin| origin.get("name")).is_some_and(Value::is_string) {
        return Err(Refusal::Missing("origin.name".into()));
    }
    if let Some(extra) =
        object.keys().find(|key| !DEVICE_KEYS.contains(&key.as_str()) && !SHARED.contains(&key.as_str()))
    {
        return Err(Refusal::Wrong {
            key: extra.clone(),
            value: "present".into(),
            expected: "no extra keys".into(),
        });
    }
    let shared: Vec<(&str, Value)> =
        SHARED.iter().filter_map(|key| object.get(*key).map(|value| (*key, value.clone()))).collect();
    let device = object.get("device").cloned().unwrap_or(Value::Null);
    let mut groups = Vec::new();
    if let Some(Value::Object(components)) = object.get("components") {
        groups.push((device.clone(), components.clone()));
    }
    if let Some(Value::Array(children)) = object.get("child_devices") {
        for child in children {
            let Some(child) = child.as_object() else { continue };
            let mut child = Table::Entity.expand(Table::Device.expand(child.clone()));
            if let Some(Value::Object(components)) = child.remove("components") {
                if let Some(id) = device.get("identifiers") {
                    child.entry("via_device").or_insert_with(|| first_of(id));
                }
                groups.push((Value::Object(child), components));
            }
        }
    }
    if groups.is_empty() {
        return Err(Refusal::Missing("components".into()));
    }
    let mut items: Vec<Announced> = Vec::new();
    for (device, components) in groups {
        for (id, value) in components {
            let item = device_component(topic, &id, value, &device, object.get("origin"), &shared)?;
            if items.iter().any(|known| known.key == item.key) {
                return Err(Refusal::Conflict(format!("component {id:?} occurs twice")));
            }
            items.push(item);
        }
    }
    Ok(items)
}

fn first_of(value: &Value) -> Value {
    value.as_array().and_then(|list| list.first()).unwrap_or(value).clone()
}

fn device_component(
    topic: &ConfigTopic,
    id: &str,
    value: Value,
    device: &Value,
    origin: Option<&Value>,
    shared: &[(&str, Value)],
) -> Result<Announced, Refusal> {
    let Value::Object(config) = value else {
        return Err(Refusal::Wrong {
            key: id.into(),
            value: value.to_string(),
            expected: "an object".into(),
        });
    };
    let mut config = Table::Entity.expand(config);
    let platform = match config.remove("platform") {
        Some(Value::String(platform)) => platform,
        _ => return Err(Refusal::Missing(format!("components.{id}.platform"))),
    };
    let key = topic.component_key(&platform, id);
    if config.is_empty() {
        return Ok(Announced { key, config: None });
    }
    let entity = !matches!(platform.as_str(), "tag" | "device_automation");
    if entity && !config.contains_key("unique_id") {
        return Err(Refusal::Missing(format!("components.{id}.unique_id")));
    }
    for (name, value) in shared {
        config.entry(*name).or_insert_with(|| value.clone());
    }
    config.insert("device".into(), device.clone());
    if let Some(origin) = origin {
        config.insert("origin".into(), origin.clone());
    }
    Ok(Announced { key, config: Some(component(config)?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn single(payload: Value) -> Map<String, Value> {
        let topic = ConfigTopic::parse("homeassistant", "homeassistant/light/x/config").unwrap();
        match read(&topic, payload.to_string().as_bytes()).unwrap() {
            Announcement::Items(items) => items[0].config.clone().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_base_topic_stands_at_the_start_or_the_end_of_topics_only() {
        let config = single(json!({
            "~": "base/x", "stat_t": "~/s", "cmd_t": "cmd/~", "brightness_state_topic": "a/~/b",
            "val_tpl": "~{{ value }}", "avty": {"t": "~/av"}
        }));
        assert_eq!(config["state_topic"], "base/x/s");
        assert_eq!(config["command_topic"], "cmd/base/x");
        assert_eq!(config["brightness_state_topic"], "a/~/b");
        assert_eq!(config["value_template"], "~{{ value }}");
        assert_eq!(config["availability"][0]["topic"], "base/x/av");
    }

    #[test]
    fn device_messages_share_options_and_remove_what_has_only_a_platform() {
        let topic = ConfigTopic::parse("homeassistant", "homeassistant/device/d/config").unwrap();
        let message = json!({
            "dev": {"ids": "d"}, "o": {"name": "me"}, "avty_t": "d/av",
            "cmps": {"t": {"p": "sensor", "uniq_id": "t", "stat_t": "d/t"}, "old": {"p": "sensor"}}
        });
        let Announcement::Items(items) = read(&topic, message.to_string().as_bytes()).unwrap() else {
            panic!("items");
        };
        let config = items[0].config.as_ref().unwrap();
        assert_eq!(config["availability_topic"], "d/av");
        assert_eq!(config["device"]["identifiers"], "d");
        assert_eq!((items[1].key.to_string().as_str(), &items[1].config), ("sensor d old", &None));
        for broken in [
            json!({"o": {"name": "me"}, "cmps": {}}),
            json!({"dev": {"ids": "d"}, "cmps": {}}),
            json!({"dev": {"ids": "d"}, "o": {"name": "me"}}),
            json!({"dev": {"ids": "d"}, "o": {"name": "me"}, "~": "x", "cmps": {}}),
            json!({"dev": {"ids": "d"}, "o": {"name": "me"}, "cmps": {"t": {"p": "sensor", "stat_t": "x"}}}),
        ] {
            assert!(read(&topic, broken.to_string().as_bytes()).is_err(), "{broken}");
        }
    }

    #[test]
    fn removal_migration_and_what_is_no_announcement() {
        let topic = ConfigTopic::parse("homeassistant", "homeassistant/light/x/config").unwrap();
        assert_eq!(read(&topic, b""), Ok(Announcement::Remove));
        assert_eq!(read(&topic, b"{}"), Ok(Announcement::Remove));
        assert_eq!(read(&topic, br#"{"migr_discvry": true}"#), Ok(Announcement::Migrate));
        for broken in
            ["[]", "null", "{", r#"{"a":1,}"#, r#"{"a":NaN}"#, "\u{feff}{}", r#"{"migrate_discovery":false}"#]
        {
            assert!(read(&topic, broken.as_bytes()).is_err(), "{broken}");
        }
        assert!(read(&topic, &[0xff, 0xfe]).is_err());
    }
}
