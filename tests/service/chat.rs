//! The command line beside a running daemon: a conversation with an approval in place, and JSON from every subcommand.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::soon;
use crate::site::{Daemon, Devices, Site};

const HOME: &str = r#"
[[entity]]
id = "light.one"
name = "First lamp"
profile = "plain.light"
with = { topic = "chat/one" }

[[entity]]
id = "lock.door"
name = "Front door"
profile = "plain.lock"
with = { topic = "chat/door" }
simulate = { value = "locked", seconds = 0.05 }
"#;

async fn begin() -> Option<(Mosquitto, Devices, Site, Daemon)> {
    let broker = Mosquitto::start(Options::default()).await?;
    let devices = Devices::start(HOME, broker.address, None, "chat-devices").await;
    let site = Site::new("chat", HOME, broker.address, "");
    let daemon = site.start().await;
    daemon.until("light.one", "off").await;
    daemon.until("lock.door", "locked").await;
    Some((broker, devices, site, daemon))
}

/// What `homeloop chat` prints for these lines.
async fn chat(site: &Site, daemon: &Daemon, lines: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_homeloop"))
        .args(["--url", &daemon.http, "--config"])
        .arg(site.config())
        .arg("chat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(lines.as_bytes()).await.expect("it reads");
    drop(input);
    let output = soon("the conversation ends", child.wait_with_output()).await.expect("it ends");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_shows_its_steps_and_takes_approvals_in_place() {
    let Some((_broker, _devices, site, daemon)) = begin().await else { return };
    let said =
        chat(&site, &daemon, "turn on the first lamp\nunlock the front door\nyes\napprove\nexit\n").await;
    for step in [
        "outcome   light.one.turn_on confirmed",
        "UNLOCK - Front door (lock.door) - now: ",
        "type approve or deny",
        "approval  approved token:owner",
        "outcome   lock.door.unlock confirmed",
    ] {
        assert!(said.contains(step), "no {step:?} in\n{said}");
    }
    let denied = chat(&site, &daemon, "lock the front door\nunlock the front door\ndeny\nexit\n").await;
    assert!(denied.contains("lock.door.unlock not_sent (denied)"), "{denied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_subcommand_that_prints_data_prints_json() {
    let Some((_broker, _devices, site, daemon)) = begin().await else { return };
    daemon.say("turn off the first lamp in 1 hour").await;
    let schedules = daemon.get("/api/schedules").await;
    let id = schedules[0]["schedule_id"].as_str().expect("an id").to_owned();
    for arguments in [
        vec!["ask", "turn on the first lamp"],
        vec!["entities"],
        vec!["entities", "why", "light.one"],
        vec!["approvals"],
        vec!["schedules"],
        vec!["schedules", "--cancel", &id],
        vec!["schedules", "--restore", &id],
        vec!["stop"],
        vec!["check"],
        vec!["policy", "show"],
        vec!["policy", "explain", "unlock the front door"],
        vec!["journal"],
        vec!["journal", "verify"],
        vec!["journal", "export"],
        vec!["doctor"],
    ] {
        let mut all = vec!["--url", &daemon.http, "--json"];
        all.extend(&arguments);
        let output = site.cli(&all).await;
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(!text.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        // One value, or one in each line.
        let whole = serde_json::from_str::<Value>(&text).is_ok();
        let lines = text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok());
        assert!(whole || lines, "{arguments:?}: {text}");
    }
}
