//! The names of one house, ready for finding them in a sentence. Built once per registry revision and language.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use crate::home::{Category, Entity, House, Name};

use super::clause::Noun;
use super::kinds::{belongs, classes_in, of_domain};
use super::lexicon::{Lexicon, Phrase, Sense};
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
        index.positions = HashMap::new();
        index.arrange();
        index
    }

    /// Fills what is looked up by place, kind and spelling.
    fn arrange(&mut self) {
        self.by_area = vec![Vec::new(); self.areas.len()];
        self.by_floor = vec![Vec::new(); self.floors.len()];
        for (position, item) in self.items.iter().enumerate() {
            if let Some(list) = item.area.and_then(|area| self.by_area.get_mut(area)) {
                list.push(position);
            }
            if let Some(list) = item.floor.and_then(|floor| self.by_floor.get_mut(floor)) {
                list.push(position);
            }
            let by_name = item.named.iter().filter(|class| !of_domain(item.entity.domain()).contains(class));
            for class in of_domain(item.entity.domain()).iter().chain(by_name) {
                if belongs(item, *class) > 0 {
                    self.by_class.entry(*class).or_default().push(position);
                }
            }
        }
    }

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

    fn places(&mut self, house: &House, lexicon: &Lexicon) {
        for floor in house.places.floors.values() {
            let position = self.floors.len();
            for name in names(&floor.name, &floor.aliases) {
                for keys in lexicon.floor_names(name) {
                    self.name(keys, Target::Floor(position));
                }
            }
            let name = shown(&floor.name, &floor.aliases, lexicon.language);
            let (id, level) = (floor.id.clone(), floor.level);
            self.floors.push(Place {
                id,
                name,
                floor: Some(position),
                level,
                outside: false,
                keys: lexicon.keys(&floor.name),
            });
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
                for other in lexicon.counted_names(&keys).into_iter().filter(|other| !known.contains(other)) {
                    self.name(other, Target::Area(position));
                }
                self.name(keys, Target::Area(position));
            }
            self.part_of_place(&lexicon.keys(&area.name), position, &known, lexicon);
            let floor =
                area.floor.as_ref().and_then(|id| self.floors.iter().position(|floor| floor.id == *id));
            let (id, name) = (area.id.clone(), shown(&area.name, &area.aliases, lexicon.language));
            self.area_ids.entry(id.clone()).or_insert(position);
            self.areas.push(Place { id, name, floor, level: None, outside, keys: lexicon.keys(&area.name) });
        }
    }

    /// "The bedroom lights" of Main Bedroom and Guest Bedroom: a word of a name that is nothing else.
    fn part_of_place(
        &mut self,
        keys: &[String],
        position: usize,
        known: &HashSet<Vec<String>>,
        lexicon: &Lexicon,
    ) {
        for key in keys.iter().filter(|_| keys.len() > 1) {
            let word = vec![key.clone()];
            let plain = key.chars().count() > 3 && !is_han(key) && lexicon.starting(key).is_empty();
            if plain && key.parse::<u32>().is_err() && !known.contains(&word) {
                self.name(word, Target::Area(position));
            }
        }
    }

    fn entity(&mut self, entity: &Arc<Entity>, lexicon: &Lexicon) {
        if entity.category != Category::Main {
            return;
        }
        let position = self.items.len();
        let mut words: Vec<String> = Vec::new();
        let mut named = Vec::new();
        let mut outside = false;
        let mut critical = false;
        for name in entity.all_names() {
            let keys = lexicon.keys(name);
            named.extend(classes_in(&keys, lexicon));
            if lexicon.is_marked(&keys) {
                outside |= lexicon.is_outside(&keys);
                critical |= lexicon.is_critical(&keys);
            }
            if lexicon.han_numbers {
                self.han_parts(&keys, position, lexicon);
                self.sound(&keys);
            }
            for key in &keys {
                if !words.contains(key) {
                    words.push(key.clone());
                    if !is_han(key) {
                        self.part(key, position);
                    }
                }
            }
            for other in lexicon.counted_names(&keys) {
                self.name(other, Target::Entity(position));
            }
            self.name(keys, Target::Entity(position));
        }
        let plain = |word: &&str| word.len() > 2 && word.parse::<u32>().is_err();
        for key in entity.id.object_id().split('_').filter(plain).map(|word| lexicon.stem(word)) {
            if key.len() > 2 && !words.contains(&key) {
                self.part(&key, position);
                words.push(key);
            }
        }
        let area = entity.area.as_deref().and_then(|id| self.area_ids.get(id).copied());
        let place = area.and_then(|area| self.areas.get(area));
        outside |= place.is_some_and(|place| place.outside);
        let floor = place.and_then(|place| place.floor);
        named.sort_unstable();
        named.dedup();
        self.by_entity.insert(entity.id.as_str().to_owned(), position);
        self.items.push(Item { entity: entity.clone(), area, floor, words, named, outside, critical });
    }

    fn name(&mut self, keys: Vec<String>, target: Target) {
        let Some(first) = keys.first() else { return };
        let mut hasher = DefaultHasher::new();
        keys.hash(&mut hasher);
        let hash = hasher.finish();
        if !self.names.contains_key(first) {
            self.names.insert(first.clone(), Vec::new());
        }
        let Some(list) = self.names.get_mut(first) else { return };
        let at = self.positions.get(&hash).copied();
        let same = |entry: &NameEntry| entry.keys == keys;
        // Two names of one hash: as good as never, and then looked for.
        let known = at
            .filter(|at| list.get(*at).is_some_and(same))
            .or_else(|| at.and_then(|_| list.iter().position(same)));
        match known.and_then(|at| list.get_mut(at)) {
            Some(entry) if !entry.targets.contains(&target) => entry.targets.push(target),
            Some(_) => {}
            None => {
                self.positions.insert(hash, list.len());
                list.push(NameEntry { keys, targets: vec![target] });
            }
        }
    }

    fn part(&mut self, key: &str, position: usize) {
        match self.parts.get_mut(key) {
            Some(list) if list.last() != Some(&position) => list.push(position),
            Some(_) => {}
            None => {
                self.parts.insert(key.to_owned(), vec![position]);
            }
        }
    }

    /// 石头 of 石头扫地机器人. A part that begins like a command is none: 关灯 is no part of 玄关灯.
    fn han_parts(&mut self, keys: &[String], position: usize, lexicon: &Lexicon) {
        for start in 0..keys.len() {
            let commands = |key: &String| {
                let verb = |phrase: &Phrase| phrase.keys.len() == 1 && phrase.senses.iter().any(is_pred);
                lexicon.starting(key).iter().any(verb)
            };
            if keys.get(start).is_none_or(commands) {
                continue;
            }
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

    pub fn item_of(&self, id: &str) -> Option<usize> {
        self.by_entity.get(id).copied()
    }

    pub fn area_of(&self, id: &str) -> Option<usize> {
        self.area_ids.get(id).copied()
    }
}

/// The name of a place in a language, as far as it has one there.
fn shown(name: &str, aliases: &[Name], language: &str) -> String {
    let own = name.chars().any(super::text::is_han) == (language == "zh");
    let alias = aliases.iter().find(|alias| !own && alias.language.as_deref() == Some(language));
    alias.map_or_else(|| name.to_owned(), |alias| alias.text.clone())
}

fn names<'a>(name: &'a str, aliases: &'a [Name]) -> impl Iterator<Item = &'a str> {
    std::iter::once(name).chain(aliases.iter().map(|alias| alias.text.as_str()))
}

fn is_han(key: &str) -> bool {
    key.chars().next().is_some_and(super::text::is_han)
}

fn is_pred(sense: &Sense) -> bool {
    matches!(sense, Sense::Pred(_))
}
