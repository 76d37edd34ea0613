//! Floors, areas, people and scenes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::entity::Name;

/// The places of a home by id, in a stable order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Places {
    pub floors: BTreeMap<String, Floor>,
    pub areas: BTreeMap<String, Area>,
    pub people: BTreeMap<String, Person>,
}

impl Places {
    /// The floor id of an area, if both are known.
    pub fn floor_of(&self, area: &str) -> Option<&str> {
        self.areas.get(area)?.floor.as_deref()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    pub id: String,
    pub name: String,
    pub aliases: Vec<Name>,
    /// 0 is the ground floor; orders "upstairs" and "downstairs".
    pub level: Option<i8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    pub id: String,
    pub name: String,
    pub aliases: Vec<Name>,
    /// Id of the floor.
    pub floor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub id: String,
    pub name: String,
    pub aliases: Vec<Name>,
}

/// A named list of actions. Its tier is that of its highest leaf.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scene {
    pub id: String,
    pub name: String,
    pub aliases: Vec<Name>,
    pub steps: Vec<SceneStep>,
    /// Whether ungated steps wait until the gated ones are decided. Default: they do not wait.
    pub waits_for_approval: bool,
}

/// One step of a scene: an action on one entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SceneStep(pub Action);
