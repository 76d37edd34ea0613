//! Devices that announce themselves in their own words.

use homeloop::home::{Action, Arg, ArgValue, EntityId, Verb};

use super::data;
use super::replay::payload;
use super::world::World;

pub fn sent(world: &World, id: &str, verb: Verb, args: &[(Arg, ArgValue)]) -> Vec<(String, String)> {
    let seen = &world.entities[&EntityId::parse(id).unwrap()];
    assert!(seen.entity.action(verb).is_some(), "{id} offers {verb}");
    let mut action = Action::new(seen.entity.id.clone(), verb);
    for (arg, value) in args {
        action = action.with(*arg, value.clone());
    }
    let messages = seen.codec.encode(&action, &seen.state).unwrap();
    messages.into_iter().map(|message| (message.topic, message.payload)).collect()
}

pub fn shown(world: &World, id: &str) -> String {
    world.entities.get(&EntityId::parse(id).unwrap()).map_or_else(|| "missing".into(), |seen| seen.shown())
}

const TASMOTA: &str = r#"{"dn":"Plug","fn":["Plug",null],"mac":"AABBCCDDEEFF","md":"Generic","ofln":"Offline",
    "onln":"Online","t":"plug","ft":"%prefix%/%topic%/","tp":["cmnd","stat","tele"],"rl":[1,0],"swc":[-1],
    "so":{"30":0},"lt_st":0,"ver":1}"#;

#[test]
fn a_tasmota_relay_reads_both_of_its_topics_and_never_its_own_echo() {
    let mut world = World::new();
    world.message("tasmota/discovery/AABBCCDDEEFF/config", TASMOTA.as_bytes(), true);
    world.message("tele/plug/LWT", b"Online", true);
    assert_eq!(shown(&world, "switch.plug"), "unknown");
    world.message("tele/plug/STATE", br#"{"POWER":"ON"}"#, false);
    assert_eq!(shown(&world, "switch.plug"), "on");
    world.message("cmnd/plug/POWER", b"OFF", false);
    assert_eq!(shown(&world, "switch.plug"), "on", "a command is no report");
    world.message("stat/plug/RESULT", br#"{"POWER":"OFF"}"#, false);
    world.message("stat/plug/RESULT", br#"{"Dimmer":3}"#, false);
    assert_eq!(shown(&world, "switch.plug"), "off");
    assert_eq!(sent(&world, "switch.plug", Verb::TurnOn, &[]), [("cmnd/plug/POWER".into(), "ON".into())]);
    world.message("tasmota/discovery/AABBCCDDEEFF/config", b"", true);
    assert!(world.entities.is_empty());
}

#[test]
fn a_device_that_is_seen_twice_is_one_entity() {
    let single = br#"{"name":"Plug","uniq_id":"x","cmd_t":"cmnd/plug/POWER","stat_t":"tele/plug/STATE",
        "dev":{"cns":[["mac","AA:BB:CC:DD:EE:FF"]],"name":"Plug"}}"#;
    let switches =
        |world: &World| world.entities.keys().filter(|id| id.as_str().starts_with("switch.")).count();
    for order in [["native", "discovery"], ["discovery", "native"]] {
        let mut world = World::new();
        for kind in order {
            match kind {
                "native" => world.message("tasmota/discovery/AABBCCDDEEFF/config", TASMOTA.as_bytes(), true),
                _ => world.message("homeassistant/switch/x/config", single, true),
            }
        }
        assert_eq!(switches(&world), 1, "{order:?}");
        assert_eq!(world.entities.len(), 1, "{order:?}: nothing is left of the native announcement");
    }
}

#[test]
fn a_zigbee2mqtt_list_gives_entities_with_states_and_commands() {
    let list = br#"[{"ieee_address":"0x1","type":"Coordinator","friendly_name":"C"},
        {"ieee_address":"0x2","type":"Router","friendly_name":"desk lamp","definition":{"vendor":"V","model":"M",
        "description":"Lamp","exposes":[{"type":"light","features":[
            {"name":"state","property":"state","value_on":"ON","value_off":"OFF"},
            {"name":"brightness","property":"brightness","value_max":254},
            {"name":"color_temp","property":"color_temp","value_min":250,"value_max":454}]}]}},
        {"ieee_address":"0x3","type":"EndDevice","friendly_name":"door","definition":{"vendor":"V","model":"M",
        "description":"Contact","exposes":[
            {"type":"binary","name":"contact","property":"contact","value_on":false,"value_off":true,"access":1},
            {"type":"numeric","name":"battery","property":"battery","unit":"%","access":1,"category":"diagnostic"}]}}]"#;
    let mut world = World::new();
    world.message("zigbee2mqtt/bridge/devices", list, true);
    world.message("zigbee2mqtt/bridge/state", br#"{"state":"online"}"#, true);
    world.message(
        "zigbee2mqtt/desk lamp",
        br#"{"state":"ON","brightness":127,"color_temp":370,"color_mode":"color_temp"}"#,
        false,
    );
    world.message("zigbee2mqtt/door", br#"{"contact":false,"battery":90}"#, false);
    assert_eq!(world.entities.len(), 3, "{:?}", world.entities.keys());
    assert_eq!(shown(&world, "light.desk_lamp"), "on");
    let brightness = [(Arg::BrightnessPct, ArgValue::Number(100.0))];
    assert_eq!(
        sent(&world, "light.desk_lamp", Verb::TurnOn, &brightness),
        [("zigbee2mqtt/desk lamp/set".into(), r#"{"state":"ON","brightness":254}"#.into())]
    );
    let door: Vec<_> = world.entities.values().map(|seen| seen.shown()).collect();
    assert_eq!(door, ["on", "on", "90"], "{:?}", world.entities.keys());
    world.message("zigbee2mqtt/door/availability", br#"{"state":"offline"}"#, false);
    assert_eq!(shown(&world, "sensor.door_battery"), "unavailable");
    // A list without the lamp: it is gone.
    world.message("zigbee2mqtt/bridge/devices", b"[]", true);
    assert!(world.entities.is_empty());
}

#[test]
fn a_zigbee2mqtt_device_that_is_gone_stays_so_when_its_bridge_comes_back() {
    let list = br#"[{"ieee_address":"0x2","type":"Router","friendly_name":"plug","definition":{"vendor":"V","model":"M",
        "description":"Plug","exposes":[{"type":"switch","features":[
            {"name":"state","property":"state","value_on":"ON","value_off":"OFF"}]}]}}]"#;
    let mut world = World::new();
    world.message("zigbee2mqtt/bridge/devices", list, true);
    world.message("zigbee2mqtt/plug", br#"{"state":"ON"}"#, false);
    for (topic, payload, state) in [
        // Without the bridge's word for the device, the bridge's own is enough.
        ("bridge/state", r#"{"state":"online"}"#, "on"),
        ("plug/availability", r#"{"state":"offline"}"#, "unavailable"),
        ("bridge/state", "offline", "unavailable"),
        ("bridge/state", r#"{"state":"online"}"#, "unavailable"),
        ("plug/availability", "online", "on"),
        ("bridge/state", "offline", "unavailable"),
    ] {
        world.message(&format!("zigbee2mqtt/{topic}"), payload.as_bytes(), true);
        assert_eq!(shown(&world, "switch.plug"), state, "{topic} {payload}");
    }
}

#[test]
fn recorded_lists_of_zigbee2mqtt_are_read_without_a_refusal() {
    let Some(folder) = data::folder() else { return };
    let big = std::fs::read(folder.join("big_bridge_devices.json")).unwrap();
    let mut lists = vec![big];
    for message in data::lines("zigbee2mqtt_bridge.jsonl") {
        if message["topic"].as_str().is_some_and(|topic| topic.ends_with("/bridge/devices")) {
            lists.push(payload(&message));
        }
    }
    let mut entities = 0;
    for list in &lists {
        let mut world = World::new();
        world.message("zigbee2mqtt/bridge/devices", list, true);
        entities += world.entities.len();
        let refused: Vec<_> = world.notes.iter().filter(|note| note.starts_with("Refused")).take(5).collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
    println!("{} lists, {entities} entities", lists.len());
}

pub fn asked(world: &mut World, anew: bool) -> Vec<(String, String)> {
    let questions = world.discovery.questions(anew);
    questions.into_iter().map(|message| (message.topic, message.payload)).collect()
}

#[test]
fn a_tasmota_device_is_asked_once_for_its_state_and_its_measurements() {
    let mut world = World::new();
    assert!(!world.discovery.has_questions());
    for _ in 0..2 {
        world.message("tasmota/discovery/AABBCCDDEEFF/config", TASMOTA.as_bytes(), true);
    }
    assert!(world.discovery.has_questions());
    let questions =
        [("cmnd/plug/STATE".into(), String::new()), ("cmnd/plug/TelePeriod".into(), String::new())];
    assert_eq!(asked(&mut world, false), questions);
    world.message("tasmota/discovery/AABBCCDDEEFF/config", TASMOTA.as_bytes(), true);
    assert_eq!((asked(&mut world, false), world.discovery.has_questions()), (Vec::new(), false));
    assert_eq!(asked(&mut world, true), questions, "on a new connection everybody is asked");
    // What it answers: the state on stat/RESULT, the measurements on tele.
    world.message("tele/plug/LWT", b"Online", true);
    world.message("stat/plug/RESULT", br#"{"Time":"x","POWER":"ON","Wifi":{"RSSI":70}}"#, false);
    assert_eq!(shown(&world, "switch.plug"), "on");
    world.message("tasmota/discovery/AABBCCDDEEFF/config", b"", true);
    assert_eq!(asked(&mut world, true), []);
}

#[test]
fn nobody_is_asked_on_a_topic_that_is_not_a_devices_own() {
    for (own, pattern) in [
        ("zigbee2mqtt/bridge/request/restart", "%topic%/"),
        ("homeloop/home", "%topic%/"),
        ("a/+", "%topic%/"),
        ("$SYS", "%topic%/"),
    ] {
        let mut config: serde_json::Value = serde_json::from_str(TASMOTA).unwrap();
        config["t"] = own.into();
        config["ft"] = pattern.into();
        let mut world = World::new();
        world.message("tasmota/discovery/AABBCCDDEEFF/config", config.to_string().as_bytes(), true);
        assert_eq!(asked(&mut world, false), [], "{own}");
    }
}

/// The plug with these keys changed.
fn tasmota(changes: &serde_json::Value) -> Vec<u8> {
    let mut config: serde_json::Value = serde_json::from_str(TASMOTA).unwrap();
    config.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    config.to_string().into()
}

#[test]
fn tasmotas_options_change_where_answers_come_and_what_a_lamp_is() {
    let topic = "tasmota/discovery/AABBCCDDEEFF/config";
    let mut world = World::new();
    let config = serde_json::json!({"rl": [1, 1], "so": {"4": 1}, "state": ["Aus", "An", "TOGGLE", "HOLD"]});
    world.message(topic, &tasmota(&config), true);
    world.message("tele/plug/LWT", b"Online", true);
    world.message("stat/plug/POWER1", br#"{"POWER1":"Aus"}"#, false);
    // The plain word of one relay is on a topic that both listen to.
    world.message("stat/plug/POWER2", b"An", false);
    world.message("stat/plug/POWER2", br#"{"POWER2":"An"}"#, false);
    let ids: Vec<String> =
        world.entities.keys().map(|id| id.to_string()).filter(|id| id.starts_with("switch.")).collect();
    let states: Vec<String> = ids.iter().map(|id| shown(&world, id)).collect();
    assert_eq!(states, ["off", "on"], "{ids:?}");
    assert_eq!(sent(&world, &ids[0], Verb::TurnOn, &[]), [("cmnd/plug/POWER1".into(), "An".into())]);

    let mut world = World::new();
    let config = serde_json::json!({"rl": [1, 2, 2], "so": {"68": 1}, "lt_st": 5});
    world.message(topic, &tasmota(&config), true);
    world.message("tele/plug/LWT", b"Online", true);
    world.message(
        "tele/plug/STATE",
        br#"{"POWER1":"OFF","POWER2":"ON","Channel1":100,"POWER3":"ON","Channel2":20}"#,
        false,
    );
    let lamps: Vec<_> =
        world.entities.values().filter(|seen| seen.entity.id.as_str().starts_with("light.")).collect();
    let levels: Vec<_> = lamps.iter().map(|seen| seen.state.attributes.get("brightness").cloned()).collect();
    assert_eq!(levels, [Some(255.into()), Some(51.into())]);
    let full = [(Arg::BrightnessPct, ArgValue::Number(100.0))];
    assert_eq!(
        sent(&world, lamps[1].entity.id.as_str(), Verb::TurnOn, &full),
        [("cmnd/plug/Channel2".into(), "100".into()), ("cmnd/plug/POWER3".into(), "ON".into())]
    );
}
