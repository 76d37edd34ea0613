//! What MAY happen: tiers, rules, decisions, approvals and permits. Pure: no I/O, nothing async.
//!
//! `tier` is the default table, `limits` what no approval lifts, `rules` what a home adds; `decide` puts them in
//! order. `approval` and `answer` are the question to a person and the answer; `permit` is the proof that a decision
//! allowed a plan. Nothing here stores, sends or waits: that is `actuate`.

mod answer;
mod approval;
mod decide;
mod describe;
pub mod lasting;
mod limits;
mod lockout;
mod lookalike;
mod permit;
mod principal;
mod risk_words;
mod rules;
pub mod tier;

pub use answer::{AnswerWord, dated_far, may_decide};
pub use approval::{Approval, ApprovalSettings, ApprovalState, Edge, Moment, Requester, Snapshot, Verdict};
pub use decide::{Asked, Decided, Decision, Facts, Leaf, LeafDecision, decide, decide_dropping, guard};
pub use limits::{Direction, Limits, Pace, Told, direction, pace};
pub use lockout::Lockout;
pub use lookalike::looks_alike;
pub use permit::Permit;
pub use principal::{Channel, Principal, Scope};
pub use rules::{Grant, GrantError, Hours, LocalTime, Policy, Raises, Range, Rule, RuleError};
pub use tier::{Tier, is_generic};
