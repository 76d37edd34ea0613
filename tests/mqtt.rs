//! The MQTT link and the embedded broker, against each other and against mosquitto.

mod common;

#[path = "mqtt/broker.rs"]
mod broker;
#[path = "mqtt/brokers.rs"]
mod brokers;
#[path = "mqtt/channel.rs"]
mod channel;
#[path = "mqtt/conformance.rs"]
mod conformance;
#[path = "mqtt/faults.rs"]
mod faults;
#[path = "mqtt/retained.rs"]
mod retained;
#[path = "mqtt/tls.rs"]
mod tls;
