//! Time: typed plans that fire once, again and again, or after a while; and timers that ring.
//!
//! A schedule holds the steps that were understood when it was made, never a prompt: firing it decides nothing anew.
//! It says *that* a schedule is due ([`FireEvent`]); policy and the door see its steps then as they see any others.
//!
//! What holds, whatever the clock, the calendar or a crash do:
//! - A due time fires at most once: the firing is on disk before it is handed over. One that a crash interrupted is
//!   told, and not repeated.
//! - Missed by more than [`MISSED_AFTER`] (a gated one by more than [`GATED_LATE`]) is skipped and told. Only an end
//!   that undoes something ([`Late::Run`]) is still run.
//! - 07:30 is 07:30 on both days when the clocks change; a skipped time fires at the first instant after the gap, a
//!   repeated one once ([`when`], [`local`]).
//! - A wait counts elapsed time: a step of the wall clock does not move it.
//!
//! Times are armed one by one on tokio-cron-scheduler as one-shots; it computes no time of its own.

mod alarm;
pub mod local;
mod plan;
mod runner;
mod scheduler;
mod timers;
pub mod when;

pub use plan::{End, FireEvent, Firing, Late, Misfire, NewSchedule, Schedule, State};
pub use scheduler::{Explanation, Fire, Occurrence, ScheduleError, Scheduler, Waiting};
pub use timers::{NewTimer, Timer};
pub use when::{Refusal, When};

use std::time::Duration;

/// A firing that comes later than this is skipped and told.
pub const MISSED_AFTER: Duration = Duration::from_secs(5 * 60);

/// A gated firing that comes later than this is skipped and told: what waits for a person is never late by surprise.
pub const GATED_LATE: Duration = Duration::from_secs(30);

/// How long a cancelled schedule can be restored.
pub const UNDO: Duration = Duration::from_secs(24 * 60 * 60);
