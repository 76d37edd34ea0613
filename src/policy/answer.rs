//! Who may decide, and the only two words that do.
//!
//! A "yes" in a chat, on voice or anywhere else is no decision. Reading the message is the channel's part (`http`,
//! `mqtt`); whether it counts is decided by [`crate::actuate::Door::answer`].

use chrono::{DateTime, TimeDelta, Utc};

use super::principal::{Channel, Principal, Scope};

/// How far the time of a decision may be from now.
const DATED: TimeDelta = TimeDelta::seconds(60);

/// The only two decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWord {
    Approve,
    Deny,
}

/// Whether a decision's time is too far from now to be believed.
pub fn dated_far(issued: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    (now - issued).abs() > DATED
}

/// Whether this credential may decide at all: a person's, with the scope. Agents, MCP clients, voice, schedules and
/// devices may ask and never decide, whatever scopes they claim.
pub fn may_decide(who: &Principal) -> bool {
    let person = match who.channel {
        Channel::Local | Channel::Http | Channel::Mqtt => true,
        Channel::Voice
        | Channel::Chat
        | Channel::Mcp
        | Channel::HomeAssistant
        | Channel::Schedule
        | Channel::Evaluation => false,
    };
    person && who.has(Scope::Approve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s7_decisions_dated_far_from_now_are_refused() {
        let now = DateTime::UNIX_EPOCH;
        for (seconds, far) in [(0, false), (60, false), (-60, false), (61, true), (-61, true), (86_400, true)]
        {
            assert_eq!(dated_far(now, now + TimeDelta::seconds(seconds)), far, "{seconds}");
        }
    }

    #[test]
    fn s13_only_a_persons_credential_may_decide() {
        let who =
            |channel, scopes: &[Scope]| Principal { name: "x".into(), channel, scopes: scopes.to_vec() };
        let all = [Scope::Read, Scope::Command, Scope::Approve, Scope::Admin];
        for (channel, may) in [
            (Channel::Local, true),
            (Channel::Http, true),
            (Channel::Mqtt, true),
            (Channel::Voice, false),
            (Channel::Chat, false),
            (Channel::Mcp, false),
            (Channel::HomeAssistant, false),
            (Channel::Schedule, false),
            (Channel::Evaluation, false),
        ] {
            assert_eq!(may_decide(&who(channel, &all)), may, "{channel:?}");
            assert!(!may_decide(&who(channel, &[Scope::Read, Scope::Command, Scope::Admin])), "{channel:?}");
        }
    }
}
