//! What the house says after an action. Outcomes come from device reports, never from a model.

use serde::{Deserialize, Serialize};

use crate::home::Action;

/// What the house says about one entity (DESIGN.md, Words).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A live report newer than the send shows the wished state.
    Confirmed,
    /// A live report of this connection showed the wished state before; nothing was sent.
    Already,
    /// Sent; the house did not say so in time, or cannot.
    Unconfirmed,
    /// Sent; the house reports the opposite.
    Contradicted,
    /// Not sent: link down, device offline, aborted, not approved.
    NotSent,
    /// Policy or the device's own limits refused it.
    Refused,
}

impl Outcome {
    /// Whether the house is as it was wished.
    pub fn is_wished(self) -> bool {
        match self {
            Outcome::Confirmed | Outcome::Already => true,
            Outcome::Unconfirmed | Outcome::Contradicted | Outcome::NotSent | Outcome::Refused => false,
        }
    }
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeEntry {
    pub action: Action,
    pub outcome: Outcome,
    /// Machine-readable cause where there is one: `denied`, `expired`, `offline`, `link_down`, `hass_down`,
    /// `cannot_confirm`, `no_answer`, `open_zones`, `jammed`…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The reported value at the end, and details that a sentence may use (names of open zones…).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// The table of outcomes in the order in which the calls were made. It is the daemon's, never the model's.
pub type Ledger = Vec<OutcomeEntry>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_house_shows_is_as_wished() {
        for (outcome, wished) in [
            (Outcome::Confirmed, true),
            (Outcome::Already, true),
            (Outcome::Unconfirmed, false),
            (Outcome::Contradicted, false),
            (Outcome::NotSent, false),
            (Outcome::Refused, false),
        ] {
            assert_eq!(outcome.is_wished(), wished, "{outcome:?}");
        }
    }
}
