//! A real mosquitto as a child process, on a free port and with a temporary configuration.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::soon;

/// A running mosquitto. It ends with this value.
pub struct Mosquitto {
    pub address: SocketAddr,
    child: Child,
    directory: TempDir,
}

/// What its configuration says.
#[derive(Default, Clone)]
pub struct Options {
    /// Names and passwords; none lets everyone in.
    pub logins: Vec<(String, String)>,
    /// Access list, as mosquitto's `acl_file` has it.
    pub acl: Option<String>,
    /// PEM of certificate and key for TLS.
    pub tls: Option<(String, String)>,
    /// Further lines.
    pub extra: String,
}

/// Where mosquitto is, if it is.
pub fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join("mosquitto")).find(|file| file.is_file())
}

impl Mosquitto {
    /// Starts one; `None`, and a line that says so, where mosquitto is not installed.
    pub async fn start(options: Options) -> Option<Self> {
        let Some(program) = installed() else {
            eprintln!("skipped: mosquitto is not installed");
            return None;
        };
        let directory = TempDir::new().expect("a temporary directory");
        // Another process may take the port between our look and mosquitto's bind; then another is tried.
        for _ in 0..10 {
            let address = free_address();
            write_config(directory.path(), address, &options).await;
            if let Some(child) = run(&program, directory.path()).await {
                return Some(Self { address, child, directory });
            }
        }
        panic!("mosquitto did not start on any port");
    }

    /// Kills it as a power cut would.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("mosquitto is killed");
    }

    /// Starts it again on the same port.
    pub async fn restart(&mut self) {
        let program = installed().expect("it ran before");
        let child = run(&program, self.directory.path()).await.expect("the port is ours again");
        self.child = child;
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

async fn write_config(directory: &Path, address: SocketAddr, options: &Options) {
    let mut config = format!(
        "listener {} 127.0.0.1\npersistence false\nlog_dest stderr\nlog_type all\n{}\n",
        address.port(),
        options.extra
    );
    if options.logins.is_empty() {
        config.push_str("allow_anonymous true\n");
    } else {
        let file = directory.join("passwords");
        let lines: String =
            options.logins.iter().map(|(user, password)| format!("{user}:{password}\n")).collect();
        std::fs::write(&file, lines).expect("the password file");
        let hashed = Command::new("mosquitto_passwd").arg("-U").arg(&file).status().await;
        assert!(hashed.expect("mosquitto_passwd runs").success());
        config.push_str(&format!("allow_anonymous false\npassword_file {}\n", file.display()));
    }
    if let Some(acl) = &options.acl {
        let file = directory.join("acl");
        std::fs::write(&file, acl).expect("the access list");
        config.push_str(&format!("acl_file {}\n", file.display()));
    }
    if let Some((certificate, key)) = &options.tls {
        std::fs::write(directory.join("cert.pem"), certificate).expect("the certificate");
        std::fs::write(directory.join("key.pem"), key).expect("the key");
        config.push_str(&format!("certfile {0}/cert.pem\nkeyfile {0}/key.pem\n", directory.display()));
    }
    // Started by root, mosquitto would become a user that cannot read the temporary directory.
    config.push_str("user root\n");
    std::fs::write(directory.join("mosquitto.conf"), config).expect("the configuration");
}

/// Runs it until it says that it runs; `None` when it ends before.
async fn run(program: &Path, directory: &Path) -> Option<Child> {
    let mut child = Command::new(program)
        .arg("-c")
        .arg(directory.join("mosquitto.conf"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("mosquitto starts");
    let mut lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
    let started = soon("mosquitto runs or ends", async {
        let mut said = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            if line.ends_with("running") {
                return true;
            }
            said.push(line);
        }
        eprintln!("mosquitto ended: {}", said.join("\n"));
        false
    })
    .await;
    // Its messages must be read on, or it stops at a full pipe.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    started.then_some(child)
}
