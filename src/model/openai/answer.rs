//! Reading a streamed chat completion.

use serde::Deserialize;
use serde_json::Value;

use crate::model::http::{Reader, Reading, failure};
use crate::model::pairing::is_complete_object;
use crate::model::prices::{Meter, Prices, Tokens};
use crate::model::sse::SseEvent;
use crate::model::{Delta, ModelError, Stop, ToolCall};

/// More calls in one answer than any model means; the loop's own limit is far lower.
const MOST_CALLS: usize = 256;

/// An answer, as far as it has come.
pub struct Answer {
    meter: Meter,
    slots: Vec<Slot>,
    stop: Option<Stop>,
    refused: bool,
}

/// A call that comes in fragments.
struct Slot {
    index: Option<u64>,
    id: String,
    /// The server gave the id.
    has_own_id: bool,
    name: String,
    arguments: String,
    told: bool,
}

impl Answer {
    pub fn new(prices: Prices) -> Self {
        Self { meter: Meter::new(prices), slots: Vec::new(), stop: None, refused: false }
    }

    fn chunk(&mut self, chunk: Chunk, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some(error) = chunk.error {
            return Err(stream_error(&error));
        }
        if let Some(usage) = chunk.usage {
            self.meter.report(usage.tokens());
        }
        // One choice is asked for.
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() else { return Ok(()) };
        let delta = choice.delta.unwrap_or_default();
        for text in [delta.content, delta.refusal.inspect(|_| self.refused = true)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                out.push(Delta::Text(text));
            }
        }
        for fragment in delta.tool_calls.unwrap_or_default() {
            self.fragment(fragment, out)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("length") => self.stop = Some(Stop::Truncated),
            Some("content_filter") => self.stop = Some(Stop::Refused),
            Some("error") => {
                return Err(ModelError::Cut("the provider ended its answer with an error".to_owned()));
            }
            // `stop`, `tool_calls`, `function_call`, and names that servers made up: whether there are calls decides.
            Some(_) => self.stop = Some(Stop::Ended),
        }
        Ok(())
    }

    fn fragment(&mut self, fragment: CallFragment, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let at = self.slot_of(&fragment);
        let at = match at {
            Some(at) => at,
            None => {
                self.tell_complete(out);
                if self.slots.len() >= MOST_CALLS {
                    return Err(ModelError::Malformed(format!(
                        "more than {MOST_CALLS} tool calls in one answer"
                    )));
                }
                let own = fragment.id.clone().filter(|id| !id.is_empty());
                self.slots.push(Slot {
                    index: fragment.index,
                    has_own_id: own.is_some(),
                    id: own.unwrap_or_else(|| format!("call_{}", self.slots.len())),
                    name: String::new(),
                    arguments: String::new(),
                    told: false,
                });
                self.slots.len() - 1
            }
        };
        let Some(slot) = self.slots.get_mut(at) else { return Ok(()) };
        let function = fragment.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = match function.arguments {
            Some(Value::String(text)) => text,
            // Some servers send the object itself.
            Some(Value::Object(object)) => Value::Object(object).to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => String::new(),
        };
        let adds = !arguments.trim().is_empty() || !(name.is_empty() || name == slot.name);
        if slot.told && adds {
            return Err(ModelError::Malformed(format!("call {:?} went on after its end", slot.id)));
        }
        // Some servers repeat the whole name with every fragment; none is known to split it that way.
        if slot.name != name {
            slot.name.push_str(&name);
        }
        slot.arguments.push_str(&arguments);
        Ok(())
    }

    /// The slot that a fragment continues; `None` when it begins a new call.
    fn slot_of(&self, fragment: &CallFragment) -> Option<usize> {
        let id = fragment.id.as_deref().filter(|id| !id.is_empty());
        let function = fragment.function.as_ref();
        let name = function.and_then(|function| function.name.as_deref()).filter(|name| !name.is_empty());
        let by_id = id.and_then(|id| self.slots.iter().rposition(|slot| slot.id == id));
        let at = match fragment.index {
            Some(index) => {
                let of_index = |slot: &Slot| slot.index == Some(index);
                by_id
                    .filter(|at| self.slots.get(*at).is_some_and(of_index))
                    .or_else(|| self.slots.iter().rposition(of_index))?
            }
            None => by_id.or_else(|| self.slots.len().checked_sub(1))?,
        };
        let slot = self.slots.get(at)?;
        // Only what has a name begins a call: there are servers whose ids change from fragment to fragment.
        let begins = name.filter(|_| !slot.name.is_empty()).is_some_and(|name| match id {
            // A server that gives every call the index 0, or none, tells them apart by their ids.
            Some(id) if slot.has_own_id => id != slot.id,
            Some(_) | None => {
                name != slot.name || (is_complete_object(&slot.arguments) && function.is_some_and(adds))
            }
        });
        (!begins).then_some(at)
    }

    /// Passes calls on whose arguments are complete, so that they can start while the answer goes on.
    fn tell_complete(&mut self, out: &mut Vec<Delta>) {
        for slot in self.slots.iter_mut().filter(|slot| !slot.told) {
            // Calls are passed on in order: one that is not complete yet holds back those behind it.
            if !is_complete_object(&slot.arguments) {
                return;
            }
            out.push(slot.tell());
        }
    }
}

/// Whether a fragment brings arguments.
fn adds(function: &FunctionFragment) -> bool {
    match &function.arguments {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Object(_)) => true,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => false,
    }
}

impl Slot {
    fn tell(&mut self) -> Delta {
        self.told = true;
        Delta::Call(ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments: std::mem::take(&mut self.arguments),
        })
    }
}

impl Reader for Answer {
    /// Comments are no events, and this format has no other pings.
    fn is_ping(_: &SseEvent) -> bool {
        false
    }

    fn take(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<Reading, ModelError> {
        // Servers that forget the blank line between events make one event of several lines.
        if let Ok(chunk) = serde_json::from_str::<Chunk>(&event.data) {
            self.chunk(chunk, out)?;
            return Ok(Reading::More);
        }
        for line in event.data.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line == "[DONE]" {
                return Ok(Reading::Complete);
            }
            let chunk = serde_json::from_str::<Chunk>(line)
                .map_err(|error| ModelError::Malformed(format!("a chunk is not as agreed: {error}")))?;
            self.chunk(chunk, out)?;
        }
        Ok(Reading::More)
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let stop =
            self.stop.ok_or_else(|| ModelError::Cut("it ended before the model was done".to_owned()))?;
        let stop = if self.refused { Stop::Refused } else { stop };
        match stop {
            Stop::Ended | Stop::Paused => {
                for slot in self.slots.iter_mut().filter(|slot| !slot.told) {
                    // A call without arguments may come without any text for them.
                    if slot.arguments.trim().is_empty() {
                        slot.arguments = "{}".to_owned();
                    }
                    out.push(slot.tell());
                }
            }
            // What was cut off is incomplete, and an incomplete call never runs.
            Stop::Truncated | Stop::Refused => self.tell_complete(out),
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

/// An error within a stream: `{"error": {"code": 502, "message": "…"}}`.
fn stream_error(error: &Value) -> ModelError {
    let message = failure::message_in(error).unwrap_or_else(|| error.to_string());
    let code = error.get("code").or_else(|| error.get("status"));
    let number = code.and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    match number.and_then(|number| u16::try_from(number).ok()).filter(|number| (400..600).contains(number)) {
        Some(status) => failure::of_provider(status, &message, None),
        // Without a number: too long is the provider's last word, anything else may pass.
        None => match failure::of_provider(400, &message, None) {
            ModelError::ContextFull(message) => ModelError::ContextFull(message),
            _ => ModelError::Cut(message),
        },
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<WireDelta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

/// Reasoning fields are unknown here, and so left out.
#[derive(Deserialize, Default)]
struct WireDelta {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallFragment>>,
}

#[derive(Deserialize)]
struct CallFragment {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionFragment>,
}

#[derive(Deserialize, Default)]
struct FunctionFragment {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

#[derive(Deserialize, Default)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for what was read from the cache.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl WireUsage {
    fn tokens(&self) -> Tokens {
        let input = self.prompt_tokens.unwrap_or(0);
        let details = self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        let cached = details.or(self.prompt_cache_hit_tokens).unwrap_or(0).min(input);
        Tokens {
            fresh_input: input - cached,
            cached_input: cached,
            written_input: 0,
            output: self.completion_tokens.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests;
