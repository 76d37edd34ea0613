//! Plays devices from the same profiles that the daemon reads, over any MQTT client.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::home::{Attr, EntityId};

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
