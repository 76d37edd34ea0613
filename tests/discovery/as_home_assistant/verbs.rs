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
