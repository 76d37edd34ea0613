//! What a failed request means, as a [`ModelError`].

use std::error::Error;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::model::ModelError;
use crate::model::sse::SseError;

/// Longest part of a provider's message that is kept, in characters.
const LONGEST_MESSAGE: usize = 300;
/// Longest error body that is read, in bytes.
const LONGEST_BODY: usize = 64 << 10;
/// How long an error body may take.
const BODY_TIME: Duration = Duration::from_secs(5);

/// No answer came.
pub(super) fn transport(url: &str, error: &reqwest::Error) -> ModelError {
    let reason = root_cause(error);
    if error.is_connect() || error.is_timeout() {
        ModelError::Connect { endpoint: host_of(url), reason }
    } else if error.is_builder() {
        ModelError::Misconfigured(format!("the request cannot be made: {reason}"))
    } else {
        ModelError::Cut(reason)
    }
}

/// The stream of an answer failed.
pub(super) fn of_stream(error: SseError) -> ModelError {
    match error {
        SseError::Body(reason) => ModelError::Cut(reason),
        SseError::EventTooLong | SseError::AnswerTooLong | SseError::NotEvents(_) => {
            ModelError::Malformed(error.to_string())
        }
    }
}

/// The provider answered with something other than success.
pub(super) async fn status(
    response: reqwest::Response,
    key: Option<&SecretString>,
    now: DateTime<Utc>,
) -> ModelError {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers(), now);
    let body = tokio::time::timeout(BODY_TIME, bounded(response)).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let parsed: Option<Value> = serde_json::from_str(&text).ok();
    let message = match parsed.as_ref().and_then(message_in) {
        Some(message) => message,
        None => text.into_owned(),
    };
    of_provider(status, &without_key(message, key), retry_after)
}

/// An error that a provider names by a number, in a status line or within a stream.
pub(in crate::model) fn of_provider(status: u16, message: &str, retry_after: Option<Duration>) -> ModelError {
    let message = readable(message);
    match says_too_long(status, &message) {
        true => ModelError::ContextFull(message),
        false => ModelError::Status { status, message, retry_after },
    }
}

/// The message in an error body: `{"error": {"message"}}`, `{"error": "…"}` or `{"message": "…"}`, with its code.
pub(in crate::model) fn message_in(body: &Value) -> Option<String> {
    let error = body.get("error").unwrap_or(body);
    let text = |key| error.get(key).and_then(Value::as_str);
    let message = error.as_str().or_else(|| text("message")).or_else(|| text("detail"))?;
    Some(match text("code").or_else(|| text("type")) {
        Some(code) => format!("{message} ({code})"),
        None => message.to_owned(),
    })
}

/// Phrases by which servers say that the conversation does not fit, in lower case.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length of only",
    "available context size",
    "context window",
    "context size exceeded",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "range of input length should be",
    "too many tokens in the prompt",
    "reduce the length of the messages",
    "request_too_large",
];

fn says_too_long(status: u16, message: &str) -> bool {
    let lower = message.to_lowercase();
    // Rate limits speak of tokens too, and must not be taken for a conversation that is too long.
    matches!(status, 400 | 413 | 422 | 500) && TOO_LONG.iter().any(|phrase| lower.contains(phrase))
}

/// `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = DateTime::parse_from_rfc2822(text).ok()?;
    // A date that has passed: at once.
    Some((date.with_timezone(&Utc) - now).to_std().unwrap_or(Duration::ZERO))
}

async fn bounded(mut response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST_BODY {
            body.truncate(LONGEST_BODY);
            break;
        }
    }
    body
}

fn without_key(message: String, key: Option<&SecretString>) -> String {
    match key.map(ExposeSecret::expose_secret) {
        Some(key) if message.contains(key) => message.replace(key, "[key]"),
        Some(_) | None => message,
    }
}

/// One line without control characters, cut.
fn readable(message: &str) -> String {
    let one_line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut kept: String =
        one_line.chars().filter(|character| !character.is_control()).take(LONGEST_MESSAGE).collect();
    if kept.is_empty() {
        kept.push_str("no message");
    }
    kept
}

/// Scheme and host, without anything that could be a secret.
fn host_of(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => "the configured address".to_owned(),
    }
}

/// The innermost error: "connection refused" rather than "error sending request".
pub(super) fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    readable(&cause.to_string())
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    #[test]
    fn what_is_too_long_is_recognised_from_many_servers() {
        for (status, message, too_long) in [
            (400, "This model's maximum context length is 128000 tokens. (context_length_exceeded)", true),
            (400, "prompt is too long: 210000 tokens > 200000 maximum (invalid_request_error)", true),
            (413, "Request exceeds the maximum size (request_too_large)", true),
            (400, "the request exceeds the available context size (exceed_context_size_error)", true),
            (500, "the request exceeds the available context size", true),
            (400, "Range of input length should be [1, 129024]", true),
            (429, "Rate limit reached: tokens per min, maximum context length", false),
            (400, "messages: roles must alternate (invalid_request_error)", false),
            (503, "context window service down", false),
        ] {
            let error = of_provider(status, message, None);
            assert_eq!(matches!(error, ModelError::ContextFull(_)), too_long, "{message}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Utc.with_ymd_and_hms(2026, 11, 29, 8, 0, 0).single().expect("a time");
        for (value, expected) in [
            ("30", Some(Duration::from_secs(30))),
            ("0.25", Some(Duration::from_millis(250))),
            ("Sun, 29 Nov 2026 08:01:00 GMT", Some(Duration::from_secs(60))),
            ("Sun, 29 Nov 2026 07:00:00 GMT", Some(Duration::ZERO)),
            ("-5", None),
            ("soon", None),
            ("inf", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", value.parse().expect("a header"));
            assert_eq!(retry_after(&headers, now), expected, "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn messages_are_found_cut_and_free_of_keys() {
        for (body, expected) in [
            (r#"{"error":{"message":"no","code":"bad_key"}}"#, Some("no (bad_key)")),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                Some("busy (overloaded_error)"),
            ),
            (r#"{"error":"plain"}"#, Some("plain")),
            (r#"{"message":"top"}"#, Some("top")),
            (r#"{"detail":"not found"}"#, Some("not found")),
            (r#"{"object":"x"}"#, None),
        ] {
            let body: Value = serde_json::from_str(body).expect("JSON");
            assert_eq!(message_in(&body).as_deref(), expected);
        }
        let key = SecretString::from("key-5150".to_owned());
        assert_eq!(without_key("wrong key: key-5150".to_owned(), Some(&key)), "wrong key: [key]");
        let long = readable(&format!("a\n\u{1b}[31m{}", "x".repeat(1_000)));
        assert!(long.chars().count() <= LONGEST_MESSAGE && !long.contains(['\n', '\u{1b}']));
        assert_eq!(host_of("https://user:pw@example.org/v1?key=1"), "https://example.org");
    }
}
