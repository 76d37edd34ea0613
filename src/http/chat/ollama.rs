//! `/api/version`, `/api/tags` and `/api/chat`, as Ollama's API documentation describes them.
//! <https://github.com/ollama/ollama/blob/main/docs/api.md>

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::openai::notice;
use super::{Asked, MODEL, Piece, one_answer, pieces, read, reply, submit};
use crate::clock::Clock;
use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::service::TaskHandle;
use crate::http::views::TaskView;

/// The version of Ollama whose API is spoken; clients look at it to know what they may use.
const SPOKEN: &str = "0.12.0";

#[utoipa::path(get, path = "/api/version", tag = "chat", responses((status = 200)))]
/// The version of Ollama's API that is spoken.
pub async fn version() -> impl IntoResponse {
    Json(json!({"version": SPOKEN}))
}

#[utoipa::path(get, path = "/api/tags", tag = "chat", responses((status = 200)))]
/// The models, as Ollama lists them: one, which is no file.
pub async fn tags(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let name = format!("{MODEL}:latest");
    let digest: String =
        Sha256::digest(env!("CARGO_PKG_VERSION")).iter().map(|byte| format!("{byte:02x}")).collect();
    let details = json!({
        "parent_model": "", "format": "", "family": MODEL, "families": [MODEL], "parameter_size": "",
        "quantization_level": "",
    });
    let modified_at = shared.clock.now();
    let model = json!({
        "name": name, "model": name, "modified_at": modified_at, "size": 0, "digest": digest, "details": details,
    });
    Json(json!({"models": [model]}))
}

#[utoipa::path(
    post, path = "/api/chat", tag = "chat",
    request_body(content = serde_json::Value, examples(
        ("a command" = (value = json!({
            "model": "homeloop",
            "messages": [{"role": "user", "content": "turn the kitchen light on"}],
            "stream": false,
        }))),
        ("streamed" = (value = json!({
            "model": "homeloop:latest",
            "messages": [{"role": "user", "content": "open the blinds"}],
        }))),
    )),
    responses((status = 200), (status = 400), (status = 404)),
)]
/// As Ollama's chat: runs the newest message as a command; streams lines of JSON unless `stream` is false.
pub async fn chat(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, OllamaFault> {
    let asked = read(&body, &caller)?;
    let task = submit(&shared, caller, &asked).await?;
    let chat = Chat { clock: shared.clock.clone(), begun: shared.clock.since_boot().as_nanos() };
    let mut response = if asked.stream == Some(false) {
        let (text, view) = one_answer(task).await;
        Json(chat.last(text, view.as_ref(), &asked.notices)).into_response()
    } else {
        let body = Body::from_stream(chat.lines(task, &asked).map(Ok::<_, Infallible>));
        ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
    };
    notice(&mut response, &asked.notices);
    Ok(response)
}

/// A fault in Ollama's shape: the error is a text.
pub struct OllamaFault(Fault);

impl From<Fault> for OllamaFault {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

impl IntoResponse for OllamaFault {
    fn into_response(self) -> Response {
        let text = json!({"error": self.0.message});
        let mut response = self.0.into_response();
        *response.body_mut() = Body::from(text.to_string());
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response
    }
}

struct Chat {
    clock: Clock,
    /// Nanoseconds since boot.
    begun: u128,
}

impl Chat {
    /// The first line leaves at once; each sentence is a line; the last one says that it is over.
    fn lines(self, task: TaskHandle, asked: &Asked) -> impl Stream<Item = String> + Send + 'static {
        let first = self.line("");
        let notices = asked.notices.clone();
        let rest = pieces(task).map(move |piece| match piece {
            Piece::Interim(text) => format!("{}\n", self.line(&text)),
            Piece::End(view) => {
                let last = self.last(String::new(), Some(&view), &notices);
                format!("{}\n{last}\n", self.line(&reply(&view)))
            }
        });
        stream::iter([format!("{first}\n")]).chain(rest)
    }

    fn line(&self, text: &str) -> Value {
        json!({
            "model": MODEL,
            "created_at": self.clock.now(),
            "message": {"role": "assistant", "content": text},
            "done": false,
        })
    }

    fn last(&self, text: String, view: Option<&TaskView>, notices: &[&str]) -> Value {
        let spent = self.clock.since_boot().as_nanos().saturating_sub(self.begun);
        let spent = u64::try_from(spent).unwrap_or(u64::MAX);
        let usage = view.map(|view| view.usage).unwrap_or_default();
        json!({
            "model": MODEL,
            "created_at": self.clock.now(),
            "message": {"role": "assistant", "content": text},
            "done": true,
            "done_reason": "stop",
            "total_duration": spent,
            "load_duration": 0,
            "prompt_eval_count": usage.input_tokens,
            "prompt_eval_duration": 0,
            "eval_count": usage.output_tokens,
            "eval_duration": spent,
            "notices": notices,
        })
    }
}
