//! Writing what a model says as the bytes of either format, tidily or as careless servers do.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::{Part, Said};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    OpenAi,
    Anthropic,
}

/// How the events are written.
#[derive(Debug, Clone)]
pub struct Shape {
    pub line_end: &'static str,
    pub byte_order_mark: bool,
    /// The blank line behind the last event.
    pub last_blank_line: bool,
    /// Blank lines between events (OpenAI format only: without names they can be told apart).
    pub blank_lines: bool,
    /// How often `[DONE]` or `message_stop` comes.
    pub done: usize,
    /// A comment before every event.
    pub comments: bool,
    pub usage: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            line_end: "\n",
            byte_order_mark: false,
            last_blank_line: true,
            blank_lines: true,
            done: 1,
            comments: false,
            usage: true,
        }
    }
}

/// The bytes, one item an event.
pub fn encode(api: Api, said: &Said, shape: &Shape) -> Vec<Vec<u8>> {
    let events = match api {
        Api::OpenAi => openai(said, shape),
        Api::Anthropic => anthropic(said, shape),
    };
    let end = shape.line_end;
    let last = events.len().saturating_sub(1);
    let mut all = Vec::new();
    for (index, (name, data)) in events.into_iter().enumerate() {
        let mut text = String::new();
        if index == 0 && shape.byte_order_mark {
            text.push('\u{feff}');
        }
        if shape.comments {
            text.push_str(&format!(": working{end}{end}"));
        }
        if let Some(name) = name {
            text.push_str(&format!("event: {name}{end}"));
        }
        text.push_str(&format!("data: {data}{end}"));
        let blank =
            if index == last { shape.last_blank_line } else { shape.blank_lines || api == Api::Anthropic };
        if blank {
            text.push_str(end);
        }
        all.push(text.into_bytes());
    }
    all
}

/// Splits `bytes` at random places.
pub fn split(bytes: &[u8], seed: u64) -> Vec<Vec<u8>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(random.random_range(1..=rest.len().min(17)));
        chunks.push(chunk.to_vec());
        rest = after;
    }
    chunks
}

/// As many bytes of whole events as fit into `keep`.
pub fn whole_events(events: &[Vec<u8>], keep: usize) -> usize {
    events
        .iter()
        .scan(0, |sum, event| {
            *sum += event.len();
            Some(*sum)
        })
        .take_while(|sum| *sum <= keep)
        .last()
        .unwrap_or(0)
}

/// The first `keep` bytes of `chunks`.
pub fn truncate(chunks: Vec<Vec<u8>>, mut keep: usize) -> Vec<Vec<u8>> {
    let mut kept = Vec::new();
    for mut chunk in chunks {
        chunk.truncate(keep);
        keep -= chunk.len();
        if !chunk.is_empty() {
            kept.push(chunk);
        }
    }
    kept
}

/// Pieces of a few characters, as models stream them.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(5).map(|piece| piece.iter().collect()).collect()
}

fn has_calls(said: &Said) -> bool {
    said.parts.iter().any(|part| matches!(part, Part::Call { .. }))
}

type Event = (Option<&'static str>, String);

fn openai(said: &Said, shape: &Shape) -> Vec<Event> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        (
            None,
            json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice], "usage": null})
                .to_string(),
        )
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.push(chunk(json!({"reasoning_content": "thinking about it"}), Value::Null));
    let mut index = 0;
    for part in &said.parts {
        match part {
            Part::Text(text) => {
                events.extend(
                    pieces(text).into_iter().map(|piece| chunk(json!({"content": piece}), Value::Null)),
                );
            }
            Part::Call { id, name, arguments } => {
                let head = json!({"index": index, "id": id, "type": "function",
                    "function": {"name": name, "arguments": ""}});
                events.push(chunk(json!({"tool_calls": [head]}), Value::Null));
                events.extend(pieces(arguments).into_iter().map(|piece| {
                    let fragment = json!({"index": index, "function": {"arguments": piece}});
                    chunk(json!({"tool_calls": [fragment]}), Value::Null)
                }));
                index += 1;
            }
        }
    }
    let stop = said.stop.unwrap_or(if has_calls(said) { "tool_calls" } else { "stop" });
    events.push(chunk(json!({}), json!(stop)));
    if shape.usage {
        let usage = json!({"prompt_tokens": said.usage.input, "completion_tokens": said.usage.output,
            "prompt_tokens_details": {"cached_tokens": said.usage.cached}});
        events.push((None, json!({"id": "c", "choices": [], "usage": usage}).to_string()));
    }
    events.extend((0..shape.done).map(|_| (None, "[DONE]".to_owned())));
    events
}

fn anthropic(said: &Said, shape: &Shape) -> Vec<Event> {
    let event = |name: &'static str, mut body: Value| {
        body["type"] = json!(name);
        (Some(name), body.to_string())
    };
    let usage = said.usage;
    let fresh = usage.input - usage.cached - usage.written;
    let start = json!({"input_tokens": fresh, "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.written, "output_tokens": 1});
    let mut message = json!({"id": "m", "role": "assistant", "content": []});
    if shape.usage {
        message["usage"] = start;
    }
    let mut events = vec![event("message_start", json!({"message": message})), event("ping", json!({}))];
    for (index, part) in said.parts.iter().enumerate() {
        let (block, deltas) = match part {
            Part::Text(text) => {
                let delta = |piece| json!({"type": "text_delta", "text": piece});
                (json!({"type": "text", "text": ""}), pieces(text).into_iter().map(delta).collect::<Vec<_>>())
            }
            Part::Call { id, name, arguments } => {
                let delta = |piece| json!({"type": "input_json_delta", "partial_json": piece});
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                (block, pieces(arguments).into_iter().map(delta).collect())
            }
        };
        events.push(event("content_block_start", json!({"index": index, "content_block": block})));
        for delta in deltas {
            events.push(event("content_block_delta", json!({"index": index, "delta": delta})));
        }
        events.push(event("content_block_stop", json!({"index": index})));
    }
    let stop = said.stop.unwrap_or(if has_calls(said) { "tool_use" } else { "end_turn" });
    let mut tail = json!({"delta": {"stop_reason": stop, "stop_sequence": null}});
    if shape.usage {
        tail["usage"] = json!({"output_tokens": usage.output});
    }
    events.push(event("message_delta", tail));
    events.extend((0..shape.done).map(|_| event("message_stop", json!({}))));
    events
}
