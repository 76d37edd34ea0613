//! The names of one house, ready for finding them in a sentence. Built once per registry revision and language.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pinyin::ToPinyin;

use crate::home::{Category, Domain, Entity, House, Name};

use super::lexicon::{Lexicon, Sense};
use super::vocabulary::Class;

/// What a name can stand for; numbers index the fields of [`HouseIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    pub words: HashSet<String>,
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
    /// Words, and of Chinese names the parts, with the entities that have them.
    parts: HashMap<String, Vec<usize>>,
    /// Toneless pinyin of names, areas and kinds, with the form that is meant.
    sounds: HashMap<String, Vec<String>>,
    by_entity: HashMap<String, usize>,
}

/// Longest part of a Chinese name that is indexed.
const PART: usize = 6;

impl HouseIndex {
    pub fn build(house: &House, lexicon: &Lexicon) -> Self {
        let mut index = Self::default();
        index.places(house, lexicon);
        for entity in house.entities() {
            index.entity(entity, lexicon);
        }
        for scene in house.scenes.values() {
            let position = index.scenes.len();
            index.scenes.push((scene.id.clone(), scene.name.clone()));
            let mut all = Vec::new();
            for name in names(&scene.name, &scene.aliases) {
                let keys = lexicon.keys(name);
                all.push(keys.clone());
                index.name(keys, Target::Scene(position));
            }
            index.scene_names.push(all);
        }
        index
    }

    fn places(&mut self, house: &House, lexicon: &Lexicon) {
        for floor in house.places.floors.values() {
            let position = self.floors.len();
            for name in names(&floor.name, &floor.aliases) {
                for keys in lexicon.floor_names(name) {
                    self.name(keys, Target::Floor(position));
                }
            }
            let (id, name, level) = (floor.id.clone(), floor.name.clone(), floor.level);
            self.floors.push(Place { id, name, floor: Some(position), level, outside: false });
        }
        let mut known: HashSet<Vec<String>> = HashSet::new();
        for area in house.places.areas.values() {
            known.extend(names(&area.name, &area.aliases).map(|name| lexicon.keys(name)));
        }
        for area in house.places.areas.values() {
            let position = self.areas.len();
            let mut outside = false;
            for name in names(&area.name, &area.aliases) {
                let keys = lexicon.keys(name);
                outside |= lexicon.is_outside(&keys);
                for other in lexicon.same_place(&keys) {
                    if !known.contains(&other) {
                        self.name(other, Target::Area(position));
                    }
                }
                // "the bedroom lights" of Bedroom 1, Bedroom 2 …
                if let Some((last, base)) = keys.split_last()
                    && !base.is_empty()
                    && (last.parse::<u32>().is_ok() || lexicon.number_words.contains_key(last))
                    && !known.contains(base)
                {
                    self.name(base.to_vec(), Target::Area(position));
                }
                self.sound(&keys);
                self.name(keys, Target::Area(position));
            }
            let floor =
                area.floor.as_ref().and_then(|id| self.floors.iter().position(|floor| floor.id == *id));
            let (id, name) = (area.id.clone(), area.name.clone());
            self.areas.push(Place { id, name, floor, level: None, outside });
        }
    }

    fn entity(&mut self, entity: &Arc<Entity>, lexicon: &Lexicon) {
        if entity.category != Category::Main {
            return;
        }
        let position = self.items.len();
        let mut words = HashSet::new();
        let mut named = Vec::new();
        let mut outside = false;
        let mut critical = false;
        for name in entity.all_names() {
            let keys = lexicon.keys(name);
            named.extend(classes_in(&keys, lexicon));
            outside |= lexicon.is_outside(&keys);
            critical |= lexicon.is_critical(&keys);
            if lexicon.han_numbers {
                self.han_parts(&keys, position);
                self.sound(&keys);
            }
            for key in &keys {
                if words.insert(key.clone()) && !is_han(key) {
                    self.part(key, position);
                }
            }
            self.name(keys, Target::Entity(position));
        }
        for key in entity.id.object_id().split('_').map(|word| lexicon.stem(word)) {
            if key.len() > 2 && key.parse::<u32>().is_err() && words.insert(key.clone()) {
                self.part(&key, position);
            }
        }
        let area = entity.area.as_ref().and_then(|id| self.areas.iter().position(|area| area.id == *id));
        let place = area.and_then(|area| self.areas.get(area));
        outside |= place.is_some_and(|place| place.outside);
        let floor = place.and_then(|place| place.floor);
        named.sort_unstable();
        named.dedup();
        self.by_entity.insert(entity.id.as_str().to_owned(), position);
        self.items.push(Item { entity: entity.clone(), area, floor, words, named, outside, critical });
    }

    fn name(&mut self, keys: Vec<String>, target: Target) {
        let Some(first) = keys.first().cloned() else { return };
        let list = self.names.entry(first).or_default();
        match list.iter_mut().find(|entry| entry.keys == keys) {
            Some(entry) if !entry.targets.contains(&target) => entry.targets.push(target),
            Some(_) => {}
            None => list.push(NameEntry { keys, targets: vec![target] }),
        }
    }

    fn part(&mut self, key: &str, position: usize) {
        let list = self.parts.entry(key.to_owned()).or_default();
        if list.last() != Some(&position) {
            list.push(position);
        }
    }

    /// 石头 of 石头扫地机器人.
    fn han_parts(&mut self, keys: &[String], position: usize) {
        for start in 0..keys.len() {
            for length in 2..=PART.min(keys.len() - start) {
                if length < keys.len()
                    && let Some(part) = keys.get(start..start + length)
                {
                    self.part(&part.concat(), position);
                }
            }
        }
    }

    fn sound(&mut self, keys: &[String]) {
        if keys.len() >= 2
            && let Some(sound) = sound(&keys.concat())
        {
            let form = keys.concat();
            let forms = self.sounds.entry(sound).or_default();
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }

    /// Names that begin with `key`.
    pub fn starting(&self, key: &str) -> &[NameEntry] {
        self.names.get(key).map_or(&[], Vec::as_slice)
    }

    /// Entities with `part` in a name.
    pub fn with_part(&self, part: &str) -> Option<&[usize]> {
        self.parts.get(part).map(Vec::as_slice)
    }

    /// Every word that may be meant by a misspelt one.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.parts
            .keys()
            .map(String::as_str)
            .chain(self.names.values().flatten().flat_map(|entry| entry.keys.iter().map(String::as_str)))
    }

    /// Names that sound like `text`, without tones.
    pub fn sounding(&self, text: &str) -> &[String] {
        sound(text).and_then(|sound| self.sounds.get(&sound)).map_or(&[], Vec::as_slice)
    }

    pub fn item_of(&self, id: &str) -> Option<usize> {
        self.by_entity.get(id).copied()
    }

    pub fn area_of(&self, id: &str) -> Option<usize> {
        self.areas.iter().position(|area| area.id == id)
    }

    /// The names of the house nearest to `said`, best first; only those that could be meant.
    pub fn nearest(&self, said: &str, limit: usize) -> Vec<String> {
        let said = said.to_lowercase();
        let mut scored: Vec<(f64, &str)> = self
            .items
            .iter()
            .filter(|item| !item.entity.actions.is_empty())
            .flat_map(|item| item.entity.all_names())
            .chain(self.areas.iter().map(|area| area.name.as_str()))
            .map(|name| (likeness(&said, &name.to_lowercase()), name))
            .filter(|(score, _)| *score > 0.5)
            .collect();
        scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(right.1)));
        let mut nearest: Vec<String> = Vec::new();
        for (_, name) in scored {
            if !nearest.iter().any(|known| known == name) {
                nearest.push(name.to_owned());
            }
            if nearest.len() == limit {
                break;
            }
        }
        nearest
    }
}

/// 0 to 1: by spelling, or by shared words.
fn likeness(said: &str, name: &str) -> f64 {
    let spelling = strsim::normalized_damerau_levenshtein(said, name);
    let words: Vec<&str> = name.split_whitespace().collect();
    let shared =
        said.split_whitespace().filter(|word| word.chars().count() > 2 && words.contains(word)).count();
    let total = words.len().max(said.split_whitespace().count()).max(1);
    spelling.max(0.4 + 0.6 * shared as f64 / total as f64 - if shared == 0 { 0.4 } else { 0.0 })
}

fn names<'a>(name: &'a str, aliases: &'a [Name]) -> impl Iterator<Item = &'a str> {
    std::iter::once(name).chain(aliases.iter().map(|alias| alias.text.as_str()))
}

fn is_han(key: &str) -> bool {
    key.chars().next().is_some_and(super::text::is_han)
}

/// Toneless pinyin; `None` unless every character has one.
fn sound(text: &str) -> Option<String> {
    let mut sound = String::new();
    for character in text.chars() {
        sound.push_str(fold_sound(character.to_pinyin()?.plain()).as_str());
        sound.push(' ');
    }
    Some(sound)
}

/// Sounds that recognisers and speakers of the south do not tell apart.
fn fold_sound(syllable: &str) -> String {
    let syllable = syllable.replacen("zh", "z", 1).replacen("sh", "s", 1).replacen("ch", "c", 1);
    match syllable.strip_suffix("ng") {
        Some(stem) => format!("{stem}n"),
        None => syllable,
    }
}

/// The kinds of things that a name mentions.
fn classes_in(keys: &[String], lexicon: &Lexicon) -> Vec<Class> {
    let mut classes = Vec::new();
    for start in 0..keys.len() {
        let Some(rest) = keys.get(start..) else { continue };
        let Some(first) = rest.first() else { continue };
        for phrase in lexicon.starting(first) {
            if rest.starts_with(&phrase.keys) {
                classes.extend(phrase.senses.iter().filter_map(|sense| match sense {
                    Sense::Class(class) => Some(*class),
                    Sense::Pred(_)
                    | Sense::State(_)
                    | Sense::Attribute(_)
                    | Sense::Word(_)
                    | Sense::Mode(_)
                    | Sense::Remark(_)
                    | Sense::Occasion(_)
                    | Sense::Talk(_)
                    | Sense::Color(_)
                    | Sense::White(_)
                    | Sense::Level(_) => None,
                }));
            }
        }
    }
    classes
}

/// How well an entity is of a class: 2 by what it is, 1 by its name only, 0 not.
pub fn belongs(item: &Item, class: Class) -> u8 {
    let entity = &item.entity;
    let kind = entity.device_class.as_deref().unwrap_or("");
    let domain = entity.domain();
    let named = item.named.contains(&class);
    let strong = match class {
        Class::Light => domain == Domain::Light || (domain == Domain::Switch && named),
        Class::Fan => domain == Domain::Fan,
        Class::Switch => domain == Domain::Switch && kind != "outlet",
        Class::Plug => domain == Domain::Switch && (kind == "outlet" || named),
        Class::Blind => domain == Domain::Cover && (kind == "blind" || kind.is_empty() && named),
        Class::Curtain => domain == Domain::Cover && (kind == "curtain" || kind.is_empty() && named),
        Class::Shade => domain == Domain::Cover && (kind == "shade" || kind.is_empty() && named),
        Class::Shutter => domain == Domain::Cover && (kind == "shutter" || kind.is_empty() && named),
        Class::Awning => domain == Domain::Cover && kind == "awning",
        Class::Cover => domain == Domain::Cover && !matches!(kind, "garage" | "gate" | "door"),
        Class::GarageDoor => {
            (domain == Domain::Cover && kind == "garage")
                || (domain == Domain::BinarySensor && kind == "garage_door")
        }
        Class::Gate => domain == Domain::Cover && kind == "gate",
        Class::Door => {
            domain == Domain::Lock
                || (domain == Domain::Cover && matches!(kind, "door" | "garage" | "gate"))
                || (domain == Domain::BinarySensor
                    && matches!(kind, "door" | "garage_door" | "opening" | "lock"))
        }
        Class::Window => matches!(domain, Domain::Cover | Domain::BinarySensor) && kind == "window",
        Class::Lock => domain == Domain::Lock || (domain == Domain::BinarySensor && kind == "lock"),
        Class::Alarm => domain == Domain::AlarmControlPanel,
        Class::Climate => domain == Domain::Climate,
        Class::AirConditioner | Class::Heating => domain == Domain::Climate && other_kind(item, class),
        Class::Media | Class::Music => domain == Domain::MediaPlayer,
        Class::Tv => domain == Domain::MediaPlayer && (kind == "tv" || named),
        Class::Speaker => domain == Domain::MediaPlayer && (kind == "speaker" || named),
        Class::Vacuum => domain == Domain::Vacuum,
        Class::Mower => domain == Domain::LawnMower,
        Class::Valve => domain == Domain::Valve,
        Class::Sprinkler => domain == Domain::Valve && (kind == "water" || named || kind.is_empty()),
        Class::Humidifier => domain == Domain::Humidifier,
        Class::WaterHeater => domain == Domain::WaterHeater,
        Class::Siren => domain == Domain::Siren,
        Class::Camera => domain == Domain::Camera,
        Class::Scene => domain == Domain::Scene,
        Class::Script => domain == Domain::Script,
        Class::List => domain == Domain::Todo,
        Class::ShoppingList | Class::TaskList => domain == Domain::Todo && named,
        Class::Timer => domain == Domain::Timer,
        Class::Sensor => matches!(domain, Domain::Sensor | Domain::BinarySensor),
        Class::Motion | Class::Presence => {
            domain == Domain::BinarySensor && matches!(kind, "motion" | "occupancy" | "presence")
        }
        Class::Smoke => domain == Domain::BinarySensor && matches!(kind, "smoke" | "gas" | "carbon_monoxide"),
        Class::Leak => domain == Domain::BinarySensor && kind == "moisture",
        Class::Person => matches!(domain, Domain::Person | Domain::DeviceTracker),
        Class::Weather => domain == Domain::Weather,
        Class::Coffee => domain == Domain::Switch && named,
        Class::Everything | Class::Device | Class::Schedule => false,
    };
    match (strong, named) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

/// A climate whose name says that it is the other of heating and air conditioning is not this one.
fn other_kind(item: &Item, class: Class) -> bool {
    let other = if class == Class::Heating { Class::AirConditioner } else { Class::Heating };
    item.named.contains(&class) || !item.named.contains(&other)
}

/// Kinds that stand in for each other where the house has none of the one that was said.
pub fn related(class: Class) -> &'static [Class] {
    const HANGINGS: &[Class] = &[Class::Blind, Class::Curtain, Class::Shade, Class::Shutter];
    match class {
        Class::Blind | Class::Curtain | Class::Shade | Class::Shutter => HANGINGS,
        Class::Sprinkler => &[Class::Valve],
        Class::Gate => &[Class::GarageDoor],
        Class::Speaker | Class::Music => &[Class::Media],
        Class::Light
        | Class::Fan
        | Class::Switch
        | Class::Plug
        | Class::Awning
        | Class::Cover
        | Class::GarageDoor
        | Class::Door
        | Class::Window
        | Class::Lock
        | Class::Alarm
        | Class::Climate
        | Class::AirConditioner
        | Class::Heating
        | Class::Media
        | Class::Tv
        | Class::Vacuum
        | Class::Mower
        | Class::Valve
        | Class::Humidifier
        | Class::WaterHeater
        | Class::Siren
        | Class::Camera
        | Class::Scene
        | Class::Script
        | Class::List
        | Class::ShoppingList
        | Class::TaskList
        | Class::Timer
        | Class::Schedule
        | Class::Sensor
        | Class::Motion
        | Class::Presence
        | Class::Smoke
        | Class::Leak
        | Class::Person
        | Class::Weather
        | Class::Coffee
        | Class::Everything
        | Class::Device => &[],
    }
}
