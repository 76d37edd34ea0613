//! Shelly devices of the second generation, by what they say themselves.

use homeloop::home::{Arg, ArgValue, Category, EntityId, Verb};
use serde_json::{Value, json};

use super::native::{asked, sent, shown};
use super::world::World;

#[test]
fn a_shelly_is_known_by_its_notifications() {
    let mut world = World::new();
    let full = br#"{"src":"shellyplus1pm-a8032ab12345","method":"NotifyFullStatus","params":{"ts":1.0,
        "switch:0":{"id":0,"output":false,"apower":0.0},"input:0":{"id":0,"state":false},"sys":{"uptime":3}}}"#;
    world.message("shellyplus1pm-a8032ab12345/events/rpc", full, false);
    world.message("shellyplus1pm-a8032ab12345/online", b"true", true);
    let id = "switch.shellyplus1pm_a8032ab12345_switch_0";
    let delta = br#"{"method":"NotifyStatus","params":{"switch:0":{"id":0,"output":true}}}"#;
    world.message("shellyplus1pm-a8032ab12345/events/rpc", delta, false);
    assert_eq!(shown(&world, id), "on");
    let power = br#"{"method":"NotifyStatus","params":{"switch:0":{"id":0,"apower":7.5}}}"#;
    world.message("shellyplus1pm-a8032ab12345/events/rpc", power, false);
    assert_eq!(shown(&world, id), "on", "a message about something else says nothing about the output");
    assert_eq!(shown(&world, "sensor.shellyplus1pm_a8032ab12345_switch_0_power"), "7.5");
    world.message("shellyplus1pm-a8032ab12345/status/switch:0", br#"{"id":0,"output":false}"#, false);
    assert_eq!(shown(&world, id), "off");
    let call = r#"{"id":1,"src":"homeloop","method":"Switch.Set","params":{"id":0,"on":true}}"#;
    assert_eq!(sent(&world, id, Verb::TurnOn, &[]), [("shellyplus1pm-a8032ab12345/rpc".into(), call.into())]);
}

#[test]
fn a_shelly_that_says_nothing_is_found_by_being_online_and_asked() {
    let id = "shellyplus1pm-a8032ab12345";
    let mut world = World::new();
    world.message("porch/online", b"true", true);
    world.message(&format!("{id}/online"), b"false", true);
    assert_eq!(asked(&mut world, false), [], "one is no Shelly, the other is off");
    world.message(&format!("{id}/online"), b"true", true);
    let question = format!(r#"{{"id":1,"src":"{id}/homeloop","method":"Shelly.GetStatus"}}"#);
    assert_eq!(asked(&mut world, false), [(format!("{id}/rpc"), question)]);
    let answer = format!(
        r#"{{"id":1,"src":"{id}","dst":"{id}/homeloop","result":{{"switch:0":{{"id":0,"output":true,"apower":7.5}},
            "cover:0":{{"id":0,"state":"closed","current_pos":0}},"sys":{{"uptime":3}}}}}}"#
    );
    world.message(&format!("{id}/homeloop/rpc"), answer.as_bytes(), false);
    world.message(&format!("{id}/online"), b"true", true);
    let switch = "switch.shellyplus1pm_a8032ab12345_switch_0";
    assert_eq!(shown(&world, switch), "on", "the answer is read as a state: {:?}", world.entities.keys());
    assert_eq!(shown(&world, "sensor.shellyplus1pm_a8032ab12345_switch_0_power"), "7.5");
    assert_eq!(shown(&world, "cover.shellyplus1pm_a8032ab12345_cover_0"), "closed");
    assert_eq!(asked(&mut world, false), []);
    // A notification of the same device announces nothing twice.
    let more = br#"{"method":"NotifyStatus","params":{"switch:0":{"output":false},"input:0":{"id":0,"state":true}}}"#;
    world.message(&format!("{id}/events/rpc"), more, false);
    assert_eq!((shown(&world, switch).as_str(), world.entities.len()), ("off", 4), "{:?}", world.notes);
    assert!(world.notes.is_empty(), "{:?}", world.notes);
    // One that was away may have changed meanwhile.
    world.message(&format!("{id}/online"), b"false", true);
    world.message(&format!("{id}/online"), b"true", true);
    assert_eq!(asked(&mut world, false).len(), 1);
}

const ID: &str = "shellyx-a8032ab00002";

/// A device that has told all its components, and is there.
fn told(components: &Value) -> World {
    let mut world = World::new();
    say(&mut world, "NotifyFullStatus", components);
    // What announces is no report, and what was retained comes when somebody asks for it.
    world.message(&format!("{ID}/online"), b"true", true);
    say(&mut world, "NotifyStatus", components);
    assert!(world.notes.is_empty(), "{:?}", world.notes);
    world
}

fn say(world: &mut World, method: &str, components: &Value) {
    let message = json!({"src": ID, "method": method, "params": components}).to_string();
    world.message(&format!("{ID}/events/rpc"), message.as_bytes(), false);
}

fn entity(end: &str) -> String {
    let (domain, name) = end.split_once('.').unwrap();
    format!("{domain}.shellyx_a8032ab00002_{name}")
}

fn attribute(world: &World, id: &str, name: &str) -> Value {
    let seen = &world.entities[&EntityId::parse(id).unwrap()];
    seen.state.attributes.get(name).cloned().unwrap_or_default()
}

fn call(method: &str, params: &str) -> [(String, String); 1] {
    let payload = format!(r#"{{"id":1,"src":"homeloop","method":"{method}","params":{{{params}}}}}"#);
    [(format!("{ID}/rpc"), payload)]
}

#[test]
fn its_lamps_have_colours_and_whites() {
    let world = told(&json!({
        "rgbw:0": {"id": 0, "output": true, "rgb": [255, 120, 0], "brightness": 42, "white": 10},
        "cct:0": {"id": 0, "output": true, "brightness": 50, "ct": 3500},
        "rgbcct:0": {"id": 0, "output": true, "brightness": 100, "mode": "cct", "ct": 4000, "rgb": [1, 2, 3]},
    }));
    let (strip, bulb, both) = (entity("light.rgbw_0"), entity("light.cct_0"), entity("light.rgbcct_0"));
    assert_eq!(shown(&world, &strip), "on");
    assert_eq!(attribute(&world, &strip, "rgb_color"), json!([255, 120, 0]));
    assert_eq!(attribute(&world, &strip, "brightness"), json!(107));
    assert_eq!(attribute(&world, &bulb, "color_temp_kelvin"), json!(3500));
    assert_eq!(attribute(&world, &both, "color_temp_kelvin"), json!(4000));
    assert_eq!(attribute(&world, &both, "color_mode"), json!("color_temp"));
    let on = |id: &str, args: &[(Arg, ArgValue)]| sent(&world, id, Verb::TurnOn, args);
    let (red, warm) =
        ((Arg::RgbColor, ArgValue::Rgb([255, 0, 0])), (Arg::ColorTempKelvin, ArgValue::Number(3000.0)));
    let percent = |value| (Arg::BrightnessPct, ArgValue::Number(value));
    for (id, args, method, params) in [
        (&strip, vec![], "RGBW.Set", r#""id":0,"on":true"#),
        (&strip, vec![red.clone()], "RGBW.Set", r#""id":0,"on":true,"rgb":[255,0,0]"#),
        (&strip, vec![percent(0.2)], "RGBW.Set", r#""id":0,"on":true,"brightness":1"#),
        (
            &strip,
            vec![percent(50.0), (Arg::Transition, ArgValue::Number(2.0))],
            "RGBW.Set",
            r#""id":0,"on":true,"brightness":50,"transition_duration":2.0"#,
        ),
        (&bulb, vec![warm.clone()], "CCT.Set", r#""id":0,"on":true,"ct":3000"#),
        (&both, vec![warm], "RGBCCT.Set", r#""id":0,"on":true,"mode":"cct","ct":3000"#),
        (&both, vec![red], "RGBCCT.Set", r#""id":0,"on":true,"mode":"rgb","rgb":[255,0,0]"#),
    ] {
        assert_eq!(on(id, &args), call(method, params), "{id} {args:?}");
    }
    let off = sent(&world, &bulb, Verb::TurnOff, &[]);
    assert_eq!(off, call("CCT.Set", r#""id":0,"on":false"#));
}

#[test]
fn a_bulb_of_both_shows_the_light_that_it_shines_in() {
    let mut world =
        told(&json!({"rgbcct:0": {"id": 0, "output": true, "mode": "rgb", "ct": 4000, "rgb": [0, 0, 255]}}));
    let bulb = entity("light.rgbcct_0");
    assert_eq!(attribute(&world, &bulb, "rgb_color"), json!([0, 0, 255]));
    say(&mut world, "NotifyStatus", &json!({"rgbcct:0": {"mode": "cct", "ct": 3000, "rgb": [0, 0, 255]}}));
    assert_eq!(attribute(&world, &bulb, "color_mode"), json!("color_temp"));
    say(&mut world, "NotifyStatus", &json!({"rgbcct:0": {"brightness": 10}}));
    assert_eq!(attribute(&world, &bulb, "color_temp_kelvin"), json!(3000));
}

#[test]
fn its_meters_are_read_where_they_stand() {
    let world = told(&json!({
        "em:0": {"id": 0, "a_act_power": 951.2, "a_voltage": 230.1, "total_act_power": 2.5, "n_current": null},
        "emdata:0": {"id": 0, "total_act": 1234.5, "total_act_ret": 6.0},
        "em1:1": {"id": 1, "act_power": 501.8, "voltage": 234.9},
        "switch:0": {"id": 0, "output": true, "aenergy": {"total": 12.3}, "temperature": {"tC": 44.5, "tF": 112.1}},
    }));
    for (id, value) in [
        ("sensor.em_0_phase_a_power", "951.2"),
        ("sensor.em_0_phase_a_voltage", "230.1"),
        ("sensor.em_0_total_power", "2.5"),
        ("sensor.emdata_0_energy", "1234.5"),
        ("sensor.emdata_0_returned_energy", "6.0"),
        ("sensor.em1_1_power", "501.8"),
        ("sensor.switch_0_energy", "12.3"),
        ("sensor.switch_0_device_temperature", "44.5"),
    ] {
        assert_eq!(shown(&world, &entity(id)), value, "{id}");
    }
    assert_eq!(world.entities.len(), 10, "{:?}", world.entities.keys());
}

#[test]
fn what_runs_on_a_battery_keeps_its_last_values_while_it_sleeps() {
    let mut world = told(&json!({
        "flood:0": {"id": 0, "alarm": false, "mute": false},
        "smoke:0": {"id": 0, "alarm": true},
        "devicepower:0": {"id": 0, "battery": {"V": 3.0, "percent": 88}, "external": {"present": false}},
    }));
    world.message(&format!("{ID}/online"), b"false", true);
    assert_eq!(shown(&world, &entity("binary_sensor.flood_0")), "off");
    assert_eq!(shown(&world, &entity("binary_sensor.smoke_0")), "on");
    let battery = EntityId::parse(&entity("sensor.devicepower_0_battery")).unwrap();
    assert_eq!(world.entities[&battery].shown(), "88");
    assert_eq!(world.entities[&battery].entity.category, Category::Diagnostic);
    say(&mut world, "NotifyStatus", &json!({"flood:0": {"id": 0, "alarm": true}}));
    let flood = EntityId::parse(&entity("binary_sensor.flood_0")).unwrap();
    assert_eq!(world.entities[&flood].shown(), "on");
    assert_eq!(world.entities[&flood].entity.device_class.as_deref(), Some("moisture"));
    // Plugged in, it is there all the time.
    say(&mut world, "NotifyStatus", &json!({"devicepower:0": {"id": 0, "external": {"present": true}}}));
    world.message(&format!("{ID}/online"), b"false", true);
    assert_eq!(world.entities[&flood].shown(), "unavailable");
}

#[test]
fn what_sleeps_is_unavailable_when_it_did_not_come_back() {
    let world = told(&json!({
        "sys": {"wakeup_period": 7200},
        "temperature:0": {"id": 0, "tC": 21.5},
        "devicepower:0": {"id": 0, "battery": {"V": 3.0, "percent": 88}},
    }));
    let sensor = EntityId::parse(&entity("sensor.temperature_0_temperature")).unwrap();
    let expiry = world.entities[&sensor].codec.expiry();
    assert_eq!(expiry.unavailable_after, Some(std::time::Duration::from_secs(2 * 7200 + 3600)));
    let world = told(&json!({"temperature:0": {"id": 0, "tC": 21.5}, "sys": {"uptime": 5}}));
    assert_eq!(world.entities[&sensor].codec.expiry().unavailable_after, None, "it is there all the time");
}

#[test]
fn invented_components_are_no_entities_and_take_no_room() {
    let mut world = told(&json!({"switch:0": {"id": 0, "output": true}}));
    for number in 0..1000 {
        let invented = [
            format!("x{number}:0"),
            format!("switch:+{number}"),
            format!("switch:{number}'] }}}}"),
            format!("switch:0/{number}"),
        ];
        for name in invented {
            say(&mut world, "NotifyStatus", &json!({name: {"lux": 1, "output": true, "apower": 1}}));
        }
    }
    assert_eq!(world.entities.len(), 1, "{:?}", world.entities.keys());
    for number in 0..1000 {
        say(&mut world, "NotifyStatus", &json!({format!("illuminance:{number}"): {"lux": 1}}));
    }
    assert_eq!(world.entities.len(), 64, "one switch, and what else may be");
}

#[test]
fn another_profile_of_a_device_has_other_entities() {
    let mut world = told(&json!({"rgb:0": {"id": 0, "output": true, "rgb": [1, 2, 3], "apower": 1.0}}));
    assert_eq!(world.entities.len(), 2);
    say(&mut world, "NotifyStatus", &json!({"sys": {}}));
    assert_eq!(world.entities.len(), 2, "a part of the state takes nothing away");
    say(&mut world, "NotifyFullStatus", &json!({"light:0": {"id": 0, "output": true, "brightness": 10}}));
    let left: Vec<String> = world.entities.keys().map(EntityId::to_string).collect();
    assert_eq!(left, [entity("light.light_0")]);
}
