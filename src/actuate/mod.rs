//! THE DOOR: the only way from a decision to a device.
//!
//! `plan` freezes actions into exact messages, `policy` decides, `ask` puts the question to a person where one is
//! needed, and `perform` sends with a permit and waits until the house confirms. Nothing else hands bytes to a
//! [`Port`] (invariant `only_actuate_sends`).

mod answer;
mod approvals;
mod ask;
mod confirm;
mod containment;
mod cool_down;
mod door;
mod grants;
mod hand;
mod outcome;
mod perform;
mod plan;
mod port;
mod redeem;
mod shown;

pub use answer::AnswerError;
pub use approvals::{ApprovalStore, PendingLimits, StoreError, Stored, Swap};
pub use ask::{AskError, Question};
pub use confirm::{Goal, Seen};
pub use containment::Containment;
pub use door::{Door, DoorParts};
pub use grants::GivenError;
pub use outcome::{Ledger, Outcome, OutcomeEntry};
pub use plan::{Occasion, Plan, PlanError, PlanLeaf};
pub use port::{Codecs, NoSecrets, NotRecorded, Port, Record, Secret, Secrets, SendError};
pub use redeem::RedeemError;
pub use shown::{Shown, ShownTarget, clean};
