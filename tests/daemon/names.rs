//! Names that are meant to confuse: two devices of one name, a twin in other letters, and text that would like to be a
//! log line of its own.

use homeloop::mqtt::link::Publish;
use serde_json::{Value, json};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::process::{Daemon, private};

fn settings(dir: &std::path::Path, home: &str, port: u16) -> String {
    let home = private(dir.join("home.toml"), home);
    format!("[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {port}\n")
}

fn lock(id: &str, name: &str) -> String {
    format!(
        "[[entity]]\nid = \"lock.{id}\"\nname = \"{name}\"\nprofile = \"plain.lock\"\nwith = {{ topic = \"home/{id}\" }}\n"
    )
}

/// B13 and B15: what needs a person needs one target. Cyrillic letters make another name, and the id is shown.
#[tokio::test(flavor = "multi_thread")]
async fn b13_and_b15_of_two_doors_with_one_name_none_is_picked() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = lock("one", "Front door")
        + &lock("two", "Front door")
        + &lock("twin", "Side d\u{43e}\u{43e}r")
        + &lock("side", "Side door");
    let recorder = Recorder::start(mosquitto.address, None).await;
    let daemon = Daemon::start(dir.path(), &settings(dir.path(), &home, mosquitto.address.port())).await;
    for id in ["one", "two", "twin", "side"] {
        let mut locked = Publish::new(format!("home/{id}/state"), "locked");
        locked.retain = true;
        recorder.link.publish(locked).await.unwrap();
        daemon.has(&format!("lock.{id}"), "locked").await;
    }
    let asked = daemon.say("unlock the front door").await;
    assert!(daemon.get("/api/approvals").await.as_array().unwrap().is_empty(), "it asks which one: {asked}");
    assert!(asked["outcomes"].as_array().unwrap().is_empty(), "{asked}");
    daemon.give("unlock the side door").await;
    let approval = daemon.approval().await;
    let targets = approval["targets"].as_array().unwrap();
    assert_eq!((targets.len(), &targets[0]["entity"]), (1, &json!("lock.side")), "{approval}");
    let text = approval["text"].as_str().unwrap();
    assert!(text.contains("(lock.side)"), "the id stands beside the name: {text}");
    assert!(text.contains("looks the same: lock.twin"), "and the twin is shown with its id: {text}");
    daemon.kill().await;
}

/// S52 to S54: names and states with line ends, colours of terminals, forged log lines and great length.
#[tokio::test(flavor = "multi_thread")]
async fn s52_to_s54_whatever_a_device_is_called_a_log_line_is_one_short_line() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(mosquitto.address, None).await;
    let daemon = Daemon::start(
        dir.path(),
        &settings(dir.path(), &lock("one", "Front door"), mosquitto.address.port()),
    )
    .await;
    let forged =
        "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"level\":\"FORGED\",\"fields\":{\"message\":\"approved\"}}";
    let long = "x".repeat(2 << 20);
    for (number, text) in [
        format!("a\r\n{forged}\n"),
        "\u{1b}[2J\u{1b}[31mred\u{2028}line\u{2029}".to_owned(),
        forged.to_owned(),
        long,
    ]
    .iter()
    .enumerate()
    {
        // Refused for its topic, and refused for its class: both are told in the log.
        for config in [
            json!({"name": text, "unique_id": format!("u{number}"), "command_topic": text, "state_topic": "x"}),
            json!({"name": text, "unique_id": text, "object_id": text, "command_topic": "$SYS/x", "state_topic": text}),
        ] {
            let topic = format!("homeassistant/switch/h{number}/config");
            recorder.link.publish(Publish::new(topic, config.to_string())).await.unwrap();
        }
        recorder
            .link
            .publish(Publish::new("homeassistant/switch/broken/config", text.clone()))
            .await
            .unwrap();
        recorder.link.publish(Publish::new("homeloop/home/command", text.clone())).await.unwrap();
    }
    daemon.say("is the front door locked?").await;
    let log = daemon.log();
    for line in log.lines() {
        let said: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no line of ours: {line:?}"));
        assert_ne!(said["level"], "FORGED", "{line}");
        assert!(line.len() < 16 * 1024, "{} bytes: {}", line.len(), &line[..200]);
        assert!(!line.contains('\u{1b}') && !line.contains('\u{2028}'), "{line:?}");
    }
    daemon.kill().await;
}
