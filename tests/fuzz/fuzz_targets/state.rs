//! Any state message, read by lights, covers, sensors and thermostats.
#![no_main]

use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::devices::discovery::{Accept, Discovery, DiscoveryChange, NoQuarantine, Pins, Settings};
use homeloop::devices::Payload;
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

fuzz_target!(|data: &[u8]| {
    for (component, config) in ANNOUNCED {
        let mut discovery = discovery();
        for change in discovery.on_message(&format!("homeassistant/{component}/x/config"), config.as_bytes(), true) {
            if let DiscoveryChange::Added { codec, .. } = change {
                let _ = codec.decode("s", &Payload::new(data, false), &State::default());
            }
        }
    }
});

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
