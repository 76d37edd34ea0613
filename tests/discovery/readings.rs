//! Readings of sensors: classes in any case, and payloads that are bytes.

use serde_json::json;

use super::world::World;

#[test]
fn a_class_counts_in_any_case() {
    let mut world = World::new();
    let sensor = |object: &str, config: serde_json::Value| {
        (format!("homeassistant/sensor/{object}/config"), config.to_string())
    };
    for (topic, config) in [
        sensor("f", json!({"name": "F", "stat_t": "f", "dev_cla": "Temperature", "unit_of_meas": "°F"})),
        sensor("t", json!({"name": "T", "stat_t": "t", "dev_cla": "TIMESTAMP"})),
        sensor("e", json!({"name": "E", "stat_t": "e", "dev_cla": "Enum", "ops": ["a"]})),
        sensor("w", json!({"name": "W", "stat_t": "w", "dev_cla": "Temperature", "unit_of_meas": "ppm"})),
    ] {
        world.message(&topic, config.as_bytes(), true);
    }
    for (topic, payload) in [("f", "212"), ("t", "2026-01-02T03:04:05Z"), ("e", "a")] {
        world.message(topic, payload.as_bytes(), false);
    }
    let shown: Vec<(String, Option<&str>)> =
        world.entities.values().map(|seen| (seen.shown(), seen.entity.unit.as_deref())).collect();
    assert_eq!(
        shown,
        [("a".into(), None), ("100.0".into(), Some("°C")), ("2026-01-02T03:04:05+00:00".into(), None)]
    );
    assert!(world.notes.iter().any(|note| note.contains("unit of temperature")), "{:?}", world.notes);
}

#[test]
fn without_an_encoding_templates_read_bytes() {
    let mut world = World::new();
    for (object, template) in [("a", "{{ value | unpack('>H') }}"), ("b", "{{ value.hex() }}")] {
        let config = json!({"name": object, "stat_t": "raw", "e": "", "val_tpl": template});
        world.message(&format!("homeassistant/sensor/{object}/config"), config.to_string().as_bytes(), true);
    }
    let text = json!({"name": "c", "stat_t": "raw", "val_tpl": "{{ value[0] }}"});
    world.message("homeassistant/sensor/c/config", text.to_string().as_bytes(), true);
    world.message("raw", &[0xff, 0x02], false);
    let shown: Vec<String> = world.entities.values().map(|seen| seen.shown()).collect();
    assert_eq!(shown, ["65282", "ff02", "unknown"], "{:?}", world.notes);
}
