//! Who asks or answers, as the connection, token or configured channel says. Never as a message says.

use serde::{Deserialize, Serialize};

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
