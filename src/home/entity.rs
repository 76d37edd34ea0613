//! One controllable or readable thing of the house.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::Verb;
use super::spec::ActionSpec;

/// [`Entity::source`] of what the owner wrote down. Nothing that announces itself can have it.
pub const HOME_FILE: &str = "home.toml";

/// An entity: its identity, its names in several languages, its place, and what can be done with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entity {
    pub id: EntityId,
    /// The name shown to people. Device text: data, never instructions.
    pub name: String,
    /// Further names and translations, in the order of the home file or announcement.
    pub aliases: Vec<Name>,
    /// Id of its area in [`super::Places`].
    pub area: Option<String>,
    pub device: Option<Device>,
    /// Home Assistant's device class (`garage`, `curtain`, `door`, `temperature`…), lower case.
    pub device_class: Option<String>,
    pub category: Category,
    /// Unit of the state, where it is a measurement.
    pub unit: Option<String>,
    /// What can be done, with exact argument ranges. Empty for things that can only be read.
    pub actions: Vec<ActionSpec>,
    /// Entities that this one stands for; an action on a group is expanded to these leaves.
    pub members: Vec<EntityId>,
    /// Whether the device reports its state. If not, an outcome can never be Confirmed.
    pub reports_state: bool,
    /// Where the entity came from: [`HOME_FILE`], a discovery topic, `hass`…
    pub source: String,
}

impl Entity {
    /// The specification of `verb`, if this entity offers it.
    pub fn action(&self, verb: Verb) -> Option<&ActionSpec> {
        self.actions.iter().find(|spec| spec.verb == verb)
    }

    pub fn domain(&self) -> Domain {
        self.id.domain()
    }

    /// Every name, the shown one first.
    pub fn all_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(|name| name.text.as_str()))
    }

    /// The name to say in `language` (`en`, `zh`…): the shown one where it is written in that language's script, else
    /// the first alias of the language, else the shown one. The shown name tells entities apart that share an alias.
    pub fn name_in(&self, language: &str) -> &str {
        if self.name.chars().any(is_han) == (language == "zh") {
            return &self.name;
        }
        self.aliases
            .iter()
            .find(|name| name.language.as_deref() == Some(language))
            .map_or(self.name.as_str(), |name| name.text.as_str())
    }
}

/// Whether a character is a Chinese one (the two large blocks of unified ideographs).
fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// A name in a language; `None` means any language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    pub language: Option<String>,
    pub text: String,
}

/// The physical device behind an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Stable identifier (a discovery identifier, or the home file's).
    pub id: String,
    pub name: Option<String>,
    pub manufacturer: Option<String>,
    pub model: Option<String>,
}

/// Home Assistant's entity category. Config and diagnostic entities get no tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    #[default]
    Main,
    Config,
    Diagnostic,
}

/// `domain.object_id`, as in Home Assistant: lower-case letters, digits and underscores.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(Arc<str>);

/// A text that is not an entity id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an entity id: expected domain.object_id with a-z, 0-9 and _, at most 255 bytes")]
pub struct BadEntityId(pub String);

impl EntityId {
    pub fn parse(text: &str) -> Result<Self, BadEntityId> {
        let part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        match text.split_once('.') {
            Some((domain, object)) if part(domain) && part(object) && text.len() <= 255 => {
                Ok(Self(text.into()))
            }
            _ => Err(BadEntityId(text.chars().take(80).collect())),
        }
    }

    /// The id for a domain and any text, slugified as Home Assistant does it for ASCII; other letters become `_`.
    pub fn from_name(domain: Domain, text: &str) -> Self {
        let mut slug = String::with_capacity(text.len());
        for character in text.chars().flat_map(char::to_lowercase).take(200) {
            if character.is_ascii_alphanumeric() {
                slug.push(character);
            } else if !slug.ends_with('_') {
                slug.push('_');
            }
        }
        let slug = slug.trim_matches('_');
        let slug = if slug.is_empty() { "unnamed" } else { slug };
        Self(format!("{domain}.{slug}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn domain(&self) -> Domain {
        Domain::from_word(self.0.split_once('.').map_or("", |(domain, _)| domain))
    }

    pub fn object_id(&self) -> &str {
        self.0.split_once('.').map_or("", |(_, object)| object)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for EntityId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntityId {
    type Err = BadEntityId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for EntityId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntityId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Defines [`Domain`] and its words in one table, so that neither can miss a member.
macro_rules! domains {
    ($($variant:ident = $word:literal),+ $(,)?) => {
        /// Home Assistant's domains that homeloop knows, and [`Domain::Other`] for all else (gated as unknown).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Domain { $($variant,)+ Other }

        impl Domain {
            /// Every known domain, without `Other`.
            pub const ALL: &[Domain] = &[$(Domain::$variant),+];

            pub fn word(self) -> &'static str {
                match self { $(Domain::$variant => $word,)+ Domain::Other => "other" }
            }

            pub fn from_word(word: &str) -> Self {
                match word { $($word => Domain::$variant,)+ _ => Domain::Other }
            }
        }
    };
}

domains! {
    AlarmControlPanel = "alarm_control_panel",
    BinarySensor = "binary_sensor",
    Button = "button",
    Camera = "camera",
    Climate = "climate",
    Cover = "cover",
    Date = "date",
    DateTime = "datetime",
    DeviceTracker = "device_tracker",
    Event = "event",
    Fan = "fan",
    Humidifier = "humidifier",
    Image = "image",
    LawnMower = "lawn_mower",
    Light = "light",
    Lock = "lock",
    MediaPlayer = "media_player",
    Notify = "notify",
    Number = "number",
    Person = "person",
    Scene = "scene",
    Script = "script",
    Select = "select",
    Sensor = "sensor",
    Siren = "siren",
    Switch = "switch",
    Tag = "tag",
    Text = "text",
    Time = "time",
    Timer = "timer",
    Todo = "todo",
    Update = "update",
    Vacuum = "vacuum",
    Valve = "valve",
    WaterHeater = "water_heater",
    Weather = "weather",
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Domain {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Domain {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_is_said_is_in_the_script_of_the_language() {
        let alias = |language: &str, text: &str| Name { language: Some(language.into()), text: text.into() };
        for (name, aliases, language, said) in [
            (
                "Left bedside lamp",
                vec![alias("en", "bedside lamp"), alias("zh", "左床头灯")],
                "en",
                "Left bedside lamp",
            ),
            (
                "Left bedside lamp",
                vec![alias("en", "bedside lamp"), alias("zh", "左床头灯")],
                "zh",
                "左床头灯",
            ),
            ("左床头灯", vec![alias("en", "bedside lamp"), alias("zh", "床头灯")], "zh", "左床头灯"),
            ("左床头灯", vec![alias("en", "bedside lamp")], "en", "bedside lamp"),
            ("Stehlampe", vec![], "zh", "Stehlampe"),
            ("小米 lamp", vec![alias("en", "lamp")], "zh", "小米 lamp"),
        ] {
            let entity = Entity {
                id: EntityId::parse("light.lamp").unwrap(),
                name: name.into(),
                aliases,
                area: None,
                device: None,
                device_class: None,
                category: Category::Main,
                unit: None,
                actions: Vec::new(),
                members: Vec::new(),
                reports_state: true,
                source: String::new(),
            };
            assert_eq!(entity.name_in(language), said);
        }
    }

    #[test]
    fn ids_are_checked_and_slugs_are_valid() {
        for bad in ["", "light", "light.", ".x", "Light.x", "light.a/b", "light.a.b", "light.+", "light.ä"] {
            assert!(EntityId::parse(bad).is_err(), "{bad}");
        }
        for (name, id) in [
            ("Kitchen Ceiling", "light.kitchen_ceiling"),
            ("0x00-15", "light.0x00_15"),
            ("灯", "light.unnamed"),
        ] {
            let made = EntityId::from_name(Domain::Light, name);
            assert_eq!(made.as_str(), id);
            assert_eq!(EntityId::parse(made.as_str()), Ok(made));
        }
        assert_eq!(EntityId::parse("quux.x").map(|id| id.domain()), Ok(Domain::Other));
        for domain in Domain::ALL {
            assert_eq!(Domain::from_word(domain.word()), *domain);
        }
    }
}
