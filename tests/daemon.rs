//! The real binary with a simulated home, spoken to over MQTT and HTTP as a person would.

#[path = "daemon/bad_input.rs"]
mod bad_input;
mod common;
#[path = "daemon/faults.rs"]
mod faults;
#[path = "daemon/house.rs"]
mod house;
#[path = "daemon/scene.rs"]
mod scene;
#[path = "daemon/unlock.rs"]
mod unlock;
