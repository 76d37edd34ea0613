//! OpenAI-compatible chat completions, streamed: OpenAI, DeepSeek, Qwen, OpenRouter, vLLM, llama.cpp, LM Studio,
//! Ollama's `/v1`.
//!
//! Reference: <https://platform.openai.com/docs/api-reference/chat-streaming>. Reasoning that some servers stream
//! beside the answer is not read. Requests without streaming are not made.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::Serialize;
use serde_json::{Map, Value};

use super::http::{Endpoint, KeyHeader};
use super::pairing::{self, Entry};
use super::redact::Redactor;
use super::settings::{MaxTokensField, ModelSettings};
use super::{Delta, Model, ModelError, ToolChoice, ToolSpec, TurnRequest};
use crate::clock::Clock;

mod answer;

/// A model behind an OpenAI-compatible server.
pub struct OpenAi {
    endpoint: Arc<Endpoint>,
    redactor: Arc<Redactor>,
}

impl OpenAi {
    /// `name` is the model's name in settings.
    pub fn new(name: &str, settings: ModelSettings, redactor: Arc<Redactor>, clock: Clock) -> Self {
        let endpoint = Endpoint::new(name, settings, "/chat/completions", KeyHeader::Bearer, &[], clock);
        Self { endpoint: Arc::new(endpoint), redactor }
    }

    fn body(&self, request: &TurnRequest) -> Result<Vec<u8>, ModelError> {
        let settings = self.endpoint.settings();
        let system = self.redactor.redact(&request.system);
        let conversation = pairing::conversation(&request.messages, &self.redactor);
        let mut messages = vec![WireMessage::System { content: &system }];
        for entry in &conversation {
            add_messages(entry, &mut messages);
        }
        let limit = Some(request.max_tokens);
        let (max_completion_tokens, max_tokens) = match settings.max_tokens_field {
            MaxTokensField::MaxCompletionTokens => (limit, None),
            MaxTokensField::MaxTokens => (None, limit),
        };
        let descriptions: Vec<_> =
            request.tools.iter().map(|tool| self.redactor.redact(&tool.description)).collect();
        let tools: Vec<WireTool<'_>> = request
            .tools
            .iter()
            .zip(&descriptions)
            .map(|(tool, description)| WireTool::new(tool, description))
            .collect();
        let body = WireRequest {
            model: &settings.model,
            stream: true,
            stream_options: settings.stream_usage.then_some(StreamOptions { include_usage: true }),
            max_completion_tokens,
            max_tokens,
            // Without tools a tool choice is refused by some servers; `auto` is what all of them take it to be.
            tool_choice: match request.tool_choice {
                ToolChoice::None if !tools.is_empty() => Some("none"),
                ToolChoice::None | ToolChoice::Auto => None,
            },
            tools,
            messages,
            extra: &settings.body,
        };
        serde_json::to_vec(&body)
            .map_err(|error| ModelError::Misconfigured(format!("the request cannot be written: {error}")))
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        self.endpoint.name()
    }

    fn turn(&self, request: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
        match self.body(&request) {
            Ok(body) => {
                let reader = answer::Answer::new(self.endpoint.settings().prices);
                Arc::clone(&self.endpoint).stream(body, reader)
            }
            Err(error) => Box::pin(futures_util::stream::iter([Err(error)])),
        }
    }
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    messages: Vec<WireMessage<'a>>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> WireTool<'a> {
    fn new(tool: &'a ToolSpec, description: &'a str) -> Self {
        let function = WireFunction { name: &tool.name, description, parameters: &tool.parameters };
        Self { r#type: "function", function }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        /// `null` beside calls without text, as OpenAI itself writes it.
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

fn add_messages<'a>(entry: &'a Entry, messages: &mut Vec<WireMessage<'a>>) {
    match entry {
        Entry::User { text } => messages.push(WireMessage::User { content: text }),
        Entry::Assistant { text, calls } => {
            let tool_calls = calls
                .iter()
                .map(|call| WireCall {
                    id: &call.id,
                    r#type: "function",
                    function: CalledFunction { name: &call.name, arguments: &call.arguments },
                })
                .collect();
            let content = (!text.is_empty()).then_some(text.as_str());
            messages.push(WireMessage::Assistant { content, tool_calls });
        }
        Entry::Results(results) => messages.extend(
            results
                .iter()
                .map(|result| WireMessage::Tool { tool_call_id: &result.id, content: &result.content }),
        ),
    }
}
