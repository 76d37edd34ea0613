//! Settings and measurements: which entity knows them, and how they are said.

use super::{kind, spoken, state, with_unit};
use crate::home::{Domain, State, attr};
use crate::nlu::index::Item;
use crate::nlu::lexicon::Lexicon;
use crate::nlu::vocabulary::Attribute;

/// Device classes of sensors for an attribute.
fn classes(attribute: Attribute) -> &'static [&'static str] {
    match attribute {
        Attribute::Temperature => &["temperature"],
        Attribute::Humidity => &["humidity", "moisture"],
        Attribute::Battery => &["battery"],
        Attribute::Power => &["power", "apparent_power"],
        Attribute::Energy => &["energy"],
        Attribute::Illuminance | Attribute::Brightness => &["illuminance"],
        Attribute::CarbonDioxide => &["carbon_dioxide"],
        Attribute::Pm25 => &["pm25"],
        Attribute::AirQuality => &["aqi", "volatile_organic_compounds"],
        Attribute::Pressure => &["atmospheric_pressure", "pressure"],
        Attribute::Speed => &["wind_speed", "speed"],
        Attribute::Volume
        | Attribute::Color
        | Attribute::ColorTemperature
        | Attribute::TargetTemperature
        | Attribute::Position
        | Attribute::Tilt
        | Attribute::Mode
        | Attribute::FanMode
        | Attribute::Swing
        | Attribute::Preset
        | Attribute::Source
        | Attribute::Status
        | Attribute::Title
        | Attribute::Name
        | Attribute::Age
        | Attribute::Clock
        | Attribute::Date => &[],
    }
}

/// Names of state attributes for an attribute, in the order of preference.
fn attributes(attribute: Attribute) -> &'static [&'static str] {
    match attribute {
        Attribute::Temperature => &[attr::CURRENT_TEMPERATURE, attr::TEMPERATURE],
        Attribute::TargetTemperature => &[attr::TEMPERATURE, "target_temperature"],
        Attribute::Humidity => &[attr::CURRENT_HUMIDITY, attr::HUMIDITY],
        Attribute::Brightness => &[attr::BRIGHTNESS],
        Attribute::ColorTemperature => &[attr::COLOR_TEMP_KELVIN],
        Attribute::Color => &["color_name", attr::RGB_COLOR, attr::COLOR_MODE],
        Attribute::Volume => &[attr::VOLUME_LEVEL],
        Attribute::Position => &[attr::CURRENT_POSITION],
        Attribute::Tilt => &[attr::CURRENT_TILT_POSITION],
        Attribute::Speed => &[attr::PERCENTAGE],
        Attribute::Mode => &["hvac_mode", attr::MODE, attr::PRESET_MODE],
        Attribute::FanMode => &[attr::FAN_MODE],
        Attribute::Swing => &[attr::SWING_MODE],
        Attribute::Preset => &[attr::PRESET_MODE],
        Attribute::Source => &[attr::SOURCE],
        Attribute::Title => &[attr::MEDIA_TITLE],
        Attribute::Battery => &[attr::BATTERY_LEVEL],
        Attribute::Power
        | Attribute::Energy
        | Attribute::Illuminance
        | Attribute::CarbonDioxide
        | Attribute::Pm25
        | Attribute::AirQuality
        | Attribute::Pressure
        | Attribute::Status
        | Attribute::Name
        | Attribute::Age
        | Attribute::Clock
        | Attribute::Date => &[],
    }
}

/// Whether an entity knows an attribute.
pub fn knows(item: &Item, known: Option<&State>, attribute: Attribute) -> bool {
    let sensor = item.entity.domain() == Domain::Sensor
        && (classes(attribute).contains(&kind(item))
            || (attribute == Attribute::Temperature
                && item.entity.unit.as_deref().is_some_and(|unit| unit.starts_with('°'))));
    sensor
        || tells_mode(item, known, attribute)
        || known.is_some_and(|state| {
            attributes(attribute)
                .iter()
                .any(|name| state.attributes.get(*name).is_some_and(|value| !value.is_null()))
        })
}

/// A climate's mode is its state.
fn tells_mode(item: &Item, known: Option<&State>, attribute: Attribute) -> bool {
    let mode = attribute == Attribute::Mode && item.entity.domain() == Domain::Climate;
    mode && known.is_some_and(|state| state.text().is_some())
}

/// An attribute as a number in the unit that people use.
pub fn amount(item: &Item, known: Option<&State>, attribute: Attribute) -> Option<f64> {
    let state = known?;
    if item.entity.domain() == Domain::Sensor {
        return state.number();
    }
    let (name, value) =
        attributes(attribute).iter().find_map(|name| Some((*name, state.attribute_number(name)?)))?;
    Some(match name {
        attr::BRIGHTNESS => (value / 2.55).round(),
        attr::VOLUME_LEVEL => (value * 100.0).round(),
        _ => value,
    })
}

/// An attribute as it is said, with its unit.
pub fn value(lexicon: &Lexicon, item: &Item, known: Option<&State>, attribute: Attribute) -> Option<String> {
    if item.entity.domain() == Domain::Sensor {
        return Some(state(lexicon, item, known));
    }
    if let Some(value) = amount(item, known, attribute) {
        let Some(unit) = unit(attribute) else { return Some(spoken(lexicon, value)) };
        return Some(with_unit(&spoken(lexicon, value), unit));
    }
    if tells_mode(item, known, attribute) {
        return Some(state(lexicon, item, known));
    }
    let state = known?;
    attributes(attribute).iter().find_map(|name| {
        let value = state.attributes.get(*name)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    })
}

/// The unit in which people say an attribute.
fn unit(attribute: Attribute) -> Option<&'static str> {
    use Attribute::{
        Battery, Brightness, ColorTemperature, Humidity, Position, Speed, TargetTemperature, Temperature,
        Tilt, Volume,
    };
    const SHARES: [Attribute; 7] = [Humidity, Brightness, Volume, Position, Tilt, Speed, Battery];
    if matches!(attribute, Temperature | TargetTemperature) {
        return Some("°C");
    }
    if attribute == ColorTemperature {
        return Some("K");
    }
    SHARES.contains(&attribute).then_some("%")
}
