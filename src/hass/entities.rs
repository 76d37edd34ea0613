//! Which entities of Home Assistant become ours, and what they are before their first state.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::SOURCE;
use super::actions::{self, Attributes};
use super::connection::Choice;
use super::registries::{EntityEntry, Registries, names};
use crate::home::{Category, Device, Domain, Entity, EntityId, Name};

/// What identifies an entity beyond Home Assistant, so that one seen through both paths is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known<'a> {
    pub id: &'a EntityId,
    /// The unique id that its MQTT announcement gave it; `None` for entities of other integrations.
    pub mqtt_unique_id: Option<&'a str>,
    /// What its device is called by: identifiers of MQTT, and addresses as [`address_name`] writes them.
    pub device_names: Vec<String>,
    /// How many entities of its domain its device has. `None` where that says nothing about this one: it has no
    /// device, it is a setting, or it is one of many readings.
    pub alike: Option<usize>,
}

/// Which of these entities the daemon speaks to already by MQTT, in their order.
pub type Twins = Arc<dyn Fn(&[Known<'_>]) -> Vec<bool> + Send + Sync>;

/// Our own device in Home Assistant is never read back; its identifiers begin so.
const OWN_DEVICE: &str = "homeloop";

/// Domains that policy wants to know of, whatever was chosen: who is home, and whether the house is armed.
const FACTS: &[Domain] = &[Domain::Person, Domain::AlarmControlPanel];

/// An entity as the registries know it; its state then tells what it can do.
#[derive(Debug, Clone)]
pub struct Draft {
    pub id: EntityId,
    area: Option<String>,
    device: Option<Device>,
    category: Category,
    pub aliases: Vec<Name>,
    /// Only its state is wanted.
    reads_only: bool,
}

/// The entities that are taken, by id.
pub fn drafts(
    registries: &Registries,
    choice: &Choice,
    taken: &dyn Fn(&[Known<'_>]) -> Vec<bool>,
) -> HashMap<EntityId, Draft> {
    let alike = alike(registries);
    let mut candidates = Vec::new();
    for entry in &registries.entities {
        let Ok(id) = EntityId::parse(&entry.entity_id) else { continue };
        let device = entry.device_id.as_ref().and_then(|id| registries.devices.get(id));
        let own = device.is_some_and(|device| device.mqtt_identifiers().any(|id| id.starts_with(OWN_DEVICE)));
        if own || entry.disabled_by.is_some() || entry.hidden_by.is_some() {
            continue;
        }
        let chosen = chosen(entry, registries, choice);
        if chosen || FACTS.contains(&id.domain()) {
            candidates.push((id, entry, device, chosen));
        }
    }
    let known: Vec<Known<'_>> = candidates
        .iter()
        .map(|(id, entry, device, _)| Known {
            id,
            mqtt_unique_id: entry.unique_id.as_str().filter(|_| entry.platform == "mqtt"),
            device_names: device.map(|device| device.names()).unwrap_or_default(),
            alike: device
                .filter(|_| entry.entity_category.is_none())
                .and_then(|device| alike.get(&(device.id.as_str(), id.domain())).copied()),
        })
        .collect();
    let taken = taken(&known);
    let mut drafts = HashMap::new();
    for ((id, entry, device, chosen), _) in candidates.iter().zip(taken).filter(|(_, taken)| !taken) {
        let area = entry.area_id.clone().or_else(|| device.and_then(|device| device.area_id.clone()));
        let category = match entry.entity_category.as_deref() {
            Some("config") => Category::Config,
            Some("diagnostic") => Category::Diagnostic,
            Some(_) | None => Category::Main,
        };
        let device = device.map(|device| Device {
            id: device.mqtt_identifiers().next().unwrap_or(&device.id).to_owned(),
            name: device.name_by_user.clone().or_else(|| device.name.clone()),
            manufacturer: device.manufacturer.clone(),
            model: device.model.clone(),
        });
        let draft =
            Draft { id: id.clone(), area, device, category, aliases: Vec::new(), reads_only: !chosen };
        drafts.insert(id.clone(), draft);
    }
    drafts
}

/// How many main entities of a domain each device has. Readings are left out: a device has many that are not alike.
fn alike(registries: &Registries) -> HashMap<(&str, Domain), usize> {
    let mut counts = HashMap::new();
    for entry in &registries.entities {
        let Ok(id) = EntityId::parse(&entry.entity_id) else { continue };
        let reading = matches!(id.domain(), Domain::Sensor | Domain::BinarySensor | Domain::Event);
        let main = entry.entity_category.is_none() && entry.disabled_by.is_none();
        if let (false, true, Some(device)) = (reading, main, &entry.device_id) {
            *counts.entry((device.as_str(), id.domain())).or_default() += 1;
        }
    }
    counts
}

fn chosen(entry: &EntityEntry, registries: &Registries, choice: &Choice) -> bool {
    match choice {
        Choice::All => true,
        Choice::Exposed => registries.exposed.contains(&entry.entity_id),
        Choice::Label(label) => {
            let device = entry.device_id.as_ref().and_then(|id| registries.devices.get(id));
            let area = entry.area_id.as_ref().or_else(|| device.and_then(|device| device.area_id.as_ref()));
            let area = area.and_then(|id| registries.areas.get(id));
            entry.labels.contains(label)
                || device.is_some_and(|device| device.labels.contains(label))
                || area.is_some_and(|area| area.labels.contains(label))
        }
    }
}

impl Draft {
    /// The entity, now that its attributes are known.
    pub fn entity(&self, attributes: &Map<String, Value>, celsius: bool) -> Entity {
        let text = |name: &str| attributes.get(name).and_then(Value::as_str).map(str::to_owned);
        let assumed = attributes.get("assumed_state").and_then(Value::as_bool) == Some(true);
        let actions = if self.reads_only {
            Vec::new()
        } else {
            actions::of(self.id.domain(), &Attributes(attributes), celsius)
        };
        Entity {
            id: self.id.clone(),
            name: text("friendly_name").unwrap_or_else(|| self.id.object_id().replace('_', " ")),
            aliases: self.aliases.clone(),
            area: self.area.clone(),
            device: self.device.clone(),
            device_class: text("device_class"),
            category: self.category,
            unit: text("unit_of_measurement"),
            actions,
            members: Vec::new(),
            reports_state: !assumed,
            source: SOURCE.to_owned(),
        }
    }
}

/// Adds the aliases that `config/entity_registry/get_entries` tells.
pub fn add_aliases(drafts: &mut HashMap<EntityId, Draft>, result: &Value) {
    for (id, entry) in result.as_object().into_iter().flatten() {
        let aliases = entry.get("aliases").and_then(Value::as_array);
        if let (Some(draft), Some(aliases)) = (drafts.get_mut(id.as_str()), aliases) {
            draft.aliases = names(aliases);
        }
    }
}

/// Whether a difference touches what an entity can do, so that it must be read anew.
pub fn changes_what_it_can_do(change: &Value) -> bool {
    const CAPABILITIES: &[&str] = &[
        "supported_features",
        "supported_color_modes",
        "effect_list",
        "source_list",
        "hvac_modes",
        "fan_modes",
        "preset_modes",
        "swing_modes",
        "swing_horizontal_modes",
        "options",
        "available_modes",
        "operation_list",
        "fan_speed_list",
        "min",
        "max",
        "min_temp",
        "max_temp",
        "friendly_name",
        "device_class",
    ];
    let more = change.get("+").and_then(|more| more.get("a")).and_then(Value::as_object);
    let less = change.get("-").and_then(|less| less.get("a")).and_then(Value::as_array);
    more.is_some_and(|more| more.keys().any(|name| CAPABILITIES.contains(&name.as_str())))
        || less.is_some_and(|less| {
            less.iter().any(|name| name.as_str().is_some_and(|name| CAPABILITIES.contains(&name)))
        })
}

#[cfg(test)]
mod tests {
    use super::super::registries::{entries, exposed};
    use super::*;
    use serde_json::json;

    fn registries() -> Registries {
        let entity = |id: &str, more: Value| {
            let mut entry = json!({"entity_id": id, "unique_id": id, "platform": "demo"});
            for (key, value) in more.as_object().unwrap() {
                entry[key] = value.clone();
            }
            entry
        };
        let list = json!([
            entity("light.a", json!({"device_id": "d1", "labels": ["voice"]})),
            entity("light.twin", json!({"platform": "mqtt", "unique_id": "u1"})),
            entity("light.hidden", json!({"hidden_by": "user"})),
            entity("sensor.own", json!({"device_id": "d2", "platform": "mqtt"})),
            entity("person.anna", json!({"area_id": null})),
            entity("lock.front", json!({"area_id": "hall"})),
            {"entity_id": 7},
        ]);
        let devices: Vec<super::super::registries::DeviceEntry> = entries(json!([
            {"id": "d1", "area_id": "kitchen", "identifiers": [["demo", "x"]], "name": "Lamp"},
            {"id": "d2", "identifiers": [["mqtt", "homeloop_home"], ["odd"]]},
        ]));
        Registries {
            entities: entries(list),
            devices: devices.into_iter().map(|device| (device.id.clone(), device)).collect(),
            exposed: exposed(&json!({"exposed_entities": {
                "light.a": {"conversation": true}, "light.twin": {"conversation": true},
                "light.hidden": {"conversation": true}, "sensor.own": {"conversation": true},
                "lock.front": {"conversation": false},
            }})),
            celsius: true,
            ..Registries::default()
        }
    }

    #[test]
    fn what_is_taken_follows_the_choice_and_is_never_our_own_or_a_twin() {
        let twin = |all: &[Known<'_>]| -> Vec<bool> {
            all.iter().map(|known| known.mqtt_unique_id == Some("u1")).collect()
        };
        for (choice, expected) in [
            (Choice::Exposed, vec!["light.a", "person.anna"]),
            (Choice::Label("voice".into()), vec!["light.a", "person.anna"]),
            (Choice::All, vec!["light.a", "lock.front", "person.anna"]),
        ] {
            let drafts = drafts(&registries(), &choice, &twin);
            let mut ids: Vec<_> = drafts.keys().map(EntityId::as_str).collect();
            ids.sort_unstable();
            assert_eq!(ids, expected, "{choice:?}");
        }
    }

    #[test]
    fn a_state_tells_what_an_entity_can_do() {
        let drafts = drafts(&registries(), &Choice::Exposed, &|all| vec![false; all.len()]);
        let attributes = json!({
            "friendly_name": "Lamp", "supported_color_modes": ["color_temp"], "min_color_temp_kelvin": 2200,
            "max_color_temp_kelvin": 4000,
        });
        let entity = drafts["light.a"].entity(attributes.as_object().unwrap(), true);
        assert_eq!((entity.name.as_str(), entity.area.as_deref()), ("Lamp", Some("kitchen")));
        let on = entity.action(crate::home::Verb::TurnOn).unwrap();
        assert!(on.arg(crate::home::Arg::BrightnessPct).is_some());
        assert_eq!(
            on.arg(crate::home::Arg::ColorTempKelvin).map(|arg| arg.kind.clone()),
            Some(crate::home::ArgKind::Number { min: 2200.0, max: 4000.0, step: 1.0 })
        );
        let person = drafts["person.anna"].entity(&Map::new(), true);
        assert!(person.actions.is_empty() && person.name == "anna");
    }

    #[test]
    fn a_device_says_what_it_is_called_by_and_how_many_of_a_kind_it_has() {
        let mut registries = registries();
        let second = json!({"entity_id": "light.b", "unique_id": "b", "platform": "demo", "device_id": "d1"});
        let setting = json!({"entity_id": "light.led", "device_id": "d1", "entity_category": "config"});
        let reading = json!({"entity_id": "sensor.power", "device_id": "d1"});
        registries.entities.extend(entries::<EntityEntry>(json!([second, setting, reading])));
        registries.devices.get_mut("d1").unwrap().connections = vec![json!(["mac", "AA:BB:cc:00:11:22"])];
        let seen = std::cell::RefCell::new(Vec::new());
        drafts(&registries, &Choice::All, &|all| {
            seen.borrow_mut()
                .extend(all.iter().map(|one| (one.id.to_string(), one.device_names.clone(), one.alike)));
            vec![true; all.len()]
        });
        let names = vec!["address aabbcc001122".to_owned()];
        for (id, alike) in
            [("light.a", Some(2)), ("light.b", Some(2)), ("light.led", None), ("sensor.power", None)]
        {
            assert!(seen.borrow().contains(&(id.to_owned(), names.clone(), alike)), "{id}: {seen:?}");
        }
    }
}
