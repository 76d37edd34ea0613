//! What the HTTP server needs from the daemon. The daemon implements [`Service`]; nothing in `http` knows how.
//!
//! Every call carries the [`Principal`] that the token proved, where it may change something. What a request says
//! about its sender is at most a hint.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::views::{
    AnnouncementView, ApprovalView, DiscoveryView, EntityView, GrantView, ModelsView, ScheduleView,
    TaskEvent, TaskView, WhyView,
};
use crate::policy::{Principal, Verdict};

/// The daemon as a client of it sees it. Futures may be dropped at any time: what was accepted goes on.
pub trait Service: Send + Sync + 'static {
    /// Opens a task, or finds the one that the same sender's `id` opened before. Returns once it is accepted.
    fn submit(&self, command: NewCommand, by: Principal) -> BoxFuture<'_, Result<TaskHandle, SubmitError>>;

    /// The newest `limit` tasks, newest first, without their events.
    fn tasks(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TaskView>, Unavailable>>;

    /// One task with its events so far.
    fn task<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskView>, Unavailable>>;

    /// The entities that match, in the order of their ids.
    fn entities(&self, filter: &EntityFilter) -> Vec<EntityView>;

    fn entity(&self, id: &str) -> Option<EntityView>;

    /// Why an entity is what it is, or why there is no such entity.
    fn why(&self, id: &str) -> Result<WhyView, String>;

    /// Announcements that wait for a person or were not accepted.
    fn discovery(&self) -> DiscoveryView;

    /// A person accepts what a suspended entity has become; says whether it was suspended.
    fn accept(&self, id: &str, by: Principal) -> bool;

    /// The approvals that wait for a person, oldest first.
    fn approvals(&self) -> BoxFuture<'_, Result<Vec<ApprovalView>, Unavailable>>;

    /// Answers one approval. Who decides is `by`, from the authenticated session. Compare-and-swap: of two answers
    /// one is taken.
    fn answer(&self, answer: Answer, by: Principal) -> BoxFuture<'_, Result<Verdict, AnswerError>>;

    /// Stops tasks and the movers that they started, without any model. Returns the ids of the tasks it stopped.
    fn stop(&self, target: StopTarget, by: Principal) -> BoxFuture<'_, Result<Vec<String>, StopError>>;

    /// The grants that have not ended.
    fn grants(&self) -> Vec<GrantView>;

    /// Gives leave in advance. Only a local principal with the scope admin can.
    fn give_grant(&self, grant: NewGrant, by: Principal) -> BoxFuture<'_, Result<GrantView, GrantError>>;

    fn revoke_grant<'a>(&'a self, id: &'a str, by: Principal) -> BoxFuture<'a, Result<(), GrantError>>;

    fn schedules(&self) -> BoxFuture<'_, Result<Vec<ScheduleView>, Unavailable>>;

    /// Removes a schedule, or says that this needs a person's approval.
    fn cancel_schedule<'a>(&'a self, id: &'a str, by: Principal) -> BoxFuture<'a, Result<(), CancelError>>;

    /// Takes back the removal of a schedule, within a day of it.
    fn restore_schedule<'a>(&'a self, id: &'a str, by: Principal) -> BoxFuture<'a, Result<(), CancelError>>;

    /// Everything that happens from now on. A reader that is too slow is told how much it lost.
    fn events(&self) -> BoxStream<'static, LiveEvent>;

    /// The language models and what they have cost.
    fn models(&self) -> BoxFuture<'_, Result<ModelsView, Unavailable>>;

    fn health(&self) -> Health;

    /// Metrics in the OpenMetrics text format.
    fn metrics(&self) -> String;
}

/// A command as a client sent it, checked in form only.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCommand {
    /// Not empty, at most [`super::api::MAX_COMMAND_CHARS`] characters.
    pub text: String,
    /// The sender's own id: repeating it never runs the command twice.
    pub id: Option<String>,
    pub area: Option<String>,
    pub language: Option<String>,
    pub conversation: Option<String>,
    /// A name in the message: for the reply, never a principal.
    pub user_hint: Option<String>,
    /// When the sender says it was issued; too old is refused.
    pub issued_at: Option<DateTime<Utc>>,
}

impl NewCommand {
    /// A command with a text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            id: None,
            area: None,
            language: None,
            conversation: None,
            user_hint: None,
            issued_at: None,
        }
    }
}

/// An accepted command.
pub struct TaskHandle {
    pub task_id: String,
    /// The task's events from its first on, also those that happened before; ends after the last.
    pub events: BoxStream<'static, TaskEvent>,
    /// The task with its one result.
    pub result: BoxFuture<'static, TaskView>,
    /// The id was known: this is the task that it opened first.
    pub repeated: bool,
}

/// Why no task was opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error("too many commands are waiting; try again soon")]
    Busy,
    #[error("more than {per_minute} commands in a minute; try again in {} s", wait.as_secs() + 1)]
    TooFast {
        per_minute: u32,
        /// Until the next one may come.
        wait: Duration,
    },
    /// `code` is machine-readable: `stale`, `unknown_area`, `empty`…
    #[error("{reason}")]
    Rejected { code: &'static str, reason: String },
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The daemon cannot do this now: it starts, stops, or its journal cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not available now: {0}")]
pub struct Unavailable(pub String);

/// Which entities are asked for; `None` is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityFilter {
    /// Area id.
    pub area: Option<String>,
    /// Domain word (`light`).
    pub domain: Option<String>,
}

/// A person's answer to an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub approval_id: String,
    /// Hash over the plan that the person saw.
    pub plan_hash: String,
    pub decision: AnswerWord,
    pub issued_at: Option<DateTime<Utc>>,
}

/// The only two words that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWord {
    Approve,
    Deny,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
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
    #[error("this credential may not decide")]
    Forbidden,
    /// `issued_at` is more than 60 s away from now.
    #[error("the decision is dated too far from now; check the sender's clock")]
    Stale,
    #[error("too many wrong answers from this credential; try again in {0} s")]
    Locked(u64),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopTarget {
    All,
    Task(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    #[error("no such task")]
    NotFound,
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Leave that somebody wants to give in advance, checked in form only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    pub entity: String,
    pub verbs: Vec<String>,
    pub principal: String,
    pub from: Option<DateTime<Utc>>,
    pub until: DateTime<Utc>,
    pub reason: String,
}

/// Why leave was not given or taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    #[error("a grant can only be given on the machine itself, by a person's token")]
    NotLocal,
    #[error("no such grant")]
    NotFound,
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why a schedule was not removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    #[error("no such schedule")]
    NotFound,
    #[error("not allowed: {0}")]
    Forbidden(String),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// One thing that happened, for those who watch everything.
#[derive(Debug, Clone)]
pub enum LiveEvent {
    Task(TaskEvent),
    /// An approval was asked, or ended (then with its verdict).
    Approval {
        approval: ApprovalView,
        verdict: Option<Verdict>,
    },
    State(EntityView),
    /// What became of an announcement.
    Announcement(AnnouncementView),
    /// The reader was too slow and lost this many.
    Lost(u64),
}

/// Whether commands can be served now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    pub ready: bool,
    /// Short words without addresses or names, since anybody may read them: `starting`, `broker_down`, `safe_mode`…
    pub reasons: Vec<String>,
}

/// What a model or another program sees as a tool, offered over MCP.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments: an object.
    pub schema: serde_json::Map<String, serde_json::Value>,
    /// Changes nothing in the house.
    pub read_only: bool,
    /// May open, unlock, heat or disarm something (G2).
    pub destructive: bool,
    /// Calling it twice is like calling it once.
    pub idempotent: bool,
}

/// Progress of a tool call: a sentence that a person may read.
pub type Progress = std::sync::Arc<dyn Fn(String) + Send + Sync>;

/// The tools of the daemon, called from outside through the same door. G3 is not among them.
pub trait ToolHost: Send + Sync + 'static {
    fn list(&self) -> Vec<ToolSpec>;

    /// Runs one call to its end. An approval that it needs is pointed to and never granted here.
    fn call<'a>(
        &'a self,
        name: &'a str,
        args: serde_json::Map<String, serde_json::Value>,
        by: Principal,
        progress: Progress,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>>;
}

/// The end of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// One sentence for people.
    pub text: String,
    /// The structured result, with the outcomes per entity.
    pub result: serde_json::Value,
    pub is_error: bool,
    /// The approval that the plan waits for, if it does.
    pub approval_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("no such tool: {0:?}")]
    Unknown(String),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
