//! The one task that knows what is due: it alone changes schedules and timers, one thing after another.

mod firing;
mod requests;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::UNDO;
use super::alarm::Alarm;
use super::plan::{NewSchedule, Schedule, State, boottime};
use super::scheduler::{Fire, ScheduleError, Waiting};
use super::timers::{self, NewTimer, Timer};
use crate::clock::Clock;
use crate::journal::due::ScheduleChange;
use crate::journal::{Durability, Journal, JournalError, NewEvent};

/// How often the clocks are compared; bounds how long a step of the wall clock goes unseen.
const TICK: Duration = Duration::from_secs(10);

/// A step of the wall clock that makes every calendar time be computed anew.
const STEP: TimeDelta = TimeDelta::seconds(60);

/// A difference from which the alarm is set anew.
const DRIFT: TimeDelta = TimeDelta::seconds(1);

/// Two settings of the alarm that are the same: elapsed time is read in whole milliseconds.
const SAME: TimeDelta = TimeDelta::milliseconds(20);

/// The alarm rings at least this often, and is set again.
const LONGEST_WAIT: TimeDelta = TimeDelta::days(1);

/// A last firing further ahead than this was made by a clock that was wrong, and counts no more.
const WRONG_CLOCK: TimeDelta = TimeDelta::hours(25);

/// How long schedules that are over are kept.
const OVER: TimeDelta = TimeDelta::days(30);

type Reply<T> = oneshot::Sender<Result<T, ScheduleError>>;

pub(super) enum Request {
    Create(Box<NewSchedule>, Reply<Schedule>),
    Cancel(String, Reply<Schedule>),
    Restore(String, Reply<Schedule>),
    SetTimer(NewTimer, Reply<Timer>),
    ExtendTimer(String, i64, Reply<Timer>),
    PauseTimer(String, Reply<Timer>),
    ResumeTimer(String, Reply<Timer>),
    CancelTimer(String, Reply<Timer>),
    Stop(oneshot::Sender<()>),
}

pub(super) struct Runner {
    journal: Journal,
    clock: Clock,
    zone: Tz,
    fire: Fire,
    alarm: Alarm,
    /// What the alarm is set to, by the wall clock.
    armed: Option<DateTime<Utc>>,
    schedules: BTreeMap<String, Schedule>,
    timers: BTreeMap<String, Timer>,
    count: watch::Sender<Waiting>,
    seen: Seen,
    purged: Instant,
}

/// The clocks as they were last compared.
struct Seen {
    wall: DateTime<Utc>,
    /// Milliseconds since boot, suspend included.
    boot: i64,
    /// Does not count while the machine is suspended.
    awake: Instant,
}

impl Seen {
    fn now(clock: &Clock) -> Self {
        Self { wall: clock.now(), boot: boottime(clock), awake: Instant::now() }
    }
}

impl Runner {
    pub(super) async fn load(
        journal: Journal,
        clock: Clock,
        zone: Tz,
        fire: Fire,
        count: watch::Sender<Waiting>,
    ) -> Result<Self, ScheduleError> {
        let alarm = Alarm::new(&clock).await.map_err(|error| ScheduleError::Start(error.to_string()))?;
        let mut runner = Self {
            seen: Seen::now(&clock),
            purged: Instant::now(),
            journal,
            clock,
            zone,
            fire,
            alarm,
            armed: None,
            schedules: BTreeMap::new(),
            timers: BTreeMap::new(),
            count,
        };
        // One row that cannot be read must not keep the others from firing.
        for row in runner.journal.schedules(None).await? {
            let schedule = match Schedule::from_row(&row, &runner.clock) {
                Ok(schedule) => schedule,
                Err(error) => {
                    tracing::error!(%error, "a schedule cannot be read and will not fire");
                    continue;
                }
            };
            if let Some(due) = row.firing {
                runner.interrupted(&schedule, due).await?;
            }
            if schedule.state == State::Active {
                runner.schedules.insert(schedule.id.clone(), schedule);
            }
        }
        for row in runner.journal.timers(timers::RUNNING).await? {
            match Timer::from_row(row, &runner.clock) {
                Ok(timer) => drop(runner.timers.insert(timer.id.clone(), timer)),
                Err(error) => tracing::error!(%error, "a timer cannot be read and will not ring"),
            }
        }
        Ok(runner)
    }

    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let stopped = loop {
            self.watch_clock().await;
            self.run_due().await;
            self.purge().await;
            self.arm().await;
            let waiting = Waiting { schedules: self.schedules.len(), timers: self.timers.len() };
            self.count.send_if_modified(|known| std::mem::replace(known, waiting) != waiting);
            tokio::select! {
                request = requests.recv() => match request {
                    Some(Request::Stop(reply)) => break Some(reply),
                    Some(request) => self.serve(request).await,
                    None => break None,
                },
                () = self.alarm.rung() => self.armed = None,
                _ = tick.tick() => {}
            }
        };
        self.alarm.stop().await;
        if let Some(reply) = stopped {
            let _ = reply.send(());
        }
    }

    /// Compares the clocks. After a step of the wall clock every calendar time to come is computed anew.
    async fn watch_clock(&mut self) {
        let now = Seen::now(&self.clock);
        let wall = now.wall - self.seen.wall;
        let stepped = wall - TimeDelta::milliseconds(now.boot - self.seen.boot);
        let awake = TimeDelta::from_std(now.awake - self.seen.awake).unwrap_or_default();
        if (wall - awake).abs() > DRIFT {
            self.armed = None;
        }
        self.seen = now;
        if stepped.abs() > STEP {
            tracing::warn!(seconds = stepped.num_seconds(), "the wall clock was stepped");
            if let Err(error) = self.recompute(stepped).await {
                tracing::error!(%error, "schedules could not be moved after a step of the clock");
            }
        }
    }

    async fn recompute(&mut self, stepped: TimeDelta) -> Result<(), ScheduleError> {
        let now = self.clock.now();
        let body = json!({ "seconds": stepped.num_seconds() });
        self.journal.append(NewEvent::of_house("clock_stepped", &body)?, Durability::Normal).await?;
        for schedule in self.schedules.values().cloned().collect::<Vec<_>>() {
            let Some(due) = schedule.stored_due.filter(|due| *due > now) else { continue };
            if schedule.plan.when.is_elapsed() {
                continue;
            }
            let zone = schedule.plan.zone(self.zone)?;
            let next = schedule.plan.when.next(self.base(&schedule), schedule.created_at, zone);
            if next.is_none() || next == Some(due) {
                continue;
            }
            let change = ScheduleChange {
                id: schedule.id.clone(),
                from: State::Active.word(),
                due: Some(due),
                to: State::Active.word(),
                next_fire: next,
                fires: false,
                deleted_at: None,
            };
            let event = event("schedule_moved", &schedule, json!({ "due": due, "next_fire": next }))?;
            self.change(change, vec![], event).await?;
            let moved = Schedule { stored_due: next, next_fire: next, ..schedule };
            self.schedules.insert(moved.id.clone(), moved);
        }
        Ok(())
    }

    /// After which instant the next firing is looked for: no due time that has fired comes again.
    fn base(&self, schedule: &Schedule) -> DateTime<Utc> {
        let now = self.clock.now();
        schedule.last_fired.filter(|fired| *fired < now + WRONG_CLOCK).map_or(now, |fired| fired.max(now))
    }

    /// Sets the alarm to what is due first. What is over and could not be recorded waits for the next tick.
    async fn arm(&mut self) {
        let schedules = self.schedules.values().filter_map(|schedule| schedule.left(&self.clock));
        let timers = self.timers.values().filter_map(|timer| timer.rings_in(&self.clock));
        let first = schedules.chain(timers).filter(|left| *left > TimeDelta::zero()).min();
        let due = first.map(|left| self.clock.now() + left);
        match (due, self.armed) {
            (None, None) => return,
            (Some(due), Some(armed)) if (due - armed).abs() <= SAME => return,
            (Some(_), _) | (None, Some(_)) => {}
        }
        let wait = first.and_then(|left| left.min(LONGEST_WAIT).to_std().ok());
        match self.alarm.set(wait).await {
            Ok(()) => self.armed = due,
            // The tick finds what is due all the same, within ten seconds.
            Err(error) => tracing::error!(%error, "the alarm could not be set"),
        }
    }

    /// Forgets what was cancelled a day ago or is long over; once an hour.
    async fn purge(&mut self) {
        if self.purged.elapsed() < Duration::from_secs(3600) {
            return;
        }
        self.purged = Instant::now();
        let now = self.clock.now();
        let undo = now - TimeDelta::from_std(UNDO).unwrap_or_default();
        if let Err(error) = self.journal.purge_due(undo, now - OVER, timers::RUNNING).await {
            tracing::warn!(%error, "old schedules could not be removed");
        }
    }
}

fn event(kind: &str, schedule: &Schedule, mut more: serde_json::Value) -> Result<NewEvent, JournalError> {
    if let Some(body) = more.as_object_mut() {
        body.insert("schedule".to_owned(), json!(schedule.id));
        body.insert("description".to_owned(), json!(schedule.plan.description));
        body.insert("when".to_owned(), json!(schedule.plan.when));
        body.insert("created_by".to_owned(), schedule.plan.created_by.clone());
    }
    NewEvent::of_house(kind, &more)
}

fn timer_event(kind: &str, timer: &Timer) -> Result<NewEvent, JournalError> {
    let body = json!({
        "timer": timer.id, "label": timer.label, "seconds": timer.seconds, "due": timer.due, "origin": timer.origin,
    });
    NewEvent::of_house(kind, &body)
}
