use serde_json::json;

use super::*;

/// What a stream of `data` texts comes to.
fn read(data: &[String]) -> (Vec<Delta>, Result<(), ModelError>) {
    let mut answer = Answer::new(Prices::default());
    let mut out = Vec::new();
    for data in data {
        let event = SseEvent { name: String::new(), data: data.clone() };
        match answer.take(&event, &mut out) {
            Ok(Reading::More) => {}
            Ok(Reading::Complete) => break,
            Err(error) => return (out, Err(error)),
        }
    }
    let end = answer.finish(&mut out);
    (out, end)
}

fn delta(delta: Value) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string()
}

fn finish(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

fn fragment(index: Value, id: Value, name: Value, arguments: Value) -> String {
    delta(
        json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}),
    )
}

fn call(id: &str, name: &str, arguments: &str) -> Delta {
    Delta::Call(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() })
}

fn done() -> String {
    "[DONE]".to_owned()
}

#[test]
fn parallel_calls_come_in_fragments_and_start_early() {
    let null = || Value::Null;
    let data = [
        delta(json!({"role": "assistant", "content": null, "reasoning_content": "hm"})),
        fragment(json!(0), json!("a"), json!("light"), json!("")),
        fragment(json!(0), null(), null(), json!("{\"x\":")),
        fragment(json!(0), null(), null(), json!("1}")),
        fragment(json!(1), json!("b"), json!("fan"), json!("{}")),
    ];
    let (out, end) = read(&data);
    assert_eq!(out, vec![call("a", "light", "{\"x\":1}")], "the first is complete when the second begins");
    assert!(matches!(end, Err(ModelError::Cut(_))), "without a finish reason the second is not");
    let whole: Vec<String> = data.into_iter().chain([finish("tool_calls"), done(), done()]).collect();
    let (out, end) = read(&whole);
    assert_eq!(end, Ok(()));
    assert_eq!(out, vec![call("a", "light", "{\"x\":1}"), call("b", "fan", "{}"), Delta::End(Stop::Ended)]);
}

#[test]
fn servers_number_their_calls_in_many_ways() {
    let null = || Value::Null;
    let two = vec![call("a", "light", "{}"), call("b", "fan", "{}"), Delta::End(Stop::Ended)];
    for (what, data) in [
        (
            "all with index 0",
            vec![
                fragment(json!(0), json!("a"), json!("light"), json!("{}")),
                fragment(json!(0), json!("b"), json!("fan"), json!("{}")),
            ],
        ),
        (
            "no index",
            vec![
                fragment(null(), json!("a"), json!("light"), json!("{}")),
                fragment(null(), json!("b"), json!("fan"), json!("{}")),
            ],
        ),
        (
            "index from 1, id and name with every fragment, an object for arguments",
            vec![
                fragment(json!(1), json!("a"), json!("light"), json!("{")),
                fragment(json!(1), json!("a"), json!("light"), json!("}")),
                fragment(json!(2), json!("b"), json!("fan"), json!({})),
            ],
        ),
        (
            "no index, an id that changes and a name only at the start",
            vec![
                fragment(null(), json!("a"), json!("light"), json!("{")),
                fragment(null(), json!("z"), null(), json!("}")),
                fragment(null(), json!("b"), json!("fan"), json!("{}")),
            ],
        ),
        (
            "a name behind its id",
            vec![
                fragment(json!(0), json!("a"), null(), null()),
                fragment(json!(0), null(), json!("light"), json!("{}")),
                fragment(json!(1), json!("b"), null(), null()),
                fragment(json!(1), json!("b"), json!("fan"), json!("{}")),
            ],
        ),
        (
            "all with index 0, interleaved",
            vec![
                fragment(json!(0), json!("a"), json!("light"), json!("{")),
                fragment(json!(0), json!("b"), json!("fan"), json!("{}")),
                fragment(json!(0), json!("a"), null(), json!("}")),
            ],
        ),
        (
            "an id that changes",
            vec![
                fragment(json!(0), json!("a"), json!("light"), json!("{")),
                fragment(json!(0), json!("z"), null(), json!("}")),
                fragment(json!(1), json!("b"), json!("fan"), json!("{}")),
            ],
        ),
        (
            "interleaved",
            vec![
                fragment(json!(0), json!("a"), json!("light"), json!("{")),
                fragment(json!(1), json!("b"), json!("fan"), json!("{}")),
                fragment(json!(0), null(), null(), json!("}")),
            ],
        ),
    ] {
        let data: Vec<String> = data.into_iter().chain([finish("stop")]).collect();
        assert_eq!(read(&data), (two.clone(), Ok(())), "{what}");
    }
    let light = |id: &str, arguments: &str| call(id, "light", arguments);
    let expected = vec![light("call_0", "{\"x\":1}"), light("call_1", "{\"x\":2}"), Delta::End(Stop::Ended)];
    for (index, id) in [(json!(0), null()), (null(), json!("")), (json!(0), json!(""))] {
        let same = |arguments: &str| fragment(index.clone(), id.clone(), json!("light"), json!(arguments));
        let data = [same("{\"x\":"), same("1}"), same("{\"x\":2}"), same(""), finish("tool_calls")];
        assert_eq!(read(&data), (expected.clone(), Ok(())), "neither ids nor numbers: {index} {id}");
    }
    let no_ids = [
        fragment(json!(0), null(), json!("light"), null()),
        fragment(json!(1), json!(""), json!("fan"), json!("")),
        finish("tool_calls"),
    ];
    let expected = vec![call("call_0", "light", "{}"), call("call_1", "fan", "{}"), Delta::End(Stop::Ended)];
    assert_eq!(read(&no_ids), (expected, Ok(())));
}

#[test]
fn an_incomplete_call_is_never_passed_on() {
    let begun = fragment(json!(0), json!("a"), json!("light"), json!("{\"x\":"));
    for end in [vec![finish("length")], vec![finish("content_filter")], vec![], vec![done()]] {
        let data: Vec<String> = [begun.clone()].into_iter().chain(end).collect();
        let (out, _) = read(&data);
        assert!(!out.iter().any(|delta| matches!(delta, Delta::Call(_))), "{out:?}");
    }
    // When the model itself says that it is done, broken arguments are its mistake, and it is told.
    let (out, _) = read(&[begun, finish("tool_calls")]);
    assert_eq!(out, vec![call("a", "light", "{\"x\":"), Delta::End(Stop::Ended)]);
    let grown = [
        fragment(json!(0), json!("a"), json!("light"), json!("{}")),
        fragment(json!(1), json!("b"), json!("fan"), json!("{}")),
        fragment(json!(0), Value::Null, Value::Null, json!(" {\"y\":1}")),
    ];
    assert!(
        matches!(read(&grown).1, Err(ModelError::Malformed(_))),
        "a call that was passed on cannot change"
    );
}

#[test]
fn reasons_to_stop() {
    let text = || delta(json!({"content": "hi"}));
    for (data, stop) in [
        (vec![text(), finish("stop")], Stop::Ended),
        (vec![text(), finish("length")], Stop::Truncated),
        (vec![text(), finish("content_filter")], Stop::Refused),
        (vec![delta(json!({"refusal": "hi"})), finish("stop")], Stop::Refused),
        (vec![text(), finish("something_new")], Stop::Ended),
        (vec![format!("{}\n{}\n[DONE]", text(), finish("stop"))], Stop::Ended),
    ] {
        assert_eq!(read(&data), (vec![Delta::Text("hi".to_owned()), Delta::End(stop)], Ok(())));
    }
    assert_eq!(read(&[finish("stop")]).0, vec![Delta::End(Stop::Ended)], "an empty answer is an answer");
}

#[test]
fn errors_within_a_stream() {
    for (data, status) in [
        (json!({"error": {"code": 502, "message": "upstream"}}), Some(502)),
        (json!({"error": {"code": "429", "message": "slow down"}}), Some(429)),
        (json!({"error": {"message": "something"}}), None),
    ] {
        let (_, end) = read(&[data.to_string()]);
        match (end, status) {
            (Err(ModelError::Status { status, .. }), Some(expected)) => assert_eq!(status, expected),
            (Err(ModelError::Cut(_)), None) => {}
            (other, _) => panic!("{other:?}"),
        }
    }
    let too_long = json!({"error": {"code": "context_length_exceeded", "message": "too long"}}).to_string();
    assert!(matches!(read(&[too_long]).1, Err(ModelError::ContextFull(_))));
    assert!(matches!(read(&["{\"choices\":".to_owned()]).1, Err(ModelError::Malformed(_))));
}

#[test]
fn usage_counts_the_cache_once() {
    for usage in [
        json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}),
        json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60}),
    ] {
        let mut answer = Answer::new(Prices::default());
        let data = json!({"choices": [], "usage": usage}).to_string();
        answer.take(&SseEvent { name: String::new(), data }, &mut Vec::new()).expect("fine");
        let usage = answer.meter().take_new().expect("usage");
        assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (100, 60, 7));
    }
}
