//! The proof that a decision allowed a plan. Only this module can make one, and only with one can anything be sent.

use super::approval::{Approval, ApprovalState};
use super::decide::{Decided, Decision};

/// Leave to send one plan, once. It is used up by [`crate::actuate::Door::perform`].
#[derive(Debug)]
pub struct Permit {
    plan_hash: String,
    /// The approval that it rests on; `None` where policy needs nobody.
    approval: Option<String>,
}

impl Permit {
    /// For a plan that policy allows without a person.
    pub fn free(decided: &Decided) -> Option<Self> {
        (decided.decision() == Decision::Allow)
            .then(|| Self { plan_hash: decided.plan_hash().to_owned(), approval: None })
    }

    /// For a plan that a person approved and that is on disk as executing.
    pub fn approved(approval: &Approval) -> Option<Self> {
        (approval.state == ApprovalState::Executing && approval.decided_by.is_some())
            .then(|| Self { plan_hash: approval.plan_hash.clone(), approval: Some(approval.id.clone()) })
    }

    /// Whether it is for exactly this plan.
    pub fn covers(&self, plan_hash: &str) -> bool {
        self.plan_hash == plan_hash
    }

    /// The approval that it rests on.
    pub fn approval(&self) -> Option<&str> {
        self.approval.as_deref()
    }
}
