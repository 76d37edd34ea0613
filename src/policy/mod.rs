//! What MAY happen: tiers, rules, decisions, approvals and permits. Pure: no I/O, nothing async.

mod approval;
mod decide;
mod principal;
mod risk_words;
pub mod tier;

pub use approval::Verdict;
pub use decide::Decision;
pub use principal::{Channel, Principal, Scope};
pub use tier::Tier;
