//! A site: a state directory, settings and a home file, on which the real binary is started, killed and started again;
//! and the simulated devices of that home, which live on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use homeloop::app::simulation;
use homeloop::clock::Clock;
use homeloop::devices::profile::{Profiles, Said};
use homeloop::devices::simulate::World;
use homeloop::mqtt::link::{Credentials, Link, LinkHandle, LinkSettings, Publish};
use homeloop::settings::home_file::HomeFile;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::common::soon;

/// Where everything of one homeloop lies.
pub struct Site {
    dir: TempDir,
    /// Topic base: `homeloop/<id>`.
    pub base: String,
}

impl Site {
    /// A home of this id on this broker. `more` is put behind the settings.
    pub fn new(id: &str, home: &str, broker: SocketAddr, more: &str) -> Self {
        homeloop::tls_provider();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let site = Self { dir, base: format!("homeloop/{id}") };
        site.write_home(home);
        let settings = format!(
            "state_dir = {:?}\n[home]\nid = {id:?}\nfile = {:?}\nzone = \"Europe/Berlin\"\n\
             [http]\nbind = \"127.0.0.1:0\"\n[mqtt]\nbroker = \"external\"\nhost = \"{}\"\nport = {}\n{more}\n",
            site.path("state"),
            site.path("home.toml"),
            broker.ip(),
            broker.port(),
        );
        std::fs::write(site.config(), settings).expect("the settings");
        site
    }

    /// Writes a file that its owner alone may read, as secrets must be.
    pub fn secret(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let file = self.path(name);
        std::fs::write(&file, text).expect("a secret");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn config(&self) -> PathBuf {
        self.path("homeloop.toml")
    }

    pub fn write_home(&self, home: &str) {
        std::fs::write(self.path("home.toml"), home).expect("the home file");
    }

    /// Runs a subcommand on this site's settings to its end.
    pub async fn cli(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_homeloop"));
        command.arg("--config").arg(self.config()).args(arguments).stdin(Stdio::null());
        soon(&format!("{arguments:?} ends"), command.output()).await.expect("it runs")
    }

    /// Starts the daemon, and returns when it serves and the broker is connected.
    pub async fn start(&self) -> Daemon {
        let mut child = Command::new(env!("CARGO_BIN_EXE_homeloop"))
            .args(["run", "--json", "--config"])
            .arg(self.config())
            .env("RUST_LOG", "info,rumqttc=warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let log = Log::default();
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let writer = log.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                writer.push(line);
            }
            writer.push("(the log ended)".into());
        });
        let served = log.line("HTTP is served").await;
        let served: Value = serde_json::from_str(&served).expect("JSON");
        let http = format!("http://{}", served["fields"]["address"].as_str().expect("an address"));
        log.line("the broker is connected").await;
        let token = std::fs::read_to_string(self.path("state/first-token")).expect("the token");
        Daemon { child, log, http, token: token.trim().to_owned(), client: reqwest::Client::new() }
    }
}

/// The lines of a log, as they come.
#[derive(Clone, Default)]
pub struct Log(Arc<(Mutex<Vec<String>>, Notify)>);

impl Log {
    fn push(&self, line: String) {
        self.0.0.lock().unwrap().push(line);
        self.0.1.notify_waiters();
    }

    /// Waits for the first line with this text.
    pub async fn line(&self, text: &str) -> String {
        soon(&format!("{text:?} in the log"), async {
            loop {
                let more = self.0.1.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                {
                    let lines = self.0.0.lock().unwrap();
                    if let Some(line) = lines.iter().find(|line| line.contains(text)) {
                        return line.clone();
                    }
                    assert!(!lines.iter().any(|line| line == "(the log ended)"), "it ended: {lines:#?}");
                }
                more.await;
            }
        })
        .await
    }
}

/// A running daemon.
pub struct Daemon {
    child: Child,
    pub log: Log,
    pub http: String,
    pub token: String,
    client: reqwest::Client,
}

impl Daemon {
    /// Kills it as a power cut would, and waits until it is gone.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it is killed");
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        rustix::process::kill_process(pid.expect("it runs"), signal).expect("the signal");
    }

    /// Waits for its end after a signal; the exit code.
    pub async fn ended(mut self) -> Option<i32> {
        soon("the daemon ends", self.child.wait()).await.expect("a status").code()
    }

    pub async fn get(&self, path: &str) -> Value {
        let request = self.client.get(format!("{}{path}", self.http)).bearer_auth(&self.token);
        soon(path, request.send()).await.expect("an answer").json().await.expect("JSON")
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.post(format!("{}{path}", self.http)).bearer_auth(&self.token).json(body);
        let response = soon(path, request.send()).await.expect("an answer");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// The status of a DELETE.
    pub async fn delete(&self, path: &str) -> u16 {
        let request = self.client.delete(format!("{}{path}", self.http)).bearer_auth(&self.token);
        soon(path, request.send()).await.expect("an answer").status().as_u16()
    }

    /// Gives a command over HTTP and waits for its result.
    pub async fn say(&self, text: &str) -> Value {
        let (status, result) = self.post("/api/commands", &json!({"text": text})).await;
        assert_eq!(status, 200, "{text}: {result}");
        result
    }

    /// Gives a command that waits for a person, approves it, and waits for its result.
    pub async fn say_approved(&self, text: &str) -> Value {
        let body = json!({"text": text});
        let (answer, ()) = tokio::join!(self.post("/api/commands", &body), self.approve_next());
        assert_eq!(answer.0, 200, "{text}: {}", answer.1);
        answer.1
    }

    /// Waits until something waits for a person, and approves it.
    pub async fn approve_next(&self) {
        soon("an approval", async {
            loop {
                if let Some(approval) =
                    self.get("/api/approvals").await.as_array().and_then(|all| all.first())
                {
                    let (status, answer) = self.approve(approval).await;
                    assert_eq!(status, 200, "{answer}");
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    pub async fn approve(&self, approval: &Value) -> (u16, Value) {
        let id = approval["approval_id"].as_str().expect("an id");
        let body = json!({"v": 1, "plan_hash": approval["plan_hash"], "decision": "approve"});
        self.post(&format!("/api/approvals/{id}"), &body).await
    }

    /// Waits until an entity has a value.
    pub async fn until(&self, entity: &str, value: &str) {
        soon(&format!("{entity} is {value}"), async {
            while self.get(&format!("/api/entities/{entity}")).await["value"] != value {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// The simulated devices of a home file, on a client of their own. They outlive the daemon.
pub struct Devices {
    /// A person's hand at the devices: another client, since none gets its own messages.
    hand: LinkHandle,
    stop: CancellationToken,
}

/// A client that publishes and reads nothing.
pub async fn client(broker: SocketAddr, login: Option<Credentials>, name: &str) -> LinkHandle {
    let mut settings = LinkSettings::new(broker.ip().to_string(), broker.port(), name);
    settings.credentials = login;
    let (link, _arrivals) = Link::start(settings, Clock::system(), []).expect("settings of a client");
    soon(&format!("{name} connects"), link.up()).await.expect("it is not stopped");
    link
}

impl Devices {
    pub async fn start(home: &str, broker: SocketAddr, login: Option<Credentials>, name: &str) -> Self {
        let home =
            HomeFile::parse("home.toml", home, &Profiles::embedded().expect("profiles")).expect("a home");
        let world = World::new(home.players());
        let hand = client(broker, login.clone(), &format!("{name}-hand")).await;
        let mut settings = LinkSettings::new(broker.ip().to_string(), broker.port(), name);
        settings.credentials = login;
        let (link, arrivals) =
            Link::start(settings, Clock::system(), world.subscriptions()).expect("settings of the devices");
        soon("the devices connect", link.up()).await.expect("they are not stopped");
        let messages = stream::unfold(arrivals, |mut arrivals| async {
            let message = arrivals.recv().await?;
            Some(((message.topic, message.payload.to_vec()), arrivals))
        });
        let say = move |said: Said| {
            let speaker = link.clone();
            async move {
                let mut publish = Publish::new(said.topic, said.payload);
                publish.retain = said.retained;
                // At the end of a test the broker may be gone first.
                let _ = speaker.publish(publish).await;
            }
        };
        let stop = CancellationToken::new();
        tokio::spawn(simulation::run(world, messages, say, stop.clone()));
        Self { hand, stop }
    }

    /// Changes a device by hand.
    pub async fn set(&self, entity: &str, value: &str) {
        self.control(entity, "set", value).await;
    }

    /// Makes a device fail in a way; an empty word mends it.
    pub async fn fault(&self, entity: &str, fault: &str) {
        self.control(entity, "fault", fault).await;
    }

    async fn control(&self, entity: &str, what: &str, text: &str) {
        let topic = format!("{}/{entity}/{what}", homeloop::devices::simulate::CONTROL_BASE);
        self.hand.publish(Publish::new(topic, text.to_owned())).await.expect("published");
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The outcome of one entity in a result over HTTP.
pub fn outcome<'r>(result: &'r Value, entity: &str) -> &'r str {
    let rows = result["outcomes"].as_array().expect("outcomes");
    let row = rows.iter().find(|row| row["entity"] == entity || row["action"]["entity"] == entity);
    row.unwrap_or_else(|| panic!("no outcome for {entity} in {result}"))["outcome"].as_str().expect("a word")
}

/// A file of the project.
pub fn project(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}
