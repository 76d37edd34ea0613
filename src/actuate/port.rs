//! What the door needs from the outside: something that sends, and something that knows how entities speak.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use secrecy::SecretString;

use crate::devices::registry::Registry;
use crate::devices::{Codec, Message};
use crate::home::{Action, EntityId};

/// A way to devices: the MQTT link, or Home Assistant's WebSocket.
pub trait Port: Send + Sync {
    /// Sends one message and resolves when the other side has taken it (PUBACK). Nothing is queued while the
    /// connection is down: that is [`SendError::Down`], at once.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>>;

    /// Whether a connection stands now.
    fn is_up(&self) -> bool;

    /// The cause that an outcome names when the connection does not stand, a word of [`super::OutcomeEntry::cause`].
    fn down_cause(&self) -> &'static str {
        "link_down"
    }

    /// The number of the present connection; it grows with every new one.
    fn connection(&self) -> u64;
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Nothing left this machine.
    #[error("not sent: the connection is down ({0})")]
    Down(String),
    /// Nothing left this machine: the message breaks a limit.
    #[error("not sent: {0}")]
    Refused(String),
    /// It may have arrived or not: the connection broke between sending and acknowledgement.
    #[error("sent, but the connection broke before the other side acknowledged it")]
    Uncertain,
}

/// Who speaks for an entity. Implemented by the registry that holds profiles and discovered codecs.
pub trait Codecs: Send + Sync {
    /// The codec of an entity and the port that its messages go through.
    fn codec(&self, entity: &EntityId) -> Option<(Arc<dyn Codec>, Arc<dyn Port>)>;
}

impl Codecs for Registry<dyn Port> {
    fn codec(&self, entity: &EntityId) -> Option<(Arc<dyn Codec>, Arc<dyn Port>)> {
        self.speaker(entity)
    }
}

/// Codes and keys by name. What stands as `${secret:name}` in a plan is filled in inside the door only.
pub trait Secrets: Send + Sync {
    fn secret(&self, name: &str) -> Option<Secret>;

    /// The name of the secret that an entity takes as its code, where the home file gives one.
    fn code_of(&self, _entity: &EntityId) -> Option<String> {
        None
    }
}

/// A secret and its version, which changes whenever the secret does.
#[derive(Debug, Clone)]
pub struct Secret {
    pub value: SecretString,
    pub version: String,
}

/// A home without codes.
pub struct NoSecrets;

impl Secrets for NoSecrets {
    fn secret(&self, _name: &str) -> Option<Secret> {
        None
    }
}

/// Where the intention to send is written before the bytes leave. Implemented by the task's log.
pub trait Record: Send + Sync {
    /// Resolves when it is in the journal: on disk for a gated plan. If it fails, nothing is sent.
    fn sending<'a>(
        &'a self,
        action: &'a Action,
        plan_hash: &'a str,
        gated: bool,
    ) -> BoxFuture<'a, Result<(), NotRecorded>>;
}

/// The journal did not take the intention.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal did not take it: {0}")]
pub struct NotRecorded(pub String);
