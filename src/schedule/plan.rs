//! What a schedule is, and what is told when it is due.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::timers::Timer;
use super::when::{Refusal, When};
use super::{GATED_LATE, MISSED_AFTER};
use crate::clock::Clock;
use crate::journal::JournalError;
use crate::journal::due::ScheduleRow;

/// A schedule to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewSchedule {
    /// For people, in the language of the command.
    pub description: String,
    pub when: When,
    /// An IANA name; the scheduler's own zone where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The frozen steps, opaque here.
    pub steps: Value,
    /// What undoes the steps after a while, made durable together with each firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Whether a step needs a person; then it is never run late.
    pub gated: bool,
    pub late: Late,
    /// Who made it and through which channel, as JSON.
    pub created_by: Value,
    pub conversation: String,
    /// The schedule whose end this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_of: Option<String>,
}

/// Steps that follow a firing after a while: "for twenty minutes".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub after_seconds: u64,
    pub steps: Value,
    pub gated: bool,
}

/// What becomes of a firing that was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// Skipped and told.
    Skip,
    /// Run as soon as possible: an end that switches something off is better late than never.
    Run,
}

/// Where a schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Active,
    /// It fired for the last time.
    Done,
    /// Its only firing was skipped.
    Missed,
    /// Cancelled; can be restored for [`super::UNDO`].
    Cancelled,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Done => "done",
            State::Missed => "missed",
            State::Cancelled => "cancelled",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [State::Active, State::Done, State::Missed, State::Cancelled]
            .into_iter()
            .find(|state| state.word() == word)
    }
}

/// A schedule as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Schedule {
    pub id: String,
    #[serde(flatten)]
    pub plan: NewSchedule,
    pub state: State,
    pub created_at: DateTime<Utc>,
    /// When it fires next by the wall clock, as far as is known now.
    pub next_fire: Option<DateTime<Utc>>,
    pub last_fired: Option<DateTime<Utc>>,
    pub deleted_at: Option<DateTime<Utc>>,
    /// The due time as it is stored; differs from `next_fire` when elapsed time counts and the clock was stepped.
    #[serde(skip)]
    pub(super) stored_due: Option<DateTime<Utc>>,
    /// The due time in milliseconds since this boot, where elapsed time counts.
    #[serde(skip)]
    pub(super) due_boottime: Option<i64>,
}

/// Something that became due, to be taken over by the one who runs steps and tells people.
#[derive(Debug, Clone, PartialEq)]
pub enum FireEvent {
    /// Run the steps. The firing is on disk and will not come again.
    Due(Box<Firing>),
    /// Not run: tell the one who made it.
    Skipped { schedule: Schedule, due: DateTime<Utc>, late: Duration, why: Misfire },
    /// The last run was committed and perhaps begun when homeloop stopped. It is not repeated: tell.
    Interrupted { schedule: Schedule, due: DateTime<Utc> },
    /// A timer rings, through the channel that it came from.
    Rings { timer: Timer, late: Duration },
    /// A timer was due while homeloop did not run: tell, without ringing.
    MissedRing { timer: Timer, late: Duration },
}

/// One firing.
#[derive(Debug, Clone, PartialEq)]
pub struct Firing {
    pub schedule: Schedule,
    pub due: DateTime<Utc>,
    pub late: Duration,
    /// The schedule that will undo this one, where it has an end.
    pub end: Option<Schedule>,
}

/// Why a firing was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfire {
    /// More than [`MISSED_AFTER`] too late.
    Missed,
    /// Gated, and more than [`GATED_LATE`] too late.
    GatedLate,
}

impl NewSchedule {
    /// The zone it is in.
    pub(super) fn zone(&self, default: Tz) -> Result<Tz, Refusal> {
        match &self.zone {
            Some(name) => name.parse().map_err(|_| Refusal::BadZone { name: name.clone() }),
            None => Ok(default),
        }
    }

    /// Whether a firing that is this late is still run.
    pub(super) fn verdict(&self, late: Duration) -> Result<(), Misfire> {
        if self.gated {
            return if late > GATED_LATE { Err(Misfire::GatedLate) } else { Ok(()) };
        }
        match self.late {
            Late::Run => Ok(()),
            Late::Skip if late > MISSED_AFTER => Err(Misfire::Missed),
            Late::Skip => Ok(()),
        }
    }
}

impl End {
    /// The schedule that the end of a firing becomes.
    pub(super) fn plan(&self, of: &Schedule) -> NewSchedule {
        NewSchedule {
            description: of.plan.description.clone(),
            when: When::After { seconds: self.after_seconds },
            zone: of.plan.zone.clone(),
            steps: self.steps.clone(),
            end: None,
            gated: self.gated,
            late: Late::Run,
            created_by: of.plan.created_by.clone(),
            conversation: of.plan.conversation.clone(),
            end_of: Some(of.id.clone()),
        }
    }
}

impl Schedule {
    /// A schedule that begins now; its first firing is `first`.
    pub(super) fn begin(plan: NewSchedule, first: DateTime<Utc>, clock: &Clock) -> Self {
        let now = clock.now();
        let due_boottime = plan.when.is_elapsed().then(|| boottime(clock) + (first - now).num_milliseconds());
        Self {
            id: clock.new_id(),
            plan,
            state: State::Active,
            created_at: now,
            next_fire: Some(first),
            last_fired: None,
            deleted_at: None,
            stored_due: Some(first),
            due_boottime,
        }
    }

    pub(super) fn from_row(row: &ScheduleRow, clock: &Clock) -> Result<Self, JournalError> {
        let bad = |what: &str| JournalError::Invalid(format!("schedule {} has {what}", row.id));
        let same_boot = !row.boot_id.is_empty() && row.boot_id == clock.boot_id();
        let due_boottime = row.due_boottime.filter(|_| same_boot);
        let by_elapsed = due_boottime.map(|due| clock.now() + TimeDelta::milliseconds(due - boottime(clock)));
        Ok(Self {
            id: row.id.clone(),
            plan: serde_json::from_str(&row.spec).map_err(|error| bad(&format!("a plan that is {error}")))?,
            state: State::from_word(&row.state).ok_or_else(|| bad(&format!("state {:?}", row.state)))?,
            created_at: row.created_at,
            next_fire: row.next_fire.map(|at| by_elapsed.unwrap_or(at)),
            last_fired: row.last_fired,
            deleted_at: row.deleted_at,
            stored_due: row.next_fire,
            due_boottime,
        })
    }

    pub(super) fn to_row(&self, clock: &Clock) -> Result<ScheduleRow, JournalError> {
        Ok(ScheduleRow {
            id: self.id.clone(),
            spec: serde_json::to_string(&self.plan)
                .map_err(|error| JournalError::Invalid(error.to_string()))?,
            state: self.state.word().to_owned(),
            created_at: self.created_at,
            next_fire: self.stored_due,
            boot_id: clock.boot_id(),
            due_boottime: self.due_boottime,
            last_fired: self.last_fired,
            firing: None,
            deleted_at: self.deleted_at,
        })
    }

    /// How long until it is due; negative when it is over. `None` when nothing is due any more.
    pub(super) fn left(&self, clock: &Clock) -> Option<TimeDelta> {
        match (self.due_boottime, self.stored_due) {
            (Some(due), Some(_)) => Some(TimeDelta::milliseconds(due - boottime(clock))),
            (None, Some(due)) => Some(due - clock.now()),
            (_, None) => None,
        }
    }
}

/// Milliseconds since boot.
pub(super) fn boottime(clock: &Clock) -> i64 {
    i64::try_from(clock.since_boot().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(gated: bool, late: Late) -> NewSchedule {
        NewSchedule {
            description: "fan off".into(),
            when: When::After { seconds: 1200 },
            zone: None,
            steps: json!([]),
            end: None,
            gated,
            late,
            created_by: json!({ "channel": "http" }),
            conversation: "c".into(),
            end_of: None,
        }
    }

    #[test]
    fn what_is_late_and_what_becomes_of_it() {
        let cases = [
            (false, Late::Skip, 0, Ok(())),
            (false, Late::Skip, 300, Ok(())),
            (false, Late::Skip, 301, Err(Misfire::Missed)),
            (false, Late::Run, 86_400, Ok(())),
            (true, Late::Skip, 30, Ok(())),
            (true, Late::Skip, 31, Err(Misfire::GatedLate)),
            (true, Late::Run, 31, Err(Misfire::GatedLate)),
        ];
        for (gated, late, seconds, verdict) in cases {
            assert_eq!(
                plan(gated, late).verdict(Duration::from_secs(seconds)),
                verdict,
                "{gated} {late:?} {seconds}"
            );
        }
    }

    #[test]
    fn a_plan_reads_back_as_it_was_written() {
        let with_end = NewSchedule {
            end: Some(End { after_seconds: 60, steps: json!([1]), gated: false }),
            zone: Some("Asia/Shanghai".into()),
            ..plan(true, Late::Run)
        };
        for plan in [plan(false, Late::Skip), with_end] {
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<NewSchedule>(&text).unwrap(), plan);
        }
    }
}
