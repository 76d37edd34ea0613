//! The real binary on a real broker.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use homeloop::mqtt::link::Publish;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::common::soon;

/// A broker, a client of it, and a state directory, for daemons that come and go.
pub struct Site {
    pub broker: Mosquitto,
    pub recorder: Recorder,
    pub folder: TempDir,
}

/// A running daemon.
pub struct Daemon {
    pub child: Child,
    pub http: String,
    pub token: String,
}

impl Site {
    /// `None` where mosquitto is not installed.
    pub async fn start() -> Option<Self> {
        homeloop::tls_provider();
        let broker = Mosquitto::start(Options::default()).await?;
        let recorder = Recorder::start(broker.address, None).await;
        Some(Self { broker, recorder, folder: tempfile::tempdir().unwrap() })
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub async fn publish(&self, topic: &str, payload: impl Into<Vec<u8>>) {
        let payload: Vec<u8> = payload.into();
        let publish = Publish::new(topic.to_owned(), payload).retained();
        self.recorder.link.publish(publish).await.unwrap();
    }

    /// Starts `homeloop run` without waiting for anything.
    pub fn spawn(&self) -> Child {
        self.command(&["run", "--json"])
            .env("HOMELOOP__HTTP__BIND", "127.0.0.1:0")
            .env("RUST_LOG", "info")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// Starts `homeloop run` and waits for its HTTP server.
    pub async fn daemon(&self) -> Daemon {
        let mut child = self.spawn();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = soon("the daemon serves HTTP", async {
            while let Some(line) = lines.next_line().await.unwrap() {
                let log: Value = serde_json::from_str(&line).unwrap_or_default();
                if log["fields"]["message"] == "HTTP is served" {
                    return log["fields"]["address"].as_str().unwrap().to_owned();
                }
            }
            panic!("the daemon ended");
        })
        .await;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let token = std::fs::read_to_string(self.state().join("first-token")).unwrap();
        Daemon { child, http: format!("http://{address}"), token: token.trim().to_owned() }
    }

    /// The binary with the settings of this site.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_homeloop"));
        command
            .args(arguments)
            .env("HOMELOOP__STATE_DIR", self.state())
            .env("HOMELOOP__MQTT__BROKER", "external")
            .env("HOMELOOP__MQTT__HOST", self.broker.address.ip().to_string())
            .env("HOMELOOP__MQTT__PORT", self.broker.address.port().to_string());
        command
    }

    /// Runs a command that talks to `daemon` to its end.
    pub async fn ask(&self, daemon: &Daemon, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command
            .env("HOMELOOP_URL", &daemon.http)
            .env("HOMELOOP_TOKEN_FILE", self.state().join("first-token"));
        soon(&format!("{arguments:?} ends"), command.output()).await.unwrap()
    }
}

impl Daemon {
    pub async fn get(&self, path: &str) -> (u16, Value) {
        let request = reqwest::Client::new().get(format!("{}{path}", self.http)).bearer_auth(&self.token);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    /// Waits until an entity is there.
    pub async fn entity(&self, id: &str) -> Value {
        soon(&format!("{id} is there"), async {
            loop {
                let (status, entity) = self.get(&format!("/api/entities/{id}")).await;
                if status == 200 {
                    return entity;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await
    }

    pub async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// What a command printed, where it worked.
pub fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The binary without any site.
pub async fn alone(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_homeloop"));
    command.args(arguments).env("HOMELOOP__STATE_DIR", folder);
    soon(&format!("{arguments:?} ends"), command.output()).await.unwrap()
}
