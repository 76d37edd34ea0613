//! One durable question to a person about one plan, and the answer: the record and its state machine.
//!
//! Everything here is pure. Storing the record, and taking an edge by compare-and-swap, is `actuate::approvals`.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::principal::Channel;
use super::tier::Tier;
use crate::clock::Clock;
use crate::home::EntityId;

/// How a question to a person ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approved,
    Denied,
    Expired,
    Cancelled,
    /// The plan, the policy or the device changed meanwhile.
    Invalidated,
}

/// Where an approval stands. A new one is stored as pending at once: what is only proposed exists nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ApprovalState {
    /// A person is asked.
    Pending,
    /// A person said yes; nothing is sent yet.
    Approved,
    Denied,
    Expired,
    Cancelled,
    /// Policy, device or precondition changed; or it was approved and not dispatched in time.
    Invalidated,
    /// On disk before the first byte leaves.
    Executing,
    /// The daemon stopped while executing. The device is read; nothing is ever sent again.
    Uncertain,
    DoneConfirmed,
    DoneUnconfirmed,
    Failed,
}

impl ApprovalState {
    pub const ALL: [ApprovalState; 11] = [
        ApprovalState::Pending,
        ApprovalState::Approved,
        ApprovalState::Denied,
        ApprovalState::Expired,
        ApprovalState::Cancelled,
        ApprovalState::Invalidated,
        ApprovalState::Executing,
        ApprovalState::Uncertain,
        ApprovalState::DoneConfirmed,
        ApprovalState::DoneUnconfirmed,
        ApprovalState::Failed,
    ];

    /// The word in the store.
    pub fn word(self) -> &'static str {
        match self {
            ApprovalState::Pending => "PENDING",
            ApprovalState::Approved => "APPROVED",
            ApprovalState::Denied => "DENIED",
            ApprovalState::Expired => "EXPIRED",
            ApprovalState::Cancelled => "CANCELLED",
            ApprovalState::Invalidated => "INVALIDATED",
            ApprovalState::Executing => "EXECUTING",
            ApprovalState::Uncertain => "UNCERTAIN",
            ApprovalState::DoneConfirmed => "DONE_CONFIRMED",
            ApprovalState::DoneUnconfirmed => "DONE_UNCONFIRMED",
            ApprovalState::Failed => "FAILED",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// The state after `edge`; `None` where there is no such edge. This is the whole machine.
    pub fn after(self, edge: Edge) -> Option<Self> {
        use ApprovalState as S;
        match (self, edge) {
            (S::Pending, Edge::Approve) => Some(S::Approved),
            (S::Pending, Edge::Deny) => Some(S::Denied),
            (S::Pending | S::Approved, Edge::Expire) => Some(S::Expired),
            (S::Pending | S::Approved, Edge::Cancel) => Some(S::Cancelled),
            (S::Pending | S::Approved, Edge::Invalidate) => Some(S::Invalidated),
            (S::Approved, Edge::Dispatch) => Some(S::Executing),
            (S::Executing, Edge::Crash) => Some(S::Uncertain),
            (S::Executing | S::Uncertain, Edge::Confirm) => Some(S::DoneConfirmed),
            (S::Executing | S::Uncertain, Edge::GiveUp) => Some(S::DoneUnconfirmed),
            (S::Executing | S::Uncertain, Edge::Fail) => Some(S::Failed),
            (
                S::Pending
                | S::Approved
                | S::Denied
                | S::Expired
                | S::Cancelled
                | S::Invalidated
                | S::Executing
                | S::Uncertain
                | S::DoneConfirmed
                | S::DoneUnconfirmed
                | S::Failed,
                Edge::Approve
                | Edge::Deny
                | Edge::Expire
                | Edge::Cancel
                | Edge::Invalidate
                | Edge::Dispatch
                | Edge::Crash
                | Edge::Confirm
                | Edge::GiveUp
                | Edge::Fail,
            ) => None,
        }
    }

    /// Whether it was given to be carried out: from here on something may have been sent.
    pub fn has_begun(self) -> bool {
        match self {
            ApprovalState::Executing
            | ApprovalState::Uncertain
            | ApprovalState::DoneConfirmed
            | ApprovalState::DoneUnconfirmed
            | ApprovalState::Failed => true,
            ApprovalState::Pending
            | ApprovalState::Approved
            | ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Cancelled
            | ApprovalState::Invalidated => false,
        }
    }

    /// The verdict that a person's question has ended with; `None` while it is open.
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            ApprovalState::Pending => None,
            ApprovalState::Denied => Some(Verdict::Denied),
            ApprovalState::Expired => Some(Verdict::Expired),
            ApprovalState::Cancelled => Some(Verdict::Cancelled),
            ApprovalState::Invalidated => Some(Verdict::Invalidated),
            ApprovalState::Approved
            | ApprovalState::Executing
            | ApprovalState::Uncertain
            | ApprovalState::DoneConfirmed
            | ApprovalState::DoneUnconfirmed
            | ApprovalState::Failed => Some(Verdict::Approved),
        }
    }
}

/// What can happen to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Approve,
    Deny,
    Expire,
    Cancel,
    Invalidate,
    /// The frozen plan goes to the devices.
    Dispatch,
    /// The daemon found it executing when it started.
    Crash,
    /// The house confirmed.
    Confirm,
    /// Sent, and the house did not say so.
    GiveUp,
    /// Not sent, or the house said the opposite.
    Fail,
}

impl Edge {
    pub const ALL: [Edge; 10] = [
        Edge::Approve,
        Edge::Deny,
        Edge::Expire,
        Edge::Cancel,
        Edge::Invalidate,
        Edge::Dispatch,
        Edge::Crash,
        Edge::Confirm,
        Edge::GiveUp,
        Edge::Fail,
    ];
}

/// One instant on both clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub wall: DateTime<Utc>,
    pub boot_id: String,
    pub since_boot: Duration,
}

impl Moment {
    pub fn of(clock: &Clock) -> Self {
        Self { wall: clock.now(), boot_id: clock.boot_id(), since_boot: clock.since_boot() }
    }
}

/// The record of one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// A ULID.
    pub id: String,
    pub task: String,
    /// Place of the call in its task.
    pub step: u32,
    pub conversation: Option<String>,
    pub requester: Requester,
    /// What was said, at most 500 characters; heard, not verified.
    pub utterance: String,
    /// The exact bytes that the hash covers.
    pub plan_json: String,
    pub plan_hash: String,
    pub policy_version: String,
    pub device_hash: String,
    pub tier: Tier,
    pub reasons: Vec<String>,
    /// Source of free text from outside that entered the context since the command.
    pub taint: Option<String>,
    /// What the targets reported when it was asked.
    pub precondition: Vec<Snapshot>,
    /// Two digits, shown wherever the question is shown.
    pub match_code: String,
    pub created: Moment,
    pub expires_at: DateTime<Utc>,
    pub expires_since_boot: Duration,
    pub state: ApprovalState,
    pub wrong_hashes: u32,
    /// From the authenticated session, never from a message.
    pub decided_by: Option<String>,
    pub decided_via: Option<String>,
    pub decided_at: Option<DateTime<Utc>>,
    pub outcome: Option<String>,
}

/// Who caused the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requester {
    pub principal: String,
    pub channel: Channel,
    /// The satellite or area that it came from.
    pub device: Option<String>,
}

/// One target's state at the time of asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub entity: EntityId,
    pub value: Option<String>,
    /// Whether the value was a live report of a device that could be reached.
    pub known: bool,
    pub reported_at: Option<DateTime<Utc>>,
}

/// How far the wall clock may stand before the time of asking.
const BACKWARDS: TimeDelta = TimeDelta::seconds(5);
/// How far the two clocks may run apart before neither is believed.
const JUMP: TimeDelta = TimeDelta::seconds(60);

impl Approval {
    /// Whether the time to decide or to dispatch is over: by either clock, or because the wall clock was stepped.
    /// Across a boot of the machine only the wall clock counts.
    pub fn expired(&self, now: &Moment) -> bool {
        if now.wall >= self.expires_at || now.wall < self.created.wall - BACKWARDS {
            return true;
        }
        if now.boot_id != self.created.boot_id {
            return false;
        }
        now.since_boot >= self.expires_since_boot || self.clock_jumped(now)
    }

    fn clock_jumped(&self, now: &Moment) -> bool {
        let by_wall = now.wall - self.created.wall;
        let by_boot = now.since_boot.saturating_sub(self.created.since_boot);
        let by_boot = TimeDelta::from_std(by_boot).unwrap_or(TimeDelta::MAX);
        (by_wall - by_boot).abs() > JUMP
    }

    /// Whether it was approved too long ago to be dispatched.
    pub fn too_late_to_dispatch(&self, now: &Moment, settings: &ApprovalSettings) -> bool {
        let limit = TimeDelta::seconds(i64::try_from(settings.dispatch_s).unwrap_or(30));
        self.decided_at.is_none_or(|at| now.wall - at > limit || now.wall < at - BACKWARDS)
    }

    /// Whole seconds until it expires, by the wall clock.
    pub fn seconds_left(&self, now: &Moment) -> i64 {
        (self.expires_at - now.wall).num_seconds().max(0)
    }
}

/// Times and limits of approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalSettings {
    /// Seconds in which a person can decide; at most 600.
    pub ttl_s: u64,
    /// Seconds from the approval to the first byte.
    pub dispatch_s: u64,
    pub per_requester: u32,
    pub total: u32,
    /// Wrong hashes on one approval that deny it.
    pub wrong_hashes: u32,
    /// Seconds in which a denied (verb, target) is not asked again in the same command.
    pub cool_down_s: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { ttl_s: 120, dispatch_s: 30, per_requester: 3, total: 5, wrong_hashes: 5, cool_down_s: 600 }
    }
}

#[cfg(test)]
mod tests;
