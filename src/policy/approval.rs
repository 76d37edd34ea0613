//! One durable question to a person about one plan, and the answer.

use serde::{Deserialize, Serialize};

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
