//! One value inside a message: where it stands, and how it is translated. Every translation can be run backwards,
//! because the simulator speaks through the same profile as the daemon listens.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::color;
use super::format::{Convert, Shape};
use crate::devices::Fault;
use crate::devices::words;

/// Where in a message a value stands and what it means.
#[derive(Debug)]
pub(super) struct Field {
    /// `None` is the whole payload as text.
    pub path: Option<Path>,
    pub transform: Transform,
    /// Words that mean nothing here.
    pub ignore: Vec<Box<str>>,
    pub decimals: Option<u8>,
    pub shape: Shape,
}

#[derive(Debug)]
pub(super) enum Transform {
    Keep,
    /// Pairs of what comes and what goes.
    Map(Vec<(Box<str>, Cow<'static, str>)>),
    /// The first range whose end is not below the number names the word. Ends rise.
    Ranges(Vec<(f64, Cow<'static, str>)>),
    Scale {
        from: (f64, f64),
        to: (f64, f64),
    },
    Convert(Convert),
}

/// What comes into a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    Text(&'a str),
    Json(&'a Value),
}

/// What a field hands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// Known to be unknown.
    Unknown,
    Word(Cow<'static, str>),
    Json(Value),
}

impl Field {
    /// Finds and translates the value in a message. `None`: it is not there, or is to be ignored.
    pub fn read(&self, message: Input<'_>, name: &str) -> Result<Option<Reading>, Fault> {
        let input = match (&self.path, message) {
            (None, message) => message,
            (Some(path), Input::Json(value)) => match path.find(value) {
                Some(value) => Input::Json(value),
                None => return Ok(None),
            },
            (Some(_), Input::Text(_)) => return Ok(None),
        };
        self.translate(input, name)
    }

    /// Translates a value that was found.
    pub fn translate(&self, input: Input<'_>, name: &str) -> Result<Option<Reading>, Fault> {
        if input.is_null() {
            return Ok(Some(Reading::Unknown));
        }
        if !self.ignore.is_empty() && self.ignore.iter().any(|word| **word == *input.text()) {
            return Ok(None);
        }
        let wrong = |expected: String| Fault::Value {
            attribute: name.to_owned(),
            value: input.text().chars().take(80).collect(),
            expected,
        };
        match &self.transform {
            Transform::Keep => self.keep(input, wrong),
            Transform::Map(pairs) => {
                let text = input.text();
                match pairs.iter().find(|(from, _)| **from == *text) {
                    Some((_, to)) => self.shaped(to.clone(), wrong),
                    None => {
                        let known: Vec<&str> = pairs.iter().map(|(from, _)| &**from).collect();
                        Err(wrong(format!("one of {}", known.join(", "))))
                    }
                }
            }
            Transform::Ranges(ranges) => {
                let number = input.number().ok_or_else(|| wrong("a number".into()))?;
                match ranges.iter().find(|(end, _)| number <= *end) {
                    Some((_, word)) => self.shaped(word.clone(), wrong),
                    None => Err(wrong("a number inside the ranges".into())),
                }
            }
            Transform::Scale { from, to } => {
                let number = input.number().ok_or_else(|| wrong("a number".into()))?;
                Ok(Some(self.number(scale(number, *from, *to))))
            }
            Transform::Convert(convert) => {
                let value = match input {
                    Input::Json(value) => convert.run(value),
                    Input::Text(text) => convert.run(&Value::String(text.to_owned())),
                };
                let value = value.ok_or_else(|| wrong(convert.expected().into()))?;
                Ok(Some(value.as_f64().map_or(Reading::Json(value), |number| self.number(number))))
            }
        }
    }

    /// What must have come in for `ours` to go out: the translation backwards. `None` where there is no way back.
    pub fn reverse(&self, ours: &Value) -> Option<Value> {
        match &self.transform {
            Transform::Keep => match self.shape {
                Shape::Number => Input::Json(ours).number().map(number_value),
                Shape::Any | Shape::Text | Shape::Bool => Some(ours.clone()),
            },
            Transform::Map(pairs) => {
                let text = Input::Json(ours).text();
                pairs.iter().find(|(_, to)| **to == *text).map(|(from, _)| literal(from))
            }
            Transform::Ranges(ranges) => {
                let text = Input::Json(ours).text();
                ranges.iter().find(|(_, word)| **word == *text).map(|(end, _)| number_value(*end))
            }
            Transform::Scale { from, to } => {
                let back = scale(Input::Json(ours).number()?, *to, *from);
                Some(number_value(self.decimals.map_or(back, |decimals| round(back, decimals))))
            }
            Transform::Convert(convert) => match (convert.run(ours)?, self.decimals) {
                (Value::Number(number), Some(decimals)) => {
                    Some(number_value(round(number.as_f64()?, decimals)))
                }
                (value, _) => Some(value),
            },
        }
    }

    fn keep(&self, input: Input<'_>, wrong: impl Fn(String) -> Fault) -> Result<Option<Reading>, Fault> {
        match self.shape {
            Shape::Number => match input.number() {
                Some(number) => Ok(Some(self.number(number))),
                // Devices name a missing measurement in many ways; none of them is a fault.
                None if is_unknown(&input.text()) => Ok(Some(Reading::Unknown)),
                None => Err(wrong("a number".into())),
            },
            Shape::Bool => match &*input.text() {
                "true" | "on" | "ON" | "1" => Ok(Some(Reading::Json(Value::Bool(true)))),
                "false" | "off" | "OFF" | "0" => Ok(Some(Reading::Json(Value::Bool(false)))),
                _ => Err(wrong("true or false".into())),
            },
            Shape::Text => Ok(Some(Reading::Word(words::word(&input.text())))),
            Shape::Any => Ok(Some(match input {
                Input::Text(text) => Reading::Word(words::word(text)),
                Input::Json(Value::String(text)) => Reading::Word(words::word(text)),
                Input::Json(value) => Reading::Json(value.clone()),
            })),
        }
    }

    /// A word of a table in the type that the field hands on.
    fn shaped(
        &self,
        word: Cow<'static, str>,
        wrong: impl Fn(String) -> Fault,
    ) -> Result<Option<Reading>, Fault> {
        match self.shape {
            Shape::Any | Shape::Text => Ok(Some(Reading::Word(word))),
            Shape::Bool => Ok(Some(Reading::Json(Value::Bool(word == "true")))),
            Shape::Number => match word.parse() {
                Ok(number) => Ok(Some(self.number(number))),
                Err(_) => Err(wrong("a number in the profile's table".into())),
            },
        }
    }

    fn number(&self, number: f64) -> Reading {
        Reading::Json(number_value(self.decimals.map_or(number, |decimals| round(number, decimals))))
    }
}

impl<'a> Input<'a> {
    fn is_null(self) -> bool {
        matches!(self, Input::Json(Value::Null))
    }

    /// The value as text; borrowed where it is text already.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Input::Text(text) => Cow::Borrowed(text),
            Input::Json(Value::String(text)) => Cow::Borrowed(text),
            Input::Json(Value::Bool(true)) => Cow::Borrowed("true"),
            Input::Json(Value::Bool(false)) => Cow::Borrowed("false"),
            Input::Json(value) => Cow::Owned(value.to_string()),
        }
    }

    /// The value as a finite number, also where it is written as text.
    pub fn number(self) -> Option<f64> {
        let number = match self {
            Input::Text(text) => text.trim().parse().ok(),
            Input::Json(Value::String(text)) => text.trim().parse().ok(),
            Input::Json(value) => value.as_f64(),
        };
        number.filter(|number: &f64| number.is_finite())
    }
}

impl Convert {
    fn expected(self) -> &'static str {
        match self {
            Convert::Mired => "a positive number",
            Convert::ColorObject => "a colour as x and y, r, g and b, or hue and saturation",
            Convert::ColorText => "a colour as red,green,blue or RRGGBB",
        }
    }

    fn run(self, value: &Value) -> Option<Value> {
        match self {
            Convert::Mired => {
                let number = Input::Json(value).number().filter(|number| *number > 0.0)?;
                Some(number_value((1_000_000.0 / number).round()))
            }
            Convert::ColorObject => match value {
                Value::Object(members) => {
                    let part = |name: &str| members.get(name).and_then(Value::as_f64);
                    let byte = |name: &str| part(name).filter(|part| (0.0..=255.0).contains(part));
                    let rgb = if let (Some(red), Some(green), Some(blue)) = (byte("r"), byte("g"), byte("b"))
                    {
                        [red, green, blue].map(|part| part.round() as u8)
                    } else if let (Some(x), Some(y)) = (part("x"), part("y")) {
                        color::from_xy(x, y)?
                    } else {
                        let hue = part("hue").or_else(|| part("h"))?;
                        color::from_hs(hue, part("saturation").or_else(|| part("s"))?)?
                    };
                    Some(json!(rgb))
                }
                _ => {
                    let (x, y) = color::to_xy(rgb(value)?);
                    Some(json!({ "x": x, "y": y }))
                }
            },
            Convert::ColorText => match value {
                Value::String(text) => color_text(text).map(|rgb| json!(rgb)),
                _ => rgb(value).map(|[red, green, blue]| Value::String(format!("{red},{green},{blue}"))),
            },
        }
    }
}

/// The way to a value inside JSON: names of members, or numbers in arrays.
#[derive(Debug)]
pub(super) struct Path(Vec<(Box<str>, Option<usize>)>);

impl Path {
    /// Reads `color.x` or `ENERGY.Power.0`.
    pub fn parse(text: &str) -> Option<Self> {
        let segment = |text: &str| (!text.is_empty()).then(|| (text.into(), text.parse().ok()));
        text.split('.').map(segment).collect::<Option<_>>().map(Self)
    }

    pub fn find<'a>(&self, mut value: &'a Value) -> Option<&'a Value> {
        for (name, number) in &self.0 {
            value = match value {
                Value::Array(items) => items.get((*number)?)?,
                _ => value.get(&**name)?,
            };
        }
        Some(value)
    }

    /// Puts `value` there, with the objects on the way, unless something is there already.
    pub fn put(&self, root: &mut Value, value: Value) {
        if let Some(place) = self.place(root).filter(|place| place.is_null()) {
            *place = value;
        }
    }

    /// Puts `value` there, with the objects on the way, in place of what was there.
    pub fn set(&self, root: &mut Value, value: Value) {
        if let Some(place) = self.place(root) {
            *place = value;
        }
    }

    /// `None` where something on the way is no object.
    fn place<'a>(&self, root: &'a mut Value) -> Option<&'a mut Value> {
        let mut place = root;
        for (name, _) in &self.0 {
            if place.is_null() {
                *place = Value::Object(serde_json::Map::new());
            }
            place = place.as_object_mut()?.entry(&**name).or_insert(Value::Null);
        }
        Some(place)
    }
}

/// A JSON number: whole where it is whole.
pub(in crate::devices) fn number_value(number: f64) -> Value {
    // Whole numbers below 2^53 are exact in both types.
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

fn scale(number: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
    to.0 + (number - from.0) / (from.1 - from.0) * (to.1 - to.0)
}

fn round(number: f64, decimals: u8) -> f64 {
    let factor = 10_f64.powi(i32::from(decimals));
    (number * factor).round() / factor
}

/// A word of a table as the JSON that it is the text of: `true`, `12`, or a string.
fn literal(word: &str) -> Value {
    match serde_json::from_str(word) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        Ok(Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_)) | Err(_) => {
            Value::String(word.to_owned())
        }
    }
}

fn is_unknown(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || ["unknown", "unavailable", "none", "null", "nan", "inf", "-inf"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

fn rgb(value: &Value) -> Option<[u8; 3]> {
    let part = |part: &Value| part.as_u64().and_then(|part| u8::try_from(part).ok());
    match value.as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?.as_slice() {
        &[red, green, blue] => Some([red, green, blue]),
        _ => None,
    }
}

fn color_text(text: &str) -> Option<[u8; 3]> {
    let mut rgb = [0; 3];
    if text.contains(',') {
        let mut parts = text.split(',');
        for channel in &mut rgb {
            *channel = parts.next()?.trim().parse().ok()?;
        }
        return Some(rgb);
    }
    let hex = text.trim_start_matches('#');
    for (at, channel) in rgb.iter_mut().enumerate() {
        *channel = u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(rgb)
}
