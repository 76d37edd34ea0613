//! Temperatures of thermostats and water heaters: degrees Celsius here, whatever the device speaks.

use super::entity_codec::{View, number};
use super::fields::{Fields, Refusal};
use crate::devices::codec::Fault;

/// Celsius, or a device that speaks Fahrenheit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// To which part of a degree temperatures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    Tenths,
    Halves,
    Whole,
}

/// How a device's temperatures are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thermometer {
    unit: Unit,
    precision: Precision,
}

impl Thermometer {
    pub fn read(fields: Fields<'_>) -> Result<Self, Refusal> {
        let unit = fields.text_or("temperature_unit", "C")?;
        let unit =
            if unit.eq_ignore_ascii_case("F") || unit == "°F" { Unit::Fahrenheit } else { Unit::Celsius };
        let precision = match fields.number("precision")? {
            None | Some(0.1) => Precision::Tenths,
            Some(0.5) => Precision::Halves,
            Some(1.0) => Precision::Whole,
            Some(other) => {
                return Err(Refusal::Wrong {
                    key: "precision".into(),
                    value: other.to_string(),
                    expected: "0.1, 0.5 or 1".into(),
                });
            }
        };
        Ok(Self { unit, precision })
    }

    /// Degrees Celsius of a device's value, as exact as they are shown.
    pub fn celsius(self, value: f64) -> f64 {
        self.shown(match self.unit {
            Unit::Celsius => value,
            Unit::Fahrenheit => (value - 32.0) / 1.8,
        })
    }

    /// Degrees Celsius to the part of a degree that is shown.
    pub fn shown(self, celsius: f64) -> f64 {
        match self.precision {
            // Of the decimal number, as Python rounds: 20.25 is a tie, 20.35 is not.
            Precision::Tenths => format!("{celsius:.1}").parse().unwrap_or(celsius),
            Precision::Halves => (celsius * 2.0).round_ties_even() / 2.0,
            Precision::Whole => celsius.round_ties_even(),
        }
    }

    /// A device's value for degrees Celsius; not rounded.
    pub fn device(self, celsius: f64) -> f64 {
        match self.unit {
            Unit::Celsius => celsius,
            Unit::Fahrenheit => celsius * 1.8 + 32.0,
        }
    }

    /// The range and step of an announcement in Celsius; the defaults are Celsius.
    pub fn range(self, fields: Fields<'_>, min: f64, max: f64) -> Result<(f64, f64, f64), Refusal> {
        let limit = |key: &str, default: f64| -> Result<f64, Refusal> {
            Ok(fields.number(key)?.map_or(default, |value| self.celsius(value)))
        };
        let (min, max) = (limit("min_temp", min)?, limit("max_temp", max)?);
        if min > max {
            return Err(Refusal::Wrong {
                key: "min_temp".into(),
                value: min.to_string(),
                expected: format!("at most max_temp ({max})"),
            });
        }
        Ok((min, max, fields.number_or("temp_step", 1.0)?))
    }
}

/// An optional number: `None` and nothing are told apart from garbage.
pub(super) fn degrees(
    attribute: &'static str,
    text: &str,
    thermometer: Thermometer,
    view: &mut View<'_, '_>,
) -> Result<(), Fault> {
    match text {
        "" => {}
        "None" => view.clear(attribute),
        _ => view.put(attribute, thermometer.celsius(number(attribute, text)?)),
    }
    Ok(())
}
