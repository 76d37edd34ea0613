//! MQTT: the link to the broker, our topics, what comes in, what goes out, and the embedded broker.
//!
//! [`link`] keeps one connection and refuses to send while it is down. [`topics`] names our topics and finds who wants
//! a message. [`inbox`] turns messages on our topics into typed requests, or into a rejection that can be told.
//! [`outbox`] publishes events, results and approvals. [`broker`] is a broker inside the daemon for houses without one.
//! This module decides nothing and reads no device's payload: codecs in `devices` do.

pub mod announce;
pub mod broker;
pub mod inbox;
pub mod link;
pub mod outbox;
pub mod topics;
