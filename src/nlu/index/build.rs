//! Builds the index of a house: places, entities, their names and the parts of these, how they sound.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{HouseIndex, Item, NameEntry, Place, Target};
use crate::home::{Category, Entity, House, Name};
use crate::nlu::kinds::{belongs, classes_in, of_domain};
use crate::nlu::lexicon::{Lexicon, Phrase, Sense};
use crate::nlu::sound::sound;

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
}

/// The name of a place in a language, as far as it has one there.
fn shown(name: &str, aliases: &[Name], language: &str) -> String {
    let own = name.chars().any(crate::nlu::text::is_han) == (language == "zh");
    let alias = aliases.iter().find(|alias| !own && alias.language.as_deref() == Some(language));
    alias.map_or_else(|| name.to_owned(), |alias| alias.text.clone())
}

fn names<'a>(name: &'a str, aliases: &'a [Name]) -> impl Iterator<Item = &'a str> {
    std::iter::once(name).chain(aliases.iter().map(|alias| alias.text.as_str()))
}

fn is_han(key: &str) -> bool {
    key.chars().next().is_some_and(crate::nlu::text::is_han)
}

fn is_pred(sense: &Sense) -> bool {
    matches!(sense, Sense::Pred(_))
}
