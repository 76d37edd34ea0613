//! Figures for Prometheus: counted from the same events that channels see, so that they cannot tell another story.
//! No label holds a name, an id or a text of the house.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::App;
use crate::agent::{Event, TaskEvent};
use crate::journal::Health as JournalHealth;
use crate::model::Usage;
use crate::model::breaker::BreakerState;
use crate::model::router::ModelState;
use crate::schedule::FireEvent;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByExit {
    exit: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    domain: String,
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByFate {
    fate: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByVerdict {
    verdict: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByWhat {
    what: String,
}

/// Seconds between two events of a task: for devices, models and people.
const BOUNDS: [f64; 9] = [0.005, 0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 90.0];

/// What a task waits for, to measure how long. Ended with the task at the latest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Wait {
    Model,
    Device { call: String, entity: String },
    Person { approval: String },
}

/// Since when each task waits for what.
type Waits = HashMap<String, HashMap<Wait, DateTime<Utc>>>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByModel {
    model: String,
}

/// Counters of the daemon.
pub struct Metrics {
    registry: Registry,
    tasks: Family<ByExit, Counter>,
    outcomes: Family<ByOutcome, Counter>,
    approvals_asked: Counter,
    approvals_ended: Family<ByVerdict, Counter>,
    turns: Counter,
    tokens: Counter,
    seconds: Histogram,
    link_up: Gauge,
    running: Gauge,
    entities: Gauge,
    messages: Gauge<i64>,
    own_messages: Family<ByFate, Gauge<i64>>,
    micro_dollars: Counter<u64, AtomicU64>,
    waits: Mutex<Waits>,
    model_seconds: Histogram,
    confirm_seconds: Histogram,
    approval_seconds: Histogram,
    link_connections: Gauge<i64>,
    link_dropped: Gauge<i64>,
    schedules_due: Family<ByWhat, Counter>,
    schedules: Gauge,
    timers: Gauge,
    journal_good: Gauge,
    turns_by_model: Family<ByModel, Counter>,
    model_up: Family<ByModel, Gauge>,
    model_failures: Family<ByModel, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("homeloop"),
            tasks: Family::default(),
            outcomes: Family::default(),
            approvals_asked: Counter::default(),
            approvals_ended: Family::default(),
            turns: Counter::default(),
            tokens: Counter::default(),
            seconds: Histogram::new(BOUNDS),
            link_up: Gauge::default(),
            running: Gauge::default(),
            entities: Gauge::default(),
            messages: Gauge::default(),
            own_messages: Family::default(),
            micro_dollars: Counter::default(),
            waits: Mutex::default(),
            model_seconds: Histogram::new(BOUNDS),
            confirm_seconds: Histogram::new(BOUNDS),
            approval_seconds: Histogram::new(BOUNDS),
            link_connections: Gauge::default(),
            link_dropped: Gauge::default(),
            schedules_due: Family::default(),
            schedules: Gauge::default(),
            timers: Gauge::default(),
            journal_good: Gauge::default(),
            turns_by_model: Family::default(),
            model_up: Family::default(),
            model_failures: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("tasks", "Tasks by how they ended", self.tasks.clone());
        registry.register("outcomes", "Outcomes by domain and class", self.outcomes.clone());
        registry.register("approvals_asked", "Questions to people", self.approvals_asked.clone());
        registry.register(
            "approvals_ended",
            "Questions to people by how they ended",
            self.approvals_ended.clone(),
        );
        registry.register("turns", "Turns asked of models", self.turns.clone());
        registry.register("tokens", "Input and output tokens", self.tokens.clone());
        registry.register("micro_dollars", "Millionths of a US dollar spent", self.micro_dollars.clone());
        registry.register("model_turns", "Turns answered, by model", self.turns_by_model.clone());
        registry.register("model_up", "0 while a model is paused after failures", self.model_up.clone());
        registry.register("model_failures_in_a_row", "Failures in a row", self.model_failures.clone());
        registry.register("task_seconds", "Seconds from arrival to result", self.seconds.clone());
        registry.register("link_up", "1 while the broker is connected", self.link_up.clone());
        registry.register("tasks_open", "Tasks without a result", self.running.clone());
        registry.register("entities", "Entities of the house", self.entities.clone());
        registry.register(
            "own_messages",
            "Commands, stops and decisions over MQTT by what became of them",
            self.own_messages.clone(),
        );
        registry.register("device_messages", "Messages of devices that were read", self.messages.clone());
        self.register_waits();
        self.register_upkeep();
    }

    fn register_waits(&mut self) {
        let registry = &mut self.registry;
        registry.register("model_seconds", "Seconds that a turn of a model took", self.model_seconds.clone());
        registry.register(
            "confirm_seconds",
            "Seconds from the send to what the house said",
            self.confirm_seconds.clone(),
        );
        registry.register(
            "approval_seconds",
            "Seconds until a question to a person ended",
            self.approval_seconds.clone(),
        );
    }

    fn register_upkeep(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "link_connections",
            "Connections to the broker so far",
            self.link_connections.clone(),
        );
        registry.register(
            "link_dropped",
            "Messages of the broker that were dropped or merged because they came too fast",
            self.link_dropped.clone(),
        );
        registry.register("schedules_due", "What was due, by what became of it", self.schedules_due.clone());
        registry.register("schedules_active", "Schedules that wait for their time", self.schedules.clone());
        registry.register("timers_running", "Timers that run or are paused", self.timers.clone());
        registry.register("journal_good", "1 while the journal can be relied on", self.journal_good.clone());
    }

    /// Counts what the scheduler handed over.
    pub fn due(&self, event: &FireEvent) {
        let what = match event {
            FireEvent::Due(_) => "fired",
            FireEvent::Skipped { .. } => "skipped",
            FireEvent::Interrupted { .. } => "interrupted",
            FireEvent::Rings { .. } => "rang",
            FireEvent::MissedRing { .. } => "missed_ring",
        };
        self.schedules_due.get_or_create(&ByWhat { what: what.to_owned() }).inc();
    }

    /// Measures what a task waits for, from the events that begin and end each wait.
    fn measure(&self, told: &TaskEvent) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let device =
            |call: &str, entity: &str| Wait::Device { call: call.to_owned(), entity: entity.to_owned() };
        let (wait, histogram) = match &told.event {
            Event::TurnStarted { .. } => {
                waits.entry(told.task.clone()).or_default().insert(Wait::Model, told.at);
                return;
            }
            Event::Sending { call, entity, .. } => {
                let wait = device(call, entity.as_str());
                waits.entry(told.task.clone()).or_default().insert(wait, told.at);
                return;
            }
            Event::ApprovalAsked { approval, .. } => {
                let wait = Wait::Person { approval: approval.clone() };
                waits.entry(told.task.clone()).or_default().insert(wait, told.at);
                return;
            }
            Event::ModelSaid { .. } | Event::ModelFailed { .. } => (Wait::Model, &self.model_seconds),
            Event::Outcome { call, entry } => {
                (device(call, entry.action.entity.as_str()), &self.confirm_seconds)
            }
            Event::ApprovalEnded { approval, .. } => {
                (Wait::Person { approval: approval.clone() }, &self.approval_seconds)
            }
            Event::Finished { .. } => {
                waits.remove(&told.task);
                return;
            }
            Event::Accepted { .. }
            | Event::Called { .. }
            | Event::Decided { .. }
            | Event::Interim { .. }
            | Event::CallResult { .. } => return,
        };
        if let Some(since) = waits.get_mut(&told.task).and_then(|waits| waits.remove(&wait)) {
            histogram.observe((told.at - since).as_seconds_f64().max(0.0));
        }
    }

    /// Counts one event.
    pub fn count(&self, told: &TaskEvent, seconds_since_accepted: Option<f64>) {
        self.measure(told);
        match &told.event {
            Event::TurnStarted { .. } => {
                self.turns.inc();
            }
            Event::ModelSaid { usage, model, .. } => {
                self.pay(usage);
                if let Some(model) = model.clone() {
                    self.turns_by_model.get_or_create(&ByModel { model }).inc();
                }
            }
            Event::ModelFailed { usage, .. } => self.pay(usage),
            Event::ApprovalAsked { .. } => {
                self.approvals_asked.inc();
            }
            Event::ApprovalEnded { verdict, .. } => {
                self.approvals_ended.get_or_create(&ByVerdict { verdict: word(verdict) }).inc();
            }
            Event::Outcome { entry, .. } => {
                let domain = entry.action.entity.domain().word().to_owned();
                self.outcomes.get_or_create(&ByOutcome { domain, outcome: word(&entry.outcome) }).inc();
            }
            Event::Finished { exit, .. } => {
                self.tasks.get_or_create(&ByExit { exit: word(exit) }).inc();
                if let Some(seconds) = seconds_since_accepted {
                    self.seconds.observe(seconds);
                }
            }
            Event::Accepted { .. }
            | Event::Called { .. }
            | Event::Decided { .. }
            | Event::Interim { .. }
            | Event::Sending { .. }
            | Event::CallResult { .. } => {}
        }
    }

    fn pay(&self, usage: &Usage) {
        self.tokens.inc_by(usage.input_tokens + usage.output_tokens);
        self.micro_dollars.inc_by(usage.micro_dollars);
    }

    fn look_at_models(&self, states: Vec<ModelState>) {
        for ModelState { name, breaker } in states {
            let (up, failures) = match breaker {
                BreakerState::Closed { failures_in_a_row } => (1, i64::from(failures_in_a_row)),
                BreakerState::Open { .. } | BreakerState::HalfOpen => (0, 0),
            };
            let model = ByModel { model: name };
            self.model_up.get_or_create(&model).set(up);
            self.model_failures.get_or_create(&model).set(failures);
        }
    }

    /// The text that Prometheus reads.
    pub fn render(&self, app: &App) -> String {
        self.link_up.set(i64::from(app.link.is_up()));
        self.running.set(i64::try_from(app.queue.open()).unwrap_or(i64::MAX));
        self.entities.set(i64::try_from(app.house.read().len()).unwrap_or(i64::MAX));
        self.messages.set(i64::try_from(app.registry.counts().messages).unwrap_or(i64::MAX));
        self.link_connections.set(i64::try_from(app.link.connection()).unwrap_or(i64::MAX));
        let counters = app.link.counters();
        self.link_dropped.set(i64::try_from(counters.dropped + counters.merged).unwrap_or(i64::MAX));
        let waiting = app.scheduler.waiting();
        self.schedules.set(i64::try_from(waiting.schedules).unwrap_or(i64::MAX));
        self.timers.set(i64::try_from(waiting.timers).unwrap_or(i64::MAX));
        self.journal_good.set(i64::from(app.journal.health() == JournalHealth::Good));
        self.look_at_models(app.models.states());
        let own = app.inbox.counters();
        for (fate, count) in [
            ("accepted", own.accepted),
            ("retained", own.retained),
            ("stale", own.stale),
            ("oversized", own.oversized),
            ("malformed", own.malformed),
            ("duplicate", own.duplicate),
            ("disbelieved", own.disbelieved),
        ] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.own_messages.get_or_create(&ByFate { fate: fate.to_owned() }).set(count);
        }
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => format!("# the figures could not be written: {error}\n"),
        }
    }
}

/// The word under which an enum is written everywhere else.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => "unknown".into(),
    }
}
