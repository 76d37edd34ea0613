//! B1 to B9, B41 to B43 and the HTTP side of S1 to S7: what is wrong in form never reaches the service.

use homeloop::http::service::AnswerError;
use homeloop::policy::Verdict;

use crate::client::{raw, request};
use crate::fake::PLAN_HASH;
use crate::running::{JSON, Running, bearer};

#[tokio::test]
async fn b1_to_b9_a_command_that_is_wrong_in_form_is_refused_with_its_path() {
    let server = Running::start().await;
    let long = format!(r#"{{"text": "{}"}}"#, "x".repeat(10_001));
    let deep = format!(r#"{{"text": {}1{}}}"#, "[".repeat(200), "]".repeat(200));
    for (name, body, status, says) in [
        ("b1", r#"{"text": ""}"#, 400, "rejected: empty"),
        ("b1", "{\"text\": \" \\n \"}", 400, "rejected: empty"),
        ("b2", &*long, 413, "at most 10000"),
        ("b4", "[1]", 400, "expected an object, got an array"),
        ("b4", "7", 400, "expected an object, got a number"),
        ("b4", r#"{"text": 7}"#, 400, "text: expected a string, got a number"),
        ("b4", r#"{"text": "a", "area": ["x"]}"#, 400, "area: expected a string, got an array"),
        ("b4", "{}", 400, "text: missing"),
        ("b5", r#"{"text": "lock", "text": "unlock"}"#, 400, "text: the key appears twice"),
        ("b6", r#"{"text": "a", "admin": true}"#, 400, "admin: unknown field"),
        ("b7", &*deep, 400, "recursion limit"),
        ("b8", r#"{"text": "a", "wait_s": 1e400}"#, 400, "wait_s: number out of range"),
        ("b8", r#"{"text": "a", "wait_s": NaN}"#, 400, "wait_s"),
        (
            "b8",
            r#"{"text": "a", "wait_s": 123456789012345678901234567890}"#,
            400,
            "wait_s: the number is too large",
        ),
        ("b8", r#"{"text": "a", "wait_s": 601}"#, 400, "wait_s: expected 0 to 600"),
        ("b9", r#"{"text": "a"} {}"#, 400, "trailing"),
        (
            "form",
            r#"{"text": "a", "on_disconnect": "explode"}"#,
            400,
            "on_disconnect: expected continue or cancel",
        ),
        ("form", r#"{"text": "a", "issued_at": "yesterday"}"#, 400, "issued_at: expected a time"),
        ("form", r#"{"text": "a", "id": ""}"#, 400, "id: expected 1 to 128"),
    ] {
        let response = server.post("/api/commands", body).await;
        assert_eq!(response.status, status, "{name} {body}: {response:?}");
        assert!(response.body.contains(says), "{name} {body}: {}", response.body);
    }
    assert!(server.fake.submitted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn b3_a_body_that_is_no_utf_8_is_refused() {
    let server = Running::start().await;
    let mut sent =
        request("POST", "/api/commands", &[&bearer(&server.owner), JSON, "Content-Length: 13"], "");
    sent.push_str("{\"text\": \"");
    let mut bytes = sent.into_bytes();
    bytes.extend_from_slice(b"\xff\"}");
    assert_eq!(raw(server.address, bytes).await.status, 400);
}

#[tokio::test]
async fn an_answer_to_an_approval_is_exact_or_refused() {
    let server = Running::start().await;
    let valid = format!(r#""plan_hash": "{PLAN_HASH}""#);
    for (body, says) in [
        (format!(r#"{{{valid}, "decision": "approve"}}"#), "v: expected 1"),
        (format!(r#"{{"v": 2, {valid}, "decision": "approve"}}"#), "v: expected 1"),
        (format!(r#"{{"v": "1", {valid}, "decision": "approve"}}"#), "v: expected"),
        (r#"{"v": 1, "decision": "approve"}"#.into(), "plan_hash: missing"),
        (r#"{"v": 1, "plan_hash": "aa", "decision": "approve"}"#.into(), "plan_hash: expected 64"),
        (format!(r#"{{"v": 1, {valid}}}"#), "decision: missing"),
        (format!(r#"{{"v": 1, {valid}, "decision": "yes"}}"#), "decision: expected approve or deny"),
        (format!(r#"{{"v": 1, {valid}, "decision": "Approve"}}"#), "decision: expected approve or deny"),
        (format!(r#"{{"v": 1, {valid}, "decision": true}}"#), "decision: expected a string"),
        (
            format!(r#"{{"v": 1, {valid}, "decision": "deny", "decision": "approve"}}"#),
            "decision: the key appears twice",
        ),
        (format!(r#"{{"v": 1, {valid}, "decision": "approve", "force": true}}"#), "force: unknown field"),
        (
            format!(r#"{{"v": 1, {valid}, "decision": "approve", "approval_id": "01B"}}"#),
            "approval_id: names another",
        ),
    ] {
        let response = server.post("/api/approvals/01A", &body).await;
        assert_eq!(response.status, 400, "{body}: {response:?}");
        assert!(response.body.contains(says), "{body}: {}", response.body);
    }
    assert!(server.fake.answered.lock().unwrap().is_empty());
}

#[tokio::test]
async fn s1_to_s7_refused_answers_have_their_status() {
    let server = Running::start().await;
    let body = format!(r#"{{"v": 1, "plan_hash": "{PLAN_HASH}", "decision": "approve"}}"#);
    for (error, status, code) in [
        (AnswerError::NotFound, 404, "not_found"),
        (AnswerError::WrongHash, 409, "wrong_hash"),
        (AnswerError::AlreadyDecided(Verdict::Approved), 409, "already_decided"),
        (AnswerError::Invalidated, 409, "invalidated"),
        (AnswerError::Expired, 410, "expired"),
        (AnswerError::Stale, 400, "stale"),
        (AnswerError::Forbidden, 403, "forbidden"),
        (AnswerError::Locked(900), 429, "too_many_requests"),
    ] {
        *server.fake.answer_error.lock().unwrap() = Some(error);
        let response = server.post("/api/approvals/01A", &body).await;
        assert_eq!((response.status, response.code().as_str()), (status, code));
    }
}

#[tokio::test]
async fn b41_wrong_methods_and_content_types_are_refused() {
    let server = Running::start().await;
    for (method, path) in
        [("GET", "/api/commands"), ("PUT", "/api/tasks"), ("POST", "/healthz"), ("TRACE", "/readyz")]
    {
        let sent = request(method, path, &[&bearer(&server.owner), JSON], "");
        assert_eq!(raw(server.address, sent).await.status, 405, "{method} {path}");
    }
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
    ] {
        let header = format!("Content-Type: {kind}");
        let sent = request("POST", "/api/commands", &[&bearer(&server.owner), &header], r#"{"text": "a"}"#);
        assert_eq!(raw(server.address, sent).await.status, 415, "{kind}");
    }
    let none = request("POST", "/api/commands", &[&bearer(&server.owner)], r#"{"text": "a"}"#);
    assert_eq!(raw(server.address, none).await.status, 415);
    let charset = "Content-Type: application/json; charset=utf-8";
    let sent = request("POST", "/api/commands", &[&bearer(&server.owner), charset], r#"{"text": "a"}"#);
    assert_eq!(raw(server.address, sent).await.status, 200);
}

#[tokio::test]
async fn s43_paths_cannot_climb() {
    let server = Running::start().await;
    for path in [
        "/static/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "/page.js/..%5c..%5cetc",
        "/%00",
        "/page.js%00",
        "/..\\..\\etc",
        "/api/tasks/..%2f..%2fetc%2fpasswd",
    ] {
        let response = server.get(path).await;
        assert!(matches!(response.status, 404 | 400), "{path}: {response:?}");
        assert!(!response.body.contains("root:"));
    }
}
