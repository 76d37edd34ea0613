use serde_json::json;

use super::*;

/// What a stream of events comes to.
fn read(events: &[Value]) -> (Vec<Delta>, Result<(), ModelError>) {
    let mut answer = Answer::new(Prices::default());
    let mut out = Vec::new();
    for event in events {
        let event = SseEvent { name: String::new(), data: event.to_string() };
        match answer.take(&event, &mut out) {
            Ok(Reading::More) => {}
            Ok(Reading::Complete) => break,
            Err(error) => return (out, Err(error)),
        }
    }
    let end = answer.finish(&mut out);
    (out, end)
}

fn tool_use(index: u64, id: &str, pieces: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": "light", "input": {}});
    let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": block})];
    events.extend(pieces.iter().map(|piece| {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn text(index: u64, text: &str) -> Vec<Value> {
    vec![
        json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn end(reason: &str) -> Vec<Value> {
    let usage = json!({"output_tokens": 9});
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn call(id: &str, arguments: &str) -> Delta {
    Delta::Call(ToolCall { id: id.to_owned(), name: "light".to_owned(), arguments: arguments.to_owned() })
}

#[test]
fn blocks_become_text_and_calls_as_they_close() {
    let begun =
        [text(0, "Let me see."), tool_use(1, "a", &["{\"x\"", ":1}"]), tool_use(2, "b", &[])].concat();
    let calls = vec![Delta::Text("Let me see.".to_owned()), call("a", "{\"x\":1}"), call("b", "{}")];
    let (out, cut) = read(&begun);
    assert_eq!(out, calls);
    assert!(matches!(cut, Err(ModelError::Cut(_))), "a message without its end was cut");
    let (out, ended) = read(&[begun, end("tool_use")].concat());
    assert_eq!(ended, Ok(()));
    assert_eq!(out, [calls, vec![Delta::End(Stop::Ended)]].concat());
}

#[test]
fn what_is_unknown_is_passed_over() {
    let unknown = vec![
        json!({"type": "ping"}),
        json!({"type": "message_started_again", "index": 4}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "x"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block":
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_stop", "index": 1}),
    ];
    let (out, ended) = read(&[unknown, text(2, "hi"), end("end_turn")].concat());
    assert_eq!((out, ended), (vec![Delta::Text("hi".to_owned()), Delta::End(Stop::Ended)], Ok(())));
}

#[test]
fn a_call_cut_by_the_token_limit_is_never_passed_on() {
    let events = [tool_use(0, "a", &["{}"]), tool_use(1, "b", &["{\"x\":"])].concat();
    let (out, _) = read(&[events.clone(), end("max_tokens")].concat());
    assert_eq!(out, vec![call("a", "{}"), Delta::End(Stop::Truncated)]);
    let (out, _) = read(&[events, end("tool_use")].concat());
    let told = vec![call("a", "{}"), call("b", "{\"x\":"), Delta::End(Stop::Ended)];
    assert_eq!(out, told, "a broken call of a model that says it is done is its mistake");
}

#[test]
fn reasons_to_stop() {
    for (reason, stop) in [
        ("end_turn", Stop::Ended),
        ("stop_sequence", Stop::Ended),
        ("max_tokens", Stop::Truncated),
        ("pause_turn", Stop::Paused),
        ("refusal", Stop::Refused),
        ("something_new", Stop::Ended),
    ] {
        assert_eq!(read(&end(reason)), (vec![Delta::End(stop)], Ok(())), "{reason}");
    }
}

#[test]
fn errors_within_a_stream() {
    for (kind, status) in [
        ("overloaded_error", 529),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("authentication_error", 401),
    ] {
        let event = json!({"type": "error", "error": {"type": kind, "message": "no"}});
        let (_, end) = read(&[event]);
        assert!(matches!(end, Err(ModelError::Status { status: found, .. }) if found == status), "{end:?}");
    }
    let long =
        json!({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"});
    let (_, end) = read(&[json!({"type": "error", "error": long})]);
    assert!(matches!(end, Err(ModelError::ContextFull(_))), "{end:?}");
}

#[test]
fn usage_adds_cache_reads_and_writes_to_the_input() {
    let mut answer = Answer::new(Prices::default());
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90,
        "output_tokens": 1});
    for event in
        [json!({"type": "message_start", "message": {"usage": usage}})].into_iter().chain(end("end_turn"))
    {
        answer
            .take(&SseEvent { name: String::new(), data: event.to_string() }, &mut Vec::new())
            .expect("fine");
    }
    let usage = answer.meter().take_new().expect("usage");
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (1_000, 900, 9));
}

#[test]
fn pings_are_known_by_name_or_content() {
    let event = |name: &str, data: &str| SseEvent { name: name.to_owned(), data: data.to_owned() };
    assert!(Answer::is_ping(&event("ping", "{}")));
    assert!(Answer::is_ping(&event("", "{\"type\": \"ping\"}")));
    assert!(!Answer::is_ping(&event("message_stop", "{\"type\":\"message_stop\"}")));
}

#[test]
fn a_block_without_its_end_ends_with_the_next_one_or_with_the_message() {
    let open = |index, id, pieces: &[&str]| {
        let mut events = tool_use(index, id, pieces);
        events.pop();
        events
    };
    let events = [open(0, "a", &["{\"x\":1}"]), open(1, "b", &["{\"x\":2}"])].concat();
    let (out, ended) = read(&[events.clone(), end("tool_use")].concat());
    let both = vec![call("a", "{\"x\":1}"), call("b", "{\"x\":2}"), Delta::End(Stop::Ended)];
    assert_eq!((out, ended), (both, Ok(())));
    let (out, _) = read(&[events, end("max_tokens")].concat());
    assert_eq!(out, vec![call("a", "{\"x\":1}"), Delta::End(Stop::Truncated)], "the second may be cut");
}

#[test]
fn a_full_context_asks_for_a_shorter_conversation_unless_a_call_is_complete() {
    let full = || end("model_context_window_exceeded");
    let (_, ended) = read(&[text(0, "Let me"), full()].concat());
    assert!(matches!(ended, Err(ModelError::ContextFull(_))), "{ended:?}");
    let (out, ended) = read(&[tool_use(0, "a", &["{}"]), full()].concat());
    assert_eq!((out, ended), (vec![call("a", "{}"), Delta::End(Stop::Truncated)], Ok(())));
}
