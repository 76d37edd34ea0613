//! THE LOOP: one command, from its arrival to its single result.

mod command;
mod event;
mod state;

pub use command::Command;
pub use event::{CallId, Event, Exit};
pub use state::{CallState, Phase, TaskState, Turn};

// Defined lower down, where policy and the door can reach them; the loop's readers find them here too.
pub use crate::actuate::{Ledger, Outcome, OutcomeEntry};
pub use crate::policy::{Channel, Decision, Principal, Scope, Verdict};
