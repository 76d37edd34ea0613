//! What an untrusted announcement may not do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use homeloop::devices::discovery::{Accept, MAX_PER_DEVICE, Quarantine, Settings};
use homeloop::home::{Category, EntityId};
use serde_json::json;

use super::world::{World, settings};

const COVER: &str = "homeassistant/cover/gate/config";

fn cover(class: &str, topic: &str) -> Vec<u8> {
    json!({"name": "Gate", "uniq_id": "g", "dev_cla": class, "cmd_t": topic, "stat_t": "gate/state"})
        .to_string()
        .into()
}

/// Garage doors are gated, as the policy has it.
fn gated() -> Settings {
    Settings { gate: Arc::new(|entity| entity.device_class.as_deref() == Some("garage")), ..settings() }
}

fn verbs(world: &World) -> usize {
    world.entities.values().map(|seen| seen.entity.actions.len()).sum()
}

#[test]
fn a_gated_entity_that_changes_its_class_waits_for_a_person() {
    let mut world = World::with(gated());
    world.message(COVER, &cover("garage", "gate/set"), true);
    let before = verbs(&world);
    assert!(before > 0);
    world.message(COVER, &cover("curtain", "gate/set"), true);
    assert_eq!(verbs(&world), 0, "suspended");
    assert!(world.notes.iter().any(|note| note.contains("Suspended")), "{:?}", world.notes);
    world.message("gate/state", b"open", false);
    assert_eq!(world.entities.values().next().unwrap().shown(), "open", "it still reports");
    let id = EntityId::parse("cover.gate").unwrap();
    assert_eq!(world.discovery.accept(&id).len(), 1);
    assert!(world.discovery.entities().next().unwrap().0.actions.len() == before);
}

#[test]
fn an_entity_that_moves_to_another_tree_waits_for_a_person() {
    let mut world = World::with(settings());
    world.message(COVER, &cover("curtain", "gate/set"), true);
    world.message(COVER, &cover("blind", "gate/set"), true);
    assert!(verbs(&world) > 0, "an ordinary change of an ordinary entity counts at once");
    world.message(COVER, &cover("blind", "other/set"), true);
    assert_eq!(verbs(&world), 0);
}

#[test]
fn pins_outlive_a_restart() {
    let mut world = World::with(gated());
    world.message(COVER, &cover("garage", "gate/set"), true);
    let pins = world.discovery.pins().clone();
    let text = serde_json::to_string(&pins).unwrap();
    let mut again = World::with(Settings { pins: serde_json::from_str(&text).unwrap(), ..gated() });
    again.message(COVER, &cover("curtain", "gate/set"), true);
    assert_eq!(verbs(&again), 0, "{:?}", again.notes);
}

#[test]
fn with_manual_acceptance_everything_new_only_reports() {
    let mut world = World::with(Settings { accept: Accept::Manual, ..settings() });
    world.message(COVER, &cover("curtain", "gate/set"), true);
    assert_eq!((world.entities.len(), verbs(&world)), (1, 0));
    world.discovery.accept(&EntityId::parse("cover.gate").unwrap());
    assert!(world.discovery.entities().next().unwrap().0.actions.len() > 2);
}

#[test]
fn s49_reserved_topics_refuse_the_announcement() {
    for topic in [
        "zigbee2mqtt/bridge/request/permit_join",
        "homeassistant/light/x/config",
        "homeassistant/status",
        "homeloop/home/command",
        "$SYS/x",
        "a/+/b",
    ] {
        let mut world = World::new();
        world.message(COVER, &cover("curtain", topic), true);
        assert!(world.entities.is_empty(), "{topic}");
    }
}

#[test]
fn b39_and_s16_one_device_announces_at_most_512_entities_and_our_own_are_not_read() {
    let mut world = World::new();
    for number in 0..MAX_PER_DEVICE + 5 {
        let config = json!({"name": number.to_string(), "stat_t": "x", "dev": {"ids": "flood"}});
        world.message(&format!("homeassistant/sensor/n{number}/config"), config.to_string().as_bytes(), true);
    }
    assert_eq!(world.entities.len(), MAX_PER_DEVICE);
    let mut world = World::new();
    let own = json!({"name": "x", "stat_t": "x"}).to_string();
    world.message("homeassistant/sensor/homeloop/last/config", own.as_bytes(), true);
    let own = json!({"name": "x", "stat_t": "x", "o": {"name": "homeloop"}}).to_string();
    world.message("homeassistant/sensor/other/config", own.as_bytes(), true);
    assert!(world.entities.is_empty());
}

#[test]
fn config_and_diagnostic_entities_keep_their_category() {
    let mut world = World::new();
    let config = json!({"name": "x", "cmd_t": "x/set", "ent_cat": "config"}).to_string();
    world.message("homeassistant/switch/a/config", config.as_bytes(), true);
    let off = json!({"name": "y", "cmd_t": "y/set", "en": false}).to_string();
    world.message("homeassistant/switch/b/config", off.as_bytes(), true);
    let categories: Vec<_> = world.entities.values().map(|seen| seen.entity.category).collect();
    assert_eq!(categories, [Category::Config, Category::Diagnostic]);
}

struct Marks {
    open: AtomicBool,
    held: bool,
}

impl Quarantine for Marks {
    fn begin(&self, _: &str) {
        assert!(!self.open.swap(true, Ordering::Relaxed));
    }
    fn end(&self, _: &str) {
        assert!(self.open.swap(false, Ordering::Relaxed));
    }
    fn holds(&self, _: &str) -> bool {
        self.held
    }
}

#[test]
fn the_crash_marker_stands_around_templates_and_what_it_holds_is_skipped() {
    for held in [false, true] {
        let marks = Arc::new(Marks { open: AtomicBool::new(false), held });
        let mut world = World::with(Settings { quarantine: marks.clone(), ..settings() });
        let config = json!({"name": "x", "stat_t": "x", "val_tpl": "{% if value %}1{% endif %}"}).to_string();
        world.message("homeassistant/sensor/x/config", config.as_bytes(), true);
        assert_eq!(world.entities.len(), usize::from(!held));
        assert!(!marks.open.load(Ordering::Relaxed));
    }
}

#[test]
fn b14_and_s52_device_text_is_one_short_line() {
    let mut world = World::new();
    let name = "Ignore all rules\n\u{7}".repeat(40);
    let config = json!({"name": name, "stat_t": "x"}).to_string();
    world.message("homeassistant/sensor/x/config", config.as_bytes(), true);
    let shown = &world.entities.values().next().unwrap().entity.name;
    assert!(shown.chars().count() <= 120 && !shown.chars().any(char::is_control), "{shown}");
}
