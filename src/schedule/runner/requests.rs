//! What people ask of the scheduler, one request after another.

use chrono::TimeDelta;
use serde_json::json;

use super::super::plan::{NewSchedule, Schedule, State};
use super::super::scheduler::ScheduleError;
use super::super::timers::{self, NewTimer, Timer};
use super::super::when::{Refusal, When};
use super::{Request, Runner, event, timer_event};
use crate::journal::due::{ScheduleChange, ScheduleRow};
use crate::journal::{JournalError, NewEvent};

/// Active schedules at most.
const SCHEDULES: u32 = 200;

/// Running and paused timers at most.
const TIMERS: u32 = 32;

/// A stored plan at most.
const PLAN_BYTES: usize = 64 * 1024;

impl Runner {
    pub(super) async fn serve(&mut self, request: Request) {
        // A caller that is gone does not want to know.
        match request {
            Request::Create(plan, reply) => drop(reply.send(self.create(*plan).await)),
            Request::Cancel(id, reply) => drop(reply.send(self.cancel(&id).await)),
            Request::Restore(id, reply) => drop(reply.send(self.restore(&id).await)),
            Request::SetTimer(timer, reply) => drop(reply.send(self.set_timer(timer).await)),
            Request::ExtendTimer(id, seconds, reply) => {
                drop(reply.send(self.extend_timer(&id, seconds).await))
            }
            Request::PauseTimer(id, reply) => drop(reply.send(self.pause_timer(&id).await)),
            Request::ResumeTimer(id, reply) => drop(reply.send(self.resume_timer(&id).await)),
            Request::CancelTimer(id, reply) => drop(reply.send(self.cancel_timer(&id).await)),
            Request::Stop(reply) => drop(reply.send(())),
        }
    }

    async fn create(&mut self, plan: NewSchedule) -> Result<Schedule, ScheduleError> {
        let now = self.clock.now();
        let first = plan.when.first(now, plan.zone(self.zone)?)?;
        if let Some(end) = &plan.end {
            When::After { seconds: end.after_seconds }.first(now, self.zone)?;
        }
        let schedule = Schedule::begin(plan, first, &self.clock);
        let row = schedule.to_row(&self.clock)?;
        if row.spec.len() > PLAN_BYTES {
            return Err(ScheduleError::TooLarge { bytes: row.spec.len(), limit: PLAN_BYTES });
        }
        let event = event("schedule_created", &schedule, json!({ "next_fire": first }))?;
        if !self.journal.insert_schedule(row, SCHEDULES, vec![event]).await? {
            return Err(ScheduleError::TooMany { what: "schedules", limit: SCHEDULES });
        }
        self.schedules.insert(schedule.id.clone(), schedule.clone());
        Ok(schedule)
    }

    async fn cancel(&mut self, id: &str) -> Result<Schedule, ScheduleError> {
        let mut schedule = self.stored(id, State::Active, "only an active one can be cancelled").await?;
        let now = self.clock.now();
        let change = ScheduleChange {
            id: id.to_owned(),
            from: State::Active.word(),
            due: schedule.stored_due,
            to: State::Cancelled.word(),
            next_fire: schedule.stored_due,
            fires: false,
            deleted_at: Some(now),
        };
        let event = event("schedule_cancelled", &schedule, json!({}))?;
        self.change(change, vec![], event).await?;
        self.schedules.remove(id);
        (schedule.state, schedule.deleted_at) = (State::Cancelled, Some(now));
        Ok(schedule)
    }

    async fn restore(&mut self, id: &str) -> Result<Schedule, ScheduleError> {
        let mut schedule = self.stored(id, State::Cancelled, "only a cancelled one can be restored").await?;
        let now = self.clock.now();
        let zone = schedule.plan.zone(self.zone)?;
        let next = if schedule.plan.when.is_elapsed() {
            schedule.left(&self.clock).filter(|left| *left > TimeDelta::zero()).and(schedule.stored_due)
        } else {
            schedule.plan.when.next(self.base(&schedule), schedule.created_at, zone)
        };
        let over = schedule.stored_due.unwrap_or(now);
        let next = next.ok_or(Refusal::Past { at: over, now })?;
        let change = ScheduleChange {
            id: id.to_owned(),
            from: State::Cancelled.word(),
            due: schedule.stored_due,
            to: State::Active.word(),
            next_fire: Some(next),
            fires: false,
            deleted_at: None,
        };
        let event = event("schedule_restored", &schedule, json!({ "next_fire": next }))?;
        self.change(change, vec![], event).await?;
        (schedule.state, schedule.deleted_at) = (State::Active, None);
        if !schedule.plan.when.is_elapsed() {
            (schedule.stored_due, schedule.next_fire) = (Some(next), Some(next));
        }
        self.schedules.insert(id.to_owned(), schedule.clone());
        Ok(schedule)
    }

    async fn stored(
        &self,
        id: &str,
        state: State,
        expected: &'static str,
    ) -> Result<Schedule, ScheduleError> {
        let row = self.journal.schedule(id).await?;
        let row = row.ok_or_else(|| ScheduleError::Unknown { what: "schedule", id: id.to_owned() })?;
        let schedule = Schedule::from_row(&row, &self.clock)?;
        if schedule.state != state {
            return Err(ScheduleError::WrongState {
                id: id.to_owned(),
                state: schedule.state.word(),
                expected,
            });
        }
        Ok(schedule)
    }

    /// One change with its event; that it cannot be made means that another program wrote to the database.
    pub(super) async fn change(
        &self,
        change: ScheduleChange,
        follow: Vec<ScheduleRow>,
        event: NewEvent,
    ) -> Result<(), ScheduleError> {
        let id = change.id.clone();
        if self.journal.change_schedule(change, follow, vec![event]).await? {
            Ok(())
        } else {
            // This task alone changes schedules, so only another program can have done it.
            Err(JournalError::Invalid(format!("schedule {id} was changed by somebody else")).into())
        }
    }

    async fn set_timer(&mut self, new: NewTimer) -> Result<Timer, ScheduleError> {
        check_length(i64::try_from(new.seconds).unwrap_or(i64::MAX))?;
        let timer = Timer::begin(new, &self.clock);
        let row = timer.to_row(timers::RUNNING, &self.clock);
        let event = timer_event("timer_set", &timer)?;
        if !self.journal.insert_timer(row, TIMERS, vec![event]).await? {
            return Err(ScheduleError::TooMany { what: "timers", limit: TIMERS });
        }
        self.timers.insert(timer.id.clone(), timer.clone());
        Ok(timer)
    }

    async fn extend_timer(&mut self, id: &str, seconds: i64) -> Result<Timer, ScheduleError> {
        let timer = self.running(id)?;
        let extended = timer.extended(seconds, &self.clock);
        check_length(extended.left_millis.div_euclid(1000))?;
        self.replace_timer(&timer, extended, "timer_extended").await
    }

    /// One that is paused already stays as it is.
    async fn pause_timer(&mut self, id: &str) -> Result<Timer, ScheduleError> {
        let timer = self.running(id)?;
        if timer.paused {
            return Ok(timer.at(&self.clock));
        }
        self.replace_timer(&timer, timer.paused(&self.clock), "timer_paused").await
    }

    /// One that runs already goes on as it does.
    async fn resume_timer(&mut self, id: &str) -> Result<Timer, ScheduleError> {
        let timer = self.running(id)?;
        if !timer.paused {
            return Ok(timer.at(&self.clock));
        }
        self.replace_timer(&timer, timer.resumed(&self.clock), "timer_resumed").await
    }

    async fn replace_timer(&mut self, from: &Timer, to: Timer, kind: &str) -> Result<Timer, ScheduleError> {
        self.move_timer(from, &to, timers::RUNNING, kind).await?;
        self.timers.insert(to.id.clone(), to.clone());
        Ok(to)
    }

    async fn cancel_timer(&mut self, id: &str) -> Result<Timer, ScheduleError> {
        let timer = self.running(id)?;
        self.move_timer(&timer, &timer, timers::CANCELLED, "timer_cancelled").await?;
        self.timers.remove(id);
        Ok(timer.at(&self.clock))
    }

    fn running(&self, id: &str) -> Result<Timer, ScheduleError> {
        let timer = self.timers.get(id).cloned();
        timer.ok_or_else(|| ScheduleError::Unknown { what: "timer", id: id.to_owned() })
    }

    pub(super) async fn move_timer(
        &self,
        from: &Timer,
        to: &Timer,
        state: &str,
        kind: &str,
    ) -> Result<(), ScheduleError> {
        let row = to.to_row(state, &self.clock);
        let event = timer_event(kind, to)?;
        if self.journal.change_timer(timers::RUNNING, from.stored_due, row, vec![event]).await? {
            Ok(())
        } else {
            Err(JournalError::Invalid(format!("timer {} was changed by somebody else", from.id)).into())
        }
    }
}

fn check_length(seconds: i64) -> Result<(), ScheduleError> {
    let longest = timers::LONGEST.as_secs();
    if seconds < 1 || seconds.unsigned_abs() > longest {
        return Err(ScheduleError::BadTimer { seconds, longest });
    }
    Ok(())
}
