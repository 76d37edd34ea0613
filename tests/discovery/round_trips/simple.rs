//! Things with one value or none.

use homeloop::home::{Arg, Verb};
use serde_json::json;

use super::{Case, blind, number, step, text};

pub fn simple() -> Vec<Case> {
    vec![
        Case {
            component: "switch",
            name: "plug",
            config: json!({"cmd_t": "plug/set", "stat_t": "plug", "val_tpl": "{{ value_json.on }}", "pl_on": true, "pl_off": false,
                "cmd_tpl": "{\"on\": {{ value | lower }}}"}),
            before: vec![("plug", r#"{"on":false}"#)],
            steps: vec![step(
                Verb::TurnOn,
                &[],
                &[("plug/set", r#"{"on": true}"#)],
                &[("plug", r#"{"on":true}"#)],
                json!({"state": "on"}),
            )],
        },
        Case {
            component: "switch",
            name: "mute",
            config: json!({"cmd_t": "mute/set"}),
            before: vec![],
            steps: vec![
                blind(Verb::TurnOn, &[], &[("mute/set", "ON")], json!({"state": "on"})),
                // An assumed state is no report: the wish is sent again, and again nothing confirms it.
                blind(Verb::TurnOn, &[], &[("mute/set", "ON")], json!({"state": "on"})),
                blind(Verb::TurnOff, &[], &[("mute/set", "OFF")], json!({"state": "off"})),
            ],
        },
        Case {
            component: "number",
            name: "level",
            config: json!({"cmd_t": "level/set", "stat_t": "level", "min": 0, "max": 10, "step": 0.5}),
            before: vec![("level", "1")],
            steps: vec![
                step(
                    Verb::SetValue,
                    &[(Arg::Value, number(2.5))],
                    &[("level/set", "2.5")],
                    &[("level", "2.5")],
                    json!({"state": "2.5"}),
                ),
                step(
                    Verb::SetValue,
                    &[(Arg::Value, number(3.0))],
                    &[("level/set", "3")],
                    &[("level", "3")],
                    json!({"state": "3"}),
                ),
            ],
        },
        Case {
            component: "select",
            name: "program",
            config: json!({"cmd_t": "program/set", "stat_t": "program", "ops": ["day", "night"]}),
            before: vec![("program", "day")],
            steps: vec![step(
                Verb::SelectOption,
                &[(Arg::Option, text("night"))],
                &[("program/set", "night")],
                &[("program", "night")],
                json!({"state": "night"}),
            )],
        },
        Case {
            component: "text",
            name: "sign",
            config: json!({"cmd_t": "sign/set", "stat_t": "sign", "max": 10}),
            before: vec![("sign", "welcome")],
            steps: vec![step(
                Verb::SetValue,
                &[(Arg::Value, text("hello"))],
                &[("sign/set", "hello")],
                &[("sign", "hello")],
                json!({"state": "hello"}),
            )],
        },
        Case {
            component: "button",
            name: "chime",
            config: json!({"cmd_t": "chime/set"}),
            before: vec![],
            steps: vec![blind(Verb::Press, &[], &[("chime/set", "PRESS")], json!({}))],
        },
        Case {
            component: "scene",
            name: "cosy",
            config: json!({"cmd_t": "cosy/set", "pl_on": "recall"}),
            before: vec![],
            steps: vec![blind(Verb::Activate, &[], &[("cosy/set", "recall")], json!({}))],
        },
        Case {
            component: "notify",
            name: "display",
            config: json!({"cmd_t": "display/set", "cmd_tpl": "<{{ value }}>"}),
            before: vec![],
            steps: vec![blind(
                Verb::SendMessage,
                &[(Arg::Message, text("dinner"))],
                &[("display/set", "<dinner>")],
                json!({}),
            )],
        },
    ]
}
