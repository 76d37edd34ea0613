//! A headless browser, driven over its DevTools protocol.

use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

const PATIENCE: Duration = Duration::from_secs(40);

pub struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
    next: u64,
    /// Messages of the console, uncaught errors and reports of the content security policy.
    pub complaints: Vec<Value>,
    _browser: Child,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Opens `url` in a browser of its own; `None` where there is no browser.
    pub async fn open(url: &str, language: &str) -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let (mut browser, name) = spawn(profile.path(), language)?;
        let mut lines = BufReader::new(browser.stderr.take().unwrap()).lines();
        let found = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(address) = line.strip_prefix("DevTools listening on ") {
                    return address.trim().to_owned();
                }
            }
            panic!("{name} ended without opening its DevTools");
        };
        let address = tokio::time::timeout(PATIENCE, found).await.unwrap();
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (socket, _) = tokio_tungstenite::connect_async(address).await.unwrap();
        let session = String::new();
        let mut page =
            Self { socket, session, next: 0, complaints: Vec::new(), _browser: browser, _profile: profile };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"})).await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = page.call("Target.attachToTarget", attach).await;
        page.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Audits"] {
            page.call(&format!("{domain}.enable"), json!({})).await;
        }
        page.call("Page.navigate", json!({"url": url})).await;
        Some(page)
    }

    /// One command of the protocol and its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            let received = tokio::time::timeout(PATIENCE, self.socket.next()).await;
            let received = received.unwrap_or_else(|_| panic!("no answer to {method}")).unwrap().unwrap();
            let Message::Text(text) = received else { continue };
            let value: Value = serde_json::from_str(&text).unwrap();
            if value["id"] == self.next {
                assert!(value["error"].is_null(), "{method}: {value}");
                return value["result"].clone();
            }
            let told = value["method"].as_str().unwrap_or("");
            if ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Audits.issueAdded"]
                .contains(&told)
                && value["params"]["entry"]["level"] != "verbose"
            {
                self.complaints.push(value);
            }
        }
    }

    /// The value of a JavaScript expression.
    pub async fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.call("Runtime.evaluate", params).await["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression is true.
    pub async fn until(&mut self, expression: &str) {
        let condition = async {
            let waiting = format!(
                "new Promise((resolve) => {{ const look = () => ({expression}) ? resolve(true) : setTimeout(look, 20); look(); }})"
            );
            assert_eq!(self.value(&waiting).await, true, "{expression}");
        };
        let come = tokio::time::timeout(PATIENCE, condition).await;
        assert!(come.is_ok(), "never became true: {expression}");
    }
}

fn spawn(profile: &std::path::Path, language: &str) -> Option<(Child, &'static str)> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|name| {
        let child = Command::new(name)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-port=0", &format!("--lang={language}")])
            .args([&format!("--accept-lang={language}"), &format!("--user-data-dir={}", profile.display())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        Some((child.ok()?, name))
    })
}
