//! The real binary with a simulated home, spoken to over MQTT and HTTP as a person would.

#[path = "daemon/bad_input.rs"]
mod bad_input;
#[path = "daemon/chat.rs"]
mod chat;
mod common;
#[path = "daemon/faults.rs"]
mod faults;
#[path = "daemon/hermes.rs"]
mod hermes;
#[path = "daemon/house.rs"]
mod house;
#[path = "daemon/mcp.rs"]
mod mcp;
#[path = "daemon/scene.rs"]
mod scene;
#[path = "daemon/speech.rs"]
mod speech;
#[path = "daemon/unlock.rs"]
mod unlock;
