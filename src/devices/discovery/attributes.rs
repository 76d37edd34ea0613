//! Attributes that a device gives as one JSON object on a topic of its own (`json_attributes_topic`).

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::fields::{Fields, Refusal};
use super::view::View;
use crate::devices::codec::Fault;
use crate::devices::filters::matches;
use crate::devices::template::{Scope, Template};
use crate::home::Attr;

pub(super) struct Attributes {
    topic: String,
    template: Option<Template>,
    /// Names of the attributes that the device gave last: the next set replaces them all.
    given: Mutex<Vec<String>>,
}

impl Attributes {
    /// Reads the keys of an announcement; `None` without the topic.
    pub fn of(fields: Fields<'_>) -> Result<Option<Self>, Refusal> {
        let template = fields.template("json_attributes_template")?;
        let topic = fields.subscribe("json_attributes_topic")?;
        Ok(topic.map(|topic| Self { topic, template, given: Mutex::default() }))
    }

    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Replaces the attributes that the device gives as JSON.
    pub fn read(&self, topic: &str, scope: Scope<'_>, view: &mut View<'_, '_>) -> Option<Fault> {
        if !matches(&self.topic, topic) {
            return None;
        }
        let rendered;
        let json: Cow<'_, Value> = match &self.template {
            None => Cow::Borrowed(view.payload.json()?),
            Some(template) => {
                rendered = template.value(view.payload, scope, &[]).ok()?;
                Cow::Owned(serde_json::from_str(&rendered).ok()?)
            }
        };
        let Value::Object(map) = json.as_ref() else {
            return Some(Fault::Value {
                attribute: "attributes".into(),
                value: json.to_string().chars().take(80).collect(),
                expected: "a JSON object".into(),
            });
        };
        let place = ["latitude", "longitude"].iter().all(|name| map.get(*name).is_some_and(Value::is_number));
        let legal = |name: &str| {
            !BLOCKED.contains(&name) && (place || !matches!(name, "latitude" | "longitude" | "gps_accuracy"))
        };
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<(Attr, Option<Value>)> = Vec::new();
        for name in given.drain(..).filter(|name| !map.contains_key(name.as_str()) || !legal(name)) {
            found.push((Cow::Owned(name), None));
        }
        for (name, value) in map.iter().filter(|(name, _)| legal(name)) {
            if !view.update.attributes.iter().any(|(known, _)| known == name) {
                given.push(name.clone());
                found.push((Cow::Owned(name.clone()), Some(value.clone()).filter(|value| !value.is_null())));
            }
        }
        view.update.attributes.extend(found);
        None
    }
}

/// Attributes that a device may not set: they are facts of the registry, not of the state.
const BLOCKED: &[&str] = &[
    "assumed_state",
    "attribution",
    "available",
    "device_class",
    "device_info",
    "entity_category",
    "entity_picture",
    "entity_registry_enabled_default",
    "extra_state_attributes",
    "force_update",
    "friendly_name",
    "icon",
    "name",
    "should_poll",
    "state",
    "supported_features",
    "unique_id",
    "unit_of_measurement",
];
