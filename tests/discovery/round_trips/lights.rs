//! Lamps in their schemas and colours.

use homeloop::home::{Arg, ArgValue, Verb};
use serde_json::json;

use super::{Case, number, numbers, step, text};

pub fn lights() -> Vec<Case> {
    vec![
        Case {
            component: "light",
            name: "plain",
            config: json!({"cmd_t": "plain/set", "stat_t": "plain", "bri_cmd_t": "plain/bri/set", "bri_stat_t": "plain/bri",
                "bri_scl": 100, "clr_temp_cmd_t": "plain/ct/set", "clr_temp_stat_t": "plain/ct",
                "rgb_cmd_t": "plain/rgb/set", "rgb_stat_t": "plain/rgb", "fx_cmd_t": "plain/fx/set", "fx_stat_t": "plain/fx",
                "fx_list": ["rainbow", "none"]}),
            before: vec![("plain", "OFF")],
            steps: vec![
                step(Verb::TurnOn, &[], &[("plain/set", "ON")], &[("plain", "ON")], json!({"state": "on"})),
                step(
                    Verb::TurnOn,
                    &[(Arg::BrightnessPct, number(40.0))],
                    &[("plain/bri/set", "40"), ("plain/set", "ON")],
                    &[("plain/bri", "40"), ("plain", "ON")],
                    json!({"state": "on", "brightness": 102}),
                ),
                step(
                    Verb::TurnOn,
                    &[(Arg::RgbColor, ArgValue::Rgb([255, 0, 0]))],
                    &[("plain/rgb/set", "255,0,0"), ("plain/set", "ON")],
                    &[("plain/rgb", "255,0,0"), ("plain", "ON")],
                    json!({"state": "on", "rgb_color": [255, 0, 0]}),
                ),
                step(
                    Verb::TurnOn,
                    &[(Arg::Effect, text("rainbow"))],
                    &[("plain/fx/set", "rainbow"), ("plain/set", "ON")],
                    &[("plain/fx", "rainbow"), ("plain", "ON")],
                    json!({"state": "on", "effect": "rainbow"}),
                ),
                step(
                    Verb::TurnOff,
                    &[],
                    &[("plain/set", "OFF")],
                    &[("plain", "OFF")],
                    json!({"state": "off"}),
                ),
            ],
        },
        Case {
            component: "light",
            name: "hue",
            config: json!({"cmd_t": "hue/set", "stat_t": "hue", "hs_cmd_t": "hue/hs/set", "hs_stat_t": "hue/hs"}),
            before: vec![("hue", "ON")],
            steps: vec![
                step(
                    Verb::TurnOn,
                    &[(Arg::RgbColor, ArgValue::Rgb([0, 0, 255]))],
                    &[("hue/hs/set", "240.0,100.0"), ("hue/set", "ON")],
                    &[("hue/hs", "240,100"), ("hue", "ON")],
                    json!({"state": "on", "hs_color": [240, 100]}),
                ),
                step(
                    Verb::TurnOn,
                    &[(Arg::HsColor, numbers(&[30.0, 80.0]))],
                    &[("hue/hs/set", "30.0,80.0"), ("hue/set", "ON")],
                    &[("hue/hs", "30,80"), ("hue", "ON")],
                    json!({"state": "on", "hs_color": [30, 80]}),
                ),
            ],
        },
        Case {
            component: "light",
            name: "strip",
            config: json!({"schema": "json", "cmd_t": "strip/set", "stat_t": "strip", "brightness": true,
                "sup_clrm": ["rgb", "white"]}),
            before: vec![(
                "strip",
                r#"{"state":"ON","color_mode":"rgb","color":{"r":255,"g":0,"b":0},"brightness":200}"#,
            )],
            steps: vec![step(
                Verb::TurnOn,
                &[(Arg::White, number(200.0))],
                &[("strip/set", r#"{"state":"ON","white":200}"#)],
                &[("strip", r#"{"state":"ON","color_mode":"white","brightness":200}"#)],
                json!({"state": "on", "color_mode": "white", "brightness": 200}),
            )],
        },
        Case {
            component: "light",
            name: "zigbee",
            config: json!({"schema": "json", "cmd_t": "zigbee/set", "stat_t": "zigbee", "brightness": true, "bri_scl": 254,
                "sup_clrm": ["color_temp", "xy"], "min_mireds": 150, "max_mireds": 500}),
            before: vec![("zigbee", r#"{"state":"OFF"}"#)],
            steps: vec![
                step(
                    Verb::TurnOn,
                    &[(Arg::BrightnessPct, number(100.0)), (Arg::Transition, number(2.0))],
                    &[("zigbee/set", r#"{"state":"ON","transition":2.0,"brightness":254}"#)],
                    &[("zigbee", r#"{"state":"ON","brightness":254}"#)],
                    json!({"state": "on", "brightness": 255}),
                ),
                step(
                    Verb::TurnOn,
                    &[(Arg::ColorTempKelvin, number(4000.0))],
                    &[("zigbee/set", r#"{"state":"ON","color_temp":250}"#)],
                    &[("zigbee", r#"{"state":"ON","color_temp":250,"color_mode":"color_temp"}"#)],
                    json!({"state": "on", "color_temp_kelvin": 4000}),
                ),
                step(
                    Verb::TurnOff,
                    &[],
                    &[("zigbee/set", r#"{"state":"OFF"}"#)],
                    &[("zigbee", r#"{"state":"OFF"}"#)],
                    json!({"state": "off"}),
                ),
            ],
        },
        Case {
            component: "light",
            name: "scripted",
            config: json!({"schema": "template", "cmd_t": "scripted/set", "stat_t": "scripted",
                "cmd_on_tpl": "on{% if brightness is defined %},{{ brightness }}{% endif %}", "cmd_off_tpl": "off",
                "stat_tpl": "{{ value.split(',')[0] }}", "bri_tpl": "{{ value.split(',')[1] }}"}),
            before: vec![("scripted", "off,0")],
            steps: vec![
                step(
                    Verb::TurnOn,
                    &[(Arg::BrightnessPct, number(20.0))],
                    &[("scripted/set", "on,51")],
                    &[("scripted", "on,51")],
                    json!({"state": "on", "brightness": 51}),
                ),
                step(
                    Verb::TurnOff,
                    &[],
                    &[("scripted/set", "off")],
                    &[("scripted", "off,0")],
                    json!({"state": "off"}),
                ),
            ],
        },
    ]
}

/// Lamps with more than red, green and blue.
pub fn more_lights() -> Vec<Case> {
    vec![
        Case {
            component: "light",
            name: "exact",
            config: json!({"schema": "json", "cmd_t": "exact/set", "stat_t": "exact", "sup_clrm": ["xy"], "brightness": true}),
            before: vec![("exact", r#"{"state":"OFF"}"#)],
            steps: vec![step(
                Verb::TurnOn,
                &[(Arg::XyColor, numbers(&[0.3, 0.4]))],
                &[("exact/set", r#"{"state":"ON","color":{"x":0.3,"y":0.4}}"#)],
                &[("exact", r#"{"state":"ON","color_mode":"xy","color":{"x":0.301,"y":0.4}}"#)],
                json!({"state": "on", "xy_color": [0.301, 0.4]}),
            )],
        },
        Case {
            component: "light",
            name: "four",
            config: json!({"cmd_t": "four/set", "stat_t": "four", "rgbw_cmd_t": "four/rgbw/set", "rgbw_stat_t": "four/rgbw"}),
            before: vec![("four", "OFF")],
            steps: vec![step(
                Verb::TurnOn,
                &[(Arg::RgbwColor, numbers(&[255.0, 128.0, 0.0, 64.0]))],
                &[("four/rgbw/set", "255,128,0,64"), ("four/set", "ON")],
                &[("four", "ON"), ("four/rgbw", "255,128,0,64")],
                json!({"state": "on", "rgbw_color": [255, 128, 0, 64]}),
            )],
        },
        Case {
            component: "light",
            name: "five",
            config: json!({"schema": "json", "cmd_t": "five/set", "stat_t": "five", "sup_clrm": ["rgbww"], "brightness": true,
                "flash": true, "flsh_tsht": 3}),
            before: vec![("five", r#"{"state":"OFF"}"#)],
            steps: vec![
                step(
                    Verb::TurnOn,
                    &[
                        (Arg::RgbwwColor, numbers(&[255.0, 0.0, 0.0, 10.0, 20.0])),
                        (Arg::BrightnessPct, number(100.0)),
                    ],
                    &[(
                        "five/set",
                        r#"{"state":"ON","color":{"r":255,"g":0,"b":0,"c":10,"w":20},"brightness":255}"#,
                    )],
                    &[(
                        "five",
                        r#"{"state":"ON","color_mode":"rgbww","brightness":255,"color":{"r":255,"g":0,"b":0,"c":10,"w":20}}"#,
                    )],
                    json!({"state": "on", "rgbww_color": [255, 0, 0, 10, 20]}),
                ),
                // It shines already; a flash is sent all the same.
                step(
                    Verb::TurnOn,
                    &[(Arg::Flash, text("short"))],
                    &[("five/set", r#"{"state":"ON","flash":3}"#)],
                    &[("five", r#"{"state":"ON"}"#)],
                    json!({"state": "on"}),
                ),
            ],
        },
    ]
}
