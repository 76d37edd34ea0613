//! `entities why`, `entities --from`, `discover` and `record`, as a person uses them.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::data;
use super::running::{Site, alone, printed};
use crate::common::soon;

#[tokio::test(flavor = "multi_thread")]
async fn why_and_discover_tell_what_became_of_an_announcement() {
    let Some(site) = Site::start().await else { return };
    let daemon = site.daemon().await;
    let mut watching = site
        .command(&["discover", "--watch"])
        .env("HOMELOOP_URL", &daemon.http)
        .env("HOMELOOP_TOKEN_FILE", site.state().join("first-token"))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let config = json!({"name": "Plug", "stat_t": "plug", "cmd_t": "plug/set", "avty_t": "plug/lwt",
        "val_tpl": "{{ value_json.state | upper }}"});
    // Whoever watches may not be connected yet: it is announced, with a change, until it was seen.
    let watched = soon("the watcher sees an announcement", async {
        for number in 0.. {
            let config = json!({"name": "Lamp", "cmd_t": "lamp/set", "ic": format!("mdi:{number}")});
            site.publish("homeassistant/switch/lamp/config", config.to_string()).await;
            let next = tokio::time::timeout(std::time::Duration::from_millis(200), lines.next_line());
            if let Ok(line) = next.await {
                return line.unwrap().unwrap();
            }
        }
        unreachable!()
    })
    .await;
    assert!(
        watched.contains("switch.lamp") && watched.contains("homeassistant/switch/lamp/config"),
        "{watched}"
    );

    site.publish("homeassistant/switch/plug/config", config.to_string()).await;
    site.publish("homeassistant/switch/broken/config", r#"{"name":"Broken"}"#).await;
    daemon.entity("switch.plug").await;
    site.publish("plug", r#"{"state":"on"}"#).await;
    soon("its state is read", async {
        while daemon.get("/api/entities/switch.plug").await.1["value"] != "on" {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
    let why = printed(&site.ask(&daemon, &["entities", "why", "switch.plug"]).await);
    for part in [
        "homeassistant/switch/plug/config",
        "command_topic: plug/set",
        "value_template: {{ value_json.state | upper }}",
        r#"{"state":"on"}"#,
        "unknown: nothing was heard on plug/lwt",
        "turn_on       G1 allow",
    ] {
        assert!(why.contains(part), "{part}\n{why}");
    }
    let listed = printed(&site.ask(&daemon, &["discover"]).await);
    assert!(listed.contains("homeassistant/switch/broken/config: command_topic is missing"), "{listed}");
    let missing = site.ask(&daemon, &["entities", "why", "switch.broken"]).await;
    let told = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && told.contains("command_topic is missing"), "{told}");
    let nothing = site.ask(&daemon, &["discover", "--accept", "switch.plug"]).await;
    assert!(!nothing.status.success(), "it is not suspended");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_entity_acts_again_when_a_person_has_accepted_it() {
    let Some(site) = Site::start().await else { return };
    let daemon = site.daemon().await;
    let gate = |class: &str| {
        json!({"name": "Gate", "uniq_id": "g", "dev_cla": class, "cmd_t": "gate/set"}).to_string()
    };
    site.publish("homeassistant/cover/gate/config", gate("garage")).await;
    let verbs = |entity: &Value| entity["actions"].as_array().map_or(0, Vec::len);
    assert!(verbs(&daemon.entity("cover.gate").await) > 0);
    site.publish("homeassistant/cover/gate/config", gate("curtain")).await;
    let until = async |wanted: fn(usize) -> bool| {
        soon("the entity is suspended, or no longer", async {
            while !wanted(verbs(&daemon.entity("cover.gate").await)) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await;
    };
    until(|verbs| verbs == 0).await;
    let listed = printed(&site.ask(&daemon, &["discover"]).await);
    assert!(listed.contains("cover.gate: its class changed from garage to curtain"), "{listed}");
    printed(&site.ask(&daemon, &["discover", "--accept", "cover.gate"]).await);
    until(|verbs| verbs > 0).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_plays_without_a_broker_and_without_names() {
    let Some(site) = Site::start().await else { return };
    let config = json!({"name": "Power", "uniq_id": "0x00158d0001a2b3c4_power", "stat_t": "zigbee2mqtt/Anna's lamp",
        "val_tpl": "{{ value_json.power }}", "unit_of_meas": "W",
        "dev": {"ids": ["0x00158d0001a2b3c4"], "name": "Anna's lamp"}});
    site.publish("homeassistant/sensor/0x00158d0001a2b3c4/power/config", config.to_string()).await;
    site.publish("zigbee2mqtt/Anna's lamp", r#"{"power":7.5,"wifi_password":"hunter2"}"#).await;
    let file = site.folder.path().join("recorded.jsonl");
    let path = file.display().to_string();
    let recording =
        soon("it is recorded", site.command(&["record", "--seconds", "1", "--out", &path]).output());
    printed(&recording.await.unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    for personal in ["Anna", "00158d0001a2b3c4", "hunter2"] {
        assert!(!text.contains(personal), "{personal}: {text}");
    }
    let state = site.folder.path().join("other");
    let entities = printed(&alone(&state, &["entities", "--from", &path, "--json"]).await);
    let entities: Value = serde_json::from_str(&entities).unwrap();
    assert_eq!(entities[0]["value"], "7.5", "{entities}");
    let id = entities[0]["entity"].as_str().unwrap();
    let why = printed(&alone(&state, &["entities", "--from", &path, "why", id]).await);
    assert!(why.contains("value_template: {{ value_json.power }}"), "{why}");
    let again =
        soon("it ends", site.command(&["record", "--seconds", "1", "--out", &path]).output()).await.unwrap();
    assert!(!again.status.success(), "a file that is there is not written over");
}

/// Every file of the corpus plays in the real binary.
#[tokio::test(flavor = "multi_thread")]
async fn every_recording_of_the_corpus_plays() {
    let Some(folder) = data::folder() else { return };
    let state = tempfile::tempdir().unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .filter(|path| !path.ends_with("expected.jsonl") && !path.ends_with("templates.jsonl"))
        .collect();
    files.sort();
    let mut entities = 0;
    for file in &files {
        let output =
            alone(state.path(), &["entities", "--json", "--from", &file.display().to_string()]).await;
        let list: Value = serde_json::from_str(&printed(&output)).unwrap();
        entities += list.as_array().unwrap().len();
    }
    println!("{} files, {entities} entities", files.len());
    assert!(entities > 1000, "{entities}");
    let broken = state.path().join("broken.jsonl");
    std::fs::write(&broken, "{\"topic\":\"a\",\"payload\":\"x\"}\nnonsense\n").unwrap();
    let told = alone(state.path(), &["entities", "--from", &broken.display().to_string()]).await;
    assert!(String::from_utf8_lossy(&told.stderr).contains("line 2"), "{told:?}");
}
