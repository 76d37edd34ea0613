//! Devices as they are played and read: profiles, the registry and the simulator together.

#[path = "devices/decode.rs"]
mod decode;
#[path = "devices/loopback.rs"]
mod loopback;
#[path = "devices/simulator.rs"]
mod simulator;
