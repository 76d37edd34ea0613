//! Sensors, lights, numbers, options and fans.

use serde_json::json;

use super::Step::{Do, Recv};
use super::run;

#[test]
fn sensors_read_times_and_know_what_is_a_sign_of_life() {
    run(
        "sensor",
        json!({"stat_t": "s", "dev_cla": "timestamp"}),
        &[
            Recv("s", "2024-01-01T10:00:00.123+01:00", "2024-01-01T09:00:00+00:00", json!({})),
            Recv("s", "2024-01-01T10:00Z", "2024-01-01T10:00:00+00:00", json!({})),
            Recv("s", "2024-01-01T12:00:00+0100", "2024-01-01T11:00:00+00:00", json!({})),
            Recv("s", "2024-01-01T10:00:00", "2024-01-01T11:00:00+00:00", json!({})),
            Recv("s", "2024-01-02", "2024-01-01T11:00:00+00:00", json!({})),
            Recv("s", "2024-01-01 12:00:00Z", "2024-01-01T12:00:00+00:00", json!({})),
            Recv("s", "nonsense", "unknown", json!({})),
        ],
    );
    let broken = json!({"stat_t": "s", "exp_aft": 60, "val_tpl": "{{ value|int('x')/0 }}"});
    run("sensor", broken, &[Recv("s", "5", "unavailable", json!({}))]);
    run(
        "sensor",
        json!({"stat_t": "s", "exp_aft": 60, "dev_cla": "enum", "ops": ["a"]}),
        &[Recv("s", "b", "unknown", json!({})), Recv("s", "a", "a", json!({}))],
    );
    run(
        "sensor",
        json!({"stat_t": "s", "exp_aft": 60, "unit_of_meas": "W"}),
        &[Recv("s", "b", "unavailable", json!({})), Recv("s", "5", "5", json!({}))],
    );
}

#[test]
fn lights_of_every_schema_assume_and_show_what_is_theirs() {
    let basic = json!({"cmd_t": "c", "stat_t": "s", "bri_cmd_t": "b", "rgb_cmd_t": "r", "fx_cmd_t": "f", "fx_list": ["a", "b"]});
    let red =
        json!({"color_mode": "rgb", "brightness": 102, "hs_color": [0.0, 100.0], "rgb_color": [255, 0, 0]});
    run(
        "light",
        basic,
        &[
            Recv("s", "ON", "on", json!({"color_mode": "rgb"})),
            Do(
                "turn_on",
                json!({"brightness_pct": 40}),
                &[("b", "102"), ("c", "ON")],
                "on",
                json!({"brightness": 102}),
            ),
            Do("turn_on", json!({"rgb_color": [255, 0, 0]}), &[("r", "255,0,0"), ("c", "ON")], "on", red),
            Do("turn_on", json!({"effect": "a"}), &[("f", "a"), ("c", "ON")], "on", json!({"effect": "a"})),
        ],
    );
    let template = json!({"schema": "template", "cmd_t": "c", "stat_t": "s",
        "cmd_on_tpl": "on{{red}},{{green}},{{blue}}", "cmd_off_tpl": "off", "r_tpl": "{{value_json.r}}",
        "g_tpl": "{{value_json.g}}", "b_tpl": "{{value_json.b}}", "clr_temp_tpl": "{{value_json.ct}}"});
    run(
        "light",
        template,
        &[
            Recv("s", "on", "on", json!({"color_mode": "unknown"})),
            Recv(
                "s",
                r#"{"r":255,"g":0,"b":0,"ct":370}"#,
                "on",
                json!({"color_mode": "hs", "rgb_color": [255, 0, 0]}),
            ),
            Recv(
                "s",
                r#"{"r":"None","g":"None","b":"None","ct":370}"#,
                "on",
                json!({"color_mode": "color_temp", "color_temp_kelvin": 2702}),
            ),
        ],
    );
    let json_light = json!({"schema": "JSON", "cmd_t": "c", "stat_t": "s", "sup_clrm": ["brightness"], "effect": true, "flash": true});
    run(
        "light",
        json_light,
        &[
            Recv("s", r#"{"state":"ON"}"#, "on", json!({"color_mode": "brightness"})),
            Recv(
                "s",
                r#"{"state":"ON","brightness":-5,"effect":"x"}"#,
                "on",
                json!({"brightness": 1, "effect": "x"}),
            ),
            Recv(
                "s",
                r#"{"state":"ON","brightness":true,"effect":null}"#,
                "on",
                json!({"brightness": 1, "effect": null}),
            ),
            Do(
                "turn_on",
                json!({"transition": 3, "flash": "short"}),
                &[("c", r#"{"state":"ON","transition":3.0,"flash":2}"#)],
                "on",
                json!({}),
            ),
        ],
    );
    let whites = json!({"schema": "json", "cmd_t": "c", "stat_t": "s", "sup_clrm": ["rgbww"], "min_mirs": 200,
        "max_mirs": 370, "brightness": true});
    const WARM: &str = r#"{"state":"ON","color":{"r":0,"g":0,"b":0,"c":28,"w":100},"brightness":128}"#;
    const COLOR: &str = r#"{"state":"ON","color":{"r":105,"g":90,"b":0,"c":255,"w":255}}"#;
    run(
        "light",
        whites,
        &[
            Do(
                "turn_on",
                json!({"color_temp_kelvin": 3000, "brightness_pct": 50.2}),
                &[("c", WARM)],
                "unknown",
                json!({}),
            ),
            Do("turn_on", json!({"rgb_color": [255, 200, 100]}), &[("c", COLOR)], "unknown", json!({})),
            Recv(
                "s",
                r#"{"state":"ON","color_mode":"rgbww","color":{"r":"10","g":20,"b":30,"c":40,"w":50}}"#,
                "on",
                json!({"rgbww_color": [10, 20, 30, 40, 50], "rgb_color": [50, 48, 47], "hs_color": [20.0, 6.0]}),
            ),
        ],
    );
}

#[test]
fn numbers_options_and_fans() {
    run(
        "number",
        json!({"cmd_t": "c", "stat_t": "s", "min": -5, "max": 1e6}),
        &[
            Recv("s", "53.900000000000006", "53.9", json!({})),
            Recv("s", "1e3", "1000.0", json!({})),
            Recv("s", "60.0", "60.0", json!({})),
        ],
    );
    run("number", json!({"cmd_t": "c", "stat_t": "s"}), &[Recv("s", "0", "0", json!({}))]);
    run(
        "select",
        json!({"cmd_t": "c", "stat_t": "s", "ops": ["None", "a"]}),
        &[Recv("s", "a", "a", json!({})), Recv("s", "None", "unknown", json!({}))],
    );
    let fan = json!({"cmd_t": "c", "pct_cmd_t": "p", "spd_rng_min": 2, "spd_rng_max": 5, "stat_t": "s",
        "osc_cmd_t": "o", "dir_cmd_t": "d", "pr_modes": ["x"], "pr_mode_cmd_t": "m"});
    let shows = |percent: i64| json!({"percentage": percent});
    run(
        "fan",
        fan,
        &[
            Do("turn_on", json!({"percentage": 0}), &[("c", "ON")], "unknown", json!({})),
            Do("set_percentage", json!({"percentage": 0}), &[("p", "1")], "unknown", shows(0)),
            Do(
                "turn_on",
                json!({"percentage": 50, "preset_mode": "x"}),
                &[("c", "ON"), ("p", "3"), ("m", "x")],
                "unknown",
                shows(50),
            ),
            Do(
                "oscillate",
                json!({"oscillating": true}),
                &[("o", "oscillate_on")],
                "unknown",
                json!({"oscillating": true}),
            ),
            Do(
                "set_direction",
                json!({"direction": "reverse"}),
                &[("d", "reverse")],
                "unknown",
                json!({"direction": "reverse"}),
            ),
        ],
    );
    run(
        "fan",
        json!({"cmd_t": "c", "pct_stat_t": "p", "osc_stat_t": "o", "stat_t": "s"}),
        &[
            Recv("p", "50", "unknown", json!({"percentage": null})),
            Recv("o", "oscillate_on", "unknown", json!({"oscillating": null})),
        ],
    );
    run(
        "fan",
        json!({"cmd_t": "c", "pct_stat_t": "p", "pct_cmd_t": "pc", "stat_t": "s"}),
        &[Recv("p", "50.7", "unknown", json!({"percentage": null})), Recv("p", "33", "unknown", shows(33))],
    );
}
