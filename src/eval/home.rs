//! Homes of the data sets as a [`House`]: entities with the actions that their attributes allow.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::home::{
    ActionSpec, Area, Arg, ArgKind, ArgSpec, Availability, Category, Device, Domain, Entity, EntityId, Floor,
    House, Name, Places, Scene, Stamp, Update, Verb,
};

/// One line of a `*.homes.jsonl` file.
#[derive(Debug, Clone, Deserialize)]
pub struct HomeFile {
    pub id: String,
    #[serde(default)]
    pub floors: Vec<PlaceFile>,
    #[serde(default)]
    pub areas: Vec<PlaceFile>,
    #[serde(default)]
    pub devices: Vec<DeviceFile>,
    #[serde(default)]
    pub entities: Vec<EntityFile>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlaceFile {
    pub id: Option<String>,
    pub name: String,
    pub floor: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct DeviceFile {
    pub id: String,
    pub name: Option<String>,
    pub manufacturer: Option<String>,
    pub model: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct EntityFile {
    pub id: Option<String>,
    pub name: String,
    pub domain: Option<String>,
    pub area: Option<String>,
    pub device: Option<String>,
    #[serde(default)]
    pub state: Value,
    #[serde(default)]
    pub attributes: Map<String, Value>,
}

/// Builds the house with its start states, all reported at `now`.
pub fn house(file: &HomeFile, now: DateTime<Utc>) -> House {
    let mut places = Places::default();
    for (level, floor) in (0i8..).zip(&file.floors) {
        let id = floor.id.clone().unwrap_or_else(|| floor.name.clone());
        let place =
            Floor { id: id.clone(), name: floor.name.clone(), aliases: Vec::new(), level: Some(level) };
        places.floors.insert(id, place);
    }
    for area in &file.areas {
        let id = area.id.clone().unwrap_or_else(|| area.name.clone());
        let place =
            Area { id: id.clone(), name: area.name.clone(), aliases: Vec::new(), floor: area.floor.clone() };
        places.areas.insert(id, place);
    }
    let mut house = House::new(places);
    for (number, entity) in file.entities.iter().enumerate() {
        add(&mut house, file, entity, number, now);
    }
    house
}

fn add(house: &mut House, file: &HomeFile, entity: &EntityFile, number: usize, now: DateTime<Utc>) {
    let id = match &entity.id {
        Some(id) => EntityId::parse(id).ok(),
        None => None,
    };
    let domain = match &id {
        Some(id) if id.domain() != Domain::Other => id.domain(),
        Some(_) | None => domain(entity.domain.as_deref().unwrap_or("")),
    };
    let id = id
        .filter(|id| id.domain() != Domain::Other)
        .unwrap_or_else(|| EntityId::from_name(domain, &format!("{} {number}", entity.name)));
    let text = |name: &str| entity.attributes.get(name).and_then(Value::as_str).map(str::to_owned);
    let device = entity.device.as_ref().and_then(|id| file.devices.iter().find(|device| device.id == *id));
    let device_class = text("device_class").or_else(|| {
        // The words of home-llm for two kinds of covers.
        match entity.domain.as_deref() {
            Some("blinds") => Some("blind".to_owned()),
            Some("garage_door") => Some("garage".to_owned()),
            Some(_) | None => None,
        }
    });
    house.insert(Entity {
        id: id.clone(),
        name: entity.name.clone(),
        aliases: Vec::<Name>::new(),
        area: entity.area.clone(),
        device: device.map(|device| Device {
            id: device.id.clone(),
            name: device.name.clone(),
            manufacturer: device.manufacturer.clone(),
            model: device.model.clone(),
        }),
        device_class,
        category: Category::Main,
        unit: text("unit_of_measurement")
            .or_else(|| text("native_unit_of_measurement"))
            .or_else(|| text("unit")),
        actions: actions(domain, &entity.attributes),
        members: Vec::new(),
        reports_state: true,
        source: file.id.clone(),
    });
    set(house, &id, &entity.state, &entity.attributes, now);
}

/// Sets a state from the words of a data set; a state may be `{"in": …, "out": …}`.
pub fn set(
    house: &mut House,
    id: &EntityId,
    state: &Value,
    attributes: &Map<String, Value>,
    now: DateTime<Utc>,
) {
    let state = state.get("out").unwrap_or(state);
    let value = match state {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let mut update = Update { availability: Some(Availability::Online), ..Update::default() };
    if let Some(value) = value {
        update.value = Some(Some(value.into()));
    }
    for (name, value) in attributes {
        let known = matches!(name.as_str(), "supported_features" | "device_class" | "unit_of_measurement");
        if !known {
            update.attributes.push((name.clone().into(), (!value.is_null()).then(|| value.clone())));
        }
        // The data says the same in two words.
        if name == "target_temperature" && !attributes.contains_key("temperature") {
            update.attributes.push(("temperature".into(), Some(value.clone())));
        }
        if name == "native_value" && !value.is_null() {
            update.value = Some(Some(value.to_string().trim_matches('"').to_owned().into()));
        }
    }
    let stamp = Stamp { at: now, since_boot: Duration::from_secs(1), live: true, connection: 1, sequence: 0 };
    house.apply(id, &update, stamp);
}

fn domain(word: &str) -> Domain {
    match word {
        "blinds" | "garage_door" => Domain::Cover,
        other => Domain::from_word(other),
    }
}

fn number(min: f64, max: f64, step: f64) -> ArgKind {
    ArgKind::Number { min, max, step }
}

fn verbs(verbs: &[Verb]) -> Vec<ActionSpec> {
    verbs.iter().map(|verb| ActionSpec::new(*verb)).collect()
}

fn percent(verb: Verb, arg: Arg) -> ActionSpec {
    ActionSpec::new(verb).with(ArgSpec::required(arg, ArgKind::percent()))
}

/// What an entity of this domain can do, by its attributes; without a list of features it can do the usual.
pub fn actions(domain: Domain, attributes: &Map<String, Value>) -> Vec<ActionSpec> {
    let listed = attributes.get("supported_features").and_then(Value::as_array);
    let has =
        |feature: &str| listed.is_none_or(|list| list.iter().any(|value| value.as_str() == Some(feature)));
    match domain {
        Domain::Light => vec![light(attributes), ActionSpec::new(Verb::TurnOff)],
        Domain::Switch | Domain::Siren | Domain::Camera => verbs(&[Verb::TurnOn, Verb::TurnOff]),
        Domain::Fan => {
            let mut all = verbs(&[Verb::TurnOn, Verb::TurnOff]);
            if has("set_speed") {
                all.push(percent(Verb::SetPercentage, Arg::Percentage));
            }
            if has("oscillate") {
                all.push(
                    ActionSpec::new(Verb::Oscillate).with(ArgSpec::required(Arg::Oscillating, ArgKind::Bool)),
                );
            }
            all
        }
        Domain::Cover | Domain::Valve => {
            let mut all = verbs(&[Verb::Open, Verb::Close]);
            if has("stop") {
                all.push(ActionSpec::new(Verb::Stop));
            }
            let positioned = attributes.contains_key("current_position") || listed.is_some();
            if has("set_position") && positioned {
                all.push(percent(Verb::SetPosition, Arg::Position));
            }
            all
        }
        Domain::Lock => verbs(&[Verb::Lock, Verb::Unlock]),
        Domain::AlarmControlPanel => verbs(&[Verb::ArmAway, Verb::ArmHome, Verb::ArmNight, Verb::Disarm]),
        Domain::Climate => climate(attributes),
        Domain::Humidifier => {
            let mut all = verbs(&[Verb::TurnOn, Verb::TurnOff]);
            all.push(
                ActionSpec::new(Verb::SetHumidity)
                    .with(ArgSpec::required(Arg::Humidity, number(30.0, 80.0, 1.0))),
            );
            all
        }
        Domain::WaterHeater => {
            let mut all = verbs(&[Verb::TurnOn, Verb::TurnOff]);
            all.push(
                ActionSpec::new(Verb::SetTemperature)
                    .with(ArgSpec::required(Arg::Temperature, number(30.0, 65.0, 1.0))),
            );
            all
        }
        Domain::MediaPlayer => media(&has),
        Domain::Vacuum => {
            let mut all = Vec::new();
            for (feature, verb) in [
                ("start", Verb::Start),
                ("stop", Verb::Stop),
                ("pause", Verb::Pause),
                ("return_home", Verb::ReturnToBase),
            ] {
                if has(feature) {
                    all.push(ActionSpec::new(verb));
                }
            }
            all
        }
        Domain::LawnMower => verbs(&[Verb::StartMowing, Verb::Dock, Verb::Pause]),
        Domain::Scene => verbs(&[Verb::Activate]),
        Domain::Script => verbs(&[Verb::Run]),
        Domain::Button => verbs(&[Verb::Press]),
        Domain::Todo => [Verb::AddItem, Verb::CompleteItem, Verb::RemoveItem]
            .into_iter()
            .map(|verb| {
                ActionSpec::new(verb).with(ArgSpec::required(Arg::Item, ArgKind::Text { max_chars: 200 }))
            })
            .collect(),
        Domain::Number => {
            vec![ActionSpec::new(Verb::SetValue).with(ArgSpec::required(Arg::Value, number(0.0, 100.0, 1.0)))]
        }
        Domain::BinarySensor
        | Domain::Date
        | Domain::DateTime
        | Domain::DeviceTracker
        | Domain::Event
        | Domain::Image
        | Domain::Notify
        | Domain::Person
        | Domain::Select
        | Domain::Sensor
        | Domain::Tag
        | Domain::Text
        | Domain::Time
        | Domain::Timer
        | Domain::Update
        | Domain::Weather
        | Domain::Other => Vec::new(),
    }
}

fn light(attributes: &Map<String, Value>) -> ActionSpec {
    let flag = |name: &str| attributes.get(name).and_then(Value::as_bool).unwrap_or(false);
    let modes: Vec<&str> = attributes
        .get("supported_color_modes")
        .and_then(Value::as_array)
        .map(|modes| modes.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let color =
        flag("color") || modes.iter().any(|mode| matches!(*mode, "rgb" | "hs" | "xy" | "rgbw" | "rgbww"));
    let white = flag("color") || modes.contains(&"color_temp");
    let dims = flag("dimmable") || color || white || modes.iter().any(|mode| *mode != "onoff");
    let mut spec = ActionSpec::new(Verb::TurnOn);
    if dims {
        spec = spec.with(ArgSpec::optional(Arg::BrightnessPct, ArgKind::percent()));
    }
    if white {
        spec = spec.with(ArgSpec::optional(Arg::ColorTempKelvin, number(1500.0, 9000.0, 1.0)));
    }
    if color {
        spec = spec.with(ArgSpec::optional(Arg::RgbColor, ArgKind::Rgb));
    }
    spec
}

fn climate(attributes: &Map<String, Value>) -> Vec<ActionSpec> {
    let of = |name: &str| attributes.get(name).and_then(Value::as_f64);
    let fahrenheit = of("current_temperature").is_some_and(|degrees| degrees > 45.0);
    let (least, most) = if fahrenheit { (45.0, 95.0) } else { (7.0, 35.0) };
    let min = of("min_temp").unwrap_or(least);
    let max = of("max_temp").unwrap_or(most);
    let modes: Vec<String> = attributes
        .get("hvac_modes")
        .and_then(Value::as_array)
        .map(|modes| modes.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_else(|| ["off", "heat", "cool", "auto", "dry", "fan_only"].map(str::to_owned).to_vec());
    let mut all = verbs(&[Verb::TurnOn, Verb::TurnOff]);
    all.push(
        ActionSpec::new(Verb::SetTemperature)
            .with(ArgSpec::required(Arg::Temperature, number(min, max, 0.5))),
    );
    all.push(
        ActionSpec::new(Verb::SetHvacMode).with(ArgSpec::required(Arg::HvacMode, ArgKind::Choice(modes))),
    );
    let fans = ["auto", "low", "medium", "high"].map(str::to_owned).to_vec();
    all.push(ActionSpec::new(Verb::SetFanMode).with(ArgSpec::required(Arg::FanMode, ArgKind::Choice(fans))));
    all
}

fn media(has: &dyn Fn(&str) -> bool) -> Vec<ActionSpec> {
    let mut all = Vec::new();
    for (feature, list) in [
        ("turn_on", &[Verb::TurnOn][..]),
        ("turn_off", &[Verb::TurnOff]),
        ("play", &[Verb::Play]),
        ("pause", &[Verb::Pause]),
        ("stop", &[Verb::Stop]),
        ("next_track", &[Verb::NextTrack]),
        ("previous_track", &[Verb::PreviousTrack]),
        ("volume_mute", &[Verb::Mute, Verb::Unmute]),
        ("volume_step", &[Verb::VolumeUp, Verb::VolumeDown]),
    ] {
        if has(feature) {
            all.extend(verbs(list));
        }
    }
    if has("volume_set") {
        all.push(percent(Verb::SetVolume, Arg::VolumePct));
    }
    all
}

/// Scenes without steps, for homes that name them only.
pub fn named_scene(id: &str, name: &str) -> Scene {
    Scene {
        id: id.to_owned(),
        name: name.to_owned(),
        aliases: Vec::new(),
        steps: Vec::new(),
        waits_for_approval: false,
    }
}

/// Reads a `*.homes.jsonl` file by id.
///
/// # Errors
/// The first line that is not a home.
pub fn read(text: &str) -> Result<BTreeMap<String, HomeFile>, serde_json::Error> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str::<HomeFile>(line).map(|home| (home.id.clone(), home)))
        .collect()
}
