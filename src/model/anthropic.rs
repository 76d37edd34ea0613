//! Anthropic's messages, streamed.
//!
//! Reference: <https://docs.anthropic.com/en/api/messages-streaming>. Thinking is neither asked for nor read.

use serde::Serialize;
use serde_json::{Map, Value};

use super::http::KeyHeader;
use super::pairing::Entry;
use super::prices::Prices;
use super::provider::{Outgoing, Provider, Wire};
use super::settings::ModelSettings;

mod answer;

/// A model behind Anthropic's messages API.
pub type Anthropic = Provider<Messages>;

/// The wire format.
pub struct Messages;

impl Wire for Messages {
    const PATH: &'static str = "/messages";
    const KEY: KeyHeader = KeyHeader::Plain("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];
    type Reader = answer::Answer;

    fn body(settings: &ModelSettings, request: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
        let mark = settings.prompt_cache.then_some(CacheMark { r#type: "ephemeral" });
        let mut tools: Vec<WireTool<'_>> = request
            .tools
            .iter()
            .map(|tool| WireTool {
                name: tool.name,
                description: &tool.description,
                input_schema: &tool.parameters,
                cache_control: None,
            })
            .collect();
        if let Some(last) = tools.last_mut() {
            last.cache_control = mark;
        }
        serde_json::to_vec(&WireRequest {
            model: &settings.model,
            max_tokens: request.max_tokens,
            stream: true,
            system: match request.system.is_empty() {
                true => Vec::new(),
                false => vec![Block::Text { text: &request.system, cache_control: mark }],
            },
            tool_choice: request.forbids_calls.then_some(WireChoice { r#type: "none" }),
            tools,
            messages: messages(&request.conversation, mark),
            extra: &settings.body,
        })
    }

    fn reader(prices: Prices) -> answer::Answer {
        answer::Answer::new(prices)
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
    description: &'a str,
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
