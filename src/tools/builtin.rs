//! The tools that read: `get_state` and `find_entities`. Tier G0; they never change anything.
//!
//! Device text is data: names are cut at 64 characters and values at 256, control and direction characters removed.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::told::{clean, clean_value, has_free_value, is_free_attribute, value_text};
use crate::home::{Category, Entity, EntityId, House};

/// Attributes that say nothing to a person or a model.
const SILENT: &[&str] =
    &["supported_features", "supported_color_modes", "friendly_name", "entity_picture", "icon"];

/// Bytes of attributes of one entity that a model is told; what does not fit is counted.
const ATTRIBUTE_BYTES: usize = 2048;

/// The state of each entity, in the order asked for.
pub fn get_state(ids: &[EntityId], house: &House, now: DateTime<Utc>) -> Value {
    ids.iter()
        .filter_map(|id| house.entity(id.as_str()))
        .map(|entity| entity_view(entity, house, now))
        .collect()
}

/// Up to 20 entities whose names, area or domain fit, best first.
pub fn find_entities(
    query: &str,
    area: Option<&str>,
    domain: Option<&str>,
    house: &House,
    now: DateTime<Utc>,
) -> Value {
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut found: Vec<(usize, &Entity)> = house
        .entities()
        .map(std::convert::AsRef::as_ref)
        .filter(|entity| entity.category == Category::Main)
        .filter(|entity| domain.is_none_or(|domain| entity.domain().word() == domain))
        .filter(|entity| area.is_none_or(|area| entity.area.as_deref() == Some(area)))
        .filter_map(|entity| {
            let hits = words.iter().filter(|word| mentions(entity, house, word)).count();
            (words.is_empty() || hits > 0).then_some((hits, entity))
        })
        .collect();
    found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.id.cmp(&other.1.id)));
    let total = found.len();
    let entities: Vec<Value> =
        found.into_iter().take(20).map(|(_, entity)| entity_view(entity, house, now)).collect();
    json!({"found": total, "entities": entities})
}

fn mentions(entity: &Entity, house: &House, word: &str) -> bool {
    entity.id.as_str().contains(word)
        || entity.all_names().any(|name| name.to_lowercase().contains(word))
        || house.area_name(entity).is_some_and(|area| area.to_lowercase().contains(word))
}

/// Entities that are shown to a model beside a command, at most.
const RELATED: usize = 20;

/// The entities that a command may be about, most likely first: named in it, in an area named in it, of a kind named
/// in it, or where the person is.
pub fn related<'h>(text: &str, area: Option<&str>, house: &'h House) -> Vec<&'h Entity> {
    let text = text.to_lowercase();
    let words: BTreeSet<&str> = words(&text).collect();
    let named_areas: BTreeSet<&str> = house
        .places
        .areas
        .values()
        .filter(|area| {
            let aliases = area.aliases.iter().map(|alias| alias.text.as_str());
            std::iter::once(area.name.as_str()).chain(aliases).any(|name| holds(&text, name))
        })
        .map(|area| area.id.as_str())
        .collect();
    let likeness = |entity: &Entity| {
        let named = entity.all_names().any(|name| holds(&text, name));
        let spelled = entity.all_names().map(str::to_lowercase).collect::<Vec<_>>();
        let own: BTreeSet<&str> = spelled
            .iter()
            .flat_map(|name| self::words(name))
            .chain(self::words(entity.id.as_str()))
            .collect();
        let of_area = |wanted: &dyn Fn(&str) -> bool| entity.area.as_deref().is_some_and(wanted);
        8 * usize::from(named)
            + 4 * usize::from(of_area(&|id| named_areas.contains(id)))
            + 2 * own.intersection(&words).count().min(3)
            + usize::from(of_area(&|id| area == Some(id)))
    };
    let mut found: Vec<(usize, &Entity)> = house
        .entities()
        .map(AsRef::as_ref)
        .filter(|entity| entity.category == Category::Main)
        .map(|entity| (likeness(entity), entity))
        .filter(|(likeness, _)| *likeness > 0)
        .collect();
    found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.id.cmp(&other.1.id)));
    found.into_iter().take(RELATED).map(|(_, entity)| entity).collect()
}

/// Whether a name of some length stands in a text; text and name need no spaces between words.
fn holds(text: &str, name: &str) -> bool {
    name.chars().count() > 1 && text.contains(&name.to_lowercase())
}

/// Words of three letters and more, without the plural's ending.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric())
        .map(|word| word.strip_suffix('s').unwrap_or(word))
        .filter(|word| word.chars().count() > 2)
}

/// Characters of a device class and of a unit that are shown.
pub const CLASS: usize = 32;
const UNIT: usize = 16;

/// What stands for a text that somebody outside may have written: it is read only when a model asks for it, and what
/// follows is then treated with caution.
const UNREAD: &str = "[text; read it with get_state]";

/// The state of an entity as one short text, free text from outside left out.
pub fn quoted_state(entity: &Entity, house: &House) -> String {
    let state = house.state(entity.id.as_str()).cloned().unwrap_or_default();
    if has_free_value(entity, &state) {
        return UNREAD.to_owned();
    }
    match &entity.unit {
        Some(unit) => format!("{} {}", value_text(&state), clean(unit, UNIT)),
        None => value_text(&state),
    }
}

/// The same with name, area and class, and with those attributes that are no free text.
pub fn quoted_view(entity: &Entity, house: &House, now: DateTime<Utc>) -> Value {
    let mut view = entity_view(entity, house, now);
    let state = house.state(entity.id.as_str());
    if let (Value::Object(fields), Some(state)) = (&mut view, state) {
        for (name, value) in &state.attributes {
            if is_free_attribute(name, value)
                && let Some(told) = fields.get_mut(&clean(name, 64))
            {
                *told = json!(UNREAD);
            }
        }
        if has_free_value(entity, state) {
            fields.insert("state".into(), json!(UNREAD));
        }
    }
    view
}

/// One entity as a model sees it.
pub fn entity_view(entity: &Entity, house: &House, now: DateTime<Utc>) -> Value {
    let mut view = Map::new();
    view.insert("id".into(), json!(entity.id));
    view.insert("name".into(), json!(clean(&entity.name, 64)));
    if let Some(area) = &entity.area {
        view.insert("area".into(), json!(area));
    }
    if let Some(class) = &entity.device_class {
        view.insert("class".into(), json!(clean(class, CLASS)));
    }
    let state = house.state(entity.id.as_str()).cloned().unwrap_or_default();
    view.insert("state".into(), json!(value_text(&state)));
    if let Some(unit) = &entity.unit {
        view.insert("unit".into(), json!(clean(unit, UNIT)));
    }
    if let Some(stamp) = state.reported {
        view.insert("age_seconds".into(), json!((now - stamp.at).num_seconds().max(0)));
    }
    let mut room = ATTRIBUTE_BYTES;
    let mut left_out = 0_usize;
    for (name, value) in state.attributes.iter().filter(|(name, _)| !SILENT.contains(&name.as_ref())) {
        let value = clean_value(name, value);
        let size = name.len() + value.to_string().len();
        match room.checked_sub(size) {
            Some(rest) => {
                room = rest;
                view.insert(clean(name, 64), value);
            }
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        view.insert("attributes_left_out".into(), json!(left_out));
    }
    Value::Object(view)
}
