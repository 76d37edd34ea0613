//! What the handles and the polling task share. The lock is held for a few instructions and never over an await.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

use crate::clock::Clock;

use super::ledger::Ledger;
use super::problem::Problem;
use super::queue::{Arrivals, Queue};
use super::settings::{LinkSettings, Status};
use super::subscriptions::Subscriptions;
use super::wire::{Poller, Requests};
use super::{LinkState, Publish, SendError};

/// Bytes of a PUBLISH beside topic and payload: header, packet id and the properties that we send.
const PACKET_OVERHEAD: usize = 32;

pub(super) struct Shared {
    pub(super) settings: LinkSettings,
    pub(super) clock: Clock,
    pub(super) queue: Arc<Queue>,
    pub(super) state: watch::Sender<LinkState>,
    /// Told when the link is to stop: ends waiting and connecting at once.
    pub(super) stop: Notify,
    inner: Mutex<Inner>,
    up: AtomicBool,
    connection: AtomicU64,
    stopping: AtomicBool,
    settled: Notify,
}

struct Inner {
    /// The client of the present connection; `None` while there is none.
    requests: Option<Requests>,
    /// Why there is none.
    problem: Problem,
    max_outgoing: Option<usize>,
    ledger: Ledger,
    subscriptions: Subscriptions,
    task: Option<JoinHandle<()>>,
}

impl Shared {
    pub(super) fn new(settings: LinkSettings, clock: Clock) -> (Self, Arrivals) {
        let (queue, arrivals) = Queue::new(settings.queue.clone());
        let (state, _) = watch::channel(LinkState::Connecting { since: clock.now(), problem: None });
        let inner = Inner {
            requests: None,
            problem: Problem::NotYet,
            max_outgoing: None,
            ledger: Ledger::default(),
            subscriptions: Subscriptions::new(settings.queue.keep_under.clone()),
            task: None,
        };
        let shared = Self {
            settings,
            clock,
            queue,
            state,
            stop: Notify::new(),
            inner: Mutex::new(inner),
            up: AtomicBool::new(false),
            connection: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            settled: Notify::new(),
        };
        (shared, arrivals)
    }

    /// Gives a publish to the client of an up link.
    pub(super) fn hand_over(
        &self,
        publish: &Publish,
    ) -> Result<oneshot::Receiver<Result<(), SendError>>, SendError> {
        let mut inner = self.lock();
        if !self.is_up() {
            return Err(SendError::Down(inner.problem.clone()));
        }
        inner.hand_over(publish)
    }

    /// A client has connected: everything is to be subscribed, and `online` to be said.
    pub(super) fn connected(&self, requests: Requests, max_outgoing: Option<usize>) -> u64 {
        let mut inner = self.lock();
        inner.max_outgoing = max_outgoing;
        inner.requests = Some(requests);
        inner.subscriptions.begin();
        inner.pump();
        if let Some(status) = &self.settings.status
            && let Err(error) =
                inner.hand_over(&Publish::new(status.topic.clone(), Status::ONLINE).retained())
        {
            tracing::warn!(%error, "the status could not be published");
        }
        self.connection.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Every subscription stands: the link is up.
    pub(super) fn announce_up(&self, connection: u64) {
        self.up.store(true, Ordering::Release);
        tracing::info!(connection, broker = %self.settings.host, "the broker is connected");
        self.state.send_replace(LinkState::Up { since: self.clock.now(), connection });
    }

    /// The connection is over. After this nothing can be handed over, so the client's leftovers can be counted.
    pub(super) fn disconnected(&self, poller: &mut Poller, problem: &Problem) {
        let mut inner = self.lock();
        self.up.store(false, Ordering::Release);
        inner.requests = None;
        inner.problem = problem.clone();
        let unsent = poller.close();
        inner.ledger.close(unsent, problem);
        drop(inner);
        self.say_down(problem);
    }

    /// Tells why there is no connection; the time since when is that of the first failure.
    pub(super) fn say_down(&self, problem: &Problem) {
        self.lock().problem = problem.clone();
        let now = self.clock.now();
        self.state.send_modify(|state| {
            let since = match state {
                LinkState::Connecting { since, .. } => *since,
                LinkState::Up { .. } | LinkState::Stopped => now,
            };
            *state = LinkState::Connecting { since, problem: Some(problem.clone()) };
        });
    }

    pub(super) fn wrote(&self, packet: u16) {
        self.lock().ledger.wrote(packet);
    }

    pub(super) fn acknowledged(&self, packet: u16, refused: Option<String>) {
        self.lock().ledger.acknowledged(packet, refused);
    }

    /// The broker answered a batch of filters; says whether all is settled now.
    pub(super) fn filters_acknowledged(&self, answers: Vec<Option<String>>) -> bool {
        let mut inner = self.lock();
        inner.subscriptions.acknowledged(answers);
        inner.pump();
        self.tell_settled(&inner)
    }

    /// Messages were lost to a slow reader, who is done now: what the broker has retained is fetched again.
    pub(super) fn fetch_again(&self) {
        tracing::warn!(counters = ?self.queue.counters(), "messages were dropped; what is retained is asked for again");
        let mut inner = self.lock();
        inner.subscriptions.again();
        inner.pump();
    }

    /// Asks for what is retained under these filters once more.
    pub(super) fn ask_again(&self, filters: Vec<String>) {
        let mut inner = self.lock();
        if inner.requests.is_some() {
            inner.subscriptions.once_more(filters);
            inner.pump();
        }
    }

    /// Tries again what the client would not take before; says whether all is settled.
    pub(super) fn pump(&self) -> bool {
        let mut inner = self.lock();
        inner.pump();
        self.tell_settled(&inner)
    }

    pub(super) fn subscribe(&self, filters: Vec<String>) {
        let mut inner = self.lock();
        let connected = inner.requests.is_some();
        inner.subscriptions.add(filters, connected);
        inner.pump();
    }

    pub(super) fn unsubscribe<'a>(&self, filters: impl IntoIterator<Item = &'a str>) {
        let mut inner = self.lock();
        let connected = inner.requests.is_some();
        inner.subscriptions.remove(filters, connected);
        inner.pump();
    }

    pub(super) async fn settled(&self) {
        loop {
            let told = self.settled.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            {
                let inner = self.lock();
                if inner.requests.is_some() && inner.subscriptions.settled() {
                    return;
                }
            }
            told.await;
        }
    }

    pub(super) fn refused_filters(&self) -> BTreeMap<String, String> {
        self.lock().subscriptions.refused()
    }

    pub(super) fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection.load(Ordering::Acquire)
    }

    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(super) fn keep_task(&self, task: JoinHandle<()>) {
        self.lock().task = Some(task);
    }

    /// Says `offline`, disconnects, and waits for the task; then ends it.
    pub(super) async fn stop(&self, within: Duration) {
        self.stopping.store(true, Ordering::Release);
        let task = self.lock().task.take();
        let goodbye = async {
            if let Some(status) = &self.settings.status {
                let offline = Publish::new(status.topic.clone(), Status::OFFLINE).retained();
                let answer = self.lock().hand_over(&offline);
                if let Ok(answer) = answer {
                    // Acknowledged or not, we go.
                    let _ = answer.await;
                }
            }
            let asked = self.lock().requests.as_ref().is_some_and(Requests::try_disconnect);
            if !asked {
                self.stop.notify_one();
            }
        };
        let deadline = tokio::time::Instant::now() + within;
        if tokio::time::timeout_at(deadline, goodbye).await.is_err() {
            tracing::warn!("the broker did not take our goodbye in time");
        }
        if let Some(mut task) = task
            && tokio::time::timeout_at(deadline, &mut task).await.is_err()
        {
            task.abort();
        }
        self.up.store(false, Ordering::Release);
        self.lock().problem = Problem::Stopped;
        self.state.send_replace(LinkState::Stopped);
        self.queue.close();
    }

    fn tell_settled(&self, inner: &Inner) -> bool {
        let settled = inner.subscriptions.settled();
        if settled {
            self.settled.notify_waiters();
        }
        settled
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn hand_over(
        &mut self,
        publish: &Publish,
    ) -> Result<oneshot::Receiver<Result<(), SendError>>, SendError> {
        let Some(requests) = &self.requests else { return Err(SendError::Down(self.problem.clone())) };
        let size = publish.topic.len()
            + publish.payload.len()
            + publish.correlation.as_ref().map_or(0, |data| data.len())
            + PACKET_OVERHEAD;
        // The client would break the connection over it.
        if let Some(max) = self.max_outgoing
            && size > max
        {
            return Err(SendError::TooLarge { size, max });
        }
        if !requests.try_publish(publish) {
            return Err(SendError::Full);
        }
        let (answer, waiting) = oneshot::channel();
        self.ledger.add(publish.qos, answer);
        Ok(waiting)
    }

    fn pump(&mut self) {
        if let Some(requests) = &self.requests {
            self.subscriptions.pump(requests);
        }
    }
}
