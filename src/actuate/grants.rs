//! Changes of what is allowed while the daemon runs: a new policy, changed devices, leave given in advance.

use super::approvals::StoreError;
use super::door::Door;
use crate::policy::{ApprovalState, Edge, Grant, GrantError, Policy, Principal};

impl Door {
    /// Puts a new policy in force and ends every question that rests on the old one.
    pub async fn set_policy(&self, policy: Policy) -> Result<(), StoreError> {
        self.put_policy(policy);
        self.recheck().await
    }

    /// Ends every open question whose plan would be another one now. For when entities came, changed or went.
    pub async fn recheck(&self) -> Result<(), StoreError> {
        for approval in self.store.list(&[ApprovalState::Pending, ApprovalState::Approved]).await? {
            if self.has_changed(&approval) {
                self.step(&approval, Edge::Invalidate).await?;
            }
        }
        Ok(())
    }

    /// Gives leave in advance. Only the local command line can.
    pub async fn grant(&self, grant: Grant, giver: &Principal) -> Result<(), GivenError> {
        grant.check(giver)?;
        self.store.keep_grant(&grant).await?;
        self.change_grants(|grants| {
            grants.retain(|known| known.id != grant.id);
            grants.push(grant);
        });
        Ok(())
    }

    /// Takes leave back; says whether there was any.
    pub async fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        self.change_grants(|grants| grants.retain(|known| known.id != id));
        self.store.drop_grant(id).await
    }
}

/// Why a grant was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    #[error(transparent)]
    Refused(#[from] GrantError),
    #[error(transparent)]
    Store(#[from] StoreError),
}
