//! The one codec of all discovered entities: topics and templates here, meaning in the component.
//!
//! A message is matched against the entity's reads in the order in which the component listed them (so that a cover
//! takes its position before its state), each with its own template. What a component makes of a text is in its file.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use super::attributes::Attributes;
pub(super) use super::common::Common;
use super::fields::{Fields, Refusal};
pub(super) use super::outbox::Outbox;
pub(super) use super::view::View;
use crate::devices::codec::{Codec, ConfirmHint, Decoded, EncodeError, Expiry, Fault, Message, Payload};
use crate::devices::filters::matches;
use crate::devices::template::{RenderError, Template, Value as Engine};
use crate::home::{Action, ActionSpec, Availability, State, Update};

/// What a component file makes of an announcement.
pub(super) struct Built {
    pub codec: Arc<dyn Codec>,
    pub actions: Vec<ActionSpec>,
    /// Whether the device reports the state that its actions change.
    pub reports_state: bool,
    /// What Home Assistant shows before the first message; never a live report.
    pub initial: Update,
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
    fn is_report(&self, fault: &Fault) -> bool {
        !matches!(fault, Fault::Template { .. })
    }

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

    /// Takes over what the component knew before its announcement changed.
    fn inherit(&self, before: &Self) {
        let _ = before;
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
    attributes: Option<Attributes>,
}

impl<C: Component> EntityCodec<C> {
    pub fn shared(mut common: Common, reads: Vec<Option<Read<C::Field>>>, component: C) -> Arc<dyn Codec> {
        let reads = reads.into_iter().flatten().collect();
        let attributes = common.attributes.take();
        Arc::new(Self { common, reads, component, attributes })
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
        let (scope, vars) = (self.common.scope(now), self.component.vars());
        let rendered = match self.common.raw {
            true => template.value_of_bytes(payload, scope, vars),
            false => template.value(payload, scope, vars),
        };
        match rendered {
            Ok(text) => Ok(Some(text)),
            Err(RenderError::Undefined(_)) if read.undefined == Undefined::Ignore => Ok(None),
            Err(RenderError::Undefined(_)) => raw().map(Some),
            Err(RenderError::Failed(error)) => {
                Err(Fault::Template { template: template.source().to_owned(), error })
            }
        }
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
        if self.common.expiry.unavailable_after.is_none() {
            return decoded;
        }
        if reported {
            self.common.set_fresh(true);
        }
        let fresh = self.common.is_fresh();
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
        topics.extend(self.attributes.iter().map(|attributes| attributes.topic().to_owned()));
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
        if let Some(attributes) = &self.attributes {
            fault = fault.or(attributes.read(topic, self.common.scope(now), &mut view));
        }
        view.update.availability = self.availability(
            topic,
            payload,
            now,
            read && fault.as_ref().is_none_or(|fault| self.component.is_report(fault)),
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

    fn expiry(&self) -> Expiry {
        self.common.expiry
    }

    fn is_sign_of_life(&self, topic: &str) -> bool {
        self.reads.iter().any(|read| read.topics.iter().any(|own| matches(own, topic)))
    }

    fn fell_silent(&self) {
        self.common.set_fresh(false);
    }

    fn inherit(&self, before: &dyn Codec) {
        let Some(before) = before.as_any().and_then(|before| before.downcast_ref::<Self>()) else { return };
        self.common.inherit(&before.common);
        if let (Some(attributes), Some(before)) = (&self.attributes, &before.attributes) {
            attributes.inherit(before);
        }
        self.component.inherit(&before.component);
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// A value that is not what its attribute takes.
pub(super) fn bad(attribute: &str, value: &str, expected: impl Into<String>) -> Fault {
    Fault::Value {
        attribute: attribute.into(),
        value: value.chars().take(80).collect(),
        expected: expected.into(),
    }
}

/// A whole number of a payload, by Python's `int()`: text with a fraction is none.
pub(super) fn whole(attribute: &str, text: &str) -> Result<f64, Fault> {
    let number: i64 = text.trim().parse().map_err(|_| bad(attribute, text, "a whole number"))?;
    Ok(number as f64)
}

/// A number of a payload, by Python's `float()`; nothing else than finite numbers.
pub(super) fn number(attribute: &str, text: &str) -> Result<f64, Fault> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| bad(attribute, text, "a finite number"))
}
