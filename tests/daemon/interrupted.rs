//! The daemon interrupted: the broker dies, the machine dies, it is told to stop or to read its files again, and it
//! runs out of file descriptors. Each time the report is true, and nothing gated is repeated.

use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::mqtt::link::{Link, LinkSettings, Publish};
use serde_json::{Value, json};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::common::soon;
use crate::process::{Daemon, FRONT_DOOR, Lock, free_port, private};

fn settings(dir: &std::path::Path, home: &str, port: u16) -> String {
    let home = private(dir.join("home.toml"), home);
    let http = free_port();
    format!(
        "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {port}\n[http]\nbind = \"127.0.0.1:{http}\"\n"
    )
}

fn signal(daemon: &Daemon, name: &str) {
    let killed = std::process::Command::new("kill").args(["-s", name, &daemon.pid().to_string()]).status();
    assert!(killed.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_to_f3_a_broker_that_is_killed_and_comes_back_empty_is_used_again_and_nothing_is_repeated() {
    let Some(mut mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(dir.path(), &settings(dir.path(), FRONT_DOOR, mosquitto.address.port())).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    // Idle: everything is subscribed again, though the broker has forgotten all of it.
    mosquitto.kill().await;
    daemon.until("the loss is noticed", "/readyz", |it| (it["ready"] == json!(false)).then_some(())).await;
    let refused = daemon.say("lock the front door").await;
    assert_eq!(refused["outcomes"][0]["outcome"], "not_sent", "{refused}");
    mosquitto.restart().await;
    daemon.until("the broker is back", "/readyz", |it| (it["ready"] == json!(true)).then_some(())).await;
    soon("the lock is back", lock.link.up()).await;
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    // In the middle of a command: approved, sent, and the answer is lost with the broker.
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let told = lock.commands().len();
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    mosquitto.kill().await;
    daemon.until("the loss is noticed", "/readyz", |it| (it["ready"] == json!(false)).then_some(())).await;
    daemon.decide(&approval, "approve").await;
    let result = daemon.result(&task).await;
    assert_eq!(result["outcomes"][0]["outcome"], "not_sent", "{result}");
    mosquitto.restart().await;
    daemon.until("the broker is back", "/readyz", |it| (it["ready"] == json!(true)).then_some(())).await;
    soon("the lock is back", lock.link.up()).await;
    // A command that goes through the same link proves that nothing older was waiting in it.
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    let after = daemon.say("lock the front door").await;
    assert_eq!(after["outcomes"][0]["outcome"], "confirmed", "{after}");
    assert_eq!(lock.commands()[told..], ["lock"], "the approved unlock was not kept for later");
    daemon.kill().await;
}

/// The broker dies when the unlock has been sent and before the lock could say so: it is not sent again when the broker is
/// back, and the report says what the lock then says, or that nobody knows.
#[tokio::test(flavor = "multi_thread")]
async fn f2_a_broker_that_dies_after_the_send_has_nothing_sent_again() {
    let Some(mut mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), FRONT_DOOR, mosquitto.address.port());
    let recorder = Recorder::start(mosquitto.address, None).await;
    let mut locked = Publish::new("home/front/state", "locked");
    locked.retain = true;
    recorder.link.publish(locked).await.expect("the lock reports");
    let daemon = Daemon::start(dir.path(), &settings).await;
    daemon.has("lock.front_door", "locked").await;
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    recorder.wait_on("home/front/set", "unlock").await;
    mosquitto.kill().await;
    daemon.until("the loss is noticed", "/readyz", |it| (it["ready"] == json!(false)).then_some(())).await;
    mosquitto.restart().await;
    daemon.until("the broker is back", "/readyz", |it| (it["ready"] == json!(true)).then_some(())).await;
    soon("the recorder is back", recorder.link.up()).await.expect("it is not stopped");
    let mut unlocked = Publish::new("home/front/state", "unlocked");
    unlocked.retain = true;
    recorder.link.publish(unlocked).await.expect("the lock reports");
    let result = daemon.result(&task).await;
    let outcome = result["outcomes"][0]["outcome"].as_str().unwrap_or_default();
    assert!(matches!(outcome, "confirmed" | "unconfirmed"), "{result}");
    daemon.has("lock.front_door", "unlocked").await;
    // A later command on the same topic proves that nothing older was waiting.
    let after = daemon.give("lock the front door").await;
    recorder.wait_on("home/front/set", "lock").await;
    assert_eq!(recorder.on("home/front/set"), ["unlock", "lock"]);
    let mut locked = Publish::new("home/front/state", "locked");
    locked.retain = true;
    recorder.link.publish(locked).await.expect("the lock reports");
    assert_eq!(daemon.result(&after).await["outcomes"][0]["outcome"], "confirmed");
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f28_killed_in_the_third_of_five_steps_it_reports_what_happened_and_repeats_nothing() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut home = String::new();
    let mut steps = Vec::new();
    for number in 1..=5 {
        home.push_str(&format!(
            "[[entity]]\nid = \"switch.s{number}\"\nname = \"Plug {number}\"\nprofile = \"plain.switch\"\n\
             with = {{ topic = \"home/s{number}\" }}\n"
        ));
        steps.push(format!("{{ entity = \"switch.s{number}\", verb = \"turn_on\" }}"));
    }
    home.push_str(&format!("[[scene]]\nid = \"party\"\nname = \"Party\"\nsteps = [{}]\n", steps.join(", ")));
    let settings = settings(dir.path(), &home, mosquitto.address.port());
    let recorder = Recorder::start(mosquitto.address, None).await;
    let mut link = LinkSettings::new("127.0.0.1", mosquitto.address.port(), "plugs");
    link.embedded = true;
    let (plugs, mut arrivals) = Link::start(link, Clock::system(), ["home/+/set".to_owned()]).unwrap();
    soon("the plugs connect", plugs.up()).await.unwrap();
    for number in 1..=5 {
        let mut off = Publish::new(format!("home/s{number}/state"), "off");
        off.retain = true;
        plugs.publish(off).await.unwrap();
    }
    let daemon = Daemon::start(dir.path(), &settings).await;
    daemon.has("switch.s5", "off").await;
    let task = daemon.give("activate the party scene").await;
    // The first two answer; with the third the power goes.
    for _ in 0..3 {
        let message = soon("a plug is told", arrivals.recv()).await.unwrap();
        let mut on = Publish::new(message.topic.replace("/set", "/state"), "on");
        on.retain = true;
        plugs.publish(on).await.unwrap();
    }
    daemon.kill().await;
    let daemon = Daemon::start(dir.path(), &settings).await;
    let end = daemon.result(&task).await;
    recorder.until_marked(&plugs, "end").await;
    for number in 1..=5 {
        let told = recorder.on(&format!("home/s{number}/set")).len();
        assert!(told <= 1, "plug {number} was told {told} times: {end}");
    }
    assert!(!end["reply"].as_str().unwrap_or_default().is_empty(), "{end}");
    let claimed = end["outcomes"].as_array().unwrap().iter().filter(|entry| entry["outcome"] == "confirmed");
    for entry in claimed {
        let id = entry["action"]["entity"].as_str().unwrap();
        let topic = format!("home/{}/set", id.trim_start_matches("switch."));
        assert_eq!(recorder.on(&topic).len(), 1, "{id} is claimed and was told: {end}");
    }
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_told_to_stop_in_the_middle_of_a_command_it_reports_and_ends() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), FRONT_DOOR, mosquitto.address.port());
    let recorder = Recorder::start(mosquitto.address, None).await;
    let daemon = Daemon::start(dir.path(), &settings).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let task = daemon.give("unlock the front door").await;
    daemon.approval().await;
    signal(&daemon, "TERM");
    let topic = format!("homeloop/home/task/{task}/result");
    let told = recorder.wait("the result of the stopped task", |message| message.topic == topic).await;
    let told: Value = serde_json::from_slice(&told.payload).unwrap();
    assert_eq!(told["exit"], "shutdown", "{told}");
    recorder.wait_on("homeloop/home/status", "offline").await;
    assert!(lock.commands().is_empty());
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_a_broken_policy_is_told_and_the_old_one_stays() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let rule = "[[rule]]\nname = \"nobody locks\"\ndecision = \"deny\"\nentity = [\"lock.front_door\"]\n";
    let policy = private(dir.path().join("policy.toml"), rule);
    let settings = settings(dir.path(), FRONT_DOOR, mosquitto.address.port())
        + &format!("[policy]\nfile = {policy:?}\n");
    let daemon = Daemon::start(dir.path(), &settings).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    let reload = |text: &'static str, says: &'static str| {
        std::fs::write(&policy, text).unwrap();
        signal(&daemon, "HUP");
        let daemon = &daemon;
        async move {
            soon(says, async {
                while !daemon.log().contains(says) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
            .await;
        }
    };
    reload("[[rule]]\nname = \"x\"\ndecision = \"perhaps\"\n", "the policy file is broken").await;
    let refused = daemon.say("lock the front door").await;
    assert_eq!(refused["outcomes"][0]["outcome"], "refused", "the old rule holds: {refused}");
    reload("", "the policy was read again").await;
    let done = daemon.say("lock the front door").await;
    assert_eq!(done["outcomes"][0]["outcome"], "confirmed", "{done}");
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_out_of_file_descriptors_it_stays_and_works_again() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), FRONT_DOOR, mosquitto.address.port());
    let few = ["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"];
    let daemon = Daemon::start_as(dir.path(), &settings, &few).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    let address = daemon.http.trim_start_matches("http://").to_owned();
    let mut held = Vec::new();
    for _ in 0..120 {
        match tokio::time::timeout(Duration::from_secs(2), tokio::net::TcpStream::connect(&address)).await {
            Ok(Ok(stream)) => held.push(stream),
            Ok(Err(_)) | Err(_) => break,
        }
    }
    assert!(held.len() > 30, "{}", held.len());
    drop(held);
    // The server sees each of them close, and has room again.
    let body = json!({"text": "lock the front door"});
    let done = soon("there is room again", async {
        loop {
            match daemon.post("/api/commands", &body).await {
                (200, done) => return done,
                (503, _) => tokio::task::yield_now().await,
                (status, refused) => panic!("{status}: {refused}"),
            }
        }
    })
    .await;
    assert_eq!(done["outcomes"][0]["outcome"], "confirmed", "{done}");
    daemon.kill().await;
}

/// What arrives is bounded: a flood of big messages does not reach the limit of memory that the unit sets.
#[tokio::test(flavor = "multi_thread")]
async fn f41_big_messages_fit_into_256_megabytes() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), FRONT_DOOR, mosquitto.address.port());
    let little = ["sh", "-c", "ulimit -d 262144; exec \"$@\"", "sh"];
    let daemon = Daemon::start_as(dir.path(), &settings, &little).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    let big = "x".repeat(1_000_000);
    for number in 0..400 {
        for topic in [format!("homeassistant/sensor/big{number}/config"), "home/front/state".to_owned()] {
            lock.link.publish(Publish::new(topic, big.clone())).await.expect("it is taken");
        }
    }
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    assert_eq!(daemon.say("lock the front door").await["outcomes"][0]["outcome"], "confirmed");
    daemon.kill().await;
}
