//! Any announcement of any component.
#![no_main]

use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::devices::discovery::{Accept, Discovery, NoQuarantine, Pins, Settings};
use homeloop::devices::template::Sandbox;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut discovery = discovery();
    for component in ["light", "climate", "cover", "sensor", "device", "alarm_control_panel"] {
        let topic = format!("homeassistant/{component}/x/config");
        discovery.on_message(&topic, data, true);
        discovery.on_message(&topic, b"", true);
    }
    discovery.on_message("zigbee2mqtt/bridge/devices", data, true);
    discovery.on_message("tasmota/discovery/AABBCCDDEEFF/config", data, true);
    discovery.on_message("shelly/events/rpc", data, false);
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
