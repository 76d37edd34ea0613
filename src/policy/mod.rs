//! What MAY happen: tiers, rules, decisions, approvals and permits. Pure: no I/O, nothing async.

mod approval;
mod decide;
mod principal;

pub use approval::Verdict;
pub use decide::Decision;
pub use principal::{Channel, Principal, Scope};
