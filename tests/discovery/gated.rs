//! What of the recorded houses waits for a person, or is for nobody: every line was looked at.
//!
//! `gated.txt` beside this file names each such entity with the rows of the table that say so. A new line needs a
//! person's eye: an ordinary lamp, plug or radiator must not be among them.

use std::collections::{BTreeMap, BTreeSet};

use homeloop::home::{Action, Category, Domain, State};
use homeloop::policy::Tier;
use homeloop::policy::tier::classify;

use super::data;
use super::replay::payload;
use super::world::World;

const REVIEWED: &str = include_str!("gated.txt");

/// The rows that gate an entity, or `None` where everything that it does is done at once.
fn rows(seen: &super::world::Seen) -> Option<String> {
    let unknown = State::default();
    let mut rows = BTreeSet::new();
    for spec in &seen.entity.actions {
        let action = Action::new(seen.entity.id.clone(), spec.verb);
        let classified = classify(&action, &seen.entity, &unknown);
        if classified.tier >= Tier::Ask {
            let named = classified.rows.iter().map(|row| format!("{} {}", row.tier.word(), row.name));
            rows.extend(named);
            if classified.rows.is_empty() {
                rows.insert(format!("{} {} is not in the table", classified.tier.word(), spec.verb));
            }
        }
    }
    (!rows.is_empty()).then(|| rows.into_iter().collect::<Vec<_>>().join(", "))
}

#[test]
fn what_waits_for_a_person_was_reviewed() {
    let Some(folder) = data::folder() else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl") && name != "expected.jsonl" && name != "templates.jsonl")
        .collect();
    files.sort();
    let mut gated: BTreeMap<String, String> = BTreeMap::new();
    for file in &files {
        let mut world = World::new();
        for message in data::lines(file) {
            let retained = message["retain"].as_bool().unwrap_or(false);
            world.message(message["topic"].as_str().unwrap(), &payload(&message), retained);
            // What is announced later may be removed again: each is looked at when it comes.
            for seen in world.entities.values().filter(|seen| seen.entity.category == Category::Main) {
                if let Some(rows) = rows(seen) {
                    gated.insert(format!("{} {}", file.trim_end_matches(".jsonl"), seen.entity.id), rows);
                }
            }
        }
    }
    let found: BTreeSet<String> = gated.iter().map(|(entity, rows)| format!("{entity}: {rows}")).collect();
    let reviewed: BTreeSet<String> = REVIEWED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let new: Vec<&String> = found.difference(&reviewed).collect();
    let gone: Vec<&String> = reviewed.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "{} new:\n{}\n{} gone:\n{}",
        new.len(),
        new.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n"),
        gone.len(),
        gone.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n")
    );
    let comfort = [Domain::Light, Domain::Climate, Domain::Fan, Domain::Humidifier];
    for entity in gated.keys() {
        let domain = entity.split_once(' ').map_or("", |(_, id)| id).split('.').next().unwrap_or_default();
        assert!(
            !comfort.iter().any(|known| known.word() == domain),
            "{entity} is comfort, and waits for a person"
        );
    }
}
