//! Decoding under hostile and real input.

use std::collections::BTreeMap;
use std::path::PathBuf;

use homeloop::devices::profile::{ProfileCodec, Profiles};
use homeloop::devices::{Codec, Decoded, Payload};
use homeloop::home::State;
use proptest::prelude::*;

/// Every profile, with whatever it needs.
fn all_codecs() -> Vec<(String, ProfileCodec)> {
    let needed: [(&str, toml::Value); 7] = [
        ("topic", "a/b".into()),
        ("node", "a".into()),
        ("object", "b".into()),
        ("property", "state".into()),
        ("key", "Switch1".into()),
        ("options", vec!["ON", "OFF"].into()),
        ("scene", 3.into()),
    ];
    let profiles = Profiles::embedded().unwrap();
    let bind = |profile: &homeloop::devices::profile::Profile| {
        let mut given = BTreeMap::new();
        loop {
            match profile.bind(&given) {
                Ok(codec) => return codec,
                Err(error) => {
                    let (name, value) = needed
                        .iter()
                        .find(|(name, _)| error.message.contains(&format!("{name:?}")))
                        .unwrap_or_else(|| panic!("{}: {error}", profile.name()));
                    assert!(given.insert((*name).to_owned(), value.clone()).is_none());
                }
            }
        }
    };
    profiles.iter().map(|profile| (profile.name().to_owned(), bind(profile))).collect()
}

fn near_misses() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "state",
        "brightness",
        "color",
        "position",
        "ON",
        "OFF",
        "null",
        "true",
        "1e999",
        "-0",
        "\"x\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\u0000",
        "255,128,0",
        "FF80",
        "é",
        "nan",
    ]);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(word, 0..12).prop_map(|words| words.concat().into_bytes()),
        prop::collection::vec(("[a-z_]{1,12}", any::<f64>()), 0..4).prop_map(|members| {
            let members: serde_json::Map<String, serde_json::Value> =
                members.into_iter().map(|(name, number)| (name, serde_json::json!(number))).collect();
            serde_json::to_vec(&members).unwrap()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn decoding_never_panics(payload in near_misses(), retained: bool) {
        thread_local! {
            static CODECS: Vec<(String, ProfileCodec)> = all_codecs();
        }
        CODECS.with(|codecs| {
            for (_, codec) in codecs {
                for topic in codec.subscriptions() {
                    codec.decode(&topic, &Payload::new(&payload, retained), &State::default());
                }
                for topic in codec.command_topics() {
                    codec.understand(topic, &String::from_utf8_lossy(&payload));
                }
            }
        });
    }
}

fn data(file: &str) -> Option<String> {
    let folder = std::env::var_os("HOMELOOP_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let text = std::fs::read_to_string(folder.join(file));
    if text.is_err() {
        println!("skipped: no {file} in {}", folder.display());
    }
    text.ok()
}

/// Profile, device, further parameters, whether its full topic has the device first, and the states in order.
type TasmotaCase = (&'static str, &'static str, &'static [(&'static str, Given)], bool, &'static str);

/// A parameter in a table.
#[derive(Clone, Copy)]
enum Given {
    Text(&'static str),
    Yes,
}

impl From<Given> for toml::Value {
    fn from(given: Given) -> Self {
        match given {
            Given::Text(text) => text.into(),
            Given::Yes => true.into(),
        }
    }
}

/// Reads Tasmota's own messages, device by device, and compares the states that follow.
#[test]
fn real_tasmota_messages_are_read() {
    let Some(text) = data("mqtt/tasmota_native.jsonl") else { return };
    let profiles = Profiles::embedded().unwrap();
    let device_first = |id: &str| {
        [("command", "cmnd"), ("stat", "stat"), ("tele", "tele")]
            .map(|(name, prefix)| (name.to_owned(), toml::Value::from(format!("tasmota_{id}/{prefix}"))))
    };
    let cases: [TasmotaCase; 9] = [
        ("switch", "49A3BC", &[], true, "online; on; off; offline"),
        ("sensor", "49A3BC", &[("key", Given::Text("DHT11.Temperature"))], true, "online; 20.5; offline"),
        ("switch", "49A3BD", &[("relay", Given::Text("1"))], false, "online; on"),
        ("switch", "49A3BD", &[("relay", Given::Text("2"))], false, "online; off"),
        ("sensor", "49A3BD", &[("key", Given::Text("ENERGY.Power.1"))], false, "online; 12"),
        ("light", "49A3BE", &[], true, "online; on {brightness: 128}"),
        (
            "light",
            "49A3BF",
            &[("color", Given::Yes), ("color_temp", Given::Yes)],
            true,
            "online; on {brightness: 191, color_temp_kelvin: 3333, rgb_color: [255,128,0]}",
        ),
        (
            "cover",
            "49A3C0",
            &[("tilt", Given::Yes)],
            true,
            "online; open {current_position: 54, current_tilt_position: 75}; \
             opening {current_position: 99, current_tilt_position: 0}",
        ),
        ("fan", "49A3C1", &[], true, "online; on {percentage: 67}"),
    ];
    for (kind, id, parameters, first, expected) in cases {
        let mut given = BTreeMap::from([("topic".to_owned(), toml::Value::from(format!("tasmota_{id}")))]);
        given.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
        if first {
            given.extend(device_first(id));
        }
        let codec = profiles.get(&format!("tasmota.{kind}")).unwrap().bind(&given).unwrap();
        let mut seen = Vec::new();
        for line in text.lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            let topic = message["topic"].as_str().unwrap();
            let payload = message["payload"].as_str().unwrap();
            if !codec.subscriptions().iter().any(|filter| filter == topic) {
                continue;
            }
            match codec.decode(topic, &Payload::new(payload.as_bytes(), false), &State::default()) {
                Decoded::Report(update) => seen.push(shown(&update)),
                Decoded::Nothing => {}
                Decoded::Fault(fault) => panic!("{kind} {id} {payload}: {fault}"),
            }
        }
        assert_eq!(seen.join("; "), expected, "{kind} {id}");
    }
}

fn shown(update: &homeloop::home::Update) -> String {
    if let Some(availability) = update.availability {
        return format!("{availability:?}").to_lowercase();
    }
    let value = update.value.clone().flatten().unwrap_or("unknown".into());
    let mut attributes: Vec<String> = update
        .attributes
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.clone().unwrap_or_default()))
        .collect();
    attributes.sort();
    if attributes.is_empty() { value.into_owned() } else { format!("{value} {{{}}}", attributes.join(", ")) }
}

/// Reads every state message of Zigbee2MQTT's own test runs with each of its profiles: none may be a fault but those
/// that are really about something else on the same topic.
#[test]
fn real_zigbee2mqtt_messages_are_read() {
    let Some(text) = data("mqtt/zigbee2mqtt.jsonl") else { return };
    let profiles = Profiles::embedded().unwrap();
    let (mut read, mut values) = (0, BTreeMap::<String, u32>::new());
    for line in text.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let topic = message["topic"].as_str().unwrap();
        let Some(name) = topic.strip_prefix("zigbee2mqtt/").filter(|_| message["kind"] == "state") else {
            continue;
        };
        let payload = message["payload"].as_str().unwrap_or_default();
        if name.starts_with("bridge/") || !payload.starts_with('{') {
            continue;
        }
        read += 1;
        for kind in ["light", "switch", "cover", "climate"] {
            let given = BTreeMap::from([("topic".to_owned(), toml::Value::from(name))]);
            let codec = profiles.get(&format!("zigbee2mqtt.{kind}")).unwrap().bind(&given).unwrap();
            match codec.decode(topic, &Payload::new(payload.as_bytes(), false), &State::default()) {
                Decoded::Report(update) => {
                    if let Some(Some(value)) = update.value {
                        *values.entry(format!("{kind} {value}")).or_default() += 1;
                    }
                }
                Decoded::Nothing => {}
                // A light says ON where a cover says OPEN: the same property of another kind of device.
                Decoded::Fault(fault) => {
                    assert!(
                        matches!(fault, homeloop::devices::Fault::Value { .. }),
                        "{kind} {payload}: {fault}"
                    );
                }
            }
        }
    }
    assert!(read > 80, "{read}");
    for known in ["light on", "light off", "switch on", "cover open", "cover closed"] {
        assert!(values.get(known).is_some_and(|count| *count > 0), "{known} is in {values:?}");
    }
}
