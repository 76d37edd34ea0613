//! Devices that announce themselves in their own words.

use homeloop::home::{Arg, ArgValue, Verb};
use serde_json::{Value, json};

use super::{Case, number, step, text};

/// What the devices announce, all of it retained.
pub fn announcements() -> Vec<(&'static str, Value)> {
    let tasmota = |mac: &str, own: &str, more: Value| {
        let mut config = json!({"dn": own, "fn": [null], "mac": mac, "md": "Generic", "ofln": "Offline", "onln": "Online",
            "state": ["OFF", "ON", "TOGGLE", "HOLD"], "t": own, "ft": "%prefix%/%topic%/",
            "tp": ["cmnd", "stat", "tele"], "rl": [0], "swc": [-1], "so": {"30": 0}, "lt_st": 0, "lk": 1, "if": 0,
            "ver": 1});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        config
    };
    let feature = |name: &str| json!({"name": name, "property": name, "access": 7});
    let zigbee = json!([
        {"ieee_address": "0x1", "type": "Router", "friendly_name": "zblind", "definition": {"vendor": "V", "model": "M",
            "description": "Blind", "exposes": [{"type": "cover", "features": [feature("state"), feature("position")]}]}},
        {"ieee_address": "0x2", "type": "EndDevice", "friendly_name": "ztrv", "definition": {"vendor": "V", "model": "M",
            "description": "Valve", "exposes": [{"type": "climate", "features": [
                {"name": "occupied_heating_setpoint", "property": "occupied_heating_setpoint", "value_min": 5,
                    "value_max": 30, "value_step": 0.5},
                feature("local_temperature"),
                {"name": "system_mode", "property": "system_mode", "values": ["off", "auto", "heat"]},
                {"name": "running_state", "property": "running_state", "values": ["idle", "heat"]}]}]}},
        {"ieee_address": "0x3", "type": "EndDevice", "friendly_name": "zlock", "definition": {"vendor": "V", "model": "M",
            "description": "Lock", "exposes": [{"type": "lock", "features": [
                {"name": "state", "property": "state", "value_on": "LOCK", "value_off": "UNLOCK", "access": 7}]}]}}
    ]);
    vec![
        (
            "tasmota/discovery/AABBCC000001/config",
            tasmota("AABBCC000001", "tlamp", json!({"rl": [2], "lt_st": 5})),
        ),
        ("tasmota/discovery/AABBCC000002/config", tasmota("AABBCC000002", "tblind", json!({"rl": [3, 3]}))),
        ("tasmota/discovery/AABBCC000003/config", tasmota("AABBCC000003", "tfan", json!({"if": 1}))),
        ("zigbee2mqtt/bridge/devices", zigbee),
        ("zigbee2mqtt/bridge/state", json!({"state": "online"})),
        ("shellyx-a8032ab00001/online", json!(true)),
    ]
}

/// What the Shelly answers to the question that is put to it.
pub const SHELLY: (&str, &str) = (
    "shellyx-a8032ab00001/homeloop/rpc",
    r#"{"id":1,"src":"shellyx-a8032ab00001","dst":"shellyx-a8032ab00001/homeloop","result":{
        "light:0":{"id":0,"output":false,"brightness":10},"cover:0":{"id":0,"state":"closed","current_pos":0}}}"#,
);

/// Entities of these devices that would ask a person.
pub const GATED: &[&str] =
    &["cover.tblind_cover_1", "cover.zblind", "lock.zlock", "cover.shellyx_a8032ab00001_cover_0"];

fn case(
    component: &'static str,
    name: &'static str,
    before: &[(&'static str, &'static str)],
    steps: Vec<super::Step>,
) -> Case {
    Case { component, name, config: Value::Null, before: before.to_vec(), steps }
}

pub fn tasmota() -> Vec<Case> {
    let percent = |value| [(Arg::BrightnessPct, number(value))];
    let (power, result) = ("cmnd/tlamp/POWER", "stat/tlamp/RESULT");
    let lamp = vec![
        step(
            Verb::TurnOn,
            &percent(50.0),
            &[("cmnd/tlamp/Dimmer", "50"), (power, "ON")],
            &[(result, r#"{"POWER":"ON","Dimmer":50}"#)],
            json!({"state": "on", "brightness": 128}),
        ),
        step(
            Verb::TurnOn,
            &[(Arg::ColorTempKelvin, number(2702.0))],
            &[("cmnd/tlamp/CT", "370"), (power, "ON")],
            &[(result, r#"{"POWER":"ON","Dimmer":50,"White":50,"CT":370}"#)],
            json!({"color_temp_kelvin": 2702}),
        ),
        step(
            Verb::TurnOn,
            &[(Arg::RgbColor, ArgValue::Rgb([0, 255, 0]))],
            &[("cmnd/tlamp/Backlog", "NoDelay;HsbColor1 120;NoDelay;HsbColor2 100"), (power, "ON")],
            &[(result, r#"{"POWER":"ON","HSBColor":"120,100,50","White":0}"#)],
            json!({"hs_color": [120, 100], "rgb_color": [0, 255, 0]}),
        ),
        step(
            Verb::TurnOn,
            &[(Arg::Effect, text("Random"))],
            &[("cmnd/tlamp/Scheme", "4"), (power, "ON")],
            &[(result, r#"{"POWER":"ON","Scheme":4}"#)],
            json!({"effect": "Random"}),
        ),
        step(
            Verb::TurnOff,
            &[],
            &[(power, "OFF")],
            &[(result, r#"{"POWER":"OFF"}"#)],
            json!({"state": "off"}),
        ),
    ];
    let shutter = vec![
        step(
            Verb::Open,
            &[],
            &[("cmnd/tblind/Backlog", "ShutterOpen1")],
            &[
                ("stat/tblind/RESULT", r#"{"Shutter1":{"Position":10,"Direction":1,"Target":100}}"#),
                ("tele/tblind/SENSOR", r#"{"Shutter1":{"Position":100,"Direction":0,"Target":100}}"#),
            ],
            json!({"state": "open", "current_position": 100}),
        ),
        step(
            Verb::SetPosition,
            &[(Arg::Position, number(40.0))],
            &[("cmnd/tblind/ShutterPosition1", "40")],
            &[("stat/tblind/RESULT", r#"{"Shutter1":{"Position":40,"Direction":0,"Target":40}}"#)],
            json!({"state": "open", "current_position": 40}),
        ),
        step(
            Verb::Close,
            &[],
            &[("cmnd/tblind/Backlog", "ShutterClose1")],
            &[("stat/tblind/RESULT", r#"{"Shutter1":{"Position":0,"Direction":0,"Target":0}}"#)],
            json!({"state": "closed", "current_position": 0}),
        ),
    ];
    let fan = vec![
        step(
            Verb::SetPercentage,
            &[(Arg::Percentage, number(100.0))],
            &[("cmnd/tfan/FanSpeed", "3")],
            &[("stat/tfan/RESULT", r#"{"FanSpeed":3}"#)],
            json!({"state": "on", "percentage": 100}),
        ),
        step(
            Verb::TurnOff,
            &[],
            &[("cmnd/tfan/FanSpeed", "0")],
            &[("stat/tfan/RESULT", r#"{"FanSpeed":0}"#)],
            json!({"state": "off"}),
        ),
    ];
    let closed = r#"{"Time":"2026-01-01T00:00:00","Shutter1":{"Position":0,"Direction":0,"Target":0}}"#;
    vec![
        case(
            "light",
            "tlamp",
            &[("tele/tlamp/LWT", "Online"), ("tele/tlamp/STATE", r#"{"POWER":"OFF"}"#)],
            lamp,
        ),
        case(
            "cover",
            "tblind_cover_1",
            &[("tele/tblind/LWT", "Online"), ("tele/tblind/SENSOR", closed)],
            shutter,
        ),
        case("fan", "tfan", &[("tele/tfan/LWT", "Online"), ("tele/tfan/STATE", r#"{"FanSpeed":0}"#)], fan),
    ]
}

pub fn zigbee2mqtt() -> Vec<Case> {
    let blind = vec![
        step(
            Verb::Open,
            &[],
            &[("zigbee2mqtt/zblind/set/state", "OPEN")],
            &[("zigbee2mqtt/zblind", r#"{"state":"OPEN","position":100}"#)],
            json!({"state": "open", "current_position": 100}),
        ),
        step(
            Verb::SetPosition,
            &[(Arg::Position, number(40.0))],
            &[("zigbee2mqtt/zblind/set/position", "40")],
            &[("zigbee2mqtt/zblind", r#"{"state":"OPEN","position":40}"#)],
            json!({"state": "open", "current_position": 40}),
        ),
    ];
    let valve = vec![
        step(
            Verb::SetTemperature,
            &[(Arg::Temperature, number(21.5))],
            &[("zigbee2mqtt/ztrv/set/occupied_heating_setpoint", "21.5")],
            &[("zigbee2mqtt/ztrv", r#"{"occupied_heating_setpoint":21.5,"running_state":"heat"}"#)],
            json!({"temperature": 21.5, "hvac_action": "heating"}),
        ),
        step(
            Verb::SetHvacMode,
            &[(Arg::HvacMode, text("auto"))],
            &[("zigbee2mqtt/ztrv/set/system_mode", "auto")],
            &[("zigbee2mqtt/ztrv", r#"{"system_mode":"auto","running_state":"idle"}"#)],
            json!({"state": "auto", "hvac_action": "idle"}),
        ),
    ];
    let lock = vec![step(
        Verb::Lock,
        &[],
        &[("zigbee2mqtt/zlock/set/state", "LOCK")],
        &[("zigbee2mqtt/zlock", r#"{"state":"LOCK"}"#)],
        json!({"state": "locked"}),
    )];
    let warm = r#"{"system_mode":"heat","occupied_heating_setpoint":18,"local_temperature":19.5}"#;
    vec![
        case("cover", "zblind", &[("zigbee2mqtt/zblind", r#"{"position":0}"#)], blind),
        case("climate", "ztrv", &[("zigbee2mqtt/ztrv", warm)], valve),
        case("lock", "zlock", &[("zigbee2mqtt/zlock", r#"{"state":"UNLOCK"}"#)], lock),
    ]
}

pub fn shelly() -> Vec<Case> {
    let (rpc, events) = ("shellyx-a8032ab00001/rpc", "shellyx-a8032ab00001/events/rpc");
    let light = vec![
        step(
            Verb::TurnOn,
            &[(Arg::BrightnessPct, number(50.0))],
            &[(
                rpc,
                r#"{"id":1,"src":"homeloop","method":"Light.Set","params":{"id":0,"on":true,"brightness":50}}"#,
            )],
            &[(
                events,
                r#"{"method":"NotifyStatus","params":{"light:0":{"id":0,"output":true,"brightness":50}}}"#,
            )],
            json!({"state": "on", "brightness": 127}),
        ),
        step(
            Verb::TurnOff,
            &[],
            &[(rpc, r#"{"id":1,"src":"homeloop","method":"Light.Set","params":{"id":0,"on":false}}"#)],
            &[(events, r#"{"method":"NotifyStatus","params":{"light:0":{"id":0,"output":false}}}"#)],
            json!({"state": "off"}),
        ),
    ];
    let cover = vec![
        step(
            Verb::Open,
            &[],
            &[(rpc, r#"{"id":1,"src":"homeloop","method":"Cover.Open","params":{"id":0}}"#)],
            &[
                (events, r#"{"method":"NotifyStatus","params":{"cover:0":{"id":0,"state":"opening"}}}"#),
                ("shellyx-a8032ab00001/status/cover:0", r#"{"id":0,"state":"open","current_pos":100}"#),
            ],
            json!({"state": "open", "current_position": 100}),
        ),
        step(
            Verb::SetPosition,
            &[(Arg::Position, number(40.0))],
            &[(rpc, r#"{"id":1,"src":"homeloop","method":"Cover.GoToPosition","params":{"id":0,"pos":40}}"#)],
            &[(
                events,
                r#"{"method":"NotifyStatus","params":{"cover:0":{"id":0,"state":"stopped","current_pos":40}}}"#,
            )],
            json!({"state": "open", "current_position": 40}),
        ),
    ];
    vec![
        case("light", "shellyx_a8032ab00001_light_0", &[], light),
        case("cover", "shellyx_a8032ab00001_cover_0", &[], cover),
    ]
}
