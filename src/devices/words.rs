//! The words of states that come again and again, so that a report can name one without allocating.

use std::borrow::Cow;

/// Defines the lookup from one list.
macro_rules! known {
    ($($word:literal)+) => {
        /// The static form of a common word, if it is one.
        pub fn known(word: &str) -> Option<&'static str> {
            match word { $($word => Some($word),)+ _ => None }
        }
    };
}

known! {
    "on" "off" "unknown" "idle" "auto"
    "open" "opening" "closed" "closing" "stopped"
    "locked" "locking" "unlocked" "unlocking" "jammed"
    "disarmed" "armed_home" "armed_away" "armed_night" "armed_vacation" "armed_custom_bypass"
    "arming" "disarming" "pending" "triggered"
    "heat" "cool" "heat_cool" "dry" "fan_only" "eco" "electric" "gas" "heat_pump" "high_demand" "performance"
    "heating" "cooling" "drying" "fan" "preheating" "defrosting"
    "playing" "paused" "buffering" "standby"
    "cleaning" "docked" "returning" "error" "mowing"
    "home" "not_home" "low" "medium" "high" "normal" "boost" "sleep" "away" "comfort" "none"
    "forward" "reverse" "color_temp" "xy" "hs" "rgb" "brightness" "onoff"
    "brightness_pct" "color_mode" "color_temp_kelvin" "rgb_color" "hs_color" "xy_color" "effect"
    "current_position" "current_tilt_position" "temperature" "target_temp_low" "target_temp_high"
    "current_temperature" "current_humidity" "humidity" "hvac_action" "fan_mode" "preset_mode"
    "swing_mode" "swing_horizontal_mode" "last_reset" "white"
    "percentage" "oscillating" "direction" "mode" "volume_level" "is_volume_muted" "source" "media_title"
    "fan_speed" "battery_level" "open_zones" "latitude" "longitude" "gps_accuracy" "tone" "duration"
}

/// The word itself: borrowed where it is a common one, a copy otherwise.
pub fn word(text: &str) -> Cow<'static, str> {
    known(text).map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed)
}
