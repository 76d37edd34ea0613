//! Questions to people: asked once, answered once, carried out once (invariant
//! `approval_is_exact_once_and_expires_to_denied`).
//!
//! The rules are in `policy::approval`; here they meet the store, the clock and the house. Publishing a question is
//! for those who listen to [`Door::approval_changes`].

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::broadcast::{self, error::RecvError};

use super::approvals::{LOOK, PendingLimits, StoreError, Stored, Swap};
use super::confirm::Goal;
use super::door::{Door, lock};
use super::outcome::{Outcome, OutcomeEntry};
use super::perform::is_live;
use super::plan::Plan;
use crate::home::{Action, Availability, EntityId, Verb};
use crate::policy::{
    AnswerWord, Approval, ApprovalState, Channel, Decided, Decision, Edge, Grant, GrantError, Moment, Permit,
    Policy, Principal, Requester, Snapshot, Verdict, dated_far, may_decide,
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
            reasons: decided.reasons(),
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
    async fn outdated(&self, approval: &Approval) -> Result<bool, StoreError> {
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
    fn has_changed(&self, approval: &Approval) -> bool {
        let stored = Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        );
        let again = stored.as_ref().map(|plan| self.plan(&plan.actions()));
        !matches!(again, Some(Ok(plan)) if plan.hash() == approval.plan_hash)
    }

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

    /// Turns an approved question into the frozen plan and the permit to send it, once. On disk before it returns.
    pub async fn redeem(&self, id: &str) -> Result<(Plan, Permit), RedeemError> {
        let Some(mut approval) = self.store.get(id).await? else { return Err(RedeemError::NotFound) };
        if approval.state != ApprovalState::Approved {
            return Err(RedeemError::NotApproved(approval.state));
        }
        let now = Moment::of(&self.clock);
        let plan = match self.still_good(&approval, &now) {
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

    /// The stored plan, if it may still be carried out.
    fn still_good(&self, approval: &Approval, now: &Moment) -> Result<Plan, &'static str> {
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

    /// Ends a question that its requester no longer needs.
    pub async fn cancel_approval(&self, id: &str) -> Result<(), StoreError> {
        match self.store.get(id).await? {
            Some(approval) => self.step(&approval, Edge::Cancel).await,
            None => Ok(()),
        }
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
        self.put_grants(grants.into_iter().filter(|grant| grant.until > now.wall).collect());
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
        .ok_or(RedeemError::Invalidated("the stored plan is not what was approved"))?;
        let outcomes = self.verify(&plan.actions()).await;
        self.close_approval(id, &outcomes).await;
        Ok(outcomes)
    }

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
        let mut grants: Vec<Grant> =
            self.grants().iter().filter(|known| known.id != grant.id).cloned().collect();
        grants.push(grant);
        self.put_grants(grants);
        Ok(())
    }

    /// Takes leave back; says whether there was any.
    pub async fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        self.put_grants(self.grants().iter().filter(|known| known.id != id).cloned().collect());
        self.store.drop_grant(id).await
    }

    /// Takes one edge of the machine from the state that was read; nothing happens where somebody was faster.
    async fn step(&self, approval: &Approval, edge: Edge) -> Result<(), StoreError> {
        let Some(to) = approval.state.after(edge) else { return Ok(()) };
        if self.store.swap(Swap::new(&approval.id, approval.state, to)).await? {
            self.tell_now(&approval.id).await?;
        }
        Ok(())
    }

    async fn tell_now(&self, id: &str) -> Result<(), StoreError> {
        if let Some(approval) = self.store.get(id).await? {
            self.tell(&approval);
        }
        Ok(())
    }

    fn tell(&self, approval: &Approval) {
        // Nobody listening is no fault.
        let _ = self.changed.send(approval.clone());
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

/// Why a grant was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    #[error(transparent)]
    Refused(#[from] GrantError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// After the approval only a jump of the clock expires it: its own time limit has been kept.
fn clamped(approval: &Approval, now: &Moment) -> Moment {
    let just_before = TimeDelta::milliseconds(1);
    let mut now = now.clone();
    if now.wall >= approval.expires_at && now.wall - approval.expires_at < TimeDelta::seconds(60) {
        now.wall = approval.expires_at - just_before;
    }
    now.since_boot = now.since_boot.min(approval.expires_since_boot.saturating_sub(Duration::from_millis(1)));
    now
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

/// What was denied just now, by conversation (or task, where there is none), verb and target.
#[derive(Debug, Default)]
pub(super) struct CoolDowns {
    denied: HashMap<(String, Verb, EntityId), Denied>,
}

#[derive(Debug)]
struct Denied {
    task: String,
    until: Duration,
}

impl CoolDowns {
    fn denied(&mut self, plan: &Plan, approval: &Approval, until: Duration, now: Duration) {
        self.denied.retain(|_, denied| denied.until > now);
        let conversation = approval.conversation.as_ref().unwrap_or(&approval.task);
        for action in plan.actions() {
            let denied = Denied { task: approval.task.clone(), until };
            self.denied.insert((conversation.clone(), action.verb, action.entity), denied);
        }
    }

    /// How long this may not be asked again. A new command of a person always can; the model within the same command,
    /// or something that is no person, cannot.
    fn left(
        &self,
        plan: &Plan,
        decided: &Decided,
        question: &Question<'_>,
        now: Duration,
    ) -> Option<Duration> {
        let conversation = question.conversation.unwrap_or(question.task);
        let person = match question.principal.channel {
            Channel::Local
            | Channel::Http
            | Channel::Mqtt
            | Channel::Voice
            | Channel::Chat
            | Channel::HomeAssistant => true,
            Channel::Mcp | Channel::Schedule | Channel::Evaluation => false,
        };
        plan.leaves()
            .iter()
            .zip(decided.leaves())
            .filter(|(_, leaf)| leaf.decision == Decision::Ask || decided.asks_by_size_only())
            .filter_map(|(leaf, _)| {
                let action = &leaf.action;
                self.denied.get(&(conversation.to_owned(), action.verb, action.entity.clone()))
            })
            .filter(|denied| denied.task == question.task || !person)
            .filter_map(|denied| denied.until.checked_sub(now))
            .max()
    }
}
