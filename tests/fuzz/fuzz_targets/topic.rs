//! Any topic.
#![no_main]

use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::devices::discovery::{Accept, Discovery, NoQuarantine, Pins, Settings};
use homeloop::devices::template::Sandbox;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|topic: &str| {
    discovery().on_message(topic, br#"{"cmd_t":"a","stat_t":"b"}"#, true);
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
