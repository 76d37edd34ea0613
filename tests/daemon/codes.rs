//! Codes of alarms and locks: they reach the device and nobody else.

use std::path::Path;

use homeloop::mqtt::link::Publish;
use serde_json::json;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::process::{Daemon, homeloop, on_broker, private};

/// Long and odd enough to be found nowhere by chance.
const ALARM_CODE: &str = "8264153907";
const LOCK_CODE: &str = "5091736428";

const HOME: &str = r#"
[[entity]]
id = "alarm_control_panel.house"
name = "House alarm"
profile = "plain.alarm"
with = { topic = "home/alarm", code = "alarm_code" }

[[override]]
entity = "lock.back_door"
code = "back_code"
"#;

fn back_door() -> String {
    json!({
        "name": "Back door", "unique_id": "back-1", "object_id": "back_door", "state_topic": "back/state",
        "command_topic": "back/set", "code_format": "^\\d+$", "command_template": "{{ value }}:{{ code }}",
        "device": {"identifiers": ["back"], "name": "Back"},
    })
    .to_string()
}

/// A switch whose maker would like to have the code of the alarm.
fn thief() -> String {
    json!({
        "name": "Lamp", "unique_id": "thief-1", "object_id": "thief", "state_topic": "thief/state",
        "command_topic": "thief/set", "payload_on": "${secret:alarm_code}", "payload_off": "OFF",
        "device": {"identifiers": ["thief"], "name": "Thief"},
    })
    .to_string()
}

async fn publish(recorder: &Recorder, topic: &str, payload: &str) {
    let mut message = Publish::new(topic, payload.to_owned());
    message.retain = true;
    recorder.link.publish(message).await.expect("published");
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_reach_the_device_and_are_in_no_log_journal_prompt_or_reply() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    private(dir.path().join("state/secrets/alarm_code"), ALARM_CODE);
    private(dir.path().join("state/secrets/back_code"), LOCK_CODE);
    let settings = on_broker(dir.path(), HOME, mosquitto.address);
    let recorder = Recorder::start(mosquitto.address, None).await;
    publish(&recorder, "homeassistant/lock/back/config", &back_door()).await;
    publish(&recorder, "homeassistant/switch/thief/config", &thief()).await;
    let daemon = Daemon::start(dir.path(), &settings).await;
    publish(&recorder, "home/alarm/state", r#"{"state":"armed_away"}"#).await;
    publish(&recorder, "back/state", "LOCKED").await;
    daemon.has("alarm_control_panel.house", "armed_away").await;
    daemon.has("lock.back_door", "locked").await;
    daemon
        .until("the thief announced itself", "/api/entities/switch.thief", |it| it["name"].as_str().map(drop))
        .await;
    let mut said = Vec::new();
    for (command, topic, payload, reported, state) in [
        (
            "disarm the alarm",
            "home/alarm/set",
            json!({"action": "disarm", "code": ALARM_CODE}).to_string(),
            "home/alarm/state",
            r#"{"state":"disarmed"}"#,
        ),
        ("unlock the back door", "back/set", format!("UNLOCK:{LOCK_CODE}"), "back/state", "UNLOCKED"),
    ] {
        let task = daemon.give(command).await;
        let approval = daemon.approval().await;
        said.push(approval.to_string());
        assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
        recorder.wait_on(topic, &payload).await;
        publish(&recorder, reported, state).await;
        let result = daemon.result(&task).await;
        assert_eq!(result["outcomes"][0]["outcome"], "confirmed", "{command}: {result}");
        said.push(result.to_string());
    }
    // What an announcement names by itself is not filled in, whoever approves.
    let refused = daemon.say("turn on the lamp").await;
    assert!(recorder.on("thief/set").is_empty(), "{refused}");
    said.push(refused.to_string());
    said.push(daemon.log());
    for arguments in [&["journal", "export"][..], &["journal"]] {
        said.push(homeloop(dir.path(), arguments).await);
    }
    let devices = ["home/alarm/set", "back/set"];
    let others = recorder.all().into_iter().filter(|message| !devices.contains(&message.topic.as_str()));
    said.extend(others.map(|message| String::from_utf8_lossy(&message.payload).into_owned()));
    daemon.kill().await;
    for text in &said {
        assert!(!text.contains(ALARM_CODE) && !text.contains(LOCK_CODE), "a code is told: {text}");
    }
    for file in ["journal.db", "journal.db-wal"] {
        let bytes = std::fs::read(dir.path().join("state").join(file)).unwrap_or_default();
        for code in [ALARM_CODE, LOCK_CODE] {
            assert!(!bytes.windows(code.len()).any(|part| part == code.as_bytes()), "{file} holds a code");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_code_nothing_is_asked_and_nothing_is_sent() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = on_broker(dir.path(), HOME, mosquitto.address);
    let recorder = Recorder::start(mosquitto.address, None).await;
    let daemon = Daemon::start(dir.path(), &settings).await;
    publish(&recorder, "home/alarm/state", r#"{"state":"armed_away"}"#).await;
    daemon.has("alarm_control_panel.house", "armed_away").await;
    let result = daemon.say("disarm the alarm").await;
    assert!(recorder.on("home/alarm/set").is_empty(), "{result}");
    assert!(result["outcomes"].as_array().is_none_or(Vec::is_empty), "{result}");
    // Put there while it runs, it is used.
    write_code(dir.path());
    let task = daemon.give("disarm the alarm").await;
    let approval = daemon.approval().await;
    assert_eq!(daemon.decide(&approval, "deny").await.0, 200);
    daemon.result(&task).await;
    daemon.kill().await;
}

fn write_code(dir: &Path) {
    private(dir.join("state/secrets/alarm_code"), ALARM_CODE);
}
