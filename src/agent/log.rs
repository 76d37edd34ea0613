//! One task's events: to the journal first, then into the folded state, then to everyone who listens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::sync::broadcast;

use super::event::{CallId, Event};
use super::state::TaskState;
use crate::actuate::{NotRecorded, Record};
use crate::clock::Clock;
use crate::home::Action;
use crate::journal::{Durability, Health, Journal, JournalError, NewEvent};

/// An event as channels see it.
#[derive(Debug, Clone, Serialize)]
pub struct TaskEvent {
    pub task: String,
    /// Counts the events of the task from 0.
    pub number: u64,
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub event: Event,
}

/// Events of all tasks, for channels. A reader that lags behind is told how much it lost.
pub type Bus = broadcast::Sender<Arc<TaskEvent>>;

/// The record of one running task.
pub struct TaskLog {
    pub task: String,
    journal: Journal,
    bus: Bus,
    clock: Clock,
    /// Decisions are made one after the other: each sees what those before it allowed.
    pub deciding: tokio::sync::Mutex<()>,
    inner: Mutex<Inner>,
}

struct Inner {
    state: TaskState,
    number: u64,
    worked: Duration,
}

impl TaskLog {
    pub fn new(task: String, journal: Journal, bus: Bus, clock: Clock) -> Self {
        let inner = Inner { state: TaskState::default(), number: 0, worked: Duration::ZERO };
        Self { task, journal, bus, clock, deciding: Default::default(), inner: Mutex::new(inner) }
    }

    /// Goes on with a task from the events that the journal holds.
    pub fn resume(task: String, events: &[Event], journal: Journal, bus: Bus, clock: Clock) -> Self {
        let log = Self::new(task, journal, bus, clock);
        {
            let mut inner = log.lock();
            inner.state = TaskState::fold(events);
            inner.number = u64::try_from(events.len()).unwrap_or(u64::MAX);
        }
        log
    }

    /// Appends an event. Whoever reads the bus or the state sees it only once the journal has it.
    pub async fn append(&self, event: Event) -> Result<(), JournalError> {
        let row = NewEvent::of_task(&self.task, event.kind(), &event)?.about(event.entities());
        let row = if matches!(event, Event::Finished { .. }) { row.ends_task() } else { row };
        let durability = if event.must_be_on_disk() { Durability::Synced } else { Durability::Normal };
        self.journal.append(row, durability).await?;
        self.take(event);
        Ok(())
    }

    /// Takes an event into the state and tells the listeners, without the journal: for events that the door has
    /// written itself, and for the last word of a task whose journal is broken.
    pub fn take(&self, event: Event) {
        let told = {
            let mut inner = self.lock();
            inner.state.apply(&event);
            let number = inner.number;
            inner.number += 1;
            TaskEvent { task: self.task.clone(), number, at: self.clock.now(), event }
        };
        // Nobody listening is no fault.
        let _ = self.bus.send(Arc::new(told));
    }

    /// A look at the folded state.
    pub fn with_state<T>(&self, look: impl FnOnce(&TaskState) -> T) -> T {
        look(&self.lock().state)
    }

    /// Time spent in model turns and tools, without waiting for people and devices.
    pub fn worked(&self) -> Duration {
        self.lock().worked
    }

    pub fn add_work(&self, time: Duration) {
        self.lock().worked += time;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record for TaskLogOf<'_> {
    fn sending<'a>(
        &'a self,
        action: &'a Action,
        plan_hash: &'a str,
        gated: bool,
    ) -> BoxFuture<'a, Result<(), NotRecorded>> {
        let event = Event::Sending {
            call: self.call.clone(),
            entity: action.entity.clone(),
            plan_hash: plan_hash.to_owned(),
            action: action.clone(),
            gated,
        };
        Box::pin(async move {
            // In memory the event would be taken, and nobody could ever read it.
            if let Health::SafeMode(why) = self.log.journal.health() {
                return Err(NotRecorded(why));
            }
            self.log.append(event).await.map_err(|error| NotRecorded(error.to_string()))
        })
    }
}

/// The record of one call of a task: where the door writes its intentions.
pub struct TaskLogOf<'l> {
    pub log: &'l TaskLog,
    pub call: CallId,
}
