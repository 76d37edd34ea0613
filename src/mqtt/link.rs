//! One connection to the broker, and the promise that a link that is down is a link that refuses.
//!
//! Every connection is a fresh client: nothing that was queued, in flight or half sent survives it
//! (invariant `nothing_sent_while_down`). A publish resolves when the broker acknowledged it; if the connection breaks
//! in between it is [`SendError::Uncertain`], and never repeated here. The polling task awaits nothing but the socket.
//! The link is up when the broker has acknowledged every subscription, so that no answer to a message can be missed.
//! It does not read payloads and does not know what a message means.

mod again;
mod connection;
mod ledger;
mod problem;
mod queue;
mod settings;
mod shared;
mod subscriptions;
mod tls;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use tokio::sync::{oneshot, watch};

use crate::clock::Clock;

use super::topics::{BadTopic, check_filter, check_topic};
pub use problem::Problem;
pub use queue::{Arrivals, QueueCounters, QueueLimits};
pub use settings::{BadLinkSettings, Credentials, LinkSettings, Status, TlsSettings, Version};
use shared::Shared;

/// Time that a clean stop may take to say `offline` and to disconnect.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// A message from the broker.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    pub topic: String,
    pub payload: Bytes,
    /// Replayed by the broker after a subscription; it says nothing about the present.
    pub retain: bool,
    pub response_topic: Option<String>,
    pub correlation: Option<Bytes>,
    /// Account that the embedded broker authenticated for the publisher. Always `None` from any other broker:
    /// MQTT itself carries no publisher, and a property that anyone can set proves nothing.
    pub sender: Option<String>,
    pub arrival: Arrival,
}

/// When and on which connection a message came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    pub at: DateTime<Utc>,
    pub since_boot: Duration,
    /// See [`LinkHandle::connection`].
    pub connection: u64,
}

/// Quality of service of a publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qos {
    AtMostOnce,
    AtLeastOnce,
    ExactlyOnce,
}

/// A message to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publish {
    pub topic: String,
    pub payload: Bytes,
    pub qos: Qos,
    pub retain: bool,
    /// After this time the broker drops it instead of delivering it. MQTT 5 only; whole seconds.
    pub expiry: Option<Duration>,
    pub correlation: Option<Bytes>,
}

impl Publish {
    /// A message with QoS 1 that is not retained.
    pub fn new(topic: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self {
            topic: topic.into(),
            payload: payload.into(),
            qos: Qos::AtLeastOnce,
            retain: false,
            expiry: None,
            correlation: None,
        }
    }

    pub fn retained(mut self) -> Self {
        self.retain = true;
        self
    }
}

/// Why a publish did not happen, or may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Nothing left this machine.
    #[error("not sent: {0}")]
    Down(Problem),
    /// Nothing left this machine: too many publishes wait for the broker.
    #[error("not sent: the broker is slow and too many messages wait for it")]
    Full,
    #[error("not sent: the message has {size} bytes and the broker takes at most {max}")]
    TooLarge { size: usize, max: usize },
    #[error("not sent: {0}")]
    Topic(#[from] BadTopic),
    /// The broker took the packet and refused the message.
    #[error("the broker refused the message: {0}")]
    Refused(String),
    /// It may have been delivered or not.
    #[error("sent, but the broker did not acknowledge it")]
    Uncertain,
}

/// Where the link stands.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkState {
    /// No connection; trying again and again since then.
    Connecting { since: DateTime<Utc>, problem: Option<Problem> },
    /// Connected, and every subscription is acknowledged.
    Up { since: DateTime<Utc>, connection: u64 },
    /// Stopped for good by [`LinkHandle::stop`].
    Stopped,
}

/// A cheap handle on the link.
#[derive(Clone)]
pub struct LinkHandle {
    shared: Arc<Shared>,
}

/// A publish that was handed over and not yet acknowledged.
pub struct Receipt {
    answer: oneshot::Receiver<Result<(), SendError>>,
    within: Duration,
}

impl Receipt {
    /// Waits until the broker has taken the message. Dropping the receipt does not take the message back.
    pub async fn acknowledged(self) -> Result<(), SendError> {
        match tokio::time::timeout(self.within, self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(SendError::Uncertain),
        }
    }
}

/// The link itself: where it starts.
pub struct Link;

impl Link {
    /// Checks the settings and starts to connect, now and for ever until [`LinkHandle::stop`]. A broker that is down
    /// is waited for. `filters` are subscribed on every connection; see [`LinkHandle::subscribe`].
    pub fn start(
        settings: LinkSettings,
        clock: Clock,
        filters: impl IntoIterator<Item = String>,
    ) -> Result<(LinkHandle, Arrivals), BadLinkSettings> {
        settings.check()?;
        let (shared, arrivals) = Shared::new(settings, clock);
        let handle = LinkHandle { shared: Arc::new(shared) };
        for filter in filters {
            handle.subscribe([filter])?;
        }
        let task = tokio::spawn(connection::run(handle.shared.clone()));
        handle.shared.keep_task(task);
        Ok((handle, arrivals))
    }
}

impl LinkHandle {
    /// Publishes and waits until the broker has taken the message (PUBACK, or PUBCOMP for QoS 2; for QoS 0 until it
    /// is written to the socket). While the link is down it refuses at once, and nothing is kept for later.
    pub async fn publish(&self, publish: Publish) -> Result<(), SendError> {
        self.begin_publish(publish)?.acknowledged().await
    }

    /// Hands a message over without waiting. Messages leave in the order of these calls.
    pub fn begin_publish(&self, publish: Publish) -> Result<Receipt, SendError> {
        check_topic(&publish.topic)?;
        let answer = self.shared.hand_over(&publish)?;
        Ok(Receipt { answer, within: self.shared.settings.acknowledge_within })
    }

    /// Adds filters, now and on every later connection. A filter that is added twice must be removed twice.
    /// Its retained messages come again with each addition.
    pub fn subscribe(&self, filters: impl IntoIterator<Item = String>) -> Result<(), BadTopic> {
        let filters: Vec<_> = filters.into_iter().collect();
        filters.iter().try_for_each(|filter| check_filter(filter))?;
        self.shared.subscribe(filters);
        Ok(())
    }

    /// Asks the broker for what it has retained under filters that were added before: it may not have been able to send
    /// all of it at once.
    pub fn ask_again(&self, filters: Vec<String>) {
        self.shared.ask_again(filters);
    }

    pub fn unsubscribe<'a>(&self, filters: impl IntoIterator<Item = &'a str>) {
        self.shared.unsubscribe(filters);
    }

    /// Waits until the broker has acknowledged every filter that was added before this call. Waits for the
    /// connection too, so the caller sets a limit.
    pub async fn subscribed(&self) {
        self.shared.settled().await;
    }

    /// Filters that the broker refused on this connection, with its reason.
    pub fn refused_filters(&self) -> BTreeMap<String, String> {
        self.shared.refused_filters()
    }

    pub fn is_up(&self) -> bool {
        self.shared.is_up()
    }

    /// Number of the present or last connection: 0 before the first, one more with each.
    pub fn connection(&self) -> u64 {
        self.shared.connection()
    }

    /// The state of the link, and every change of it.
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.shared.state.subscribe()
    }

    /// Waits until the link is up; gives the number of the connection. `None` when the link was stopped.
    pub async fn up(&self) -> Option<u64> {
        let mut state = self.state();
        let reached = state.wait_for(|state| !matches!(state, LinkState::Connecting { .. })).await.ok()?;
        match &*reached {
            LinkState::Up { connection, .. } => Some(*connection),
            LinkState::Connecting { .. } | LinkState::Stopped => None,
        }
    }

    /// What was received, dropped and merged so far.
    pub fn counters(&self) -> QueueCounters {
        self.shared.queue.counters()
    }

    /// Says `offline`, disconnects and ends the task. Later publishes are refused.
    pub async fn stop(&self) {
        self.shared.stop(STOP_WITHIN).await;
    }
}

impl crate::actuate::Port for LinkHandle {
    fn send<'a>(
        &'a self,
        message: &'a crate::devices::Message,
    ) -> futures_util::future::BoxFuture<'a, Result<(), crate::actuate::SendError>> {
        Box::pin(async move {
            let publish = device_publish(message).map_err(crate::actuate::SendError::Refused)?;
            self.publish(publish).await.map_err(port_error)
        })
    }

    fn is_up(&self) -> bool {
        self.is_up()
    }

    fn connection(&self) -> u64 {
        self.connection()
    }
}

fn device_publish(message: &crate::devices::Message) -> Result<Publish, String> {
    use base64::Engine as _;
    let payload = match &message.payload_b64 {
        None => Bytes::copy_from_slice(message.payload.as_bytes()),
        Some(text) => base64::engine::general_purpose::STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|error| format!("the payload is not base64: {error}"))?,
    };
    let qos = match message.qos {
        0 => Qos::AtMostOnce,
        1 => Qos::AtLeastOnce,
        2 => Qos::ExactlyOnce,
        other => return Err(format!("QoS {other} does not exist; 0, 1 and 2 do")),
    };
    Ok(Publish { qos, ..Publish::new(message.topic.clone(), payload) })
}

fn port_error(error: SendError) -> crate::actuate::SendError {
    match error {
        SendError::Down(problem) => crate::actuate::SendError::Down(problem.to_string()),
        SendError::Uncertain => crate::actuate::SendError::Uncertain,
        SendError::Full => crate::actuate::SendError::Refused("the broker is slow".to_owned()),
        SendError::TooLarge { .. } | SendError::Topic(_) | SendError::Refused(_) => {
            crate::actuate::SendError::Refused(error.to_string())
        }
    }
}
