//! Home Assistant's registries, as far as they say what an entity is, where it is and whether we may use it.
//!
//! What cannot be read as an entry is skipped: one strange entry must not hide a house.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::devices::discovery::address_name;
use crate::home::{Area, Floor, Name};

#[derive(Debug, Clone, Deserialize)]
pub struct EntityEntry {
    pub entity_id: String,
    #[serde(default)]
    pub unique_id: Value,
    #[serde(default)]
    pub platform: String,
    #[serde(default)]
    pub device_id: Option<String>,
    #[serde(default)]
    pub area_id: Option<String>,
    #[serde(default)]
    pub entity_category: Option<String>,
    #[serde(default)]
    pub disabled_by: Option<String>,
    #[serde(default)]
    pub hidden_by: Option<String>,
    #[serde(default)]
    pub labels: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct DeviceEntry {
    pub id: String,
    #[serde(default)]
    pub area_id: Option<String>,
    #[serde(default)]
    pub identifiers: Vec<Value>,
    #[serde(default)]
    pub connections: Vec<Value>,
    #[serde(default)]
    pub labels: Vec<String>,
    #[serde(default)]
    pub manufacturer: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub name_by_user: Option<String>,
}

impl DeviceEntry {
    /// What the device is called by in announcements too: identifiers of MQTT, and addresses.
    pub fn names(&self) -> Vec<String> {
        let address = |pair: &Value| pair.get(1).and_then(Value::as_str).map(address_name);
        let addresses = self.connections.iter().filter_map(address);
        self.mqtt_identifiers().map(str::to_owned).chain(addresses).collect()
    }

    /// The identifiers that its MQTT announcement gave it.
    pub fn mqtt_identifiers(&self) -> impl Iterator<Item = &str> {
        self.identifiers.iter().filter_map(|pair| match pair.as_array().map(Vec::as_slice) {
            Some([Value::String(domain), Value::String(id)]) if domain == "mqtt" => Some(id.as_str()),
            Some(_) | None => None,
        })
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct AreaEntry {
    pub area_id: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<Value>,
    #[serde(default)]
    pub floor_id: Option<String>,
    #[serde(default)]
    pub labels: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct FloorEntry {
    pub floor_id: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<Value>,
    #[serde(default)]
    pub level: Option<i8>,
}

/// Everything that was read of the registries.
#[derive(Debug, Default)]
pub struct Registries {
    pub entities: Vec<EntityEntry>,
    pub devices: HashMap<String, DeviceEntry>,
    pub areas: BTreeMap<String, AreaEntry>,
    pub floors: BTreeMap<String, FloorEntry>,
    /// Ids of entities that are exposed to conversation.
    pub exposed: HashSet<String>,
    /// Whether temperatures are in °C.
    pub celsius: bool,
}

/// The entries of a list, without those that cannot be read.
pub fn entries<T: DeserializeOwned>(list: Value) -> Vec<T> {
    let Value::Array(list) = list else { return Vec::new() };
    list.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect()
}

/// Ids that `homeassistant/expose_entity/list` names for the conversation assistant.
pub fn exposed(result: &Value) -> HashSet<String> {
    let all = result.get("exposed_entities").and_then(Value::as_object).into_iter().flatten();
    all.filter(|(_, assistants)| assistants.get("conversation").and_then(Value::as_bool) == Some(true))
        .map(|(id, _)| id.clone())
        .collect()
}

/// Aliases are texts; later versions also have nulls for computed ones.
pub fn names(aliases: &[Value]) -> Vec<Name> {
    let texts = aliases.iter().filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    texts.map(|text| Name { language: None, text: text.to_owned() }).collect()
}

impl AreaEntry {
    pub fn area(&self) -> Area {
        Area {
            id: self.area_id.clone(),
            name: self.name.clone(),
            aliases: names(&self.aliases),
            floor: self.floor_id.clone(),
        }
    }
}

impl FloorEntry {
    pub fn floor(&self) -> Floor {
        Floor {
            id: self.floor_id.clone(),
            name: self.name.clone(),
            aliases: names(&self.aliases),
            level: self.level,
        }
    }
}
