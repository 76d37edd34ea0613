//! homeloop beside Home Assistant: our own device over MQTT discovery, and its entities over its WebSocket API.

mod common;
#[path = "hass/device.rs"]
mod device;
#[path = "hass/entities.rs"]
mod entities;
#[path = "daemon/house.rs"]
#[allow(dead_code, reason = "a part of it is for other tests")]
mod house;
#[path = "hass/more.rs"]
mod more;
#[path = "daemon/process.rs"]
#[allow(dead_code, reason = "a part of it is for other tests")]
mod process;
#[path = "hass/server.rs"]
mod server;
