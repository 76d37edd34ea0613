//! Figures for Prometheus: counted from the same events that channels see, so that they cannot tell another story.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::App;
use crate::agent::{Event, TaskEvent};

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
struct ByVerdict {
    verdict: String,
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
    micro_dollars: Counter<u64, AtomicU64>,
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
            seconds: Histogram::new([0.005, 0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 90.0]),
            link_up: Gauge::default(),
            running: Gauge::default(),
            entities: Gauge::default(),
            messages: Gauge::default(),
            micro_dollars: Counter::default(),
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
        registry.register("task_seconds", "Seconds from arrival to result", self.seconds.clone());
        registry.register("link_up", "1 while the broker is connected", self.link_up.clone());
        registry.register("tasks_open", "Tasks without a result", self.running.clone());
        registry.register("entities", "Entities of the house", self.entities.clone());
        registry.register("device_messages", "Messages of devices that were read", self.messages.clone());
    }

    /// Counts one event.
    pub fn count(&self, told: &TaskEvent, seconds_since_accepted: Option<f64>) {
        match &told.event {
            Event::TurnStarted { .. } => {
                self.turns.inc();
            }
            Event::ModelSaid { usage, .. } => {
                self.tokens.inc_by(usage.input_tokens + usage.output_tokens);
                self.micro_dollars.inc_by(usage.micro_dollars);
            }
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
            | Event::ModelFailed { .. }
            | Event::Decided { .. }
            | Event::Interim { .. }
            | Event::Sending { .. }
            | Event::CallResult { .. } => {}
        }
    }

    /// The text that Prometheus reads.
    pub fn render(&self, app: &App) -> String {
        self.link_up.set(i64::from(app.link.is_up()));
        self.running.set(i64::try_from(app.queue.open()).unwrap_or(i64::MAX));
        self.entities.set(i64::try_from(app.house.read().len()).unwrap_or(i64::MAX));
        self.messages.set(i64::try_from(app.registry.counts().messages).unwrap_or(i64::MAX));
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
