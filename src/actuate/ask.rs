//! Questions to people: asked once, answered once, carried out once (invariant
//! `approval_is_exact_once_and_expires_to_denied`).
//!
//! The rules are in `policy::approval`; here they meet the store, the clock and the house. Publishing a question is
//! for those who listen to [`Door::approval_changes`].

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::sync::broadcast::{self, error::RecvError};

use super::approvals::{LOOK, PendingLimits, StoreError, Stored, Swap};
use super::door::{Door, lock};
use super::perform::is_live;
use super::plan::{Plan, PlanLeaf};
use super::shown::{NOBODY_HOME, TWIN};
use crate::home::{Action, Availability, Entity, EntityId};
use crate::policy::{
    Approval, ApprovalState, Decided, Decision, Edge, Moment, Principal, Requester, Snapshot, Verdict,
    looks_alike,
};

/// The command behind a question.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub task: &'a str,
    /// Place of the call in its task.
    pub step: u32,
    pub conversation: Option<&'a str>,
    pub principal: &'a Principal,
    /// The satellite or area that the command came from.
    pub device: Option<&'a str>,
    pub utterance: &'a str,
    /// Source of free text from outside that entered the context since the command.
    pub taint: Option<&'a str>,
}

/// Why no question was put.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("policy does not ask about this plan")]
    NotAsked,
    #[error("{0} questions of this requester wait already; answer or wait until they expire")]
    RequesterFull(u32),
    #[error("{0} questions wait already; answer or wait until they expire")]
    Full(u32),
    #[error("this was denied just now; it can be asked again in a new command, or in {0} s")]
    CoolDown(u64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Door {
    /// Every change of an approval from now on: asked, decided, expired, carried out.
    pub fn approval_changes(&self) -> broadcast::Receiver<Approval> {
        self.changed.subscribe()
    }

    /// The approvals that wait for a person, oldest first.
    pub async fn pending(&self) -> Result<Vec<Approval>, StoreError> {
        let now = Moment::of(&self.clock);
        let mut pending = self.store.list(&[ApprovalState::Pending]).await?;
        pending.retain(|approval| !approval.expired(&now));
        Ok(pending)
    }

    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        self.store.get(id).await
    }

    /// The actions of the plan that a question is about; empty where the question is gone.
    pub async fn actions_of(&self, id: &str) -> Vec<Action> {
        let Ok(Some(approval)) = self.store.get(id).await else { return Vec::new() };
        Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        )
        .map(|plan| plan.actions())
        .unwrap_or_default()
    }

    /// Puts a question about a plan that policy asks about. The same question of the same requester that still waits is
    /// returned instead of a second one.
    pub async fn ask(
        &self,
        plan: &Plan,
        decided: &Decided,
        question: &Question<'_>,
    ) -> Result<Approval, AskError> {
        if decided.decision() != Decision::Ask || decided.plan_hash() != plan.hash() {
            return Err(AskError::NotAsked);
        }
        let _one_after_the_other = self.asking.lock().await;
        let now = Moment::of(&self.clock);
        if let Some(left) = lock(&self.cool_downs).left(plan, decided, question, now.since_boot) {
            return Err(AskError::CoolDown(left.as_secs().max(1)));
        }
        for waiting in self.store.list(&[ApprovalState::Pending]).await? {
            if waiting.expired(&now) {
                self.step(&waiting, Edge::Expire).await?;
            } else if waiting.plan_hash == plan.hash()
                && waiting.requester.principal == question.principal.name
                && waiting.conversation.as_deref() == question.conversation
            {
                return Ok(waiting);
            }
        }
        let approval = self.record(plan, decided, question, now);
        let settings = &self.policy().approvals;
        let limits = PendingLimits { per_requester: settings.per_requester, total: settings.total };
        match self.store.insert(&approval, limits).await? {
            Stored::Stored => {}
            Stored::RequesterFull => return Err(AskError::RequesterFull(limits.per_requester)),
            Stored::Full => return Err(AskError::Full(limits.total)),
        }
        self.tell(&approval);
        Ok(approval)
    }

    fn record(&self, plan: &Plan, decided: &Decided, question: &Question<'_>, now: Moment) -> Approval {
        let ttl = Duration::from_secs(self.policy().approvals.ttl_s.clamp(1, 600));
        Approval {
            id: self.clock.new_id(),
            task: question.task.to_owned(),
            step: question.step,
            conversation: question.conversation.map(str::to_owned),
            requester: Requester {
                principal: question.principal.name.clone(),
                channel: question.principal.channel,
                device: question.device.map(str::to_owned),
            },
            utterance: question.utterance.chars().take(500).collect(),
            plan_json: plan.json().to_owned(),
            plan_hash: plan.hash().to_owned(),
            policy_version: plan.policy_version().to_owned(),
            device_hash: plan.device_hash().to_owned(),
            tier: decided.tier(),
            reasons: self.reasons(plan, decided),
            taint: question.taint.map(str::to_owned),
            precondition: self.snapshots(plan),
            match_code: format!("{:02}", self.clock.random() % 100),
            expires_at: now.wall + TimeDelta::from_std(ttl).unwrap_or_default(),
            expires_since_boot: now.since_boot + ttl,
            created: now,
            state: ApprovalState::Pending,
            wrong_hashes: 0,
            decided_by: None,
            decided_via: None,
            decided_at: None,
            outcome: None,
        }
    }

    /// The reasons of the decision, and what should make a person look twice: that nobody is home, and names that look
    /// like a target's.
    fn reasons(&self, plan: &Plan, decided: &Decided) -> Vec<String> {
        let mut reasons = decided.reasons();
        reasons.extend(self.twins(plan).into_iter().map(|twin| format!("{twin}{TWIN}")));
        if self.facts(&self.policy()).somebody_home == Some(false) {
            reasons.push(NOBODY_HOME.to_owned());
        }
        reasons
    }

    /// Other entities that can do the same and whose name a person could take for a target's.
    fn twins(&self, plan: &Plan) -> BTreeSet<EntityId> {
        let house = self.house.read();
        let could_be = |leaf: &PlanLeaf, other: &Entity| {
            other.domain() == leaf.action.entity.domain()
                && other.action(leaf.action.verb).is_some()
                && plan.leaves().iter().all(|target| target.action.entity != other.id)
                && looks_alike(&leaf.name, &other.name)
        };
        house
            .entities()
            .filter(|other| plan.leaves().iter().any(|leaf| could_be(leaf, other)))
            .map(|other| other.id.clone())
            .collect()
    }

    fn snapshots(&self, plan: &Plan) -> Vec<Snapshot> {
        let house = self.house.read();
        let snapshot = |entity: &EntityId| {
            let state = house.state(entity.as_str())?;
            let connection = self.codecs.codec(entity)?.1.connection();
            let live = state.value_stamp.is_some_and(|stamp| is_live(&stamp, connection));
            Some(Snapshot {
                entity: entity.clone(),
                value: state.text().map(str::to_owned),
                known: live && state.availability != Availability::Offline,
                reported_at: state.value_stamp.map(|stamp| stamp.at),
            })
        };
        plan.leaves().iter().filter_map(|leaf| snapshot(&leaf.action.entity)).collect()
    }

    /// Waits until a person has decided, or nobody can any more. It looks at the clocks and at what the question rests
    /// on while it waits. Returns how it ended and who decided.
    pub async fn await_answer(&self, id: &str) -> Result<(Verdict, Option<String>), StoreError> {
        let mut changes = self.changed.subscribe();
        let Some(mut approval) = self.store.get(id).await? else { return Ok((Verdict::Cancelled, None)) };
        loop {
            if let Some(verdict) = approval.state.verdict() {
                return Ok((verdict, approval.decided_by));
            }
            if self.outdated(&approval).await? {
                match self.store.get(id).await? {
                    Some(now) => approval = now,
                    None => return Ok((Verdict::Cancelled, None)),
                }
                continue;
            }
            tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) if change.id == id => approval = change,
                    Ok(_) => {}
                    Err(RecvError::Lagged(_) | RecvError::Closed) => {
                        if let Some(now) = self.store.get(id).await? {
                            approval = now;
                        }
                    }
                },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Ends a pending question whose time is over or whose ground has changed; says whether it did.
    pub(super) async fn outdated(&self, approval: &Approval) -> Result<bool, StoreError> {
        let edge = if approval.expired(&Moment::of(&self.clock)) {
            Edge::Expire
        } else if self.has_changed(approval) {
            Edge::Invalidate
        } else {
            return Ok(false);
        };
        self.step(approval, edge).await?;
        Ok(true)
    }

    /// Whether the policy or a device is not as it was: the same actions would give another plan now.
    pub(super) fn has_changed(&self, approval: &Approval) -> bool {
        let stored = Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        );
        let again = stored.and_then(|plan| {
            let again = self.plan(&plan.actions()).ok()?;
            Some(again.on(plan.occasion().cloned()))
        });
        again.is_none_or(|plan| plan.hash() != approval.plan_hash)
    }

    /// Ends a question that its requester no longer needs.
    pub async fn cancel_approval(&self, id: &str) -> Result<(), StoreError> {
        match self.store.get(id).await? {
            Some(approval) => self.step(&approval, Edge::Cancel).await,
            None => Ok(()),
        }
    }

    /// Takes one edge of the machine from the state that was read; nothing happens where somebody was faster.
    pub(super) async fn step(&self, approval: &Approval, edge: Edge) -> Result<(), StoreError> {
        let Some(to) = approval.state.after(edge) else { return Ok(()) };
        if self.store.swap(Swap::new(&approval.id, approval.state, to)).await? {
            self.tell_now(&approval.id).await?;
        }
        Ok(())
    }

    pub(super) async fn tell_now(&self, id: &str) -> Result<(), StoreError> {
        if let Some(approval) = self.store.get(id).await? {
            self.tell(&approval);
        }
        Ok(())
    }

    pub(super) fn tell(&self, approval: &Approval) {
        // Nobody listening is no fault.
        let _ = self.changed.send(approval.clone());
    }
}
