//! Reading a streamed message.

use serde::Deserialize;
use serde_json::Value;

use crate::model::http::{Reader, Reading, failure};
use crate::model::pairing::is_complete_object;
use crate::model::prices::{Meter, Prices, Tokens};
use crate::model::sse::SseEvent;
use crate::model::{Delta, ModelError, Stop, ToolCall};

/// More calls in one answer than any model means; the loop's own limit is far lower.
const MOST_CALLS: usize = 256;

/// The reason to stop when the model's context is full (platform.claude.com, "Handling stop reasons").
const CONTEXT_FULL: &str = "model_context_window_exceeded";

/// An answer, as far as it has come.
pub struct Answer {
    meter: Meter,
    /// The call whose block is open.
    open: Option<OpenBlock>,
    /// Calls whose block was closed over arguments that are no complete object: the reason to stop tells what they are.
    broken: Vec<ToolCall>,
    calls: usize,
    /// Calls that were passed on.
    told: usize,
    stop: Option<Stop>,
    context_full: bool,
}

struct OpenBlock {
    index: u64,
    call: ToolCall,
}

impl Answer {
    pub fn new(prices: Prices) -> Self {
        Self {
            meter: Meter::new(prices),
            open: None,
            broken: Vec::new(),
            calls: 0,
            told: 0,
            stop: None,
            context_full: false,
        }
    }

    fn begin(&mut self, index: u64, block: ContentBlock, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match block {
            ContentBlock::Text { text } => push_text(text, out),
            ContentBlock::ToolUse { id, name, input } => {
                self.calls += 1;
                if self.calls > MOST_CALLS {
                    return Err(ModelError::Malformed(format!(
                        "more than {MOST_CALLS} tool calls in one answer"
                    )));
                }
                // The input at the start is empty, and comes in pieces; a compatible server may send it whole.
                let arguments = match input {
                    Some(Value::Object(object)) if !object.is_empty() => Value::Object(object).to_string(),
                    Some(_) | None => String::new(),
                };
                // A server that leaves out the end of a block ends it with the next one.
                if let Some(index) = self.open.as_ref().map(|open| open.index) {
                    self.close(index, out);
                }
                self.open = Some(OpenBlock { index, call: ToolCall { id, name, arguments } });
            }
            ContentBlock::Other => {}
        }
        Ok(())
    }

    fn go_on(&mut self, index: u64, delta: BlockDelta, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match delta {
            BlockDelta::TextDelta { text } => push_text(text, out),
            BlockDelta::InputJsonDelta { partial_json } => match &mut self.open {
                Some(open) if open.index == index => open.call.arguments.push_str(&partial_json),
                // A server tool of the provider's own: not ours to run.
                Some(_) | None => {}
            },
            BlockDelta::Other => {}
        }
        Ok(())
    }

    fn close(&mut self, index: u64, out: &mut Vec<Delta>) {
        let Some(mut open) = self.open.take_if(|open| open.index == index) else { return };
        // A call without arguments comes without any piece of them.
        if open.call.arguments.trim().is_empty() {
            open.call.arguments = "{}".to_owned();
        }
        // Behind a broken call everything waits: calls are passed on in order.
        if self.broken.is_empty() && is_complete_object(&open.call.arguments) {
            self.told += 1;
            out.push(Delta::Call(open.call));
        } else {
            self.broken.push(open.call);
        }
    }
}

fn push_text(text: String, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Text(text));
    }
}

impl Reader for Answer {
    fn is_ping(event: &SseEvent) -> bool {
        event.name == "ping" || (event.data.len() < 64 && event.data.contains("\"ping\""))
    }

    fn take(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<Reading, ModelError> {
        if event.data.trim() == "[DONE]" {
            return Ok(Reading::Complete);
        }
        let event = serde_json::from_str::<StreamEvent>(&event.data)
            .map_err(|error| ModelError::Malformed(format!("an event is not as agreed: {error}")))?;
        match event {
            StreamEvent::MessageStart { message } => {
                if let Some(usage) = message.usage {
                    self.meter.report(usage.tokens());
                }
            }
            StreamEvent::ContentBlockStart { index, content_block } => {
                self.begin(index, content_block, out)?
            }
            StreamEvent::ContentBlockDelta { index, delta } => self.go_on(index, delta, out)?,
            StreamEvent::ContentBlockStop { index } => self.close(index, out),
            StreamEvent::MessageDelta { delta, usage } => {
                if let Some(usage) = usage {
                    self.meter.report(usage.tokens());
                }
                if let Some(reason) = delta.stop_reason {
                    self.context_full = reason == CONTEXT_FULL;
                    self.stop = Some(stop_of(&reason));
                }
            }
            StreamEvent::MessageStop => return Ok(Reading::Complete),
            StreamEvent::Error { error } => return Err(error.into_model_error()),
            StreamEvent::Other => {}
        }
        Ok(Reading::More)
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let stop =
            self.stop.ok_or_else(|| ModelError::Cut("it ended before the model was done".to_owned()))?;
        // More room for the answer is no help: the conversation itself must become shorter.
        if self.context_full && self.told == 0 {
            return Err(ModelError::ContextFull(
                "the answer reached the end of the model's context".to_owned(),
            ));
        }
        match stop {
            // The model says that it is done: what is broken is its mistake, and it is told.
            Stop::Ended | Stop::Paused => {
                if let Some(index) = self.open.as_ref().map(|open| open.index) {
                    self.close(index, out);
                }
                out.extend(self.broken.drain(..).map(Delta::Call));
            }
            // What was cut off is incomplete, and an incomplete call never runs.
            Stop::Truncated | Stop::Refused => {}
        }
        out.push(Delta::End(stop));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.stop.is_some()
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

fn stop_of(reason: &str) -> Stop {
    match reason {
        "max_tokens" | CONTEXT_FULL => Stop::Truncated,
        "pause_turn" => Stop::Paused,
        "refusal" => Stop::Refused,
        // `end_turn`, `tool_use`, `stop_sequence`, and what may come: whether there are calls decides.
        _ => Stop::Ended,
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StreamEvent {
    MessageStart {
        message: MessageHead,
    },
    ContentBlockStart {
        index: u64,
        content_block: ContentBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: MessageTail,
        #[serde(default)]
        usage: Option<WireUsage>,
    },
    MessageStop,
    Error {
        error: WireError,
    },
    /// Events that may be added, as Anthropic's versioning policy says.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageHead {
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct MessageTail {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Option<Value>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    message: String,
}

impl WireError {
    fn into_model_error(self) -> ModelError {
        let status = match self.r#type.as_str() {
            "overloaded_error" => 529,
            "rate_limit_error" => 429,
            "invalid_request_error" => 400,
            "authentication_error" => 401,
            "permission_error" => 403,
            "not_found_error" => 404,
            "request_too_large" => 413,
            // `api_error`, `timeout_error`, and what may come.
            _ => 500,
        };
        failure::of_provider(status, &format!("{} ({})", self.message, self.r#type), None)
    }
}

/// Unlike elsewhere, `input_tokens` leaves out what was read from the cache or written to it.
#[derive(Deserialize, Default)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

impl WireUsage {
    fn tokens(&self) -> Tokens {
        Tokens {
            fresh_input: self.input_tokens.unwrap_or(0),
            cached_input: self.cache_read_input_tokens.unwrap_or(0),
            written_input: self.cache_creation_input_tokens.unwrap_or(0),
            output: self.output_tokens.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests;
