//! `POST /api/commands`: what a person typed or said, until its one result.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::{self, HeaderMap};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::json;

use super::{MAX_COMMAND_CHARS, named};
use crate::http::access::Caller;
use crate::http::disconnect::Disconnect;
use crate::http::fault::Fault;
use crate::http::service::{NewCommand, TaskHandle};
use crate::http::views::{CommandRequest, ErrorView, TaskProgress, TaskView};
use crate::http::{Shared, sse};
use crate::strict_json::{Fields, JsonError};

/// How long an answer that is no stream waits for the result, where the client does not say.
const WAIT: Duration = Duration::from_secs(300);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// A command and how its sender wants the answer.
struct Wish {
    command: NewCommand,
    wait: Duration,
    /// `None`: as the settings say.
    cancel_on_disconnect: Option<bool>,
}

#[utoipa::path(
    post, path = "/api/commands", tag = "commands",
    request_body(content = CommandRequest, examples(
        ("a light" = (value = json!({"text": "turn the kitchen light on", "area": "kitchen"}))),
        ("in Chinese, without waiting" = (value = json!({"text": "我要睡觉了", "language": "zh", "wait_s": 0}))),
        ("once only" = (value = json!({"id": "button-17", "text": "close the blinds", "on_disconnect": "cancel"}))),
    )),
    responses(
        (status = 200, body = TaskView, description = "The one result"),
        (status = 202, body = TaskView, description = "The task so far; see the Location header"),
        (status = 400, body = ErrorView, description = "Wrong in form, or rejected with the reason"),
        (status = 413, body = ErrorView, description = "Too long"),
        (status = 429, body = ErrorView, description = "Busy"),
    ),
)]
/// Runs a command.
///
/// With `Accept: text/event-stream` the task's events are streamed (`task`, then one `event` each) and the `result`
/// comes last; else the answer is the result, or (202) the task so far when `wait_s` is over.
pub async fn submit(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let wish = read(&body)?;
    let text = wish.command.text.clone();
    let task = shared.service.submit(wish.command, caller.principal.clone()).await?;
    let opened = TaskView::opened(&task.task_id, text, &caller.principal, shared.clock.now());
    let cancel = wish.cancel_on_disconnect.unwrap_or(shared.settings.cancel_on_disconnect);
    let watch = Disconnect::new(&shared, &task, caller.principal, cancel);
    if wants_stream(&headers) {
        Ok(stream_task(&shared, task, watch))
    } else {
        wait_for_result(&shared, task, watch, wish.wait, opened).await
    }
}

fn read(body: &[u8]) -> Result<Wish, Fault> {
    let mut fields = Fields::parse(body)?;
    let command = NewCommand {
        text: fields.required_text("text")?,
        id: named("id", fields.text("id")?, 128)?,
        area: named("area", fields.text("area")?, 64)?,
        language: named("language", fields.text("language")?, 35)?,
        conversation: named("conversation", fields.text("conversation")?, 128)?,
        user_hint: named("user", fields.text("user")?, 64)?,
        issued_at: fields.time("issued_at")?,
    };
    let wait = fields.whole("wait_s")?.map_or(WAIT, Duration::from_secs);
    let on_disconnect = fields.text("on_disconnect")?;
    fields.end()?;
    check_text(&command.text)?;
    if wait > LONGEST_WAIT {
        return Err(JsonError::new("wait_s", format!("expected 0 to {}", LONGEST_WAIT.as_secs())).into());
    }
    let cancel_on_disconnect = match on_disconnect.as_deref() {
        None => None,
        Some("continue") => Some(false),
        Some("cancel") => Some(true),
        Some(_) => return Err(JsonError::new("on_disconnect", "expected continue or cancel").into()),
    };
    Ok(Wish { command, wait, cancel_on_disconnect })
}

/// Refuses a text that cannot be a command.
pub fn check_text(text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        return Err(Fault::new(StatusCode::BAD_REQUEST, "empty", "rejected: empty"));
    }
    let length = text.chars().count();
    if length > MAX_COMMAND_CHARS {
        let message = format!("the command has {length} characters; at most {MAX_COMMAND_CHARS} are taken");
        return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    Ok(())
}

fn wants_stream(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/event-stream"))
}

fn stream_task(shared: &Shared, task: TaskHandle, watch: Disconnect) -> Response {
    let opened = json!({"task_id": task.task_id, "repeated": task.repeated});
    let result = task.result;
    // The last step owns the watch: a stream that is dropped before it drops the watch with it.
    let last = stream::once(async move {
        let view = result.await;
        watch.finished();
        sse::event("result", &view)
    });
    let events = stream::iter([sse::event("task", &opened)])
        .chain(task.events.map(|event| sse::event("event", &event)))
        .chain(last);
    sse::respond(shared, events)
}

async fn wait_for_result(
    shared: &Shared,
    task: TaskHandle,
    watch: Disconnect,
    wait: Duration,
    opened: TaskView,
) -> Result<Response, Fault> {
    let task_id = task.task_id;
    let mut result = pin!(task.result);
    let view = match tokio::time::timeout(wait, result.as_mut()).await {
        Ok(view) => view,
        Err(_) => match shared.service.task(&task_id).await? {
            Some(view) => TaskView { events: Vec::new(), ..view },
            // Taken and not begun yet: others are before it.
            None => opened,
        },
    };
    watch.finished();
    let status = match view.state {
        TaskProgress::Finished => StatusCode::OK,
        TaskProgress::Running | TaskProgress::Waiting => StatusCode::ACCEPTED,
    };
    let mut response = (status, Json(view)).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/api/tasks/{task_id}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}
