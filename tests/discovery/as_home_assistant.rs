//! What Home Assistant 2026.2.3 showed and sent when it was run with these announcements, messages and calls.

mod values;
mod verbs;

use homeloop::home::{Action, EntityId, Verb};
use serde_json::{Map, Value, json};

use super::world::World;

/// One step: a message with what is shown after it, or an action with what is sent and then shown.
enum Step {
    Recv(&'static str, &'static str, &'static str, Value),
    Do(&'static str, Value, &'static [(&'static str, &'static str)], &'static str, Value),
}

use Step::{Do, Recv};

fn run(component: &str, config: Value, steps: &[Step]) {
    let mut world = World::new();
    let mut config = config;
    config["name"] = json!("X");
    world.message(&format!("homeassistant/{component}/x/config"), config.to_string().as_bytes(), true);
    let id = EntityId::parse(&format!("{component}.x")).unwrap();
    assert!(world.entities.contains_key(&id), "{config}: {:?}", world.notes);
    for step in steps {
        let (what, state, shown) = match step {
            Recv(topic, payload, state, shown) => {
                world.message(topic, payload.as_bytes(), false);
                (format!("{config}: {payload}"), state, shown)
            }
            Do(verb, args, sent, state, shown) => {
                let what = format!("{config}: {verb} {args}");
                let seen = &world.entities[&id];
                let verb = Verb::from_word(verb).unwrap();
                let spec = seen.entity.action(verb).unwrap_or_else(|| panic!("{what}: not offered"));
                let args = spec.check(args.as_object().unwrap()).unwrap();
                let action = Action { entity: id.clone(), verb, args };
                let messages = seen.codec.encode(&action, &seen.state).unwrap_or_default();
                let given: Vec<_> =
                    messages.iter().map(|it| (it.topic.as_str(), it.payload.as_str())).collect();
                assert_eq!(given, *sent, "{what}");
                if let Some(update) = seen.codec.assume(&action, &seen.state).filter(|_| !sent.is_empty()) {
                    world.assume(&id, &update);
                }
                (what, state, shown)
            }
        };
        check(&world, &id, &what, state, shown);
    }
}

fn check(world: &World, id: &EntityId, what: &str, state: &str, shown: &Value) {
    let seen = &world.entities[id];
    assert_eq!(seen.shown(), state, "{what}");
    let ours: Map<String, Value> =
        seen.state.attributes.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    for (name, value) in shown.as_object().unwrap() {
        let known = ours.get(name).unwrap_or(&Value::Null);
        let same = known == value || known.is_number() && known.as_f64() == value.as_f64();
        assert!(same, "{what}: {name} is {known}, not {value}");
    }
}

#[test]
fn valves_by_position_and_by_word() {
    let at = |position: i64| json!({"current_position": position});
    run(
        "valve",
        json!({"cmd_t": "c", "stat_t": "s", "pos": true}),
        &[
            Recv("s", "50", "open", at(50)),
            Recv("s", "opening", "opening", at(50)),
            Recv("s", "60", "opening", at(60)),
            Recv("s", "100", "open", at(100)),
            Recv("s", "None", "unknown", json!({"current_position": null})),
            Recv("s", "open", "unknown", json!({})),
            Recv("s", r#"{"state":"opening"}"#, "unknown", json!({})),
            Recv("s", r#"{"position":20,"state":"closing"}"#, "closing", at(20)),
            Recv("s", r#"{"position":0}"#, "closed", at(0)),
            Recv("s", r#"{"position":null}"#, "closed", at(0)),
        ],
    );
    run(
        "valve",
        json!({"cmd_t": "c", "stat_t": "s"}),
        &[
            Recv("s", "50", "unknown", json!({})),
            Recv("s", "open", "open", json!({})),
            Recv("s", r#"{"position":20}"#, "open", json!({"current_position": null})),
            Recv("s", r#"{"state":"closed"}"#, "closed", json!({})),
            Recv("s", "None", "unknown", json!({})),
        ],
    );
    run(
        "valve",
        json!({"cmd_t": "c", "pos": true}),
        &[
            Do("open", json!({}), &[("c", "100")], "open", at(100)),
            Do("set_position", json!({"position": 30}), &[("c", "30")], "open", at(30)),
            Do("close", json!({}), &[("c", "0")], "closed", at(0)),
        ],
    );
}

#[test]
fn sirens_take_all_attributes_or_none() {
    let all = json!({"duration": 10, "tone": "a", "volume_level": 0.5});
    let longer = json!({"duration": 12, "tone": "a", "volume_level": 0.5});
    run(
        "siren",
        json!({"cmd_t": "c", "stat_t": "s", "av_tones": ["a", "b"]}),
        &[
            Recv("s", r#"{"state":"ON","tone":"a","duration":10,"volume_level":0.5}"#, "on", all.clone()),
            Recv("s", r#"{"state":"OFF","tone":null}"#, "off", all),
            Recv("s", r#"{"state":"ON","duration":"12"}"#, "on", longer.clone()),
            Recv("s", r#"{"state":"OFF","foo":1,"duration":9}"#, "off", longer),
            Recv("s", r#"{"duration":4.7}"#, "off", json!({"duration": 4})),
        ],
    );
    let quiet = json!({"cmd_t": "c", "opt": true, "stat_t": "s", "sup_dur": false, "sup_vol": false});
    let none = json!({"tone": null, "duration": null, "volume_level": null});
    run(
        "siren",
        quiet,
        &[
            Do("turn_on", json!({}), &[("c", r#"{"state":"ON"}"#)], "on", none.clone()),
            Recv("s", r#"{"state":"ON","tone":"a","duration":10,"volume_level":0.5}"#, "on", none),
            Do("turn_off", json!({}), &[("c", r#"{"state":"OFF"}"#)], "off", json!({})),
        ],
    );
}

#[test]
fn updates_are_checked_and_installed_where_there_is_another_version() {
    run(
        "update",
        json!({"cmd_t": "c", "pl_inst": "go", "stat_t": "s"}),
        &[
            Recv("s", r#"{"installed_version":"1.2.0-rc1","latest_version":"1.2.0"}"#, "on", json!({})),
            Do("install", json!({}), &[("c", "go")], "on", json!({})),
            Recv("s", r#"{"installed_version":"1.2.0","latest_version":null}"#, "on", json!({})),
            Recv("s", r#"{"installed_version":"1.2.0","latest_version":"1.2.0"}"#, "off", json!({})),
            Do("install", json!({}), &[], "off", json!({})),
            Recv("s", r#"{"latest_version":"1.2.0b1"}"#, "off", json!({"latest_version": "1.2.0b1"})),
            Recv("s", r#"{"installed_version":"1.2.0b2"}"#, "off", json!({})),
            Recv(
                "s",
                r#"{"installed_version":5,"in_progress":"yes","update_percentage":null}"#,
                "off",
                json!({"installed_version": "5", "in_progress": true}),
            ),
            Recv(
                "s",
                r#"{"update_percentage":50}"#,
                "off",
                json!({"update_percentage": 50, "in_progress": true}),
            ),
            Recv("s", r#"{"update_percentage":null}"#, "off", json!({"in_progress": false})),
            Recv("s", r#"{"release_url":"nourl"}"#, "off", json!({"release_url": null})),
        ],
    );
}

#[test]
fn covers_assume_a_tilt_that_nobody_reports() {
    let tilt = |percent: i64| json!({"current_tilt_position": percent});
    run(
        "cover",
        json!({"cmd_t": "c", "tilt_cmd_t": "t", "stat_t": "s"}),
        &[
            Do("open_tilt", json!({}), &[("t", "100")], "unknown", tilt(100)),
            Do("set_tilt_position", json!({"tilt_position": 33}), &[("t", "33")], "unknown", tilt(33)),
            Do("close_tilt", json!({}), &[("t", "0")], "unknown", tilt(0)),
            Do("stop_tilt", json!({}), &[("t", "STOP")], "unknown", tilt(0)),
        ],
    );
    let reported =
        json!({"cmd_t": "c", "tilt_cmd_t": "t", "tilt_status_t": "x", "stat_t": "s", "tilt_max": 10});
    run(
        "cover",
        reported,
        &[
            Recv("x", "2.5", "unknown", tilt(20)),
            Recv("x", "3.5", "unknown", tilt(40)),
            Recv("x", "-0.4", "unknown", tilt(0)),
            Recv("x", "10.6", "unknown", tilt(0)),
        ],
    );
    let nowhere = json!({"cmd_t": "c", "pos_t": "p", "pos_open": 5, "pos_clsd": 5});
    run("cover", nowhere, &[Recv("p", "5", "unknown", json!({"current_position": null}))]);
}

#[test]
fn climates_begin_and_round_as_announced() {
    let silent = json!({"temp_cmd_t": "t", "fan_mode_cmd_t": "f", "swing_mode_cmd_t": "w",
        "temp_lo_cmd_t": "lo", "temp_hi_cmd_t": "hi", "swing_h_mode_cmd_t": "hw"});
    let first = json!({"temperature": 22.5, "target_temp_high": 21.0, "target_temp_low": 21.0,
        "fan_mode": "low", "swing_mode": "off", "swing_horizontal_mode": "off"});
    run(
        "climate",
        silent,
        &[
            Do("set_temperature", json!({"temperature": 22.5}), &[("t", "22.5")], "off", first),
            Do(
                "set_fan_mode",
                json!({"fan_mode": "high"}),
                &[("f", "high")],
                "off",
                json!({"fan_mode": "high"}),
            ),
            Do(
                "set_temperature",
                json!({"target_temp_low": 18, "target_temp_high": 24}),
                &[("lo", "18.0"), ("hi", "24.0")],
                "off",
                json!({"target_temp_low": 18, "target_temp_high": 24}),
            ),
            Do(
                "set_swing_horizontal_mode",
                json!({"swing_horizontal_mode": "on"}),
                &[("hw", "on")],
                "off",
                json!({"swing_horizontal_mode": "on", "swing_mode": "off"}),
            ),
        ],
    );
    let fahrenheit =
        json!({"mode_cmd_t": "m", "temp_cmd_t": "t", "temp_unit": "F", "opt": true, "mode_stat_t": "ms"});
    let asked = json!({"temperature": 20.3});
    run(
        "climate",
        fahrenheit,
        &[
            Do("set_temperature", asked.clone(), &[("t", "68.53999999999999")], "off", asked.clone()),
            Do("turn_on", json!({}), &[("m", "heat")], "heat", asked.clone()),
            Do("turn_off", json!({}), &[("m", "off")], "off", asked),
        ],
    );
    let precise = |precision: Value| {
        json!({"mode_cmd_t": "m", "mode_stat_t": "ms", "temp_cmd_t": "t", "temp_stat_t": "ts",
            "curr_temp_t": "ct", "precision": precision})
    };
    let shows = |target: f64, current: f64| json!({"temperature": target, "current_temperature": current});
    run(
        "climate",
        precise(json!(0.5)),
        &[
            Recv("ts", "20.3", "unknown", json!({"temperature": 20.5})),
            Recv("ct", "20.25", "unknown", shows(20.5, 20.0)),
        ],
    );
    run(
        "climate",
        precise(json!(1.0)),
        &[
            Recv("ts", "20.5", "unknown", json!({"temperature": 20})),
            Recv("ct", "21.5", "unknown", shows(20.0, 22.0)),
        ],
    );
    run(
        "climate",
        precise(json!(0.1)),
        &[
            Recv("ts", "20.25", "unknown", json!({"temperature": 20.2})),
            Recv("ct", "20.35", "unknown", shows(20.2, 20.4)),
        ],
    );
}

#[test]
fn climates_switch_by_power_and_set_humidity() {
    let config = json!({"mode_cmd_t": "m", "mode_stat_t": "ms", "pow_cmd_t": "p", "hum_cmd_t": "h",
        "hum_stat_t": "hs", "swing_mode_cmd_t": "w", "pr_mode_cmd_t": "pr", "pr_modes": ["eco"]});
    run(
        "climate",
        config,
        &[
            Do("turn_on", json!({}), &[("p", "ON")], "unknown", json!({})),
            Do("turn_off", json!({}), &[("p", "OFF")], "unknown", json!({})),
            Do("set_humidity", json!({"humidity": 55}), &[("h", "55")], "unknown", json!({"humidity": null})),
            Do(
                "set_swing_mode",
                json!({"swing_mode": "on"}),
                &[("w", "on")],
                "unknown",
                json!({"swing_mode": "on"}),
            ),
            Do(
                "set_preset_mode",
                json!({"preset_mode": "eco"}),
                &[("pr", "eco")],
                "unknown",
                json!({"preset_mode": "eco"}),
            ),
        ],
    );
}

#[test]
fn water_heaters_and_humidifiers_follow_what_was_asked() {
    run(
        "water_heater",
        json!({"mode_cmd_t": "m", "temp_cmd_t": "t", "pow_cmd_t": "p"}),
        &[
            Do(
                "turn_on",
                json!({}),
                &[("p", "ON")],
                "off",
                json!({"temperature": 43.3, "operation_mode": "off"}),
            ),
            Do(
                "set_temperature",
                json!({"temperature": 50}),
                &[("t", "50.0")],
                "off",
                json!({"temperature": 50}),
            ),
            Do("set_mode", json!({"mode": "eco"}), &[("m", "eco")], "eco", json!({"operation_mode": "eco"})),
            Do(
                "set_temperature",
                json!({"temperature": 45, "mode": "gas"}),
                &[("m", "gas"), ("t", "45.0")],
                "gas",
                json!({"operation_mode": "gas", "temperature": 45}),
            ),
            Do("set_mode", json!({"mode": "eco"}), &[("m", "eco")], "eco", json!({"operation_mode": "eco"})),
            Do("turn_off", json!({}), &[("p", "OFF")], "eco", json!({})),
        ],
    );
    let does = |action: &str| json!({"action": action});
    let config = json!({"cmd_t": "c", "stat_t": "s", "hum_cmd_t": "h", "act_t": "a", "modes": ["x", "y"], "mode_cmd_t": "m"});
    run(
        "humidifier",
        config,
        &[
            Recv("s", "ON", "on", json!({})),
            Recv("a", "drying", "on", does("drying")),
            Recv("s", "OFF", "off", does("off")),
            Recv("s", "ON", "on", does("drying")),
            Recv("a", "None", "on", does("drying")),
            Do("set_humidity", json!({"humidity": 45.8}), &[("h", "45")], "on", json!({"humidity": 45})),
            Do("set_mode", json!({"mode": "y"}), &[("m", "y")], "on", json!({"mode": "y"})),
        ],
    );
}
