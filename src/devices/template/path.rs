//! Templates that only read a field: `{{ value_json.a['b'][0] }}` and `{{ value }}`.
//!
//! Three of five real templates are of this form. They are read straight from the parsed payload, with Jinja's rules
//! for what is missing and Python's rules for how a value is written.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{RenderError, Value as Engine};

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Path {
    Value,
    Json(Vec<Step>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(Box<str>),
    Index(i64),
}

impl Path {
    /// Reads the source of a template; `None` if it is more than a path.
    pub fn parse(source: &str) -> Option<Self> {
        let inner = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
        let inner = inner.strip_prefix('-').unwrap_or(inner);
        let inner = inner.strip_suffix('-').unwrap_or(inner).trim();
        if inner == "value" {
            return Some(Path::Value);
        }
        let mut rest = inner.strip_prefix("value_json")?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                let (word, after) = after.split_at(end);
                let step = match word.bytes().next()? {
                    b'0'..=b'9' => Step::Index(word.parse().ok()?),
                    _ => Step::Key(word.into()),
                };
                (step, after)
            } else {
                let (subscript, after) = rest.strip_prefix('[')?.split_once(']')?;
                (Step::subscript(subscript.trim())?, after)
            };
            steps.push(step);
            rest = after;
        }
        Some(Path::Json(steps))
    }

    pub fn is_value(&self) -> bool {
        matches!(self, Path::Value)
    }

    /// The text at this path. What is missing at the last step is empty text; before it, an error.
    pub fn render<'p>(&self, payload: Option<&'p Json>) -> Result<Cow<'p, str>, RenderError> {
        let Path::Json(steps) = self else { return Ok(Cow::Borrowed("")) };
        let mut found = payload;
        for step in steps {
            let Some(value) = found else {
                return Err(RenderError::Undefined(format!("{step:?} of something undefined")));
            };
            found = step.of(value);
        }
        Ok(found.map_or(Cow::Borrowed(""), python_text))
    }
}

impl Step {
    /// The inside of `[...]`: a quoted key without escapes, or a whole number.
    fn subscript(text: &str) -> Option<Self> {
        let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
        match quoted('\'').or_else(|| quoted('"')) {
            Some(key) if !key.contains(['\\', '\'', '"']) => Some(Step::Key(key.into())),
            Some(_) => None,
            None => text.parse().ok().map(Step::Index),
        }
    }

    fn of<'p>(&self, value: &'p Json) -> Option<&'p Json> {
        match (self, value) {
            (Step::Key(key), Json::Object(map)) => map.get(&**key),
            (Step::Index(index), Json::Array(items)) => {
                let length = i64::try_from(items.len()).ok()?;
                let index = if *index < 0 { length + index } else { *index };
                items.get(usize::try_from(index).ok()?)
            }
            (Step::Key(_) | Step::Index(_), _) => None,
        }
    }
}

/// A JSON value as Python's `str()` writes it, without white space at the ends.
pub(super) fn python_text(value: &Json) -> Cow<'_, str> {
    match value {
        Json::String(text) => Cow::Borrowed(text.trim()),
        Json::Bool(true) => Cow::Borrowed("True"),
        Json::Bool(false) => Cow::Borrowed("False"),
        Json::Null => Cow::Borrowed("None"),
        Json::Number(number) if number.is_f64() => {
            Cow::Owned(python_float(number.as_f64().unwrap_or(f64::NAN)))
        }
        Json::Number(number) => Cow::Owned(number.to_string()),
        Json::Array(_) | Json::Object(_) => Cow::Owned(super::display::text(&engine_value(value))),
    }
}

/// A float as Python's `repr()` writes it: the shortest digits that read back, with an exponent outside 1e-4..1e16.
pub fn python_float(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let text = closest(number, &text).unwrap_or(text);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = number.to_string();
    match text.split_once('.') {
        Some((_, decimals)) if text.len() > 16 => {
            let rounded = format!("{number:.*}", decimals.len());
            if rounded.parse() == Ok(number) { rounded } else { text }
        }
        Some(_) => text,
        None => text + ".0",
    }
}

/// Where two shortest forms are equally near, Rust takes the upper one and Python the even one. That needs at least 16
/// digits.
fn closest(number: f64, shortest: &str) -> Option<String> {
    let decimals = shortest.split_once('e')?.0.split_once('.')?.1.len();
    let rounded = format!("{number:.decimals$e}");
    (decimals >= 15 && rounded.parse() == Ok(number)).then_some(rounded)
}

/// A JSON value for the engine; the order of keys stays.
pub(super) fn engine_value(json: &Json) -> Engine {
    match json {
        Json::Null => Engine::from(()),
        Json::Bool(flag) => Engine::from(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Engine::from(number),
            (None, Some(number)) => Engine::from(number),
            (None, None) => Engine::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Engine::from(text.as_str()),
        Json::Array(items) => Engine::from(items.iter().map(engine_value).collect::<Vec<_>>()),
        Json::Object(map) => {
            Engine::from_pairs(map.iter().map(|(key, item)| (key.as_str(), engine_value(item))))
        }
    }
}
