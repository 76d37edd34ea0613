//! Every announcement of the corpus becomes an entity, but for those that must not.

use std::collections::BTreeMap;

use homeloop::devices::discovery::Table;

use super::data;
use super::replay::payload;
use super::world::World;

/// Why an announcement may give no entity: a part of the note, and the reason.
const REASONS: &[(&str, &str)] = &[
    ("a trigger: known, and no entity", "device triggers and tags are no entities"),
    ("which no device may be given", "it would command a bridge or gateway (SAFETY T3)"),
    ("sensors have no config", "Home Assistant refuses it too"),
];

/// Single announcements that are broken on purpose.
const BROKEN: &[&str] = &[
    // A base topic beside the components of a device message.
    "homeassistant/device/node1/obj1/config",
    // A trailing comma: no JSON.
    "homeassistant/sensor/tiltbridge_tilt_BlackT/config",
];

#[test]
fn every_announcement_becomes_an_entity() {
    let Some(folder) = data::folder() else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl") && name != "expected.jsonl" && name != "templates.jsonl")
        .collect();
    files.sort();
    let (mut total, mut entities, mut wrong) = (0, 0, Vec::new());
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        for message in data::lines(&file) {
            let topic = message["topic"].as_str().unwrap();
            let payload = payload(&message);
            if message["kind"] != "discovery" || payload.is_empty() || !topic.starts_with("homeassistant/") {
                continue;
            }
            if payload == br#"{"migrate_discovery":true}"# {
                continue;
            }
            total += 1;
            let mut world = World::new();
            world.message(topic, &payload, true);
            entities += world.entities.len();
            if !world.entities.is_empty() {
                continue;
            }
            let note = world.notes.join("; ");
            match REASONS.iter().find(|(part, _)| note.contains(part)) {
                Some((_, reason)) => *reasons.entry(reason).or_default() += 1,
                None if BROKEN.contains(&topic) => *reasons.entry("broken on purpose").or_default() += 1,
                None => wrong.push(format!("{file} {topic}: {note}")),
            }
        }
    }
    println!("{total} announcements, {entities} entities; without one: {reasons:?}");
    assert!(wrong.is_empty(), "{} without an entity:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_short_names_are_the_protocols() {
    let Some(folder) = data::folder() else { return };
    let text = std::fs::read_to_string(folder.join("abbreviations.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (table, name) in [(Table::Entity, "entity"), (Table::Device, "device"), (Table::Origin, "origin")] {
        for (short, full) in known[name].as_object().unwrap() {
            assert_eq!(table.full(short), full.as_str(), "{name} {short}");
        }
    }
}
