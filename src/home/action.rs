//! Explicit verbs with typed arguments on one entity.
//!
//! There is no toggle and no verb for opposite risks. Names of verbs and arguments are Home Assistant's service and
//! field names where it has them. What an entity takes is said by a [`super::ActionSpec`].

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::entity::EntityId;

/// One verb on one entity with checked arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    pub entity: EntityId,
    pub verb: Verb,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: Args,
}

/// Arguments in a stable order.
pub type Args = BTreeMap<Arg, ArgValue>;

impl Action {
    pub fn new(entity: EntityId, verb: Verb) -> Self {
        Self { entity, verb, args: Args::new() }
    }

    pub fn with(mut self, arg: Arg, value: ArgValue) -> Self {
        self.args.insert(arg, value);
        self
    }

    /// The first two of `actions` that are to do opposite things to one entity.
    pub fn opposites(actions: &[Action]) -> Option<(&Action, &Action)> {
        const OPPOSITES: &[(Verb, Verb)] = &[
            (Verb::Lock, Verb::Unlock),
            (Verb::Lock, Verb::Open),
            (Verb::TurnOn, Verb::TurnOff),
            (Verb::Open, Verb::Close),
            (Verb::OpenTilt, Verb::CloseTilt),
            (Verb::ArmHome, Verb::Disarm),
            (Verb::ArmAway, Verb::Disarm),
            (Verb::ArmNight, Verb::Disarm),
            (Verb::ArmVacation, Verb::Disarm),
            (Verb::Mute, Verb::Unmute),
        ];
        let oppose = |one: &Action, other: &Action| {
            one.entity == other.entity
                && OPPOSITES
                    .iter()
                    .any(|pair| *pair == (one.verb, other.verb) || *pair == (other.verb, one.verb))
        };
        actions.iter().enumerate().find_map(|(at, one)| {
            actions.iter().skip(at + 1).find(|other| oppose(one, other)).map(|other| (one, other))
        })
    }

    /// `light.turn_on`: domain and verb, without the entity.
    pub fn kind(&self) -> String {
        format!("{}.{}", self.entity.domain(), self.verb)
    }
}

impl fmt::Display for Action {
    /// `light.turn_on light.kitchen {"brightness_pct":40}`: for logs and the trajectory, not for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} {}", self.entity.domain(), self.verb, self.entity)?;
        if !self.args.is_empty() {
            write!(f, " {}", serde_json::to_string(&self.args).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Defines an enum of words with its text forms in one table.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $(#[serde(rename = $word)] $variant),+ }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),+];

            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// What can be done to an entity. The same verb on different domains has different risks; policy looks at both.
    Verb {
        TurnOn = "turn_on",
        TurnOff = "turn_off",
        Open = "open",
        Close = "close",
        Stop = "stop",
        SetPosition = "set_position",
        OpenTilt = "open_tilt",
        CloseTilt = "close_tilt",
        StopTilt = "stop_tilt",
        SetTiltPosition = "set_tilt_position",
        SetTemperature = "set_temperature",
        SetHvacMode = "set_hvac_mode",
        SetFanMode = "set_fan_mode",
        SetSwingMode = "set_swing_mode",
        SetSwingHorizontalMode = "set_swing_horizontal_mode",
        SetPresetMode = "set_preset_mode",
        SetHumidity = "set_humidity",
        SetMode = "set_mode",
        SetPercentage = "set_percentage",
        Oscillate = "oscillate",
        SetDirection = "set_direction",
        Lock = "lock",
        Unlock = "unlock",
        ArmHome = "arm_home",
        ArmAway = "arm_away",
        ArmNight = "arm_night",
        ArmVacation = "arm_vacation",
        ArmCustomBypass = "arm_custom_bypass",
        Disarm = "disarm",
        Trigger = "trigger",
        Play = "play",
        Pause = "pause",
        NextTrack = "next_track",
        PreviousTrack = "previous_track",
        SetVolume = "set_volume",
        VolumeUp = "volume_up",
        VolumeDown = "volume_down",
        Mute = "mute",
        Unmute = "unmute",
        SelectSource = "select_source",
        PlayMedia = "play_media",
        Start = "start",
        ReturnToBase = "return_to_base",
        CleanSpot = "clean_spot",
        Locate = "locate",
        SetFanSpeed = "set_fan_speed",
        SendCommand = "send_command",
        StartMowing = "start_mowing",
        Dock = "dock",
        SetValue = "set_value",
        SelectOption = "select_option",
        Press = "press",
        Activate = "activate",
        Run = "run",
        SendMessage = "send_message",
        Install = "install",
        AddItem = "add_item",
        CompleteItem = "complete_item",
        RemoveItem = "remove_item",
    }
}

words! {
    /// Names of arguments, Home Assistant's field names. Units are in the comments of [`Arg::unit`].
    Arg {
        BrightnessPct = "brightness_pct",
        ColorTempKelvin = "color_temp_kelvin",
        RgbColor = "rgb_color",
        RgbwColor = "rgbw_color",
        RgbwwColor = "rgbww_color",
        HsColor = "hs_color",
        XyColor = "xy_color",
        White = "white",
        Flash = "flash",
        Effect = "effect",
        Transition = "transition",
        Position = "position",
        TiltPosition = "tilt_position",
        Temperature = "temperature",
        TargetTempLow = "target_temp_low",
        TargetTempHigh = "target_temp_high",
        HvacMode = "hvac_mode",
        FanMode = "fan_mode",
        SwingMode = "swing_mode",
        SwingHorizontalMode = "swing_horizontal_mode",
        PresetMode = "preset_mode",
        Humidity = "humidity",
        Mode = "mode",
        Percentage = "percentage",
        Oscillating = "oscillating",
        Direction = "direction",
        VolumePct = "volume_pct",
        Source = "source",
        Media = "media",
        FanSpeed = "fan_speed",
        Command = "command",
        Params = "params",
        Value = "value",
        Option = "option",
        Tone = "tone",
        Duration = "duration",
        Code = "code",
        Item = "item",
        Message = "message",
    }
}

impl Arg {
    /// The unit shown in tool schemas and error messages; empty where there is none.
    pub fn unit(self) -> &'static str {
        match self {
            Arg::BrightnessPct
            | Arg::Position
            | Arg::TiltPosition
            | Arg::Humidity
            | Arg::Percentage
            | Arg::VolumePct => "%",
            Arg::ColorTempKelvin => "K",
            Arg::Temperature | Arg::TargetTempLow | Arg::TargetTempHigh => "°C",
            Arg::Transition | Arg::Duration => "s",
            Arg::RgbColor
            | Arg::RgbwColor
            | Arg::RgbwwColor
            | Arg::HsColor
            | Arg::XyColor
            | Arg::White
            | Arg::Flash
            | Arg::Effect
            | Arg::HvacMode
            | Arg::FanMode
            | Arg::SwingMode
            | Arg::SwingHorizontalMode
            | Arg::PresetMode
            | Arg::Mode
            | Arg::Oscillating
            | Arg::Direction
            | Arg::Source
            | Arg::Media
            | Arg::FanSpeed
            | Arg::Command
            | Arg::Params
            | Arg::Value
            | Arg::Option
            | Arg::Tone
            | Arg::Code
            | Arg::Item
            | Arg::Message => "",
        }
    }
}

/// A checked argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArgValue {
    Bool(bool),
    Number(f64),
    Rgb([u8; 3]),
    /// Numbers that belong together, in the order of [`ArgKind::Numbers`].
    Numbers(Vec<f64>),
    Text(String),
}

impl ArgValue {
    pub fn as_number(&self) -> Option<f64> {
        match self {
            ArgValue::Number(number) => Some(*number),
            ArgValue::Bool(_) | ArgValue::Rgb(_) | ArgValue::Numbers(_) | ArgValue::Text(_) => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            ArgValue::Text(text) => Some(text),
            ArgValue::Bool(_) | ArgValue::Rgb(_) | ArgValue::Numbers(_) | ArgValue::Number(_) => None,
        }
    }

    pub fn as_numbers(&self) -> Option<&[f64]> {
        match self {
            ArgValue::Numbers(numbers) => Some(numbers),
            ArgValue::Bool(_) | ArgValue::Rgb(_) | ArgValue::Number(_) | ArgValue::Text(_) => None,
        }
    }
}
