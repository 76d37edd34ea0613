//! The contract of a codec.

use std::any::Any;
use std::cell::OnceCell;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::home::{Action, State, Update};

/// How one entity speaks.
pub trait Codec: Send + Sync {
    /// The MQTT topic filters whose messages [`Codec::decode`] wants. Wildcards are legal.
    fn subscriptions(&self) -> Vec<String>;

    /// Reads one message. It is called for every message on one of the subscriptions, in order of arrival.
    fn decode(&self, topic: &str, payload: &Payload<'_>, now: &State) -> Decoded;

    /// The exact messages that perform `action`, in the order in which they are to be sent. Arguments were checked
    /// against the entity's [`crate::home::ActionSpec`]. Codes stand in them as `${secret:name}` and stay so.
    fn encode(&self, action: &Action, now: &State) -> Result<Vec<Message>, EncodeError>;

    /// How long `action` may take to be confirmed and how exact the report must be, where the device's profile or
    /// announcement says so.
    fn confirm_hint(&self, action: &Action) -> ConfirmHint {
        let _ = action;
        ConfirmHint::default()
    }

    /// What may be assumed once `action` was sent, where the device does not report it. It is never a live report
    /// and confirms nothing.
    fn assume(&self, action: &Action, now: &State) -> Option<Update> {
        let _ = (action, now);
        None
    }

    /// What happens when no message of the entity comes for a while, where its announcement says so.
    fn expiry(&self) -> Expiry {
        Expiry::default()
    }

    /// Whether a message on this topic shows that the entity is alive ([`Expiry::unavailable_after`]).
    fn is_sign_of_life(&self, topic: &str) -> bool {
        let _ = topic;
        false
    }

    /// Told when [`Expiry::unavailable_after`] has passed: until the next sign of life the entity is not available,
    /// whatever its availability topics say.
    fn fell_silent(&self) {}

    /// Takes over what `before`, the codec before the announcement changed, has learnt from messages.
    fn inherit(&self, before: &dyn Codec) {
        let _ = before;
    }

    /// Itself for a codec that [`Codec::inherit`]s, to be recognised by its successor.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// What silence means, after the given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expiry {
    /// Without a sign of life for so long the entity is no longer available (`expire_after`).
    pub unavailable_after: Option<Duration>,
    /// So long after a report of `on` the value goes back to `off` (`off_delay`).
    pub off_after: Option<Duration>,
}

/// What a message means for one entity.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// Something was reported, even if it repeats what is known.
    Report(Update),
    /// The message is not about this entity, or is to be ignored by the rules of its announcement.
    Nothing,
    /// The message could not be read; the state stays. Told once an hour per entity, counted always.
    Fault(Fault),
}

/// Why a message could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the payload is not UTF-8 text")]
    NotText,
    #[error("the payload is not JSON: {0}")]
    NotJson(String),
    #[error("template {template:?} failed: {error}")]
    Template { template: String, error: String },
    #[error("the message has {bytes} bytes; at most {limit} are read")]
    TooLong { bytes: usize, limit: usize },
    #[error("{value:?} is no value of {attribute}; expected {expected}")]
    Value { attribute: String, value: String, expected: String },
}

/// Why an action cannot be put into bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("this device has no message for {0}")]
    Unsupported(String),
    #[error("template {template:?} failed: {error}")]
    Template { template: String, error: String },
    #[error("{0}")]
    Argument(String),
}

/// How an action is confirmed, where the device differs from its class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ConfirmHint {
    /// Time within which the report must come.
    pub within: Option<Duration>,
    /// Largest difference that still counts as reached, in the argument's own unit.
    pub tolerance: Option<f64>,
}

/// One message to a device, as frozen in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub topic: String,
    /// Text as it is; bytes that are not UTF-8 are kept as base64 in `payload_b64`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payload: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_b64: Option<String>,
    /// 0, 1 or 2. Actions go out with at least 1; a device's announcement may say 2.
    pub qos: u8,
}

impl Message {
    /// A text message with QoS 1.
    pub fn text(topic: impl Into<String>, payload: impl Into<String>) -> Self {
        Self { topic: topic.into(), payload: payload.into(), payload_b64: None, qos: 1 }
    }
}

/// A received payload that is decoded at most once for all entities that read it.
pub struct Payload<'a> {
    bytes: &'a [u8],
    /// Whether the broker marked the message as retained.
    pub retained: bool,
    text: OnceCell<Option<&'a str>>,
    json: OnceCell<Option<Value>>,
}

impl<'a> Payload<'a> {
    pub fn new(bytes: &'a [u8], retained: bool) -> Self {
        Self { bytes, retained, text: OnceCell::new(), json: OnceCell::new() }
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The payload as UTF-8.
    pub fn text(&self) -> Result<&'a str, Fault> {
        self.text.get_or_init(|| std::str::from_utf8(self.bytes).ok()).ok_or(Fault::NotText)
    }

    /// The payload as strict JSON (no NaN, no trailing commas), or `None`.
    pub fn json(&self) -> Option<&Value> {
        self.json.get_or_init(|| serde_json::from_slice(self.bytes).ok()).as_ref()
    }
}
