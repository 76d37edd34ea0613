//! S13, S14 and S25 to S32: who may do what.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use homeloop::clock::Clock;
use homeloop::http::routes::{Access, table};
use homeloop::http::tokens::{FIRST_TOKEN_FILE, TOKENS_FILE, TokenError, TokenKind, TokenStore};
use homeloop::policy::Scope;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{PATIENCE, raw, raw_from, read_all, read_until, request};
use crate::fake::PLAN_HASH;
use crate::running::{JSON, Running, bearer};

/// Routes that anybody may read; a new one must be put here on purpose.
const PUBLIC: &[&str] = &["/", "/healthz", "/openapi.json", "/page.css", "/page.js", "/readyz"];

fn concrete(path: &str) -> String {
    path.replace("{id}", "01A")
}

#[tokio::test]
async fn s25_no_token_on_any_route_is_401() {
    let server = Running::start().await;
    let mut public = Vec::new();
    for route in table() {
        let path = concrete(route.path);
        let headers: &[&str] = if route.method == "POST" { &[JSON] } else { &[] };
        let body = if route.method == "POST" { "{}" } else { "" };
        let response = raw(server.address, request(route.method.as_str(), &path, headers, body)).await;
        match route.access {
            Access::Public => public.push(route.path),
            Access::Needs(_) => assert_eq!(response.status, 401, "{} {path}", route.method),
            // The test is on the same machine.
            Access::LocalOr(_) => assert_eq!(response.status, 200, "{} {path}", route.method),
        }
    }
    public.sort_unstable();
    assert_eq!(public, PUBLIC);
    assert!(server.fake.submitted.lock().unwrap().is_empty());
}

/// A scraper on this machine needs no token; whatever was passed on, came from a page or presents a token is asked.
#[tokio::test]
async fn metrics_are_open_to_this_machine_alone() {
    let server = Running::start().await;
    let command_only = server.token("command-only", TokenKind::Person, &[Scope::Command]);
    for (headers, expected) in [
        (vec![], 200),
        (vec![bearer(&server.owner)], 200),
        (vec![bearer(&command_only)], 403),
        (vec!["Authorization: Bearer wrong".to_owned()], 401),
        (vec!["X-Forwarded-For: 192.0.2.7".to_owned()], 401),
        (vec!["Forwarded: for=192.0.2.7".to_owned()], 401),
        (vec!["Via: 1.1 proxy".to_owned()], 401),
        (vec!["X-Forwarded-For: 192.0.2.7".to_owned(), bearer(&server.owner)], 200),
    ] {
        let lines: Vec<&str> = headers.iter().map(String::as_str).collect();
        let answer = raw(server.address, request("GET", "/metrics", &lines, "")).await;
        assert_eq!(answer.status, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn every_route_refuses_a_token_without_its_scope() {
    let server = Running::start().await;
    for route in table() {
        let Access::Needs(scope) = route.access else { continue };
        let others: Vec<Scope> = [Scope::Read, Scope::Command, Scope::Approve, Scope::Admin]
            .into_iter()
            .filter(|other| *other != scope)
            .collect();
        let name = format!("no-{scope:?}").to_lowercase();
        let _ = server.tokens.revoke(&name);
        let token = server.token(&name, TokenKind::Person, &others);
        let (path, method) = (concrete(route.path), route.method.as_str());
        let sent = request(method, &path, &[&bearer(&token), JSON], if method == "POST" { "{}" } else { "" });
        assert_eq!(raw(server.address, sent).await.status, 403, "{method} {path}");
    }
}

#[tokio::test]
async fn s26_what_is_nearly_the_token_is_401() {
    let server = Running::start().await;
    let token = server.owner.clone();
    let other_case: String = token
        .chars()
        .map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
        .collect();
    // Within the limit of wrong tokens from one address.
    for authorization in [
        "Authorization:".to_owned(),
        "Authorization: Bearer".to_owned(),
        "Authorization: Bearer ".to_owned(),
        bearer(&token[..token.len() - 1]),
        bearer(&format!("{token}x")),
        bearer(&other_case),
        format!("Authorization: Basic {token}"),
        format!("Authorization: {token}"),
        format!("{}\r\n{}", bearer(&token), bearer(&token)),
    ] {
        let sent = request("GET", "/api/tasks", &[&authorization], "");
        assert_eq!(raw(server.address, sent).await.status, 401, "{authorization}");
    }
    assert_eq!(server.get("/api/tasks").await.status, 200);
}

#[tokio::test]
async fn b43_a_malformed_header_gets_the_answer_of_a_wrong_token() {
    let server = Running::start().await;
    let ask = |header: &'static str| raw(server.address, request("GET", "/api/tasks", &[header], ""));
    let wrong = ask("Authorization: Bearer hl_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await;
    for malformed in ["Authorization: %%%", "Authorization: Bearer\tx", "X-Nothing: 1"] {
        let response = ask(malformed).await;
        assert_eq!((response.status, &response.body), (wrong.status, &wrong.body), "{malformed}");
        let stable = |head: &str| {
            head.lines().filter(|line| !line.starts_with("date:")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(stable(&response.head), stable(&wrong.head));
    }
}

#[tokio::test]
async fn s27_a_token_in_the_query_is_401() {
    let server = Running::start().await;
    for name in ["token", "access_token", "api_key"] {
        let path = format!("/api/tasks?{name}={}", server.owner);
        assert_eq!(raw(server.address, request("GET", &path, &[], "")).await.status, 401, "{name}");
        assert_eq!(
            server.get(&path).await.status,
            401,
            "also beside a good header: it must not become a habit"
        );
    }
}

/// Both kinds of guess are hashed and compared with every stored hash. What is compared is the time of many
/// interleaved tries, so that a busy machine hits both alike.
#[test]
fn s28_a_right_prefix_takes_no_other_time_than_a_wrong_one() {
    let directory = tempfile::tempdir().unwrap();
    let (store, first) = TokenStore::open(directory.path(), Clock::system()).unwrap();
    let token = std::fs::read_to_string(first.unwrap()).unwrap().trim().to_owned();
    let near = format!("{}{}", &token[..token.len() - 1], if token.ends_with('A') { 'B' } else { 'A' });
    let far = format!("hl_{}", "z".repeat(token.len() - 3));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..10_000 {
        for (guess, times) in [&near, &far].into_iter().zip(&mut times) {
            let begun = Instant::now();
            assert!(store.verify(guess.as_bytes()).is_none());
            times.push(begun.elapsed());
        }
    }
    let [near, far] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64
    });
    assert!((near / far - 1.0).abs() < 0.1, "median {near} ns for a right prefix, {far} ns for a wrong one");
}

#[tokio::test]
async fn s29_guessing_ends_after_ten_wrong_tokens_and_hurts_nobody_else() {
    let server = Running::start().await;
    let guess = |number: usize| request("GET", "/api/tasks", &[&bearer(&format!("hl_guess{number}"))], "");
    for number in 0..10 {
        assert_eq!(raw_from("127.0.0.2", server.address, guess(number)).await.status, 401);
    }
    let refused = raw_from("127.0.0.2", server.address, guess(10)).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_requests"));
    assert!(refused.header("retry-after").is_some());
    let right = request("GET", "/api/tasks", &[&bearer(&server.owner)], "");
    assert_eq!(
        raw_from("127.0.0.2", server.address, &right).await.status,
        429,
        "a right guess is not told either"
    );
    assert_eq!(raw_from("127.0.0.3", server.address, &right).await.status, 200);
}

#[tokio::test]
async fn s30_a_reading_token_cannot_command() {
    let server = Running::start().await;
    let reader = server.token("reader", TokenKind::Person, &[Scope::Read]);
    assert_eq!(server.post_as(&reader, "/api/commands", r#"{"text": "hi"}"#).await.status, 403);
    assert_eq!(server.get_as(&reader, "/api/tasks").await.status, 200);
    assert!(server.fake.submitted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn s31_a_revoked_token_ends_its_open_stream() {
    let server = Running::start().await;
    let token = server.token("tablet", TokenKind::Person, &[Scope::Read]);
    // Revoked by another process: only the file changes, and the server follows it.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request("GET", "/api/events", &[&bearer(&token)], "").as_bytes()).await.unwrap();
    read_until(&mut stream, "event: state").await;
    let (other, _) = TokenStore::open(server.directory.path(), Clock::system()).unwrap();
    other.revoke("tablet").unwrap();
    read_all(&mut stream).await;
    assert_eq!(server.get_as(&token, "/api/tasks").await.status, 401);
    assert_eq!(server.get("/api/tasks").await.status, 200, "the others stay");
}

#[test]
fn s32_an_unknown_or_missing_key_in_the_tokens_file_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    TokenStore::open(directory.path(), Clock::system()).unwrap();
    let path = directory.path().join(TOKENS_FILE);
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("\"sha256\"", "\"hash\""),
        ("\"scopes\"", "\"roles\""),
        ("\"tokens\"", "\"credentials\""),
        ("\"version\": 1", "\"version\": 2"),
        ("\"person\"", "\"human\""),
        ("\"name\": \"owner\"", "\"name\": \"owner\", \"name\": \"other\""),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        std::fs::write(&path, bad).unwrap();
        let error = TokenStore::open(directory.path(), Clock::system()).map(|_| ()).unwrap_err();
        assert!(matches!(error, TokenError::Malformed { .. }), "{from}: {error}");
    }
    std::fs::write(&path, &good).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = TokenStore::open(directory.path(), Clock::system()).map(|_| ()).unwrap_err();
    assert!(matches!(error, TokenError::Open { mode: 0o644, .. }), "{error}");
}

#[test]
fn the_first_start_leaves_one_token_that_only_the_owner_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let (store, first) = TokenStore::open(directory.path(), Clock::system()).unwrap();
    assert_eq!(first.as_deref(), Some(&*directory.path().join(FIRST_TOKEN_FILE)));
    for name in [TOKENS_FILE, FIRST_TOKEN_FILE] {
        let mode = std::fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let text = std::fs::read_to_string(first.unwrap()).unwrap();
    let token = store.verify(text.trim().as_bytes()).unwrap();
    assert_eq!(token.scopes, [Scope::Read, Scope::Command, Scope::Approve]);
    let file = std::fs::read_to_string(directory.path().join(TOKENS_FILE)).unwrap();
    assert!(!file.contains(text.trim()), "the file holds only hashes");
    let (_, again) = TokenStore::open(directory.path(), Clock::system()).unwrap();
    assert_eq!(again, None);
}

#[tokio::test]
async fn s13_no_credential_but_a_persons_can_hold_approve() {
    let server = Running::start().await;
    let body = format!(r#"{{"v": 1, "plan_hash": "{PLAN_HASH}", "decision": "approve"}}"#);
    for kind in [TokenKind::Agent, TokenKind::Mcp, TokenKind::Voice, TokenKind::Device] {
        let name = format!("{kind:?}").to_lowercase();
        let error = server.tokens.create(&name, kind, vec![Scope::Approve]).unwrap_err();
        assert!(matches!(error, TokenError::ScopeNotAllowed { .. }), "{error}");
        let token = server.token(&name, kind, &[Scope::Read, Scope::Command]);
        assert_eq!(server.post_as(&token, "/api/approvals/01A", &body).await.status, 403, "{kind:?}");
    }
    assert!(server.fake.answered.lock().unwrap().is_empty());
    // Nor by editing the file.
    let path = server.directory.path().join(TOKENS_FILE);
    let text = std::fs::read_to_string(&path).unwrap().replacen("\"person\"", "\"agent\"", 1);
    std::fs::write(&path, text).unwrap();
    let opened = TokenStore::open(server.directory.path(), Clock::system()).map(|_| ());
    assert!(matches!(opened, Err(TokenError::ScopeNotAllowed { .. })));
}

#[tokio::test]
async fn s14_who_decided_is_never_taken_from_the_body() {
    let server = Running::start().await;
    let body = format!(
        r#"{{"v": 1, "plan_hash": "{PLAN_HASH}", "decision": "approve", "decided_by": "token:boss"}}"#
    );
    let response = server.post("/api/approvals/01A", &body).await;
    assert_eq!(response.json()["decided_by"], "token:owner");
    assert_eq!(server.fake.answered.lock().unwrap()[0].1.name, "token:owner");
}

#[tokio::test]
async fn a_token_made_meanwhile_works_at_once() {
    let server = Running::start().await;
    let (other, _) = TokenStore::open(server.directory.path(), Clock::system()).unwrap();
    let token = other.create("phone", TokenKind::Person, vec![Scope::Read]).unwrap();
    server.tokens.reload().unwrap();
    let token = secrecy::ExposeSecret::expose_secret(&token).to_owned();
    let answer = tokio::time::timeout(PATIENCE, server.get_as(&token, "/api/tasks")).await.unwrap();
    assert_eq!(answer.status, 200);
}
