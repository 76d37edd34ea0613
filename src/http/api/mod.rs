//! The REST API. Each file holds the handlers of one path; all of them run behind `access`.

pub mod approvals;
pub mod commands;
pub mod entities;
pub mod events;
pub mod grants;
pub mod health;
pub mod models;
pub mod schedules;
pub mod tasks;

use super::fault::Fault;
use crate::strict_json::JsonError;

/// Longest command text.
pub const MAX_COMMAND_CHARS: usize = 10_000;

/// A short text that names something: no control characters, at most `most` characters.
fn named(name: &'static str, text: Option<String>, most: usize) -> Result<Option<String>, Fault> {
    match &text {
        Some(text)
            if text.is_empty() || text.chars().count() > most || text.chars().any(char::is_control) =>
        {
            let expected = format!("expected 1 to {most} characters without control characters");
            Err(JsonError::new(name, expected).into())
        }
        Some(_) | None => Ok(text),
    }
}
