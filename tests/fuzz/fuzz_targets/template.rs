//! Any template over any payload.
#![no_main]

use homeloop::clock::Clock;
use homeloop::devices::Payload;
use homeloop::devices::template::{MAX_OUTPUT, Sandbox, Scope};
use homeloop::home::State;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &[u8])| {
    let (source, payload) = input;
    if let Ok(template) = Sandbox::new(Clock::system(), chrono_tz::UTC).compile(source) {
        let state = State::default();
        let scope = Scope { entity_id: "sensor.x", name: "x", state: &state };
        if let Ok(text) = template.value(&Payload::new(payload, false), scope, &[]) {
            assert!(text.len() <= MAX_OUTPUT);
        }
    }
});
