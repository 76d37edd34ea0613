//! From Home Assistant's states to ours, as `subscribe_entities` sends them: whole ones first, then differences.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::home::{Availability, EntityId, State, Update, attr};

/// Attributes that are kept. Everything else is pictures, lists and settings that nobody here reads.
const KEPT: &[&str] = &[
    attr::BRIGHTNESS,
    attr::COLOR_MODE,
    attr::COLOR_TEMP_KELVIN,
    attr::RGB_COLOR,
    attr::HS_COLOR,
    attr::XY_COLOR,
    attr::EFFECT,
    attr::CURRENT_POSITION,
    attr::CURRENT_TILT_POSITION,
    attr::TEMPERATURE,
    attr::TARGET_TEMP_LOW,
    attr::TARGET_TEMP_HIGH,
    attr::CURRENT_TEMPERATURE,
    attr::CURRENT_HUMIDITY,
    attr::HUMIDITY,
    attr::HVAC_ACTION,
    attr::FAN_MODE,
    attr::SWING_MODE,
    attr::PRESET_MODE,
    attr::PERCENTAGE,
    attr::OSCILLATING,
    attr::DIRECTION,
    attr::MODE,
    attr::VOLUME_LEVEL,
    attr::IS_VOLUME_MUTED,
    attr::SOURCE,
    attr::MEDIA_TITLE,
    attr::FAN_SPEED,
    attr::BATTERY_LEVEL,
];
/// Longest text of a state or an attribute, in bytes; Home Assistant itself stops at 255 for a state.
const LONGEST: usize = 1024;

/// An event of `subscribe_entities`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Entities {
    /// Whole states.
    pub a: Map<String, Value>,
    /// Differences.
    pub c: Map<String, Value>,
    /// Ids that are gone.
    pub r: Vec<String>,
}

/// What one event says about one entity.
#[derive(Debug, PartialEq)]
pub struct Report {
    pub id: EntityId,
    pub update: Update,
    /// Whether Home Assistant knows it from the device: restored and assumed states are not.
    pub live: bool,
}

/// A whole state: what the update does not name is removed by the caller's empty start.
pub fn whole(id: &str, state: &Value) -> Option<Report> {
    let id = EntityId::parse(id).ok()?;
    let attributes = state.get("a").and_then(Value::as_object);
    let flag = |name: &str| attributes.and_then(|all| all.get(name)).and_then(Value::as_bool) == Some(true);
    let live = !flag("restored") && !flag("assumed_state");
    let mut update = value(state.get("s").and_then(Value::as_str).unwrap_or("unknown"));
    for name in KEPT {
        let value = attributes.and_then(|all| all.get(*name)).and_then(kept);
        update.attributes.push((Cow::Borrowed(*name), value));
    }
    // Absent attributes are removed where they were known, and leave no trace where they were not.
    Some(Report { id, update, live })
}

/// Whether a whole state says nothing but what is known.
pub fn is_known(update: &Update, known: &State) -> bool {
    update.value.as_ref().is_none_or(|value| value.as_deref() == known.value.as_deref())
        && update.availability.is_none_or(|availability| availability == known.availability)
        && update.attributes.iter().all(|(name, value)| known.attributes.get(name) == value.as_ref())
}

/// A difference; `None` where nothing of it is kept.
pub fn difference(id: &str, change: &Value) -> Option<Report> {
    let id = EntityId::parse(id).ok()?;
    let mut update = Update::default();
    if let Some(more) = change.get("+") {
        if let Some(state) = more.get("s").and_then(Value::as_str) {
            update = value(state);
        }
        for (name, value) in more.get("a").and_then(Value::as_object).into_iter().flatten() {
            if let Some(name) = KEPT.iter().find(|kept| *kept == name) {
                update.attributes.push((Cow::Borrowed(*name), kept(value)));
            }
        }
    }
    for name in change.get("-").and_then(|less| less.get("a")).and_then(Value::as_array).into_iter().flatten()
    {
        if let Some(name) = KEPT.iter().find(|kept| Some(**kept) == name.as_str()) {
            update.attributes.push((Cow::Borrowed(*name), None));
        }
    }
    (!update.is_empty()).then_some(Report { id, update, live: true })
}

fn value(state: &str) -> Update {
    let (value, availability) = match state {
        "unavailable" => (None, Availability::Offline),
        "unknown" => (None, Availability::Online),
        state => (Some(cut(state).to_owned().into()), Availability::Online),
    };
    Update { value: Some(value), availability: Some(availability), ..Update::default() }
}

fn kept(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Value::String(cut(text).to_owned())),
        other => Some(other.clone()),
    }
}

/// The text, cut at a character where it is too long.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_states_and_differences_become_updates() {
        let report =
            whole("light.a", &json!({"s": "on", "a": {"brightness": 7, "friendly_name": "A"}})).unwrap();
        assert_eq!(report.update.value, Some(Some("on".into())));
        assert!(report.live);
        let set: Vec<_> = report.update.attributes.iter().filter(|(_, value)| value.is_some()).collect();
        assert_eq!(set, [&(Cow::Borrowed("brightness"), Some(json!(7)))]);
        let change = json!({"+": {"s": "off", "a": {"icon": "x"}}, "-": {"a": ["brightness", "icon"]}});
        let report = difference("light.a", &change).unwrap();
        assert_eq!(report.update.value, Some(Some("off".into())));
        assert_eq!(report.update.attributes, [(Cow::Borrowed("brightness"), None)]);
        assert_eq!(difference("light.a", &json!({"+": {"lu": 1.5}})), None);
    }

    #[test]
    fn a_whole_state_that_is_known_says_nothing_new() {
        let told = |state: &str, brightness: u8| {
            whole("light.a", &json!({"s": state, "a": {"brightness": brightness}})).unwrap().update
        };
        let known = State {
            value: Some("on".into()),
            attributes: [(Cow::Borrowed("brightness"), json!(7))].into(),
            availability: Availability::Online,
            ..State::default()
        };
        assert!(is_known(&told("on", 7), &known));
        for other in [told("off", 7), told("on", 8), told("unavailable", 7)] {
            assert!(!is_known(&other, &known), "{other:?}");
        }
        assert!(!is_known(&told("on", 7), &State::default()));
    }

    #[test]
    fn what_is_not_known_is_not_live_and_not_a_value() {
        for (state, value, availability, live) in [
            (json!({"s": "unavailable", "a": {}}), None, Availability::Offline, true),
            (json!({"s": "unknown", "a": {}}), None, Availability::Online, true),
            (json!({"s": "on", "a": {"restored": true}}), Some("on".into()), Availability::Online, false),
            (
                json!({"s": "on", "a": {"assumed_state": true}}),
                Some("on".into()),
                Availability::Online,
                false,
            ),
            (json!(null), None, Availability::Online, true),
        ] {
            let report = whole("light.a", &state).unwrap();
            assert_eq!(report.update.value, Some(value), "{state}");
            assert_eq!((report.update.availability, report.live), (Some(availability), live), "{state}");
        }
        assert_eq!(whole("Light.A", &json!({"s": "on"})), None);
    }
}
