//! S33 to S40: what a web page that a resident opened could try.

use homeloop::http::HttpSettings;
use homeloop::http::guard::CONTENT_SECURITY_POLICY;
use homeloop::http::routes::table;

use crate::client::{raw, raw_from, request};
use crate::fake::PLAN_HASH;
use crate::running::{JSON, Running, bearer};

/// A request with its own Host lines.
fn with_hosts(server: &Running, path: &str, hosts: &[&str]) -> String {
    let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
    format!("GET {path} HTTP/1.1\r\n{hosts}{}\r\nConnection: close\r\n\r\n", bearer(&server.owner))
}

#[tokio::test]
async fn s33_foreign_missing_and_double_hosts_are_refused() {
    let server = Running::start().await;
    let own = server.address.to_string();
    for (hosts, status) in [
        (&["evil.example"][..], 403),
        (&["localhost.evil.example"], 403),
        (&[], 400),
        (&["localhost", "localhost"], 400),
        (&["localhost", "evil.example"], 400),
        (&["local host"], 400),
        (&["localhost"], 200),
        (&[&own], 200),
        (&["[::1]"], 200),
    ] {
        let response = raw(server.address, with_hosts(&server, "/api/tasks", hosts)).await;
        assert_eq!(response.status, status, "{hosts:?}");
    }
    let absolute = with_hosts(&server, "http://evil.example/api/tasks", &["localhost"]);
    assert_eq!(raw(server.address, absolute).await.status, 400);
    let old = format!("GET /api/tasks HTTP/1.0\r\n{}\r\n\r\n", bearer(&server.owner));
    assert_eq!(raw(server.address, old).await.status, 400);
}

#[tokio::test]
async fn s34_a_rebound_name_is_refused_on_every_route() {
    let server = Running::start().await;
    for route in table() {
        let path = route.path.replace("{id}", "01A");
        let sent =
            with_hosts(&server, &path, &["attacker.example"]).replacen("GET", route.method.as_str(), 1);
        assert_eq!(raw(server.address, sent).await.status, 403, "{} {path}", route.method);
    }
}

#[tokio::test]
async fn a_listed_host_and_origin_are_accepted() {
    let settings = HttpSettings {
        allowed_hosts: vec!["home.example".into()],
        allowed_origins: vec!["https://dash.example".into()],
        ..HttpSettings::default()
    };
    let server = Running::with(settings).await;
    assert_eq!(raw(server.address, with_hosts(&server, "/api/tasks", &["home.example"])).await.status, 200);
    let sent = request("GET", "/api/tasks", &[&bearer(&server.owner), "Origin: https://dash.example"], "");
    assert_eq!(raw(server.address, sent).await.status, 200);
}

#[tokio::test]
async fn s35_and_s37_other_sites_cannot_post_forms_or_text() {
    let server = Running::start().await;
    let body = format!(r#"{{"v": 1, "plan_hash": "{PLAN_HASH}", "decision": "approve"}}"#);
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        for path in ["/api/commands", "/api/approvals/01A"] {
            let kind = format!("Content-Type: {kind}");
            let sent = request("POST", path, &[&bearer(&server.owner), &kind], &body);
            assert_eq!(raw(server.address, sent).await.status, 415, "{path} {kind}");
            let site = "Sec-Fetch-Site: cross-site";
            let sent = request("POST", path, &[&bearer(&server.owner), &kind, site], &body);
            assert_eq!(raw(server.address, sent).await.status, 403, "{path} {kind}");
        }
    }
    assert!(server.fake.answered.lock().unwrap().is_empty());
}

#[tokio::test]
async fn s36_and_s39_foreign_and_null_origins_are_refused_without_cors_headers() {
    let server = Running::start().await;
    let port = server.address.port();
    for origin in
        ["null", "https://evil.example", "http://localhost:1", "http://localhost.evil.example", "file://"]
    {
        for path in ["/api/tasks", "/api/events"] {
            let origin = format!("Origin: {origin}");
            let response =
                raw(server.address, request("GET", path, &[&bearer(&server.owner), &origin], "")).await;
            assert_eq!(response.status, 403, "{path} {origin}");
            assert!(!response.head.to_lowercase().contains("access-control"), "{}", response.head);
        }
    }
    let preflight = request("OPTIONS", "/api/commands", &["Origin: https://evil.example"], "");
    assert_eq!(raw(server.address, preflight).await.status, 403);
    let own = format!(
        "GET /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n{}\r\nConnection: close\r\n\r\n",
        bearer(&server.owner)
    );
    let response = raw(server.address, own).await;
    assert_eq!(response.status, 200);
    assert!(!response.head.to_lowercase().contains("access-control"));
}

#[tokio::test]
async fn s38_no_answer_can_be_framed_or_read_as_something_else() {
    let server = Running::start().await;
    for path in ["/healthz", "/api/tasks", "/api/tasks/none", "/nothing"] {
        let response = server.get(path).await;
        assert_eq!(response.header("content-security-policy"), Some(CONTENT_SECURITY_POLICY), "{path}");
        assert!(CONTENT_SECURITY_POLICY.contains("frame-ancestors 'none'"));
        assert_eq!(response.header("x-frame-options"), Some("DENY"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    let refused = raw(server.address, with_hosts(&server, "/", &["evil.example"])).await;
    assert_eq!(refused.header("content-security-policy"), Some(CONTENT_SECURITY_POLICY));
}

#[tokio::test]
async fn s40_forwarding_headers_of_strangers_are_ignored() {
    let server = Running::start().await;
    for number in 0..10 {
        let guess = bearer(&format!("hl_guess{number}"));
        let pretended = format!("X-Forwarded-For: 192.0.2.{number}");
        let sent = request("GET", "/api/tasks", &[&guess, &pretended], "");
        assert_eq!(raw_from("127.0.0.4", server.address, sent).await.status, 401);
    }
    let sent = request("GET", "/api/tasks", &[&bearer("hl_x"), "X-Forwarded-For: 192.0.2.99"], "");
    assert_eq!(
        raw_from("127.0.0.4", server.address, sent).await.status,
        429,
        "counted under its own address"
    );
    let hosts = request("GET", "/api/tasks", &[&bearer(&server.owner), "X-Forwarded-Host: evil.example"], "");
    assert_eq!(raw(server.address, hosts).await.status, 200, "not looked at");
    let foreign = with_hosts(&server, "/api/tasks", &["evil.example"]).replacen(
        "\r\nConnection",
        "\r\nX-Forwarded-Host: localhost\r\nConnection",
        1,
    );
    assert_eq!(raw(server.address, foreign).await.status, 403);
}

#[tokio::test]
async fn json_is_needed_even_from_ourselves() {
    let server = Running::start().await;
    let own =
        request("POST", "/api/stop", &[&bearer(&server.owner), JSON, "Sec-Fetch-Site: same-origin"], "{}");
    assert_eq!(raw(server.address, own).await.status, 200);
    for site in ["cross-site", "same-site", "nonsense"] {
        let header = format!("Sec-Fetch-Site: {site}");
        let sent = request("POST", "/api/stop", &[&bearer(&server.owner), JSON, &header], "{}");
        assert_eq!(raw(server.address, sent).await.status, 403, "{site}");
    }
}
