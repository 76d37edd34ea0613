//! `/v1/models` and `/v1/chat/completions`, as OpenAI's API reference describes them.
//! <https://platform.openai.com/docs/api-reference/chat>

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use super::{Asked, MODEL, NOTICE_HEADER, Piece, one_answer, pieces, read, reply, submit};
use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::service::TaskHandle;
use crate::http::views::{ErrorView, TaskView};

#[utoipa::path(get, path = "/v1/models", tag = "chat", responses((status = 200)))]
/// The models, as OpenAI lists them: one.
pub async fn models() -> impl IntoResponse {
    Json(
        json!({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}]}),
    )
}

#[utoipa::path(
    post, path = "/v1/chat/completions", tag = "chat",
    request_body(content = serde_json::Value, examples(
        ("a command" = (value = json!({
            "model": "homeloop",
            "messages": [{"role": "user", "content": "turn the kitchen light on"}],
        }))),
        ("streamed" = (value = json!({
            "model": "homeloop",
            "messages": [{"role": "user", "content": "is the front door locked?"}],
            "stream": true,
        }))),
    )),
    responses((status = 200), (status = 400, body = ErrorView), (status = 404, body = ErrorView)),
)]
/// As OpenAI's chat completions: runs the newest message as a command; streams where `stream` is true.
pub async fn completions(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, Fault> {
    let asked = read(&body, &caller)?;
    let task = submit(&shared, caller, &asked).await?;
    let chat = Chat { task_id: task.task_id.clone(), created: shared.clock.now().timestamp() };
    let mut response = if asked.stream == Some(true) {
        let alive = KeepAlive::new().interval(shared.settings.limits.heartbeat);
        Sse::new(chat.chunks(task, &asked).map(Ok::<_, std::convert::Infallible>))
            .keep_alive(alive)
            .into_response()
    } else {
        chat.whole(task, &asked).await
    };
    notice(&mut response, &asked.notices);
    Ok(response)
}

/// Says in a header what was ignored.
pub(super) fn notice(response: &mut Response, notices: &[&'static str]) {
    for notice in notices {
        let name = HeaderName::from_static(NOTICE_HEADER);
        response.headers_mut().append(name, HeaderValue::from_static(notice));
    }
}

struct Chat {
    task_id: String,
    /// Seconds since 1970.
    created: i64,
}

impl Chat {
    async fn whole(&self, task: TaskHandle, asked: &Asked) -> Response {
        let (text, view) = one_answer(task).await;
        let choice = json!({
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        });
        let mut answer = self.object("chat.completion", json!([choice]));
        answer["usage"] = usage(view.as_ref());
        answer["homeloop"] = self.about(asked, view.as_ref());
        Json(answer).into_response()
    }

    /// The first chunk leaves at once; each sentence is a chunk; the last one says that it is over.
    fn chunks(self, task: TaskHandle, asked: &Asked) -> impl Stream<Item = Event> + Send + 'static {
        let mut first = self.chunk(json!({"role": "assistant", "content": ""}), None);
        first["homeloop"] = self.about(asked, None);
        let include_usage = asked.include_usage;
        let rest = pieces(task).flat_map(move |piece| {
            stream::iter(match piece {
                Piece::Interim(text) => vec![self.chunk(json!({"content": text}), None)],
                Piece::End(view) => {
                    let mut last = vec![
                        self.chunk(json!({"content": reply(&view)}), None),
                        self.chunk(json!({}), Some("stop")),
                    ];
                    if include_usage {
                        let mut told = self.object("chat.completion.chunk", json!([]));
                        told["usage"] = usage(Some(&view));
                        last.push(told);
                    }
                    last
                }
            })
        });
        let events = stream::iter([first]).chain(rest).map(|chunk| Event::default().data(chunk.to_string()));
        events.chain(stream::iter([Event::default().data("[DONE]")]))
    }

    fn chunk(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
        self.object("chat.completion.chunk", json!([choice]))
    }

    fn object(&self, kind: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.task_id),
            "object": kind,
            "created": self.created,
            "model": MODEL,
            "choices": choices,
        })
    }

    /// What OpenAI's shape has no place for.
    fn about(&self, asked: &Asked, view: Option<&TaskView>) -> Value {
        json!({
            "task_id": self.task_id,
            "notices": asked.notices,
            "outcomes": view.map(|view| &view.outcomes),
        })
    }
}

fn usage(view: Option<&TaskView>) -> Value {
    let usage = view.map(|view| view.usage).unwrap_or_default();
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}
