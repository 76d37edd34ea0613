//! Our own device in Home Assistant, on the broker of the real binary.

use homeloop::mqtt::link::Inbound;
use serde_json::{Value, json};

use crate::house::House;

const CONFIG: &str = "homeassistant/device/homeloop_home/config";
const STATE: &str = "homeloop/home/device/state";
const EVENT: &str = "homeloop/home/device/event";

fn body(message: &Inbound) -> Value {
    serde_json::from_slice(&message.payload).expect("JSON")
}

/// The first state of the device for which `wanted` holds.
async fn state(house: &House, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let is = |message: &Inbound| message.topic == STATE && wanted(&body(message));
    body(&house.recorder.wait(what, is).await)
}

async fn event(house: &House, kind: &str) -> Value {
    let is = |message: &Inbound| message.topic == EVENT && body(message)["event_type"] == kind;
    body(&house.recorder.wait(kind, is).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_shows_what_happens_and_is_never_read_back() {
    let house = House::start().await;
    let config = house.recorder.wait("the device", |message| message.topic == CONFIG).await;
    let config = body(&config);
    assert_eq!(config["device"]["identifiers"], json!(["homeloop_home"]));
    assert_eq!(config["availability_topic"], "homeloop/home/status");
    let ready = state(&house, "it is ready", |state| state["status"] == "ready").await;
    assert_eq!(ready["last"]["text"], Value::Null);
    house.say("turn on the kitchen light").await;
    let after = state(&house, "the last command", |state| state["last"]["text"].is_string()).await;
    assert_eq!(after["last"]["text"], "turn on the kitchen light");
    assert_eq!(after["last"]["result"]["outcomes"][0]["entity"], "light.kitchen");
    assert_eq!(after["last"]["command"]["by"], "mqtt");
    let entities = house.get("/api/entities").await.to_string();
    assert!(!entities.contains("homeloop_home") && !entities.contains("Last command"), "{entities}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_an_event_with_everything_that_a_decision_needs() {
    let house = House::start().await;
    let id = house.give("unlock the front door").await;
    let approval = house.approval().await;
    let asked = event(&house, "asked").await;
    for member in ["approval_id", "plan_hash", "match_code"] {
        assert_eq!(asked[member], approval[member], "{member}: {asked}");
    }
    assert_eq!(asked["who"], "mqtt");
    assert!(asked["what"].as_str().is_some_and(|what| what.contains("Front door")), "{asked}");
    let waiting = state(&house, "it waits", |state| state["approvals"][0].is_object()).await;
    assert_eq!(waiting["approvals"][0]["approval_id"], approval["approval_id"]);
    house.decide(&asked, "approve").await;
    house.result_of(&id).await;
    let approved = event(&house, "approved").await;
    assert_eq!(approved["approval_id"], approval["approval_id"]);
    let after = state(&house, "the result", |state| state["last"]["text"] == "unlock the front door").await;
    assert_eq!(after["approvals"], json!([]));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_refuses_commands_and_not_decisions() {
    let house = House::start().await;
    let id = house.give("unlock the front door").await;
    let approval = house.approval().await;
    house.publish("homeloop/home/pause", "perhaps").await;
    house.publish("homeloop/home/pause", "ON").await;
    state(&house, "it is paused", |state| state["paused"] == true && state["status"] == "paused").await;
    let (status, refused) = house.post("/api/commands", &json!({"text": "turn on the kitchen light"})).await;
    assert_eq!(status, 503, "{refused}");
    let (status, _) = house.decide(&approval, "approve").await;
    assert_eq!(status, 200, "what was asked before is decided as always");
    house.result_of(&id).await;
    house.publish("homeloop/home/pause", "OFF").await;
    let unpaused = |state: &Value| state["paused"] == false && state["last"]["text"].is_string();
    state(&house, "it goes on", unpaused).await;
    assert_eq!(house.say("turn off the kitchen light").await["exit"], "done");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_published_again_when_home_assistant_starts_and_not_at_all_when_not_wanted() {
    let house = House::start().await;
    house.recorder.wait("the device", |message| message.topic == CONFIG).await;
    state(&house, "its state", |state| state["status"] == "ready").await;
    let before = house.recorder.on(CONFIG).len();
    house.publish("homeassistant/status", "online").await;
    let more = || house.recorder.on(CONFIG).len() > before;
    house.recorder.wait("the device again", |message| message.topic == CONFIG && more()).await;
    house.stop().await;
    let house = House::with("[discovery]\nannounce = false\n").await;
    house.say("turn on the kitchen light").await;
    assert!(
        house.recorder.on(CONFIG).is_empty() && house.recorder.on(STATE).is_empty(),
        "nothing is announced"
    );
    house.stop().await;
}
