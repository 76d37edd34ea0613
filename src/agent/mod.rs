//! THE LOOP: one command, from its arrival to its single result.

mod command;
mod event;
mod state;

pub use command::{Channel, Command, Principal, Scope};
pub use event::{CallId, Decision, Event, Exit, Ledger, Outcome, OutcomeEntry, Verdict};
pub use state::{CallState, Phase, TaskState, Turn};
