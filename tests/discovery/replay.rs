//! The recorded traffic of whole installations ends in the states that Home Assistant ended in.

use base64::Engine as _;
use serde_json::Value;

use super::data;
use super::expected::difference;
use super::world::{Seen, World};

/// Entities that end differently, with the reason: file and a part of the entity id.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "tasmota_native",
        "binary_sensor.door_reed",
        "the input's own report is read; Home Assistant asks for it first",
    ),
    ("device_discovery", "switch.mig_old", "nobody reported it: unknown, where Home Assistant restores off"),
    ("ha_core_tests", "device_tracker.phone", "coordinates are not compared with a zone"),
    (
        "esphome",
        "sensor.zima_water_flow",
        "nan is no measurement: unknown, where Home Assistant keeps the old one",
    ),
];

/// Differences by rule, which also hold for traffic that is not recorded here.
fn by_rule(world: &World, found: Option<&Seen>, last: &Value) -> bool {
    let id = last["entity_id"].as_str().unwrap();
    let announced = found.and_then(|seen| world.discovery.announcement(seen.entity.id.as_str()));
    // The time of the recording.
    let clock =
        announced.is_some_and(|(_, config)| Value::Object(config.clone()).to_string().contains("now()"));
    // A colour without a mode: Home Assistant shows nothing, we take the only mode that fits.
    let mode = last["attributes"]["color_mode"].as_str().unwrap_or("unknown");
    let no_color = last["attributes"].get("hs_color").is_some_and(Value::is_null);
    let color = id.starts_with("light.") && last["state"] == "on" && (mode == "unknown" || no_color);
    // Commands to bridges and gateways are refused (SAFETY T3).
    let reserved =
        found.is_none() && world.notes.iter().any(|note| note.contains("which no device may be given"));
    // Where a template of the latest version fails, Home Assistant shows the raw payload as a version.
    let raw = last["attributes"]["latest_version"].as_str().is_some_and(|version| version.starts_with('{'));
    clock || color || reserved || raw
}

/// The bytes of a recorded message.
pub fn payload(message: &Value) -> Vec<u8> {
    match (message["payload"].as_str(), message["payload_b64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        (None, None) => Vec::new(),
    }
}

/// The unique id of an entity's announcement.
pub fn unique_id(world: &World, id: &str) -> Option<String> {
    world.discovery.announcement(id)?.1.get("unique_id")?.as_str().map(str::to_owned)
}

#[test]
fn recorded_traffic_ends_in_home_assistants_states() {
    let Some(folder) = data::folder() else { return };
    let (mut wrong, mut total, mut excepted) = (Vec::new(), 0, 0);
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("replay")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let mut world = World::new();
        for message in data::lines(&format!("{name}.jsonl")) {
            let retained = message["retain"].as_bool().unwrap_or(false);
            world.live(message["topic"].as_str().unwrap(), &payload(&message), retained);
        }
        let (mut right, mut all) = (0, 0);
        for last in recorded["final"].as_array().unwrap() {
            let id = last["entity_id"].as_str().unwrap();
            // Without a state it is registered only: Home Assistant refused it.
            if matches!(id.split('.').next(), Some("zone" | "tag")) || last["state"].is_null() {
                continue;
            }
            all += 1;
            let unique = last["unique_id"].as_str();
            let domain = id.split('.').next().unwrap();
            let found = world.entities.values().find(|seen| {
                let own = seen.entity.id.as_str();
                seen.entity.id.domain().word() == domain
                    && match unique {
                        Some(unique) => unique_id(&world, own).as_deref() == Some(unique),
                        None => own == id,
                    }
            });
            let fault = match found {
                None => Some("is missing".to_owned()),
                Some(seen) => {
                    difference(seen, last["state"].as_str().unwrap(), last["attributes"].as_object().unwrap())
                }
            };
            match fault {
                None => right += 1,
                Some(_) if by_rule(&world, found, last) => excepted += 1,
                Some(_) if EXCEPTIONS.iter().any(|(file, part, _)| *file == name && id.contains(part)) => {
                    excepted += 1
                }
                Some(fault) => {
                    let notes: Vec<_> = world.notes.iter().filter(|_| found.is_none()).collect();
                    wrong.push(format!("{name} {id}: {fault} {notes:?}"));
                }
            }
        }
        println!("{name}: {right} of {all}");
        total += all;
    }
    println!(
        "{} of {total} final states right, {excepted} deliberately different",
        total - wrong.len() - excepted
    );
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
