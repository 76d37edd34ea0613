//! Plays devices from the same profiles that the daemon reads, over any MQTT client.
//!
//! [`World`] is pure: messages and the time go in, messages come out. `app::simulation` drives it with real time.
//! A simulated device answers as real ones do: after a moment, through transitional states, with retained states and
//! availability at its start; with announcements ([`World::announced_by`]) it says first what it is. Faults are switched on for one entity at a time ([`SimFault`]).
//!
//! A person plays the house by publishing to `homeloop-sim/<entity_id>/set` (a value, or
//! `{"value": …, "attributes": {…}}`) and `homeloop-sim/<entity_id>/fault` (the name of a fault, or
//! `{"fault": …, "seconds": …}`; `none` ends it). Nothing here knows of policy, plans or confirmation.

mod announced;
mod behave;
mod bridge;
mod fault;
mod faulty;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

pub use announced::{Announcement, BadAnnouncement};
pub use fault::{BadFault, SimFault};
pub use world::World;

use serde_json::Value;

use crate::home::{Attr, EntityId};

/// First level of the topics with which a person plays the house.
pub const CONTROL_BASE: &str = "homeloop-sim";

/// Where somebody who reads announcements says that it is there: producers then announce again.
pub const BIRTH_TOPIC: &str = "homeassistant/status";
/// What it says there.
const BIRTH: &str = "online";

/// How a simulated device begins and how long it takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Setup {
    /// Its first value; without one, what its kind begins with.
    pub value: Option<String>,
    pub attributes: BTreeMap<Attr, Value>,
    /// How long a movement, a lock or an exit delay takes; without it, what is usual for its kind.
    pub takes: Option<Duration>,
    /// How long an alarm panel waits in `pending` before it goes off.
    pub entry: Option<Duration>,
    /// Contacts that keep an alarm panel from arming while they are on.
    pub zones: Vec<EntityId>,
}
