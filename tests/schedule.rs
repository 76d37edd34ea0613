//! Schedules and timers over simulated days, clock steps and restarts, and in processes that are killed.

#[path = "schedule/clocks.rs"]
mod clocks;
#[path = "schedule/crash.rs"]
mod crash;
#[path = "schedule/plans.rs"]
mod plans;
#[path = "schedule/timers.rs"]
mod timers;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, NaiveTime, Utc};
use chrono_tz::Tz;
use homeloop::clock::Clock;
use homeloop::journal::{Event, Journal};
use homeloop::schedule::{Fire, FireEvent, Firing, Late, NewSchedule, Schedule, Scheduler, When};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A scheduler on a journal of its own under simulated time, and what it told.
struct World {
    dir: TempDir,
    clock: Clock,
    zone: Tz,
    journal: Journal,
    scheduler: Scheduler,
    told: mpsc::UnboundedReceiver<FireEvent>,
}

impl World {
    async fn at(now: &str, zone: Tz) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::simulated(utc(now), 1);
        let (journal, scheduler, told) = begin(&dir, &clock, zone).await;
        Self { dir, clock, zone, journal, scheduler, told }
    }

    /// Stops everything, lets `down` pass, and starts again on the same directory.
    async fn restart(self, down: Duration) -> Self {
        let Self { dir, clock, zone, journal, scheduler, .. } = self;
        scheduler.stop().await;
        journal.close().await;
        tokio::time::sleep(down).await;
        let (journal, scheduler, told) = begin(&dir, &clock, zone).await;
        Self { dir, clock, zone, journal, scheduler, told }
    }

    async fn create(&self, when: When) -> Schedule {
        self.scheduler.create(plan(when)).await.unwrap()
    }

    async fn next(&mut self) -> FireEvent {
        self.told.recv().await.unwrap()
    }

    /// The next event, which must be a firing.
    async fn fires(&mut self) -> Firing {
        match self.next().await {
            FireEvent::Due(firing) => *firing,
            other => panic!("expected a firing, got {other:?}"),
        }
    }

    /// Nothing is told for this long.
    async fn quiet(&mut self, hours: u64) {
        let told = tokio::time::timeout(Duration::from_secs(hours * 3600), self.told.recv()).await;
        assert!(told.is_err(), "told {told:?}");
    }

    /// The kinds of the events in the journal, in order.
    async fn kinds(&self) -> Vec<String> {
        self.journal.since(0, 10_000).await.unwrap().into_iter().map(|event: Event| event.kind).collect()
    }
}

async fn begin(
    dir: &TempDir,
    clock: &Clock,
    zone: Tz,
) -> (Journal, Scheduler, mpsc::UnboundedReceiver<FireEvent>) {
    let journal = Journal::open(dir.path(), clock.clone()).unwrap();
    let (fire, told) = recorder();
    let scheduler = Scheduler::start(journal.clone(), clock.clone(), zone, fire).await.unwrap();
    (journal, scheduler, told)
}

/// Takes everything over at once and keeps it for the test.
fn recorder() -> (Fire, mpsc::UnboundedReceiver<FireEvent>) {
    let (sender, told) = mpsc::unbounded_channel();
    let fire: Fire = Arc::new(move |event| {
        let _ = sender.send(event);
        Box::pin(async {})
    });
    (fire, told)
}

fn plan(when: When) -> NewSchedule {
    NewSchedule {
        description: "open the curtains".into(),
        when,
        zone: None,
        steps: json!([{ "entity": "cover.curtain", "verb": "open" }]),
        end: None,
        gated: false,
        late: Late::Skip,
        created_by: json!({ "channel": "http", "principal": "ann" }),
        conversation: "c".into(),
        end_of: None,
    }
}

fn daily(time: &str) -> When {
    When::Daily { time: time.parse::<NaiveTime>().unwrap() }
}

fn once(at: &str) -> When {
    When::Once { at: utc(at) }
}

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}
