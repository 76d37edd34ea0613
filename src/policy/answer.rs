//! What a decision message must look like, and whether it may be believed.
//!
//! The decision is one of two exact words. A "yes" in a chat, on voice or anywhere else is no decision.

use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::principal::{Channel, Principal, Scope};
use crate::strict_json::{Fields, JsonError};

/// Largest decision message in bytes.
pub const ANSWER_BYTES: usize = 4096;
/// How far the time of a decision may be from now.
const DATED: TimeDelta = TimeDelta::seconds(60);

/// The only two decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWord {
    Approve,
    Deny,
}

impl AnswerWord {
    pub fn word(self) -> &'static str {
        match self {
            AnswerWord::Approve => "approve",
            AnswerWord::Deny => "deny",
        }
    }
}

/// One decision as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub approval_id: String,
    pub plan_hash: String,
    pub decision: AnswerWord,
    /// As written, since the HMAC covers the text.
    issued_at: String,
    issued: DateTime<Utc>,
    hmac: Option<String>,
}

/// Why a decision message is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    #[error("not a decision: {0}")]
    Malformed(#[from] JsonError),
    #[error("the decision has {0} bytes; at most {ANSWER_BYTES}")]
    TooLarge(usize),
    #[error("the decision is dated more than 60 s from now; check the sender's clock")]
    Dated,
    #[error("the HMAC is missing or is not this approver's for this decision")]
    Hmac,
}

impl Answer {
    /// Reads `{"v":1, "approval_id", "plan_hash", "decision", "issued_at", "hmac"?}`. Unknown or repeated fields, a
    /// missing hash and any other word are refused; `decided_by` is known and never looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadAnswer> {
        if bytes.len() > ANSWER_BYTES {
            return Err(BadAnswer::TooLarge(bytes.len()));
        }
        let mut fields = Fields::parse(bytes)?;
        if fields.whole("v")? != Some(1) {
            return Err(JsonError::new("v", "expected 1").into());
        }
        let approval_id = fields.required_text("approval_id")?;
        let plan_hash = fields.required_text("plan_hash")?;
        let decision = match fields.required_text("decision")?.as_str() {
            "approve" => AnswerWord::Approve,
            "deny" => AnswerWord::Deny,
            _ => return Err(JsonError::new("decision", "expected approve or deny").into()),
        };
        let issued_at = fields.required_text("issued_at")?;
        let issued = DateTime::parse_from_rfc3339(&issued_at)
            .map_err(|error| {
                JsonError::new("issued_at", format!("expected a time like 2026-11-29T18:02:11Z: {error}"))
            })?
            .to_utc();
        let hmac = fields.text("hmac")?;
        let _ = fields.value("decided_by");
        fields.end()?;
        Ok(Self { approval_id, plan_hash, decision, issued_at, issued, hmac })
    }

    /// Refuses a decision dated more than 60 s from `now`.
    pub fn check_time(&self, now: DateTime<Utc>) -> Result<(), BadAnswer> {
        if dated_far(self.issued, now) { Err(BadAnswer::Dated) } else { Ok(()) }
    }

    /// The approver whose key made the HMAC over `v1|id|plan_hash|decision|issued_at`, in hexadecimal digits.
    pub fn signed_by<'a>(
        &self,
        keys: impl IntoIterator<Item = (&'a str, &'a SecretString)>,
    ) -> Result<&'a str, BadAnswer> {
        let given = self.hmac.as_deref().and_then(unhex).ok_or(BadAnswer::Hmac)?;
        let text =
            format!("v1|{}|{}|{}|{}", self.approval_id, self.plan_hash, self.decision.word(), self.issued_at);
        for (name, key) in keys {
            let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.expose_secret().as_bytes()) else {
                continue;
            };
            mac.update(text.as_bytes());
            // Constant time.
            if mac.verify_slice(&given).is_ok() {
                return Ok(name);
            }
        }
        Err(BadAnswer::Hmac)
    }
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

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    text.as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
        let mut value = json!({"v": 1, "approval_id": "01A", "plan_hash": "ab".repeat(32), "decision": "approve",
            "issued_at": "2026-11-29T18:00:00Z"});
        change(&mut value);
        value.to_string().into_bytes()
    }

    fn sign(answer: &Answer, key: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
        let text = format!(
            "v1|{}|{}|{}|{}",
            answer.approval_id,
            answer.plan_hash,
            answer.decision.word(),
            answer.issued_at
        );
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn only_exact_decisions_are_read() {
        assert_eq!(Answer::parse(&message(|_| {})).unwrap().decision, AnswerWord::Approve);
        let with =
            |name: &str, value: serde_json::Value| Answer::parse(&message(|message| message[name] = value));
        for (name, value) in [
            ("decision", json!("yes")),
            ("decision", json!(true)),
            ("decision", json!("Approve")),
            ("decision", json!("approve ")),
            ("v", json!(2)),
            ("v", json!("1")),
            ("plan_hash", json!(null)),
            ("issued_at", json!("now")),
            ("extra", json!(1)),
        ] {
            assert!(with(name, value.clone()).is_err(), "{name} {value}");
        }
        assert!(Answer::parse(b"yes").is_err());
        assert!(Answer::parse(br#"{"v":1,"decision":"deny","decision":"approve"}"#).is_err());
        assert!(matches!(Answer::parse(&vec![b' '; ANSWER_BYTES + 1]), Err(BadAnswer::TooLarge(_))));
        for missing in ["v", "approval_id", "plan_hash", "decision", "issued_at"] {
            let bytes = message(|message| {
                message.as_object_mut().unwrap().shift_remove(missing);
            });
            assert!(Answer::parse(&bytes).is_err(), "without {missing}");
        }
    }

    #[test]
    fn s14_decided_by_in_the_body_is_ignored() {
        let plain = Answer::parse(&message(|_| {})).unwrap();
        let claims = Answer::parse(&message(|message| message["decided_by"] = json!("admin"))).unwrap();
        assert_eq!(plain, claims);
    }

    #[test]
    fn s7_decisions_dated_far_from_now_are_refused() {
        let answer = Answer::parse(&message(|_| {})).unwrap();
        let issued = answer.issued;
        for (seconds, fine) in
            [(0, true), (60, true), (-60, true), (61, false), (-61, false), (86_400, false)]
        {
            assert_eq!(answer.check_time(issued + TimeDelta::seconds(seconds)).is_ok(), fine, "{seconds}");
        }
    }

    #[test]
    fn s12_an_hmac_of_anything_else_is_refused() {
        let anna = SecretString::from("anna's key");
        let ben = SecretString::from("ben's key");
        let keys = || [("anna", &anna), ("ben", &ben)];
        let mut answer = Answer::parse(&message(|_| {})).unwrap();
        assert_eq!(answer.signed_by(keys()), Err(BadAnswer::Hmac), "none given");
        answer.hmac = Some(sign(&answer, "anna's key"));
        assert_eq!(answer.signed_by(keys()), Ok("anna"));
        assert_eq!(answer.signed_by([("ben", &ben)]), Err(BadAnswer::Hmac), "another approver's key");
        let changes: [fn(&mut Answer); 4] = [
            |answer| answer.decision = AnswerWord::Deny,
            |answer| answer.approval_id = "01B".into(),
            |answer| answer.plan_hash = "cd".repeat(32),
            |answer| answer.issued_at = "2026-11-29T18:00:01Z".into(),
        ];
        for change in changes {
            let mut other = answer.clone();
            change(&mut other);
            assert_eq!(other.signed_by(keys()), Err(BadAnswer::Hmac));
        }
        for odd in ["", "zz", &"é".repeat(32), &"0".repeat(63)] {
            answer.hmac = Some(odd.to_string());
            assert_eq!(answer.signed_by(keys()), Err(BadAnswer::Hmac), "{odd}");
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
