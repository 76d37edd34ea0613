//! From a message on our own topics to a typed request, or to a rejection that can be told.
//!
//! Retained, stale and oversized messages start nothing (invariant `stale_starts_nothing`). A name in a message is a
//! hint; who asks is what the connection says. Reading is pure: the inbox holds no task, answers nobody and counts what
//! it saw. A repeated id is found by [`Seen`], which the caller asks.

mod command;
mod counters;
mod decision;
mod seen;
mod stop;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};

use crate::strict_json::JsonError;

use super::link::Inbound;
use super::topics::{Incoming, Topics, reply_allowed};
pub use command::CommandMessage;
pub use counters::{Counted, InboxCounters};
pub use decision::DecisionMessage;
pub use seen::{Repeat, Seen};
pub use stop::{StopMessage, StopWhat};

use counters::Counters;

/// Largest command and stop message, in bytes.
pub const MAX_COMMAND: usize = 16 * 1024;
/// Largest recorded utterance, in bytes: two minutes of what speech services take.
pub const MAX_AUDIO: usize = 4 * 1024 * 1024;
/// Largest decision, in bytes.
pub const MAX_DECISION: usize = 4 * 1024;
/// Longest text of a command, in characters.
pub const MAX_TEXT: usize = 10_000;
/// Longest of the other texts in a message, in characters.
pub const MAX_FIELD: usize = 128;
/// Oldest `issued_at` of a command that still counts.
pub const MAX_AGE: TimeDelta = TimeDelta::seconds(30);
/// How far the sender's clock may be ahead, and how far that of a decision may be off either way.
pub const MAX_SKEW: TimeDelta = TimeDelta::seconds(60);

/// Reads the messages on our topics.
#[derive(Debug)]
pub struct Inbox {
    topics: Topics,
    discovery_prefix: String,
    counters: Counters,
}

/// What a message asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Command(CommandMessage),
    Stop(StopMessage),
    /// Whether commands are to be refused from now on, and who says so.
    Pause {
        on: bool,
        sender: Option<String>,
    },
    Decision(DecisionMessage),
    /// A command that belongs to a conversation, and is answered there.
    Chat {
        conversation: String,
        command: CommandMessage,
    },
    /// A WAV file, unread.
    Audio {
        site: String,
        wav: Bytes,
    },
}

/// Where the answer goes besides our own topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyTo {
    pub topic: String,
    pub correlation: Option<Bytes>,
}

/// A message that was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    pub reason: Rejection,
    /// Where the rejection is to be told; `None` for a retained message, whose sender may be long gone.
    pub tell: Option<Tell>,
}

/// Where a rejection is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tell {
    Reply(ReplyTo),
    /// The sender named no topic, or none that may be used: it is told on `<base>/result`.
    Result,
}

/// Why a message was refused, as a sentence for its sender.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    #[error("retained messages are ignored; publish without the retain flag")]
    Retained,
    #[error("the message is {0} s old; at most 30 s are accepted")]
    Stale(i64),
    #[error("the message is dated {0} s in the future; check the sender's clock")]
    Ahead(i64),
    #[error("the message has {size} bytes; at most {max} are accepted")]
    TooLarge { size: usize, max: usize },
    #[error("the message is not UTF-8 text")]
    NotText,
    #[error("{0}")]
    Json(#[from] JsonError),
    #[error("the command is empty")]
    Empty,
    #[error("the command has {0} characters; at most {MAX_TEXT} are accepted")]
    TooLong(usize),
    #[error("{field} has {chars} characters; at most {MAX_FIELD} are accepted")]
    FieldTooLong { field: &'static str, chars: usize },
    #[error("{0} holds a control character")]
    Control(&'static str),
    #[error("no reply can go to {0:?}; use a topic of your own or one under <base>/reply/")]
    ReplyTopic(String),
    #[error("a pause is ON or OFF")]
    Pause,
    #[error("the decision is for {named:?} but was sent to the topic of {topic:?}")]
    OtherApproval { named: String, topic: String },
}

impl Inbox {
    pub fn new(topics: Topics, discovery_prefix: impl Into<String>) -> Self {
        Self { topics, discovery_prefix: discovery_prefix.into(), counters: Counters::default() }
    }

    /// Reads a message; `None` when it is not on one of our incoming topics.
    pub fn read(&self, message: &Inbound) -> Option<Result<Request, Rejected>> {
        let incoming = self.topics.read(&message.topic)?;
        if matches!(incoming, Incoming::Chat { .. }) && command::is_answer(&message.payload) {
            return None;
        }
        // The right to reply is looked at before anything else, so that every other rejection can be told.
        let reply = self.reply_of(message);
        let result = match &reply {
            Err(_) if message.retain => Err(Rejection::Retained),
            Err(reason) => Err(reason.clone()),
            Ok(reply) => self.read_request(incoming, message, reply.clone()),
        };
        let result = match result {
            Ok(request) => self.checked_reply(request),
            Err(reason) => Err((reason, reply.ok().flatten())),
        };
        Some(result.map_err(|(reason, reply)| {
            let tell = match (&reason, reply) {
                (Rejection::Retained, _) => None,
                (_, Some(reply)) => Some(Tell::Reply(reply)),
                (_, None) => Some(self.usual_place(incoming)),
            };
            tracing::debug!(topic = %message.topic, %reason, bytes = message.payload.len(), "a message was refused");
            self.counters.refused(&reason);
            Rejected { reason, tell }
        }).inspect(|_| self.counters.count(Counted::Accepted)))
    }

    /// Where a sender that named no topic looks for an answer.
    fn usual_place(&self, incoming: Incoming<'_>) -> Tell {
        let topic = match incoming {
            Incoming::Chat { conversation } => self.topics.chat(conversation),
            Incoming::Audio { site } => self.topics.voice(site, "text"),
            Incoming::Command | Incoming::Stop | Incoming::Pause | Incoming::Decision { .. } => {
                return Tell::Result;
            }
        };
        Tell::Reply(ReplyTo { topic, correlation: None })
    }

    /// For the caller, who alone knows that an id was there before.
    pub fn count_duplicate(&self) {
        self.counters.count(Counted::Duplicate);
    }

    /// For the caller, who alone knows whose decisions count.
    pub fn count_disbelieved(&self) {
        self.counters.count(Counted::Disbelieved);
    }

    pub fn counters(&self) -> InboxCounters {
        self.counters.read()
    }

    fn read_request(
        &self,
        incoming: Incoming<'_>,
        message: &Inbound,
        reply: Option<ReplyTo>,
    ) -> Result<Request, Rejection> {
        if message.retain {
            return Err(Rejection::Retained);
        }
        let max = match incoming {
            Incoming::Command | Incoming::Stop | Incoming::Pause | Incoming::Chat { .. } => MAX_COMMAND,
            Incoming::Audio { .. } => MAX_AUDIO,
            Incoming::Decision { .. } => MAX_DECISION,
        };
        if message.payload.len() > max {
            return Err(Rejection::TooLarge { size: message.payload.len(), max });
        }
        if let Incoming::Audio { site } = incoming {
            return Ok(Request::Audio { site: site.to_owned(), wav: message.payload.clone() });
        }
        let text = std::str::from_utf8(&message.payload).map_err(|_| Rejection::NotText)?;
        let now = message.arrival.at;
        let sender = message.sender.clone();
        match incoming {
            Incoming::Command => command::read(text, now, reply, sender).map(Request::Command),
            Incoming::Stop => stop::read(text, now, reply, sender).map(Request::Stop),
            Incoming::Pause => match text.trim() {
                "ON" => Ok(Request::Pause { on: true, sender }),
                "OFF" => Ok(Request::Pause { on: false, sender }),
                _ => Err(Rejection::Pause),
            },
            Incoming::Decision { approval } => {
                decision::read(approval, text, now, reply, sender).map(Request::Decision)
            }
            Incoming::Chat { conversation } => {
                let command = command::read(text, now, reply, sender)?;
                Ok(Request::Chat { conversation: conversation.to_owned(), command })
            }
            Incoming::Audio { .. } => Err(Rejection::NotText),
        }
    }

    fn reply_of(&self, message: &Inbound) -> Result<Option<ReplyTo>, Rejection> {
        let Some(topic) = &message.response_topic else { return Ok(None) };
        if !reply_allowed(&self.topics, &self.discovery_prefix, topic) {
            return Err(Rejection::ReplyTopic(topic.clone()));
        }
        Ok(Some(ReplyTo { topic: topic.clone(), correlation: message.correlation.clone() }))
    }

    /// A `reply_to` from inside the message is as foreign as a response topic.
    fn checked_reply(&self, request: Request) -> Result<Request, (Rejection, Option<ReplyTo>)> {
        match request.reply_to() {
            Some(reply) if !reply_allowed(&self.topics, &self.discovery_prefix, &reply.topic) => {
                Err((Rejection::ReplyTopic(reply.topic.clone()), None))
            }
            Some(_) | None => Ok(request),
        }
    }
}

impl Request {
    pub fn reply_to(&self) -> Option<&ReplyTo> {
        match self {
            Self::Command(command) => command.reply_to.as_ref(),
            Self::Stop(stop) => stop.reply_to.as_ref(),
            Self::Pause { .. } => None,
            Self::Decision(decision) => decision.reply_to.as_ref(),
            Self::Chat { command, .. } => command.reply_to.as_ref(),
            Self::Audio { .. } => None,
        }
    }
}

/// The response topic of MQTT 5 where there is one, else the one in the message.
fn choose_reply(property: Option<ReplyTo>, named: Option<String>) -> Option<ReplyTo> {
    property.or_else(|| named.map(|topic| ReplyTo { topic, correlation: None }))
}

/// Checks the age that a sender gives its message.
fn check_age(
    issued_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    oldest: TimeDelta,
) -> Result<(), Rejection> {
    let Some(issued_at) = issued_at else { return Ok(()) };
    let age = now.signed_duration_since(issued_at);
    if age > oldest {
        return Err(Rejection::Stale(age.num_seconds()));
    }
    if age < -MAX_SKEW {
        return Err(Rejection::Ahead(-age.num_seconds()));
    }
    Ok(())
}

/// Checks a short text: its length, and no control characters. An empty one counts as absent.
fn short(field: &'static str, text: Option<String>) -> Result<Option<String>, Rejection> {
    let Some(text) = text else { return Ok(None) };
    let chars = text.chars().count();
    if chars > MAX_FIELD {
        return Err(Rejection::FieldTooLong { field, chars });
    }
    if text.contains(char::is_control) {
        return Err(Rejection::Control(field));
    }
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

#[cfg(test)]
mod tests;
