//! Voice: programs that hear and speak, over their own protocols.
//!
//! `wyoming` makes homeloop a conversation agent of Home Assistant, `hermes` speaks with Rhasspy's services, `speech`
//! uses Wyoming's speech services. Voice may ask and never approve: a principal of
//! this module holds `read` and `command` alone, and a spoken "yes" decides nothing.

mod frame;
pub mod hermes;
pub mod speech;
pub mod wyoming;

pub use frame::{FrameError, read_event, write_event};
