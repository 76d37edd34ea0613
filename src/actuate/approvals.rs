//! Where approvals are kept: in the journal, one row each, changed by compare-and-swap only.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;

use crate::journal::Journal;
use crate::journal::approvals::{
    ApprovalLimits, ApprovalRow, ApprovalSet, Inserted, Moment as JournalMoment, Transition,
};
use crate::policy::{Approval, ApprovalState, Channel, Grant, Moment, Requester, Tier};

/// A durable place for approvals and grants. What it has taken is on disk.
pub trait ApprovalStore: Send + Sync {
    /// Stores a new approval unless there are as many pending as there may be; nothing is ever evicted.
    fn insert<'a>(
        &'a self,
        approval: &'a Approval,
        limits: PendingLimits,
    ) -> BoxFuture<'a, Result<Stored, StoreError>>;

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Approval>, StoreError>>;

    /// The approvals in one of `states`, the oldest first.
    fn list<'a>(&'a self, states: &'a [ApprovalState]) -> BoxFuture<'a, Result<Vec<Approval>, StoreError>>;

    /// Takes one edge if and only if the row is as it says. `false`: it was not, and nothing changed.
    fn swap<'a>(&'a self, swap: Swap) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Counts a decision with a wrong hash and says how many there were.
    fn count_wrong_hash<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>>;

    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>>;

    fn keep_grant<'a>(&'a self, grant: &'a Grant) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Says whether there was such a grant.
    fn drop_grant<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLimits {
    pub per_requester: u32,
    pub total: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    Stored,
    RequesterFull,
    Full,
}

/// One compare-and-swap.
#[derive(Debug, Clone, PartialEq)]
pub struct Swap {
    pub id: String,
    pub from: Vec<ApprovalState>,
    pub to: ApprovalState,
    /// The row must have this hash.
    pub plan_hash: Option<String>,
    /// The row must not have expired.
    pub unexpired_at: Option<Moment>,
    pub decided_by: Option<String>,
    pub decided_via: Option<String>,
    pub decided_at: Option<DateTime<Utc>>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub observed_at: Option<DateTime<Utc>>,
    pub outcome: Option<String>,
}

impl Swap {
    pub fn new(id: &str, from: ApprovalState, to: ApprovalState) -> Self {
        Self {
            id: id.to_owned(),
            from: vec![from],
            to,
            plan_hash: None,
            unexpired_at: None,
            decided_by: None,
            decided_via: None,
            decided_at: None,
            dispatched_at: None,
            observed_at: None,
            outcome: None,
        }
    }
}

/// The store cannot be used now; nothing gated may be promised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("approvals cannot be stored: {0}")]
pub struct StoreError(pub String);

impl StoreError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Scope of grants among the journal's memories.
const GRANTS: &str = "grant";

impl ApprovalStore for Journal {
    fn insert<'a>(
        &'a self,
        approval: &'a Approval,
        limits: PendingLimits,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        Box::pin(async move {
            let limits = ApprovalLimits { per_requester: limits.per_requester, total: limits.total };
            let stored =
                self.insert_approval(row(approval)?, limits, Vec::new()).await.map_err(StoreError::of)?;
            Ok(match stored {
                Inserted::Stored => Stored::Stored,
                Inserted::RequesterFull => Stored::RequesterFull,
                Inserted::Full => Stored::Full,
            })
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Approval>, StoreError>> {
        Box::pin(async move { self.approval(id).await.map_err(StoreError::of)?.map(approval).transpose() })
    }

    fn list<'a>(&'a self, states: &'a [ApprovalState]) -> BoxFuture<'a, Result<Vec<Approval>, StoreError>> {
        Box::pin(async move {
            let states: Vec<&str> = states.iter().map(|state| state.word()).collect();
            let rows = self.approvals(&states).await.map_err(StoreError::of)?;
            rows.into_iter().map(approval).collect()
        })
    }

    fn swap<'a>(&'a self, swap: Swap) -> BoxFuture<'a, Result<bool, StoreError>> {
        let edge = Transition {
            id: swap.id,
            from: swap.from.iter().map(|state| state.word()).collect(),
            to: swap.to.word(),
            plan_hash: swap.plan_hash,
            unexpired_at: swap.unexpired_at.map(|moment| JournalMoment {
                now: moment.wall,
                boot_id: moment.boot_id,
                boottime: moment.since_boot,
            }),
            set: ApprovalSet {
                decided_by: swap.decided_by,
                decided_via: swap.decided_via,
                decided_at: swap.decided_at,
                dispatched_at: swap.dispatched_at,
                puback_at: None,
                observed_at: swap.observed_at,
                outcome: swap.outcome,
            },
        };
        Box::pin(async move { self.transition_approval(edge, Vec::new()).await.map_err(StoreError::of) })
    }

    fn count_wrong_hash<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>> {
        Box::pin(async move { Journal::count_wrong_hash(self, id).await.map_err(StoreError::of) })
    }

    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        Box::pin(async move {
            let rows = self.memories(GRANTS).await.map_err(StoreError::of)?;
            rows.iter().map(|row| serde_json::from_str(&row.value).map_err(StoreError::of)).collect()
        })
    }

    fn keep_grant<'a>(&'a self, grant: &'a Grant) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let text = serde_json::to_string(grant).map_err(StoreError::of)?;
            self.remember(GRANTS, &grant.id, &text, &grant.given_by).await.map_err(StoreError::of)
        })
    }

    fn drop_grant<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.forget(GRANTS, id).await.map_err(StoreError::of) })
    }
}

fn row(approval: &Approval) -> Result<ApprovalRow, StoreError> {
    let json = |value: Result<String, serde_json::Error>| value.map_err(StoreError::of);
    let channel = json(serde_json::to_string(&approval.requester.channel))?;
    Ok(ApprovalRow {
        id: approval.id.clone(),
        task: approval.task.clone(),
        step: approval.step,
        conversation: approval.conversation.clone().unwrap_or_default(),
        subject: approval.plan_hash.clone(),
        requester_channel: channel.trim_matches('"').to_owned(),
        requester_principal: approval.requester.principal.clone(),
        requester_device: approval.requester.device.clone().unwrap_or_default(),
        requester_trust: String::new(),
        utterance: approval.utterance.clone(),
        plan_json: approval.plan_json.clone(),
        plan_hash: approval.plan_hash.clone(),
        policy_version: approval.policy_version.clone(),
        device_hash: approval.device_hash.clone(),
        tier: approval.tier.word().to_owned(),
        reasons: json(serde_json::to_string(&approval.reasons))?,
        taint: approval.taint.clone(),
        precondition: json(serde_json::to_string(&approval.precondition))?,
        match_code: approval.match_code.clone(),
        created_at: approval.created.wall,
        boot_id: approval.created.boot_id.clone(),
        created_boottime: approval.created.since_boot,
        expires_at: approval.expires_at,
        expires_boottime: approval.expires_since_boot,
        state: approval.state.word().to_owned(),
        wrong_hashes: approval.wrong_hashes,
        decided_by: approval.decided_by.clone(),
        decided_via: approval.decided_via.clone(),
        decided_at: approval.decided_at,
        dispatched_at: None,
        puback_at: None,
        observed_at: None,
        outcome: approval.outcome.clone(),
    })
}

fn approval(row: ApprovalRow) -> Result<Approval, StoreError> {
    let filled = |text: String| (!text.is_empty()).then_some(text);
    let channel: Channel =
        serde_json::from_value(serde_json::Value::String(row.requester_channel)).map_err(StoreError::of)?;
    let tier: Tier = serde_json::from_value(serde_json::Value::String(row.tier)).map_err(StoreError::of)?;
    let state = ApprovalState::from_word(&row.state)
        .ok_or_else(|| StoreError(format!("approval {} is in no known state: {:?}", row.id, row.state)))?;
    Ok(Approval {
        id: row.id,
        task: row.task,
        step: row.step,
        conversation: filled(row.conversation),
        requester: Requester {
            principal: row.requester_principal,
            channel,
            device: filled(row.requester_device),
        },
        utterance: row.utterance,
        plan_json: row.plan_json,
        plan_hash: row.plan_hash,
        policy_version: row.policy_version,
        device_hash: row.device_hash,
        tier,
        reasons: serde_json::from_str(&row.reasons).map_err(StoreError::of)?,
        taint: row.taint,
        precondition: serde_json::from_str(&row.precondition).map_err(StoreError::of)?,
        match_code: row.match_code,
        created: Moment { wall: row.created_at, boot_id: row.boot_id, since_boot: row.created_boottime },
        expires_at: row.expires_at,
        expires_since_boot: row.expires_boottime,
        state,
        wrong_hashes: row.wrong_hashes,
        decided_by: row.decided_by,
        decided_via: row.decided_via,
        decided_at: row.decided_at,
        outcome: row.outcome,
    })
}

/// How often a waiting question looks at the clocks and at what it rests on.
pub(super) const LOOK: Duration = Duration::from_secs(1);
