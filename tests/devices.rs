//! Devices as they are played and read: profiles, the registry and the simulator together.

mod common;

#[path = "devices/broker.rs"]
mod broker;
#[path = "devices/decode.rs"]
mod decode;
#[path = "devices/loopback.rs"]
mod loopback;
#[path = "devices/simulator.rs"]
mod simulator;
