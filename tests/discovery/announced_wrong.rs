//! What is refused in an announcement, and what an entity without a name is called.

use serde_json::json;

use super::world::World;

/// Announcements that Home Assistant refuses, and their nearest neighbours that it takes.
#[test]
fn wrong_values_of_known_keys_refuse_an_announcement() {
    for (component, config, taken) in [
        ("sensor", json!({"stat_t": "s", "ic": "water"}), false),
        ("sensor", json!({"stat_t": "s", "ic": "mdi:water"}), true),
        ("sensor", json!({"stat_t": "s", "ent_pic": "no url"}), false),
        ("sensor", json!({"stat_t": "s", "dev": {"name": "nobody"}}), false),
        ("sensor", json!({"stat_t": "s", "dev": {"ids": "x", "name": null}}), false),
        ("sensor", json!({"stat_t": "s", "dev": {"ids": "x", "cu": "nowhere"}}), false),
        ("sensor", json!({"stat_t": "s", "dev": {"ids": "x", "cu": "http://x"}}), true),
        ("sensor", json!({"stat_t": "s", "o": {"sw": "1"}}), false),
        ("sensor", json!({"stat_t": "s", "uniq_id": null}), false),
        ("sensor", json!({"stat_t": "s", "exp_aft": -1}), false),
        ("sensor", json!({"stat_t": "s", "sug_dsp_prc": -1}), false),
        ("sensor", json!({"stat_t": "s", "qos": true}), true),
        ("sensor", json!({"stat_t": "s", "dev_cla": "enum", "ops": []}), false),
        ("sensor", json!({"stat_t": "s", "ops": ["a"]}), false),
        ("sensor", json!({"stat_t": "s", "dev_cla": "enum", "ops": ["a"], "unit_of_meas": "W"}), false),
        ("sensor", json!({"stat_t": "s", "stat_cla": "often"}), false),
        ("sensor", json!({"stat_t": "s", "dev_cla": "temperature", "unit_of_meas": ""}), true),
        ("switch", json!({"cmd_t": "c", "ret": "perhaps"}), false),
        ("light", json!({"cmd_t": "c", "bri_scl": 0}), false),
        ("light", json!({"cmd_t": "c", "schema": "json", "stat_val_tpl": "{{ broken"}), true),
        ("text", json!({"cmd_t": "c", "max": 256}), false),
        ("number", json!({"cmd_t": "c", "min": 5, "max": 5}), true),
        ("fan", json!({"cmd_t": "c", "pr_mode_cmd_t": "m"}), false),
        ("humidifier", json!({"cmd_t": "c", "hum_cmd_t": "h", "modes": ["a"]}), false),
        ("climate", json!({"pr_modes": ["a"]}), false),
        ("climate", json!({"temp_cmd_t": "t", "precision": 0.2}), false),
        ("cover", json!({"cmd_t": "c", "val_tpl": "{{ value }}"}), false),
        ("update", json!({"cmd_t": "c"}), false),
        ("scene", json!({"pl_on": "ON"}), false),
    ] {
        let mut world = World::new();
        let mut config = config;
        config["name"] = json!("X");
        world.message(&format!("homeassistant/{component}/x/config"), config.to_string().as_bytes(), true);
        assert_eq!(!world.entities.is_empty(), taken, "{component} {config}: {:?}", world.notes);
    }
}

#[test]
fn entities_without_a_name_are_called_as_in_home_assistant() {
    for (component, config, name) in [
        ("sensor", json!({"stat_t": "s", "dev_cla": "monetary"}), "Monetary balance"),
        ("sensor", json!({"stat_t": "s", "dev_cla": "enum"}), "MQTT Sensor"),
        ("binary_sensor", json!({"stat_t": "s", "dev_cla": "battery_charging"}), "Charging"),
        ("cover", json!({"cmd_t": "c", "dev_cla": "shutter"}), "MQTT Cover"),
        ("light", json!({"cmd_t": "c"}), "MQTT LightEntity"),
        ("light", json!({"cmd_t": "c", "schema": "json"}), "MQTT JSON Light"),
        ("climate", json!({"temp_cmd_t": "t"}), "MQTT HVAC"),
        ("vacuum", json!({"cmd_t": "c"}), "MQTT State Vacuum"),
        ("device_tracker", json!({"stat_t": "s", "dev": {"ids": "x", "name": "Phone"}}), "Phone"),
    ] {
        let mut world = World::new();
        world.message(&format!("homeassistant/{component}/x/config"), config.to_string().as_bytes(), true);
        let seen = world.entities.values().next().unwrap_or_else(|| panic!("{config}: {:?}", world.notes));
        assert_eq!(seen.entity.name, name, "{component} {config}");
    }
}
