//! Retained messages on disk: written behind the broker's back, in batches, and given back at the next start.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mqtt5::QoS;
use mqtt5::broker::router::MessageRouter;
use mqtt5::broker::{BrokerEventHandler, RetainedSetEvent};
use mqtt5::packet::publish::PublishPacket;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Changes are gathered this long, so that a chatty sensor costs one write and not hundreds. A power cut loses at most
/// this much.
const GATHER: Duration = Duration::from_secs(2);
/// Pause after the store failed.
const RETRY: Duration = Duration::from_secs(10);

/// A retained message as it is kept. Properties of MQTT 5 are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retained {
    pub topic: String,
    pub payload: Bytes,
    /// 0, 1 or 2.
    pub qos: u8,
}

pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// Where retained messages are kept. Called from a thread that may block; a batch is best one transaction.
pub trait RetainedStore: Send + Sync + 'static {
    fn load(&self) -> Result<Vec<Retained>, StoreError>;
    /// Inserts or replaces by topic.
    fn save(&self, messages: &[Retained]) -> Result<(), StoreError>;
    /// Forgets topics; an unknown one is no error.
    fn remove(&self, topics: &[String]) -> Result<(), StoreError>;
}

/// A store that lives as long as the process: for the demo, and for brokers that need not remember.
#[derive(Debug, Default)]
pub struct MemoryStore {
    messages: Mutex<HashMap<String, Retained>>,
}

impl RetainedStore for MemoryStore {
    fn load(&self) -> Result<Vec<Retained>, StoreError> {
        Ok(self.messages.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect())
    }

    fn save(&self, messages: &[Retained]) -> Result<(), StoreError> {
        let mut kept = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(messages.iter().map(|message| (message.topic.clone(), message.clone())));
        Ok(())
    }

    fn remove(&self, topics: &[String]) -> Result<(), StoreError> {
        let mut kept = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        topics.iter().for_each(|topic| {
            kept.remove(topic);
        });
        Ok(())
    }
}

/// Puts what was kept into a broker that does not run yet.
pub(super) async fn restore(router: &MessageRouter, store: Arc<dyn RetainedStore>) -> Result<(), StoreError> {
    let messages = tokio::task::spawn_blocking(move || store.load()).await??;
    let count = messages.len();
    for message in messages {
        let qos = match message.qos {
            0 => QoS::AtMostOnce,
            1 => QoS::AtLeastOnce,
            _ => QoS::ExactlyOnce,
        };
        let mut publish = PublishPacket::new(message.topic, message.payload, qos);
        publish.retain = true;
        router.route_message(&publish, None).await;
    }
    tracing::debug!(count, "retained messages restored");
    Ok(())
}

/// The writer between the broker and the store.
pub(super) struct WriteBehind {
    changes: Arc<Changes>,
    task: JoinHandle<()>,
}

/// What has changed since the last write: the last word on each topic, `None` for a cleared one. No larger than the
/// broker's own set of retained messages.
struct Changes {
    store: Arc<dyn RetainedStore>,
    /// Before this, what is "set" is only being restored.
    listening: AtomicBool,
    ending: AtomicBool,
    pending: Mutex<HashMap<Arc<str>, Option<Retained>>>,
    wake: Notify,
}

impl WriteBehind {
    pub(super) fn new(store: Arc<dyn RetainedStore>) -> Self {
        let changes = Arc::new(Changes {
            store,
            listening: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            pending: Mutex::default(),
            wake: Notify::new(),
        });
        let task = tokio::spawn(write_behind(changes.clone()));
        Self { changes, task }
    }

    pub(super) fn handler(&self) -> Arc<dyn BrokerEventHandler> {
        self.changes.clone()
    }

    /// Everything that is retained from now on is written.
    pub(super) fn begin(&self) {
        self.changes.listening.store(true, Ordering::Release);
    }

    /// Writes what is left and ends.
    pub(super) async fn finish(self) {
        self.changes.ending.store(true, Ordering::Release);
        self.changes.wake.notify_one();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the writer of retained messages failed");
        }
    }
}

impl BrokerEventHandler for Changes {
    fn on_retained_set<'a>(
        &'a self,
        event: RetainedSetEvent,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        if self.listening.load(Ordering::Acquire) {
            let message = (!event.cleared).then(|| Retained {
                topic: event.topic.to_string(),
                payload: event.payload,
                qos: event.qos as u8,
            });
            self.pending.lock().unwrap_or_else(PoisonError::into_inner).insert(event.topic, message);
            self.wake.notify_one();
        }
        Box::pin(std::future::ready(()))
    }
}

async fn write_behind(changes: Arc<Changes>) {
    let mut failed = false;
    loop {
        let ending = changes.ending.load(Ordering::Acquire);
        if !ending {
            changes.wake.notified().await;
            gather(&changes, if failed { RETRY } else { GATHER }).await;
        }
        let batch = std::mem::take(&mut *changes.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if !batch.is_empty() {
            failed = !write(&changes, batch).await;
        }
        if ending {
            return;
        }
    }
}

/// Waits for more changes, but not when the broker ends.
async fn gather(changes: &Changes, time: Duration) {
    let until = tokio::time::Instant::now() + time;
    while !changes.ending.load(Ordering::Acquire) {
        if tokio::time::timeout_at(until, changes.wake.notified()).await.is_err() {
            return;
        }
    }
}

/// Writes a batch. What could not be written waits for the next one, unless it has changed again.
async fn write(changes: &Changes, batch: HashMap<Arc<str>, Option<Retained>>) -> bool {
    let saved: Vec<Retained> = batch.values().flatten().cloned().collect();
    let removed: Vec<String> =
        batch.iter().filter(|(_, message)| message.is_none()).map(|(topic, _)| topic.to_string()).collect();
    let store = changes.store.clone();
    let written =
        tokio::task::spawn_blocking(move || store.save(&saved).and_then(|()| store.remove(&removed))).await;
    let error: StoreError = match written {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => error,
        Err(error) => error.into(),
    };
    tracing::error!(%error, messages = batch.len(), "retained messages could not be written; trying again");
    let mut pending = changes.pending.lock().unwrap_or_else(PoisonError::into_inner);
    for (topic, message) in batch {
        pending.entry(topic).or_insert(message);
    }
    drop(pending);
    changes.wake.notify_one();
    false
}
