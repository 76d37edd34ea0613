//! What is sent: the form that each provider demands, and nothing that must stay in the house.

use homeloop::clock::Clock;
use homeloop::model::settings::MaxTokensField;
use homeloop::model::{Router, Stop, ToolChoice};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::harness::{
    BOTH, ask, assistant, chain, model, model_settings, request, result, served, turn, user,
};
use crate::model_server::{Answer, Api, ModelServer};

/// A conversation with everything in it that a provider could stumble over.
fn long_record() -> Vec<homeloop::model::Message> {
    vec![
        user("lights"),
        user("in the kitchen"),
        assistant("On it.", &[("0.0", "light", "{\"x\":1}"), ("0.1", "fan", "")]),
        result("0.1", "second"),
        result("0.0", "first"),
        assistant("One", &[]),
        assistant(" moment.", &[]),
        user("and the fan"),
        assistant("", &[("1.0", "fan", "{oops")]),
        user("state: 3 lights on"),
    ]
}

#[tokio::test]
async fn any_record_is_sent_in_the_form_that_the_provider_demands() {
    for api in BOTH {
        let server = ModelServer::start([Answer::text("ok")]).await;
        let found = turn(&*served(api, &server), request(long_record())).await;
        assert_eq!(found.stop, Some(Stop::Ended), "{found:?}");
        server.assert_clean();
        let body = &server.requests()[0].body;
        let text = body.to_string();
        assert!(text.contains("never answered") && text.contains("One moment."), "{text}");
        assert!(text.find("first").expect("there") < text.find("second").expect("there"));
    }
}

#[tokio::test]
async fn the_last_turn_forbids_calls_and_keeps_the_tools() {
    for api in BOTH {
        let server = ModelServer::start([Answer::text("ok"), Answer::text("ok")]).await;
        let model = served(api, &server);
        let mut last = ask();
        last.tool_choice = ToolChoice::None;
        turn(&*model, last.clone()).await;
        last.tools = std::sync::Arc::from([]);
        turn(&*model, last).await;
        server.assert_clean();
        let sent = server.requests();
        assert_eq!(sent[0].body["tools"].as_array().map(Vec::len), Some(2));
        let expected = match api {
            Api::OpenAi => json!("none"),
            Api::Anthropic => json!({"type": "none"}),
        };
        assert_eq!(sent[0].body["tool_choice"], expected);
        assert_eq!(sent[1].body.get("tool_choice"), None);
    }
}

#[tokio::test]
async fn settings_shape_the_request() {
    let server = ModelServer::start([Answer::text("ok"), Answer::text("ok")]).await;
    let mut settings = model_settings(Api::OpenAi, &server.base_url());
    turn(&*model(settings.clone()), ask()).await;
    settings.max_tokens_field = MaxTokensField::MaxTokens;
    settings.stream_usage = false;
    settings.body.insert("temperature".to_owned(), json!(0));
    settings.headers.insert("X-Title".to_owned(), "homeloop".to_owned().into());
    settings.base_url.push('/');
    turn(&*model(settings), ask()).await;
    server.assert_clean();
    let sent = server.requests();
    assert_eq!(sent[0].body["max_completion_tokens"], 500);
    assert_eq!(sent[0].body["stream_options"], json!({"include_usage": true}));
    assert_eq!((&sent[1].body["max_tokens"], &sent[1].body["temperature"]), (&json!(500), &json!(0)));
    assert_eq!(sent[1].body.get("stream_options"), None);
    assert_eq!(sent[1].headers["x-title"], "homeloop");
}

#[tokio::test]
async fn anthropic_marks_tools_system_and_the_last_result_for_the_cache() {
    let server = ModelServer::start([Answer::text("ok"), Answer::text("ok")]).await;
    let mut settings = model_settings(Api::Anthropic, &server.base_url());
    let record = vec![
        user("a"),
        assistant("", &[("a", "light", "{}")]),
        result("a", "one"),
        assistant("", &[("b", "light", "{}"), ("c", "light", "{}")]),
        result("b", "two"),
        result("c", "three"),
        user("now it is noon"),
    ];
    turn(&*model(settings.clone()), request(record.clone())).await;
    settings.prompt_cache = false;
    turn(&*model(settings), request(record)).await;
    server.assert_clean();
    let sent = server.requests();
    let body = &sent[0].body;
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["tools"][1]["cache_control"], mark);
    assert_eq!(body["system"][0]["cache_control"], mark);
    let last = body["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    let marks: Vec<&Value> =
        last["content"].as_array().expect("blocks").iter().map(|b| &b["cache_control"]).collect();
    assert_eq!(marks, [&Value::Null, &mark, &Value::Null]);
    assert_eq!(body.to_string().matches("cache_control").count(), 3);
    assert!(!sent[1].body.to_string().contains("cache_control"));
}

#[tokio::test]
async fn same_house_same_prefix_byte_for_byte() {
    for api in BOTH {
        let server = ModelServer::start([Answer::text("ok"), Answer::text("ok")]).await;
        let model = served(api, &server);
        turn(&*model, request(vec![user("one")])).await;
        turn(&*model, request(vec![user("one"), assistant("ok", &[]), user("two")])).await;
        let sent = server.requests();
        let until = |index: usize| {
            let text = String::from_utf8_lossy(&sent[index].bytes).into_owned();
            let end = text.find("\"one\"").expect("the first message");
            text[..end].to_owned()
        };
        assert_eq!(until(0), until(1), "{api:?}");
        assert!(until(0).contains("You run a house.") && until(0).contains("The tool light."));
    }
}

#[tokio::test]
async fn private_text_stays_in_the_house() {
    for api in BOTH {
        let server = ModelServer::start([Answer::text("ok")]).await;
        server.forbid(&[
            "192.168.1.20",
            "48.20849",
            "Baker Street",
            "00:15:8d",
            "canary-5150",
            "fe80::1",
            "hunter22",
        ]);
        let settings = chain(vec![("m", model_settings(api, &server.base_url()))]);
        let secrets = [SecretString::from("canary-5150".to_owned())];
        let router = Router::from_settings(&settings, None, &secrets, Clock::system()).expect("valid");
        let mut leaky = request(vec![
            user("my password is hunter22, what is at fe80::1?"),
            assistant("Looking.", &[("a", "light", "{\"code\":\"canary-5150\"}")]),
            result(
                "a",
                "{\"ip\":\"192.168.1.20\",\"mac\":\"00:15:8d:00:01:a2\",\"gps\":\"48.20849, 16.37208\"}",
            ),
        ]);
        leaky.system = "House at 221B Baker Street. Token canary-5150.".into();
        let tools = leaky.tools.iter().cloned().map(|mut tool| {
            tool.description.push_str(" At 192.168.1.20.");
            tool
        });
        let tools: Vec<_> = tools.collect();
        leaky.tools = tools.into();
        assert_eq!(turn(&router, leaky).await.text, "ok");
        server.assert_clean();
    }
}

/// The checks of the scripted server are worth something only if they can fail.
#[tokio::test]
async fn the_scripted_server_notices_bad_requests() {
    let server = ModelServer::start((0..5).map(|_| Answer::text("ok"))).await;
    server.forbid(&["canary"]);
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().tls_certs_only([]).build().expect("a client");
    let tool_message = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let call = json!({"id": "a", "type": "function", "function": {"name": "light", "arguments": "{}"}});
    let calling = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let hi = json!({"role": "user", "content": "hi"});
    for (path, messages, fault) in [
        ("chat/completions", json!([hi, calling]), "has no result in its place"),
        ("chat/completions", json!([hi, calling, tool_message("b")]), "has no result in its place"),
        (
            "chat/completions",
            json!([hi, calling, tool_message("a"), tool_message("a")]),
            "belongs to no call",
        ),
        ("chat/completions", json!([{"role": "user", "content": "canary"}]), "canary leaked"),
        ("messages", json!([hi, hi]), "message 1 is not the assistant's"),
    ] {
        let before = server.faults().len();
        let body = json!({"model": "m", "stream": true, "max_tokens": 1, "messages": messages});
        let url = format!("{}/{path}", server.base_url());
        let sent =
            client.post(url).header("content-type", "application/json").body(body.to_string()).send().await;
        sent.expect("an answer");
        let faults = server.faults();
        assert!(
            faults[before..].iter().any(|found| found.contains(fault)),
            "{fault}: {:?}",
            &faults[before..]
        );
    }
}
