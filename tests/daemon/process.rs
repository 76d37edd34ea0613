//! `homeloop run` in a process of its own, over a state directory that outlives it, and what speaks with it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use homeloop::clock::Clock;
use homeloop::mqtt::link::{Credentials, Link, LinkHandle, LinkSettings, Publish};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::common::soon;

/// A running daemon. It is killed with this value, as a power cut would.
pub struct Daemon {
    child: Child,
    pub http: String,
    pub token: String,
    /// Where the embedded broker listens, if there is one.
    pub broker: Option<SocketAddr>,
    log: Arc<Mutex<String>>,
}

impl Daemon {
    /// Starts it with `settings` (TOML) over `dir`, and waits until HTTP is served.
    pub async fn start(dir: &Path, settings: &str) -> Self {
        Self::start_as(dir, settings, &[]).await
    }

    /// The same, started by another program: `unshare` for a disk of its own.
    pub async fn start_as(dir: &Path, settings: &str, wrapper: &[&str]) -> Self {
        homeloop::tls_provider();
        let file = dir.join("homeloop.toml");
        let state = dir.join("state");
        std::fs::write(&file, format!("state_dir = {state:?}\n{settings}")).expect("the settings");
        let binary = env!("CARGO_BIN_EXE_homeloop");
        let mut command = match wrapper {
            [] => Command::new(binary),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(binary);
                command
            }
        };
        command.args(["run", "--json", "--config"]).arg(&file).env("RUST_LOG", "info");
        if !settings.contains("[http]") {
            command.env("HOMELOOP__HTTP__BIND", "127.0.0.1:0");
        }
        let mut child = command
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let (found, mut addresses) = watch::channel((None, None));
        let log = Arc::new(Mutex::new(String::new()));
        let kept = log.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let said: Value = serde_json::from_str(&line).unwrap_or_default();
                let address =
                    || said["fields"]["address"].as_str().and_then(|text| text.parse::<SocketAddr>().ok());
                match said["fields"]["message"].as_str() {
                    Some("the embedded broker listens") => found.send_modify(|known| known.0 = address()),
                    Some("HTTP is served") => found.send_modify(|known| known.1 = address()),
                    _ => {}
                }
                let mut kept = kept.lock().expect("no panic in between");
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let served = soon("HTTP is served", addresses.wait_for(|known| known.1.is_some())).await;
        let (broker, http) = match served {
            Ok(known) => *known,
            Err(_) => panic!("the daemon ended: {}", log.lock().expect("its log")),
        };
        let token = std::fs::read_to_string(state.join("first-token")).unwrap_or_default();
        let http = http.expect("an address");
        Self { child, http: format!("http://{http}"), token: token.trim().to_owned(), broker, log }
    }

    /// Everything that it has written to its log.
    pub fn log(&self) -> String {
        self.log.lock().expect("no panic in between").clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub async fn kill(mut self) {
        self.child.kill().await.expect("it is killed");
    }

    pub async fn get(&self, path: &str) -> Value {
        let request = reqwest::Client::new().get(format!("{}{path}", self.http)).bearer_auth(&self.token);
        // A daemon that starts anew refuses connections for a moment.
        match request.send().await {
            Ok(answer) => answer.json().await.unwrap_or_default(),
            Err(_) => Value::Null,
        }
    }

    pub async fn text(&self, path: &str) -> String {
        let request = reqwest::Client::new().get(format!("{}{path}", self.http)).bearer_auth(&self.token);
        request.send().await.expect("an answer").text().await.expect("text")
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_as(&self.token, path, body).await
    }

    pub async fn post_as(&self, token: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = reqwest::Client::new().post(format!("{}{path}", self.http)).bearer_auth(token);
        let response = request.json(body).send().await.expect("an answer");
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    /// Runs a command to its result.
    pub async fn say(&self, text: &str) -> Value {
        let (status, result) = self.post("/api/commands", &json!({"text": text})).await;
        assert_eq!(status, 200, "{text}: {result}");
        result
    }

    /// Gives a command and returns its task at once.
    pub async fn give(&self, text: &str) -> String {
        let (status, task) = self.post("/api/commands", &json!({"text": text, "wait_s": 0})).await;
        assert!(matches!(status, 200 | 202), "{text}: {task}");
        task["task_id"].as_str().expect("a task").to_owned()
    }

    /// Waits until `holds` says something of what `path` shows.
    pub async fn until<T>(&self, what: &str, path: &str, holds: impl Fn(&Value) -> Option<T>) -> T {
        soon(what, async {
            loop {
                if let Some(found) = holds(&self.get(path).await) {
                    return found;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// The one approval that waits.
    pub async fn approval(&self) -> Value {
        self.until("an approval", "/api/approvals", |list| list.as_array()?.first().cloned()).await
    }

    pub async fn decide(&self, approval: &Value, decision: &str) -> (u16, Value) {
        let id = approval["approval_id"].as_str().expect("an id");
        let body = json!({"v": 1, "plan_hash": approval["plan_hash"], "decision": decision});
        self.post(&format!("/api/approvals/{id}"), &body).await
    }

    /// The end of a task.
    pub async fn result(&self, task: &str) -> Value {
        let path = format!("/api/tasks/{task}");
        self.until("the result", &path, |task| (task["state"] == "finished").then(|| task.clone())).await
    }

    /// Waits until an entity has a value.
    pub async fn has(&self, entity: &str, value: &str) {
        let path = format!("/api/entities/{entity}");
        self.until(&format!("{entity} is {value}"), &path, |known| (known["value"] == value).then_some(()))
            .await;
    }
}

/// Runs `homeloop` with arguments over the settings in `dir` and gives what it prints; it must succeed.
pub async fn homeloop(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_homeloop"))
        .args(arguments)
        .arg("--config")
        .arg(dir.join("homeloop.toml"))
        .output()
        .await
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Writes a file that its owner alone can read.
pub fn private(path: PathBuf, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("the directory");
    std::fs::write(&path, text).expect("the file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    path
}

/// Settings over `dir` for a home (TOML of the home file) whose devices speak on a broker of their own.
pub fn on_broker(dir: &Path, home: &str, broker: SocketAddr) -> String {
    let home = private(dir.join("home.toml"), home);
    format!("[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\n", broker.port())
}

/// A free port, for what must be on the same one again after a restart.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

pub fn login(name: &str, password: &str) -> Credentials {
    Credentials { user: name.to_owned(), password: password.to_owned().into() }
}

/// Publishes with the real client; says whether it said that all went well.
pub async fn mosquitto_pub(broker: SocketAddr, login: Option<(&str, &str)>, arguments: &[&str]) -> bool {
    let mut command = Command::new("mosquitto_pub");
    command.args([
        "-h",
        &broker.ip().to_string(),
        "-p",
        &broker.port().to_string(),
        "-q",
        "1",
        "-V",
        "mqttv5",
    ]);
    if let Some((user, password)) = login {
        command.args(["-u", user, "-P", password]);
    }
    command.args(arguments).output().await.expect("mosquitto_pub runs").status.success()
}

/// A home file with one lock, on the topics that [`Lock`] speaks on as "home/front".
pub const FRONT_DOOR: &str = r#"
[[entity]]
id = "lock.front_door"
name = "Front door"
profile = "plain.lock"
with = { topic = "home/front" }
"#;

/// A lock on the broker that does what it is told and says so, as `plain.lock` speaks.
pub struct Lock {
    pub link: LinkHandle,
    topic: String,
    commands: Arc<Mutex<Vec<String>>>,
}

impl Lock {
    pub async fn start(broker: SocketAddr, login: Option<Credentials>, topic: &str) -> Self {
        let mut settings = LinkSettings::new(broker.ip().to_string(), broker.port(), "lock");
        settings.credentials = login;
        settings.embedded = true;
        let (link, mut arrivals) =
            Link::start(settings, Clock::system(), [format!("{topic}/set")]).expect("the lock's settings");
        soon("the lock connects", link.up()).await.expect("it is not stopped");
        let lock = Self { link, topic: topic.to_owned(), commands: Arc::default() };
        let (link, state, commands) = (lock.link.clone(), format!("{topic}/state"), lock.commands.clone());
        tokio::spawn(async move {
            while let Some(message) = arrivals.recv().await {
                let command = String::from_utf8_lossy(&message.payload).into_owned();
                commands.lock().expect("no panic in between").push(command.clone());
                let mut told = Publish::new(state.clone(), format!("{command}ed"));
                told.retain = true;
                let _ = link.publish(told).await;
            }
        });
        lock
    }

    /// What it was told, in order.
    pub fn commands(&self) -> Vec<String> {
        self.commands.lock().expect("no panic in between").clone()
    }

    /// Turned by hand.
    pub async fn turn(&self, state: &str) {
        let mut told = Publish::new(format!("{}/state", self.topic), state.to_owned());
        told.retain = true;
        self.link.publish(told).await.expect("the lock reports");
    }
}
