//! The composition root: builds the daemon from its settings, starts it, watches over it, and ends it in order.
//!
//! Nothing here decides about actions. What each channel does with a command is in the file of its name.

mod approvers;
mod broker;
mod build;
pub mod discovered;
mod discovery;
mod foreign;
mod grants;
mod hass;
pub mod history;
mod household;
mod mcp;
mod metrics;
mod mind;
mod mqtt;
mod own_device;
mod reload;
pub mod replay;
mod retained;
mod safe_mode;
mod schedules;
mod secrets;
mod service;
mod silence;
pub mod simulation;
mod started;
mod views;
mod voice;
mod why;
mod wyoming;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::actuate::{Door, NotRecorded, Port, Record};
use crate::agent::Queue;
use crate::clock::Clock;
use crate::devices::registry::Registry;
use crate::home::{Action, EntityId, SharedHouse};
use crate::http::tokens::TokenStore;
use crate::journal::{Journal, JournalError};
use crate::model::Router;
use crate::mqtt::broker::EmbeddedBroker;
use crate::mqtt::inbox::Inbox;
use crate::mqtt::link::{LinkHandle, LinkState, Publish};
use crate::mqtt::outbox::Outbox;
use crate::mqtt::topics::Topics;
use crate::schedule::Scheduler;
use crate::settings::Settings;

pub use broker::broker_link;
pub use build::{BuildError, Setup};
pub use hass::connection as hass_connection;
use household::Keeper;
use metrics::Metrics;
use mqtt::Replies;
use started::Started;

/// Pause between two cuts of the journal.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Time in which running tasks must report when the daemon stops.
const DRAIN: Duration = Duration::from_secs(8);

/// The running daemon.
pub struct App {
    settings: Settings,
    clock: Clock,
    house: SharedHouse,
    registry: Arc<Registry<dyn Port>>,
    discovery: Arc<discovered::Discovered>,
    /// Told when announcements changed the house.
    announcements: tokio::sync::Notify,
    /// The entities that the home file gives, as it was last read.
    home_ids: Mutex<BTreeSet<EntityId>>,
    own_device: own_device::OwnDevice,
    hass: OnceLock<crate::hass::Hass>,
    link: LinkHandle,
    topics: Topics,
    inbox: Inbox,
    outbox: Outbox,
    replies: Replies,
    started: Started,
    queue: Arc<Queue>,
    models: Router,
    door: Arc<Door>,
    journal: Journal,
    scheduler: Arc<Scheduler>,
    household: Arc<Keeper>,
    metrics: Metrics,
    /// Places for recorded utterances.
    listening: Arc<tokio::sync::Semaphore>,
    tokens: Arc<TokenStore>,
    approvers: approvers::Approvers,
    secrets: Arc<secrets::SecretStore>,
    broker: Mutex<Option<EmbeddedBroker>>,
    broker_address: Option<SocketAddr>,
    http_address: Mutex<Option<SocketAddr>>,
    wyoming_address: Mutex<Option<SocketAddr>>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl App {
    /// Where the HTTP server listens.
    pub fn http_address(&self) -> Option<SocketAddr> {
        *self.http_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the embedded broker listens, if there is one.
    pub fn broker_address(&self) -> Option<SocketAddr> {
        self.broker_address
    }

    pub fn house(&self) -> &SharedHouse {
        &self.house
    }

    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    pub fn door(&self) -> &Arc<Door> {
        &self.door
    }

    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    pub fn link(&self) -> &LinkHandle {
        &self.link
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Why commands cannot be served now, in short words; empty when all is well.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.stopping.is_cancelled() {
            problems.push("stopping".into());
        }
        match &*self.link.state().borrow() {
            LinkState::Up { .. } => {}
            LinkState::Connecting { .. } | LinkState::Stopped => problems.push("broker_down".into()),
        }
        if self.own_device.paused() {
            problems.push("paused".into());
        }
        problems.extend(safe_mode::word(&self.journal.health()).map(str::to_owned));
        problems
    }

    /// Stops every task and every mover that was started, without any model. Returns the ids of the tasks.
    async fn stop_everything(&self) -> Vec<String> {
        self.stop_others("").await
    }

    /// The same, but for the task that says so.
    async fn stop_others(&self, but: &str) -> Vec<String> {
        let stopped = self.queue.stop_others(but);
        let record = HouseRecord { journal: self.journal.clone() };
        for entry in self.door.stop_movers(&record).await {
            tracing::info!(entity = %entry.action.entity, outcome = ?entry.outcome, "a mover was stopped");
        }
        stopped
    }

    /// Publishes a text for the speakers of the house, or of one area; says whether it left.
    fn announce(&self, text: &str, area: Option<&str>) -> bool {
        let topic = format!("{}/announcement", self.topics.base());
        let body = serde_json::json!({"text": text, "area": area}).to_string();
        let published = self.link.begin_publish(Publish::new(topic, body));
        if let Err(error) = &published {
            tracing::warn!(%error, "an announcement was not published");
        }
        published.is_ok()
    }

    /// Cuts the journal off at the age that settings give, at start and once a day.
    async fn keep_the_journal_short(self: Arc<Self>) {
        let days = i64::from(self.settings.journal.retention_days);
        if days == 0 {
            return;
        }
        loop {
            match self.journal.cut(self.clock.now() - chrono::TimeDelta::days(days)).await {
                Ok(cut) if cut.events > 0 => {
                    tracing::info!(events = cut.events, "old events were cut off the journal")
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "the journal could not be cut"),
            }
            tokio::time::sleep(DAY).await;
        }
    }

    /// Ends in order: no new commands, running tasks report, schedules and channels end, the journal is closed.
    pub async fn stop(&self) {
        // First the scheduler: what is due from now on waits for the next start.
        self.scheduler.stop().await;
        self.queue.drain(DRAIN).await;
        // Results of the last tasks are still on their way out.
        self.tasks.close();
        self.stopping.cancel();
        if tokio::time::timeout(Duration::from_secs(3), self.tasks.wait()).await.is_err() {
            tracing::warn!("some channels did not end in time");
        }
        self.link.stop().await;
        let broker = self.broker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(broker) = broker {
            broker.stop().await;
        }
        self.journal.close().await;
        tracing::info!("stopped");
    }
}

/// Where the door writes intentions that belong to no task: the stop of movers.
struct HouseRecord {
    journal: Journal,
}

impl Record for HouseRecord {
    fn sending<'a>(
        &'a self,
        action: &'a Action,
        plan_hash: &'a str,
        gated: bool,
    ) -> futures_util::future::BoxFuture<'a, Result<(), NotRecorded>> {
        Box::pin(async move {
            let body = serde_json::json!({"action": action, "plan_hash": plan_hash, "gated": gated});
            let written: Result<(), JournalError> = async {
                let event =
                    crate::journal::NewEvent::of_house("stop", &body)?.about([action.entity.as_str()]);
                self.journal.append(event, crate::journal::Durability::Normal).await.map(|_| ())
            }
            .await;
            written.map_err(|error| NotRecorded(error.to_string()))
        })
    }
}
