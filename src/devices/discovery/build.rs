//! From one component's keys to an entity and its codec.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::entity_codec::{Built, Common};
use super::fields::{Fields, Refusal, text_of};
use super::names::{clean, slug};
use super::{
    alarm_control_panel, binary_sensor, climate, cover, device_tracker, event, fan, humidifier, lawn_mower,
    light, lock, number, select, sensor, siren, stateless, switch, text, update, vacuum, valve, water_heater,
};
use crate::devices::codec::Codec;
use crate::home::{Category, Device, Domain, Entity, EntityId, Update};

/// An entity as announced.
pub(super) struct Made {
    pub entity: Entity,
    pub codec: Arc<dyn Codec>,
    pub initial: Update,
    /// Topics that its actions publish to.
    pub publishes: Vec<String>,
    /// Fingerprint of what its actions send; see [`surface`].
    pub surface: String,
}

/// The domain of a component, or `None` for components that are no entities for us.
pub(super) fn domain(component: &str) -> Option<Domain> {
    match component {
        "tag" | "device_automation" | "infrared" | "device" => None,
        word => Some(Domain::from_word(word)).filter(|domain| {
            !matches!(
                domain,
                Domain::Other
                    | Domain::MediaPlayer
                    | Domain::Person
                    | Domain::Script
                    | Domain::Timer
                    | Domain::Todo
                    | Domain::Weather
            )
        }),
    }
}

/// Reads everything that an entity of `component` has.
pub(super) fn make(
    fields: Fields<'_>,
    component: &str,
    id: EntityId,
    shown_name: &str,
    source: &str,
) -> Result<Made, Refusal> {
    check_common(fields)?;
    let mut common = Common::read(fields, component, id.as_str(), shown_name)?;
    let category = category(fields, component)?;
    let device_class = fields.device_class()?;
    let unit = fields.nullable("unit_of_measurement")?.flatten().map(|unit| clean(&unit));
    let unit = unit.map(|unit| match (component, device_class.as_deref(), unit.as_str()) {
        // Readings are converted, see `sensor`.
        ("sensor", Some("temperature"), "°F") => "°C".to_owned(),
        _ => unit,
    });
    let (device, area) = device(fields.object("device"));
    common.set_expiry(component, fields)?;
    let initial_availability = common.initial_availability();
    let built = component_build(fields, common, component)?;
    let mut initial = built.initial;
    initial.availability = initial_availability;
    let entity = Entity {
        id,
        name: shown_name.to_owned(),
        aliases: Vec::new(),
        area,
        device,
        device_class,
        category,
        unit,
        actions: built.actions,
        members: Vec::new(),
        reports_state: built.reports_state,
        source: source.to_owned(),
    };
    let (publishes, surface) = (publishes(fields.map), surface(fields.map));
    Ok(Made { entity, codec: built.codec, initial, publishes, surface })
}

fn component_build(fields: Fields<'_>, common: Common, component: &str) -> Result<Built, Refusal> {
    match component {
        "alarm_control_panel" => alarm_control_panel::build(fields, common),
        "binary_sensor" => binary_sensor::build(fields, common),
        "button" => stateless::build_button(fields, common),
        "camera" => stateless::build_camera(fields, common),
        "climate" => climate::build(fields, common),
        "cover" => cover::build(fields, common),
        "date" => text::build_date(fields, common),
        "datetime" => text::build_date_time(fields, common),
        "device_tracker" => device_tracker::build(fields, common),
        "event" => event::build(fields, common),
        "fan" => fan::build(fields, common),
        "humidifier" => humidifier::build(fields, common),
        "image" => stateless::build_image(fields, common),
        "lawn_mower" => lawn_mower::build(fields, common),
        "light" => light::build(fields, common),
        "lock" => lock::build(fields, common),
        "notify" => stateless::build_notify(fields, common),
        "number" => number::build(fields, common),
        "scene" => stateless::build_scene(fields, common),
        "select" => select::build(fields, common),
        "sensor" => sensor::build(fields, common),
        "siren" => siren::build(fields, common),
        "switch" => switch::build(fields, common),
        "text" => text::build(fields, common),
        "time" => text::build_time(fields, common),
        "update" => update::build(fields, common),
        "vacuum" => vacuum::build(fields, common),
        "valve" => valve::build(fields, common),
        "water_heater" => water_heater::build(fields, common),
        other => Err(Refusal::UnknownComponent(other.to_owned())),
    }
}

/// Known keys that every component may have and that mean nothing here: wrong ones refuse the message all the same.
fn check_common(fields: Fields<'_>) -> Result<(), Refusal> {
    let wrong = |key: &str, value: &Value, expected: &str| {
        let value: String = value.to_string().chars().take(80).collect();
        Err(Refusal::Wrong { key: key.into(), value, expected: expected.into() })
    };
    fields.text("unique_id")?;
    fields.flag("retain", false)?;
    if let Some(icon) = fields.map.get("icon").filter(|icon| text_of(icon).is_none_or(|it| !it.contains(':')))
    {
        return wrong("icon", icon, "prefix:name");
    }
    if let Some(picture) =
        fields.map.get("entity_picture").filter(|picture| !is_url(picture, &["http", "https"]))
    {
        return wrong("entity_picture", picture, "an address of the web");
    }
    if let Some(device) = fields.map.get("device") {
        let Some(block) = device.as_object().filter(|block| device_id(block).is_some()) else {
            return wrong("device", device, "identifiers or connections");
        };
        let schemes = ["http", "https", "homeassistant"];
        if let Some(url) = block.get("configuration_url").filter(|url| !is_url(url, &schemes)) {
            return wrong("device.configuration_url", url, "an address");
        }
        let named =
            ["name", "manufacturer", "model", "model_id", "hw_version", "sw_version", "suggested_area"];
        if let Some(key) =
            named.into_iter().find(|key| block.get(*key).is_some_and(|it| text_of(it).is_none()))
        {
            return wrong(key, block.get(key).unwrap_or(&Value::Null), "text");
        }
    }
    match fields.map.get("origin") {
        Some(origin) if origin.get("name").and_then(text_of).is_none() => {
            wrong("origin", origin, "an object with a name")
        }
        Some(_) | None => Ok(()),
    }
}

fn is_url(value: &Value, schemes: &[&str]) -> bool {
    let parts = value.as_str().and_then(|url| url.split_once("://"));
    parts
        .is_some_and(|(scheme, rest)| schemes.contains(&scheme) && !rest.is_empty() && !rest.starts_with('/'))
}

/// `config` and `diagnostic` entities get no tools; neither do those that are off by default.
fn category(fields: Fields<'_>, component: &str) -> Result<Category, Refusal> {
    let enabled = fields.flag("enabled_by_default", true)?;
    let expected = "config or diagnostic (sensors have no config)";
    // Home Assistant refuses null; producers send it and mean nothing by it.
    let category = match fields.nullable("entity_category")?.flatten().as_deref() {
        None => Category::Main,
        Some("diagnostic") => Category::Diagnostic,
        Some("config") if !matches!(component, "sensor" | "binary_sensor") => Category::Config,
        Some(other) => {
            return Err(Refusal::Wrong {
                key: "entity_category".into(),
                value: other.into(),
                expected: expected.into(),
            });
        }
    };
    Ok(match category {
        Category::Main if !enabled => Category::Diagnostic,
        Category::Main if is_setting(fields, component) => Category::Config,
        category => category,
    })
}

/// Settings of radiators, plugs and switches that producers announce as if they were things of their own. They are no
/// tools, and the words in their names (a child lock, boost heating) say nothing about the house.
const SETTINGS: &[&str] = &["child_lock", "window_detection", "boost_heating", "heating_demand"];

fn is_setting(fields: Fields<'_>, component: &str) -> bool {
    let named = |key: &str| fields.map.get(key).and_then(text_of).map(|text| slug(&text)).unwrap_or_default();
    matches!(component, "number" | "select" | "switch")
        && ["name", "object_id", "default_entity_id"]
            .into_iter()
            .map(named)
            .any(|name| SETTINGS.iter().any(|setting| name.ends_with(setting)))
}

/// The device block, and the area that it suggests as an id.
fn device(block: Option<&Map<String, Value>>) -> (Option<Device>, Option<String>) {
    let Some(block) = block else { return (None, None) };
    let text =
        |key: &str| block.get(key).and_then(text_of).map(|text| clean(&text)).filter(|text| !text.is_empty());
    let area = text("suggested_area").map(|area| slug(&area)).filter(|area| !area.is_empty());
    let Some(id) = device_id(block) else { return (None, area) };
    let device = Device { id, name: text("name"), manufacturer: text("manufacturer"), model: text("model") };
    (Some(device), area)
}

/// The first identifier, else the first connection as `type:value`.
pub(super) fn device_id(block: &Map<String, Value>) -> Option<String> {
    let identifier = match block.get("identifiers") {
        Some(Value::Array(list)) => list.iter().find_map(text_of),
        Some(value) => text_of(value),
        None => None,
    };
    let connection = || {
        let pair = block.get("connections")?.as_array()?.first()?.as_array()?;
        Some(format!("{}:{}", pair.first().and_then(text_of)?, pair.get(1).and_then(text_of)?))
    };
    identifier.filter(|id| !id.is_empty()).or_else(connection)
}

/// Keys that name a topic to publish to and do not end in `command_topic`.
const PUBLISH_KEYS: &[&str] = &["set_position_topic", "set_fan_speed_topic", "send_command_topic"];

/// Further keys that decide what an action sends, or whether it does: where a position stands for open, which code
/// somebody must know.
const SENT_KEYS: &[&str] = &[
    "code",
    "code_arm_required",
    "code_disarm_required",
    "code_format",
    "code_trigger_required",
    "position_closed",
    "position_open",
    "reports_position",
    "tilt_closed_value",
    "tilt_max",
    "tilt_min",
    "tilt_opened_value",
];

fn is_published(key: &str) -> bool {
    key.ends_with("command_topic") || PUBLISH_KEYS.contains(&key)
}

fn publishes(map: &Map<String, Value>) -> Vec<String> {
    map.iter()
        .filter(|(key, _)| is_published(key))
        .filter_map(|(_, value)| value.as_str().map(str::to_owned))
        .collect()
}

/// A fingerprint of where actions go, what they say there and who may say it: topics, command templates, payloads,
/// positions, codes. It is taken of JSON, where no key or value can pass for another.
///
/// Payloads that only states have are in it too; that asks a person once too often rather than once too rarely.
fn surface(map: &Map<String, Value>) -> String {
    let sends = |key: &str| {
        let template = key.ends_with("_template") && (key.contains("command") || key.starts_with("set_"));
        let payload = key.starts_with("payload_") && !AVAILABILITY_PAYLOADS.contains(&key);
        is_published(key) || template || payload || SENT_KEYS.contains(&key)
    };
    let sent: BTreeMap<&String, &Value> = map.iter().filter(|(key, _)| sends(key)).collect();
    let digest = Sha256::digest(serde_json::to_vec(&sent).unwrap_or_default());
    digest.iter().take(SURFACE_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

const SURFACE_BYTES: usize = 16;

const AVAILABILITY_PAYLOADS: &[&str] = &["payload_available", "payload_not_available"];
