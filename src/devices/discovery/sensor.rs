//! Sensors: a number, a time, one of several words, or any text.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Fields, Refusal};
use super::sensor_units::units;
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, Update, attr};

/// Longest state that Home Assistant keeps.
pub(super) const MAX_STATE: usize = 255;

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Number,
    /// Shown in degrees Celsius, as all temperatures are.
    Fahrenheit,
    Timestamp,
    Date,
    Enum(Vec<String>),
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Value,
    /// When a total was last set back.
    LastReset,
}

struct Sensor {
    kind: Kind,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let class = fields.device_class()?;
    // A unit of nothing is no unit.
    let unit = fields.nullable("unit_of_measurement")?.flatten().filter(|unit| !unit.trim().is_empty());
    if let (Some(class), Some(unit)) = (&class, &unit)
        && let Some(allowed) = units(class)
        && !allowed.contains(&unit.as_str())
    {
        return Err(Refusal::Wrong {
            key: "unit_of_measurement".into(),
            value: unit.clone(),
            expected: format!("a unit of {class}"),
        });
    }
    fields.not_negative("suggested_display_precision")?;
    let options = fields.list("options")?;
    check_class(class.as_deref(), unit.as_deref(), options.as_deref(), fields)?;
    let numeric = unit.is_some()
        || fields.nullable("state_class")?.flatten().is_some()
        || fields.has("suggested_display_precision")
        || class.as_deref().is_some_and(|class| !matches!(class, "date" | "timestamp" | "enum"));
    let kind = match (class.as_deref(), options) {
        (_, Some(options)) => Kind::Enum(options),
        (Some("timestamp"), None) => Kind::Timestamp,
        (Some("date"), None) => Kind::Date,
        (Some("temperature"), None) if unit.as_deref() == Some("°F") => Kind::Fahrenheit,
        (_, None) if numeric => Kind::Number,
        (_, None) => Kind::Text,
    };
    let read = Read::of(fields, "state_topic", "value_template", Field::Value, Undefined::Ignore)?
        .ok_or_else(|| Refusal::Missing("state_topic".into()))?;
    Ok(Built {
        codec: EntityCodec::shared(common, vec![Some(read), last_reset(fields)?], Sensor { kind }),
        actions: Vec::new(),
        reports_state: true,
        initial: Update::default(),
    })
}

/// The read of the time at which a total was last set back; Home Assistant takes it of totals only.
fn last_reset(fields: Fields<'_>) -> Result<Option<Read<Field>>, Refusal> {
    const KEY: &str = "last_reset_value_template";
    if !fields.has(KEY) {
        return Ok(None);
    }
    match fields.nullable("state_class")?.flatten().as_deref() {
        Some("total") => Read::of(fields, "state_topic", KEY, Field::LastReset, Undefined::Ignore),
        other => Err(Refusal::Conflict(format!(
            "{KEY} belongs to sensors of state class total, not {}",
            other.unwrap_or("none")
        ))),
    }
}

const STATE_CLASSES: &[&str] = &["measurement", "measurement_angle", "total", "total_increasing"];

/// What does not go together: options belong to sensors of class enum, and those and times have no unit.
fn check_class(
    class: Option<&str>,
    unit: Option<&str>,
    options: Option<&[String]>,
    fields: Fields<'_>,
) -> Result<(), Refusal> {
    let wrong = |key: &str, value: &str, expected: &str| {
        Err(Refusal::Wrong { key: key.into(), value: value.into(), expected: expected.into() })
    };
    let state_class = fields.nullable("state_class")?.flatten();
    if let Some(state_class) = &state_class
        && !STATE_CLASSES.contains(&state_class.as_str())
    {
        return wrong("state_class", state_class, &STATE_CLASSES.join(", "));
    }
    if state_class.as_deref() == Some("measurement_angle") && unit != Some("°") {
        return wrong("unit_of_measurement", unit.unwrap_or("none"), "° with state class measurement_angle");
    }
    let worded = matches!(class, Some("timestamp" | "date" | "enum"));
    if let Some(unit) = unit.filter(|_| worded) {
        return wrong("unit_of_measurement", unit, "no unit with this class");
    }
    match options {
        None => Ok(()),
        Some([]) => wrong("options", "[]", "at least one"),
        Some(_) if class != Some("enum") => {
            Err(Refusal::Conflict("options belong to sensors of class enum".into()))
        }
        Some(_) if state_class.is_some() || unit.is_some() => {
            Err(Refusal::Conflict("options exclude a state class and a unit".into()))
        }
        Some(_) => Ok(()),
    }
}

/// Whether text is a number in Python's eyes, and if so whether it is finite.
fn finite(text: &str) -> Option<bool> {
    text.trim().parse::<f64>().ok().map(f64::is_finite)
}

impl Component for Sensor {
    type Field = Field;

    fn is_report(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Template { .. } => false,
            // Home Assistant fails while it writes such a state, and stays unavailable; another word is only ignored.
            Fault::Value { .. } => matches!(self.kind, Kind::Enum(_)),
            Fault::NotText | Fault::NotJson(_) | Fault::TooLong { .. } => true,
        }
    }

    fn apply(&self, field: Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        match field {
            Field::Value => self.measure(text, view),
            Field::LastReset => {
                if !text.is_empty() {
                    let at = local_moment(text)
                        .ok_or_else(|| bad(attr::LAST_RESET, text, "a date with a time in ISO 8601"))?;
                    view.put(attr::LAST_RESET, at);
                }
                Ok(())
            }
        }
    }

    fn encode(&self, action: &Action, _: &mut Outbox<'_>) -> Result<(), EncodeError> {
        Err(EncodeError::Unsupported(action.kind()))
    }
}

impl Sensor {
    /// Reads one measurement.
    fn measure(&self, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == "None" || text.chars().count() > MAX_STATE {
            view.set_unknown();
            return Ok(());
        }
        match &self.kind {
            Kind::Number | Kind::Fahrenheit if text.is_empty() => {}
            Kind::Number | Kind::Fahrenheit => match finite(text) {
                Some(true) if self.kind == Kind::Fahrenheit => view.set(celsius(text)),
                Some(true) => view.set(text.trim().to_owned()),
                // Not a number is no measurement; what was measured before is not the present.
                Some(false) => view.set_unknown(),
                None => return Err(bad("state", text, "a number")),
            },
            Kind::Timestamp => match moment(text) {
                Some(at) => view.set(at.to_utc().format("%Y-%m-%dT%H:%M:%S+00:00").to_string()),
                None if is_naive_time(text) => {
                    return Err(bad("state", text, "a time with its offset from UTC"));
                }
                None => view.set_unknown(),
            },
            Kind::Date => match chrono::NaiveDate::parse_from_str(text.get(..10).unwrap_or(text), "%Y-%m-%d")
            {
                Ok(date) => view.set(date.to_string()),
                Err(_) => view.set_unknown(),
            },
            Kind::Enum(options) => {
                if text.is_empty() {
                    return Ok(());
                }
                if !options.iter().any(|option| option == text) {
                    return Err(bad("state", text, options.join(", ")));
                }
                view.set(text.to_owned());
            }
            Kind::Text => view.set(text.to_owned()),
        }
        Ok(())
    }
}

/// Degrees Celsius of degrees Fahrenheit, with the fifteen digits that a float surely has.
fn celsius(text: &str) -> String {
    let celsius = (text.trim().parse::<f64>().unwrap_or(f64::NAN) - 32.0) / 1.8;
    let decimals = 14usize.saturating_sub(celsius.abs().max(1.0).log10() as usize);
    let text = format!("{celsius:.decimals$}");
    let text = text.trim_end_matches('0');
    text.strip_suffix('.').map_or_else(|| text.to_owned(), |whole| format!("{whole}.0"))
}

/// Forms of a date with a time, without an offset.
const TIMES: &[&str] = &["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];

/// A time with its offset from UTC in the forms of ISO 8601.
pub(super) fn moment(text: &str) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    let text = match text.strip_suffix(['Z', 'z']) {
        Some(time) => format!("{time}+0000"),
        None => text.to_owned(),
    };
    TIMES.iter().find_map(|form| chrono::DateTime::parse_from_str(&text, &format!("{form}%z")).ok())
}

/// A date with a time as Home Assistant shows it: with the offset that it came with, or with none.
fn local_moment(text: &str) -> Option<String> {
    match moment(text) {
        Some(at) => Some(at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, false)),
        None => TIMES
            .iter()
            .find_map(|form| chrono::NaiveDateTime::parse_from_str(text, form).ok())
            .map(|at| at.format("%Y-%m-%dT%H:%M:%S%.f").to_string()),
    }
}

fn is_naive_time(text: &str) -> bool {
    TIMES.iter().any(|form| chrono::NaiveDateTime::parse_from_str(text, form).is_ok())
        || chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}
