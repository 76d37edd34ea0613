//! What is held of a gated entity at first sight: a changed announcement that would act in another way waits.

use std::sync::Arc;

use homeloop::devices::discovery::Settings;
use homeloop::home::{Action, Verb};
use serde_json::{Value, json};

use super::world::{World, settings};

/// Announces `first`, then the same with `changes`; says whether it may still act.
fn acts_after(component: &str, first: &Value, changes: &Value) -> bool {
    let mut world = World::with(Settings { gate: Arc::new(|_| true), ..settings() });
    let topic = format!("homeassistant/{component}/x/config");
    world.message(&topic, first.to_string().as_bytes(), true);
    let verbs = |world: &World| world.entities.values().map(|seen| seen.entity.actions.len()).sum::<usize>();
    assert!(verbs(&world) > 0, "{component}: {:?}", world.notes);
    let mut then = first.clone();
    for (key, value) in changes.as_object().unwrap() {
        match value.is_null() {
            true => then.as_object_mut().unwrap().remove(key),
            false => then.as_object_mut().unwrap().insert(key.clone(), value.clone()),
        };
    }
    world.message(&topic, then.to_string().as_bytes(), true);
    assert_eq!(world.entities.len(), 1, "{component}: {:?}", world.notes);
    verbs(&world) > 0
}

#[test]
fn an_alarm_or_a_lock_that_drops_its_code_waits_for_a_person() {
    let alarm = json!({"name": "A", "uniq_id": "a", "cmd_t": "a/set", "stat_t": "a", "code": "1234"});
    let lock = json!({"name": "L", "uniq_id": "l", "cmd_t": "l/set", "stat_t": "l", "cod_form": "^\\d{4}$"});
    for (component, first, changes, acts) in [
        ("alarm_control_panel", &alarm, json!({}), true),
        ("alarm_control_panel", &alarm, json!({"ic": "mdi:x"}), true),
        ("alarm_control_panel", &alarm, json!({"code": null}), false),
        ("alarm_control_panel", &alarm, json!({"code": "9999"}), false),
        ("alarm_control_panel", &alarm, json!({"cod_arm_req": false}), false),
        ("alarm_control_panel", &alarm, json!({"cod_dis_req": false}), false),
        ("alarm_control_panel", &alarm, json!({"cod_trig_req": false}), false),
        ("lock", &lock, json!({"cod_form": null}), false),
        ("lock", &lock, json!({"cod_form": ".*"}), false),
    ] {
        assert_eq!(acts_after(component, first, &changes), acts, "{component} {changes}");
    }
}

#[test]
fn no_key_passes_for_another() {
    let cover =
        json!({"name": "C", "uniq_id": "c", "cmd_t": "c/set", "payload_close": "A", "payload_open": "B"});
    let merged =
        json!({"payload_close": null, "payload_open": null, "payload_close=\"A\"\npayload_open": "B"});
    assert!(!acts_after("cover", &cover, &merged));
    let other_order =
        json!({"payload_close": "A", "payload_open": "B", "cmd_t": "c/set", "uniq_id": "c", "name": "C"});
    assert!(acts_after("cover", &cover, &other_order));
}

#[test]
fn pins_of_the_earlier_form_suspend_nobody() {
    let gated = || Settings { gate: Arc::new(|_| true), ..settings() };
    let config = json!({"name": "C", "uniq_id": "c", "cmd_t": "c/set"}).to_string();
    let mut world = World::with(gated());
    world.message("homeassistant/cover/c/config", config.as_bytes(), true);
    let mut pins = world.discovery.pins().clone();
    for pin in pins.0.values_mut() {
        assert_eq!(pin.surface.replace("0123456789abcdef".into()).map(|text| text.len()), Some(32));
    }
    let mut world = World::with(Settings { pins, ..gated() });
    world.message("homeassistant/cover/c/config", config.as_bytes(), true);
    assert_eq!(world.discovery.all_suspended(), []);
    let kept = world.discovery.pins().0.values().next().unwrap().surface.clone();
    assert_eq!(kept.map(|text| text.len()), Some(32), "it is pinned anew");
}

/// It would be a template that no pin holds.
#[test]
fn a_key_without_a_name_is_no_template() {
    let mut world = World::new();
    let config = json!({"name": "C", "cmd_t": "c/set", "": "{{ 'EVIL' }}"}).to_string();
    world.message("homeassistant/cover/c/config", config.as_bytes(), true);
    let seen = world.entities.values().next().unwrap();
    let sent = seen.codec.encode(&Action::new(seen.entity.id.clone(), Verb::Open), &seen.state).unwrap();
    assert_eq!(sent[0].payload, "OPEN");
}
