//! When an action counts as done: what the house must report, how exactly, and within what time.
//!
//! A [`Goal`] looks at states only. It does not know what was sent, and a state that is not a live report of this
//! connection never satisfies it. The goals of every verb are in [`goals`].

mod color;
mod goals;

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};

use crate::devices::ConfirmHint;
use crate::home::{Action, Attr, Entity, Stamp, State, attr};

/// What the house must report for one action.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// All must hold. None given: the effect cannot be seen.
    pub(super) wants: Vec<Want>,
    /// Values on the way: not final.
    passing: &'static [&'static str],
    /// Values that say the opposite.
    opposite: &'static [&'static str],
    /// Values that say so at once.
    failed: &'static [&'static str],
    /// The way a position should go, from where it was.
    toward: Option<Toward>,
    /// Time within which the report must come.
    pub within: Duration,
    /// How long an opposite report that repeats the old state may stand before it counts; `None`: until the end.
    pub settle: Option<Duration>,
    /// Whether a live state that holds already means that nothing need be sent.
    pub can_be_already: bool,
    /// Whether sending it twice is the same as once.
    pub absolute: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Toward {
    attribute: &'static str,
    from: f64,
    up: bool,
}

/// One condition on a state.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Want {
    Value(&'static [&'static str]),
    NotValue(&'static [&'static str]),
    ValueText(String),
    /// A time, in whatever offset it is told.
    Moment(String),
    ValueNumber {
        target: f64,
        tolerance: f64,
    },
    /// Where the attribute is not reported at all, it is not asked for.
    NearIfReported {
        attribute: &'static str,
        target: f64,
        tolerance: f64,
    },
    Near {
        attribute: &'static str,
        target: f64,
        tolerance: f64,
    },
    Text {
        attribute: &'static str,
        text: String,
    },
    Flag {
        attribute: &'static str,
        is: bool,
    },
    Rgb([u8; 3]),
    /// Coordinates of a colour, in whatever terms it is told.
    Xy(f64, f64),
    /// The channels or coordinates of a colour.
    Parts {
        attribute: &'static str,
        target: Vec<f64>,
    },
    More {
        attribute: &'static str,
        than: f64,
    },
    Less {
        attribute: &'static str,
        than: f64,
    },
}

/// What a state says about a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Satisfied,
    /// On the way.
    Pending,
    Opposite,
    /// It failed for good: jammed.
    Failed,
    /// Nothing that says either.
    Other,
}

impl Goal {
    /// The goal of `action`. `before` is the state as it was when the action began.
    pub fn of(action: &Action, entity: &Entity, before: &State, hint: ConfirmHint) -> Self {
        goals::goal(action, entity, before, hint)
    }

    /// Whether anything that a device reports could show the effect.
    pub fn can_be_seen(&self) -> bool {
        !self.wants.is_empty()
    }

    /// Whether `state` shows the goal by live reports alone.
    pub fn holds_already(&self, state: &State, live: impl Fn(&Stamp) -> bool) -> bool {
        self.can_be_already && self.can_be_seen() && self.wants.iter().all(|want| want.holds(state, &live))
    }

    /// What `state` says. `live` accepts reports of the present connection; `newer` those that came after the send as
    /// well. Every condition needs a live report, and at least one a newer one: what held before the send can be
    /// no answer to it.
    pub fn look(&self, state: &State, live: impl Fn(&Stamp) -> bool, newer: impl Fn(&Stamp) -> bool) -> Seen {
        let value_newer = state.value_stamp.as_ref().is_some_and(&newer);
        if self.can_be_seen()
            && self.wants.iter().all(|want| want.holds(state, &live))
            && self.wants.iter().any(|want| want.holds(state, &newer))
        {
            return Seen::Satisfied;
        }
        if self.toward.as_ref().is_some_and(|toward| toward.going(state, &newer)) {
            return Seen::Pending;
        }
        match state.text() {
            Some(value) if value_newer && self.failed.contains(&value) => Seen::Failed,
            Some(value) if value_newer && self.passing.contains(&value) => Seen::Pending,
            Some(value) if value_newer && self.opposite.contains(&value) => Seen::Opposite,
            Some(_) | None => Seen::Other,
        }
    }
}

impl Toward {
    fn going(&self, state: &State, newer: impl Fn(&Stamp) -> bool) -> bool {
        let stamp = state.attribute_stamps.get(self.attribute);
        let moved = state.attribute_number(self.attribute).map(|now| now - self.from);
        stamp.is_some_and(newer)
            && moved.is_some_and(|moved| if self.up { moved > 0.5 } else { moved < -0.5 })
    }
}

impl Want {
    /// Whether the state shows it by a report that `fresh` accepts.
    fn holds(&self, state: &State, fresh: &impl Fn(&Stamp) -> bool) -> bool {
        let value = || state.value_stamp.as_ref().is_some_and(fresh).then(|| state.text()).flatten();
        let reported = |name: &'static str| state.attribute_stamps.get(name).is_some_and(fresh);
        let number = |name: &'static str| reported(name).then(|| state.attribute_number(name)).flatten();
        let near = |got: f64, target: f64, tolerance: f64| (got - target).abs() <= tolerance + 1e-6;
        match self {
            Want::Value(words) => value().is_some_and(|value| words.contains(&value)),
            Want::NotValue(words) => {
                value().is_some_and(|value| !is_unknown(value) && !words.contains(&value))
            }
            Want::ValueText(text) => value().is_some_and(|value| value == text),
            Want::Moment(text) => value().is_some_and(|value| same_moment(value, text)),
            Want::ValueNumber { target, tolerance } => value()
                .and_then(|value| value.trim().parse::<f64>().ok())
                .is_some_and(|got| near(got, *target, *tolerance)),
            Want::NearIfReported { attribute, target, tolerance } => {
                !state.attributes.contains_key(*attribute)
                    || number(attribute).is_some_and(|got| near(got, *target, *tolerance))
            }
            Want::Near { attribute, target, tolerance } => {
                number(attribute).is_some_and(|got| near(got, *target, *tolerance))
            }
            Want::Text { attribute, text } => {
                reported(attribute) && state.attribute_text(attribute) == Some(text.as_str())
            }
            Want::Flag { attribute, is } => {
                reported(attribute)
                    && state.attributes.get(*attribute).and_then(|flag| flag.as_bool()) == Some(*is)
            }
            Want::Rgb(rgb) => [attr::RGB_COLOR, attr::HS_COLOR, attr::XY_COLOR]
                .into_iter()
                .any(|name| reported(name) && color::shows(state.attributes.get(name), name, *rgb)),
            Want::Xy(x, y) => [attr::XY_COLOR, attr::RGB_COLOR, attr::HS_COLOR]
                .into_iter()
                .any(|name| reported(name) && color::is_near(state.attributes.get(name), name, (*x, *y))),
            Want::Parts { attribute, target } => {
                reported(attribute) && color::same_parts(state.attributes.get(*attribute), target)
            }
            Want::More { attribute, than } => number(attribute).is_some_and(|got| got > *than),
            Want::Less { attribute, than } => number(attribute).is_some_and(|got| got < *than),
        }
    }
}

/// Whether a told time is the wished one. A wish without an offset was meant in the zone that the device tells.
fn same_moment(told: &str, wished: &str) -> bool {
    let Ok(told) = DateTime::parse_from_rfc3339(told) else { return told == wished };
    match DateTime::parse_from_rfc3339(wished) {
        Ok(wished) => told == wished,
        Err(_) => ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
            .iter()
            .find_map(|form| NaiveDateTime::parse_from_str(wished, form).ok())
            .is_some_and(|wished| told.naive_local() == wished),
    }
}

fn is_unknown(value: &str) -> bool {
    matches!(value, "" | "unknown" | "unavailable")
}

/// Details that a sentence may use when an action failed: names of the open zones of an alarm panel.
pub(super) fn details(state: &State) -> Vec<String> {
    match state.attributes.get(&Attr::Borrowed(attr::OPEN_ZONES)) {
        Some(serde_json::Value::Array(zones)) => {
            zones.iter().filter_map(|zone| zone.as_str()).map(str::to_owned).collect()
        }
        Some(serde_json::Value::String(zone)) if !zone.is_empty() => vec![zone.clone()],
        Some(_) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
