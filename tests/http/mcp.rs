//! The MCP server: S64, B45 and what a client reads.

use homeloop::http::HttpSettings;
use homeloop::http::tokens::TokenKind;
use homeloop::policy::{Channel, Scope};
use serde_json::{Value, json};

use crate::client::{Response, raw, request};
use crate::running::{JSON, Running, bearer};

const ACCEPT: &str = "Accept: application/json, text/event-stream";
const VERSION: &str = "MCP-Protocol-Version: 2025-06-18";

async fn send(server: &Running, token: &str, body: &Value) -> Response {
    let headers = [&*bearer(token), JSON, ACCEPT, VERSION];
    raw(server.address, request("POST", "/mcp", &headers, &body.to_string())).await
}

async fn call(server: &Running, method: &str, params: Value) -> Value {
    let token = server.tokens.list().iter().any(|token| token.name == "agent");
    assert!(!token, "one call per test server, or name the token");
    let token = server.token("agent", TokenKind::Mcp, &[Scope::Read, Scope::Command]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = send(server, &token, &body).await;
    server.tokens.revoke("agent").unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    // One JSON object, or events of which the last is the answer.
    let text = answer.body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&answer.body);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

#[tokio::test]
async fn tools_are_listed_with_their_annotations() {
    let server = Running::start().await;
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let hello = call(&server, "initialize", hello).await;
    assert_eq!(hello["result"]["serverInfo"]["name"], "homeloop");
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let list = call(&server, "tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["light", "lock_unlock"]);
    let hints = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false});
    assert_eq!(tools[1]["annotations"], hints);
    assert_eq!(tools[0]["inputSchema"]["type"], "object");
}

#[tokio::test]
async fn a_call_returns_outcomes_under_the_tokens_name() {
    let server = Running::start().await;
    let answer =
        call(&server, "tools/call", json!({"name": "light", "arguments": {"entities": ["light.kitchen"]}}))
            .await;
    assert_eq!(answer["result"]["structuredContent"]["outcomes"][0]["outcome"], "confirmed");
    assert_eq!(answer["result"]["content"][0]["text"], "The kitchen light is on.");
    assert_eq!(answer["result"]["isError"], false);
    let (name, args, by) = server.tools.called.lock().unwrap()[0].clone();
    assert_eq!((name.as_str(), args), ("light", json!({"entities": ["light.kitchen"]})));
    assert_eq!((by.name.as_str(), by.channel), ("token:agent", Channel::Mcp));
    assert!(!by.has(Scope::Approve));
}

#[tokio::test]
async fn progress_is_told_where_it_is_asked_for() {
    let server = Running::start().await;
    let token = server.token("agent", TokenKind::Mcp, &[Scope::Command]);
    let params = json!({"name": "light", "arguments": {}, "_meta": {"progressToken": "p1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = send(&server, &token, &body).await;
    let told: Vec<Value> = answer
        .body
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    assert_eq!(told[0]["method"], "notifications/progress", "{}", answer.body);
    assert_eq!(told[0]["params"]["message"], "sent to light.kitchen");
    assert_eq!(told[0]["params"]["progressToken"], "p1");
    assert_eq!(told[1]["result"]["isError"], false);
}

#[tokio::test]
async fn an_approval_is_pointed_to_and_never_granted() {
    let settings = HttpSettings { public_url: Some("https://home.example/".into()), ..Default::default() };
    for (server, page) in [
        (Running::start().await, "http://localhost"),
        (Running::with(settings).await, "https://home.example"),
    ] {
        let answer = call(&server, "tools/call", json!({"name": "lock_unlock", "arguments": {}})).await;
        let approval = json!({"approval_id": "01A", "url": format!("{page}/#approval=01A")});
        assert_eq!(answer["result"]["structuredContent"]["approval"], approval);
        for name in ["approve", "answer_approval", "approvals"] {
            let refused =
                call(&server, "tools/call", json!({"name": name, "arguments": {"id": "01A"}})).await;
            assert_eq!(refused["error"]["code"], -32601, "{name}");
        }
        assert!(server.fake.answered.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn s64_a_tool_that_is_not_offered_does_not_exist() {
    let server = Running::start().await;
    let answer = call(&server, "tools/call", json!({"name": "permit_join", "arguments": {}})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

#[tokio::test]
async fn b45_wrong_requests_get_errors_and_run_nothing() {
    let server = Running::start().await;
    let token = server.token("agent", TokenKind::Mcp, &[Scope::Command]);
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "house/burn"});
    let answer = send(&server, &token, &unknown).await;
    assert_eq!(answer.json()["error"]["code"], -32601, "{answer:?}");

    let one = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "light", "arguments": {}}});
    let batch = send(&server, &token, &Value::Array(vec![one.clone(); 1000])).await;
    assert!(matches!(batch.status, 400 | 413 | 415 | 422), "{batch:?}");
    let batch = send(&server, &token, &Value::Array(vec![one.clone(); 2])).await;
    assert!(matches!(batch.status, 400 | 415 | 422), "{batch:?}");

    let headers = [&*bearer(&token), JSON, ACCEPT, "MCP-Protocol-Version: 1999-01-01"];
    let old = raw(server.address, request("POST", "/mcp", &headers, &one.to_string())).await;
    assert_eq!(old.status, 400, "{old:?}");
    for broken in ["{", "7", "{\"jsonrpc\": \"1.0\"}"] {
        let headers = [&*bearer(&token), JSON, ACCEPT, VERSION];
        let answer = raw(server.address, request("POST", "/mcp", &headers, broken)).await;
        assert!(matches!(answer.status, 400 | 415 | 422), "{broken}: {answer:?}");
    }
    assert!(server.tools.called.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_token_that_may_only_read_calls_nothing() {
    let server = Running::start().await;
    let reader = server.token("reader", TokenKind::Mcp, &[Scope::Read]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(send(&server, &reader, &list).await.status, 403);
    let stream = request("GET", "/mcp", &[&bearer(&server.owner), "Accept: text/event-stream"], "");
    assert_eq!(raw(server.address, stream).await.status, 405, "there are no sessions to listen to");
}
