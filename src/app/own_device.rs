//! homeloop's own device in Home Assistant: what it shows, published whenever it changes, and again whenever Home
//! Assistant or the broker may have forgotten it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::App;
use super::views;
use crate::agent::{Event, TaskEvent};
use crate::journal::Journal;
use crate::model::Usage;
use crate::mqtt::announce::{self, LONGEST_STATE};
use crate::mqtt::link::{Inbound, LinkState, Publish};
use crate::policy::{Approval, ApprovalState};

/// Where it is kept among the journal's memories that homeloop is paused.
const SCOPE: &str = "daemon";
const PAUSED: &str = "paused";
/// Approvals that are shown at once. More do not fit a glance, and Home Assistant's attributes are limited.
const SHOWN: usize = 10;
/// Tasks that are looked through at the start for what was spent today.
const LOOKED_THROUGH: u32 = 1000;

/// What other parts tell the keeper of the device.
#[derive(Default)]
pub struct OwnDevice {
    /// Home Assistant has started: it may know nothing.
    birth: Notify,
    changed: Notify,
    paused: AtomicBool,
}

impl OwnDevice {
    /// With the pause of the last run.
    pub async fn recall(journal: &Journal) -> Self {
        let paused = match journal.memory(SCOPE, PAUSED).await {
            Ok(row) => row.is_some_and(|row| row.value == "true"),
            Err(error) => {
                tracing::warn!(%error, "whether homeloop was paused cannot be read; it is not");
                false
            }
        };
        Self { paused: AtomicBool::new(paused), ..Self::default() }
    }

    /// Something that the device shows has changed.
    pub fn tell_changed(&self) {
        self.changed.notify_one();
    }

    pub fn paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }
}

/// What the device shows besides what the daemon knows anyway.
#[derive(Default)]
struct Shown {
    last: Last,
    today: Today,
    /// What was published last, to say nothing twice.
    told: Option<Value>,
}

/// The last command that ended.
#[derive(Default, Serialize)]
struct Last {
    text: Option<String>,
    reply: Option<String>,
    command: Value,
    result: Value,
}

/// What was spent since local midnight.
#[derive(Default)]
struct Today {
    day: NaiveDate,
    tokens: u64,
    micro_dollars: u64,
}

impl Today {
    fn add(&mut self, day: NaiveDate, usage: &Usage) {
        if self.day != day {
            *self = Self { day, ..Self::default() };
        }
        self.tokens += usage.input_tokens + usage.output_tokens;
        self.micro_dollars += usage.micro_dollars;
    }
}

impl App {
    /// Whether `message` is Home Assistant's birth; the device is then published again.
    pub(super) fn is_birth(&self, message: &Inbound) -> bool {
        let birth = message.topic.strip_prefix(self.settings.discovery.prefix.as_str()) == Some("/status");
        if birth && message.payload == b"online"[..] {
            self.own_device.birth.notify_one();
        }
        birth
    }

    /// Takes no commands, or takes them again. What runs goes on; stopping and approvals work as always.
    pub(super) async fn pause(&self, paused: bool, by: &str) {
        self.own_device.paused.store(paused, Ordering::Relaxed);
        self.queue.pause(paused);
        tracing::info!(paused, by, "pause");
        if let Err(error) = self.journal.remember(SCOPE, PAUSED, &paused.to_string(), by).await {
            tracing::warn!(%error, "a restart will forget whether homeloop is paused");
        }
        self.own_device.changed.notify_one();
    }

    /// Keeps the device up to date until the daemon ends.
    pub(super) async fn keep_own_device(
        self: Arc<Self>,
        mut events: Receiver<Arc<TaskEvent>>,
        mut approvals: Receiver<Approval>,
    ) {
        if !self.settings.discovery.announce {
            return self.withdraw().await;
        }
        let mut shown = Shown { today: self.spent_today().await, ..Shown::default() };
        let mut link = self.link.state();
        let mut journal = self.journal.health_changes();
        self.introduce(&mut shown).await;
        self.show(&mut shown).await;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => {
                        if !self.note(&event, &mut shown).await {
                            continue;
                        }
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                approval = approvals.recv() => match approval {
                    Ok(approval) => self.tell_approval(&approval).await,
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                () = self.own_device.birth.notified() => self.introduce(&mut shown).await,
                () = self.own_device.changed.notified() => {}
                changed = journal.changed() => if changed.is_err() { return },
                changed = link.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let up = matches!(&*link.borrow_and_update(), LinkState::Up { .. });
                    if !up {
                        continue;
                    }
                    self.introduce(&mut shown).await;
                }
            }
            self.show(&mut shown).await;
        }
    }

    /// Takes the device out of Home Assistant, on every connection: it may be left from an earlier run.
    async fn withdraw(&self) {
        let topic = announce::topic(&self.settings.discovery.prefix, &self.settings.home.id);
        let mut link = self.link.state();
        while self.link.up().await.is_some() {
            self.say(Publish::new(topic.clone(), "").retained()).await;
            if link.wait_for(|state| !matches!(state, LinkState::Up { .. })).await.is_err() {
                return;
            }
        }
    }

    /// Publishes the device itself and everything that it shows.
    async fn introduce(&self, shown: &mut Shown) {
        let home = &self.settings.home.id;
        let message = announce::message(&self.topics, home).to_string();
        let topic = announce::topic(&self.settings.discovery.prefix, home);
        self.say(Publish::new(topic, message).retained()).await;
        shown.told = None;
    }

    /// Publishes what the device shows, where it is not what was published last.
    async fn show(&self, shown: &mut Shown) {
        let state = self.state_of_device(shown).await;
        if shown.told.as_ref() == Some(&state) {
            return;
        }
        if self.say(Publish::new(self.topics.device_state(), state.to_string()).retained()).await {
            shown.told = Some(state);
        }
    }

    async fn say(&self, publish: Publish) -> bool {
        let topic = publish.topic.clone();
        match self.link.publish(publish).await {
            Ok(_) => true,
            Err(error) => {
                tracing::debug!(topic, %error, "our own device was not brought up to date");
                false
            }
        }
    }

    async fn state_of_device(&self, shown: &mut Shown) -> Value {
        shown.today.add(self.today(), &Usage::default());
        let problems = self.problems();
        let paused = self.own_device.paused();
        let status = match (paused, problems.is_empty()) {
            (true, _) => "paused",
            (false, true) => "ready",
            (false, false) => "not_ready",
        };
        let approvals = match self.door.pending().await {
            Ok(pending) => pending.iter().take(SHOWN).map(|one| self.approval_facts(one)).collect(),
            Err(error) => {
                tracing::warn!(%error, "the waiting approvals cannot be read");
                Vec::new()
            }
        };
        json!({
            "status": status, "problems": problems, "paused": paused, "approvals": approvals,
            "last": shown.last, "home_assistant": self.hass_facts(), "version": env!("CARGO_PKG_VERSION"),
            "today": {
                "tokens": shown.today.tokens, "dollars": shown.today.micro_dollars as f64 / 1e6,
                "since": self.midnight(shown.today.day),
            },
        })
    }

    /// Who wants what, and what a person must compare before deciding.
    fn approval_facts(&self, approval: &Approval) -> Value {
        let house = self.house.read();
        let view = views::approval(approval, &self.settings.home.language, &house, &self.clock);
        let what: Vec<String> =
            view.targets.iter().map(|target| format!("{}: {}", target.name, target.verb)).collect();
        json!({
            "approval_id": view.approval_id, "plan_hash": view.plan_hash, "match_code": view.match_code,
            "who": view.requested_by, "what": what.join(", "), "said": view.utterance,
            "warnings": view.warnings, "expires_at": view.expires_at,
        })
    }

    async fn tell_approval(&self, approval: &Approval) {
        let kind = match approval.state {
            ApprovalState::Pending => "asked",
            ApprovalState::Approved => "approved",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Cancelled => "cancelled",
            ApprovalState::Invalidated => "invalidated",
            // Being carried out, and done: the result of the task tells that.
            ApprovalState::Executing
            | ApprovalState::Uncertain
            | ApprovalState::DoneConfirmed
            | ApprovalState::DoneUnconfirmed
            | ApprovalState::Failed => return,
        };
        let mut body = self.approval_facts(approval);
        body["event_type"] = json!(kind);
        self.say(Publish::new(self.topics.device_event(), body.to_string())).await;
    }

    /// Takes a task's end in; says whether there is something new to show.
    async fn note(&self, event: &TaskEvent, shown: &mut Shown) -> bool {
        let Event::Finished { exit, reply, ledger, usage } = &event.event else { return false };
        shown.today.add(self.today(), usage);
        let command = match self.journal.events(&event.task).await {
            Ok(rows) => rows.first().and_then(|row| match row.parse::<Event>() {
                Ok(Event::Accepted { command }) => Some(command),
                Ok(_) | Err(_) => None,
            }),
            Err(_) => None,
        };
        let outcomes: Vec<Value> = ledger
            .iter()
            .map(|entry| json!({"entity": entry.action.entity, "action": entry.action.verb, "outcome": entry.outcome}))
            .collect();
        shown.last = Last {
            text: command.as_ref().map(|command| cut(&command.text)),
            reply: Some(cut(reply)),
            command: json!({
                "by": command.as_ref().map(|command| command.origin.name.clone()), "task": event.task,
                "at": command.as_ref().map(|command| command.at),
            }),
            result: json!({"exit": exit, "reply": reply, "outcomes": outcomes, "at": event.at}),
        };
        true
    }

    /// What was spent since midnight before this start.
    async fn spent_today(&self) -> Today {
        let mut today = Today { day: self.today(), ..Today::default() };
        let Ok(rows) = self.journal.tasks(LOOKED_THROUGH, false).await else { return today };
        for row in rows {
            let ended = row.closed_at.map(|at| self.day_of(at));
            if ended != Some(today.day) {
                continue;
            }
            let Ok(events) = self.journal.events(&row.id).await else { continue };
            if let Some(Ok(Event::Finished { usage, .. })) = events.last().map(|row| row.parse::<Event>()) {
                today.add(today.day, &usage);
            }
        }
        today
    }

    fn today(&self) -> NaiveDate {
        self.day_of(self.clock.now())
    }

    fn day_of(&self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.household.zone).date_naive()
    }

    fn midnight(&self, day: NaiveDate) -> Option<DateTime<Utc>> {
        let local = day.and_time(chrono::NaiveTime::MIN).and_local_timezone(self.household.zone);
        local.earliest().map(|at| at.with_timezone(&Utc))
    }
}

/// A text as a state of Home Assistant.
fn cut(text: &str) -> String {
    text.chars().take(LONGEST_STATE).collect()
}
