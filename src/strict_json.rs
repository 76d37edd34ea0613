//! JSON from outside, read strictly: what one reader would understand differently from another is refused.
//!
//! serde_json keeps the last of two equal keys and turns an integer that is too large into a nearby float. For a
//! command or an approval both would mean that what a person saw is not what is done. [`parse`] refuses them and
//! says where. [`Fields`] reads the members of an object one by one and refuses those that nobody asked for.
//! Nothing here knows what the fields mean.

use std::cell::RefCell;
use std::fmt;

use chrono::{DateTime, Utc};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Largest magnitude up to which every integer has its own 64-bit float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Why JSON was refused: where (`outcomes[2].id`; empty for the whole) and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{problem}", path, if path.is_empty() { "" } else { ": " })]
pub struct JsonError {
    pub path: String,
    pub problem: String,
}

impl JsonError {
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

/// Reads one JSON text. Refused besides what is no JSON: equal keys in one object, numbers that would lose digits or
/// overflow, nesting deeper than 127 levels, anything after the end.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let path = RefCell::new(String::new());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict(&path).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| JsonError { path: path.into_inner(), problem: error.to_string() })
}

/// Reads one value; the path stays where it was when reading failed.
struct Strict<'a>(&'a RefCell<String>);

impl Strict<'_> {
    fn at<T, E>(&self, step: &str, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let before = self.0.borrow().len();
        {
            let mut path = self.0.borrow_mut();
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        let value = read()?;
        self.0.borrow_mut().truncate(before);
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        // An integer of more than 64 bits arrives here, already rounded.
        if number.abs() >= EXACT || !number.is_finite() {
            return Err(E::custom("the number is too large to be exact"));
        }
        Ok(Value::from(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let step = format!("[{}]", list.len());
            match self.at(&step, || items.next_element_seed(Strict(self.0)))? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let shown: String = key.chars().take(64).collect();
            let value = self.at(&shown, || {
                if map.contains_key(&key) {
                    return Err(A::Error::custom("the key appears twice"));
                }
                members.next_value_seed(Strict(self.0))
            })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// The members of one object, taken out by name. `null` counts as absent.
#[derive(Debug)]
pub struct Fields {
    members: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// Reads bytes as one object.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        Self::of(parse(bytes)?)
    }

    pub fn of(value: Value) -> Result<Self, JsonError> {
        match value {
            Value::Object(members) => Ok(Self { members, known: Vec::new() }),
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Err(JsonError::new("", format!("expected an object, got {}", kind(&other))))
            }
        }
    }

    /// Takes a member of any type.
    pub fn value(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.members.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Takes a text.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, JsonError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// Takes a text that must be there.
    pub fn required_text(&mut self, name: &'static str) -> Result<String, JsonError> {
        self.text(name)?.ok_or_else(|| JsonError::new(name, "missing; expected a string"))
    }

    /// Takes a whole number that is not negative.
    pub fn whole(&mut self, name: &'static str) -> Result<Option<u64>, JsonError> {
        match self.value(name) {
            None => Ok(None),
            Some(other) => match other.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(name, "a whole number from 0", &other)),
            },
        }
    }

    /// Takes true or false.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, JsonError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    /// Takes a time as RFC 3339 (`2026-11-29T18:02:11Z`).
    pub fn time(&mut self, name: &'static str) -> Result<Option<DateTime<Utc>>, JsonError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match DateTime::parse_from_rfc3339(&text) {
            Ok(time) => Ok(Some(time.to_utc())),
            Err(error) => {
                Err(JsonError::new(name, format!("expected a time like 2026-11-29T18:02:11Z: {error}")))
            }
        }
    }

    /// Refuses what is left.
    pub fn end(self) -> Result<(), JsonError> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(key) => {
                let shown: String = key.chars().take(64).collect();
                Err(JsonError::new(shown, format!("unknown field; known are {}", self.known.join(", "))))
            }
        }
    }
}

fn wrong(name: &str, expected: &str, got: &Value) -> JsonError {
    JsonError::new(name, format!("expected {expected}, got {}", kind(got)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (text, path, says) in [
            (r#"{"action":"lock","action":"unlock"}"#, "action", "twice"),
            (r#"{"a":[{"b":1,"b":1}]}"#, "a[0].b", "twice"),
            (r#"{"a":[0,123456789012345678901234567890]}"#, "a[1]", "too large"),
            (r#"{"a":1e400}"#, "a", "out of range"),
            (r#"{"a":1e300}"#, "a", "too large"),
            (r#"{"a":NaN}"#, "a", "expected"),
            (r#"{"a":1} x"#, "", "trailing"),
            (r#"{"a":1}{"a":2}"#, "", "trailing"),
            (r#"{"a":"#, "a", "EOF"),
            ("", "", "EOF"),
            ("{\"a\":\"\u{1}\"}", "a", "control character"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.path, path, "{text}");
            assert!(error.problem.contains(says), "{text}: {error}");
        }
        assert!(parse(deep.as_bytes()).unwrap_err().problem.contains("recursion limit"));
        assert!(parse(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn what_is_exact_stays_as_it_is() {
        for text in [r#"{"b":1,"a":[true,null,-5,18446744073709551615,0.5,"\u00e4"]}"#, "3", "\"x\""] {
            assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn fields_name_the_path_and_refuse_the_unknown() {
        let fields = |value: Value| Fields::of(value).unwrap();
        assert_eq!(Fields::of(json!([1])).unwrap_err().to_string(), "expected an object, got an array");
        assert_eq!(
            fields(json!({"v": "1"})).whole("v").unwrap_err().to_string(),
            "v: expected a whole number from 0, got a string"
        );
        assert!(fields(json!({"v": -1})).whole("v").is_err());
        assert!(fields(json!({"v": 1.0})).whole("v").is_err());
        assert_eq!(
            fields(json!({})).required_text("text").unwrap_err().to_string(),
            "text: missing; expected a string"
        );
        assert_eq!(fields(json!({"area": null})).text("area"), Ok(None));
        assert!(fields(json!({"at": "yesterday"})).time("at").is_err());
        let mut some = fields(json!({"text": "a", "txet": "b"}));
        assert_eq!(some.required_text("text").unwrap(), "a");
        assert_eq!(some.end().unwrap_err().to_string(), "txet: unknown field; known are text");
    }
}
