//! What the providers demand of a request, as their references say it.

use std::collections::HashSet;

use axum::http::HeaderMap;
use serde_json::Value;

use super::Api;

/// Every fault of one request.
pub fn request(api: Api, headers: &HeaderMap, body: &Value, key: Option<&str>) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    faults.unless(header("content-type") == Some("application/json"), "the body is not declared as JSON");
    faults.unless(body.is_object(), "the body is not a JSON object");
    faults.unless(body["stream"] == true, "only streaming is used");
    faults.unless(body["model"].as_str().is_some_and(|model| !model.is_empty()), "no model");
    match api {
        Api::OpenAi => {
            let sent = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
            faults.unless(sent == key, "the key is wrong");
            let limits = ["max_tokens", "max_completion_tokens"].map(|name| body[name].is_u64());
            faults.unless(limits.iter().filter(|given| **given).count() == 1, "exactly one limit of tokens");
            openai(body, &mut faults);
        }
        Api::Anthropic => {
            faults.unless(header("x-api-key") == key, "the key is wrong");
            faults.unless(header("anthropic-version").is_some(), "no version");
            faults.unless(body["max_tokens"].is_u64(), "no limit of tokens");
            anthropic(body, &mut faults);
        }
    }
    faults.0
}

struct Faults(Vec<String>);

impl Faults {
    fn unless(&mut self, holds: bool, fault: impl Into<String>) {
        if !holds {
            self.0.push(fault.into());
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_plain(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        (1..=64).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    })
}

fn tool_names(names: Vec<&Value>, faults: &mut Faults) {
    faults.unless(names.iter().all(|name| is_plain(name)), "a tool's name is not plain");
    let names: Vec<&str> = names.iter().filter_map(|name| name.as_str()).collect();
    faults.unless(names.is_sorted(), "the tools are not sorted");
    faults.unless(names.iter().collect::<HashSet<_>>().len() == names.len(), "two tools with one name");
}

fn openai(body: &Value, faults: &mut Faults) {
    let tools = list(&body["tools"]);
    tool_names(tools.iter().map(|tool| &tool["function"]["name"]).collect(), faults);
    for tool in tools {
        faults.unless(tool["type"] == "function", "a tool is not a function");
        faults.unless(tool["function"]["parameters"]["type"] == "object", "parameters are not an object");
    }
    faults.unless(body.get("tool_choice").is_none() || !tools.is_empty(), "a tool choice without tools");
    let mut ids = HashSet::new();
    let mut messages = list(&body["messages"]).iter().enumerate().peekable();
    let mut previous = "";
    while let Some((index, message)) = messages.next() {
        let role = message["role"].as_str().unwrap_or_default();
        let has_text = message["content"].as_str().is_some_and(|text| !text.trim().is_empty());
        match role {
            "system" => faults.unless(index == 0, "a system message in the middle"),
            "user" => {
                faults.unless(has_text, "a user message without text");
                faults.unless(previous != "user", "two user messages in a row");
            }
            "assistant" => {
                let calls = list(&message["tool_calls"]);
                faults.unless(has_text || !calls.is_empty(), "an assistant message with nothing");
                for call in calls {
                    let id = call["id"].as_str().unwrap_or_default();
                    faults.unless(
                        is_plain(&call["id"]) && ids.insert(id),
                        format!("call id {id:?} is bad or not new"),
                    );
                    faults.unless(is_plain(&call["function"]["name"]), "a called name is not plain");
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    let arguments = serde_json::from_str::<Value>(arguments);
                    faults.unless(
                        arguments.is_ok_and(|value| value.is_object()),
                        "arguments are not an object",
                    );
                }
                for call in calls {
                    let result = messages.next_if(|(_, message)| message["role"] == "tool");
                    let answers = result.is_some_and(|(_, result)| result["tool_call_id"] == call["id"]);
                    faults.unless(answers, format!("call {} has no result in its place", call["id"]));
                    faults.unless(
                        result.is_none_or(|(_, result)| result["content"].is_string()),
                        "a result without content",
                    );
                }
            }
            "tool" => faults.unless(false, format!("result {} belongs to no call", message["tool_call_id"])),
            other => faults.unless(false, format!("unknown role {other:?}")),
        }
        previous = role;
    }
}

fn anthropic(body: &Value, faults: &mut Faults) {
    let tools = list(&body["tools"]);
    tool_names(tools.iter().map(|tool| &tool["name"]).collect(), faults);
    for tool in tools {
        faults.unless(tool["input_schema"]["type"] == "object", "a schema is not an object");
    }
    faults.unless(body.get("tool_choice").is_none() || !tools.is_empty(), "a tool choice without tools");
    faults.unless(body.to_string().matches("cache_control").count() <= 4, "more than four cache marks");
    let messages = list(&body["messages"]);
    faults
        .unless(messages.first().is_some_and(|first| first["role"] == "user"), "the first is not the user's");
    let mut ids: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { "user" } else { "assistant" };
        faults.unless(message["role"] == expected, format!("message {index} is not the {expected}'s"));
        let blocks = list(&message["content"]);
        faults.unless(!blocks.is_empty(), "a message without blocks");
        let results: Vec<&str> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .filter_map(|block| block["tool_use_id"].as_str())
            .collect();
        if expected == "user" {
            faults.unless(results == open, format!("results {results:?} for calls {open:?}"));
            open.clear();
        }
        for block in blocks {
            match block["type"].as_str().unwrap_or_default() {
                "text" => {
                    let text = block["text"].as_str().unwrap_or_default();
                    faults.unless(!text.trim().is_empty(), "a text block without text");
                    let is_last = index + 1 == messages.len() && expected == "assistant";
                    faults.unless(!is_last || text.trim_end() == text, "the last text ends in white space");
                }
                "tool_use" => {
                    let id = block["id"].as_str().unwrap_or_default();
                    faults.unless(expected == "assistant", "a call of the user");
                    faults.unless(
                        is_plain(&block["id"]) && ids.insert(id),
                        format!("call id {id:?} is bad or not new"),
                    );
                    faults.unless(
                        is_plain(&block["name"]) && block["input"].is_object(),
                        "a call is not well formed",
                    );
                    open.push(id);
                }
                "tool_result" => {
                    faults.unless(expected == "user", "a result of the model");
                    faults.unless(block["content"].is_string(), "a result without content");
                }
                other => faults.unless(false, format!("unknown block {other:?}")),
            }
        }
    }
    faults.unless(open.is_empty(), format!("calls {open:?} have no result"));
}
