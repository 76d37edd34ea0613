//! Who DECIDES: the contract between the loop and anything that proposes tool calls.
//!
//! A model sees messages and tools and streams text and tool calls. It never acts: calls become plans in `actuate`.
//! Wire formats are private to one file each (`openai.rs`, `anthropic.rs`); `offline.rs` answers from `nlu`.

mod anthropic;
pub mod breaker;
mod http;
pub mod offline;
mod openai;
mod pairing;
pub mod prices;
pub mod probe;
mod provider;
pub mod redact;
mod relay;
mod report;
pub mod retry;
pub mod router;
pub mod settings;
pub mod sse;

pub use anthropic::Anthropic;
pub use offline::{Dialogues, OFFLINE, Offline};
pub use openai::OpenAi;
pub use report::{Report, name as spoken_name};
pub use router::Router;

use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::actuate::Ledger;
pub use crate::tools::{ToolCall, ToolSpec};

/// Something that can take a turn.
pub trait Model: Send + Sync {
    /// The name in settings, for the journal and the trajectory.
    fn name(&self) -> &str;

    /// Streams one turn. The stream ends after [`Delta::End`] or an error; dropping it aborts the request.
    ///
    /// An error takes nothing back: calls that were passed on before it are complete and stand, usage was spent.
    /// Text of an attempt that failed is never passed on.
    fn turn(&self, request: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>>;
}

/// Everything that a model may know for one turn.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// Byte-stable for the same home and settings: may be cached by the provider.
    pub system: Arc<str>,
    /// Sorted by name; byte-stable as `system`.
    pub tools: Arc<[ToolSpec]>,
    pub messages: Vec<Message>,
    pub tool_choice: ToolChoice,
    /// Largest number of tokens of the answer.
    pub max_tokens: u32,
    /// When the task's time for work is over: no retry and no waiting goes beyond it. `None`: only the model's own limits.
    pub deadline: Option<tokio::time::Instant>,
    /// Cancelled when nobody wants the answer any more. A provider then tells what was used so far, and ends.
    pub stop: tokio_util::sync::CancellationToken,
    /// The command and what came of it so far, for the offline model. Nothing of it goes to a provider.
    pub situation: Arc<Situation>,
}

/// What the offline model reads instead of messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Situation {
    pub task: String,
    pub text: String,
    /// As the command said; `None`: to be told from the text.
    pub language: Option<String>,
    /// Caller's area id.
    pub area: Option<String>,
    pub conversation: Option<String>,
    /// What to do, already understood.
    pub plan: Option<Planned>,
    /// A language model can be asked next: what the offline understanding could not find, or would have to ask the
    /// person about, goes there.
    pub leaves_questions: bool,
    /// Turns that were answered before this one.
    pub turns: usize,
    /// Outcomes so far, in the order of the calls.
    pub outcomes: Ledger,
    /// Names of the tools that were called so far, and their results.
    pub results: Vec<(String, String)>,
}

/// A command that needs no understanding any more. It goes through the same loop and door as any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planned {
    /// A schedule that fires: what was understood when it was made.
    Intents(Vec<crate::nlu::Intent>),
    /// One tool call, made by another program.
    Call(ToolCall),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    Auto,
    /// The last turn: the model must report. The tools stay in the request so that history stays valid.
    None,
}

/// One message of the conversation, in the providers' own terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    ToolResult {
        call_id: String,
        content: String,
        #[serde(default)]
        is_error: bool,
    },
}

/// A piece of a streamed turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Who takes the turn, by its name in settings. Comes again when another model takes over.
    Model(Arc<str>),
    Text(String),
    /// A call whose block is complete. Incomplete ones are never passed on.
    Call(ToolCall),
    /// Adds to earlier ones of the same turn: attempts that failed are paid for too.
    Usage(Usage),
    End(Stop),
}

/// Why the model stopped. It never decides whether the loop goes on: complete calls do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The turn ended by itself, with or without calls.
    Ended,
    /// The token limit cut the answer.
    Truncated,
    Refused,
    /// The provider asks to be called again with what it has said so far.
    Paused,
}

/// Tokens and money of a turn, as the provider reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    /// Part of `input_tokens` that was read from the provider's cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of a US dollar, from the prices in settings.
    pub micro_dollars: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
        self.micro_dollars += other.micro_dollars;
    }
}

/// Why a turn failed. What follows from it is decided in `retry.rs` by one exhaustive match.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    #[error("could not connect to {endpoint}: {reason}")]
    Connect { endpoint: String, reason: String },
    #[error("the provider answered {status}: {message}")]
    Status { status: u16, message: String, retry_after: Option<std::time::Duration> },
    #[error("no {what} within {limit:?}")]
    TimedOut { what: Wait, limit: std::time::Duration },
    #[error("the stream was cut: {0}")]
    Cut(String),
    #[error("the conversation is too long for the model: {0}")]
    ContextFull(String),
    #[error("the answer is not of the agreed form: {0}")]
    Malformed(String),
    #[error("the model is not usable as configured: {0}")]
    Misconfigured(String),
    /// Only from the offline model: the command is not fully understood without a language model.
    #[error("not understood without a language model")]
    NotUnderstood {
        /// The honest answer, for when there is no language model to ask.
        reply: String,
    },
    #[error("all configured models are paused or failed: {0}")]
    NoneLeft(String),
}

/// What was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    FirstByte,
    Event,
    Whole,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Wait::FirstByte => "first byte",
            Wait::Event => "event",
            Wait::Whole => "complete answer",
        })
    }
}
