//! Kinds of things: which a name mentions, and which an entity is of.

use crate::home::{Arg, ArgKind, Domain, Verb};

use super::index::Item;
use super::lexicon::{Lexicon, Sense};
use super::vocabulary::Class;

/// The kinds of things that a name mentions. Of Chinese names the longest: 窗帘 is a curtain and no window.
pub fn classes_in(keys: &[String], lexicon: &Lexicon) -> Vec<Class> {
    let mut classes = Vec::new();
    let mut start = 0;
    while let Some(rest) = keys.get(start..).filter(|rest| !rest.is_empty()) {
        let phrases = rest.first().map_or(&[][..], |first| lexicon.starting(first));
        let mut length = 1;
        for phrase in phrases.iter().filter(|phrase| rest.starts_with(&phrase.keys)) {
            let before = classes.len();
            classes.extend(phrase.senses.iter().filter_map(class_of));
            if lexicon.han_numbers && classes.len() > before {
                length = phrase.keys.len().max(1);
                break;
            }
        }
        start += length;
    }
    classes
}

fn class_of(sense: &Sense) -> Option<Class> {
    match sense {
        Sense::Class(class) => Some(*class),
        Sense::Pred(_)
        | Sense::State(_)
        | Sense::Such(_)
        | Sense::Attribute(_)
        | Sense::Word(_)
        | Sense::Mode(_)
        | Sense::Remark(_)
        | Sense::Occasion(_)
        | Sense::Talk(_)
        | Sense::Color(_)
        | Sense::White(_)
        | Sense::Level(_) => None,
    }
}

/// The kinds that things of a domain can be of by what they are; by their names they can be of others too.
pub fn of_domain(domain: Domain) -> &'static [Class] {
    match domain {
        Domain::Light => &[Class::Light],
        Domain::Fan => &[Class::Fan],
        Domain::Switch => &[Class::Light, Class::Switch, Class::Plug, Class::Coffee],
        Domain::Cover => &[
            Class::Blind,
            Class::Curtain,
            Class::Shade,
            Class::Shutter,
            Class::Awning,
            Class::Cover,
            Class::GarageDoor,
            Class::Gate,
            Class::Door,
            Class::Window,
        ],
        Domain::BinarySensor => &[
            Class::GarageDoor,
            Class::Door,
            Class::Window,
            Class::Lock,
            Class::Sensor,
            Class::Motion,
            Class::Presence,
            Class::Smoke,
            Class::Leak,
        ],
        Domain::Lock => &[Class::Door, Class::Lock],
        Domain::AlarmControlPanel => &[Class::Alarm],
        Domain::Climate => &[Class::Climate, Class::AirConditioner, Class::Heating],
        Domain::MediaPlayer => &[Class::Media, Class::Music, Class::Tv, Class::Speaker],
        Domain::Vacuum => &[Class::Vacuum],
        Domain::LawnMower => &[Class::Mower],
        Domain::Valve => &[Class::Valve, Class::Sprinkler],
        Domain::Humidifier => &[Class::Humidifier],
        Domain::WaterHeater => &[Class::WaterHeater],
        Domain::Siren => &[Class::Siren],
        Domain::Camera => &[Class::Camera],
        Domain::Scene => &[Class::Scene],
        Domain::Script => &[Class::Script],
        Domain::Todo => &[Class::List, Class::ShoppingList, Class::TaskList],
        Domain::Timer => &[Class::Timer],
        Domain::Sensor => &[Class::Sensor],
        Domain::Person | Domain::DeviceTracker => &[Class::Person],
        Domain::Weather => &[Class::Weather],
        Domain::Button
        | Domain::Date
        | Domain::DateTime
        | Domain::Event
        | Domain::Image
        | Domain::Notify
        | Domain::Number
        | Domain::Select
        | Domain::Tag
        | Domain::Text
        | Domain::Time
        | Domain::Update
        | Domain::Other => &[],
    }
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
        Class::AirConditioner => {
            domain == Domain::Climate && other_kind(item, class) && (named || cools(item))
        }
        Class::Heating => domain == Domain::Climate && other_kind(item, class),
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

/// Whether a climate can cool; one that does not tell its modes may.
fn cools(item: &Item) -> bool {
    let modes = item.entity.action(Verb::SetHvacMode).and_then(|spec| spec.arg(Arg::HvacMode));
    match modes.map(|arg| &arg.kind) {
        Some(ArgKind::Choice(modes)) => {
            modes.iter().any(|mode| matches!(mode.as_str(), "cool" | "heat_cool" | "auto" | "dry"))
        }
        Some(
            ArgKind::Number { .. }
            | ArgKind::Numbers { .. }
            | ArgKind::Text { .. }
            | ArgKind::Bool
            | ArgKind::Rgb,
        )
        | None => true,
    }
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
