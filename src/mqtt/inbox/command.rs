//! A command: plain text, or a JSON object with more about it.

use chrono::{DateTime, Utc};

use super::{MAX_AGE, MAX_TEXT, Rejection, ReplyTo, check_age, choose_reply, short};
use crate::strict_json::{Fields, parse};

/// A command as it came, not yet a task.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandMessage {
    /// Not empty, without spaces at the ends, at most [`MAX_TEXT`] characters.
    pub text: String,
    /// The sender's own id. It names a repetition only together with who sent it.
    pub id: Option<String>,
    pub area: Option<String>,
    /// A hint, never a principal.
    pub user: Option<String>,
    pub language: Option<String>,
    pub conversation: Option<String>,
    pub issued_at: Option<DateTime<Utc>>,
    pub reply_to: Option<ReplyTo>,
    /// The account that the embedded broker authenticated.
    pub sender: Option<String>,
}

pub(super) fn read(
    payload: &str,
    now: DateTime<Utc>,
    reply: Option<ReplyTo>,
    sender: Option<String>,
) -> Result<CommandMessage, Rejection> {
    let payload = payload.trim_start_matches('\u{feff}').trim();
    if !is_json(payload) {
        return Ok(CommandMessage {
            text: check_text(payload)?,
            id: None,
            area: None,
            user: None,
            language: None,
            conversation: None,
            issued_at: None,
            reply_to: reply,
            sender,
        });
    }
    let mut fields = Fields::parse(payload.as_bytes())?;
    let command = CommandMessage {
        text: check_text(fields.required_text("text")?.trim())?,
        id: short("id", fields.text("id")?)?,
        area: short("area", fields.text("area")?)?,
        user: short("user", fields.text("user")?)?,
        language: short("language", fields.text("language")?)?,
        conversation: short("conversation", fields.text("conversation")?)?,
        issued_at: fields.time("issued_at")?,
        reply_to: choose_reply(reply, fields.text("reply_to")?),
        sender,
    };
    // Chat programs name the speaker; whoever speaks to us is the user.
    fields.text("role")?;
    fields.end()?;
    check_age(command.issued_at, now, MAX_AGE)?;
    Ok(command)
}

/// Whether a message in a conversation is an answer, ours or another program's. With MQTT 3.1.1 a broker sends us our
/// own words back, and they must not become commands.
pub(super) fn is_answer(payload: &[u8]) -> bool {
    let is_object = payload.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    is_object
        && serde_json::from_slice::<serde_json::Value>(payload)
            .is_ok_and(|value| value.get("role").is_some_and(|role| role.as_str() != Some("user")))
}

/// Whether a payload means to be JSON. Speech recognition writes `[MUSIC]`, which is text.
fn is_json(payload: &str) -> bool {
    payload.starts_with('{') || (payload.starts_with('[') && parse(payload.as_bytes()).is_ok())
}

fn check_text(text: &str) -> Result<String, Rejection> {
    if text.is_empty() {
        return Err(Rejection::Empty);
    }
    let chars = text.chars().count();
    if chars > MAX_TEXT {
        return Err(Rejection::TooLong(chars));
    }
    if text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(Rejection::Control("the text"));
    }
    Ok(text.to_owned())
}
