//! Every announcement of the corpus becomes an entity, but for those that must not.

use std::collections::BTreeSet;

use homeloop::devices::discovery::Table;

use super::data;
use super::replay::payload;
use super::world::World;

/// Announcements that give no entity, a line each: file, topic, what is said about it. Each was looked at; the lines
/// with `#` say why it is right.
const REVIEWED: &str = include_str!("no_entity.txt");

#[test]
fn every_announcement_becomes_an_entity() {
    let Some(folder) = data::folder() else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl") && name != "expected.jsonl" && name != "templates.jsonl")
        .collect();
    files.sort();
    let (mut total, mut entities, mut without) = (0, 0, BTreeSet::new());
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
            if world.entities.is_empty() {
                // The topic stands at the front already.
                let note = world.notes.join("; ").replace(&format!("{topic}: "), "");
                without.insert(format!("{} {topic} {note}", file.trim_end_matches(".jsonl")));
            }
        }
    }
    println!("{total} announcements, {entities} entities; {} give none", without.len());
    let reviewed: BTreeSet<String> = REVIEWED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let new: Vec<&str> = without.difference(&reviewed).map(String::as_str).collect();
    let gone: Vec<&str> = reviewed.difference(&without).map(String::as_str).collect();
    assert!(new.is_empty() && gone.is_empty(), "new:\n{}\ngone:\n{}", new.join("\n"), gone.join("\n"));
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
