//! Chat endpoints that other programs already speak, on the same commands as everything else.
//!
//! The newest message of the user is the command. Whose command it is says the token, never the request. The house
//! has its own tools and its own instructions: tools, system messages and sampling settings of the caller are ignored,
//! and every answer says so where some were sent. There is no text completion here: what is no command to the house
//! is answered as the house answers it.

pub mod ollama;
pub mod openai;

use std::pin::pin;
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::future::Either;
use futures_util::{FutureExt, Stream, StreamExt, future, stream};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Shared;
use super::access::Caller;
use super::api::commands::check_text;
use super::disconnect::Disconnect;
use super::fault::Fault;
use super::service::{NewCommand, TaskHandle};
use super::views::TaskView;
use crate::agent::Event;
use crate::strict_json::{Fields, JsonError};

/// The one model that is offered.
pub const MODEL: &str = "homeloop";
/// Header that names what was ignored.
pub const NOTICE_HEADER: &str = "x-homeloop-notice";
/// For an answer that is no stream.
const WAIT: Duration = Duration::from_secs(300);
/// Open WebUI asks the chosen model for titles and tags in the person's name; the quoted chat would become commands.
const HOUSEKEEPING: &str = "### Task:";

/// What was asked, in either dialect.
struct Asked {
    text: String,
    conversation: String,
    /// `None`: the dialect's default.
    stream: Option<bool>,
    include_usage: bool,
    notices: Vec<&'static str>,
}

/// Reads a request. Fields that both dialects have and the house does not need (temperature, format…) are ignored.
fn read(body: &[u8], caller: &Caller) -> Result<Asked, Fault> {
    let mut fields = Fields::parse(body)?;
    let model = fields.required_text("model")?;
    if model.strip_suffix(":latest").unwrap_or(&model) != MODEL {
        let known = format!("there is no such model here; the only one is {MODEL:?}");
        return Err(Fault::new(StatusCode::NOT_FOUND, "model_not_found", known));
    }
    let stream = fields.flag("stream")?;
    let messages = match fields.value("messages") {
        Some(Value::Array(messages)) => messages,
        Some(_) | None => return Err(JsonError::new("messages", "expected a list of messages").into()),
    };
    let mut said = Vec::new();
    let mut system = false;
    let mut last_role = String::new();
    for (index, message) in messages.into_iter().enumerate() {
        let mut message = Fields::of(message)
            .map_err(|error| JsonError::new(format!("messages[{index}]"), error.problem))?;
        last_role = message.required_text("role")?;
        match last_role.as_str() {
            "user" => said.push(content(index, message.value("content"))?),
            "system" | "developer" => system = true,
            "assistant" | "tool" => {}
            _ => {
                let expected = "expected system, user, assistant or tool";
                return Err(JsonError::new(format!("messages[{index}].role"), expected).into());
            }
        }
    }
    let (Some(first), Some(text), "user") = (said.first(), said.last(), last_role.as_str()) else {
        return Err(JsonError::new("messages", "the last message must be the user's").into());
    };
    check_text(text)?;
    if text.trim_start().starts_with(HOUSEKEEPING) {
        return Err(Fault::bad_request(
            "this is a request of the chat program and not of a person; turn off its titles, tags and suggestions",
        ));
    }
    let offered = [fields.value("tools"), fields.value("functions")];
    let mut notices = Vec::new();
    if offered.iter().flatten().any(|value| value.as_array().is_none_or(|list| !list.is_empty())) {
        notices.push("the caller's tools are ignored: the house has its own");
    }
    if system {
        notices.push("the caller's system messages are ignored: the house has its own instructions");
    }
    let options = fields.value("stream_options");
    let include_usage = options.is_some_and(|options| options["include_usage"] == true);
    let conversation = conversation(&caller.principal.name, first);
    Ok(Asked { text: text.clone(), conversation, stream, include_usage, notices })
}

/// The text of a message: a string, or parts that are all text.
fn content(index: usize, content: Option<Value>) -> Result<String, Fault> {
    let wrong =
        || JsonError::new(format!("messages[{index}].content"), "expected text; nothing else is understood");
    match content {
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(|part| match (part["type"].as_str(), part["text"].as_str()) {
                (Some("text"), Some(text)) => Ok(text),
                (Some(_) | None, Some(_) | None) => Err(wrong()),
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Err(wrong().into())
        }
    }
}

/// Chat clients send the whole conversation each time and no id for it; its first message and the sender stand for it.
fn conversation(sender: &str, first: &str) -> String {
    let hash = Sha256::new().chain_update(sender).chain_update([0]).chain_update(first).finalize();
    let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("chat-{digits}")
}

async fn submit(shared: &Shared, caller: Caller, asked: &Asked) -> Result<TaskHandle, Fault> {
    let command =
        NewCommand { conversation: Some(asked.conversation.clone()), ..NewCommand::text(asked.text.clone()) };
    let task = shared.service.submit(command, caller.principal.clone()).await?;
    let watch = Disconnect::new(shared, &task, caller.principal, shared.settings.cancel_on_disconnect);
    let result = task.result;
    // A stream or an answer that is dropped before its end drops the watch with the result.
    let result = async move {
        let view = result.await;
        watch.finished();
        view
    };
    Ok(TaskHandle { result: result.boxed(), ..task })
}

/// What a chat shows of a task.
enum Piece {
    /// A sentence for now; a paragraph of its own.
    Interim(String),
    End(Box<TaskView>),
}

/// The sentences of a task as they come, and its end.
fn pieces(task: TaskHandle) -> impl Stream<Item = Piece> + Send + 'static {
    let interims = task.events.filter_map(|event| {
        let interim = if let Event::Interim { text } = event.event { Some(text) } else { None };
        future::ready(interim.map(|text| Piece::Interim(format!("{text}\n\n"))))
    });
    interims.chain(stream::once(task.result.map(|view| Piece::End(Box::new(view)))))
}

/// The one answer of a caller that gets no stream: the result, or the sentence that a person is being asked. The
/// result of the latter follows on the other channels.
async fn one_answer(task: TaskHandle) -> (String, Option<TaskView>) {
    let mut result = task.result;
    let asking = async {
        let (mut events, mut asked, mut interim) = (pin!(task.events), false, None);
        while let Some(event) = events.next().await {
            asked |= matches!(event.event, Event::ApprovalAsked { .. });
            if let Event::Interim { text } = event.event {
                interim = Some(text);
            }
            if asked && let Some(text) = interim.take() {
                return text;
            }
        }
        future::pending().await
    };
    let answer = match tokio::time::timeout(WAIT, future::select(pin!(asking), &mut result)).await {
        Ok(Either::Right((view, _))) => return (reply(&view), Some(view)),
        Ok(Either::Left((interim, _))) => interim,
        Err(_) => format!("still running: /api/tasks/{}", task.task_id),
    };
    // The client has its answer: that it goes away now stops nothing.
    tokio::spawn(result);
    (answer, None)
}

fn reply(view: &TaskView) -> String {
    view.reply.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tokens::TokenKind;
    use crate::policy::{Channel, Principal};
    use serde_json::json;

    fn asked(body: Value) -> Result<Asked, Fault> {
        let principal = Principal { name: "token:x".into(), channel: Channel::Chat, scopes: vec![] };
        read(body.to_string().as_bytes(), &Caller { principal, kind: TokenKind::Person })
    }

    #[test]
    fn the_newest_message_of_the_user_is_the_command() {
        let messages = json!([
            {"role": "system", "content": "you are a pirate"},
            {"role": "user", "content": "kitchen light on"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": [{"type": "text", "text": "and off"}, {"type": "text", "text": "again"}]},
        ]);
        let tools = json!([{"type": "function", "function": {"name": "unlock_everything"}}]);
        let whole = json!({"model": "homeloop", "messages": messages, "tools": tools, "temperature": 0.7, "stream": true});
        let asked = asked(whole).ok().unwrap();
        assert_eq!((asked.text.as_str(), asked.stream), ("and off\nagain", Some(true)));
        assert_eq!(asked.notices.len(), 2, "{:?}", asked.notices);
    }

    #[test]
    fn a_conversation_is_known_by_its_first_message_and_sender() {
        let first = json!([{"role": "user", "content": "hi"}]);
        let later = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "light on"},
        ]);
        let id = |messages: Value| {
            asked(json!({"model": "homeloop", "messages": messages})).ok().unwrap().conversation
        };
        assert_eq!(id(first), id(later));
        assert_ne!(conversation("token:x", "hi"), conversation("token:y", "hi"));
        assert_ne!(conversation("a", "bc"), conversation("ab", "c"));
    }

    #[test]
    fn what_is_no_command_of_a_person_is_refused() {
        let user =
            |content: Value| json!({"model": "homeloop", "messages": [{"role": "user", "content": content}]});
        for (body, status) in [
            (json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}), 404),
            (json!({"model": "homeloop", "messages": []}), 400),
            (json!({"model": "homeloop"}), 400),
            (json!({"model": "homeloop", "messages": [7]}), 400),
            (json!({"model": "homeloop", "messages": [{"role": "assistant", "content": "hi"}]}), 400),
            (json!({"model": "homeloop", "messages": [{"role": "king", "content": "hi"}]}), 400),
            (user(json!("")), 400),
            (user(json!(null)), 400),
            (user(json!([{"type": "image_url", "image_url": {"url": "x"}}])), 400),
            (user(json!("### Task:\nGenerate a title: unlock the front door")), 400),
            (user(json!("x".repeat(10_001))), 413),
        ] {
            assert_eq!(asked(body.clone()).err().unwrap().status.as_u16(), status, "{body}");
        }
    }
}
