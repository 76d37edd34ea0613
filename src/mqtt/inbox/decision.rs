//! A person's decision on an approval. Strict to the letter: no natural language, no `true`, no field too many.

use std::fmt;

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::{MAX_SKEW, Rejection, ReplyTo, check_age};
use crate::mqtt::topics::is_id;
use crate::strict_json::{Fields, JsonError};

/// `{v: 1, approval_id, plan_hash, decision: "approve" | "deny", issued_at, hmac?}`, checked in form. Whether the sender
/// may decide is not known here: that is what [`DecisionMessage::sender`] or [`DecisionMessage::signed_with`] says.
#[derive(Clone, PartialEq)]
pub struct DecisionMessage {
    pub approval: String,
    /// SHA-256 as 64 lower-case hexadecimal digits.
    pub plan_hash: String,
    pub approve: bool,
    pub issued_at: DateTime<Utc>,
    pub reply_to: Option<ReplyTo>,
    /// The account that the embedded broker authenticated.
    pub sender: Option<String>,
    signature: Option<[u8; 32]>,
    signed_text: String,
}

impl fmt::Debug for DecisionMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionMessage")
            .field("approval", &self.approval)
            .field("approve", &self.approve)
            .field("sender", &self.sender)
            .field("signed", &self.signature.is_some())
            .finish_non_exhaustive()
    }
}

impl DecisionMessage {
    /// Whether the message carries the HMAC-SHA256 of `v1|id|plan_hash|decision|issued_at` under an approver's key.
    /// The comparison takes the same time for every wrong signature.
    pub fn signed_with(&self, key: &SecretString) -> bool {
        let Some(signature) = &self.signature else { return false };
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.expose_secret().as_bytes()) else {
            return false;
        };
        mac.update(self.signed_text.as_bytes());
        mac.verify_slice(signature).is_ok()
    }
}

pub(super) fn read(
    topic_id: &str,
    payload: &str,
    now: DateTime<Utc>,
    reply: Option<ReplyTo>,
    sender: Option<String>,
) -> Result<DecisionMessage, Rejection> {
    let mut fields = Fields::parse(payload.as_bytes())?;
    let version = fields.whole("v")?;
    let approval = fields.required_text("approval_id")?;
    let plan_hash = fields.required_text("plan_hash")?;
    let decision = fields.required_text("decision")?;
    // The text is signed as it was written, so it is kept beside the time that it means.
    let written = fields.required_text("issued_at")?;
    let hmac = fields.text("hmac")?;
    fields.end()?;
    if version != Some(1) {
        return Err(JsonError::new("v", "expected 1").into());
    }
    if !is_id(&approval) {
        return Err(JsonError::new("approval_id", "expected the id of an approval").into());
    }
    if approval != topic_id {
        return Err(Rejection::OtherApproval { named: approval, topic: topic_id.to_owned() });
    }
    if !is_hash(&plan_hash) {
        return Err(JsonError::new("plan_hash", "expected 64 lower-case hexadecimal digits").into());
    }
    let approve = match decision.as_str() {
        "approve" => true,
        "deny" => false,
        _ => return Err(JsonError::new("decision", "expected exactly \"approve\" or \"deny\"").into()),
    };
    let issued_at = DateTime::parse_from_rfc3339(&written)
        .map_err(|error| {
            JsonError::new("issued_at", format!("expected a time like 2026-11-29T18:02:11Z: {error}"))
        })?
        .to_utc();
    check_age(Some(issued_at), now, MAX_SKEW)?;
    let signature = hmac
        .map(|digits| {
            from_hex(&digits)
                .ok_or_else(|| JsonError::new("hmac", "expected 64 lower-case hexadecimal digits"))
        })
        .transpose()?;
    let signed_text = format!("v1|{approval}|{plan_hash}|{decision}|{written}");
    Ok(DecisionMessage {
        approval,
        plan_hash,
        approve,
        issued_at,
        reply_to: reply,
        sender,
        signature,
        signed_text,
    })
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    if !is_hash(text) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}
