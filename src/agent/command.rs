//! What a person said or typed, and who and where that was.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A command with its origin. Made by a channel; the text is the person's, everything else is the channel's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// ULID of the task, made here.
    pub task: String,
    /// The sender's own id, where it gave one: a repeated id gets the first result again.
    pub id: Option<String>,
    pub text: String,
    pub origin: Principal,
    /// Area id of the caller (the satellite's room), where known.
    pub area: Option<String>,
    /// BCP 47 primary tag (`en`, `zh`); `None`: taken from the text.
    pub language: Option<String>,
    pub conversation: Option<String>,
    /// A name given in the message. A hint for the reply, never a principal.
    pub user_hint: Option<String>,
    pub at: DateTime<Utc>,
}

/// Who asks, as the connection, token or configured channel says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// `token:phone`, `mqtt`, `mqtt:anna`, `voice:kitchen`, `schedule:01J…`, `local`.
    pub name: String,
    pub channel: Channel,
    pub scopes: Vec<Scope>,
}

impl Principal {
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// The way a command came in. Policy may raise by it; nothing is ever lowered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The command line and the demo's prompt, on the machine itself.
    Local,
    Http,
    Mqtt,
    Voice,
    Chat,
    Mcp,
    HomeAssistant,
    Schedule,
    Evaluation,
}

/// What a credential allows. Agent, MCP, voice and device credentials never hold `Approve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Read,
    Command,
    Approve,
    Admin,
}
