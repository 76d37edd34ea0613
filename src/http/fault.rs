//! One shape for every answer that is not a success.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::service::{AnswerError, CancelError, GrantError, StopError, SubmitError, Unavailable};
use super::views::{ErrorBody, ErrorView};
use crate::strict_json::JsonError;

/// A status with a word for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
    /// Seconds for `Retry-After`.
    pub retry_after: Option<u64>,
}

impl Fault {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The same answer for a missing, malformed, wrong or revoked token, so that none can be told from another.
    pub fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "a valid token is needed in the header \"Authorization: Bearer …\"",
        )
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    fn after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub fn too_many(message: impl Into<String>, seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message).after(seconds)
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let body = ErrorView { error: ErrorBody { code: self.code.to_owned(), message: self.message } };
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<JsonError> for Fault {
    fn from(error: JsonError) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<Unavailable> for Fault {
    fn from(error: Unavailable) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error.to_string()).after(5)
    }
}

impl From<SubmitError> for Fault {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Busy => Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", error.to_string()).after(2),
            SubmitError::TooFast { wait, .. } => Self::too_many(error.to_string(), wait.as_secs() + 1),
            SubmitError::Rejected { code, reason } => Self::new(StatusCode::BAD_REQUEST, code, reason),
            SubmitError::Unavailable(error) => error.into(),
        }
    }
}

impl From<AnswerError> for Fault {
    fn from(error: AnswerError) -> Self {
        let message = error.to_string();
        match error {
            AnswerError::NotFound => Self::not_found(message),
            AnswerError::WrongHash => Self::new(StatusCode::CONFLICT, "wrong_hash", message),
            AnswerError::AlreadyDecided(_) => Self::new(StatusCode::CONFLICT, "already_decided", message),
            AnswerError::Invalidated => Self::new(StatusCode::CONFLICT, "invalidated", message),
            AnswerError::Expired => Self::new(StatusCode::GONE, "expired", message),
            AnswerError::Forbidden => Self::forbidden(message),
            AnswerError::Stale => Self::new(StatusCode::BAD_REQUEST, "stale", message),
            AnswerError::Locked(seconds) => Self::too_many(message, seconds),
            AnswerError::Unavailable(error) => error.into(),
        }
    }
}

impl From<GrantError> for Fault {
    fn from(error: GrantError) -> Self {
        let message = error.to_string();
        match error {
            GrantError::NotLocal => Self::forbidden(message),
            GrantError::NotFound => Self::not_found(message),
            GrantError::Refused(_) => Self::bad_request(message),
            GrantError::Unavailable(error) => error.into(),
        }
    }
}

impl From<StopError> for Fault {
    fn from(error: StopError) -> Self {
        match error {
            StopError::NotFound => Self::not_found(error.to_string()),
            StopError::Unavailable(error) => error.into(),
        }
    }
}

impl From<CancelError> for Fault {
    fn from(error: CancelError) -> Self {
        let message = error.to_string();
        match error {
            CancelError::NotFound => Self::not_found(message),
            CancelError::Forbidden(_) => Self::forbidden(message),
            CancelError::Unavailable(error) => error.into(),
        }
    }
}
