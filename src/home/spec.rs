//! What a verb of an entity takes, and the check of raw arguments against it. Tools, the offline understanding and the
//! codecs all read the same specification. Nothing is clamped or filled in here.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::action::{Arg, ArgValue, Args, Verb};

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
        let wrong_type = match &self.kind {
            ArgKind::Number { .. } => !value.is_number(),
            ArgKind::Choice(_) | ArgKind::Text { .. } => !value.is_string(),
            ArgKind::Bool => !value.is_boolean(),
            ArgKind::Rgb | ArgKind::Numbers { .. } => !value.is_array(),
        };
        let wrong = || {
            let (got, expected) = (value.to_string(), self.kind.to_string());
            ArgError::Wrong { arg: self.name, got, expected, wrong_type }
        };
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
            (ArgKind::Numbers { limits, whole }, Value::Array(parts)) if parts.len() == limits.len() => {
                let part = |(part, limit): (&Value, &f64)| {
                    part.as_f64()
                        .filter(|part| (0.0..=*limit).contains(part) && (!whole || part.fract() == 0.0))
                };
                let numbers = parts.iter().zip(*limits).map(part).collect::<Option<Vec<f64>>>();
                numbers.map(ArgValue::Numbers).ok_or_else(wrong)
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
    /// Numbers that belong together, each from 0 to its limit, integers where `whole`: the channels of a lamp with white,
    /// coordinates of a colour.
    Numbers {
        limits: &'static [f64],
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
            ArgKind::Numbers { limits, whole } => {
                let kind = if *whole { "integers" } else { "numbers" };
                let most: Vec<String> = limits.iter().map(f64::to_string).collect();
                write!(f, "[…] of {} {kind} from 0 to at most {}", limits.len(), most.join(", "))
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
    Wrong { arg: Arg, got: String, expected: String, wrong_type: bool },
    #[error("{arg} {got} is outside {min} to {max}")]
    Range { arg: Arg, got: f64, min: f64, max: f64 },
}

impl ArgError {
    /// Whether a value is of another JSON type than the argument's, whatever the device can do. The one argument that is
    /// a number for some devices and a text for others ([`Arg::Value`]) is never of a wrong type.
    pub fn is_wrong_type(&self) -> bool {
        match self {
            ArgError::Wrong { arg, wrong_type, .. } => *wrong_type && *arg != Arg::Value,
            ArgError::Unknown { .. } | ArgError::Missing { .. } | ArgError::Range { .. } => false,
        }
    }
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
            .with(ArgSpec::optional(Arg::RgbwColor, ArgKind::Numbers { limits: &[255.0; 4], whole: true }))
            .with(ArgSpec::optional(Arg::Effect, ArgKind::Choice(vec!["rainbow".into()])));
        let check = |raw: Value| spec.check(raw.as_object().unwrap());
        assert_eq!(
            check(json!({"brightness_pct": 40})).unwrap()[&Arg::BrightnessPct],
            ArgValue::Number(40.0)
        );
        // A lamp has 255 steps, so half a percent is a wish like another and is neither refused nor rounded here.
        assert_eq!(
            check(json!({"brightness_pct": 50.7})).unwrap()[&Arg::BrightnessPct],
            ArgValue::Number(50.7)
        );
        assert_eq!(check(json!({"rgb_color": [1, 2, 3]})).unwrap()[&Arg::RgbColor], ArgValue::Rgb([1, 2, 3]));
        for (raw, says) in [
            (json!({"brightness_pct": 101}), "brightness_pct 101 is outside 0 to 100"),
            (json!({"brightness_pct": "50%"}), "brightness_pct is \"50%\"; expected a number from 0 to 100"),
            (json!({"brightness_pct": -1}), "brightness_pct -1 is outside 0 to 100"),
            (json!({"brightness_pct": true}), "brightness_pct is true; expected a number from 0 to 100"),
            (json!({"brightness_pct": null}), "brightness_pct is null; expected a number from 0 to 100"),
            (
                json!({"rgb_color": [1, 2, 256]}),
                "rgb_color is [1,2,256]; expected [red, green, blue], each from 0 to 255",
            ),
            (
                json!({"rgbw_color": [1, 2, 3, 4.5]}),
                "rgbw_color is [1,2,3,4.5]; expected […] of 4 integers from 0 to at most 255, 255, 255, 255",
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
