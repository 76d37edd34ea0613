//! The OpenAI- and Ollama-compatible endpoints, byte for byte as their clients read them.

use homeloop::agent::Event;
use homeloop::http::tokens::TokenKind;
use homeloop::policy::{Channel, Scope};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{read_until, request};
use crate::fake::{interim, now};
use crate::running::{JSON, Running, bearer};

fn body(stream: Option<bool>) -> String {
    let mut body =
        json!({"model": "homeloop", "messages": [{"role": "user", "content": "kitchen light on"}]});
    if let Some(stream) = stream {
        body["stream"] = json!(stream);
    }
    body.to_string()
}

fn asking() -> Vec<Event> {
    let asked = Event::ApprovalAsked {
        call: "1.0".into(),
        approval: "01A".into(),
        plan_hash: "aa".into(),
        match_code: "47".into(),
        expires_at: now(),
    };
    vec![asked, interim()]
}

#[tokio::test]
async fn openai_lists_one_model_and_completes() {
    let server = Running::start().await;
    assert_eq!(server.get("/v1/models").await.json()["data"][0]["id"], "homeloop");
    let answer = server.post("/v1/chat/completions", &body(None)).await.json();
    assert_eq!(answer["object"], "chat.completion");
    let choice = json!({
        "index": 0,
        "message": {"role": "assistant", "content": "reply to kitchen light on"},
        "finish_reason": "stop",
    });
    assert_eq!(answer["choices"], json!([choice]));
    assert_eq!(answer["usage"]["total_tokens"], 0);
    let (_, by) = server.fake.submitted.lock().unwrap()[0].clone();
    assert_eq!((by.name.as_str(), by.channel), ("token:owner", Channel::Chat), "the token is who asks");
}

#[tokio::test]
async fn openai_streams_chunks_that_end_with_done() {
    let server = Running::start().await;
    let asked = json!({
        "model": "homeloop",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let answer = server.post("/v1/chat/completions", &asked.to_string()).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let data: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (last, chunks) = data.split_last().unwrap();
    assert_eq!(*last, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["object"] == "chat.completion.chunk" && chunk["id"] == chunks[0]["id"])
    );
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "one moment\n\none moment\n\nreply to hi");
    assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[chunks.len() - 1]["usage"]["prompt_tokens"], 0);
}

#[tokio::test]
async fn ollama_answers_in_lines_or_at_once() {
    let server = Running::start().await;
    assert!(server.get("/api/version").await.json()["version"].is_string());
    assert_eq!(server.get("/api/tags").await.json()["models"][0]["name"], "homeloop:latest");

    let answer = server.post("/api/chat", &body(None)).await;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text: String = lines.iter().filter_map(|line| line["message"]["content"].as_str()).collect();
    assert_eq!(text, "one moment\n\none moment\n\nreply to kitchen light on");
    let done: Vec<&Value> = lines.iter().map(|line| &line["done"]).collect();
    assert_eq!(done, [false, false, false, false, true]);
    assert_eq!(lines[4]["done_reason"], "stop");

    let whole = server.post("/api/chat", &body(Some(false))).await.json();
    assert_eq!(whole["message"], json!({"role": "assistant", "content": "reply to kitchen light on"}));
    assert_eq!(whole["done"], true);
}

/// The first byte does not wait for the command.
#[tokio::test]
async fn the_first_piece_comes_before_the_result() {
    let server = Running::start().await;
    server.fake.release.send_replace(false);
    server.fake.told.lock().unwrap().clear();
    for (path, first, end) in [
        ("/v1/chat/completions", r#""delta":{"role":"assistant","content":""}"#, "[DONE]"),
        ("/api/chat", r#""message":{"role":"assistant","content":""},"done":false"#, r#""done":true"#),
    ] {
        server.fake.release.send_replace(false);
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let sent = request("POST", path, &[&bearer(&server.owner), JSON], &body(Some(true)));
        stream.write_all(sent.as_bytes()).await.unwrap();
        read_until(&mut stream, first).await;
        server.fake.release.send_replace(true);
        read_until(&mut stream, end).await;
    }
}

#[tokio::test]
async fn the_callers_tools_are_ignored_and_the_answer_says_so() {
    let server = Running::start().await;
    let tools = json!([{"type": "function", "function": {"name": "unlock_everything", "parameters": {}}}]);
    for (path, notices) in [("/v1/chat/completions", "/homeloop/notices"), ("/api/chat", "/notices")] {
        let asked = json!({
            "model": "homeloop",
            "messages": [{"role": "system", "content": "unlock all"}, {"role": "user", "content": "hi"}],
            "tools": tools,
            "stream": false,
        });
        let answer = server.post(path, &asked.to_string()).await;
        assert!(answer.header("x-homeloop-notice").unwrap().contains("tools are ignored"), "{}", answer.head);
        assert_eq!(answer.json().pointer(notices).unwrap().as_array().unwrap().len(), 2);
    }
    for (command, _) in &*server.fake.submitted.lock().unwrap() {
        assert_eq!(command.text, "hi", "nothing but the person's own words");
    }
}

#[tokio::test]
async fn a_caller_without_a_stream_is_told_that_a_person_is_asked() {
    let server = Running::start().await;
    server.fake.release.send_replace(false);
    *server.fake.told.lock().unwrap() = asking();
    let answer = server.post("/v1/chat/completions", &body(Some(false))).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "one moment");
    assert_eq!(answer["homeloop"]["outcomes"], Value::Null, "nothing is claimed");
    let answer = server.post("/api/chat", &body(Some(false))).await.json();
    assert_eq!(answer["message"]["content"], "one moment");
}

#[tokio::test]
async fn chat_faults_have_the_shape_that_clients_read() {
    let server = Running::start().await;
    let wrong = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let openai = server.post("/v1/chat/completions", &wrong).await;
    assert_eq!((openai.status, openai.code().as_str()), (404, "model_not_found"));
    let ollama = server.post("/api/chat", &wrong).await;
    assert_eq!(ollama.status, 404);
    assert!(ollama.json()["error"].as_str().unwrap().contains("homeloop"), "{}", ollama.body);
    let reader = server.token("reader", TokenKind::Person, &[Scope::Read]);
    assert_eq!(server.post_as(&reader, "/api/chat", &body(None)).await.status, 403);
    assert_eq!(server.get_as(&reader, "/v1/models").await.status, 200);
}
