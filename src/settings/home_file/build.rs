//! From the file as written to checked places, entities and scenes.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use super::format::{Aliases, EntityToml, HomeToml, OneOrMany, SimulateToml};
use super::{HomeEntity, HomeFile, overrides, scenes};
use crate::devices::profile::{ProfileCodec, Profiles};
use crate::devices::simulate::Setup;
use crate::devices::{FileError, Source};
use crate::home::{Area, Device, Domain, Entity, EntityId, Floor, Name, Person, Places};

pub(super) fn build(source: Source<'_>, file: HomeToml, profiles: &Profiles) -> Result<HomeFile, FileError> {
    let builder = Builder { source, places: places(source, &file)?, profiles };
    let mut entities: Vec<HomeEntity> = Vec::new();
    let mut lines: HashMap<EntityId, usize> = HashMap::new();
    let mut speakers: HashMap<String, EntityId> = HashMap::new();
    for entity in &file.entity {
        let built = builder.entity(entity)?;
        let id = built.entity.id.clone();
        let span = entity.id.span();
        if let Some(line) = lines.insert(id.clone(), source.error(span.clone(), "").line) {
            return Err(
                source.error(span, format!("{id} is there twice, first in line {line}; ids are unique"))
            );
        }
        for topic in built.codec.iter().flat_map(|codec| codec.command_topics()) {
            if let Some(other) = speakers.insert(topic.to_owned(), id.clone()) {
                let message = format!(
                    "{id} and {other} both take commands on {topic:?}; an action on one would move the other"
                );
                return Err(source.error(span, message));
            }
        }
        entities.push(built);
    }
    for (at, entity) in file.entity.iter().enumerate() {
        check_references(source, entity, &entities)?;
        scenes::complete_group(source, entity, at, &mut entities)?;
    }
    let by_id: BTreeMap<&str, &Entity> =
        entities.iter().map(|known| (known.entity.id.as_str(), &known.entity)).collect();
    let overrides = overrides::overrides(source, &file.overrides, &builder.places)?;
    let scenes = scenes::scenes(source, &file.scene, &by_id, &overrides)?;
    Ok(HomeFile { places: builder.places, scenes, entities, overrides })
}

struct Builder<'a> {
    source: Source<'a>,
    places: Places,
    profiles: &'a Profiles,
}

impl Builder<'_> {
    fn entity(&self, file: &EntityToml) -> Result<HomeEntity, FileError> {
        let fail = |span: Range<usize>, message: String| Err(self.source.error(span, message));
        let id = entity_id(self.source, &file.id)?;
        if id.domain() == Domain::Other {
            return fail(file.id.span(), format!("{id} has no known domain; expected one like light"));
        }
        let codec = match (&file.profile, file.members.is_empty()) {
            (Some(profile), true) => Some(self.codec(&id, profile, file)?),
            (None, false) if file.with.is_empty() => None,
            (None, false) => {
                return fail(file.id.span(), format!("{id} is a group; with belongs to a profile"));
            }
            (Some(_), false) => {
                return fail(file.id.span(), format!("{id} has a profile and members; give one"));
            }
            (None, true) => {
                return fail(file.id.span(), format!("{id} needs a profile, or members for a group"));
            }
        };
        if let Some(area) = &file.area
            && !self.places.areas.contains_key(area.get_ref())
        {
            let message = no_such("area", area.get_ref(), self.places.areas.keys().map(String::as_str));
            return fail(area.span(), message);
        }
        let device = file.device.as_ref().map(|device| Device {
            id: device.id.clone(),
            name: device.name.clone(),
            manufacturer: device.manufacturer.clone(),
            model: device.model.clone(),
        });
        let entity = Entity {
            id,
            name: name(self.source, &file.name)?,
            aliases: names(self.source, &file.aliases)?,
            area: file.area.as_ref().map(|area| area.get_ref().clone()),
            device,
            device_class: device_class(self.source, file.device_class.as_ref())?,
            category: file.category,
            unit: file.unit.clone(),
            actions: codec.as_ref().map(|codec| codec.actions()).unwrap_or_default(),
            members: file
                .members
                .iter()
                .map(|member| entity_id(self.source, member))
                .collect::<Result<_, _>>()?,
            reports_state: codec.as_ref().is_some_and(|codec| codec.reports_state()),
            source: crate::home::HOME_FILE.into(),
        };
        let setup = match &file.simulate {
            Some(simulate) => self.setup(simulate)?,
            None => Setup::default(),
        };
        Ok(HomeEntity { entity, codec, setup })
    }

    fn codec(
        &self,
        id: &EntityId,
        name: &Spanned<String>,
        file: &EntityToml,
    ) -> Result<Arc<ProfileCodec>, FileError> {
        let Some(profile) = self.profiles.get(name.get_ref()) else {
            let known = self.profiles.iter().map(|profile| profile.name());
            return Err(self.source.error(name.span(), no_such("profile", name.get_ref(), known)));
        };
        if profile.domain() != id.domain() {
            let message =
                format!("{} is for {}; {id} is a {}", profile.name(), profile.domain(), id.domain());
            return Err(self.source.error(name.span(), message));
        }
        let given = file.with.iter().map(|(name, value)| (name.clone(), value.get_ref().clone())).collect();
        let codec = profile.bind(&given).map_err(|error| {
            let at = error.parameter.as_ref().and_then(|name| file.with.get(name));
            self.source.error(at.map_or(name.span(), |value| value.span()), format!("{id}: {error}"))
        })?;
        Ok(Arc::new(codec))
    }

    fn setup(&self, file: &SimulateToml) -> Result<Setup, FileError> {
        let seconds = |given: &Option<Spanned<f64>>| match given {
            None => Ok(None),
            Some(seconds) if (0.0..=3600.0).contains(seconds.get_ref()) => {
                Ok(Some(Duration::from_secs_f64(*seconds.get_ref())))
            }
            Some(seconds) => {
                let message = format!("{} is outside 0 to 3600 seconds", seconds.get_ref());
                Err(self.source.error(seconds.span(), message))
            }
        };
        Ok(Setup {
            value: file.value.clone(),
            attributes: file
                .attributes
                .iter()
                .map(|(name, value)| (name.clone().into(), value.clone()))
                .collect(),
            takes: seconds(&file.seconds)?,
            entry: seconds(&file.entry_seconds)?,
            zones: file.zones.iter().map(|zone| entity_id(self.source, zone)).collect::<Result<_, _>>()?,
        })
    }
}

fn check_references(source: Source<'_>, file: &EntityToml, entities: &[HomeEntity]) -> Result<(), FileError> {
    let zones = file.simulate.iter().flat_map(|simulate| &simulate.zones);
    for id in file.members.iter().chain(zones) {
        if !entities.iter().any(|known| known.entity.id.as_str() == id.get_ref()) {
            let known = entities.iter().map(|known| known.entity.id.as_str());
            return Err(source.error(id.span(), no_such("entity", id.get_ref(), known)));
        }
    }
    Ok(())
}

fn places(source: Source<'_>, file: &HomeToml) -> Result<Places, FileError> {
    let mut places = Places::default();
    for floor in &file.floor {
        let id = place_id(source, &floor.id, places.floors.contains_key(floor.id.get_ref()))?;
        let floor = Floor {
            id: id.clone(),
            name: name(source, &floor.name)?,
            aliases: names(source, &floor.aliases)?,
            level: floor.level,
        };
        places.floors.insert(id, floor);
    }
    for area in &file.area {
        let id = place_id(source, &area.id, places.areas.contains_key(area.id.get_ref()))?;
        if let Some(floor) = &area.floor
            && !places.floors.contains_key(floor.get_ref())
        {
            let message = no_such("floor", floor.get_ref(), places.floors.keys().map(String::as_str));
            return Err(source.error(floor.span(), message));
        }
        let area = Area {
            id: id.clone(),
            name: name(source, &area.name)?,
            aliases: names(source, &area.aliases)?,
            floor: area.floor.as_ref().map(|floor| floor.get_ref().clone()),
        };
        places.areas.insert(id, area);
    }
    for person in &file.person {
        let id = place_id(source, &person.id, places.people.contains_key(person.id.get_ref()))?;
        let person = Person {
            id: id.clone(),
            name: name(source, &person.name)?,
            aliases: names(source, &person.aliases)?,
        };
        places.people.insert(id, person);
    }
    Ok(places)
}

/// The id of a floor, area, person or scene.
pub(super) fn place_id(source: Source<'_>, id: &Spanned<String>, taken: bool) -> Result<String, FileError> {
    let text = id.get_ref();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if text.is_empty() || text.len() > 64 || !text.bytes().all(plain) {
        let message = format!("{text:?} is no id; expected a-z, 0-9 and _, at most 64");
        return Err(source.error(id.span(), message));
    }
    if taken {
        return Err(source.error(id.span(), format!("{text} is there twice; ids are unique")));
    }
    Ok(text.clone())
}

pub(super) fn entity_id(source: Source<'_>, id: &Spanned<String>) -> Result<EntityId, FileError> {
    EntityId::parse(id.get_ref()).map_err(|error| source.error(id.span(), error.to_string()))
}

pub(super) fn name(source: Source<'_>, name: &Spanned<String>) -> Result<String, FileError> {
    match checked_name(name.get_ref()) {
        Ok(name) => Ok(name),
        Err(why) => Err(source.error(name.span(), why)),
    }
}

/// Aliases in the order of languages, and within a language as written.
pub(super) fn names(source: Source<'_>, aliases: &Aliases) -> Result<Vec<Name>, FileError> {
    let mut names = Vec::new();
    for (language, given) in aliases {
        let code = language.split('-').next().unwrap_or_default();
        if language != "any"
            && !((2..=3).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase()))
        {
            let message = format!("{language:?} is no language; expected a code like en or zh, or any");
            return Err(source.error(given.span(), message));
        }
        let texts = match given.get_ref() {
            OneOrMany::One(text) => std::slice::from_ref(text),
            OneOrMany::Many(texts) => texts,
        };
        for text in texts {
            let text = checked_name(text).map_err(|why| source.error(given.span(), why))?;
            names.push(Name { language: (language != "any").then(|| language.clone()), text });
        }
    }
    Ok(names)
}

fn checked_name(name: &str) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(format!(
            "{name:?} is no name; expected 1 to 100 characters, none of them a control character"
        ));
    }
    Ok(name.to_owned())
}

pub(super) fn device_class(
    source: Source<'_>,
    class: Option<&Spanned<String>>,
) -> Result<Option<String>, FileError> {
    let Some(class) = class else { return Ok(None) };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if class.get_ref().is_empty() || !class.get_ref().bytes().all(plain) {
        let message = format!("{:?} is no device class; expected one like garage or motion", class.get_ref());
        return Err(source.error(class.span(), message));
    }
    Ok(Some(class.get_ref().clone()))
}

/// `no such area "kitchn"; did you mean kitchen?`
pub(super) fn no_such<'a>(what: &str, got: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(got, name), *name))
        .filter(|(distance, name)| *distance <= name.len() / 3 + 1)
        .min();
    match nearest {
        Some((_, name)) => format!("no such {what} {got:?}; did you mean {name}?"),
        None if known.is_empty() => format!("no such {what} {got:?}; none is defined"),
        None => {
            let some = known.iter().take(12).copied().collect::<Vec<_>>().join(", ");
            format!("no such {what} {got:?}; there are {some}{}", if known.len() > 12 { "…" } else { "" })
        }
    }
}
