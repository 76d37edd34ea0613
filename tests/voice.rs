//! The Wyoming server of the real binary, over real sockets, with the bytes that Home Assistant sends.

#[path = "voice/bad_input.rs"]
mod bad_input;
#[path = "voice/client.rs"]
mod client;
mod common;
#[path = "voice/conversation.rs"]
mod conversation;
#[path = "voice/describe.rs"]
mod describe;
#[path = "daemon/house.rs"]
#[allow(dead_code, reason = "what is said here is said over Wyoming")]
mod house;
#[path = "voice/zeroconf.rs"]
mod zeroconf;
