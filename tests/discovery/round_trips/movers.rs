//! Things that move: covers, valves, robots.

use homeloop::home::{Arg, Verb};
use serde_json::json;

use super::{Case, number, step, text};

pub fn movers() -> Vec<Case> {
    vec![
        Case {
            component: "cover",
            name: "blind",
            config: json!({"dev_cla": "blind", "cmd_t": "blind/set", "stat_t": "blind/state", "pos_t": "blind/pos",
                "set_pos_t": "blind/pos/set", "tilt_cmd_t": "blind/tilt/set", "tilt_status_t": "blind/tilt"}),
            before: vec![("blind/pos", "0"), ("blind/state", "closed")],
            steps: vec![
                step(
                    Verb::Open,
                    &[],
                    &[("blind/set", "OPEN")],
                    &[("blind/state", "opening"), ("blind/pos", "100"), ("blind/state", "open")],
                    json!({"state": "open", "current_position": 100}),
                ),
                step(
                    Verb::SetPosition,
                    &[(Arg::Position, number(30.0))],
                    &[("blind/pos/set", "30")],
                    &[("blind/pos", "30")],
                    json!({"state": "open", "current_position": 30}),
                ),
                step(
                    Verb::SetTiltPosition,
                    &[(Arg::TiltPosition, number(50.0))],
                    &[("blind/tilt/set", "50")],
                    &[("blind/tilt", "50")],
                    json!({"current_tilt_position": 50}),
                ),
                step(
                    Verb::Close,
                    &[],
                    &[("blind/set", "CLOSE")],
                    &[("blind/pos", "0"), ("blind/state", "closed")],
                    json!({"state": "closed", "current_position": 0}),
                ),
            ],
        },
        Case {
            component: "cover",
            name: "inverted",
            config: json!({"dev_cla": "curtain", "pos_t": "inverted", "set_pos_t": "inverted/set", "pos_open": 0,
                "pos_clsd": 100, "pos_tpl": "{{ value_json.p }}", "set_pos_tpl": "{\"p\": {{ value }}}"}),
            before: vec![("inverted", r#"{"p":100}"#)],
            steps: vec![step(
                Verb::SetPosition,
                &[(Arg::Position, number(75.0))],
                &[("inverted/set", r#"{"p": 25}"#)],
                &[("inverted", r#"{"p":25}"#)],
                json!({"state": "open", "current_position": 75}),
            )],
        },
        Case {
            component: "valve",
            name: "garden",
            config: json!({"pos": true, "cmd_t": "garden/set", "stat_t": "garden"}),
            before: vec![("garden", "100")],
            steps: vec![step(
                Verb::Close,
                &[],
                &[("garden/set", "0")],
                &[("garden", "0")],
                json!({"state": "closed", "current_position": 0}),
            )],
        },
        Case {
            component: "vacuum",
            name: "robot",
            config: json!({"cmd_t": "robot/set", "stat_t": "robot", "sup_feat": ["start", "stop", "pause", "return_home",
                "fan_speed"], "set_fan_spd_t": "robot/speed/set", "fanspd_lst": ["low", "high"]}),
            before: vec![("robot", r#"{"state":"docked","fan_speed":"low"}"#)],
            steps: vec![
                step(
                    Verb::Start,
                    &[],
                    &[("robot/set", "start")],
                    &[("robot", r#"{"state":"cleaning","fan_speed":"low"}"#)],
                    json!({"state": "cleaning"}),
                ),
                step(
                    Verb::SetFanSpeed,
                    &[(Arg::FanSpeed, text("high"))],
                    &[("robot/speed/set", "high")],
                    &[("robot", r#"{"state":"cleaning","fan_speed":"high"}"#)],
                    json!({"fan_speed": "high"}),
                ),
                step(
                    Verb::ReturnToBase,
                    &[],
                    &[("robot/set", "return_to_base")],
                    &[("robot", r#"{"state":"returning"}"#)],
                    json!({"state": "returning"}),
                ),
            ],
        },
        Case {
            component: "lawn_mower",
            name: "mower",
            config: json!({"act_stat_t": "mower", "dock_cmd_t": "mower/dock", "dock_cmd_tpl": "{\"do\": \"{{ value }}\"}",
                "pause_cmd_t": "mower/pause", "strt_mw_cmd_t": "mower/start"}),
            before: vec![("mower", "mowing")],
            steps: vec![step(
                Verb::Dock,
                &[],
                &[("mower/dock", r#"{"do": "dock"}"#)],
                &[("mower", "docked")],
                json!({"state": "docked"}),
            )],
        },
    ]
}
