//! `home.toml`: the places of a home, its entities, its scenes, and corrections of entities that are discovered.
//!
//! Everything is checked here, each error with file and line: the rest of the daemon can rely on ids that exist,
//! topics that are topics, and scenes whose actions their entities offer. Nothing is subscribed or sent here.

mod build;
mod format;
mod overrides;
mod scenes;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub use overrides::{Applied, Override, Overrides, TierNote};

use crate::devices::profile::{ProfileCodec, Profiles};
use crate::devices::simulate::Setup;
use crate::devices::{FileError, Source};
use crate::home::{Entity, EntityId, House, Places, Scene};

/// The text of the home of the demo.
pub const DEMO_HOME: &str = include_str!("../../devices/demo-home.toml");
/// What announces the devices of the demo, for [`crate::devices::simulate::Announcement::parse_all`].
pub const DEMO_ANNOUNCED: &str = include_str!("../../devices/demo-announced.jsonl");

/// What is wrong in a home file, and where.
pub type HomeFileError = FileError;

/// A home file that was read and checked.
#[derive(Default)]
pub struct HomeFile {
    pub places: Places,
    pub scenes: Vec<Scene>,
    /// In the order of the file.
    pub entities: Vec<HomeEntity>,
    pub overrides: Overrides,
}

/// An entity of the home file.
pub struct HomeEntity {
    pub entity: Entity,
    /// How it speaks. Groups have none: their members speak.
    pub codec: Option<Arc<ProfileCodec>>,
    /// How the simulator plays it.
    pub setup: Setup,
}

impl HomeFile {
    /// Reads a home file from disk.
    pub fn load(path: &Path, profiles: &Profiles) -> Result<Self, HomeFileError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| FileError::whole(&file, format!("cannot be read: {error}")))?;
        Self::parse(&file, &text, profiles)
    }

    /// Reads a home file from text; `file` is the name for errors.
    pub fn parse(file: &str, text: &str, profiles: &Profiles) -> Result<Self, HomeFileError> {
        let source = Source { file, text };
        let parsed: format::HomeToml = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
        build::build(source, parsed, profiles)
    }

    /// The home of the demo, which is part of the binary.
    pub fn demo(profiles: &Profiles) -> Result<Self, HomeFileError> {
        Self::parse("demo-home.toml", DEMO_HOME, profiles)
    }

    /// The entities that speak, for [`crate::devices::simulate::World::new`].
    pub fn players(&self) -> impl Iterator<Item = (Entity, Arc<ProfileCodec>, Setup)> + '_ {
        self.entities
            .iter()
            .filter_map(|known| Some((known.entity.clone(), known.codec.clone()?, known.setup.clone())))
    }

    /// The home without the entities that announce themselves: what the file says of their names, areas and classes
    /// corrects what they announce. Scenes stay; the door checks their steps against what is announced.
    pub fn leaving_to_announcements(mut self, announced: &BTreeSet<EntityId>) -> Self {
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.entities.into_iter().partition(|known| announced.contains(&known.entity.id));
        self.entities = kept;
        self.overrides = self.overrides.after(gone.iter().map(|known| &known.entity));
        self
    }

    /// The house with these places, scenes and entities, their states still unknown.
    pub fn house(&self) -> House {
        let mut house = House::new(self.places.clone());
        for scene in &self.scenes {
            house.insert_scene(scene.clone());
        }
        for known in &self.entities {
            house.insert(known.entity.clone());
        }
        house
    }
}

#[cfg(test)]
mod tests;
