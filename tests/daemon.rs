//! The real binary with a simulated home, spoken to over MQTT and HTTP as a person would.

mod common;
#[path = "daemon/bad_input.rs"]
mod bad_input;
#[path = "daemon/house.rs"]
mod house;
#[path = "daemon/scene.rs"]
mod scene;
#[path = "daemon/unlock.rs"]
mod unlock;
