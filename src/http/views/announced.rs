//! What clients see of announcements: what became of them, and why an entity is what it is.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::EntityView;

/// One thing that became of an announcement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnnouncementView {
    #[schema(value_type = String, format = DateTime)]
    pub at: DateTime<Utc>,
    pub kind: AnnouncementKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Topic of the announcement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Why it was suspended, refused or ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnnouncementKind {
    Added,
    Updated,
    Removed,
    /// It reports, and acts when a person has accepted its new definition.
    Suspended,
    Refused,
    Ignored,
}

impl AnnouncementKind {
    pub fn word(self) -> &'static str {
        match self {
            AnnouncementKind::Added => "added",
            AnnouncementKind::Updated => "updated",
            AnnouncementKind::Removed => "removed",
            AnnouncementKind::Suspended => "suspended",
            AnnouncementKind::Refused => "refused",
            AnnouncementKind::Ignored => "ignored",
        }
    }
}

/// Announcements that wait for a person or were not accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DiscoveryView {
    /// Entities that announced themselves.
    pub announced: usize,
    /// Entity ids that wait for a person's acceptance, with the reason.
    pub suspended: BTreeMap<String, String>,
    /// Topics of refused announcements, with the reason.
    pub refused: BTreeMap<String, String>,
}

/// Everything that is known of one entity, for a person who asks why it is as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyView {
    pub entity: EntityView,
    /// `home.toml`, or the topic of the announcement.
    pub source: String,
    /// The announcement in full keys; missing for entities of the home file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub announcement: Option<Value>,
    /// Topics that it reads.
    pub reads: Vec<String>,
    /// Topics that its actions publish to, by the key that names them.
    pub publishes: BTreeMap<String, String>,
    /// Templates by the key that names them.
    pub templates: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<MessageView>,
    /// Messages that could not be read.
    pub faults: u64,
    /// Why it is available or not.
    pub availability: String,
    /// Why it only reports until a person accepts it, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<String>,
    /// What policy says about each of its actions.
    pub tiers: Vec<TierView>,
}

/// The latest message that an entity read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageView {
    pub topic: String,
    /// As text, without control characters; at most 4 KiB.
    pub payload: String,
    /// Whether it was longer.
    pub cut: bool,
    /// What was, and not what is: the broker had kept it.
    pub retained: bool,
    #[schema(value_type = String, format = DateTime)]
    pub at: DateTime<Utc>,
    /// Why it could not be read, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What policy says about one verb, without arguments: the most careful reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TierView {
    pub verb: String,
    /// `G1`, `G2` or `G3`.
    pub tier: String,
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// What led to it; the last one decided.
    pub reasons: Vec<String>,
}
