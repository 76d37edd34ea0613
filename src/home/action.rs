//! Explicit verbs with typed arguments on one entity.
//!
//! There is no toggle and no verb for opposite risks. Names of verbs and arguments are Home Assistant's service and
//! field names where it has them. An [`ActionSpec`] says exactly what an entity takes; tools, the offline
//! understanding and the codecs all read the same specification.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
        XyColor = "xy_color",
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
            | Arg::XyColor
            | Arg::Flash
            | Arg::Effect
            | Arg::HvacMode
            | Arg::FanMode
            | Arg::SwingMode
            | Arg::PresetMode
            | Arg::Mode
            | Arg::Oscillating
            | Arg::Direction
            | Arg::Source
            | Arg::Media
            | Arg::FanSpeed
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

/// What a verb of one entity takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionSpec {
    pub verb: Verb,
    pub args: Vec<ArgSpec>,
}

impl ActionSpec {
    pub fn new(verb: Verb) -> Self {
        Self { verb, args: Vec::new() }
    }

    pub fn with(mut self, arg: ArgSpec) -> Self {
        self.args.push(arg);
        self
    }

    pub fn arg(&self, name: Arg) -> Option<&ArgSpec> {
        self.args.iter().find(|spec| spec.name == name)
    }

    /// Checks raw JSON arguments; the first fault is returned, with what would be right.
    pub fn check(&self, raw: &serde_json::Map<String, Value>) -> Result<Args, ArgError> {
        let mut args = Args::new();
        for (name, value) in raw {
            let spec =
                Arg::from_word(name).and_then(|arg| self.arg(arg)).ok_or_else(|| ArgError::Unknown {
                    arg: name.clone(),
                    allowed: self.args.iter().map(|spec| spec.name.word()).collect(),
                })?;
            args.insert(spec.name, spec.check(value)?);
        }
        match self.args.iter().find(|spec| spec.required && !args.contains_key(&spec.name)) {
            Some(missing) => Err(ArgError::Missing { arg: missing.name, expected: missing.kind.to_string() }),
            None => Ok(args),
        }
    }
}

/// One argument of a verb.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgSpec {
    pub name: Arg,
    pub required: bool,
    pub kind: ArgKind,
}

impl ArgSpec {
    pub fn required(name: Arg, kind: ArgKind) -> Self {
        Self { name, required: true, kind }
    }

    pub fn optional(name: Arg, kind: ArgKind) -> Self {
        Self { name, required: false, kind }
    }

    /// Checks one raw JSON value. Numbers stay inside the range: nothing is clamped in silence.
    pub fn check(&self, value: &Value) -> Result<ArgValue, ArgError> {
        let wrong =
            || ArgError::Wrong { arg: self.name, got: value.to_string(), expected: self.kind.to_string() };
        match (&self.kind, value) {
            (ArgKind::Number { min, max, .. }, Value::Number(number)) => match number.as_f64() {
                Some(number) if (*min..=*max).contains(&number) => Ok(ArgValue::Number(number)),
                Some(number) => Err(ArgError::Range { arg: self.name, got: number, min: *min, max: *max }),
                None => Err(wrong()),
            },
            (ArgKind::Choice(options), Value::String(text)) => {
                if options.iter().any(|option| option == text) {
                    Ok(ArgValue::Text(text.clone()))
                } else {
                    Err(wrong())
                }
            }
            (ArgKind::Text { max_chars }, Value::String(text)) if text.chars().count() <= *max_chars => {
                Ok(ArgValue::Text(text.clone()))
            }
            (ArgKind::Bool, Value::Bool(flag)) => Ok(ArgValue::Bool(*flag)),
            (ArgKind::Rgb, Value::Array(parts)) => {
                let channel = |part: &Value| part.as_u64().and_then(|part| u8::try_from(part).ok());
                match parts.iter().map(channel).collect::<Option<Vec<u8>>>().as_deref() {
                    Some(&[red, green, blue]) => Ok(ArgValue::Rgb([red, green, blue])),
                    _ => Err(wrong()),
                }
            }
            (ArgKind::Numbers { count, max, whole }, Value::Array(parts)) => {
                let fits = |part: &f64| (0.0..=*max).contains(part) && (!whole || part.fract() == 0.0);
                let part = |part: &Value| part.as_f64().filter(fits);
                match parts.iter().map(part).collect::<Option<Vec<f64>>>() {
                    Some(numbers) if numbers.len() == *count => Ok(ArgValue::Numbers(numbers)),
                    Some(_) | None => Err(wrong()),
                }
            }
            (
                ArgKind::Number { .. }
                | ArgKind::Choice(_)
                | ArgKind::Text { .. }
                | ArgKind::Bool
                | ArgKind::Rgb
                | ArgKind::Numbers { .. },
                _,
            ) => Err(wrong()),
        }
    }
}

/// The type and range of an argument.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgKind {
    /// A finite number within `min..=max`; `step` is what the device can resolve (informative).
    Number {
        min: f64,
        max: f64,
        step: f64,
    },
    /// One of these words, exactly.
    Choice(Vec<String>),
    Text {
        max_chars: usize,
    },
    Bool,
    /// Three integers 0–255.
    Rgb,
    /// So many numbers from 0 to `max`, integers where `whole`: the channels of a lamp with white, coordinates of a colour.
    Numbers {
        count: usize,
        max: f64,
        whole: bool,
    },
}

impl ArgKind {
    /// 0–100 in whole steps.
    pub fn percent() -> Self {
        ArgKind::Number { min: 0.0, max: 100.0, step: 1.0 }
    }
}

impl fmt::Display for ArgKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgKind::Number { min, max, .. } => write!(f, "a number from {min} to {max}"),
            ArgKind::Choice(options) => write!(f, "one of {}", options.join(", ")),
            ArgKind::Text { max_chars } => write!(f, "text of at most {max_chars} characters"),
            ArgKind::Bool => f.write_str("true or false"),
            ArgKind::Rgb => f.write_str("[red, green, blue], each from 0 to 255"),
            ArgKind::Numbers { count, max, whole } => {
                let kind = if *whole { "integers" } else { "numbers" };
                write!(f, "[…] of {count} {kind}, each from 0 to {max}")
            }
        }
    }
}

/// Why arguments were refused, with what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ArgError {
    #[error("unknown argument {arg:?}; allowed: {}", allowed.join(", "))]
    Unknown { arg: String, allowed: Vec<&'static str> },
    #[error("{arg} is missing; expected {expected}")]
    Missing { arg: Arg, expected: String },
    #[error("{arg} is {got}; expected {expected}")]
    Wrong { arg: Arg, got: String, expected: String },
    #[error("{arg} {got} is outside {min} to {max}")]
    Range { arg: Arg, got: f64, min: f64, max: f64 },
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn b10_arguments_are_checked_against_the_specification() {
        let spec = ActionSpec::new(Verb::TurnOn)
            .with(ArgSpec::optional(Arg::BrightnessPct, ArgKind::percent()))
            .with(ArgSpec::optional(Arg::RgbColor, ArgKind::Rgb))
            .with(ArgSpec::optional(Arg::RgbwColor, ArgKind::Numbers { count: 4, max: 255.0, whole: true }))
            .with(ArgSpec::optional(Arg::Effect, ArgKind::Choice(vec!["rainbow".into()])));
        let check = |raw: Value| spec.check(raw.as_object().unwrap());
        assert_eq!(
            check(json!({"brightness_pct": 40})).unwrap()[&Arg::BrightnessPct],
            ArgValue::Number(40.0)
        );
        assert_eq!(check(json!({"rgb_color": [1, 2, 3]})).unwrap()[&Arg::RgbColor], ArgValue::Rgb([1, 2, 3]));
        for (raw, says) in [
            (json!({"brightness_pct": 101}), "brightness_pct 101 is outside 0 to 100"),
            (json!({"brightness_pct": "50%"}), "brightness_pct is \"50%\"; expected a number from 0 to 100"),
            (json!({"brightness_pct": null}), "brightness_pct is null; expected a number from 0 to 100"),
            (
                json!({"rgb_color": [1, 2, 256]}),
                "rgb_color is [1,2,256]; expected [red, green, blue], each from 0 to 255",
            ),
            (
                json!({"rgbw_color": [1, 2, 3, 4.5]}),
                "rgbw_color is [1,2,3,4.5]; expected […] of 4 integers, each from 0 to 255",
            ),
            (json!({"effect": "Rainbow"}), "effect is \"Rainbow\"; expected one of rainbow"),
            (
                json!({"speed": 1}),
                "unknown argument \"speed\"; allowed: brightness_pct, rgb_color, rgbw_color, effect",
            ),
        ] {
            assert_eq!(check(raw).unwrap_err().to_string(), says);
        }
        let needs =
            ActionSpec::new(Verb::SetPosition).with(ArgSpec::required(Arg::Position, ArgKind::percent()));
        assert_eq!(
            needs.check(&serde_json::Map::new()).unwrap_err().to_string(),
            "position is missing; expected a number from 0 to 100"
        );
    }
}
