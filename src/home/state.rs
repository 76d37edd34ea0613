//! What an entity last reported, how old that is, and whether it can be believed.
//!
//! Values and attributes use Home Assistant's words and scales (`brightness` 0–255, `current_position` 0–100,
//! 100 is open): a codec translates, so that everything above compares like with like.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

/// Name of an attribute; the known ones are in [`attr`].
pub type Attr = Cow<'static, str>;

/// Home Assistant's attribute names that the code relies on.
pub mod attr {
    pub const BRIGHTNESS: &str = "brightness";
    pub const COLOR_MODE: &str = "color_mode";
    pub const COLOR_TEMP_KELVIN: &str = "color_temp_kelvin";
    pub const RGB_COLOR: &str = "rgb_color";
    pub const HS_COLOR: &str = "hs_color";
    pub const RGBW_COLOR: &str = "rgbw_color";
    pub const RGBWW_COLOR: &str = "rgbww_color";
    pub const XY_COLOR: &str = "xy_color";
    pub const EFFECT: &str = "effect";
    pub const CURRENT_POSITION: &str = "current_position";
    pub const CURRENT_TILT_POSITION: &str = "current_tilt_position";
    pub const TEMPERATURE: &str = "temperature";
    pub const TARGET_TEMP_LOW: &str = "target_temp_low";
    pub const TARGET_TEMP_HIGH: &str = "target_temp_high";
    pub const CURRENT_TEMPERATURE: &str = "current_temperature";
    pub const CURRENT_HUMIDITY: &str = "current_humidity";
    pub const HUMIDITY: &str = "humidity";
    pub const HVAC_ACTION: &str = "hvac_action";
    pub const FAN_MODE: &str = "fan_mode";
    pub const LAST_RESET: &str = "last_reset";
    pub const SWING_MODE: &str = "swing_mode";
    pub const SWING_HORIZONTAL_MODE: &str = "swing_horizontal_mode";
    pub const PRESET_MODE: &str = "preset_mode";
    pub const PERCENTAGE: &str = "percentage";
    pub const OSCILLATING: &str = "oscillating";
    pub const DIRECTION: &str = "direction";
    pub const MODE: &str = "mode";
    /// 0.0–1.0, as Home Assistant has it.
    pub const VOLUME_LEVEL: &str = "volume_level";
    pub const IS_VOLUME_MUTED: &str = "is_volume_muted";
    pub const SOURCE: &str = "source";
    pub const MEDIA_TITLE: &str = "media_title";
    pub const FAN_SPEED: &str = "fan_speed";
    pub const BATTERY_LEVEL: &str = "battery_level";
    /// Names of the open zones that made an alarm panel refuse to arm.
    pub const OPEN_ZONES: &str = "open_zones";
}

/// Whether the device can be reached, as far as it says so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// Nothing heard yet on its availability topics.
    #[default]
    Unknown,
    Online,
    Offline,
}

/// The last reported state of an entity.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct State {
    /// `on`, `off`, `open`, `locked`, `21.5`… `None` is unknown.
    pub value: Option<Cow<'static, str>>,
    pub attributes: BTreeMap<Attr, Value>,
    pub availability: Availability,
    /// When and how the last report of value or attributes came; `None` before the first.
    pub reported: Option<Stamp>,
    /// When the value last changed.
    pub changed_at: Option<DateTime<Utc>>,
    /// The report that the value came with. A later report of an attribute alone does not make an old value new.
    #[serde(skip)]
    pub value_stamp: Option<Stamp>,
    /// The report that each attribute came with.
    #[serde(skip)]
    pub attribute_stamps: BTreeMap<Attr, Stamp>,
}

/// When a report arrived and how far it can be trusted as the device's present.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stamp {
    pub at: DateTime<Utc>,
    /// Time since boot at arrival; ages are computed from it.
    #[serde(skip)]
    pub since_boot: Duration,
    /// A live message of the present connection: not retained, not assumed, not our own echo.
    pub live: bool,
    /// Number of the connection that it came on. A live report counts as live only while its connection lasts.
    pub connection: u64,
    /// Counts all reports of the house; larger is later.
    pub sequence: u64,
}

/// What one message changes in one entity. Fields left out stay as they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Update {
    /// `Some(None)` sets the value to unknown.
    pub value: Option<Option<Cow<'static, str>>>,
    /// `None` as a value removes the attribute.
    pub attributes: Vec<(Attr, Option<Value>)>,
    /// Attributes that are shown again or hidden without being reported: the brightness of a light that was off. They
    /// keep the stamp of the report that they came with.
    pub recalled: Vec<(Attr, Option<Value>)>,
    pub availability: Option<Availability>,
}

impl Stamp {
    /// Whether this is the broker's memory of what came live on the same connection. A topic that is subscribed to
    /// again is told again; that must not make a live state an old one.
    fn is_echo_of(&self, known: Option<&Stamp>) -> bool {
        !self.live && known.is_some_and(|known| known.live && known.connection == self.connection)
    }
}

impl Update {
    /// An update of the value alone.
    pub fn value(value: impl Into<Cow<'static, str>>) -> Self {
        Self { value: Some(Some(value.into())), ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.value.is_none()
            && self.attributes.is_empty()
            && self.recalled.is_empty()
            && self.availability.is_none()
    }
}

impl State {
    /// The value as text, `None` when unknown.
    pub fn text(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// The value as a finite number.
    pub fn number(&self) -> Option<f64> {
        self.text()?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// An attribute as a finite number.
    pub fn attribute_number(&self, name: &str) -> Option<f64> {
        self.attributes.get(name)?.as_f64().filter(|number| number.is_finite())
    }

    pub fn attribute_text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_str()
    }

    /// Applies `update`; says whether anything that a person would see changed. Age alone is no change.
    pub fn apply(&mut self, update: &Update, stamp: Stamp) -> bool {
        let mut changed = false;
        if let Some(value) = &update.value {
            if self.value != *value || !stamp.is_echo_of(self.value_stamp.as_ref()) {
                self.value_stamp = Some(stamp);
            }
            if self.value != *value {
                self.value.clone_from(value);
                self.changed_at = Some(stamp.at);
                changed = true;
            }
        }
        for (name, value) in &update.attributes {
            let same = self.attributes.get(name) == value.as_ref();
            match self.attribute_stamps.get_mut(name) {
                Some(known) if same && stamp.is_echo_of(Some(known)) => {}
                Some(known) => *known = stamp,
                None => {
                    self.attribute_stamps.insert(name.clone(), stamp);
                }
            }
        }
        for (name, value) in update.attributes.iter().chain(&update.recalled) {
            let same = self.attributes.get(name) == value.as_ref();
            if !same {
                match value {
                    Some(value) => self.attributes.insert(name.clone(), value.clone()),
                    None => self.attributes.remove(name),
                };
                changed = true;
            }
        }
        if let Some(availability) = update.availability
            && self.availability != availability
        {
            self.availability = availability;
            changed = true;
        }
        let told = update.value.is_some() || !update.attributes.is_empty();
        if told && (changed || !stamp.is_echo_of(self.reported.as_ref())) {
            self.reported = Some(stamp);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_of_what_came_live_does_not_make_it_old() {
        let stamp = |live: bool, connection: u64, sequence: u64| Stamp {
            at: DateTime::UNIX_EPOCH,
            since_boot: Duration::from_secs(sequence),
            live,
            connection,
            sequence,
        };
        let told = |value: &'static str, brightness: u8| Update {
            attributes: vec![(Cow::Borrowed(attr::BRIGHTNESS), Some(brightness.into()))],
            ..Update::value(value)
        };
        // What comes second, and the numbers of the reports that count then: value, brightness, the last of any.
        for (value, brightness, second, counts) in [
            ("on", 7, stamp(false, 1, 2), [1, 1, 1]),
            ("off", 7, stamp(false, 1, 2), [2, 1, 2]),
            ("on", 8, stamp(false, 1, 2), [1, 2, 2]),
            ("on", 7, stamp(true, 1, 2), [2, 2, 2]),
            ("on", 7, stamp(false, 2, 2), [2, 2, 2]),
        ] {
            let mut state = State::default();
            state.apply(&told("on", 7), stamp(true, 1, 1));
            state.apply(&told(value, brightness), second);
            let found = [
                state.value_stamp.unwrap().sequence,
                state.attribute_stamps[attr::BRIGHTNESS].sequence,
                state.reported.unwrap().sequence,
            ];
            assert_eq!(found, counts, "{value} {brightness} {second:?}");
        }
    }
}
