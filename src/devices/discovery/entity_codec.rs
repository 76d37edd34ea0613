//! The one codec of all discovered entities: topics and templates here, meaning in the component.
//!
//! A message is matched against the entity's reads in the order in which the component listed them (so that a cover
//! takes its position before its state), each with its own template. What a component makes of a text is in its file.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::availability::AvailabilityReader;
use super::fields::{Fields, Refusal};
pub(super) use super::outbox::Outbox;
pub(super) use super::view::View;
use crate::devices::codec::{Codec, ConfirmHint, Decoded, EncodeError, Expiry, Fault, Message, Payload};
use crate::devices::template::{RenderError, Scope, Template, Value as Engine};
use crate::home::{Action, ActionSpec, Attr, Availability, State, Update};

/// What a component file makes of an announcement.
pub(super) struct Built {
    pub codec: Arc<dyn Codec>,
    pub actions: Vec<ActionSpec>,
    /// Whether the device reports the state that its actions change.
    pub reports_state: bool,
    /// What Home Assistant shows before the first message; never a live report.
    pub initial: Update,
}

/// What all components share.
pub(super) struct Common {
    pub entity_id: String,
    pub name: String,
    pub qos: u8,
    pub availability: Option<Arc<AvailabilityReader>>,
    pub attributes: Option<(String, Option<Template>)>,
    /// Payloads are bytes, not text (`encoding: ""`).
    pub raw: bool,
    pub expiry: Option<Expiry>,
    /// With `expire_after`: whether anything arrived that is not too old.
    fresh: AtomicBool,
}

impl Common {
    pub fn read(fields: Fields<'_>, entity_id: &str, name: &str) -> Result<Self, Refusal> {
        let qos = match fields.int_or("qos", 0)? {
            qos @ 0..=2 => qos as u8,
            other => {
                return Err(Refusal::Wrong {
                    key: "qos".into(),
                    value: other.to_string(),
                    expected: "0, 1 or 2".into(),
                });
            }
        };
        let template = fields.template("json_attributes_template")?;
        Ok(Self {
            entity_id: entity_id.into(),
            name: name.into(),
            qos,
            availability: AvailabilityReader::read(fields)?.map(Arc::new),
            attributes: fields.subscribe("json_attributes_topic")?.map(|topic| (topic, template)),
            raw: fields.text("encoding")?.is_some_and(|encoding| encoding.is_empty()),
            expiry: None,
            fresh: AtomicBool::new(false),
        })
    }

    /// Silence that means something, for the components that have it.
    pub fn set_expiry(&mut self, component: &str, fields: Fields<'_>) -> Result<(), Refusal> {
        if !matches!(component, "sensor" | "binary_sensor") {
            return Ok(());
        }
        let after = fields.number("expire_after")?.filter(|after| *after > 0.0);
        let off = fields.number("off_delay")?.filter(|delay| *delay > 0.0 && component == "binary_sensor");
        self.expiry = after
            .map(|after| Expiry::Unavailable(seconds(after)))
            .or(off.map(|delay| Expiry::Off(seconds(delay))));
        Ok(())
    }

    pub fn scope<'a>(&'a self, state: &'a State) -> Scope<'a> {
        Scope { entity_id: &self.entity_id, name: &self.name, state }
    }

    /// Availability before the first message: without topics the connection itself stands for the device.
    pub fn initial_availability(&self) -> Option<Availability> {
        let silent = self.availability.is_none() && !matches!(self.expiry, Some(Expiry::Unavailable(_)));
        silent.then_some(Availability::Online)
    }
}

/// What to do with a message whose template met something undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undefined {
    Ignore,
    /// Home Assistant's habit where no default is given: the payload itself is the value.
    Raw,
}

/// The topics that a component reads one value from, and as what.
pub(super) struct Read<F> {
    pub topics: Vec<String>,
    pub template: Option<Template>,
    pub field: F,
    pub undefined: Undefined,
}

impl<F> Read<F> {
    /// The read of `topic_key` with `template_key`, if the announcement has the topic.
    pub fn of(
        fields: Fields<'_>,
        topic_key: &str,
        template_key: &str,
        field: F,
        undefined: Undefined,
    ) -> Result<Option<Self>, Refusal> {
        let template = fields.template(template_key)?;
        Ok(fields.subscribe_all(topic_key)?.map(|topics| Self { topics, template, field, undefined }))
    }
}

/// The meaning of one component's texts and actions.
pub(super) trait Component: Send + Sync + 'static {
    type Field: Copy + Send + Sync + 'static;

    /// Whether a value that cannot be read still shows that the device is alive (`expire_after`).
    const FAULTS_ARE_REPORTS: bool = true;

    /// Reads one rendered text.
    fn apply(&self, field: Self::Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault>;

    /// Called once after a message whose reads were applied.
    fn settle(&self, view: &mut View<'_, '_>) {
        let _ = view;
    }

    /// Puts the messages of an action into `out`.
    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError>;

    /// What is assumed after `action` was sent, where the device does not report it.
    fn assume(&self, action: &Action, now: &State) -> Update {
        let _ = (action, now);
        Update::default()
    }

    fn hint(&self, action: &Action) -> ConfirmHint {
        let _ = action;
        ConfirmHint::default()
    }

    /// Variables of its value templates besides the usual ones.
    fn vars(&self) -> &[(&'static str, Engine)] {
        &[]
    }
}

/// A component with its topics.
pub(super) struct EntityCodec<C: Component> {
    common: Common,
    reads: Vec<Read<C::Field>>,
    component: C,
    /// Names of the attributes that the device gave last: the next set replaces them all.
    given: Mutex<Vec<String>>,
}

impl<C: Component> EntityCodec<C> {
    pub fn shared(common: Common, reads: Vec<Option<Read<C::Field>>>, component: C) -> Arc<dyn Codec> {
        let reads = reads.into_iter().flatten().collect();
        Arc::new(Self { common, reads, component, given: Mutex::default() })
    }

    /// Applies every read of this topic; says whether there was any, and the first fault.
    fn reads(&self, topic: &str, now: &State, view: &mut View<'_, '_>) -> (bool, Option<Fault>) {
        let (mut any, mut fault) = (false, None);
        let payload = view.payload;
        for read in self.reads.iter().filter(|read| read.topics.iter().any(|own| matches(own, topic))) {
            any = true;
            let text = match self.text(read, payload, now) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(error) => {
                    fault.get_or_insert(error);
                    continue;
                }
            };
            view.untouched = read.template.is_none();
            if let Err(error) = self.component.apply(read.field, &text, view) {
                fault.get_or_insert(error);
            }
        }
        (any, fault)
    }

    fn text<'p>(
        &self,
        read: &'p Read<C::Field>,
        payload: &'p Payload<'_>,
        now: &'p State,
    ) -> Result<Option<Cow<'p, str>>, Fault> {
        let raw = || match payload.text() {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) if self.common.raw => {
                Ok(Cow::Owned(String::from_utf8_lossy(payload.bytes()).into_owned()))
            }
            Err(fault) => Err(fault),
        };
        let Some(template) = &read.template else { return raw().map(Some) };
        match template.value(payload, self.common.scope(now), self.component.vars()) {
            Ok(text) => Ok(Some(text)),
            Err(RenderError::Undefined(_)) if read.undefined == Undefined::Ignore => Ok(None),
            Err(RenderError::Undefined(_)) => raw().map(Some),
            Err(RenderError::Failed(error)) => {
                Err(Fault::Template { template: template.source().to_owned(), error })
            }
        }
    }

    /// Replaces the attributes that the device gives as JSON.
    fn attributes(&self, topic: &str, now: &State, view: &mut View<'_, '_>) -> Option<Fault> {
        let (own, template) = self.common.attributes.as_ref()?;
        if !matches(own, topic) {
            return None;
        }
        let rendered;
        let json: Cow<'_, Value> = match template {
            None => Cow::Borrowed(view.payload.json()?),
            Some(template) => {
                rendered = template.value(view.payload, self.common.scope(now), &[]).ok()?;
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

    /// What is known about availability after this message.
    fn availability(
        &self,
        topic: &str,
        payload: &Payload<'_>,
        now: &State,
        reported: bool,
    ) -> Option<Availability> {
        let decoded = self
            .common
            .availability
            .as_ref()
            .and_then(|reader| reader.decode(topic, payload, self.common.scope(now)));
        if !matches!(self.common.expiry, Some(Expiry::Unavailable(_))) {
            return decoded;
        }
        if reported {
            self.common.fresh.store(true, Ordering::Relaxed);
        }
        let fresh = self.common.fresh.load(Ordering::Relaxed);
        let reachable = match (decoded, &self.common.availability) {
            (Some(decoded), _) => decoded,
            (None, None) if reported => Availability::Online,
            (None, Some(reader)) if reported => reader.current(),
            (None, _) => return None,
        };
        Some(if fresh { reachable } else { Availability::Offline })
    }
}

impl<C: Component> Codec for EntityCodec<C> {
    fn subscriptions(&self) -> Vec<String> {
        let mut topics: Vec<String> = self.reads.iter().flat_map(|read| read.topics.clone()).collect();
        topics.extend(self.common.availability.iter().flat_map(|reader| reader.topics().map(str::to_owned)));
        topics.extend(self.common.attributes.iter().map(|(topic, _)| topic.clone()));
        topics.sort();
        topics.dedup();
        topics
    }

    fn decode(&self, topic: &str, payload: &Payload<'_>, now: &State) -> Decoded {
        let mut view = View { now, payload, untouched: false, update: Update::default() };
        let (read, mut fault) = self.reads(topic, now, &mut view);
        if read {
            self.component.settle(&mut view);
        }
        fault = fault.or(self.attributes(topic, now, &mut view));
        view.update.availability = self.availability(
            topic,
            payload,
            now,
            read && (C::FAULTS_ARE_REPORTS || !matches!(fault, Some(Fault::Value { .. }))),
        );
        match (view.update.is_empty(), fault) {
            (false, _) => Decoded::Report(view.update),
            (true, Some(fault)) => Decoded::Fault(fault),
            (true, None) => Decoded::Nothing,
        }
    }

    fn encode(&self, action: &Action, now: &State) -> Result<Vec<Message>, EncodeError> {
        let mut out = Outbox { now, common: &self.common, messages: Vec::new() };
        self.component.encode(action, &mut out)?;
        if out.messages.is_empty() {
            return Err(EncodeError::Unsupported(action.kind()));
        }
        Ok(out.messages)
    }

    fn confirm_hint(&self, action: &Action) -> ConfirmHint {
        self.component.hint(action)
    }

    fn assume(&self, action: &Action, now: &State) -> Option<Update> {
        Some(self.component.assume(action, now)).filter(|update| !update.is_empty())
    }

    fn expiry(&self) -> Option<Expiry> {
        self.common.expiry
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

/// Whether a topic matches a filter. `$`-topics are not matched by a wildcard at the first level.
pub(super) fn matches(filter: &str, topic: &str) -> bool {
    if filter == topic {
        return true;
    }
    if !filter.contains(['+', '#']) || (topic.starts_with('$') && filter.starts_with(['+', '#'])) {
        return false;
    }
    let mut levels = topic.split('/');
    for part in filter.split('/') {
        match (part, levels.next()) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (part, Some(level)) if part == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

/// A value that is not what its attribute takes.
pub(super) fn bad(attribute: &str, value: &str, expected: impl Into<String>) -> Fault {
    Fault::Value {
        attribute: attribute.into(),
        value: value.chars().take(80).collect(),
        expected: expected.into(),
    }
}

/// A number of a payload, by Python's `float()`; nothing else than finite numbers.
pub(super) fn number(attribute: &str, text: &str) -> Result<f64, Fault> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| bad(attribute, text, "a finite number"))
}

/// Seconds of an announcement as a duration.
fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number.clamp(0.0, 1e9)).unwrap_or_default()
}
