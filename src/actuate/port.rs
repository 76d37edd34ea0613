//! What the door needs from the outside: something that sends, and something that knows how entities speak.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::devices::{Codec, Message};
use crate::home::EntityId;

/// A way to devices: the MQTT link, or Home Assistant's WebSocket.
pub trait Port: Send + Sync {
    /// Sends one message and resolves when the other side has taken it (PUBACK). Nothing is queued while the
    /// connection is down: that is [`SendError::Down`], at once.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>>;

    /// Whether a connection stands now.
    fn is_up(&self) -> bool;

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
