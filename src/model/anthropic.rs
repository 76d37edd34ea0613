//! Anthropic's messages, streamed.
//!
//! Reference: <https://docs.anthropic.com/en/api/messages-streaming>. Thinking is neither asked for nor read.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::Serialize;
use serde_json::{Map, Value};

use super::http::{Endpoint, KeyHeader};
use super::pairing::{self, Entry};
use super::redact::Redactor;
use super::settings::ModelSettings;
use super::{Delta, Model, ModelError, ToolChoice, TurnRequest};
use crate::clock::Clock;

mod answer;

/// A model behind Anthropic's messages API.
pub struct Anthropic {
    endpoint: Arc<Endpoint>,
    redactor: Arc<Redactor>,
}

impl Anthropic {
    /// `name` is the model's name in settings.
    pub fn new(name: &str, settings: ModelSettings, redactor: Arc<Redactor>, clock: Clock) -> Self {
        let version = &[("anthropic-version", "2023-06-01")];
        let key = KeyHeader::Plain("x-api-key");
        let endpoint = Endpoint::new(name, settings, "/messages", key, version, clock);
        Self { endpoint: Arc::new(endpoint), redactor }
    }

    fn body(&self, request: &TurnRequest) -> Result<Vec<u8>, ModelError> {
        let settings = self.endpoint.settings();
        let mark = settings.prompt_cache.then_some(CacheMark { r#type: "ephemeral" });
        let system = self.redactor.redact(&request.system);
        let conversation = pairing::conversation(&request.messages, &self.redactor);
        let mut tools: Vec<WireTool<'_>> = request
            .tools
            .iter()
            .map(|tool| WireTool {
                name: &tool.name,
                description: self.redactor.redact(&tool.description),
                input_schema: &tool.parameters,
                cache_control: None,
            })
            .collect();
        if let Some(last) = tools.last_mut() {
            last.cache_control = mark;
        }
        let body = WireRequest {
            model: &settings.model,
            max_tokens: request.max_tokens,
            stream: true,
            system: match system.is_empty() {
                true => Vec::new(),
                false => vec![Block::Text { text: &system, cache_control: mark }],
            },
            tool_choice: match request.tool_choice {
                ToolChoice::None if !tools.is_empty() => Some(WireChoice { r#type: "none" }),
                ToolChoice::None | ToolChoice::Auto => None,
            },
            tools,
            messages: messages(&conversation, mark),
            extra: &settings.body,
        };
        serde_json::to_vec(&body)
            .map_err(|error| ModelError::Misconfigured(format!("the request cannot be written: {error}")))
    }
}

impl Model for Anthropic {
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

/// Results and what the person says next go into one message: the roles must alternate strictly.
fn messages(conversation: &[Entry], mark: Option<CacheMark>) -> Vec<WireMessage<'_>> {
    let mut messages: Vec<WireMessage<'_>> = Vec::new();
    let last = conversation.len().saturating_sub(1);
    let last_results = conversation.iter().rposition(|entry| matches!(entry, Entry::Results(_)));
    for (index, entry) in conversation.iter().enumerate() {
        let (role, mut blocks) = match entry {
            Entry::User { text } => ("user", vec![Block::Text { text, cache_control: None }]),
            Entry::Assistant { text, calls } => {
                // The last message must not end with white space when the model is to go on with it.
                let text = if index == last && calls.is_empty() { text.trim_end() } else { text };
                let said = (!text.is_empty()).then_some(Block::Text { text, cache_control: None });
                let calls = calls.iter().map(|call| Block::ToolUse {
                    id: &call.id,
                    name: &call.name,
                    // `pairing` has made an object of whatever it was.
                    input: serde_json::from_str(&call.arguments).unwrap_or_default(),
                });
                ("assistant", said.into_iter().chain(calls).collect())
            }
            Entry::Results(results) => {
                let results = results.iter().map(|result| Block::ToolResult {
                    tool_use_id: &result.id,
                    content: &result.content,
                    is_error: result.is_error,
                    cache_control: None,
                });
                ("user", results.collect())
            }
        };
        if last_results == Some(index)
            && let Some(Block::ToolResult { cache_control, .. }) = blocks.last_mut()
        {
            *cache_control = mark;
        }
        match messages.last_mut() {
            Some(message) if message.role == role => message.content.append(&mut blocks),
            Some(_) | None => messages.push(WireMessage { role, content: blocks }),
        }
    }
    messages
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireChoice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<WireMessage<'a>>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct WireChoice {
    r#type: &'static str,
}

/// Everything up to a mark may be read from the provider's cache by the next request.
#[derive(Serialize, Clone, Copy)]
struct CacheMark {
    r#type: &'static str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: Cow<'a, str>,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheMark>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheMark>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheMark>,
    },
}
