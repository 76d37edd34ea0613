//! What announces simulated devices: retained messages as their producers send them, one a line, with the entities that
//! each stands for. The lines are those of a recording (`homeloop entities --from` plays them too).

use serde::Deserialize;

use crate::devices::profile::Said;
use crate::home::{BadEntityId, EntityId};

/// One announcement, and the entities that it makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    pub said: Said,
    pub entities: Vec<EntityId>,
}

/// Why a line is no announcement.
#[derive(Debug, thiserror::Error)]
pub enum BadAnnouncement {
    #[error("line {line}: {error}; expected entities, topic, payload and retain")]
    NotJson { line: usize, error: serde_json::Error },
    #[error("line {line}: {error}")]
    EntityId { line: usize, error: BadEntityId },
}

/// A line as it is written. Other keys belong to the form of recordings.
#[derive(Deserialize)]
struct Line {
    entities: Vec<String>,
    topic: String,
    payload: String,
    retain: bool,
}

impl Announcement {
    /// Reads every line of `text`.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, BadAnnouncement> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(number, line)| Self::parse(number, line)).collect()
    }

    fn parse(line: usize, text: &str) -> Result<Self, BadAnnouncement> {
        let read: Line =
            serde_json::from_str(text).map_err(|error| BadAnnouncement::NotJson { line, error })?;
        let id = |id: &String| EntityId::parse(id).map_err(|error| BadAnnouncement::EntityId { line, error });
        Ok(Self {
            entities: read.entities.iter().map(id).collect::<Result<_, _>>()?,
            said: Said { topic: read.topic, payload: read.payload, retained: read.retain },
        })
    }
}
