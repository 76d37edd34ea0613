//! A person's answer: who may give one, what it must match, and what follows from it.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::approvals::{StoreError, Swap};
use super::door::{Door, lock};
use super::plan::Plan;
use crate::policy::{
    AnswerWord, Approval, ApprovalState, Channel, Edge, Moment, Principal, Verdict, dated_far, may_decide,
};

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("this credential may not decide")]
    Forbidden,
    #[error("too many wrong answers from this credential; try again in {0} s")]
    Locked(u64),
    #[error("the decision is dated more than 60 s from now; check the sender's clock")]
    Dated,
    #[error("no such approval")]
    NotFound,
    #[error("the plan hash is not that of this approval")]
    WrongHash,
    #[error("this approval was already decided: {0:?}")]
    AlreadyDecided(Verdict),
    #[error("this approval has expired")]
    Expired,
    #[error("the plan, the policy or the device has changed since it was asked")]
    Invalidated,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AnswerError {
    /// The HTTP status that says the same.
    pub fn status(&self) -> u16 {
        match self {
            AnswerError::Forbidden => 403,
            AnswerError::Locked(_) => 429,
            AnswerError::Dated => 400,
            AnswerError::NotFound => 404,
            AnswerError::WrongHash | AnswerError::AlreadyDecided(_) | AnswerError::Invalidated => 409,
            AnswerError::Expired => 410,
            AnswerError::Store(_) => 503,
        }
    }
}

impl Door {
    /// Takes a person's decision. Who decides is `who`, from the authenticated session; of two answers one is taken.
    pub async fn answer(
        &self,
        id: &str,
        plan_hash: &str,
        decision: AnswerWord,
        issued_at: Option<DateTime<Utc>>,
        who: &Principal,
    ) -> Result<Verdict, AnswerError> {
        if !may_decide(who) {
            return Err(AnswerError::Forbidden);
        }
        let now = Moment::of(&self.clock);
        if let Some(left) = lock(&self.lockout).locked(&who.name, now.since_boot) {
            return Err(AnswerError::Locked(left.as_secs().max(1)));
        }
        if issued_at.is_some_and(|issued| dated_far(issued, now.wall)) {
            return Err(AnswerError::Dated);
        }
        let Some(approval) = self.store.get(id).await? else {
            lock(&self.lockout).wrong(&who.name, now.since_boot);
            return Err(AnswerError::NotFound);
        };
        if approval.plan_hash != plan_hash {
            return Err(self.wrong_hash(&approval, who, now.since_boot).await?);
        }
        if let Some(verdict) = approval.state.verdict() {
            return Err(already(verdict));
        }
        if self.outdated(&approval).await? {
            return Err(self.ended(id).await?);
        }
        let edge = match decision {
            AnswerWord::Approve => Edge::Approve,
            AnswerWord::Deny => Edge::Deny,
        };
        let Some(to) = approval.state.after(edge) else { return Err(self.ended(id).await?) };
        let swap = Swap {
            plan_hash: Some(plan_hash.to_owned()),
            unexpired_at: Some(now.clone()),
            decided_by: Some(who.name.clone()),
            decided_via: Some(via(who.channel).to_owned()),
            decided_at: Some(now.wall),
            ..Swap::new(id, ApprovalState::Pending, to)
        };
        if !self.store.swap(swap).await? {
            return Err(self.ended(id).await?);
        }
        if decision == AnswerWord::Deny {
            self.cool_down(&approval, now.since_boot);
        }
        self.tell_now(id).await?;
        Ok(if decision == AnswerWord::Approve { Verdict::Approved } else { Verdict::Denied })
    }

    async fn wrong_hash(
        &self,
        approval: &Approval,
        who: &Principal,
        at: Duration,
    ) -> Result<AnswerError, StoreError> {
        lock(&self.lockout).wrong(&who.name, at);
        if approval.state == ApprovalState::Pending {
            let wrong = self.store.count_wrong_hash(&approval.id).await?;
            if wrong >= self.policy().approvals.wrong_hashes {
                tracing::warn!(approval = %approval.id, wrong, by = %who.name, "denied after wrong hashes");
                self.step(approval, Edge::Deny).await?;
            }
        }
        Ok(AnswerError::WrongHash)
    }

    /// How it ended while somebody tried to answer.
    async fn ended(&self, id: &str) -> Result<AnswerError, StoreError> {
        let now = self.store.get(id).await?;
        Ok(now.and_then(|now| now.state.verdict()).map_or(AnswerError::Expired, already))
    }

    fn cool_down(&self, approval: &Approval, now: Duration) {
        let Some(plan) = Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        ) else {
            return;
        };
        let until = now + Duration::from_secs(self.policy().approvals.cool_down_s);
        lock(&self.cool_downs).denied(&plan, approval, until, now);
    }
}

fn already(verdict: Verdict) -> AnswerError {
    match verdict {
        Verdict::Expired => AnswerError::Expired,
        Verdict::Invalidated => AnswerError::Invalidated,
        Verdict::Approved | Verdict::Denied | Verdict::Cancelled => AnswerError::AlreadyDecided(verdict),
    }
}

fn via(channel: Channel) -> &'static str {
    match channel {
        Channel::Local => "local",
        Channel::Http => "http",
        Channel::Mqtt => "mqtt",
        Channel::Voice => "voice",
        Channel::Chat => "chat",
        Channel::Mcp => "mcp",
        Channel::HomeAssistant => "home_assistant",
        Channel::Schedule => "schedule",
        Channel::Evaluation => "evaluation",
    }
}
