//! Things that heat, cool, blow and moisten.

use homeloop::home::{Arg, ArgValue, Verb};
use serde_json::json;

use super::{Case, number, step, text};

pub fn air() -> Vec<Case> {
    vec![
        Case {
            component: "climate",
            name: "thermostat",
            config: json!({"modes": ["off", "heat", "cool"], "mode_cmd_t": "thermostat/mode/set", "mode_stat_t": "thermostat/mode",
                "temp_cmd_t": "thermostat/temp/set", "temp_stat_t": "thermostat/temp", "min_temp": 5, "max_temp": 30,
                "temp_step": 0.5, "fan_mode_cmd_t": "thermostat/fan/set", "fan_mode_stat_t": "thermostat/fan",
                "fan_modes": ["auto", "high"], "pr_mode_cmd_t": "thermostat/preset/set",
                "pr_mode_stat_t": "thermostat/preset", "pr_modes": ["eco"], "swing_mode_cmd_t": "thermostat/swing/set",
                "swing_mode_stat_t": "thermostat/swing", "swing_modes": ["on", "off"],
                "swing_h_mode_cmd_t": "thermostat/swing_h/set", "swing_h_mode_stat_t": "thermostat/swing_h",
                "swing_h_modes": ["left", "right"]}),
            before: vec![("thermostat/mode", "heat"), ("thermostat/temp", "20")],
            steps: vec![
                step(
                    Verb::SetTemperature,
                    &[(Arg::Temperature, number(21.5))],
                    &[("thermostat/temp/set", "21.5")],
                    &[("thermostat/temp", "21.5")],
                    json!({"state": "heat", "temperature": 21.5}),
                ),
                step(
                    Verb::SetHvacMode,
                    &[(Arg::HvacMode, text("cool"))],
                    &[("thermostat/mode/set", "cool")],
                    &[("thermostat/mode", "cool")],
                    json!({"state": "cool"}),
                ),
                step(
                    Verb::SetFanMode,
                    &[(Arg::FanMode, text("high"))],
                    &[("thermostat/fan/set", "high")],
                    &[("thermostat/fan", "high")],
                    json!({"fan_mode": "high"}),
                ),
                step(
                    Verb::SetPresetMode,
                    &[(Arg::PresetMode, text("eco"))],
                    &[("thermostat/preset/set", "eco")],
                    &[("thermostat/preset", "eco")],
                    json!({"preset_mode": "eco"}),
                ),
                step(
                    Verb::SetSwingMode,
                    &[(Arg::SwingMode, text("on"))],
                    &[("thermostat/swing/set", "on")],
                    &[("thermostat/swing", "on")],
                    json!({"swing_mode": "on"}),
                ),
                step(
                    Verb::SetSwingHorizontalMode,
                    &[(Arg::SwingHorizontalMode, text("left"))],
                    &[("thermostat/swing_h/set", "left")],
                    &[("thermostat/swing_h", "left")],
                    json!({"swing_horizontal_mode": "left"}),
                ),
            ],
        },
        Case {
            component: "water_heater",
            name: "boiler",
            config: json!({"modes": ["off", "eco"], "mode_cmd_t": "boiler/mode/set", "mode_stat_t": "boiler/mode",
                "temp_cmd_t": "boiler/temp/set", "temp_stat_t": "boiler/temp", "min_temp": 30, "max_temp": 60}),
            before: vec![("boiler/mode", "eco"), ("boiler/temp", "50")],
            steps: vec![
                step(
                    Verb::SetTemperature,
                    &[(Arg::Temperature, number(45.0))],
                    &[("boiler/temp/set", "45.0")],
                    &[("boiler/temp", "45")],
                    json!({"state": "eco", "temperature": 45}),
                ),
                step(
                    Verb::SetTemperature,
                    &[(Arg::Temperature, number(40.0)), (Arg::Mode, text("off"))],
                    &[("boiler/mode/set", "off"), ("boiler/temp/set", "40.0")],
                    &[("boiler/mode", "off"), ("boiler/temp", "40")],
                    json!({"state": "off", "temperature": 40}),
                ),
            ],
        },
        Case {
            component: "fan",
            name: "fan",
            config: json!({"cmd_t": "fan/set", "stat_t": "fan", "pct_cmd_t": "fan/speed/set", "pct_stat_t": "fan/speed",
                "spd_rng_min": 1, "spd_rng_max": 4, "osc_cmd_t": "fan/osc/set", "osc_stat_t": "fan/osc",
                "dir_cmd_t": "fan/dir/set", "dir_stat_t": "fan/dir", "pr_mode_cmd_t": "fan/preset/set",
                "pr_mode_stat_t": "fan/preset", "pr_modes": ["sleep"]}),
            before: vec![("fan", "ON"), ("fan/speed", "1")],
            steps: vec![
                step(
                    Verb::SetPercentage,
                    &[(Arg::Percentage, number(75.0))],
                    &[("fan/speed/set", "3")],
                    &[("fan/speed", "3")],
                    json!({"state": "on", "percentage": 75}),
                ),
                step(
                    Verb::Oscillate,
                    &[(Arg::Oscillating, ArgValue::Bool(true))],
                    &[("fan/osc/set", "oscillate_on")],
                    &[("fan/osc", "oscillate_on")],
                    json!({"oscillating": true}),
                ),
                step(
                    Verb::SetDirection,
                    &[(Arg::Direction, text("reverse"))],
                    &[("fan/dir/set", "reverse")],
                    &[("fan/dir", "reverse")],
                    json!({"direction": "reverse"}),
                ),
                step(
                    Verb::SetPresetMode,
                    &[(Arg::PresetMode, text("sleep"))],
                    &[("fan/preset/set", "sleep")],
                    &[("fan/preset", "sleep")],
                    json!({"preset_mode": "sleep"}),
                ),
                step(Verb::TurnOff, &[], &[("fan/set", "OFF")], &[("fan", "OFF")], json!({"state": "off"})),
            ],
        },
        Case {
            component: "humidifier",
            name: "humid",
            config: json!({"cmd_t": "humid/set", "stat_t": "humid", "hum_cmd_t": "humid/target/set",
                "hum_stat_t": "humid/target", "modes": ["normal", "boost"], "mode_cmd_t": "humid/mode/set",
                "mode_stat_t": "humid/mode"}),
            before: vec![("humid", "ON")],
            steps: vec![
                step(
                    Verb::SetHumidity,
                    &[(Arg::Humidity, number(55.0))],
                    &[("humid/target/set", "55")],
                    &[("humid/target", "55")],
                    json!({"state": "on", "humidity": 55}),
                ),
                step(
                    Verb::SetMode,
                    &[(Arg::Mode, text("boost"))],
                    &[("humid/mode/set", "boost")],
                    &[("humid/mode", "boost")],
                    json!({"mode": "boost"}),
                ),
            ],
        },
    ]
}
