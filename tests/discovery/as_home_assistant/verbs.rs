//! The payloads of verbs that no other test sends, and what confirms them.

use serde_json::{Value, json};

use super::Step::{Do, Recv};
use super::run;

fn nothing() -> Value {
    json!({})
}

#[test]
fn locks_alarm_panels_and_robots() {
    run(
        "lock",
        json!({"cmd_t": "c", "stat_t": "s", "pl_open": "OPEN"}),
        &[
            Do("lock", nothing(), &[("c", "LOCK")], "unknown", nothing()),
            Recv("s", "LOCKED", "locked", nothing()),
            Do("unlock", nothing(), &[("c", "UNLOCK")], "locked", nothing()),
            Recv("s", "UNLOCKED", "unlocked", nothing()),
            Do("open", nothing(), &[("c", "OPEN")], "unlocked", nothing()),
            Recv("s", "OPEN", "open", nothing()),
        ],
    );
    run(
        "alarm_control_panel",
        json!({"cmd_t": "c", "stat_t": "s"}),
        &[
            Do("arm_away", nothing(), &[("c", "ARM_AWAY")], "unknown", nothing()),
            Do("arm_home", json!({"code": "12"}), &[("c", "ARM_HOME")], "unknown", nothing()),
            Do("trigger", nothing(), &[("c", "TRIGGER")], "unknown", nothing()),
            Recv("s", "triggered", "triggered", nothing()),
            Do("disarm", nothing(), &[("c", "DISARM")], "triggered", nothing()),
        ],
    );
    let robot = json!({"cmd_t": "c", "stat_t": "s",
        "sup_feat": ["start", "stop", "pause", "return_home", "clean_spot", "locate"]});
    run(
        "vacuum",
        robot,
        &[
            Do("start", nothing(), &[("c", "start")], "unknown", nothing()),
            Do("pause", nothing(), &[("c", "pause")], "unknown", nothing()),
            Recv("s", r#"{"state":"paused"}"#, "paused", nothing()),
            Do("stop", nothing(), &[("c", "stop")], "paused", nothing()),
            Do("clean_spot", nothing(), &[("c", "clean_spot")], "paused", nothing()),
            Do("locate", nothing(), &[("c", "locate")], "paused", nothing()),
            Do("return_to_base", nothing(), &[("c", "return_to_base")], "paused", nothing()),
        ],
    );
    let mower =
        json!({"act_stat_t": "s", "strt_mw_cmd_t": "start", "pause_cmd_t": "pause", "dock_cmd_t": "dock"});
    run(
        "lawn_mower",
        mower,
        &[
            Do("start_mowing", nothing(), &[("start", "start_mowing")], "unknown", nothing()),
            Do("pause", nothing(), &[("pause", "pause")], "unknown", nothing()),
            Recv("s", "paused", "paused", nothing()),
            Do("dock", nothing(), &[("dock", "dock")], "paused", nothing()),
        ],
    );
}

/// What is sent must be readable for the door, which looks at it.
#[test]
fn bytes_that_are_text_go_out_as_text() {
    run(
        "switch",
        json!({"cmd_t": "cmnd/x/Backlog", "pl_on": "Reset", "pl_off": "off", "cmd_tpl": r"b'{{ value }} \x31'"}),
        &[Do("turn_on", nothing(), &[("cmnd/x/Backlog", "Reset 1")], "on", nothing())],
    );
    // What no template made is not read as bytes.
    run(
        "text",
        json!({"cmd_t": "c"}),
        &[Do("set_value", json!({"value": r"b'\x31'"}), &[("c", r"b'\x31'")], r"b'\x31'", nothing())],
    );
}

#[test]
fn a_vacuum_takes_commands_of_its_own_language() {
    let robot =
        json!({"cmd_t": "c", "stat_t": "s", "send_cmd_t": "own", "sup_feat": ["start", "send_command"]});
    run(
        "vacuum",
        robot,
        &[
            Do("send_command", json!({"command": "44 FE 93"}), &[("own", "44 FE 93")], "unknown", nothing()),
            Do(
                "send_command",
                json!({"command": "go", "params": r#"{"zone":[1,2],"a":"b"}"#}),
                &[("own", r#"{"command":"go","zone":[1,2],"a":"b"}"#)],
                "unknown",
                nothing(),
            ),
            Do("send_command", json!({"command": "go", "params": "zone 1"}), &[], "unknown", nothing()),
            // The command that is seen is the command that is sent.
            Do(
                "send_command",
                json!({"command": "go", "params": r#"{"a":1,"command":"reset"}"#}),
                &[],
                "unknown",
                nothing(),
            ),
        ],
    );
}

#[test]
fn lights_shine_white() {
    let white = |level: i64| json!({"white": level});
    let topics = json!({"cmd_t": "c", "whit_cmd_t": "w", "whit_scl": 100, "rgb_cmd_t": "rgb",
        "on_cmd_type": "brightness", "bri_cmd_t": "b"});
    let shines = |level: i64| json!({"brightness": level, "color_mode": "white"});
    run(
        "light",
        topics,
        &[
            Do("turn_on", white(1), &[("w", "0")], "on", shines(1)),
            Do("turn_on", white(128), &[("w", "50")], "on", shines(128)),
            Do("turn_on", json!({"white": 10, "brightness_pct": 100}), &[("w", "100")], "on", shines(255)),
        ],
    );
    run(
        "light",
        json!({"schema": "json", "cmd_t": "c", "sup_clrm": ["white", "rgb"], "whit_scl": 100}),
        &[
            Do("turn_on", white(1), &[("c", r#"{"state":"ON","white":1}"#)], "on", shines(1)),
            Do("turn_on", white(255), &[("c", r#"{"state":"ON","white":100}"#)], "on", shines(255)),
        ],
    );
}

#[test]
fn a_light_takes_one_colour_at_a_time() {
    run(
        "light",
        json!({"cmd_t": "c", "hs_cmd_t": "hs", "rgb_cmd_t": "rgb"}),
        &[Do("turn_on", json!({"hs_color": [10, 60], "rgb_color": [1, 2, 3]}), &[], "unknown", nothing())],
    );
}

#[test]
fn lights_take_hue_and_saturation() {
    run(
        "light",
        json!({"cmd_t": "c", "hs_cmd_t": "hs"}),
        &[Do(
            "turn_on",
            json!({"hs_color": [300.5, 60]}),
            &[("hs", "300.5,60.0"), ("c", "ON")],
            "on",
            json!({"hs_color": [300.5, 60.0]}),
        )],
    );
}

#[test]
fn a_tilt_that_was_told_is_not_assumed_any_more() {
    let tilt = |percent: i64| json!({"current_tilt_position": percent});
    run(
        "cover",
        json!({"cmd_t": "c", "pos_t": "p", "tilt_cmd_t": "t"}),
        &[
            Do("set_tilt_position", json!({"tilt_position": 62}), &[("t", "62")], "unknown", tilt(62)),
            Recv("p", r#"{"position":40,"tilt_position":20}"#, "open", tilt(20)),
            Do("set_tilt_position", json!({"tilt_position": 62}), &[("t", "62")], "open", tilt(20)),
        ],
    );
}

#[test]
fn totals_say_when_they_were_set_back() {
    let meter = json!({"stat_t": "s", "stat_cla": "total", "val_tpl": "{{ value_json.kwh }}",
        "lrst_val_tpl": "{{ value_json.since }}"});
    let since = |at: &str| json!({"last_reset": at});
    run(
        "sensor",
        meter,
        &[
            Recv(
                "s",
                r#"{"kwh":1.5,"since":"2026-11-30T00:00:00+01:00"}"#,
                "1.5",
                since("2026-11-30T00:00:00+01:00"),
            ),
            Recv("s", r#"{"kwh":2,"since":""}"#, "2", since("2026-11-30T00:00:00+01:00")),
            Recv("s", r#"{"kwh":3,"since":"yesterday"}"#, "3", since("2026-11-30T00:00:00+01:00")),
            Recv("s", r#"{"kwh":0,"since":"2026-12-01T00:00:00"}"#, "0", since("2026-12-01T00:00:00")),
        ],
    );
}

#[test]
fn covers_and_valves_open_close_and_stop() {
    run(
        "cover",
        json!({"cmd_t": "c", "stat_t": "s"}),
        &[
            Do("open", nothing(), &[("c", "OPEN")], "unknown", nothing()),
            Do("stop", nothing(), &[("c", "STOP")], "unknown", nothing()),
            Do("close", nothing(), &[("c", "CLOSE")], "unknown", nothing()),
        ],
    );
    run(
        "valve",
        json!({"cmd_t": "c", "stat_t": "s", "pl_stop": "STOP"}),
        &[
            Do("open", nothing(), &[("c", "OPEN")], "unknown", nothing()),
            Do("stop", nothing(), &[("c", "STOP")], "unknown", nothing()),
            Recv("s", "closing", "closing", nothing()),
            Do("close", nothing(), &[("c", "CLOSE")], "closing", nothing()),
        ],
    );
}

#[test]
fn times_without_an_offset_are_of_the_announced_zone() {
    run(
        "datetime",
        json!({"cmd_t": "c", "stat_t": "s", "timezone": "Europe/Berlin"}),
        &[
            Recv("s", "2026-11-30T07:30:00", "2026-11-30T07:30:00+01:00", nothing()),
            Do(
                "set_value",
                json!({"value": "2026-12-01T07:30"}),
                &[("c", "2026-12-01T07:30:00+01:00")],
                "2026-11-30T07:30:00+01:00",
                nothing(),
            ),
            Recv("s", "2026-07-01 07:30", "2026-07-01T07:30:00+02:00", nothing()),
            Recv("s", "2026-07-01T07:30:00Z", "2026-07-01T07:30:00Z", nothing()),
            Recv("s", "half past seven", "2026-07-01T07:30:00Z", nothing()),
        ],
    );
}

#[test]
fn dates_and_times() {
    for (component, value, wrong) in [
        ("date", "2026-11-30", "30.11.2026"),
        ("time", "07:30:00", "7 o'clock"),
        ("time", "07:30", "25:00"),
        ("datetime", "2026-11-30T07:30:00+01:00", "2026-11-30T07:30:00"),
    ] {
        let sent: &'static [(&str, &str)] = Box::leak(Box::new([("c", value)]));
        run(
            component,
            json!({"cmd_t": "c", "stat_t": "s"}),
            &[
                Do("set_value", json!({"value": value}), sent, "unknown", nothing()),
                Recv("s", value, value, nothing()),
                Recv("s", wrong, value, nothing()),
                Recv("s", "None", "unknown", nothing()),
            ],
        );
    }
}
