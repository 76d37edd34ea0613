//! The handle: schedules and timers are made, listed, explained, cancelled and restored through it.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};

use super::local::{self, Note};
use super::plan::{FireEvent, NewSchedule, Schedule, State};
use super::runner::{Request, Runner};
use super::timers::{NewTimer, RUNNING, Timer};
use super::when::Refusal;
use crate::clock::Clock;
use crate::journal::{Journal, JournalError};

/// Takes over what is due. The future ends when nothing is lost by a crash any more, for example when the task that
/// runs the steps is in the journal; until then the firing counts as interrupted.
pub type Fire = Arc<dyn Fn(FireEvent) -> BoxFuture<'static, ()> + Send + Sync>;

/// Requests that wait for the scheduler.
const QUEUE: usize = 64;

/// Why the scheduler did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("there is no {what} {id:?}")]
    Unknown { what: &'static str, id: String },
    #[error("the schedule {id:?} is {state}; {expected}")]
    WrongState { id: String, state: &'static str, expected: &'static str },
    #[error("there are {limit} {what} already, the most")]
    TooMany { what: &'static str, limit: u32 },
    #[error("a plan has at most {limit} bytes; this one has {bytes}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("a timer of {seconds} s; expected 1 s to {longest} s")]
    BadTimer { seconds: i64, longest: u64 },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the scheduler could not start: {0}")]
    Start(String),
    #[error("the scheduler has stopped")]
    Stopped,
}

/// A handle on the scheduler; cheap to clone. It stops when [`Scheduler::stop`] is called or every handle is gone.
#[derive(Clone)]
pub struct Scheduler {
    requests: mpsc::Sender<Request>,
    journal: Journal,
    clock: Clock,
    zone: Tz,
    waiting: watch::Receiver<Waiting>,
}

/// How much waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    pub schedules: usize,
    pub timers: usize,
}

/// When a schedule fires, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    pub schedule: Schedule,
    pub zone: String,
    /// The next firings, at most three.
    pub next: Vec<Occurrence>,
}

/// One firing to come.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Occurrence {
    pub at: DateTime<Utc>,
    /// What the clock shows then, with the offset: `2027-03-28T03:00:00+02:00`.
    pub local: String,
    /// What the change of the clocks does to it.
    pub notes: Vec<Note>,
}

impl Scheduler {
    /// Reads what is stored, tells what was interrupted or missed, and goes on from there.
    pub async fn start(journal: Journal, clock: Clock, zone: Tz, fire: Fire) -> Result<Self, ScheduleError> {
        let (requests, queue) = mpsc::channel(QUEUE);
        let (count, waiting) = watch::channel(Waiting::default());
        let runner = Runner::load(journal.clone(), clock.clone(), zone, fire, count).await?;
        tokio::spawn(runner.run(queue));
        Ok(Self { requests, journal, clock, zone, waiting })
    }

    /// Makes a schedule; it is on disk when this returns.
    pub async fn create(&self, plan: NewSchedule) -> Result<Schedule, ScheduleError> {
        self.ask(|reply| Request::Create(Box::new(plan), reply)).await
    }

    /// Cancels a schedule; [`Scheduler::restore`] undoes that for a day. The end of a firing is a schedule of its own
    /// and stays.
    pub async fn cancel(&self, id: &str) -> Result<Schedule, ScheduleError> {
        self.ask(|reply| Request::Cancel(id.to_owned(), reply)).await
    }

    /// Takes back a cancellation. Refused when its only time is over.
    pub async fn restore(&self, id: &str) -> Result<Schedule, ScheduleError> {
        self.ask(|reply| Request::Restore(id.to_owned(), reply)).await
    }

    /// Schedules of one state, or of all, in the order in which they were made.
    pub async fn list(&self, state: Option<State>) -> Result<Vec<Schedule>, ScheduleError> {
        let rows = self.journal.schedules(state.map(State::word)).await?;
        Ok(rows.iter().map(|row| Schedule::from_row(row, &self.clock)).collect::<Result<_, _>>()?)
    }

    pub async fn get(&self, id: &str) -> Result<Schedule, ScheduleError> {
        let row = self.journal.schedule(id).await?;
        let row = row.ok_or_else(|| ScheduleError::Unknown { what: "schedule", id: id.to_owned() })?;
        Ok(Schedule::from_row(&row, &self.clock)?)
    }

    /// The next firings of a schedule, with what the calendar does to them.
    pub fn explain(&self, schedule: Schedule) -> Result<Explanation, ScheduleError> {
        explain(schedule, self.zone)
    }

    /// Sets a timer; it is on disk when this returns.
    pub async fn set_timer(&self, timer: NewTimer) -> Result<Timer, ScheduleError> {
        self.ask(|reply| Request::SetTimer(timer, reply)).await
    }

    /// Makes a timer longer, or shorter where `seconds` is negative. At least a second must be left.
    pub async fn extend_timer(&self, id: &str, seconds: i64) -> Result<Timer, ScheduleError> {
        self.ask(|reply| Request::ExtendTimer(id.to_owned(), seconds, reply)).await
    }

    /// Stops a timer's time; [`Scheduler::resume_timer`] lets it go on. One that is paused already stays so.
    pub async fn pause_timer(&self, id: &str) -> Result<Timer, ScheduleError> {
        self.ask(|reply| Request::PauseTimer(id.to_owned(), reply)).await
    }

    /// Lets a paused timer go on with what was left. One that runs goes on as it does.
    pub async fn resume_timer(&self, id: &str) -> Result<Timer, ScheduleError> {
        self.ask(|reply| Request::ResumeTimer(id.to_owned(), reply)).await
    }

    pub async fn cancel_timer(&self, id: &str) -> Result<Timer, ScheduleError> {
        self.ask(|reply| Request::CancelTimer(id.to_owned(), reply)).await
    }

    /// The timers that run or are paused, with how long is left.
    pub async fn timers(&self) -> Result<Vec<Timer>, ScheduleError> {
        let rows = self.journal.timers(RUNNING).await?;
        Ok(rows.into_iter().map(|row| Timer::from_row(row, &self.clock)).collect::<Result<_, _>>()?)
    }

    /// How much waits for its time now.
    pub fn waiting(&self) -> Waiting {
        *self.waiting.borrow()
    }

    /// Stops; what is stored goes on at the next start. Firings that were handed over are not waited for.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.requests.send(Request::Stop(reply)).await.is_ok() {
            let _ = done.await;
        }
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, ScheduleError>>) -> Request,
    ) -> Result<T, ScheduleError> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| ScheduleError::Stopped)?;
        answer.await.unwrap_or(Err(ScheduleError::Stopped))
    }
}

fn explain(schedule: Schedule, default: Tz) -> Result<Explanation, ScheduleError> {
    let zone = schedule.plan.zone(default)?;
    let mut next = Vec::new();
    let mut at = schedule.next_fire;
    while let Some(due) = at
        && next.len() < 3
    {
        let shown = due.with_timezone(&zone);
        next.push(Occurrence { at: due, local: shown.to_rfc3339(), notes: notes(&schedule, due, zone) });
        at = schedule
            .plan
            .when
            .next(due, schedule.created_at, zone)
            .filter(|_| !schedule.plan.when.is_elapsed());
    }
    Ok(Explanation { zone: zone.to_string(), next, schedule })
}

/// What the change of the clocks does to a firing at a clock time.
fn notes(schedule: &Schedule, due: DateTime<Utc>, zone: Tz) -> Vec<Note> {
    let Some(time) = schedule.plan.when.clock_time() else { return Vec::new() };
    // A time that is skipped fires later, at most on the next day.
    let day = due.with_timezone(&zone).date_naive();
    [day, (day.and_time(time) - TimeDelta::days(1)).date()]
        .into_iter()
        .map(|day| local::instant(day.and_time(time), zone))
        .find(|resolved| resolved.at == due)
        .map(|resolved| resolved.notes)
        .unwrap_or_default()
}
