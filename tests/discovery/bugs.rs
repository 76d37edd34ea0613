//! Public reports where a consumer of MQTT discovery broke, each with the right behaviour.
//!
//! The numbers are those of the list of reports beside the recorded messages. Those about the connection itself are
//! tests of the link: 31, 32 and 33 `conformance::a_packet_over_the_limit_does_no_lasting_harm` (and the list of 1.6 MB in
//! `native`), 34 `faults::what_a_slow_reader_lost_is_fetched_again` and the bench `flood`, 35
//! `faults::a_slow_reader_keeps_the_last_value_of_each_topic`, 36 `conformance::after_a_reconnect_everything_is_subscribed_again`,
//! 37 `faults::f5_a_half_open_connection_is_noticed_and_replaced`.

use homeloop::devices::discovery::DiscoveryChange;
use homeloop::home::{Action, Arg, ArgValue, EntityId, Verb};
use serde_json::{Value, json};

use super::world::World;

fn world(component: &str, config: Value) -> World {
    let mut world = World::new();
    world.message(&format!("homeassistant/{component}/x/config"), config.to_string().as_bytes(), true);
    world
}

/// The value and one attribute after some messages.
fn after(world: &mut World, topic: &str, messages: &[&str], attribute: &str) -> (String, Value) {
    for message in messages {
        world.message(topic, message.as_bytes(), false);
    }
    let seen = world.entities.values().next().expect("an entity");
    (seen.shown(), seen.state.attributes.get(attribute).cloned().unwrap_or_default())
}

fn light() -> World {
    let modes = json!(["xy", "color_temp"]);
    world(
        "light",
        json!({"name": "l", "schema": "json", "stat_t": "l", "cmd_t": "l/set", "brightness": true, "sup_clrm": modes}),
    )
}

/// 1, 2, 4: another message on the topic, null for an optional key.
#[test]
fn a_light_takes_from_a_message_what_is_about_it() {
    let mut lamp = light();
    let messages = [r#"{"state":"ON"}"#, r#"{"update":{"state":"idle"},"linkquality":40}"#];
    assert_eq!(after(&mut lamp, "l", &messages, "x").0, "on");
    assert_eq!(after(&mut lamp, "l", &[r#"{"brightness":7}"#], "brightness"), ("on".into(), json!(7)));
    assert_eq!(after(&mut light(), "l", &[r#"{"color_temp":null,"state":"ON"}"#], "x").0, "on");
}

/// 3: a colour without its mode.
#[test]
fn a_colour_without_a_mode_has_the_only_mode_that_fits() {
    let message = r#"{"brightness":254,"color":{"x":0.46,"y":0.41},"state":"ON"}"#;
    assert_eq!(after(&mut light(), "l", &[message], "color_mode"), ("on".into(), json!("xy")));
}

/// 5: an update whose template gives a number.
#[test]
fn a_number_is_a_version() {
    let config = json!({"name": "u", "stat_t": "u", "val_tpl": "{{ value_json.update.installed_version }}"});
    let mut update = world("update", config);
    let got = after(&mut update, "u", &[r#"{"update":{"installed_version":10276802}}"#], "installed_version");
    assert_eq!(got.1, json!("10276802"));
}

/// 6, 7: an empty result is no change; one template's error leaves the other attributes alone.
#[test]
fn an_error_or_nothing_in_one_attribute_leaves_the_others() {
    let config = json!({
        "name": "l", "stat_t": "t", "cmd_t": "c", "stat_val_tpl": "{{ value_json.POWER }}", "rgb_cmd_t": "r",
        "rgb_stat_t": "t", "rgb_val_tpl": "{{value_json.Color.split(',')[0:3]|join(',')}}"
    });
    let mut lamp = world("light", config);
    assert_eq!(after(&mut lamp, "t", &[r#"{"POWER":"ON"}"#], "x").0, "on");
    assert_eq!(after(&mut lamp, "t", &["{}"], "x").0, "on", "nothing said is not off");
    assert_eq!(after(&mut lamp, "t", &[r#"{"POWER":"OFF"}"#], "x").0, "off");
}

/// 9: brightness of a colour without the brightness flag is in the colour, and never lost.
#[test]
fn brightness_is_in_the_colour_or_beside_it() {
    let lamp = world("light", json!({"name": "l", "schema": "json", "cmd_t": "l/set", "sup_clrm": ["rgb"]}));
    let seen = lamp.entities.values().next().unwrap();
    let action = Action::new(seen.entity.id.clone(), Verb::TurnOn)
        .with(Arg::RgbColor, ArgValue::Rgb([255, 128, 0]))
        .with(Arg::BrightnessPct, ArgValue::Number(128.0 / 2.55));
    let sent = seen.codec.encode(&action, &seen.state).unwrap();
    assert_eq!(sent[0].payload, r#"{"state":"ON","color":{"r":128,"g":64,"b":0}}"#);
}

/// 10, 11, 28: keys of other schemas or of long ago are dropped; quotes are part of a payload.
#[test]
fn unknown_keys_are_dropped_and_payloads_are_taken_literally() {
    let config = json!({
        "name": "l", "cmd_t": "c", "pl_on": "'on'", "val_tpl": "{{ nonsense( }}", "rgb": true, "white_value": true,
        "away_mode_command_topic": "a"
    });
    let lamp = world("light", config);
    let seen = lamp.entities.values().next().expect("an entity in spite of old keys");
    let sent = seen.codec.encode(&Action::new(seen.entity.id.clone(), Verb::TurnOn), &seen.state).unwrap();
    assert_eq!(sent[0].payload, "'on'");
}

/// 12, 13 and the tricky texts: what is no measurement is unknown, and what is no text of the kind changes nothing.
#[test]
fn sensors_tell_unknown_from_unchanged() {
    let number = || world("sensor", json!({"name": "n", "stat_t": "n", "unit_of_meas": "L/min"}));
    for (messages, state) in [
        (["21.5", "nan"], "unknown"),
        (["21.5", "inf"], "unknown"),
        (["21.5", "None"], "unknown"),
        (["21.5", ""], "21.5"),
        (["21.5", "unavailable"], "21.5"),
        (["1", "1e3"], "1e3"),
    ] {
        assert_eq!(after(&mut number(), "n", &messages, "x").0, state, "{messages:?}");
    }
    let mut time = world("sensor", json!({"name": "t", "stat_t": "t", "dev_cla": "timestamp"}));
    assert_eq!(after(&mut time, "t", &["2025-01-05 10:20:31"], "x").0, "unknown");
}

fn cover(extra: Value) -> World {
    let mut config = json!({"name": "c", "cmd_t": "c/set"});
    config.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    world("cover", config)
}

/// 14, 15: inverted positions are normal positions first.
#[test]
fn inverted_positions_are_normalised() {
    let inverted = || cover(json!({"pos_t": "c", "pos_open": 0, "pos_clsd": 100}));
    assert_eq!(after(&mut inverted(), "c", &["0"], "current_position"), ("open".into(), json!(100)));
    assert_eq!(after(&mut inverted(), "c", &["100"], "current_position"), ("closed".into(), json!(0)));
}

/// 16, 17, 19: the state topic alone says open or closed, and invents no position.
#[test]
fn the_state_topic_decides_and_the_position_stays_as_reported() {
    let both = || cover(json!({"stat_t": "s", "pos_t": "p", "stat_stopped": "stop"}));
    let mut blind = both();
    after(&mut blind, "p", &["0"], "x");
    assert_eq!(after(&mut blind, "s", &["stop"], "x").0, "closed");
    after(&mut blind, "s", &["opening"], "x");
    assert_eq!(after(&mut blind, "p", &["30"], "current_position"), ("opening".into(), json!(30)));
    assert_eq!(after(&mut both(), "s", &["closed"], "current_position"), ("closed".into(), Value::Null));
}

/// 18
#[test]
fn a_cover_takes_its_position_before_its_state() {
    let config = json!({
        "stat_t": "c", "pos_t": "c", "pos_tpl": "{{ value_json.position }}", "val_tpl": "{{ value_json.state }}",
        "stat_stopped": "STOP"
    });
    let mut blind = cover(config);
    assert_eq!(after(&mut blind, "c", &[r#"{"position":50,"state":"STOP"}"#], "x").0, "open");
    assert_eq!(after(&mut blind, "c", &[r#"{"position":0,"state":"STOP"}"#], "x").0, "closed");
}

fn announce(world: &mut World, object: &str, config: &Value) {
    world.message(&format!("homeassistant/switch/{object}/config"), config.to_string().as_bytes(), true);
}

/// 20, 27: the first owner of a unique id keeps it, until it lets go.
#[test]
fn a_unique_id_has_one_owner() {
    let mut world = World::new();
    announce(&mut world, "a", &json!({"name": "A", "uniq_id": "u", "cmd_t": "a"}));
    announce(&mut world, "b", &json!({"name": "B", "uniq_id": "u", "cmd_t": "b"}));
    assert_eq!(world.entities.len(), 1);
    let note = world.notes.join("");
    assert!(note.contains("switch/a/config") && note.contains("switch/b/config"), "{note}");
}

/// 21, 22: ids follow from the announcements, whatever their order; a burst of removal and creation keeps them.
#[test]
fn ids_do_not_depend_on_the_order_of_arrival() {
    let ids = |order: &[&str]| {
        let mut world = World::new();
        for object in order {
            announce(&mut world, object, &json!({"name": "Lamp", "uniq_id": object, "cmd_t": object}));
        }
        let named = |id: &str| world.discovery.announcement(id).map(|(topic, _)| topic.to_owned());
        (named("switch.lamp"), named("switch.lamp_2"), named("switch.lamp_3"))
    };
    let sorted = ids(&["a", "b", "c"]);
    assert_eq!(sorted.2.as_deref(), Some("homeassistant/switch/c/config"));
    for order in [["c", "b", "a"], ["b", "c", "a"], ["c", "a", "b"]] {
        assert_eq!(ids(&order), sorted, "{order:?}");
    }
    let mut world = World::new();
    announce(&mut world, "old", &json!({"name": "Lamp", "uniq_id": "u", "cmd_t": "x"}));
    world.message("homeassistant/switch/old/config", b"", true);
    announce(&mut world, "new", &json!({"name": "Lamp", "uniq_id": "u", "cmd_t": "x"}));
    assert_eq!(world.entities.keys().map(EntityId::as_str).collect::<Vec<_>>(), ["switch.lamp"]);
}

/// 23, 26: a changed announcement moves the item and replaces its capabilities.
#[test]
fn a_changed_announcement_counts_at_once() {
    let mut lamp =
        world("light", json!({"name": "l", "cmd_t": "t/c", "dev": {"ids": "hp18", "name": "Pump"}}));
    let dimmable =
        json!({"name": "l", "cmd_t": "t/c", "bri_cmd_t": "t/b", "dev": {"ids": "hp19", "name": "Pump"}});
    lamp.message("homeassistant/light/x/config", dimmable.to_string().as_bytes(), true);
    let seen = lamp.entities.values().next().unwrap();
    assert!(seen.entity.action(Verb::TurnOn).unwrap().arg(Arg::BrightnessPct).is_some());
    assert_eq!(seen.entity.device.as_ref().unwrap().id, "hp19");
    assert_eq!(lamp.entities.len(), 1);
}

/// 24: a repeated device name is shown once and stays in the identity.
#[test]
fn a_repeated_device_name_is_shown_once() {
    let lamp = world(
        "switch",
        json!({"name": "Ballon linkquality", "cmd_t": "c", "dev": {"ids": "b", "name": "Ballon"}}),
    );
    let entity = &lamp.entities.values().next().unwrap().entity;
    assert_eq!(
        (entity.name.as_str(), entity.id.as_str()),
        ("Ballon linkquality", "switch.ballon_ballon_linkquality")
    );
}

/// 25: broken JSON is one refusal with its place; no unique id is legal.
#[test]
fn broken_json_is_refused_with_its_place() {
    let mut world = World::new();
    let changes = world.discovery.on_message("homeassistant/switch/x/config", b"{\"cmd_t\":\"a\",}", true);
    assert!(
        matches!(&changes[..], [DiscoveryChange::Refused { why, .. }] if why.to_string().contains("column"))
    );
    announce(&mut world, "x", &json!({"name": "n", "cmd_t": "a"}));
    assert_eq!(world.entities.len(), 1);
}

/// 29, 30: bytes that are no text are dropped for who reads text, and nothing panics.
#[test]
fn bytes_that_are_no_text_change_nothing() {
    let mut sensor = world("sensor", json!({"name": "s", "stat_t": "s", "val_tpl": "{{ value_json.a }}"}));
    sensor.message("s", br#"{"a":1}"#, false);
    sensor.message("s", b"{\"Time\":\"2025\xf4\x02\x00\x1btele/x", false);
    sensor.message("s", &[0xff; 30_000], false);
    assert_eq!(sensor.entities.values().next().unwrap().shown(), "1");
}

/// 38: a retained event happened some time: it is none.
#[test]
fn retained_events_do_not_fire_and_equal_events_are_two() {
    let mut bell = world("event", json!({"name": "e", "stat_t": "e", "event_types": ["press"]}));
    bell.message("e", br#"{"event_type":"press"}"#, true);
    assert_eq!(bell.entities.values().next().unwrap().shown(), "unknown");
    let press = r#"{"event_type":"press"}"#;
    assert_eq!(after(&mut bell, "e", &[press, press], "occurrences"), ("press".into(), json!(2)));
}

/// 8 and the texts and booleans of the last list: Python's rules, so that what was tested there behaves the same.
#[test]
fn lenient_conversions_are_pythons() {
    let config = json!({
        "name": null, "cmd_t": "c", "stat_t": " odd topic/ä ", "qos": "0", "opt": "false", "pl_on": true, "pl_off": 255,
        "dev": {"ids": "single", "name": "Plug"}
    });
    let mut plug = world("switch", config);
    assert_eq!(after(&mut plug, " odd topic/ä ", &["True"], "x").0, "on");
    assert_eq!(after(&mut plug, " odd topic/ä ", &["255"], "x").0, "off");
    let seen = plug.entities.values().next().unwrap();
    assert_eq!(seen.entity.name, "Plug");
    let template = json!({"name": "n", "cmd_t": "c", "stat_t": "s", "val_tpl": "{% if value == true %}ON{% else %}OFF{% endif %}"});
    assert_eq!(after(&mut world("switch", template), "s", &["true"], "x").0, "off");
}

/// Wildcards in state topics, `$` at the first level, a removal of something never seen.
#[test]
fn topics_follow_mqtts_rules() {
    let mut sensor = world("sensor", json!({"name": "s", "stat_t": "+/+/BTtoMQTT/aa"}));
    assert_eq!(after(&mut sensor, "home/gateway/BTtoMQTT/aa", &["1"], "x").0, "1");
    assert_eq!(after(&mut sensor, "$home/gateway/BTtoMQTT/aa", &["2"], "x").0, "1");
    let mut robot = world("sensor", json!({"name": "s", "stat_t": "valetudo/robot/$state"}));
    assert_eq!(after(&mut robot, "valetudo/robot/$state", &["ready"], "x").0, "ready");
    robot.message("homeassistant/sensor/never/config", b"", true);
    assert_eq!((robot.entities.len(), robot.notes.len()), (1, 0));
}

/// A brightness that is only remembered is no report: it must not confirm anything.
#[test]
fn what_is_remembered_has_no_new_stamp() {
    let mut lamp = light();
    after(&mut lamp, "l", &[r#"{"state":"ON","brightness":100}"#, r#"{"state":"OFF"}"#], "x");
    let (state, brightness) = after(&mut lamp, "l", &[r#"{"state":"ON"}"#], "brightness");
    assert_eq!((state.as_str(), brightness), ("on", json!(100)), "shown again");
    let seen = lamp.entities.values().next().unwrap();
    let value = seen.state.value_stamp.unwrap().sequence;
    assert!(seen.state.attribute_stamps["brightness"].sequence < value, "with the stamp of its report");
}
