//! Decoding under hostile and real input.

use std::collections::BTreeMap;
use std::path::PathBuf;

use homeloop::devices::profile::{ProfileCodec, Profiles};
use homeloop::devices::{Codec, Decoded, Payload};
use homeloop::home::State;
use proptest::prelude::*;

/// Every profile, with whatever it needs.
fn all_codecs() -> Vec<(String, ProfileCodec)> {
    let needed = [("topic", "a/b"), ("property", "state"), ("key", "Switch1")];
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
                    assert!(given.insert((*name).to_owned(), toml::Value::from(*value)).is_none());
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

/// Reads every state message of Zigbee2MQTT's own test runs with each of its profiles: none may be a fault but those
/// that are really about something else on the same topic.
#[test]
fn real_zigbee2mqtt_messages_are_read() {
    let data = std::env::var_os("HOMELOOP_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(data.join("mqtt/zigbee2mqtt.jsonl")) else {
        println!("skipped: no data in {}", data.display());
        return;
    };
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
