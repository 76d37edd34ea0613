//! homeloop as a device of Home Assistant: one message of MQTT discovery with everything that it shows.
//!
//! Built from our topics alone, so it is the same after every start. Approvals are an event and a sensor and never a
//! switch or a button: who sees them in Home Assistant decides elsewhere, with a credential of their own. Nothing
//! here publishes.

use serde_json::{Map, Value, json};

use super::topics::Topics;

/// Longest state that Home Assistant keeps, in characters.
pub const LONGEST_STATE: usize = 255;

/// What an approval may become, as types of the event entity.
pub const APPROVAL_EVENTS: [&str; 6] = ["asked", "approved", "denied", "expired", "cancelled", "invalidated"];

/// The discovery topic of our device: `<prefix>/device/homeloop_<home>/config`.
pub fn topic(prefix: &str, home: &str) -> String {
    format!("{prefix}/device/{}/config", device_id(home))
}

/// Identifier of the device; our own discovery never reads a device of such a name back.
fn device_id(home: &str) -> String {
    format!("homeloop_{home}")
}

/// The discovery message of the device of `home`.
pub fn message(topics: &Topics, home: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let name = if home == "home" { "homeloop".to_owned() } else { format!("homeloop {home}") };
    json!({
        "device": {
            "identifiers": [device_id(home)], "name": name, "manufacturer": "homeloop",
            "model": "Home agent", "sw_version": version,
        },
        "origin": {"name": "homeloop", "sw_version": version},
        "availability_topic": topics.status(),
        "qos": 1,
        "components": components(topics, home),
    })
}

fn components(topics: &Topics, home: &str) -> Map<String, Value> {
    let state = topics.device_state();
    let mut components = Map::new();
    let mut add = |key: &str, platform: &str, name: &str, mut more: Value| {
        more["platform"] = json!(platform);
        more["name"] = json!(name);
        more["unique_id"] = json!(format!("{}_{key}", device_id(home)));
        components.insert(key.to_owned(), more);
    };
    // Attributes of a sensor: members of the one state message.
    let attributes = |member: &str| format!("{{{{ (value_json.{member} or {{}}) | tojson }}}}");
    add(
        "status",
        "sensor",
        "Status",
        json!({
            "state_topic": state, "value_template": "{{ value_json.status }}", "device_class": "enum",
            "options": ["ready", "paused", "not_ready"], "entity_category": "diagnostic",
            "json_attributes_topic": state,
            "json_attributes_template": "{{ {'problems': value_json.problems, 'home_assistant': value_json.home_assistant} | tojson }}",
        }),
    );
    add(
        "last_command",
        "sensor",
        "Last command",
        json!({
            "state_topic": state, "value_template": "{{ value_json.last.text }}", "icon": "mdi:comment-quote",
            "json_attributes_topic": state, "json_attributes_template": attributes("last.command"),
        }),
    );
    add(
        "last_result",
        "sensor",
        "Last result",
        json!({
            "state_topic": state, "value_template": "{{ value_json.last.reply }}", "icon": "mdi:comment-check",
            "json_attributes_topic": state, "json_attributes_template": attributes("last.result"),
        }),
    );
    add(
        "waiting",
        "sensor",
        "Waiting approvals",
        json!({
            "state_topic": state, "value_template": "{{ value_json.approvals | count }}", "icon": "mdi:shield-key",
            "json_attributes_topic": state,
            "json_attributes_template": "{{ {'approvals': value_json.approvals} | tojson }}",
        }),
    );
    add(
        "approval",
        "event",
        "Approval",
        json!({
            "state_topic": topics.device_event(), "event_types": APPROVAL_EVENTS, "icon": "mdi:shield-alert",
        }),
    );
    add(
        "tokens_today",
        "sensor",
        "Tokens today",
        json!({
            "state_topic": state, "value_template": "{{ value_json.today.tokens }}",
            "unit_of_measurement": "tokens", "state_class": "total_increasing", "icon": "mdi:counter",
            "entity_category": "diagnostic",
        }),
    );
    add(
        "cost_today",
        "sensor",
        "Cost today",
        json!({
            "state_topic": state, "value_template": "{{ value_json.today.dollars }}", "device_class": "monetary",
            "unit_of_measurement": "USD", "state_class": "total", "suggested_display_precision": 4,
            "last_reset_value_template": "{{ value_json.today.since }}", "entity_category": "diagnostic",
        }),
    );
    add(
        "pause",
        "switch",
        "Pause",
        json!({
            "state_topic": state, "value_template": "{{ 'ON' if value_json.paused else 'OFF' }}",
            "command_topic": topics.pause(), "icon": "mdi:pause-octagon", "entity_category": "config",
        }),
    );
    add(
        "command",
        "text",
        "Command",
        json!({
            "command_topic": topics.command(), "max": LONGEST_STATE, "icon": "mdi:message-text",
        }),
    );
    add(
        "stop",
        "button",
        "Stop everything",
        json!({
            "command_topic": topics.stop(), "payload_press": "all", "icon": "mdi:stop-circle",
            "entity_category": "config",
        }),
    );
    add(
        "version",
        "sensor",
        "Version",
        json!({
            "state_topic": state, "value_template": "{{ value_json.version }}", "icon": "mdi:tag",
            "entity_category": "diagnostic",
        }),
    );
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approvals_can_be_seen_and_not_decided() {
        let topics = Topics::new("homeloop/home").unwrap();
        let message = message(&topics, "home");
        let components = message["components"].as_object().unwrap();
        assert_eq!(components["approval"]["platform"], "event");
        for (key, component) in components {
            assert_eq!(component["unique_id"], format!("homeloop_home_{key}"));
            let to = component["command_topic"].as_str().unwrap_or_default();
            assert!(!to.contains("approval"), "{key} could decide: {to}");
        }
        assert_eq!(topic("homeassistant", "home"), "homeassistant/device/homeloop_home/config");
    }
}
