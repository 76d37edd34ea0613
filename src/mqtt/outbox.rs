//! What homeloop says over MQTT: progress, results, and the approvals that wait for a person.
//!
//! Progress is best effort. A result that could not be delivered is logged and counted, and never sent later: who asked
//! over MQTT has long asked again. Approvals are state: they are retained, published again on every new connection, and
//! cleared when they are resolved, also when that happened while the broker was away.
//! The outbox publishes under our own base and to replies, never to a device.

mod approvals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::inbox::{Rejected, ReplyTo, Tell};
use super::link::{Inbound, LinkHandle, LinkState, Publish, SendError};
use super::topics::Topics;
use approvals::Approvals;

/// How long a result waits for a broker that is connected but slow.
const RESULT_WITHIN: Duration = Duration::from_secs(5);
/// Who speaks in what homeloop says in a conversation.
pub const ANSWER_ROLE: &str = "assistant";

/// Pause between two tries at a slow broker.
const RETRY: Duration = Duration::from_millis(20);

/// Publishes what the daemon has to say. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    inner: Arc<Inner>,
}

struct Inner {
    link: LinkHandle,
    topics: Topics,
    approvals: Approvals,
    counters: Counters,
    /// Publishes the approvals again on each connection; ends with the outbox.
    keeper: std::sync::Mutex<Option<JoinHandle<()>>>,
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutboxCounters {
    pub events: u64,
    /// Events that were not sent, because the link was down or the broker slow.
    pub events_lost: u64,
    pub results: u64,
    /// Results of which the broker did not acknowledge every copy.
    pub results_lost: u64,
    pub rejections: u64,
}

#[derive(Default)]
struct Counters {
    events: AtomicU64,
    events_lost: AtomicU64,
    results: AtomicU64,
    results_lost: AtomicU64,
    rejections: AtomicU64,
}

/// An approval that waits, as it is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingApproval {
    pub id: String,
    /// What a person must see, as JSON.
    pub body: Bytes,
    /// Time until it expires; the broker then drops the retained message by itself (MQTT 5).
    pub expires_in: Duration,
}

impl Outbox {
    /// Starts to publish over `link`. `waiting` are the approvals that survived a restart.
    pub fn start(link: LinkHandle, topics: Topics, waiting: Vec<WaitingApproval>) -> Self {
        let inner = Arc::new(Inner {
            link,
            topics,
            approvals: Approvals::new(waiting),
            counters: Counters::default(),
            keeper: std::sync::Mutex::default(),
        });
        let keeper = tokio::spawn(keep(Arc::downgrade(&inner), inner.link.state()));
        *inner.keeper.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(keeper);
        Self { inner }
    }

    /// Progress of a task. Not waited for; lost while the link is down.
    pub fn event(&self, task: &str, body: impl Into<Bytes>) {
        let counters = &self.inner.counters;
        counters.events.fetch_add(1, Ordering::Relaxed);
        let publish = Publish::new(self.inner.topics.task_event(task), body);
        if let Err(error) = self.inner.link.begin_publish(publish) {
            counters.events_lost.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(task, %error, "an event was not published");
        }
    }

    /// The one result of a task: on its own topic, on `<base>/result` and to whoever asked for a reply. Waits until
    /// the broker has taken all of them; the first failure is told, logged and counted.
    pub async fn result(
        &self,
        task: &str,
        body: impl Into<Bytes>,
        reply_to: Option<&ReplyTo>,
    ) -> Result<(), SendError> {
        let counters = &self.inner.counters;
        counters.results.fetch_add(1, Ordering::Relaxed);
        let body = body.into();
        let topics = &self.inner.topics;
        let mut copies = vec![
            Publish::new(topics.task_result(task), body.clone()),
            Publish::new(topics.result(), body.clone()),
        ];
        copies.extend(reply_to.map(|reply| answer(reply, body)));
        let mut outcome = Ok(());
        for copy in copies {
            let topic = copy.topic.clone();
            if let Err(error) = self.insist(copy).await {
                tracing::warn!(task, topic, %error, "a result was not delivered");
                outcome = outcome.and(Err(error));
            }
        }
        if outcome.is_err() {
            counters.results_lost.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// An answer to one message that is no result of a task, such as what became of a decision.
    pub async fn reply(&self, reply_to: &ReplyTo, body: impl Into<Bytes>) -> Result<(), SendError> {
        self.insist(answer(reply_to, body.into())).await
    }

    /// Tells a sender why its message was refused: `{"exit": "rejected", "reply": …}`, where it can be told at all.
    pub fn reject(&self, rejected: &Rejected) {
        let counters = &self.inner.counters;
        counters.rejections.fetch_add(1, Ordering::Relaxed);
        let Some(tell) = &rejected.tell else { return };
        // The role keeps a rejection in a conversation from being read as a command. The same words stand where each
        // channel has its own: `reply` of a result, `text` of a conversation, `error` of a voice site.
        let reason = rejected.reason.to_string();
        let body = serde_json::json!({
            "exit": "rejected", "reply": reason, "text": reason, "error": reason, "final": true, "role": ANSWER_ROLE,
        });
        let body = Bytes::from(body.to_string());
        let publish = match tell {
            Tell::Reply(reply) => answer(reply, body),
            Tell::Result => Publish::new(self.inner.topics.result(), body),
        };
        if let Err(error) = self.inner.link.begin_publish(publish) {
            tracing::debug!(%error, "a rejection was not told");
        }
    }

    /// Shows an approval until it is resolved, now and after every reconnect.
    pub fn show_approval(&self, approval: WaitingApproval) {
        self.inner.approvals.show(approval);
        self.inner.publish_approvals(false);
    }

    /// Clears an approval that was decided, has expired or is void.
    pub fn clear_approval(&self, id: &str) {
        self.inner.approvals.clear(id);
        self.inner.publish_approvals(false);
    }

    /// Looks at a message on `<base>/approval/<id>`: one that is retained and unknown is left from an earlier life, or
    /// somebody else's work, and is cleared. Give it what arrives on [`Topics::every_approval`].
    pub fn tidy(&self, message: &Inbound) {
        let prefix = self.inner.topics.approval("");
        let Some(id) = message.topic.strip_prefix(&prefix) else { return };
        if message.retain
            && !message.payload.is_empty()
            && !id.contains('/')
            && self.inner.approvals.is_foreign(id)
        {
            tracing::info!(id, "a retained approval that nobody waits for is cleared");
            self.clear_approval(id);
        }
    }

    pub fn counters(&self) -> OutboxCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.inner.counters;
        OutboxCounters {
            events: read(&counters.events),
            events_lost: read(&counters.events_lost),
            results: read(&counters.results),
            results_lost: read(&counters.results_lost),
            rejections: read(&counters.rejections),
        }
    }

    /// Publishes, and waits a little where the broker is slow; a link that is down is not waited for.
    async fn insist(&self, publish: Publish) -> Result<(), SendError> {
        let until = tokio::time::Instant::now() + RESULT_WITHIN;
        loop {
            match self.inner.link.begin_publish(publish.clone()) {
                Ok(receipt) => return receipt.acknowledged().await,
                Err(SendError::Full) if tokio::time::Instant::now() < until => {
                    tokio::time::sleep(RETRY).await
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Inner {
    /// Publishes what changed, or everything (`all`) to a broker that may have forgotten it.
    fn publish_approvals(&self, all: bool) {
        self.approvals.publish(all, |id, approval| {
            let topic = self.topics.approval(id);
            let publish = match approval {
                Some((body, expiry)) => {
                    Publish { expiry: Some(expiry), ..Publish::new(topic, body).retained() }
                }
                None => Publish::new(topic, Bytes::new()).retained(),
            };
            self.link.begin_publish(publish).is_ok()
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.abort();
        }
    }
}

/// Waits for connections and shows the approvals on each.
async fn keep(outbox: std::sync::Weak<Inner>, mut state: tokio::sync::watch::Receiver<LinkState>) {
    loop {
        let up = match &*state.borrow_and_update() {
            LinkState::Up { .. } => true,
            LinkState::Connecting { .. } => false,
            LinkState::Stopped => return,
        };
        if up && let Some(outbox) = outbox.upgrade() {
            outbox.publish_approvals(true);
        }
        if state.changed().await.is_err() {
            return;
        }
    }
}

fn answer(reply_to: &ReplyTo, body: Bytes) -> Publish {
    Publish { correlation: reply_to.correlation.clone(), ..Publish::new(reply_to.topic.clone(), body) }
}
