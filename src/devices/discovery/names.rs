//! Names and ids as Home Assistant builds them.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::fields::{Fields, Refusal, text_of};
use crate::home::{Domain, EntityId};

/// The name of an entity alone: its own, or its class's, or its kind's. `None` takes the device's name.
fn own_name(fields: Fields<'_>, component: &str) -> Result<Option<String>, Refusal> {
    if let Some(name) = fields.nullable("name")? {
        return Ok(name.filter(|name| !name.trim().is_empty()));
    }
    if NAMED_BY_CLASS.contains(&component)
        && let Some(class) = fields.device_class()?
    {
        return Ok(Some(class_name(component, &class)));
    }
    // A tracker is its device.
    Ok((component != "device_tracker").then(|| kind_name(fields, component)))
}

/// Components whose entities are called by their class where they have no name.
const NAMED_BY_CLASS: &[&str] = &["binary_sensor", "button", "event", "number", "sensor", "update"];

/// What Home Assistant calls an entity of a component without a name.
fn kind_name(fields: Fields<'_>, component: &str) -> String {
    let schema = fields.map.get("schema").and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let kind = match (component, schema.as_str()) {
        ("alarm_control_panel", _) => "Alarm".into(),
        ("binary_sensor", _) => "Binary sensor".into(),
        ("climate", _) => "HVAC".into(),
        ("device_tracker", _) => "Device tracker".into(),
        ("lawn_mower", _) => "Lawn Mower".into(),
        ("light", "json") => "JSON Light".into(),
        ("light", "template") => "Template Light".into(),
        ("light", _) => "LightEntity".into(),
        ("notify", _) => "notify".into(),
        ("vacuum", _) => "State Vacuum".into(),
        ("water_heater", _) => "Water Heater".into(),
        (other, _) => capitalized(other),
    };
    format!("MQTT {kind}")
}

/// The name that Home Assistant shows for a device class without a name.
fn class_name(component: &str, class: &str) -> String {
    match class {
        "pm1" => "PM1".into(),
        "pm10" => "PM10".into(),
        "pm25" => "PM2.5".into(),
        "pm4" => "PM4".into(),
        "aqi" => "Air quality index".into(),
        "ph" => "pH".into(),
        "battery_charging" => "Charging".into(),
        "energy_distance" => "Energy per distance".into(),
        "energy_storage" => "Stored energy".into(),
        "enum" if component == "sensor" => "MQTT Sensor".into(),
        "monetary" => "Monetary balance".into(),
        "volume_storage" => "Stored volume".into(),
        other => capitalized(&other.replace('_', " ")),
    }
}

fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The shown name and the text that the id is made of.
pub struct Names {
    /// With the device's name in front; a repeated device name is shown once.
    pub shown: String,
    /// As Home Assistant has it, repetition and all: ids are made of this.
    pub full: String,
}

impl Names {
    pub fn of(fields: Fields<'_>, component: &str) -> Result<Self, Refusal> {
        let device = fields.object("device").and_then(|device| device.get("name")).and_then(text_of);
        let own = own_name(fields, component)?;
        let full = match (&device, &own) {
            (Some(device), Some(own)) => format!("{device} {own}"),
            (Some(device), None) => device.clone(),
            (None, Some(own)) => own.clone(),
            (None, None) => kind_name(fields, component),
        };
        let shown = match (&device, &own) {
            (Some(device), Some(own)) if own == device || starts_with_words(own, device) => own.clone(),
            _ => full.clone(),
        };
        Ok(Self { shown: clean(&shown), full: clean(&full) })
    }
}

/// Whether `text` begins with the whole words of `prefix`.
fn starts_with_words(text: &str, prefix: &str) -> bool {
    !prefix.is_empty()
        && text.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Device text for people: one line, no control characters, nothing that turns the direction of what follows or takes
/// no room, at most 120 characters. What joins emoji and Persian letters stays.
pub fn clean(text: &str) -> String {
    let hidden = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    };
    let plain: String =
        text.chars().filter(|c| !hidden(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect()
}

/// The object id that an announcement asks for, or that follows from its name.
pub fn object_id(fields: Fields<'_>, full_name: &str) -> Result<String, Refusal> {
    let hint = match fields.nullable("default_entity_id")?.flatten() {
        Some(id) => Some(id.split_once('.').map_or(id.as_str(), |(_, object)| object).to_owned()),
        None => fields.nullable("object_id")?.flatten(),
    };
    let slug = slug(hint.as_deref().unwrap_or(full_name));
    Ok(if slug.is_empty() { "unnamed".into() } else { slug })
}

/// Lower-case ASCII words joined by `_`. Accents are dropped, Chinese is written in pinyin.
pub fn slug(text: &str) -> String {
    use pinyin::ToPinyin;
    let mut out = String::with_capacity(text.len());
    let push = |piece: &str, out: &mut String| {
        for character in piece.chars().filter(|c| !is_combining_mark(*c)) {
            if character.is_ascii_alphanumeric() {
                out.push(character.to_ascii_lowercase());
            } else if character != '\'' && !out.ends_with('_') {
                out.push('_');
            }
        }
    };
    for character in text.chars().take(200) {
        let plain = match character {
            'ß' => "ss",
            'ø' | 'Ø' => "o",
            'æ' | 'Æ' => "ae",
            'œ' | 'Œ' => "oe",
            'ł' | 'Ł' => "l",
            'đ' | 'Đ' => "d",
            'ı' => "i",
            '°' => "deg",
            'µ' | 'μ' => "u",
            _ => "",
        };
        if !plain.is_empty() {
            push(plain, &mut out);
        } else if let Some(pinyin) = character.to_pinyin() {
            push(pinyin.plain(), &mut out);
            push(" ", &mut out);
        } else {
            let decomposed: String = std::iter::once(character).nfkd().collect();
            push(&decomposed, &mut out);
        }
    }
    out.trim_matches('_').chars().take(200).collect()
}

/// The id of the `nth` claimant (from 0) of the same object id.
pub fn numbered(domain: Domain, object: &str, nth: usize) -> EntityId {
    if nth == 0 {
        EntityId::from_name(domain, object)
    } else {
        EntityId::from_name(domain, &format!("{object}_{}", nth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_ascii_in_every_language() {
        for (name, expected) in [
            ("adeo SIN-4-RS-20_LEX", "adeo_sin_4_rs_20_lex"),
            ("Küche Öl", "kuche_ol"),
            ("Straße", "strasse"),
            ("厨房灯", "chu_fang_deng"),
            ("  It's — new!  ", "its_new"),
            ("!!!", ""),
        ] {
            assert_eq!(slug(name), expected);
        }
    }
}
