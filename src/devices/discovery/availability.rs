//! Whether a device says that it can be reached.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;

use super::fields::{Fields, Refusal, text_of, valid_filter};
use crate::devices::codec::Payload;
use crate::devices::template::{Scope, Template};
use crate::home::Availability;

/// How several topics combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The last recognised message decides, whatever its topic.
    Latest,
    All,
    Any,
    /// Every topic that said anything; not of the protocol, for our own readers of native announcements.
    Heard,
}

/// Key of our own readers of native announcements for [`Mode::Heard`].
pub(super) const HEARD: &str = "availability of all heard";

/// Availability topics and what was last heard on each.
#[derive(Debug)]
pub struct AvailabilityReader {
    mode: Mode,
    topics: Vec<Source>,
    /// The last result: 2 is online.
    last: AtomicU8,
}

#[derive(Debug)]
struct Source {
    topic: String,
    template: Option<Template>,
    available: String,
    not_available: String,
    /// 0 nothing heard (counts as offline), 1 offline, 2 online.
    heard: AtomicU8,
}

impl AvailabilityReader {
    /// Reads the keys of an announcement; `None` if it has no availability.
    pub fn read(fields: Fields<'_>) -> Result<Option<Self>, Refusal> {
        let mode = match fields.choice("availability_mode", &["latest", "all", "any"], "latest")?.as_str() {
            "all" => Mode::All,
            "any" => Mode::Any,
            _ if fields.has(HEARD) => Mode::Heard,
            _ => Mode::Latest,
        };
        let single = fields.subscribe("availability_topic")?;
        let mut topics: Vec<Source> = Vec::new();
        match (single, fields.map.get("availability")) {
            (Some(_), Some(_)) => {
                return Err(Refusal::Conflict(
                    "availability and availability_topic exclude each other".into(),
                ));
            }
            (Some(topic), None) => topics.push(Source {
                topic,
                template: fields.template("availability_template")?,
                available: fields.text_or("payload_available", "online")?,
                not_available: fields.text_or("payload_not_available", "offline")?,
                heard: AtomicU8::new(0),
            }),
            (None, Some(Value::Array(items))) => {
                for item in items {
                    let source = Source::read(fields, item)?;
                    // The last of two with the same topic counts.
                    topics.retain(|known| known.topic != source.topic);
                    topics.push(source);
                }
            }
            (None, Some(other)) => {
                return Err(Refusal::Wrong {
                    key: "availability".into(),
                    value: other.to_string(),
                    expected: "a list of topics".into(),
                });
            }
            (None, None) => {}
        }
        Ok((!topics.is_empty()).then_some(Self { mode, topics, last: AtomicU8::new(0) }))
    }

    pub fn topics(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(|source| source.topic.as_str())
    }

    /// What a message means; `None` if it is about something else or says neither.
    pub fn decode(&self, topic: &str, payload: &Payload<'_>, scope: Scope<'_>) -> Option<Availability> {
        let source = self.topics.iter().find(|source| source.topic == topic)?;
        let online = source.online(payload, scope)?;
        source.heard.store(if online { 2 } else { 1 }, Ordering::Relaxed);
        let heard = || self.topics.iter().map(|source| source.heard.load(Ordering::Relaxed));
        let mut flags = heard().map(|heard| heard == 2);
        let online = match self.mode {
            Mode::Latest => online,
            Mode::All => flags.all(|flag| flag),
            Mode::Any => flags.any(|flag| flag),
            Mode::Heard => heard().filter(|heard| *heard != 0).all(|heard| heard == 2),
        };
        self.last.store(if online { 2 } else { 1 }, Ordering::Relaxed);
        Some(self.current())
    }

    /// What was last heard; nothing heard yet is offline.
    pub fn current(&self) -> Availability {
        if self.last.load(Ordering::Relaxed) == 2 { Availability::Online } else { Availability::Offline }
    }

    /// Takes over what the reader before a changed announcement had heard.
    pub fn inherit(&self, before: &AvailabilityReader) {
        self.last.store(before.last.load(Ordering::Relaxed), Ordering::Relaxed);
        for source in &self.topics {
            if let Some(known) = before.topics.iter().find(|known| known.topic == source.topic) {
                source.heard.store(known.heard.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }
}

impl Source {
    fn read(fields: Fields<'_>, item: &Value) -> Result<Self, Refusal> {
        let Some(object) = item.as_object() else {
            return Err(Refusal::Wrong {
                key: "availability".into(),
                value: item.to_string(),
                expected: "objects with a topic".into(),
            });
        };
        let fields = Fields { map: object, ..fields };
        let topic = object.get("topic").and_then(text_of).filter(|topic| valid_filter(topic));
        let template = match fields.template("value_template")? {
            Some(template) => Some(template),
            None => fields.template("availability_template")?,
        };
        Ok(Self {
            topic: topic.ok_or_else(|| Refusal::Missing("availability.topic".into()))?,
            template,
            available: fields.text_or("payload_available", "online")?,
            not_available: fields.text_or("payload_not_available", "offline")?,
            heard: AtomicU8::new(0),
        })
    }

    fn online(&self, payload: &Payload<'_>, scope: Scope<'_>) -> Option<bool> {
        let raw = payload.text().ok()?;
        let rendered;
        let text: &str = match &self.template {
            None => raw,
            Some(template) => match template.value(payload, scope, &[]) {
                Ok(text) => {
                    rendered = text;
                    &rendered
                }
                // Undefined gives the raw payload, as everywhere without a default.
                Err(crate::devices::template::RenderError::Undefined(_)) => raw,
                Err(crate::devices::template::RenderError::Failed(_)) => return None,
            },
        };
        if text == self.available {
            Some(true)
        } else if text == self.not_available {
            Some(false)
        } else {
            None
        }
    }
}
