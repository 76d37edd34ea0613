//! States and publishes of recorded cases are what Home Assistant showed and sent.

use homeloop::home::{Action, Domain, EntityId, Verb};
use serde_json::{Map, Value, json};

use super::data;
use super::world::{Seen, World};

/// Cases and steps that differ, with the reason. The step is its number from 0, or `*`.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("light_json_scale254", "13", "the message before it was lost in Home Assistant and is applied here"),
    ("light_tpl_generic", "5", "a colour temperature outside the announced range is refused, not sent"),
    ("tracker", "4", "coordinates are not compared with a zone"),
];

/// Attributes that are facts of the entity, not of its state, or older names of others.
const FACTS: &[&str] = &[
    "access_token",
    "assumed_state",
    "auto_update",
    "available_modes",
    "available_tones",
    "changed_by",
    "code_arm_required",
    "code_format",
    "color_temp",
    "device_class",
    "display_precision",
    "effect_list",
    "entity_picture",
    "event_types",
    "fan_modes",
    "fan_speed_list",
    "friendly_name",
    "hvac_modes",
    "icon",
    "max",
    "max_color_temp_kelvin",
    "max_humidity",
    "max_mireds",
    "max_temp",
    "min",
    "min_color_temp_kelvin",
    "min_humidity",
    "min_mireds",
    "min_temp",
    "mode_list",
    "operation_list",
    "options",
    "pattern",
    "percentage_step",
    "preset_modes",
    "skipped_version",
    "source_type",
    "state_class",
    "step",
    "supported_color_modes",
    "supported_features",
    "swing_horizontal_modes",
    "swing_modes",
    "target_temp_step",
    "unit_of_measurement",
];

/// A service call as one of our actions.
fn action(id: &EntityId, seen: &Seen, call: &str, data: &Map<String, Value>) -> Result<Action, String> {
    let (domain, service) = call.split_once('.').unwrap();
    let verb = match service {
        "turn_on" if domain == "scene" => Verb::Activate,
        "open_cover" | "open_valve" => Verb::Open,
        "close_cover" | "close_valve" => Verb::Close,
        "stop_cover" | "stop_valve" => Verb::Stop,
        "set_cover_position" | "set_valve_position" => Verb::SetPosition,
        "open_cover_tilt" => Verb::OpenTilt,
        "close_cover_tilt" => Verb::CloseTilt,
        "stop_cover_tilt" => Verb::StopTilt,
        "set_cover_tilt_position" => Verb::SetTiltPosition,
        "set_operation_mode" => Verb::SetMode,
        "alarm_trigger" => Verb::Trigger,
        "increase_speed" | "decrease_speed" => Verb::SetPercentage,
        other => Verb::from_word(other.strip_prefix("alarm_").unwrap_or(other))
            .ok_or(format!("no verb {other}"))?,
    };
    let mut args = Map::new();
    for (name, value) in data {
        let (name, value) = match name.as_str() {
            "brightness" => ("brightness_pct", json!(value.as_f64().unwrap() / 255.0 * 100.0)),
            "volume_level" => ("volume_pct", json!(value.as_f64().unwrap() * 100.0)),
            "operation_mode" => ("mode", value.clone()),
            "params" => ("params", json!(value.to_string())),
            name => (name, value.clone()),
        };
        args.insert(name.into(), value);
    }
    if service == "increase_speed" || service == "decrease_speed" {
        let spec = seen.entity.action(verb).and_then(|spec| spec.args.first()).ok_or("no speed")?;
        let homeloop::home::ArgKind::Number { step, .. } = spec.kind else { return Err("no speed".into()) };
        let now = seen.state.attribute_number("percentage").unwrap_or(0.0);
        let sign = if service == "increase_speed" { 1.0 } else { -1.0 };
        args.insert("percentage".into(), json!((now + sign * step).clamp(0.0, 100.0)));
    }
    let spec = seen.entity.action(verb).ok_or_else(|| format!("not offered: {verb}"))?;
    let args = spec.check(&args).map_err(|error| error.to_string())?;
    Ok(Action { entity: id.clone(), verb, args })
}

/// What differs between our state and the recorded one.
pub fn difference(seen: &Seen, state: &str, attributes: &Map<String, Value>) -> Option<String> {
    let shown = seen.shown();
    let timed = matches!(seen.entity.domain().word(), "event" | "scene" | "button" | "image" | "notify");
    if !timed && shown != state {
        return Some(format!("state {shown:?}, not {state:?}"));
    }
    if state == "unavailable" {
        return None;
    }
    for (name, value) in attributes {
        let ours = seen.state.attributes.get(name.as_str()).unwrap_or(&Value::Null);
        let fact =
            FACTS.contains(&name.as_str()) || name == "mode" && seen.entity.domain() != Domain::Humidifier;
        let fact = fact || name == "in_progress" && value == false && ours.is_null();
        if !fact && !same(ours, value) {
            return Some(format!("{name} {ours}, not {value}"));
        }
    }
    let extra = seen.state.attributes.iter().find(|(name, _)| {
        !attributes.contains_key(name.as_ref())
            && !FACTS.contains(&name.as_ref())
            && !matches!(name.as_ref(), "occurrences" | "battery_level" | "mode")
    });
    extra.map(|(name, value)| format!("{name} {value}, not absent"))
}

/// Equal as numbers or as JSON.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        _ => match (ours.as_f64(), theirs.as_f64()) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() < 1e-9,
            _ => ours == theirs,
        },
    }
}

/// Runs one step; what is wrong with it, or `None`.
fn step(world: &mut World, step: &Value) -> Option<String> {
    if let Some(message) = step.get("recv") {
        let topic = message["topic"].as_str().unwrap();
        let payload = message["payload"].as_str().unwrap_or_default();
        world.message(topic, payload.as_bytes(), message["retain"].as_bool().unwrap_or(false));
        let seen = world.entities.values().next()?;
        return difference(seen, step["state"].as_str().unwrap(), step["attributes"].as_object().unwrap());
    }
    let call = step["call"].as_str().unwrap();
    let (id, seen) = world.entities.iter().next()?;
    let id = id.clone();
    // How Home Assistant's publishes are ours: a quality of service of 0 becomes 1, and nothing is retained, whatever the
    // announcement says: a command that a broker keeps would be acted on again after a restart.
    let expected: Vec<Value> = step["publish"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sent| json!([sent[0], sent[1], sent[2].as_u64().unwrap().max(1)]))
        .collect();
    let performed = action(&id, seen, call, step["data"].as_object().unwrap()).and_then(|action| {
        if seen.shown() == "unavailable" {
            return Err("unavailable".into());
        }
        let messages = seen.codec.encode(&action, &seen.state).map_err(|error| error.to_string())?;
        Ok((messages, seen.codec.assume(&action, &seen.state)))
    });
    let (sent, why) = match performed {
        Ok((messages, assumed)) => {
            if let Some(update) = assumed {
                world.assume(&id, &update);
            }
            (messages.iter().map(|m| json!([m.topic, m.payload, m.qos])).collect(), String::new())
        }
        Err(why) => (Vec::new(), why),
    };
    if sent != expected {
        return Some(format!("sent {}, not {} {why}", json!(sent), json!(expected)));
    }
    let seen = world.entities.get(&id)?;
    let after = step["state_after"].as_str().unwrap();
    let timed = after.contains("T") && after.contains(":");
    (!timed && seen.shown() != after).then(|| format!("then state {:?}, not {after:?}", seen.shown()))
}

#[test]
fn recorded_cases_give_home_assistants_states_and_publishes() {
    let cases = data::lines("expected.jsonl");
    let (mut wrong, mut excepted, mut steps) = (Vec::new(), 0, 0);
    for case in &cases {
        let name = case["id"].as_str().unwrap();
        let mut world = World::new();
        let discovery = &case["discovery"];
        world.message(
            discovery["topic"].as_str().unwrap(),
            discovery["payload"].as_str().unwrap().as_bytes(),
            true,
        );
        let accepted = case["accepted"].as_bool().unwrap();
        if accepted != (world.entities.len() == 1) {
            wrong.push(format!("{name}: {:?}", world.notes));
            continue;
        }
        for (number, recorded) in case["steps"].as_array().unwrap().iter().enumerate() {
            steps += 1;
            let fault = step(&mut world, recorded);
            let known = EXCEPTIONS
                .iter()
                .any(|(case, at, _)| *case == name && (*at == "*" || *at == number.to_string()));
            match (fault, known || recorded.get("ha_exception").is_some()) {
                (None, _) => {}
                (Some(_), true) => excepted += 1,
                (Some(fault), false) => wrong.push(format!("{name} step {number}: {fault}")),
            }
        }
    }
    println!(
        "{} cases, {steps} steps: {} right, {excepted} deliberately different, {} wrong",
        cases.len(),
        steps - excepted - wrong.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Names and ids are Home Assistant's, but for a device name that an entity name repeats: that is shown once.
#[test]
fn recorded_cases_have_home_assistants_ids_and_names() {
    let mut wrong = Vec::new();
    for case in data::lines("expected.jsonl") {
        let Some(id) = case["entity_id"].as_str() else { continue };
        let mut world = World::new();
        let discovery = &case["discovery"];
        world.message(
            discovery["topic"].as_str().unwrap(),
            discovery["payload"].as_str().unwrap().as_bytes(),
            true,
        );
        let Some(seen) = world.entities.values().next() else { continue };
        let name = case["initial"]["attributes"]["friendly_name"].as_str().unwrap_or_default();
        let ours = &seen.entity.name;
        if seen.entity.id.as_str() != id {
            wrong.push(format!("{}, not {id}", seen.entity.id));
        }
        if ours != name && !name.ends_with(ours.as_str()) {
            wrong.push(format!("{ours:?}, not {name:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
