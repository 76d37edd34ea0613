//! Decisions over MQTT in every mode, with `mosquitto_pub` and the real binary: who is believed, and who is not.

use std::net::SocketAddr;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::process::{Daemon, FRONT_DOOR, Lock, free_port, login, mosquitto_pub, private};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER_KEY: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

fn now() -> String {
    homeloop::clock::Clock::system().now().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn sign(key: &str, approval: &Value, decision: &str, issued_at: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("any length");
    let (id, hash) = (approval["approval_id"].as_str().unwrap(), approval["plan_hash"].as_str().unwrap());
    mac.update(format!("v1|{id}|{hash}|{decision}|{issued_at}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decision(approval: &Value, word: &str) -> Value {
    json!({
        "v": 1, "approval_id": approval["approval_id"], "plan_hash": approval["plan_hash"],
        "decision": word, "issued_at": now(),
    })
}

fn signed(key: &str, approval: &Value, word: &str) -> Value {
    let mut body = decision(approval, word);
    body["hmac"] = json!(sign(key, approval, word, body["issued_at"].as_str().unwrap()));
    body
}

fn topic(approval: &Value) -> String {
    format!("homeloop/home/approval/{}/decision", approval["approval_id"].as_str().unwrap())
}

async fn publish(broker: SocketAddr, login: Option<(&str, &str)>, approval: &Value, body: &Value) {
    mosquitto_pub(broker, login, &["-t", &topic(approval), "-m", &body.to_string()]).await;
}

/// Waits until so many messages on our own topics had a fate (see `/metrics`).
async fn counted(daemon: &Daemon, fate: &str, count: u64) {
    crate::common::soon(&format!("{count} messages are {fate}"), async {
        let line = format!("homeloop_own_messages{{fate=\"{fate}\"}} {count}");
        while !daemon.text("/metrics").await.contains(&line) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Who decided, from the task's own record.
fn decided_by(task: &Value) -> String {
    let events = task["events"].as_array().expect("events");
    let ended = events.iter().find(|event| event["event"] == "approval_ended").expect("it ended");
    ended["by"].as_str().unwrap_or_default().to_owned()
}

fn accounts(dir: &std::path::Path) -> String {
    let file = private(
        dir.join("accounts.toml"),
        r#"
[[account]]
name = "anna"
password = "anna-password"
role = "approver"
[[account]]
name = "tv"
password = "tv-password"
role = "person"
[[account]]
name = "front"
password = "front-password"
role = "device"
trees = ["home/front"]
"#,
    );
    format!("[mqtt.embedded]\nbind = \"127.0.0.1:0\"\naccounts_file = {file:?}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approver_account_of_the_embedded_broker_decides_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let home = private(dir.path().join("home.toml"), FRONT_DOOR);
    let settings = format!(
        "[home]\nfile = {home:?}\n{}[mqtt.commands]\napprovals = \"accounts\"\n",
        accounts(dir.path())
    );
    let daemon = Daemon::start(dir.path(), &settings).await;
    let broker = daemon.broker.expect("the embedded broker");
    let lock = Lock::start(broker, Some(login("front", "front-password")), "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    assert!(
        approval["text"].as_str().unwrap().contains("UNLOCK - Front door (lock.front_door"),
        "{approval}"
    );
    // The television may give commands; its decision is refused by the broker, and so is the lock's own.
    let approve = decision(&approval, "approve");
    publish(broker, Some(("tv", "tv-password")), &approval, &approve).await;
    publish(broker, Some(("front", "front-password")), &approval, &approve).await;
    publish(broker, None, &approval, &approve).await;
    assert_eq!(daemon.approval().await["approval_id"], approval["approval_id"], "it still waits");
    publish(broker, Some(("anna", "anna-password")), &approval, &approve).await;
    let result = daemon.result(&task).await;
    assert_eq!(result["outcomes"][0]["outcome"], "confirmed", "{result}");
    assert_eq!(decided_by(&result), "mqtt:anna");
    // A replay is answered by a refusal and opens nothing.
    publish(broker, Some(("anna", "anna-password")), &approval, &approve).await;
    counted(&daemon, "accepted", 2).await;
    assert_eq!(lock.commands(), ["unlock"]);
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_signed_decisions_count_under_an_approvers_key_alone() {
    let logins = vec![("homeloop".to_owned(), "secret".to_owned()), ("all".to_owned(), "all".to_owned())];
    let Some(mosquitto) = Mosquitto::start(Options { logins, ..Options::default() }).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = private(dir.path().join("home.toml"), FRONT_DOOR);
    let password = private(dir.path().join("mqtt"), "secret\n");
    let (anna, ben) =
        (private(dir.path().join("anna.key"), KEY), private(dir.path().join("ben.key"), OTHER_KEY));
    let settings = format!(
        "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\nusername = \"homeloop\"\n\
         password_file = {password:?}\n[mqtt.commands]\napprovals = \"hmac\"\n\
         [mqtt.commands.hmac_keys]\nanna = {anna:?}\nben = {ben:?}\n",
        mosquitto.address.port()
    );
    let daemon = Daemon::start(dir.path(), &settings).await;
    let (broker, all) = (mosquitto.address, Some(("all", "all")));
    let lock = Lock::start(broker, Some(login("all", "all")), "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    let mut other = approval.clone();
    other["approval_id"] = json!("01OTHER0000000000000000000");
    let approve = decision(&approval, "approve");
    let mut flipped = signed(KEY, &approval, "deny");
    flipped["decision"] = json!("approve");
    let mut of_another = approve.clone();
    of_another["hmac"] = json!(sign(KEY, &other, "approve", approve["issued_at"].as_str().unwrap()));
    let wrong_key = signed(&"k".repeat(64), &approval, "approve");
    let mut dated = signed(KEY, &approval, "approve");
    dated["issued_at"] = json!("2020-01-01T00:00:00Z");
    for forged in [&approve, &flipped, &of_another, &wrong_key] {
        publish(broker, all, &approval, forged).await;
    }
    counted(&daemon, "disbelieved", 4).await;
    publish(broker, all, &approval, &dated).await;
    counted(&daemon, "stale", 1).await;
    assert!(lock.commands().is_empty());
    publish(broker, all, &approval, &signed(OTHER_KEY, &approval, "approve")).await;
    let result = daemon.result(&task).await;
    assert_eq!(decided_by(&result), "mqtt:ben", "{result}");
    assert_eq!(lock.commands(), ["unlock"]);
    assert!(!daemon.log().contains(KEY) && !daemon.log().contains(OTHER_KEY), "keys are in no log");
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_and_s11_without_a_mode_or_with_an_open_broker_no_decision_over_mqtt_counts() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let key_dir = tempfile::tempdir().unwrap();
    let key = private(key_dir.path().join("anna.key"), KEY);
    for mode in ["off", "acl", "hmac"] {
        let dir = tempfile::tempdir().unwrap();
        let home = private(dir.path().join("home.toml"), FRONT_DOOR);
        let settings = format!(
            "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\n\
             [mqtt.commands]\napprovals = \"{mode}\"\n[mqtt.commands.hmac_keys]\nanna = {key:?}\n",
            mosquitto.address.port()
        );
        let daemon = Daemon::start(dir.path(), &settings).await;
        let lock = Lock::start(mosquitto.address, None, "home/front").await;
        lock.turn("locked").await;
        daemon.has("lock.front_door", "locked").await;
        let task = daemon.give("unlock the front door").await;
        let approval = daemon.approval().await;
        publish(mosquitto.address, None, &approval, &signed(KEY, &approval, "approve")).await;
        counted(&daemon, "disbelieved", 1).await;
        assert_eq!(daemon.log().contains("lets everybody in"), mode != "off", "it says so: {mode}");
        // Over HTTP it goes on as ever.
        assert_eq!(daemon.decide(&approval, "deny").await.0, 200);
        assert_eq!(daemon.result(&task).await["outcomes"][0]["outcome"], "not_sent");
        assert!(lock.commands().is_empty(), "{mode}");
        daemon.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_and_s9_retained_and_queued_decisions_answer_nothing_after_a_restart() {
    let logins = vec![("homeloop".to_owned(), "secret".to_owned()), ("all".to_owned(), "all".to_owned())];
    let Some(mosquitto) = Mosquitto::start(Options { logins, ..Options::default() }).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = private(dir.path().join("home.toml"), FRONT_DOOR);
    let password = private(dir.path().join("mqtt"), "secret\n");
    let settings = format!(
        "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\nusername = \"homeloop\"\n\
         password_file = {password:?}\n[mqtt.commands]\napprovals = \"acl\"\n[http]\nbind = \"127.0.0.1:{}\"\n",
        mosquitto.address.port(),
        free_port(),
    );
    let daemon = Daemon::start(dir.path(), &settings).await;
    let all = Some(("all", "all"));
    let lock = Lock::start(mosquitto.address, Some(login("all", "all")), "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    daemon.kill().await;
    let body = decision(&approval, "approve");
    // S9: published at QoS 1 while nobody is there. S8: left on the broker for whoever comes.
    publish(mosquitto.address, all, &approval, &body).await;
    mosquitto_pub(mosquitto.address, all, &["-r", "-t", &topic(&approval), "-m", &body.to_string()]).await;
    let daemon = Daemon::start(dir.path(), &settings).await;
    counted(&daemon, "retained", 1).await;
    let waiting = daemon.approval().await;
    assert_eq!(waiting["approval_id"], approval["approval_id"], "it survived and still waits");
    assert!(lock.commands().is_empty());
    // Decided live, it goes on from its journal.
    publish(mosquitto.address, all, &approval, &decision(&approval, "approve")).await;
    let result = daemon.result(&task).await;
    assert_eq!(result["outcomes"][0]["outcome"], "confirmed", "{result}");
    assert_eq!(lock.commands(), ["unlock"]);
    daemon.kill().await;
}
