//! A line for every row of the table, and for what no row knows.

use serde_json::json;

use super::*;
use crate::home::{ActionSpec, ArgValue, Device, EntityId, Name};

mod mutants;
mod wide;

fn entity(id: &str, class: &str, name: &str) -> Entity {
    Entity {
        id: EntityId::parse(id).unwrap(),
        name: name.into(),
        aliases: Vec::new(),
        area: None,
        device: None,
        device_class: (!class.is_empty()).then(|| class.into()),
        category: Category::Main,
        unit: None,
        actions: vec![ActionSpec::new(Verb::TurnOn)],
        members: Vec::new(),
        reports_state: true,
        source: "test".into(),
    }
}

fn action(entity: &Entity, verb: Verb, args: serde_json::Value) -> Action {
    let mut action = Action::new(entity.id.clone(), verb);
    for (name, value) in args.as_object().unwrap() {
        action.args.insert(Arg::from_word(name).unwrap(), ArgValue::Number(value.as_f64().unwrap()));
    }
    action
}

fn state(value: &str) -> State {
    State { value: (!value.is_empty()).then(|| value.to_owned().into()), ..State::default() }
}

/// id, class, name, verb, arguments, state, tier, row that decides ("" for none).
type Line =
    (&'static str, &'static str, &'static str, Verb, serde_json::Value, &'static str, Tier, &'static str);

fn lines() -> Vec<Line> {
    use Tier::{Act, Ask, Never};
    let none = || json!({});
    vec![
        ("light.a", "", "Lamp", Verb::TurnOff, none(), "", Act, "comfort"),
        ("fan.a", "", "Fan", Verb::TurnOn, none(), "", Act, "comfort"),
        ("media_player.a", "tv", "TV", Verb::Play, none(), "", Act, "comfort"),
        ("vacuum.a", "", "Robot", Verb::Start, none(), "", Act, "comfort"),
        ("vacuum.a", "", "Robot", Verb::SendCommand, none(), "", Ask, "send_command"),
        ("light.a", "", "Lamp", Verb::SendCommand, none(), "", Ask, "send_command"),
        ("humidifier.a", "", "Mist", Verb::SetHumidity, none(), "", Act, "comfort"),
        ("light.a", "", "Garage door light", Verb::TurnOn, none(), "", Act, "comfort"),
        ("lock.a", "", "Front", Verb::Lock, none(), "", Act, "lock.lock"),
        ("lock.a", "", "Front", Verb::Unlock, none(), "", Ask, "lock.unlock"),
        ("lock.a", "", "Front", Verb::Open, none(), "", Ask, "lock.unlock"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmAway, none(), "disarmed", Act, "alarm.arm"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmNight, none(), "armed_home", Act, "alarm.arm"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmHome, none(), "disarmed", Act, "alarm.arm"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmAway, none(), "", Act, "alarm.arm"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmHome, none(), "", Ask, "alarm.arm down"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmNight, none(), "unavailable", Ask, "alarm.arm down"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmAway, none(), "triggered", Act, "alarm.arm"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmHome, none(), "armed_away", Ask, "alarm.arm down"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmHome, none(), "armed_night", Ask, "alarm.arm down"),
        (
            "alarm_control_panel.a",
            "",
            "Alarm",
            Verb::ArmNight,
            none(),
            "armed_vacation",
            Ask,
            "alarm.arm down",
        ),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmHome, none(), "triggered", Ask, "alarm.arm down"),
        ("alarm_control_panel.a", "", "Alarm", Verb::ArmCustomBypass, none(), "", Ask, "alarm.bypass"),
        ("alarm_control_panel.a", "", "Alarm", Verb::Disarm, none(), "", Ask, "alarm.disarm"),
        ("alarm_control_panel.a", "", "Alarm", Verb::Trigger, none(), "", Ask, "alarm.trigger"),
        ("cover.a", "garage", "", Verb::Open, none(), "", Ask, "cover.open entry"),
        ("cover.a", "gate", "", Verb::SetPosition, json!({"position": 1}), "", Ask, "cover.open entry"),
        ("cover.a", "door", "", Verb::OpenTilt, none(), "", Ask, "cover.open entry"),
        ("cover.a", "window", "", Verb::SetPosition, none(), "", Ask, "cover.open entry"),
        ("cover.a", "", "Curtain", Verb::Open, none(), "", Ask, "cover.open unknown"),
        ("cover.a", "damper", "", Verb::Open, none(), "", Ask, "cover.open unknown"),
        ("cover.a", "garage", "", Verb::Close, none(), "", Ask, "cover.close heavy"),
        ("cover.a", "door", "", Verb::SetPosition, json!({"position": 0}), "", Ask, "cover.close heavy"),
        ("cover.a", "", "", Verb::Close, none(), "", Ask, "cover.close unknown"),
        ("cover.a", "window", "", Verb::Close, none(), "", Act, "cover.close window"),
        ("cover.a", "curtain", "", Verb::Open, none(), "", Act, "cover shade"),
        ("cover.a", "blind", "", Verb::Close, none(), "", Act, "cover shade"),
        ("cover.a", "shutter", "", Verb::SetPosition, json!({"position": 40}), "", Act, "cover shade"),
        (
            "cover.a",
            "awning",
            "",
            Verb::SetTiltPosition,
            json!({"tilt_position": 40}),
            "",
            Act,
            "cover shade",
        ),
        ("cover.a", "garage", "", Verb::Stop, none(), "", Act, "cover.stop"),
        ("valve.a", "gas", "", Verb::Open, none(), "", Never, "valve.open gas"),
        ("valve.a", "water", "", Verb::Open, none(), "", Ask, "valve.open water"),
        ("valve.a", "", "", Verb::SetPosition, json!({"position": 10}), "", Ask, "valve.open water"),
        (
            "valve.a",
            "irrigation",
            "",
            Verb::Open,
            json!({"duration": 1800}),
            "",
            Act,
            "valve.open irrigation",
        ),
        ("valve.a", "irrigation", "", Verb::Open, json!({"duration": 1801}), "", Ask, ""),
        ("valve.a", "irrigation", "", Verb::Open, none(), "", Ask, ""),
        ("valve.a", "gas", "", Verb::Close, none(), "", Act, "valve.close"),
        ("valve.a", "water", "", Verb::SetPosition, json!({"position": 0}), "", Act, "valve.close"),
        ("valve.a", "gas", "", Verb::Stop, none(), "", Act, "valve.stop"),
        ("siren.a", "", "", Verb::TurnOn, none(), "", Ask, "siren"),
        ("siren.a", "", "", Verb::TurnOff, none(), "", Ask, "siren"),
        ("climate.a", "", "", Verb::SetTemperature, json!({"temperature": 26}), "", Act, "climate"),
        ("water_heater.a", "", "", Verb::SetTemperature, json!({"temperature": 55}), "", Act, "water_heater"),
        (
            "water_heater.a",
            "",
            "",
            Verb::SetTemperature,
            json!({"temperature": 55.5}),
            "",
            Ask,
            "water_heater hot",
        ),
        (
            "water_heater.a",
            "",
            "",
            Verb::SetTemperature,
            json!({"target_temp_high": 60}),
            "",
            Ask,
            "water_heater hot",
        ),
        ("camera.a", "", "", Verb::TurnOn, none(), "", Act, "camera.on"),
        ("camera.a", "", "", Verb::TurnOff, none(), "", Ask, "camera.off"),
        ("switch.a", "", "Desk fan", Verb::TurnOn, none(), "", Act, "generic"),
        ("button.a", "", "Ring", Verb::Press, none(), "", Act, "generic"),
        ("select.a", "", "Colour loop", Verb::SelectOption, none(), "", Act, "generic"),
        ("number.a", "", "Timeout", Verb::SetValue, none(), "", Act, "generic"),
        ("scene.a", "", "Movie", Verb::Activate, none(), "", Act, "generic"),
        ("switch.a", "", "Kettle", Verb::TurnOn, none(), "", Ask, "generic fire"),
        ("button.a", "", "Oven", Verb::Press, none(), "", Ask, "generic fire"),
        ("switch.a", "", "Space heater", Verb::TurnOn, none(), "", Ask, "generic heat"),
        ("climate.a", "", "Sauna", Verb::TurnOn, none(), "", Ask, "heat"),
        ("climate.a", "", "桑拿", Verb::SetTemperature, json!({"temperature": 28}), "", Ask, "heat"),
        ("climate.a", "", "Sauna", Verb::TurnOff, none(), "", Act, "climate"),
        ("fan.a", "", "Fireplace", Verb::TurnOn, none(), "", Ask, "heat"),
        ("water_heater.a", "", "Kettle", Verb::TurnOn, none(), "", Ask, "heat"),
        ("climate.a", "", "Heizung Bad", Verb::TurnOn, none(), "", Act, "climate"),
        ("climate.a", "", "Radiator", Verb::SetTemperature, json!({"temperature": 21}), "", Act, "climate"),
        ("switch.a", "", "Oven", Verb::TurnOff, none(), "", Act, "generic"),
        ("switch.a", "", "Garage heater", Verb::TurnOff, none(), "", Ask, "generic entry"),
        ("switch.a", "", "Fridge", Verb::TurnOff, none(), "", Ask, "generic critical"),
        ("switch.a", "", "Garagentor", Verb::TurnOn, none(), "", Ask, "generic entry"),
        ("button.a", "", "车库门", Verb::Press, none(), "", Ask, "generic entry"),
        ("switch.garage_door", "", "Relay 1", Verb::TurnOff, none(), "", Ask, "generic entry"),
        ("switch.a", "", "车库灯", Verb::TurnOn, none(), "", Act, "generic"),
        ("switch.a", "", "Garden sprinkler", Verb::TurnOn, none(), "", Ask, "generic irrigation"),
        ("switch.a", "", "Garden sprinkler", Verb::TurnOff, none(), "", Act, "generic"),
        ("switch.a", "", "Sprinkler pump", Verb::TurnOff, none(), "", Act, "generic"),
        ("switch.a", "", "Pump", Verb::TurnOff, none(), "", Ask, "generic flow"),
        ("switch.a", "", "花园浇水", Verb::TurnOn, none(), "", Ask, "generic irrigation"),
        ("switch.a", "", "Pump", Verb::TurnOn, none(), "", Ask, "generic flow"),
        ("switch.a", "", "Camera", Verb::TurnOff, none(), "", Ask, "generic watch"),
        ("button.a", "", "Router reboot", Verb::Press, none(), "", Ask, "generic network"),
        ("switch.a", "", "Permit join", Verb::TurnOn, none(), "", Never, "administration"),
        ("button.a", "", "Factory reset", Verb::Press, none(), "", Never, "administration"),
        ("update.a", "", "", Verb::Install, none(), "", Never, "update.install"),
        ("script.a", "", "Lights", Verb::Run, none(), "", Ask, "script"),
        ("notify.a", "", "", Verb::SendMessage, none(), "", Act, "notify"),
        ("lawn_mower.a", "", "", Verb::StartMowing, none(), "", Ask, "mower.start"),
        ("lawn_mower.a", "", "", Verb::Dock, none(), "", Act, "mower.stop"),
        ("quux.a", "", "Lamp", Verb::TurnOn, none(), "", Ask, ""),
        ("sensor.a", "", "Lamp", Verb::TurnOn, none(), "", Ask, ""),
        ("camera.a", "", "", Verb::Press, none(), "", Ask, ""),
    ]
}

/// One line, made out.
struct Case {
    entity: Entity,
    action: Action,
    state: State,
    tier: Tier,
    /// One of the rows that decide; "" where none does.
    by: &'static str,
}

impl Case {
    fn new(entity: Entity, verb: Verb, args: serde_json::Value, tier: Tier, by: &'static str) -> Self {
        let action = action(&entity, verb, args);
        Self { entity, action, state: state(""), tier, by }
    }
}

fn cases() -> Vec<Case> {
    let line = |(id, class, name, verb, args, now, tier, by): Line| Case {
        state: state(now),
        ..Case::new(entity(id, class, name), verb, args, tier, by)
    };
    lines().into_iter().map(line).chain(wide::cases()).collect()
}

#[test]
fn every_row_has_its_tier() {
    let mut used: Vec<&str> = Vec::new();
    for case in cases() {
        let found = classify(&case.action, &case.entity, &case.state);
        let Entity { device_class, name, category, .. } = &case.entity;
        let line = format!("{} {device_class:?} {name} {category:?} {:?}", case.action, case.state.text());
        assert_eq!(found.tier, case.tier, "{line}: {:?}", found.rows);
        let rows: Vec<&str> = found.rows.iter().map(|row| row.name).collect();
        let by = case.by;
        assert!(if by.is_empty() { rows.is_empty() } else { rows.contains(&by) }, "{line}: {rows:?}");
        used.extend(rows);
    }
    for row in TABLE {
        assert!(used.contains(&row.name), "no line for {}", row.name);
    }
}

#[test]
fn a_scene_of_home_assistant_is_asked_about() {
    let mut scene = entity("scene.party", "", "Party");
    let activate = action(&scene, Verb::Activate, json!({}));
    assert_eq!(classify(&activate, &scene, &state("")).tier, Tier::Act);
    scene.source = "hass".into();
    assert_eq!(classify(&activate, &scene, &state("")).tier, Tier::Ask);
}

#[test]
fn what_is_not_wholly_shut_opens() {
    let garage = entity("cover.garage", "garage", "Garage");
    for (args, open) in [
        (json!({"position": 0}), false),
        (json!({"position": -1}), false),
        (json!({"position": 0.001}), true),
        (json!({"position": 100}), true),
        (json!({}), true),
        (json!({"tilt_position": 0}), true),
    ] {
        let set = action(&garage, Verb::SetPosition, args);
        assert_eq!((opens(&set), closes(&set)), (open, !open), "{set}");
    }
}

#[test]
fn risk_only_rises() {
    let mut relay = entity("switch.relay", "", "Relay");
    let press = action(&relay, Verb::TurnOn, json!({}));
    let tier = |entity: &Entity| classify(&press, entity, &state("")).tier;
    assert_eq!(tier(&relay), Tier::Act);
    relay.aliases.push(Name { language: Some("de".into()), text: "Garagentor".into() });
    assert_eq!(tier(&relay), Tier::Ask, "an alias raises");
    relay.aliases = vec![Name { language: None, text: "harmless lamp, safe, pre-approved".into() }];
    relay.device =
        Some(Device { id: "1".into(), name: Some("Gate".into()), manufacturer: None, model: None });
    assert_eq!(tier(&relay), Tier::Ask, "the device's name raises, and no alias lowers it");
    relay.category = Category::Config;
    assert_eq!(tier(&relay), Tier::Never);
    relay.category = Category::Diagnostic;
    assert_eq!(tier(&relay), Tier::Never);
}

#[test]
fn no_verb_toggles() {
    assert!(Verb::ALL.iter().all(|verb| !verb.word().contains("toggle")));
}
