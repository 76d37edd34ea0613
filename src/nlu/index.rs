//! The names of one house, ready for finding them in a sentence. Built once per registry revision and language, in `build`.

mod build;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::home::Entity;

use super::clause::Noun;
use super::nearest::Known;
use super::sound::sound;
use super::vocabulary::Class;

/// What a name can stand for; numbers index the fields of [`HouseIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    Entity(usize),
    Area(usize),
    Floor(usize),
    Scene(usize),
}

/// An entity with what is needed to find it.
#[derive(Debug)]
pub struct Item {
    pub entity: Arc<Entity>,
    pub area: Option<usize>,
    pub floor: Option<usize>,
    /// Every word of its names and of its id.
    pub words: Vec<String>,
    /// Classes that its names mention.
    pub named: Vec<Class>,
    /// Whether its names, or those of its area, say that it is outside.
    pub outside: bool,
    /// Freezers, routers and the like: "everything" does not reach them.
    pub critical: bool,
}

/// A floor or an area.
#[derive(Debug)]
pub struct Place {
    pub id: String,
    pub name: String,
    pub floor: Option<usize>,
    /// Of floors: 0 is the ground.
    pub level: Option<i8>,
    pub outside: bool,
    /// The words of its name.
    pub keys: Vec<String>,
}

/// A name of the house as keys, with everything that bears it.
#[derive(Debug)]
pub struct NameEntry {
    pub keys: Vec<String>,
    pub targets: Vec<Target>,
}

#[derive(Debug, Default)]
pub struct HouseIndex {
    pub items: Vec<Item>,
    pub areas: Vec<Place>,
    pub floors: Vec<Place>,
    /// Id and name of each scene.
    pub scenes: Vec<(String, String)>,
    /// The keys of every name of each scene.
    pub scene_names: Vec<Vec<Vec<String>>>,
    names: HashMap<String, Vec<NameEntry>>,
    /// Where each name stands in its list, by its hash. Only while the index is built: thousands of names may begin
    /// alike.
    positions: HashMap<u64, usize>,
    /// Areas by their id.
    area_ids: HashMap<String, usize>,
    /// Words, and of Chinese names the parts, with the entities that have them.
    parts: HashMap<String, Vec<usize>>,
    /// Toneless pinyin of names, areas and kinds, with the form that is meant.
    sounds: HashMap<String, Vec<String>>,
    by_entity: HashMap<String, usize>,
    /// Items by area, by floor and by kind, in the order of the house.
    by_area: Vec<Vec<usize>>,
    by_floor: Vec<Vec<usize>>,
    by_class: HashMap<Class, Vec<usize>>,
    /// Words of names, each once, by their number of characters; gathered for the first word that is misspelt.
    words: OnceLock<BTreeMap<usize, Vec<String>>>,
    /// Names of what can be acted on and of areas; gathered for the first "did you mean".
    known: OnceLock<Vec<Known>>,
}

impl HouseIndex {
    /// Names of what can be acted on and of areas, for "did you mean".
    pub fn known(&self) -> &[Known] {
        self.known.get_or_init(|| {
            let acts = |item: &&Item| !item.entity.actions.is_empty();
            let names = self.items.iter().filter(acts).flat_map(|item| item.entity.all_names());
            let known: BTreeSet<&str> =
                names.chain(self.areas.iter().map(|area| area.name.as_str())).collect();
            known.into_iter().map(Known::new).collect()
        })
    }

    fn gathered_words(&self) -> BTreeMap<usize, Vec<String>> {
        let of_names = self.names.values().flatten().flat_map(|entry| &entry.keys);
        let words: HashSet<&String> = self.parts.keys().chain(of_names).collect();
        let mut by_length: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for word in words {
            by_length.entry(word.chars().count()).or_default().push(word.clone());
        }
        by_length
    }

    /// Names that begin with `key`.
    pub fn starting(&self, key: &str) -> &[NameEntry] {
        self.names.get(key).map_or(&[], Vec::as_slice)
    }

    /// Entities with `part` in a name.
    pub fn with_part(&self, part: &str) -> Option<&[usize]> {
        self.parts.get(part).map(Vec::as_slice)
    }

    /// Every word of so many characters that may be meant by a misspelt one.
    pub fn words(&self, characters: std::ops::RangeInclusive<usize>) -> impl Iterator<Item = &str> {
        let words = self.words.get_or_init(|| self.gathered_words());
        words.range(characters).flat_map(|(_, words)| words.iter().map(String::as_str))
    }

    /// Lists that hold together every item that a noun can mean by its places, kinds and parts of names.
    pub fn reach<'s>(&'s self, noun: &'s Noun) -> impl Iterator<Item = &'s [usize]> {
        let places = noun.targets.iter().filter_map(|target| match target {
            Target::Area(area) => self.by_area.get(*area),
            Target::Floor(floor) => self.by_floor.get(*floor),
            Target::Entity(_) | Target::Scene(_) => None,
        });
        let kinds = noun.classes.iter().filter_map(|class| self.by_class.get(class));
        places.chain(kinds).map(Vec::as_slice).chain([noun.parts.as_slice()])
    }

    /// The items of a kind.
    pub fn of_class(&self, class: Class) -> &[usize] {
        self.by_class.get(&class).map_or(&[], Vec::as_slice)
    }

    /// Names that sound like `text`, without tones.
    pub fn sounding(&self, text: &str) -> &[String] {
        sound(text).and_then(|sound| self.sounds.get(&sound)).map_or(&[], Vec::as_slice)
    }

    /// Whether an item can do anything.
    pub fn acts(&self, item: usize) -> bool {
        self.items.get(item).is_some_and(|item| !item.entity.actions.is_empty())
    }

    pub fn item_of(&self, id: &str) -> Option<usize> {
        self.by_entity.get(id).copied()
    }

    pub fn area_of(&self, id: &str) -> Option<usize> {
        self.area_ids.get(id).copied()
    }
}
