//! The codec of one entity that has a profile.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;

use super::field::{Field, Input, Path, Reading, number_value};
use super::format::Saying;
use crate::devices::{Codec, ConfirmHint, Decoded, EncodeError, Fault, Message, Payload};
use crate::home::{Action, ActionSpec, Arg, ArgValue, Attr, Availability, State, Update};

/// Longest value of a state, in characters, as in Home Assistant. What is longer is cut.
const MAX_VALUE_CHARS: usize = 255;

/// A profile with the parameters of one entity: topics, tables and ranges are ready to use.
#[derive(Debug)]
pub struct ProfileCodec {
    pub(super) reports: Vec<Report>,
    pub(super) availability: Vec<AvailabilityTopic>,
    pub(super) actions: Vec<BoundAction>,
}

#[derive(Debug)]
pub(super) struct Report {
    pub topic: String,
    /// Whether the device publishes it retained; only the simulator asks.
    pub retained: bool,
    pub said: Saying,
    pub json: bool,
    /// In order: the first that yields something for a target wins.
    pub reads: Vec<Read>,
}

#[derive(Debug)]
pub(super) struct Read {
    pub target: Target,
    pub field: Field,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    Value,
    Attribute(Attr),
}

#[derive(Debug)]
pub(super) struct AvailabilityTopic {
    pub topic: String,
    pub path: Option<Path>,
    pub online: String,
    pub offline: String,
    /// Whether it is the topic of a bridge that speaks for many devices; only the simulator asks.
    pub shared: bool,
    /// What this topic said last: the entity is online only while none of its topics says offline.
    pub last: AtomicU8,
}

#[derive(Debug)]
pub(super) struct BoundAction {
    pub spec: ActionSpec,
    pub hint: ConfirmHint,
    pub sends: Vec<Send>,
}

#[derive(Debug)]
pub(super) struct Send {
    pub topic: String,
    /// Sent only where this argument is given.
    pub only_with: Option<Arg>,
    /// Not sent where this argument is given.
    pub unless_with: Option<Arg>,
    pub body: Body,
    pub qos: u8,
}

#[derive(Debug)]
pub(super) enum Body {
    Text(String),
    /// The whole payload is one argument.
    Arg(Arg, Field),
    Json {
        fixed: Value,
        fields: Vec<(Arg, Field)>,
    },
}

impl Target {
    /// `value`, or the name of the attribute.
    pub fn name(&self) -> &str {
        match self {
            Target::Value => "value",
            Target::Attribute(attribute) => attribute,
        }
    }
}

impl AvailabilityTopic {
    pub const UNKNOWN: u8 = 0;
    const ONLINE: u8 = 1;
    const OFFLINE: u8 = 2;

    fn hear(&self, payload: &Payload<'_>) -> Result<(), Fault> {
        let text = match (&self.path, payload.json()) {
            (Some(path), Some(json @ Value::Object(_))) => match path.find(json) {
                Some(value) => Input::Json(value).text(),
                None => return Ok(()),
            },
            (Some(_) | None, _) => Cow::Borrowed(payload.text()?),
        };
        let said = if *text == self.online {
            Self::ONLINE
        } else if *text == self.offline {
            Self::OFFLINE
        } else {
            return Err(Fault::Value {
                attribute: "availability".into(),
                value: text.chars().take(80).collect(),
                expected: format!("{} or {}", self.online, self.offline),
            });
        };
        self.last.store(said, Ordering::Relaxed);
        Ok(())
    }
}

impl ProfileCodec {
    /// What the entity can do, for [`crate::home::Entity::actions`].
    pub fn actions(&self) -> Vec<ActionSpec> {
        self.actions.iter().map(|action| action.spec.clone()).collect()
    }

    /// Whether anything is reported, so that an action can be confirmed.
    pub fn reports_state(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Every topic that actions are sent to, without repetition.
    pub fn command_topics(&self) -> Vec<&str> {
        let mut topics = Vec::new();
        for send in self.actions.iter().flat_map(|action| &action.sends) {
            if !topics.contains(&send.topic.as_str()) {
                topics.push(send.topic.as_str());
            }
        }
        topics
    }

    /// Whether a bridge speaks for the device, and for others.
    pub fn is_behind_a_bridge(&self) -> bool {
        self.availability.iter().any(|availability| availability.shared)
    }

    fn read_report(&self, report: &Report, payload: &Payload<'_>, update: &mut Update) -> Result<(), Fault> {
        let input = if report.json {
            match payload.json() {
                Some(json @ Value::Object(_)) => Input::Json(json),
                Some(_) => return Err(Fault::NotJson("expected a JSON object".into())),
                None => {
                    payload.text()?;
                    return Err(Fault::NotJson("expected a JSON object".into()));
                }
            }
        } else {
            Input::Text(payload.text()?)
        };
        let mut first_fault = Ok(());
        let mut unknown = false;
        for read in &report.reads {
            if update_has(update, &read.target) {
                continue;
            }
            match (read.field.read(input, read.target.name()), &read.target) {
                // Another read may know the value; only if none does it is unknown.
                (Ok(Some(Reading::Unknown)), Target::Value) => unknown = true,
                (Ok(Some(reading)), Target::Value) => update.value = Some(Some(value_of(reading))),
                // An attribute that is null is one that the device does not speak about in this message.
                (Ok(Some(Reading::Unknown)), Target::Attribute(_)) | (Ok(None), _) => {}
                (Ok(Some(reading)), Target::Attribute(attribute)) => {
                    update.attributes.push((attribute.clone(), Some(json_of(reading))));
                }
                (Err(fault), _) if first_fault.is_ok() => first_fault = Err(fault),
                (Err(_), _) => {}
            }
        }
        if unknown && update.value.is_none() {
            update.value = Some(None);
        }
        first_fault
    }
}

impl Codec for ProfileCodec {
    fn subscriptions(&self) -> Vec<String> {
        let mut topics: Vec<String> = Vec::new();
        let all = self.reports.iter().map(|report| &report.topic);
        for topic in all.chain(self.availability.iter().map(|availability| &availability.topic)) {
            if !topics.contains(topic) {
                topics.push(topic.clone());
            }
        }
        topics
    }

    /// A fault of one attribute is told only where the message gave nothing else: the rest of a message counts.
    fn decode(&self, topic: &str, payload: &Payload<'_>, _now: &State) -> Decoded {
        // An empty payload clears a retained message; it reports nothing.
        if payload.bytes().is_empty() {
            return Decoded::Nothing;
        }
        let mut update = Update::default();
        let mut fault = None;
        for report in self.reports.iter().filter(|report| report.topic == topic) {
            if let Err(why) = self.read_report(report, payload, &mut update) {
                fault.get_or_insert(why);
            }
        }
        let mut asked = false;
        for availability in self.availability.iter().filter(|availability| availability.topic == topic) {
            asked = true;
            if let Err(why) = availability.hear(payload) {
                fault.get_or_insert(why);
            }
        }
        if asked {
            let said =
                |what: u8| self.availability.iter().any(|topic| topic.last.load(Ordering::Relaxed) == what);
            if said(AvailabilityTopic::OFFLINE) {
                update.availability = Some(Availability::Offline);
            } else if said(AvailabilityTopic::ONLINE) {
                update.availability = Some(Availability::Online);
            }
        }
        match fault {
            Some(fault) if update.is_empty() => Decoded::Fault(fault),
            None if update.is_empty() => Decoded::Nothing,
            Some(_) | None => Decoded::Report(update),
        }
    }

    fn encode(&self, action: &Action, _now: &State) -> Result<Vec<Message>, EncodeError> {
        let unsupported = || EncodeError::Unsupported(action.kind());
        let bound =
            self.actions.iter().find(|bound| bound.spec.verb == action.verb).ok_or_else(unsupported)?;
        for (arg, value) in &action.args {
            // Only the profile may name a secret: text that a person or a model gave never becomes one.
            if *arg != Arg::Code && value.as_text().is_some_and(|text| text.contains("${secret:")) {
                return Err(EncodeError::Argument(format!("{arg} may not hold ${{secret:…}}")));
            }
        }
        let mut messages = Vec::new();
        for send in &bound.sends {
            if send.only_with.is_none_or(|arg| action.args.contains_key(&arg))
                && send.unless_with.is_none_or(|arg| !action.args.contains_key(&arg))
                && let Some(payload) = send.payload(action)?
            {
                messages.push(Message { qos: send.qos, ..Message::text(send.topic.clone(), payload) });
            }
        }
        if messages.is_empty() { Err(unsupported()) } else { Ok(messages) }
    }

    fn confirm_hint(&self, action: &Action) -> ConfirmHint {
        let bound = self.actions.iter().find(|bound| bound.spec.verb == action.verb);
        bound.map(|bound| bound.hint).unwrap_or_default()
    }
}

impl Send {
    /// The payload, or `None` where the given arguments leave nothing to say.
    fn payload(&self, action: &Action) -> Result<Option<String>, EncodeError> {
        match &self.body {
            Body::Text(text) => Ok(Some(text.clone())),
            Body::Arg(arg, field) => {
                let Some(value) = action.args.get(arg) else { return Ok(None) };
                let value = translate(*arg, field, value)?;
                Ok(Some(Input::Json(&value).text().into_owned()))
            }
            Body::Json { fixed, fields } => {
                let mut json = fixed.clone();
                for (arg, field) in fields {
                    if let (Some(value), Some(path)) = (action.args.get(arg), &field.path) {
                        path.set(&mut json, translate(*arg, field, value)?);
                    }
                }
                let empty = json.as_object().is_none_or(serde_json::Map::is_empty);
                Ok((!empty).then(|| json.to_string()))
            }
        }
    }
}

/// An argument as the JSON that a field translates.
pub(super) fn arg_json(value: &ArgValue) -> Value {
    match value {
        ArgValue::Bool(flag) => Value::Bool(*flag),
        ArgValue::Number(number) => number_value(*number),
        ArgValue::Rgb(rgb) => Value::from(rgb.to_vec()),
        ArgValue::Numbers(numbers) => numbers.iter().map(|number| number_value(*number)).collect(),
        ArgValue::Text(text) => Value::String(text.clone()),
    }
}

fn translate(arg: Arg, field: &Field, value: &ArgValue) -> Result<Value, EncodeError> {
    let input = arg_json(value);
    match field.translate(Input::Json(&input), arg.word()) {
        Ok(Some(reading)) => Ok(json_of(reading)),
        Ok(None) => Err(EncodeError::Argument(format!("{arg} {input} has no form in this device's words"))),
        Err(fault) => Err(EncodeError::Argument(fault.to_string())),
    }
}

fn update_has(update: &Update, target: &Target) -> bool {
    match target {
        Target::Value => update.value.is_some(),
        Target::Attribute(attribute) => update.attributes.iter().any(|(name, _)| name == attribute),
    }
}

fn value_of(reading: Reading) -> Cow<'static, str> {
    let text = match reading {
        Reading::Unknown => Cow::Borrowed("unknown"),
        Reading::Word(word) => word,
        Reading::Json(value) => Cow::Owned(Input::Json(&value).text().into_owned()),
    };
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => Cow::Owned(text.get(..end).unwrap_or_default().to_owned()),
        None => text,
    }
}

fn json_of(reading: Reading) -> Value {
    match reading {
        Reading::Unknown => Value::Null,
        Reading::Word(word) => Value::String(word.into_owned()),
        Reading::Json(value) => value,
    }
}
