//! A demo house in a process of its own, with a recorder of everything that is published on its broker.

use std::net::SocketAddr;
use std::process::Stdio;

use homeloop::mqtt::link::{Inbound, Publish};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::common::recorder::Recorder;
use crate::common::soon;

pub struct House {
    child: Child,
    /// Held open: the demo runs until it is told to stop.
    _input: ChildStdin,
    pub http: String,
    pub token: String,
    pub recorder: Recorder,
    /// What the demo printed when it was ready.
    #[allow(dead_code, reason = "not every test needs its further addresses")]
    pub ready: Value,
    _settings: tempfile::NamedTempFile,
    next: std::sync::atomic::AtomicU64,
}

impl House {
    /// Starts `homeloop demo` and waits until its devices have reported.
    pub async fn start() -> Self {
        Self::launch("", &[]).await
    }

    /// The same, with settings: `HOMELOOP__VOICE__HERMES__ROLE` and so on.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::launch("", settings).await
    }

    /// The same with settings of the test's own, as the text of a file.
    #[allow(dead_code, reason = "for tests that need more than a variable can say")]
    pub async fn with(settings: &str) -> Self {
        Self::launch(settings, &[]).await
    }

    async fn launch(settings: &str, environment: &[(&str, &str)]) -> Self {
        homeloop::tls_provider();
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), settings).expect("the settings are written");
        let mut child = Command::new(env!("CARGO_BIN_EXE_homeloop"))
            .args(["demo", "--json", "--config"])
            .arg(file.path())
            .env("HOMELOOP__MQTT__EMBEDDED__BIND", "127.0.0.1:0")
            .env("HOMELOOP__HTTP__BIND", "127.0.0.1:0")
            .env("RUST_LOG", "warn")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let input = child.stdin.take().expect("its input");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = soon("the demo is ready", lines.next_line()).await.expect("a line").expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let broker: SocketAddr = ready["mqtt"].as_str().expect("the broker").parse().expect("an address");
        // Whoever fills the pipe must not block the daemon.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            child,
            _input: input,
            http: format!("http://{}", ready["http"].as_str().expect("the server")),
            token: ready["token"].as_str().expect("the token").to_owned(),
            recorder: Recorder::start(broker, None).await,
            ready,
            _settings: file,
            next: Default::default(),
        }
    }

    /// Gives a command over MQTT and waits for its one result.
    pub async fn say(&self, text: &str) -> Value {
        let id = self.give(text).await;
        self.result_of(&id).await
    }

    /// Gives a command and returns its id at once.
    pub async fn give(&self, text: &str) -> String {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let id = format!("test-{number}");
        self.publish("homeloop/home/command", &json!({"text": text, "id": id}).to_string()).await;
        id
    }

    pub async fn result_of(&self, id: &str) -> Value {
        let of_id = |message: &Inbound| {
            message.topic == "homeloop/home/result"
                && serde_json::from_slice::<Value>(&message.payload).is_ok_and(|result| result["id"] == *id)
        };
        let message = self.recorder.wait(&format!("the result of {id}"), of_id).await;
        serde_json::from_slice(&message.payload).expect("JSON")
    }

    pub async fn publish(&self, topic: &str, payload: &str) {
        self.recorder.link.publish(Publish::new(topic, payload.to_owned())).await.expect("published");
    }

    /// Changes a simulated device by hand, and waits until the daemon knows.
    pub async fn set(&self, entity: &str, value: &str) {
        self.publish(&format!("homeloop-sim/{entity}/set"), value).await;
        soon(&format!("{entity} is {value}"), async {
            loop {
                let known = self.get(&format!("/api/entities/{entity}")).await;
                if known["value"] == value {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Makes a simulated device fail in a way; an empty word repairs it.
    pub async fn fault(&self, entity: &str, fault: &str) {
        self.publish(&format!("homeloop-sim/{entity}/fault"), fault).await;
    }

    pub async fn get(&self, path: &str) -> Value {
        let request = reqwest::Client::new().get(format!("{}{path}", self.http)).bearer_auth(&self.token);
        request.send().await.expect("an answer").json().await.expect("JSON")
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = reqwest::Client::new().post(format!("{}{path}", self.http)).bearer_auth(&self.token);
        let response = request.json(body).send().await.expect("an answer");
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    /// The commands to devices that were published since `from` messages, as topics.
    pub fn commands(&self, from: usize) -> Vec<String> {
        let is_command =
            |topic: &str| topic.ends_with("/set") || topic.contains("/set/") || topic.starts_with("cmnd/");
        let all = self.recorder.all();
        let since = all.iter().skip(from).map(|message| message.topic.clone());
        since.filter(|topic| is_command(topic) && !topic.starts_with("homeloop-sim/")).collect()
    }

    /// The one approval that waits.
    pub async fn approval(&self) -> Value {
        soon("an approval", async {
            loop {
                let waiting = self.get("/api/approvals").await;
                if let Some(approval) = waiting.as_array().and_then(|list| list.first()) {
                    return approval.clone();
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    pub async fn decide(&self, approval: &Value, decision: &str) -> (u16, Value) {
        let id = approval["approval_id"].as_str().expect("an id");
        let body = json!({"v": 1, "plan_hash": approval["plan_hash"], "decision": decision});
        self.post(&format!("/api/approvals/{id}"), &body).await
    }

    /// Memory of the daemon's process, in kB.
    #[allow(dead_code, reason = "for the figures of some tests")]
    pub fn memory_kb(&self) -> u64 {
        let process = self.child.id().expect("it runs");
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("a number")
    }

    /// Sends SIGTERM, with its standard input still open, and waits for the end.
    pub async fn terminate(&mut self) -> std::process::ExitStatus {
        let id = self.child.id().expect("it runs").to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().await.expect("kill");
        assert!(told.success());
        soon("it ends", self.child.wait()).await.expect("an exit status")
    }

    pub async fn stop(mut self) {
        self.child.kill().await.expect("it ends");
    }
}

/// The outcome words of a result, by entity.
pub fn outcome<'r>(result: &'r Value, entity: &str) -> &'r str {
    let rows = result["outcomes"].as_array().expect("outcomes");
    let row = rows.iter().find(|row| row["action"]["entity"] == entity);
    row.unwrap_or_else(|| panic!("no outcome for {entity} in {result}"))["outcome"].as_str().expect("a word")
}
