//! Named timers: a length, a label, and the channel through which they ring.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::Value;

use super::plan::boottime;
use crate::clock::Clock;
use crate::journal::JournalError;
use crate::journal::due::TimerRow;

/// The longest timer.
pub(super) const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(super) const RUNNING: &str = "running";
pub(super) const RUNG: &str = "rung";
pub(super) const MISSED: &str = "missed";
pub(super) const CANCELLED: &str = "cancelled";

/// A timer to be set.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTimer {
    /// "eggs"; may be empty.
    pub label: String,
    pub seconds: u64,
    /// The channel that it rings through, as JSON.
    pub origin: Value,
    pub conversation: String,
}

/// A timer as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timer {
    pub id: String,
    pub label: String,
    /// Its whole length, extensions included.
    pub seconds: u64,
    pub origin: Value,
    pub conversation: String,
    pub created_at: DateTime<Utc>,
    /// When it rings by the wall clock, as far as is known now.
    pub due: DateTime<Utc>,
    /// How long is left at the time of asking, in milliseconds; negative when it is over.
    pub left_millis: i64,
    /// Whether it stands still: what is left stays, and it does not ring.
    pub paused: bool,
    #[serde(skip)]
    pub(super) stored_due: DateTime<Utc>,
    /// The due time in milliseconds since this boot; `None` for a timer of another boot, which the wall clock decides.
    #[serde(skip)]
    pub(super) due_boottime: Option<i64>,
}

impl Timer {
    pub(super) fn begin(new: NewTimer, clock: &Clock) -> Self {
        let now = clock.now();
        let millis = i64::try_from(new.seconds).unwrap_or(i64::MAX).saturating_mul(1000);
        let due = now + TimeDelta::milliseconds(millis);
        Self {
            id: clock.new_id(),
            label: new.label,
            seconds: new.seconds,
            origin: new.origin,
            conversation: new.conversation,
            created_at: now,
            due,
            left_millis: millis,
            paused: false,
            stored_due: due,
            due_boottime: Some(boottime(clock) + millis),
        }
    }

    pub(super) fn from_row(row: TimerRow, clock: &Clock) -> Result<Self, JournalError> {
        let same_boot = !row.boot_id.is_empty() && row.boot_id == clock.boot_id();
        let origin = serde_json::from_str(&row.origin).map_err(|error| {
            JournalError::Invalid(format!("timer {} has an origin that is {error}", row.id))
        })?;
        let timer = Self {
            id: row.id,
            label: row.label,
            seconds: u64::try_from(row.seconds).unwrap_or(0),
            origin,
            conversation: row.conversation,
            created_at: row.created_at,
            due: row.due,
            left_millis: row.left_millis.unwrap_or(0),
            paused: row.left_millis.is_some(),
            stored_due: row.due,
            due_boottime: same_boot.then_some(row.due_boottime),
        };
        Ok(timer.at(clock))
    }

    /// The same timer with what is left now.
    pub(super) fn at(mut self, clock: &Clock) -> Self {
        let left = self.left(clock);
        self.left_millis = left.num_milliseconds();
        self.due = clock.now() + left;
        self
    }

    pub(super) fn left(&self, clock: &Clock) -> TimeDelta {
        if self.paused {
            return TimeDelta::milliseconds(self.left_millis);
        }
        match self.due_boottime {
            Some(due) => TimeDelta::milliseconds(due - boottime(clock)),
            None => self.stored_due - clock.now(),
        }
    }

    /// When it rings, counted from now; `None` while it is paused.
    pub(super) fn rings_in(&self, clock: &Clock) -> Option<TimeDelta> {
        (!self.paused).then(|| self.left(clock))
    }

    /// The same timer, longer or shorter by `seconds`.
    pub(super) fn extended(&self, seconds: i64, clock: &Clock) -> Self {
        let left = self.left(clock) + TimeDelta::try_seconds(seconds).unwrap_or_default();
        Self { seconds: self.seconds.saturating_add_signed(seconds), ..self.with_left(left, clock) }
    }

    /// The same timer, standing still with what is left now.
    pub(super) fn paused(&self, clock: &Clock) -> Self {
        Self { paused: true, ..self.with_left(self.left(clock), clock) }
    }

    /// The same timer, going on with what was left.
    pub(super) fn resumed(&self, clock: &Clock) -> Self {
        Self { paused: false, ..self.with_left(self.left(clock), clock) }
    }

    fn with_left(&self, left: TimeDelta, clock: &Clock) -> Self {
        let due = clock.now() + left;
        Self {
            due,
            left_millis: left.num_milliseconds(),
            stored_due: due,
            due_boottime: Some(boottime(clock) + left.num_milliseconds()),
            ..self.clone()
        }
    }

    pub(super) fn to_row(&self, state: &str, clock: &Clock) -> TimerRow {
        TimerRow {
            id: self.id.clone(),
            label: self.label.clone(),
            origin: self.origin.to_string(),
            conversation: self.conversation.clone(),
            created_at: self.created_at,
            seconds: i64::try_from(self.seconds).unwrap_or(i64::MAX),
            due: self.stored_due,
            boot_id: if self.due_boottime.is_some() { clock.boot_id() } else { String::new() },
            due_boottime: self.due_boottime.unwrap_or(0),
            state: state.to_owned(),
            left_millis: self.paused.then_some(self.left_millis),
        }
    }
}
