//! The events of a task: what the journal holds and what channels are shown. The state of a task is a fold over them.

use serde::{Deserialize, Serialize};

use super::budget::Period;
use super::command::Command;
use crate::actuate::{Ledger, OutcomeEntry};
use crate::home::{Action, EntityId};
use crate::model::{Stop, ToolCall, Usage};
use crate::policy::{Decision, Verdict};

/// Id of a tool call within its task. The model's own id is kept in the [`ToolCall`]; this one is unique and ours:
/// `<turn>.<index>`.
pub type CallId = String;

/// One thing that happened in a task, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Always the first. Published as `accepted`.
    Accepted { command: Command },
    /// A turn was asked of a model.
    TurnStarted {
        turn: u32,
        model: String,
        /// The budget that is spent, so that the offline understanding alone takes this turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Period>,
        /// The entity whose free text an earlier exchange of the conversation had read, where the model is shown that
        /// exchange: what was repeated there taints this task too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taint: Option<String>,
    },
    /// A call that starts while the model still speaks. [`Event::ModelSaid`] names it again with the others.
    Called { turn: u32, call: CallId, tool: ToolCall },
    /// What the model said in that turn; only complete calls are in it.
    ModelSaid {
        turn: u32,
        text: String,
        calls: Vec<(CallId, ToolCall)>,
        stop: Stop,
        usage: Usage,
        /// Who took the turn, where a router chose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Whether homeloop's own understanding said it: then the text comes from states and outcomes.
        #[serde(default)]
        own: bool,
    },
    /// The turn failed for good (after retries and fallbacks).
    ModelFailed {
        turn: u32,
        error: String,
        #[serde(default)]
        failure: Failure,
        /// Attempts that failed are paid for too.
        #[serde(default)]
        usage: Usage,
    },
    /// A call became a plan, and policy decided about it.
    Decided {
        call: CallId,
        plan_hash: String,
        actions: Vec<Action>,
        decision: Decision,
        tier: String,
        reasons: Vec<String>,
    },
    /// A person must be told now. Never the last word of a task.
    Interim { text: String },
    /// A question to a person about one plan, stored and published.
    ApprovalAsked {
        call: CallId,
        approval: String,
        plan_hash: String,
        match_code: String,
        expires_at: chrono::DateTime<chrono::Utc>,
    },
    /// How it ended. `by` is the decider's own credential.
    ApprovalEnded { call: CallId, approval: String, verdict: Verdict, by: Option<String> },
    /// The intention to send, on disk before the bytes leave.
    Sending {
        call: CallId,
        entity: EntityId,
        plan_hash: String,
        action: Action,
        /// Whether a person approved it: then this event is on disk before the bytes leave.
        #[serde(default)]
        gated: bool,
    },
    /// What the house said about one entity of a call.
    Outcome { call: CallId, entry: OutcomeEntry },
    /// The call's single result, as the model sees it.
    CallResult {
        call: CallId,
        content: String,
        is_error: bool,
        /// The entity whose free text is in the content, if any: it raises what policy asks (SAFETY.md, taint).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taint: Option<String>,
    },
    /// Always the last.
    Finished { exit: Exit, reply: String, ledger: Ledger, usage: Usage },
}

impl Event {
    /// The word under which the journal keeps it.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Accepted { .. } => "accepted",
            Event::TurnStarted { .. } => "turn_started",
            Event::Called { .. } => "called",
            Event::ModelSaid { .. } => "model_said",
            Event::ModelFailed { .. } => "model_failed",
            Event::Decided { .. } => "decided",
            Event::Interim { .. } => "interim",
            Event::ApprovalAsked { .. } => "approval_asked",
            Event::ApprovalEnded { .. } => "approval_ended",
            Event::Sending { .. } => "sending",
            Event::Outcome { .. } => "outcome",
            Event::CallResult { .. } => "call_result",
            Event::Finished { .. } => "finished",
        }
    }

    /// The entities that it is about, for "why is the hall light on?".
    pub fn entities(&self) -> Vec<&str> {
        match self {
            Event::Decided { actions, .. } => actions.iter().map(|action| action.entity.as_str()).collect(),
            Event::Sending { entity, .. } => vec![entity.as_str()],
            Event::Outcome { entry, .. } => vec![entry.action.entity.as_str()],
            Event::Accepted { .. }
            | Event::TurnStarted { .. }
            | Event::Called { .. }
            | Event::ModelSaid { .. }
            | Event::ModelFailed { .. }
            | Event::Interim { .. }
            | Event::ApprovalAsked { .. }
            | Event::ApprovalEnded { .. }
            | Event::CallResult { .. }
            | Event::Finished { .. } => Vec::new(),
        }
    }

    /// Whether it must be on disk before anything follows from it.
    pub fn must_be_on_disk(&self) -> bool {
        match self {
            Event::Sending { gated, .. } => *gated,
            Event::ApprovalAsked { .. } | Event::ApprovalEnded { .. } => true,
            Event::Accepted { .. }
            | Event::TurnStarted { .. }
            | Event::Called { .. }
            | Event::ModelSaid { .. }
            | Event::ModelFailed { .. }
            | Event::Decided { .. }
            | Event::Interim { .. }
            | Event::Outcome { .. }
            | Event::CallResult { .. }
            | Event::Finished { .. } => false,
        }
    }
}

/// Why a turn failed, as far as the loop can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No model could take it.
    #[default]
    Model,
    /// The conversation no longer fits the model: with less of it the model is asked again.
    ContextFull,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The model called no further tool.
    Done,
    /// The turn limit was reached.
    Turns,
    /// The call limit was reached.
    Calls,
    /// The time for work was spent.
    Deadline,
    /// The model or the daemon would not do it.
    Declined,
    /// No model could take the turn.
    ModelFailed,
    /// A person or a client stopped it.
    Cancelled,
    /// The daemon was stopped.
    Shutdown,
    /// A fault of ours; it is in the log.
    Internal,
    /// Tokens or money were spent.
    Budget,
    /// The same call again and again.
    Repetition,
    /// The conversation no longer fits the model.
    ContextFull,
    /// Too many malformed calls in a row.
    Malformed,
    /// The daemon stopped in the middle, and the rest could not be resumed.
    Interrupted,
}
