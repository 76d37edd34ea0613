//! `homeloop doctor` over set-ups that are broken, each in one way: the fault is found, said, and can be mended.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use homeloop::clock::Clock;
use homeloop::journal::{Durability, Journal, NewEvent};
use homeloop::mqtt::link::{Credentials, Publish};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::common::soon;
use crate::site::Site;

const HOME: &str = r#"
[[entity]]
id = "light.one"
name = "First lamp"
profile = "plain.light"
with = { topic = "doctor/one" }
"#;

/// The doctor's words.
struct Said {
    code: Option<i32>,
    findings: Vec<Value>,
}

impl Said {
    /// The faults of a check.
    fn faults(&self, check: &str) -> Vec<&Value> {
        let is_fault = |finding: &&Value| finding["level"] == "fault" && finding["check"] == check;
        self.findings.iter().filter(is_fault).collect()
    }

    /// There is this fault, said so, and nothing else is wrong.
    fn assert_only(&self, check: &str, says: &str, fix: &str) {
        let faults: Vec<&Value> =
            self.findings.iter().filter(|finding| finding["level"] == "fault").collect();
        assert_eq!(self.code, Some(1), "{:#?}", self.findings);
        assert_eq!(faults.len(), 1, "{faults:#?}");
        self.assert_fault(check, says, fix);
    }

    fn assert_fault(&self, check: &str, says: &str, fix: &str) {
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let found = self.faults(check);
        let fits =
            |finding: &&&Value| text(finding, "says").contains(says) && text(finding, "fix").contains(fix);
        assert!(
            found.iter().any(|finding| fits(&finding)),
            "no {check} {says:?} {fix:?} in {:#?}",
            self.findings
        );
    }
}

async fn doctor(config: &Path, environment: &[(&str, &str)]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_homeloop"))
        .args(["doctor", "--json", "--config"])
        .arg(config)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output();
    let output = soon("the doctor ends", output).await.expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    Said { code: output.status.code(), findings: said["findings"].as_array().expect("findings").clone() }
}

/// A mosquitto that wants a password, and a site that has it.
async fn good(id: &str, home: &str, more: &str) -> Option<(Mosquitto, Site)> {
    let logins = vec![("agent".to_owned(), "right".to_owned())];
    let broker = Mosquitto::start(Options { logins, ..Options::default() }).await?;
    let password = "username = \"agent\"\npassword_file = \"PASSWORD\"\n";
    let site = Site::new(id, home, broker.address, &format!("{password}{more}"));
    site.secret("password", "right\n");
    change(&site, "PASSWORD", &site.path("password").display().to_string());
    Some((broker, site))
}

fn change(site: &Site, from: &str, to: &str) {
    let settings = std::fs::read_to_string(site.config()).expect("the settings");
    assert!(settings.contains(from), "no {from} in {settings}");
    std::fs::write(site.config(), settings.replace(from, to)).expect("the settings");
}

async fn client(broker: SocketAddr) -> Recorder {
    Recorder::start(broker, Some(Credentials { user: "agent".into(), password: "right".to_owned().into() }))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_set_up_has_no_fault() {
    let Some((_broker, site)) = good("well", HOME, "").await else { return };
    let said = doctor(&site.config(), &[]).await;
    assert_eq!(said.code, Some(0), "{:#?}", said.findings);
    // Beside the daemon of the same settings there is none either.
    // The doctor must know where HTTP is, so that a port is chosen here.
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("a port");
    change(&site, "127.0.0.1:0", &free.to_string());
    let daemon = site.start().await;
    let said = doctor(&site.config(), &[]).await;
    assert_eq!(said.code, Some(0), "{:#?}", said.findings);
    assert_eq!(daemon.get("/readyz").await["ready"], true, "the doctor did not disturb the daemon");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_settings_and_files_are_found() {
    let Some((_broker, site)) = good("files", HOME, "").await else { return };
    change(&site, "[http]", "[htp]");
    doctor(&site.config(), &[]).await.assert_only("settings", "htp", "check --defaults");
    change(&site, "[htp]", "[http]");

    site.write_home(&HOME.replace("plain.light", "plain.lihgt"));
    doctor(&site.config(), &[]).await.assert_fault("files", "did you mean plain.light", "homeloop check");
    let twice = HOME.to_owned() + &HOME.replace("light.one", "light.two").replace("First", "Second");
    site.write_home(&twice);
    let said = doctor(&site.config(), &[]).await;
    said.assert_fault("files", "both take commands on \"doctor/one/set\"", "homeloop check");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_broker_are_found() {
    let Some((broker, site)) = good("broker", HOME, "").await else { return };
    site.secret("password", "wrong");
    doctor(&site.config(), &[]).await.assert_only(
        "broker",
        "refuses the user name or password",
        "mosquitto_passwd",
    );
    site.secret("password", "right");

    let port = format!("port = {}", broker.address.port());
    change(&site, &port, "port = 1");
    doctor(&site.config(), &[]).await.assert_only(
        "broker",
        "nothing listens at 127.0.0.1:1",
        "systemctl start",
    );
    change(&site, "port = 1\n", &format!("{port}\n"));

    change(&site, "host = \"127.0.0.1\"", "host = \"no-such-host.invalid\"");
    doctor(&site.config(), &[]).await.assert_only("broker", "cannot be resolved", "mqtt.host");
    change(&site, "no-such-host.invalid", "127.0.0.1");

    let client = client(broker.address).await;
    for topic in ["homeloop/broker/command", "doctor/one/set", "fan/set"] {
        client.link.publish(Publish::new(topic, "on").retained()).await.expect("published");
    }
    let announce =
        |device: &str| json!({"cmd_t": "fan/set", "name": "Fan", "dev": {"ids": [device]}}).to_string();
    for (topic, device) in [("homeassistant/fan/a/config", "a"), ("homeassistant/fan/b/config", "b")] {
        client.link.publish(Publish::new(topic, announce(device)).retained()).await.expect("published");
    }
    let said = doctor(&site.config(), &[]).await;
    for topic in ["homeloop/broker/command", "doctor/one/set", "fan/set"] {
        said.assert_fault(
            "topics",
            &format!("retained on the command topic {topic:?}"),
            "mosquitto_pub -r -n -t",
        );
    }
    said.assert_fault("topics", "take commands on \"fan/set\"", "a topic of its own");
    assert_eq!(said.faults("topics").len(), 4, "{:#?}", said.findings);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_broker_and_a_house_without_devices_are_found() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let site = Site::new("open", "", broker.address, "");
    let said = doctor(&site.config(), &[]).await;
    said.assert_fault("broker", "lets anybody in", "allow_anonymous false");
    said.assert_fault("devices", "there are no devices", "home.file");
    assert_eq!(said.code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_machine_are_found() {
    let Some((_broker, site)) = good("machine", HOME, "").await else { return };
    let state = site.path("state");

    // The journal has an event of tomorrow: the clock is behind.
    let ahead = Clock::simulated(chrono::Utc::now() + chrono::TimeDelta::days(1), 1);
    let journal = Journal::open(&state, ahead).expect("a journal");
    journal
        .append(NewEvent::of_house("test", &json!({})).expect("an event"), Durability::Synced)
        .await
        .expect("appended");
    journal.close().await;
    drop(journal);
    doctor(&site.config(), &[]).await.assert_only("clock", "the clock is behind", "timedatectl");
    std::fs::remove_dir_all(&state).expect("removed");

    // Another instance holds the directory, and is not the one of these settings.
    let held = Journal::open(&state, Clock::system()).expect("a journal");
    let process = format!("another homeloop (process {})", std::process::id());
    doctor(&site.config(), &[]).await.assert_only("state", &process, "a state_dir of its own");
    drop(held);

    // A model over https and no authority to trust.
    let model = "[models]\nchain = [\"far\"]\n[models.named.far]\napi = \"openai\"\n\
                 base_url = \"https://models.example/v1\"\nmodel = \"m\"\n";
    let settings = std::fs::read_to_string(site.config()).expect("the settings") + model;
    std::fs::write(site.config(), settings).expect("the settings");
    let nobody = [("SSL_CERT_FILE", "/nonexistent/ca.pem"), ("SSL_CERT_DIR", "/nonexistent")];
    doctor(&site.config(), &nobody).await.assert_only(
        "trust",
        "https://models.example/v1",
        "ca-certificates",
    );

    // Something else listens where HTTP is to be.
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    change(&site, "127.0.0.1:0", &busy.local_addr().expect("an address").to_string());
    doctor(&site.config(), &[]).await.assert_only("http", "cannot be listened on", "http.bind");
}

/// A full file system: a tmpfs of 64 KB, in a mount namespace of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_found() {
    let Some((_broker, site)) = good("full", HOME, "").await else { return };
    std::fs::create_dir_all(site.path("state")).expect("a directory");
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs '{}' && exec '{}' doctor --json --config '{}'",
        site.path("state").display(),
        env!("CARGO_BIN_EXE_homeloop"),
        site.config().display()
    );
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).stdin(Stdio::null()).output();
    let Ok(output) = soon("the doctor ends", output).await else {
        eprintln!("skipped: there is no unshare");
        return;
    };
    let Ok(said) = serde_json::from_slice::<Value>(&output.stdout) else {
        eprintln!("skipped: nothing can be mounted here: {}", String::from_utf8_lossy(&output.stderr));
        return;
    };
    let findings = said["findings"].as_array().expect("findings").clone();
    let said = Said { code: output.status.code(), findings };
    said.assert_only("space", "cannot be written", "free some space");
}
