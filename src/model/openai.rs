//! OpenAI-compatible chat completions, streamed: OpenAI, DeepSeek, Qwen, OpenRouter, vLLM, llama.cpp, LM Studio,
//! Ollama's `/v1`.
//!
//! Reference: <https://platform.openai.com/docs/api-reference/chat-streaming>. Reasoning that some servers stream
//! beside the answer is not read. Requests without streaming are not made.

use serde::Serialize;
use serde_json::{Map, Value};

use super::http::KeyHeader;
use super::pairing::Entry;
use super::prices::Prices;
use super::provider::{Outgoing, OutgoingTool, Provider, Wire};
use super::settings::{MaxTokensField, ModelSettings};

mod answer;

/// A model behind an OpenAI-compatible server.
pub type OpenAi = Provider<ChatCompletions>;

/// The wire format.
pub struct ChatCompletions;

impl Wire for ChatCompletions {
    const PATH: &'static str = "/chat/completions";
    const KEY: KeyHeader = KeyHeader::Bearer;
    const HEADERS: &'static [(&'static str, &'static str)] = &[];
    type Reader = answer::Answer;

    fn body(settings: &ModelSettings, request: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error> {
        let mut messages = vec![WireMessage::System { content: &request.system }];
        for entry in &request.conversation {
            add_messages(entry, &mut messages);
        }
        let limit = Some(request.max_tokens);
        let (max_completion_tokens, max_tokens) = match settings.max_tokens_field {
            MaxTokensField::MaxCompletionTokens => (limit, None),
            MaxTokensField::MaxTokens => (None, limit),
        };
        serde_json::to_vec(&WireRequest {
            model: &settings.model,
            stream: true,
            stream_options: settings.stream_usage.then_some(StreamOptions { include_usage: true }),
            max_completion_tokens,
            max_tokens,
            // `auto` is what every server takes a missing choice to be.
            tool_choice: request.forbids_calls.then_some("none"),
            tools: request.tools.iter().map(WireTool::new).collect(),
            messages,
            extra: &settings.body,
        })
    }

    fn reader(prices: Prices) -> answer::Answer {
        answer::Answer::new(prices)
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
    fn new(tool: &'a OutgoingTool<'_>) -> Self {
        let function =
            WireFunction { name: tool.name, description: &tool.description, parameters: &tool.parameters };
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
