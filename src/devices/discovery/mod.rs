//! Home Assistant's MQTT discovery: announcements in, entities and codecs out.
//!
//! [`Discovery`] is a registry without I/O: it is given every message under the discovery prefix (and the native
//! announcements of Tasmota, zigbee2mqtt and Shelly) and answers with what changed. Announcements are untrusted: see
//! `trust` for what a device may not be given, `quarantine` for messages that crashed the process, and
//! [`crate::devices::template`] for the sandbox.
//!
//! Not here: subscribing, states, areas from the home file, tiers, and who may accept a suspended entity.

mod abbreviations;
mod alarm_control_panel;
mod attributes;
mod availability;
mod binary_sensor;
mod build;
mod climate;
mod common;
mod cover;
mod device_tracker;
mod entity_codec;
mod event;
mod fan;
mod fields;
mod humidifier;
mod lawn_mower;
mod light;
mod lock;
mod message;
mod names;
mod native;
mod number;
mod outbox;
mod quarantine;
mod registry;
mod select;
mod sensor;
mod sensor_units;
mod siren;
mod stateless;
mod switch;
mod text;
mod thermometer;
mod topic;
mod trust;
mod update;
mod vacuum;
mod valve;
mod view;
mod water_heater;

use std::sync::Arc;

use crate::devices::codec::Codec;
use crate::home::{Entity, EntityId, Update};

pub use abbreviations::Table;
pub use fields::Refusal;
pub use names::slug;
pub use quarantine::{NoQuarantine, Quarantine};
pub use registry::{Accept, Discovery, Gate, Settings, address_name};
pub use trust::{Pin, Pins};

use light::plain_number as light_number;

/// The node id of our own announcements, which are never read back.
pub const OWN_NODE: &str = "homeloop";
/// Most entities that one device may announce.
pub const MAX_PER_DEVICE: usize = 512;

/// What a discovery message changed.
pub enum DiscoveryChange {
    Added {
        entity: Entity,
        codec: Arc<dyn Codec>,
        /// What is shown before the first message; never a live report.
        initial: Update,
    },
    /// The announcement changed: capabilities are replaced at once, the state is kept.
    Updated {
        entity: Entity,
        codec: Arc<dyn Codec>,
    },
    Removed(EntityId),
    /// The entity reports, and acts again only when a person accepted its new definition ([`Discovery::accept`]).
    Suspended {
        entity: EntityId,
        why: String,
    },
    /// The announcement is not accepted; what it announced before stays.
    Refused {
        topic: String,
        why: Refusal,
    },
    /// Nothing for us: our own announcement, a trigger, a component of a later version.
    Ignored {
        topic: String,
        why: String,
    },
}

impl std::fmt::Debug for DiscoveryChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiscoveryChange::Added { entity, .. } => write!(f, "Added({})", entity.id),
            DiscoveryChange::Updated { entity, .. } => write!(f, "Updated({})", entity.id),
            DiscoveryChange::Removed(id) => write!(f, "Removed({id})"),
            DiscoveryChange::Suspended { entity, why } => write!(f, "Suspended({entity}: {why})"),
            DiscoveryChange::Refused { topic, why } => write!(f, "Refused({topic}: {why})"),
            DiscoveryChange::Ignored { topic, why } => write!(f, "Ignored({topic}: {why})"),
        }
    }
}
