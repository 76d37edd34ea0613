//! Stop one task or all. Stopping must be easy: plain words do, and nothing at all means everything.

use chrono::{DateTime, Utc};

use super::{MAX_AGE, Rejection, ReplyTo, check_age, choose_reply};
use crate::mqtt::topics::is_id;
use crate::strict_json::{Fields, JsonError};

#[derive(Debug, Clone, PartialEq)]
pub struct StopMessage {
    pub what: StopWhat,
    pub reply_to: Option<ReplyTo>,
    /// The account that the embedded broker authenticated.
    pub sender: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopWhat {
    All,
    /// The task with this id.
    Task(String),
}

/// `all`, a task's id, nothing (all), or `{task?, issued_at?, reply_to?}`.
pub(super) fn read(
    payload: &str,
    now: DateTime<Utc>,
    reply: Option<ReplyTo>,
    sender: Option<String>,
) -> Result<StopMessage, Rejection> {
    let payload = payload.trim();
    if !payload.starts_with('{') {
        return Ok(StopMessage { what: what(payload)?, reply_to: reply, sender });
    }
    let mut fields = Fields::parse(payload.as_bytes())?;
    let task = fields.text("task")?;
    let issued_at = fields.time("issued_at")?;
    let reply_to = choose_reply(reply, fields.text("reply_to")?);
    fields.end()?;
    check_age(issued_at, now, MAX_AGE)?;
    Ok(StopMessage { what: what(task.as_deref().unwrap_or_default())?, reply_to, sender })
}

fn what(name: &str) -> Result<StopWhat, Rejection> {
    match name {
        "" => Ok(StopWhat::All),
        all if all.eq_ignore_ascii_case("all") => Ok(StopWhat::All),
        task if is_id(task) => Ok(StopWhat::Task(task.to_owned())),
        _ => Err(JsonError::new("", "expected \"all\" or the id of a task").into()),
    }
}
