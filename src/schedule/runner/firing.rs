//! What happens when something is due: committed first, handed over then.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::super::MISSED_AFTER;
use super::super::plan::{FireEvent, Firing, Misfire, Schedule, State};
use super::super::scheduler::ScheduleError;
use super::super::timers::{self, Timer};
use super::{Runner, event};
use crate::journal::due::ScheduleChange;

impl Runner {
    /// A firing that was committed and never taken over: told once, not repeated.
    pub(super) async fn interrupted(
        &self,
        schedule: &Schedule,
        due: DateTime<Utc>,
    ) -> Result<(), ScheduleError> {
        let event = event("schedule_interrupted", schedule, json!({ "due": due }))?;
        if self.journal.end_firing(&schedule.id, due, vec![event]).await? {
            self.tell(FireEvent::Interrupted { schedule: schedule.clone(), due });
        }
        Ok(())
    }

    /// Fires, skips and rings all that is due. What cannot be committed is not handed over, and is tried again.
    pub(super) async fn run_due(&mut self) {
        let schedules = self.schedules.values();
        let due: Vec<(Schedule, Duration)> = schedules
            .filter_map(|schedule| Some((schedule, schedule.left(&self.clock).and_then(over)?)))
            .map(|(schedule, late)| (schedule.clone(), late))
            .collect();
        for (schedule, late) in due {
            if let Err(error) = self.run_schedule(&schedule, late).await {
                tracing::error!(%error, schedule = schedule.id, "a schedule is due and cannot be recorded");
            }
        }
        let timers = self.timers.values();
        let due: Vec<(Timer, Duration)> = timers
            .filter_map(|timer| Some((timer, timer.rings_in(&self.clock).and_then(over)?)))
            .map(|(timer, late)| (timer.clone(), late))
            .collect();
        for (timer, late) in due {
            if let Err(error) = self.ring(&timer, late).await {
                tracing::error!(%error, timer = timer.id, "a timer is due and cannot be recorded");
            }
        }
    }

    async fn run_schedule(&mut self, schedule: &Schedule, late: Duration) -> Result<(), ScheduleError> {
        let Some(due) = schedule.stored_due else { return Ok(()) };
        let verdict = schedule.plan.verdict(late);
        let after = self.after(schedule, due, verdict)?;
        let end = if verdict.is_ok() { self.end_of(schedule) } else { None };
        self.commit(schedule, &after, end.as_ref(), late, verdict).await?;

        if after.state == State::Active {
            self.schedules.insert(after.id.clone(), after.clone());
        } else {
            self.schedules.remove(&after.id);
        }
        if let Some(end) = &end {
            self.schedules.insert(end.id.clone(), end.clone());
        }
        match verdict {
            Ok(()) => self.hand_over(Firing { schedule: after, due, late, end }),
            Err(why) => self.tell(FireEvent::Skipped { schedule: after, due, late, why }),
        }
        Ok(())
    }

    /// The schedule as it is once this firing is done or skipped.
    fn after(
        &self,
        schedule: &Schedule,
        due: DateTime<Utc>,
        verdict: Result<(), Misfire>,
    ) -> Result<Schedule, ScheduleError> {
        let zone = schedule.plan.zone(self.zone)?;
        let next = if schedule.plan.when.is_elapsed() {
            None
        } else {
            schedule.plan.when.next(due.max(self.clock.now()), schedule.created_at, zone)
        };
        let state = match (next, verdict) {
            (Some(_), _) => State::Active,
            (None, Ok(())) => State::Done,
            (None, Err(_)) => State::Missed,
        };
        let last_fired = if verdict.is_ok() { Some(due) } else { schedule.last_fired };
        Ok(Schedule { state, last_fired, next_fire: next, stored_due: next, ..schedule.clone() })
    }

    /// The schedule that will undo this firing, counted from now.
    fn end_of(&self, schedule: &Schedule) -> Option<Schedule> {
        let end = schedule.plan.end.as_ref()?;
        let length = TimeDelta::try_seconds(i64::try_from(end.after_seconds).ok()?)?;
        let first = self.clock.now().checked_add_signed(length)?;
        Some(Schedule::begin(end.plan(schedule), first, &self.clock))
    }

    async fn commit(
        &self,
        schedule: &Schedule,
        after: &Schedule,
        end: Option<&Schedule>,
        late: Duration,
        verdict: Result<(), Misfire>,
    ) -> Result<(), ScheduleError> {
        let change = ScheduleChange {
            id: schedule.id.clone(),
            from: State::Active.word(),
            due: schedule.stored_due,
            to: after.state.word(),
            next_fire: after.stored_due,
            fires: verdict.is_ok(),
            deleted_at: None,
        };
        let kind = match verdict {
            Ok(()) => "schedule_fired",
            Err(Misfire::Missed | Misfire::GatedLate) => "schedule_skipped",
        };
        let body = json!({
            "due": schedule.stored_due,
            "late_seconds": late.as_secs(),
            "why": verdict.err(),
            "next_fire": after.next_fire,
            "end": end.map(|end| &end.id),
        });
        let follow = end.iter().map(|end| end.to_row(&self.clock)).collect::<Result<_, _>>()?;
        self.change(change, follow, event(kind, schedule, body)?).await
    }

    async fn ring(&mut self, timer: &Timer, late: Duration) -> Result<(), ScheduleError> {
        let missed = late > MISSED_AFTER;
        let (state, kind) =
            if missed { (timers::MISSED, "timer_missed") } else { (timers::RUNG, "timer_rang") };
        self.move_timer(timer, timer, state, kind).await?;
        self.timers.remove(&timer.id);
        let timer = timer.clone().at(&self.clock);
        self.tell(if missed {
            FireEvent::MissedRing { timer, late }
        } else {
            FireEvent::Rings { timer, late }
        });
        Ok(())
    }

    /// Hands a committed firing over and notes when it was taken.
    fn hand_over(&self, firing: Firing) {
        let (journal, fire) = (self.journal.clone(), self.fire.clone());
        tokio::spawn(async move {
            let (id, due) = (firing.schedule.id.clone(), firing.due);
            fire(FireEvent::Due(Box::new(firing))).await;
            if let Err(error) = journal.end_firing(&id, due, vec![]).await {
                tracing::error!(%error, schedule = id, "a firing was taken over and cannot be recorded");
            }
        });
    }

    pub(super) fn tell(&self, event: FireEvent) {
        tokio::spawn((self.fire)(event));
    }
}

/// How late something is that has this much left; `None` when it is not due.
fn over(left: TimeDelta) -> Option<Duration> {
    (left <= TimeDelta::zero()).then(|| (-left).to_std().unwrap_or_default())
}
