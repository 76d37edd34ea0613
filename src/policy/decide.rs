//! One precedence function: from the rules and a plan to allow, ask or deny.

use serde::{Deserialize, Serialize};

/// Policy's answer for a whole plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}
