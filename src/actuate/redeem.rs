//! From an approval to what became of it: carried out once, and never again after a crash.

use std::time::Duration;

use chrono::TimeDelta;
use tokio_util::sync::CancellationToken;

use super::approvals::{LOOK, StoreError, Swap};
use super::confirm::Goal;
use super::door::Door;
use super::outcome::{Outcome, OutcomeEntry};
use super::perform::is_live;
use super::plan::Plan;
use super::port::Record;
use crate::policy::{Approval, ApprovalState, Edge, Moment, Permit};

/// Longest wait for another call that carries out the same approval: beyond every confirmation.
const LONGEST: Duration = Duration::from_secs(600);

/// Why an approved plan is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedeemError {
    #[error("no such approval")]
    NotFound,
    #[error("it is not approved: {0:?}")]
    NotApproved(ApprovalState),
    /// Ask again.
    #[error("what was approved is not what would be done now: {0}")]
    Invalidated(&'static str),
    /// It was carried out, or may have been, and nothing says what became of it.
    #[error("what became of it is not known: {0}")]
    Unknown(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RedeemError {
    /// Whether something may have been sent for it all the same, by another call or before a stop: then nobody may say
    /// that nothing was.
    pub fn may_have_sent(&self) -> bool {
        match self {
            RedeemError::Unknown(_) => true,
            RedeemError::NotApproved(state) => state.has_begun(),
            RedeemError::NotFound | RedeemError::Invalidated(_) | RedeemError::Store(_) => false,
        }
    }

    /// The same, of an approval that was found to be carried out or done: what cannot be read then is not known.
    fn once_begun(self) -> Self {
        match self {
            RedeemError::Store(error) => RedeemError::Unknown(error.to_string()),
            other => other,
        }
    }
}

impl Door {
    /// Carries out what a person approved and says what became of it. An approval that another call carries out is
    /// waited for, one that is done tells its outcome again, and one that a stopped daemon left behind is read from the
    /// devices: nothing is ever sent twice.
    ///
    /// `plan_hash` is that of the plan as it was asked about, from the task's own record: a row that was changed
    /// since, however consistently, is not carried out.
    pub async fn carry_out(
        &self,
        id: &str,
        plan_hash: &str,
        record: &dyn Record,
        cancel: &CancellationToken,
    ) -> Result<Vec<OutcomeEntry>, RedeemError> {
        let mut changes = self.approval_changes();
        let begun = tokio::time::Instant::now();
        let mut elsewhere = false;
        loop {
            let state = match self.redeem(id, plan_hash).await {
                Ok((plan, permit)) => return Ok(self.perform(&plan, permit, record, cancel).await),
                Err(RedeemError::NotApproved(state)) => state,
                Err(error) if elsewhere => return Err(error.once_begun()),
                Err(error) => return Err(error),
            };
            elsewhere |= state.has_begun();
            match state {
                ApprovalState::Uncertain => {
                    return self.settle_uncertain(id).await.map_err(RedeemError::once_begun);
                }
                // The row changes when the other call has ended; a change that was missed shows in the row.
                ApprovalState::Executing => {
                    if cancel.is_cancelled() || begun.elapsed() > LONGEST {
                        return Err(RedeemError::NotApproved(state));
                    }
                    let _ = tokio::time::timeout(LOOK, changes.recv()).await;
                }
                ApprovalState::DoneConfirmed | ApprovalState::DoneUnconfirmed | ApprovalState::Failed => {
                    let row =
                        self.store.get(id).await.map_err(|error| RedeemError::from(error).once_begun())?;
                    let stored = row.and_then(|approval| approval.outcome);
                    let outcomes = stored.and_then(|stored| serde_json::from_str(&stored).ok());
                    return outcomes.ok_or_else(|| RedeemError::Unknown("its outcome was not stored".into()));
                }
                ApprovalState::Pending
                | ApprovalState::Approved
                | ApprovalState::Denied
                | ApprovalState::Expired
                | ApprovalState::Cancelled
                | ApprovalState::Invalidated => return Err(RedeemError::NotApproved(state)),
            }
        }
    }

    /// Turns an approved question into the frozen plan and the permit to send it, once. On disk before it returns.
    pub async fn redeem(&self, id: &str, plan_hash: &str) -> Result<(Plan, Permit), RedeemError> {
        let Some(mut approval) = self.store.get(id).await? else { return Err(RedeemError::NotFound) };
        if approval.state != ApprovalState::Approved {
            return Err(RedeemError::NotApproved(approval.state));
        }
        let now = Moment::of(&self.clock);
        let plan = match self.still_good(&approval, plan_hash, &now) {
            Ok(plan) => plan,
            Err(why) => {
                self.step(&approval, Edge::Invalidate).await?;
                return Err(RedeemError::Invalidated(why));
            }
        };
        let swap = Swap {
            plan_hash: Some(approval.plan_hash.clone()),
            dispatched_at: Some(now.wall),
            ..Swap::new(id, ApprovalState::Approved, ApprovalState::Executing)
        };
        if !self.store.swap(swap).await? {
            let state = self.store.get(id).await?.map_or(ApprovalState::Invalidated, |now| now.state);
            return Err(RedeemError::NotApproved(state));
        }
        approval.state = ApprovalState::Executing;
        let permit = Permit::approved(&approval).ok_or(RedeemError::NotApproved(approval.state))?;
        self.tell(&approval);
        Ok((plan, permit))
    }

    /// Uses up leave that was given to keep or drop a schedule. Nothing is sent; a second use is refused.
    pub async fn use_up(&self, id: &str) -> Result<(), RedeemError> {
        let Some(approval) = self.store.get(id).await? else { return Err(RedeemError::NotFound) };
        let now = Moment::of(&self.clock);
        let late = approval.too_late_to_dispatch(&now, &self.policy().approvals);
        if late || self.has_changed(&approval) {
            self.step(&approval, Edge::Invalidate).await?;
            return Err(RedeemError::Invalidated(
                "it was approved too long ago, or the policy or a device changed",
            ));
        }
        let swap = Swap {
            plan_hash: Some(approval.plan_hash.clone()),
            dispatched_at: Some(now.wall),
            ..Swap::new(id, ApprovalState::Approved, ApprovalState::DoneConfirmed)
        };
        if !self.store.swap(swap).await? {
            return Err(RedeemError::NotApproved(approval.state));
        }
        self.tell_now(id).await?;
        Ok(())
    }

    /// The stored plan, if it may still be carried out.
    fn still_good(&self, approval: &Approval, asked: &str, now: &Moment) -> Result<Plan, &'static str> {
        if approval.plan_hash != asked {
            return Err("the stored question is not the one that was asked");
        }
        if approval.too_late_to_dispatch(now, &self.policy().approvals)
            || approval.expired(&clamped(approval, now))
        {
            return Err("it was approved too long ago");
        }
        if self.has_changed(approval) {
            return Err("the plan, the policy or the device has changed");
        }
        let plan = Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        )
        .ok_or("the stored plan is not what was approved")?;
        if plan.occasion().is_some() {
            return Err("it was asked about a schedule, not about doing it now");
        }
        if self.precondition_broken(approval, &plan) {
            return Err("a target is not as it was shown");
        }
        Ok(plan)
    }

    /// Whether a target that was known reports something else now, other than what is wished.
    fn precondition_broken(&self, approval: &Approval, plan: &Plan) -> bool {
        let house = self.house.read();
        plan.leaves().iter().any(|leaf| {
            let action = &leaf.action;
            let shown =
                approval.precondition.iter().find(|shown| shown.entity == action.entity && shown.known);
            let now = house.state(action.entity.as_str());
            let (Some(shown), Some(now), Some(entity), Some((codec, port))) =
                (shown, now, house.entity(action.entity.as_str()), self.codecs.codec(&action.entity))
            else {
                return false;
            };
            let goal = Goal::of(action, entity, now, codec.confirm_hint(action));
            let connection = port.connection();
            now.text() != shown.value.as_deref()
                && !goal.holds_already(now, |stamp| is_live(stamp, connection))
        })
    }

    /// Writes down what became of an approved plan.
    pub(super) async fn close_approval(&self, id: &str, outcomes: &[OutcomeEntry]) {
        let good = |entry: &OutcomeEntry| matches!(entry.outcome, Outcome::Confirmed | Outcome::Already);
        let failed = |entry: &OutcomeEntry| {
            matches!(entry.outcome, Outcome::Contradicted | Outcome::NotSent | Outcome::Refused)
        };
        let to = if outcomes.iter().all(good) {
            ApprovalState::DoneConfirmed
        } else if outcomes.iter().any(failed) {
            ApprovalState::Failed
        } else {
            ApprovalState::DoneUnconfirmed
        };
        let swap = Swap {
            observed_at: Some(self.clock.now()),
            outcome: serde_json::to_string(outcomes).ok(),
            from: vec![ApprovalState::Executing, ApprovalState::Uncertain],
            ..Swap::new(id, ApprovalState::Executing, to)
        };
        let closed = match self.store.swap(swap).await {
            Ok(_) => self.tell_now(id).await,
            Err(error) => Err(error),
        };
        if let Err(error) = closed {
            // The row stays executing; the next start finds it uncertain and reads the device.
            tracing::error!(approval = id, %error, "the outcome was not stored");
        }
    }

    /// Once, at the start: what was pending stays if its time is not over, what was approved must be asked again, what
    /// was executing is uncertain. Returns the pending ones, to be published again.
    pub async fn recover(&self) -> Result<Vec<Approval>, StoreError> {
        let now = Moment::of(&self.clock);
        let grants = self.store.grants().await?;
        self.change_grants(|known| {
            *known = grants.into_iter().filter(|grant| grant.until > now.wall).collect()
        });
        for approved in self.store.list(&[ApprovalState::Approved]).await? {
            self.step(&approved, Edge::Invalidate).await?;
        }
        for executing in self.store.list(&[ApprovalState::Executing]).await? {
            self.step(&executing, Edge::Crash).await?;
        }
        for pending in self.store.list(&[ApprovalState::Pending]).await? {
            if pending.expired(&now) {
                self.step(&pending, Edge::Expire).await?;
            }
        }
        self.store.list(&[ApprovalState::Pending]).await
    }

    /// What became of an approval that the daemon was carrying out when it stopped. The devices are read; nothing is
    /// sent again.
    pub async fn settle_uncertain(&self, id: &str) -> Result<Vec<OutcomeEntry>, RedeemError> {
        let Some(approval) = self.store.get(id).await? else { return Err(RedeemError::NotFound) };
        if approval.state != ApprovalState::Uncertain {
            return Err(RedeemError::NotApproved(approval.state));
        }
        let plan = Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        )
        .ok_or_else(|| RedeemError::Unknown("the stored plan is not what was approved".into()))?;
        let outcomes = self.verify(&plan.actions()).await;
        self.close_approval(id, &outcomes).await;
        Ok(outcomes)
    }
}

/// After the approval only a jump of the clock expires it: its own time limit has been kept.
fn clamped(approval: &Approval, now: &Moment) -> Moment {
    let just_before = TimeDelta::milliseconds(1);
    let mut now = now.clone();
    now.wall = now.wall.min(approval.expires_at - just_before);
    now.since_boot = now.since_boot.min(approval.expires_since_boot.saturating_sub(Duration::from_millis(1)));
    now
}
