//! "Who unlocked the door?": what homeloop did, who approved it, and what somebody else did.

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::process::{Daemon, Lock, homeloop, on_broker};

const HOME: &str = r#"
[[area]]
id = "hall"
name = "Hall"
aliases = { zh = "走廊" }
[[entity]]
id = "lock.front_door"
name = "Front door"
aliases = { zh = "前门" }
profile = "plain.lock"
with = { topic = "home/front" }
[[entity]]
id = "switch.hall_light"
name = "Hall light"
aliases = { zh = "走廊灯" }
area = "hall"
profile = "plain.switch"
with = { topic = "home/hall" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn who_unlocked_the_door_is_told_from_the_journal() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = on_broker(dir.path(), HOME, mosquitto.address);
    let daemon = Daemon::start(dir.path(), &settings).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    daemon.decide(&approval, "approve").await;
    daemon.result(&task).await;
    for (question, says) in [
        ("who unlocked the front door?", "approved by token:owner"),
        ("why is the front door unlocked?", "(http)"),
        ("前门是谁解锁的？", "由 token:owner 批准"),
        ("前门为什么没锁", "token:owner"),
    ] {
        let told = daemon.say(question).await;
        assert!(told["reply"].as_str().unwrap().contains(says), "{question}: {told}");
    }
    let told = daemon.say("who unlocked the front door?").await;
    assert!(told["reply"].as_str().unwrap().starts_with("Unlocked the Front door. That was at "), "{told}");
    // Turned by hand: MQTT does not say by whom, and neither does homeloop.
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    daemon
        .until("the change is written down", "/api/entities", |_| {
            let record = std::process::Command::new(env!("CARGO_BIN_EXE_homeloop"))
                .args(["journal", "acts", "lock.front_door", "--config"])
                .arg(dir.path().join("homeloop.toml"))
                .output()
                .unwrap();
            String::from_utf8_lossy(&record.stdout)
                .contains("unlocked -> locked; not by homeloop")
                .then_some(())
        })
        .await;
    for (question, says) in [
        ("who locked the front door?", "not by a command of homeloop"),
        ("谁把前门锁上了", "从 没有锁 变为 锁着，不是 homeloop 的指令"),
    ] {
        let told = daemon.say(question).await;
        assert!(told["reply"].as_str().unwrap().contains(says), "{question}: {told}");
    }
    let acts = homeloop(dir.path(), &["journal", "acts"]).await;
    let line = acts.lines().find(|line| line.contains("lock.front_door unlock: confirmed")).expect(&acts);
    for part in
        ["by token:owner over http", "approved by token:owner over http", "\"unlock the front door\"", &task]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(
        daemon.say("who turned on the hall light?").await["reply"]
            .as_str()
            .unwrap()
            .contains("nothing is in the journal")
    );
    daemon.kill().await;
}

/// "It said done and it wasn't": a device that turns back after it confirmed is told to the house.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_stay_as_it_was_confirmed_is_announced() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = on_broker(dir.path(), HOME, mosquitto.address);
    let daemon = Daemon::start(dir.path(), &settings).await;
    let recorder = Recorder::start(mosquitto.address, None).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    let told = daemon.say("lock the front door").await;
    assert_eq!(told["reply"], "Locked the Front door.");
    lock.turn("unlocked").await;
    let announced =
        recorder.wait("it is announced", |message| message.topic.ends_with("/announcement")).await;
    let announced: serde_json::Value = serde_json::from_slice(&announced.payload).unwrap();
    assert_eq!(announced["text"], "The Front door did not stay that way: it is unlocked again.");
    daemon.kill().await;
}
