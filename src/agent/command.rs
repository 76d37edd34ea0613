//! What a person said or typed, and who and where that was.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::model::Planned;
use crate::policy::Principal;

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
    /// What to do, already understood: a schedule that fires, a call of another program. `text` is then only its
    /// description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Planned>,
}
