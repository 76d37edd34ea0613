//! Typed access to the keys of an announcement, with the protocol's lenient conversions.
//!
//! Booleans accept 0/1 and words, numbers accept text, text accepts numbers and booleans (written as Python writes
//! them: `True`). A known key with a wrong value refuses the whole message, as in Home Assistant.

use serde_json::{Map, Value};

use super::trust::Reserved;
use crate::devices::codec::Payload;
use crate::devices::template::{Sandbox, Scope, Template, python_float};
use crate::home::State;

/// Why an announcement is not accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("the payload is no JSON object: {0}")]
    NotJson(String),
    #[error("{0} is missing")]
    Missing(String),
    #[error("{key} is {value}; expected {expected}")]
    Wrong { key: String, value: String, expected: String },
    #[error("{key}: {reason}")]
    Template { key: String, reason: String },
    #[error("{key} is {topic:?}, which no device may be given: {reason}")]
    Reserved { key: String, topic: String, reason: &'static str },
    #[error("{0}")]
    Conflict(String),
    #[error("unknown component {0:?}")]
    UnknownComponent(String),
    #[error("it crashed the process twice and is quarantined")]
    Quarantined,
}

/// The keys of one component.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    pub map: &'a Map<String, Value>,
    pub sandbox: &'a Sandbox,
    pub reserved: &'a Reserved,
}

/// How a command is published: a topic and an optional template.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    pub topic: String,
    pub template: Option<Template>,
}

impl<'a> Fields<'a> {
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    fn wrong(&self, key: &str, value: &Value, expected: &str) -> Refusal {
        let value: String = value.to_string().chars().take(80).collect();
        Refusal::Wrong { key: key.into(), value, expected: expected.into() }
    }

    /// Text, or `None` where the key is absent. `null` is an error here.
    pub fn text(&self, key: &str) -> Result<Option<String>, Refusal> {
        match self.map.get(key) {
            None => Ok(None),
            Some(value) => text_of(value).map(Some).ok_or_else(|| self.wrong(key, value, "text")),
        }
    }

    /// Text that may be `null`: then `Some(None)`.
    pub fn nullable(&self, key: &str) -> Result<Option<Option<String>>, Refusal> {
        match self.map.get(key) {
            Some(Value::Null) => Ok(Some(None)),
            _ => Ok(self.text(key)?.map(Some)),
        }
    }

    /// The device class. Home Assistant takes it in any case, and so does everything here.
    pub fn device_class(&self) -> Result<Option<String>, Refusal> {
        Ok(self.nullable("device_class")?.flatten().map(|class| class.to_lowercase()))
    }

    /// A payload with a default; `null` means that the device has no such command.
    pub fn payload(&self, key: &str, default: &str) -> Result<Option<String>, Refusal> {
        Ok(self.nullable(key)?.unwrap_or_else(|| Some(default.to_owned())))
    }

    pub fn text_or(&self, key: &str, default: &str) -> Result<String, Refusal> {
        Ok(self.text(key)?.unwrap_or_else(|| default.to_owned()))
    }

    pub fn flag(&self, key: &str, default: bool) -> Result<bool, Refusal> {
        let Some(value) = self.map.get(key) else { return Ok(default) };
        let flag = match value {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => number.as_f64().map(|number| number != 0.0),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" | "enable" => Some(true),
                "0" | "false" | "no" | "off" | "disable" => Some(false),
                _ => None,
            },
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        flag.ok_or_else(|| self.wrong(key, value, "true or false"))
    }

    pub fn number(&self, key: &str) -> Result<Option<f64>, Refusal> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        number_of(value).map(Some).ok_or_else(|| self.wrong(key, value, "a finite number"))
    }

    /// A number that is not below zero.
    pub fn not_negative(&self, key: &str) -> Result<Option<f64>, Refusal> {
        match self.number(key)? {
            Some(number) if number < 0.0 => Err(self.wrong(key, &Value::from(number), "at least 0")),
            number => Ok(number),
        }
    }

    pub fn number_or(&self, key: &str, default: f64) -> Result<f64, Refusal> {
        Ok(self.number(key)?.unwrap_or(default))
    }

    pub fn int_or(&self, key: &str, default: i64) -> Result<i64, Refusal> {
        match self.number(key)? {
            None => Ok(default),
            Some(number) if number.abs() < 1e15 => Ok(number.trunc() as i64),
            Some(number) => Err(self.wrong(key, &Value::from(number), "a whole number")),
        }
    }

    /// A list of texts; a single text is a list of one.
    pub fn list(&self, key: &str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        let list = match value {
            Value::Array(items) => items.iter().map(text_of).collect(),
            Value::Null | Value::Object(_) => None,
            Value::String(_) | Value::Number(_) | Value::Bool(_) => text_of(value).map(|text| vec![text]),
        };
        list.map(Some).ok_or_else(|| self.wrong(key, value, "a list of texts"))
    }

    /// One of `words`.
    pub fn choice(&self, key: &str, words: &[&str], default: &str) -> Result<String, Refusal> {
        let text = self.text_or(key, default)?;
        if words.contains(&text.as_str()) {
            return Ok(text);
        }
        Err(self.wrong(key, &Value::from(text), &format!("one of {}", words.join(", "))))
    }

    /// One of `words`, in capital letters too.
    pub fn choice_of_any_case(&self, key: &str, words: &[&str], default: &str) -> Result<String, Refusal> {
        let text = self.text_or(key, default)?.to_lowercase();
        match words.contains(&text.as_str()) {
            true => Ok(text),
            false => Err(self.wrong(key, &Value::from(text), &format!("one of {}", words.join(", ")))),
        }
    }

    /// A topic to listen to; wildcards are legal.
    pub fn subscribe(&self, key: &str) -> Result<Option<String>, Refusal> {
        let Some(topic) = self.text(key)? else { return Ok(None) };
        if valid_filter(&topic) {
            return Ok(Some(topic));
        }
        Err(self.wrong(key, &Value::from(topic), "a topic filter"))
    }

    /// Topics to listen to. Announcements name one; our own readers of native announcements name several.
    pub fn subscribe_all(&self, key: &str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(Value::Array(_)) = self.map.get(key) else {
            return Ok(self.subscribe(key)?.map(|topic| vec![topic]));
        };
        let topics = self.list(key)?.unwrap_or_default();
        match topics.iter().find(|topic| !valid_filter(topic)) {
            Some(wrong) => Err(self.wrong(key, &Value::from(wrong.as_str()), "topic filters")),
            None => Ok(Some(topics)),
        }
    }

    /// A topic to publish to: no wildcards, and none that is reserved.
    pub fn publish(&self, key: &str) -> Result<Option<String>, Refusal> {
        let Some(topic) = self.text(key)? else { return Ok(None) };
        if topic.contains(['+', '#']) || !valid_filter(&topic) {
            return Err(self.wrong(key, &Value::from(topic), "a topic without wildcards"));
        }
        match self.reserved.reason(&topic) {
            Some(reason) => Err(Refusal::Reserved { key: key.into(), topic, reason }),
            None => Ok(Some(topic)),
        }
    }

    pub fn template(&self, key: &str) -> Result<Option<Template>, Refusal> {
        let Some(source) = self.text(key)? else { return Ok(None) };
        let template = self
            .sandbox
            .compile(&source)
            .map_err(|error| Refusal::Template { key: key.into(), reason: error.to_string() })?;
        if !template.is_plain() {
            // The first rendering happens here, inside the crash marker; what it gives does not matter.
            let state = State::default();
            let _ = template.value(
                &Payload::new(b"{}", false),
                Scope { entity_id: "sensor.first", name: "", state: &state },
                &[],
            );
        }
        Ok(Some(template))
    }

    /// A command topic with its template, or `None` without the topic.
    pub fn command(&self, topic: &str, template: &str) -> Result<Option<Command>, Refusal> {
        let template = self.template(template)?;
        Ok(self.publish(topic)?.map(|topic| Command { topic, template }))
    }

    pub fn need_command(&self, topic: &str, template: &str) -> Result<Command, Refusal> {
        self.command(topic, template)?.ok_or_else(|| Refusal::Missing(topic.into()))
    }

    /// Keys that go together: one without the other refuses the message.
    pub fn together(&self, one: &str, other: &str) -> Result<(), Refusal> {
        match (self.has(one), self.has(other)) {
            (true, false) => Err(Refusal::Missing(format!("{other} ({one} needs it)"))),
            (false, true) => Err(Refusal::Missing(format!("{one} ({other} needs it)"))),
            (true, true) | (false, false) => Ok(()),
        }
    }

    pub fn object(&self, key: &str) -> Option<&'a Map<String, Value>> {
        self.map.get(key)?.as_object()
    }
}

/// Text as Python's `str()` writes a YAML scalar.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(true) => Some("True".into()),
        Value::Bool(false) => Some("False".into()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(python_float),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

pub(super) fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// MQTT's rules for topic filters: wildcards alone in their level, `#` last, no control characters.
pub(super) fn valid_filter(topic: &str) -> bool {
    let levels: Vec<&str> = topic.split('/').collect();
    let last = levels.len().saturating_sub(1);
    let level_ok = |(at, level): (usize, &&str)| match *level {
        "#" => at == last,
        "+" => true,
        level => !level.contains(['+', '#']),
    };
    !topic.is_empty()
        && topic.len() <= 65_535
        && !topic.chars().any(|c| c.is_control())
        && levels.iter().enumerate().all(level_ok)
}
