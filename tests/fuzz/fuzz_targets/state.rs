//! Any state message, read by lights, covers, sensors and thermostats.
#![no_main]

use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::devices::discovery::{Accept, Discovery, DiscoveryChange, NoQuarantine, Pins, Settings};
use homeloop::devices::{Codec, Payload};
use homeloop::devices::template::Sandbox;
use homeloop::home::State;
use libfuzzer_sys::fuzz_target;

const ANNOUNCED: &[(&str, &str)] = &[
    ("light", r#"{"schema":"json","cmd_t":"c","stat_t":"s","brightness":true,"sup_clrm":["xy","rgbww"]}"#),
    ("light", r#"{"cmd_t":"c","stat_t":"s","rgb_cmd_t":"c","rgb_stat_t":"s","bri_stat_t":"s"}"#),
    ("cover", r#"{"cmd_t":"c","stat_t":"s","pos_t":"s","set_pos_t":"c","tilt_status_t":"s","tilt_cmd_t":"c"}"#),
    ("sensor", r#"{"stat_t":"s","val_tpl":"{{ value_json.a | float(0) | round(1) }}","json_attr_t":"s"}"#),
    ("climate", r#"{"temp_stat_t":"s","mode_stat_t":"s","act_t":"s","curr_temp_t":"s"}"#),
    ("update", r#"{"stat_t":"s"}"#),
    ("event", r#"{"stat_t":"s","event_types":["a"]}"#),
];

thread_local! {
    // Announcing costs more than reading: once is enough. What a codec remembers is part of what is tried.
    static CODECS: Vec<Arc<dyn Codec>> = ANNOUNCED.iter().map(|(component, config)| codec(component, config)).collect();
}

fuzz_target!(|data: &[u8]| {
    CODECS.with(|codecs| {
        for codec in codecs {
            let _ = codec.decode("s", &Payload::new(data, false), &State::default());
        }
    });
});

fn codec(component: &str, config: &str) -> Arc<dyn Codec> {
    let mut changes =
        discovery().on_message(&format!("homeassistant/{component}/x/config"), config.as_bytes(), true);
    match changes.pop() {
        Some(DiscoveryChange::Added { codec, .. }) => codec,
        other => panic!("{component} is no entity: {}", other.is_some()),
    }
}

fn discovery() -> Discovery {
    let sandbox = Sandbox::new(Clock::system(), chrono_tz::UTC);
    let settings = Settings {
        prefix: "homeassistant".into(),
        base: "homeloop/home".into(),
        accept: Accept::OnFirstUse,
        gate: Arc::new(|_| false),
        quarantine: Arc::new(NoQuarantine),
        pins: Pins::default(),
        taken: Default::default(),
    };
    Discovery::new(sandbox, settings)
}
