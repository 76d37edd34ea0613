//! The daemon's side of announcements: subscriptions follow them, pins are stored, producers are asked to announce.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::App;
use super::discovered::Effect;
use crate::actuate::Port;
use crate::devices::discovery::{NoQuarantine, Pins, Quarantine};
use crate::devices::registry::Arrival;
use crate::home::EntityId;
use crate::journal::Journal;
use crate::mqtt::link::{Inbound, LinkState, Publish};
use crate::mqtt::topics::check_filter;
use crate::quarantine::QuarantineFile;

/// Where the pins of announced entities are kept among the journal's memories.
const SCOPE: &str = "discovery";
const KEY: &str = "pins";

/// File of the state directory with the announcements that crashed the process.
pub(super) const QUARANTINE: &str = "quarantine";

/// How long announcements are gathered before approvals are looked at again and pins are stored.
const GATHER: Duration = Duration::from_millis(300);

/// Questions to devices that are under way at a time.
const QUESTIONS_AT_ONCE: usize = 32;

/// So many new entities at once are a burst: some of it may be lost.
const BURST: usize = 256;

/// Times that long after which the pins are stored although announcements go on.
const ROUNDS: u32 = 100;

/// What earlier runs have pinned.
pub(super) async fn stored_pins(journal: &Journal) -> Pins {
    match journal.memory(SCOPE, KEY).await {
        Ok(Some(row)) => serde_json::from_str(&row.value).unwrap_or_default(),
        Ok(None) => Pins::default(),
        Err(error) => {
            tracing::warn!(%error, "the pins of announced devices cannot be read; all are seen for the first time");
            Pins::default()
        }
    }
}

/// The marks of announcements that crashed the process; without them none is skipped.
pub(super) fn quarantine(path: &Path) -> Arc<dyn Quarantine> {
    match QuarantineFile::open(path) {
        Ok(file) => {
            for topic in file.quarantined() {
                tracing::warn!(topic, file = %path.display(), "this announcement crashed homeloop twice and is not read");
            }
            Arc::new(file)
        }
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "announcements that crash homeloop cannot be remembered");
            Arc::new(NoQuarantine)
        }
    }
}

/// When and how a message of the link came.
pub(super) fn arrival(message: &Inbound) -> Arrival {
    Arrival {
        at: message.arrival.at,
        since_boot: message.arrival.since_boot,
        retained: message.retain,
        connection: message.arrival.connection,
    }
}

impl App {
    /// Takes an announcement; `false` where the message is none, or is read by entities too.
    pub(super) fn announced(&self, message: &Inbound, port: &Arc<dyn Port>) -> bool {
        let effect = self.discovery.read(&message.topic, &message.payload, arrival(message), port);
        let consumed = effect.consumed;
        self.follow(effect);
        consumed
    }

    /// A person accepts what a suspended entity has become; says whether it was suspended.
    pub(super) fn accept_entity(&self, id: &EntityId) -> bool {
        let port: Arc<dyn Port> = Arc::new(self.link.clone());
        let effect = self.discovery.accept(id, self.now(), &port);
        let was = effect.is_some();
        self.follow(effect.unwrap_or_default());
        was
    }

    /// The present moment, as if something arrived.
    pub(super) fn now(&self) -> Arrival {
        Arrival {
            at: self.clock.now(),
            since_boot: self.clock.since_boot(),
            retained: false,
            connection: self.link.connection(),
        }
    }

    fn follow(&self, effect: Effect) {
        if !effect.unsubscribe.is_empty() {
            self.link.unsubscribe(effect.unsubscribe.iter().map(String::as_str));
        }
        // One bad topic of a device must not cost it the others.
        let legal = |filter: &String| match check_filter(filter) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "an announced topic cannot be subscribed to");
                false
            }
        };
        let wanted: Vec<String> = effect.subscribe.into_iter().filter(legal).collect();
        if !wanted.is_empty()
            && let Err(error) = self.link.subscribe(wanted)
        {
            tracing::warn!(%error, "announced topics cannot be subscribed to");
        }
        if effect.changed {
            self.announcements_changed();
        }
        if effect.changed || effect.asks {
            self.announcements.notify_one();
        }
    }

    /// After announcements: approvals that rest on another definition end, and the pins are stored.
    pub(super) async fn after_announcements(self: Arc<Self>) {
        let (mut known, mut asked) = (0, 0);
        loop {
            self.announcements.notified().await;
            // All pins are one document: in a burst it is written once, at the end, or now and then in a long one.
            for _ in 0..ROUNDS {
                tokio::time::sleep(GATHER).await;
                if let Err(error) = self.door.recheck().await {
                    tracing::error!(%error, "open approvals could not be checked after an announcement");
                }
                if tokio::time::timeout(GATHER, self.announcements.notified()).await.is_err() {
                    break;
                }
            }
            // Brokers drop retained messages of a burst that they cannot send at once: until nothing new comes, the
            // announcements are asked for again.
            let now = self.house.read().len();
            if now >= known + BURST {
                self.link.ask_again(self.discovery.subscriptions());
            }
            known = now;
            // Who keeps no state retained has said it before anybody listened to the new topics.
            if asked != self.link.connection() {
                asked = self.link.connection();
                self.greet().await;
            }
            let pins = serde_json::to_string(self.discovery.registry().pins()).unwrap_or_default();
            if let Err(error) = self.journal.remember(SCOPE, KEY, &pins, "discovery").await {
                tracing::warn!(%error, "the pins of announced devices are not stored");
            }
            // By now everything that answers come on is subscribed to. What must be kept is kept: a slow broker delays
            // only these.
            self.ask_devices(false).await;
        }
    }

    /// Asks producers to announce again and to say their states, in the way they expect.
    async fn greet(&self) {
        if !(self.discovery.is_enabled() && self.settings.discovery.birth) {
            return;
        }
        let birth = Publish::new(format!("{}/status", self.discovery.prefix()), "online");
        if let Err(error) = self.link.publish(birth).await {
            tracing::debug!(%error, "producers were not asked to announce again");
        }
    }

    /// Asks devices that keep no state retained for it: those that were not asked yet, or `anew` all of them.
    async fn ask_devices(&self, anew: bool) {
        if !self.discovery.is_enabled() {
            return;
        }
        let questions = self.discovery.registry().questions(anew);
        // Some at a time: in a large house one after the other is slow, and all at once would fill the way of commands.
        let asked = stream::iter(questions).for_each_concurrent(QUESTIONS_AT_ONCE, async |question| {
            let question = Publish::new(question.topic, question.payload);
            if let Err(error) = self.link.publish(question).await {
                tracing::debug!(%error, "a device was not asked for its state");
            }
        });
        asked.await;
    }

    /// Greets producers on every connection, and asks known devices for their states. When the first announcements of
    /// a connection are in, producers are greeted once more: see [`App::after_announcements`].
    pub(super) async fn say_birth(self: Arc<Self>) {
        let mut greeted = 0;
        while let Some(connection) = self.link.up().await {
            if connection != greeted {
                let first = greeted == 0;
                greeted = connection;
                self.greet().await;
                // On the first connection nobody is known yet whose answers could be heard.
                if !first {
                    self.ask_devices(true).await;
                }
            }
            let mut state = self.link.state();
            let down = state.wait_for(|state| !matches!(state, LinkState::Up { .. })).await;
            if down.is_err() {
                return;
            }
        }
    }
}
