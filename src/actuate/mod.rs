//! THE DOOR: the only way from a decision to a device.
//!
//! `plan` freezes actions into exact messages, `policy` decides, `perform` sends with a permit and waits until the
//! house confirms. Nothing else hands bytes to a [`Port`] (invariant `only_actuate_sends`).

mod outcome;
mod port;

pub use outcome::{Ledger, Outcome, OutcomeEntry};
pub use port::{Codecs, Port, SendError};
