//! Home Assistant over its WebSocket API: its entities as ours, its actions as a [`crate::actuate::Port`].
//!
//! Areas, floors, devices, names and states come from its registries; an action is one `call_service` of a closed
//! table and is confirmed by the state that Home Assistant then reports, as with MQTT. What administers (updates,
//! backups, add-ons, shell commands, the system itself) is in no table and therefore does not exist. An entity that
//! the daemon already knows by MQTT is not made a second time. Nothing here decides, and nothing is queued while the
//! connection is down.

mod actions;
mod codec;
mod connection;
mod entities;
mod link;
mod port;
mod probe;
mod protocol;
mod registries;
mod states;
mod sync;
mod transport;

pub use connection::{Choice, HassSettings, Problem, Status};
pub use entities::{Known, Twins};
pub use link::{Hass, Parts};
pub use probe::probe;

/// What an entity of Home Assistant has as [`crate::home::Entity::source`].
pub const SOURCE: &str = "hass";
