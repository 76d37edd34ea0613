//! What waters or heats ends by itself, and the reply says when.

use serde_json::Value;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::site::{Devices, Site, outcome};

const HOME: &str = r#"
[[area]]
id = "bathroom"
name = "Bathroom"

[[entity]]
id = "switch.heater"
name = "Bathroom heater"
aliases = { zh = ["浴室加热器"] }
area = "bathroom"
profile = "plain.switch"
with = { topic = "ends/heater" }

[[entity]]
id = "valve.lawn"
name = "Lawn sprinkler"
profile = "plain.valve"
with = { topic = "ends/lawn" }
device_class = "irrigation"

[[entity]]
id = "switch.lamp"
name = "Reading lamp"
profile = "plain.switch"
with = { topic = "ends/lamp" }
"#;

async fn scheduled(daemon: &crate::site::Daemon) -> Vec<Value> {
    daemon.get("/api/schedules").await.as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn irrigation_and_heaters_always_get_an_end() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let _devices = Devices::start(HOME, broker.address, None, "ends-devices").await;
    let site = Site::new("ends", HOME, broker.address, "[ends]\nheater_minutes = 45");
    let daemon = site.start().await;
    daemon.until("switch.heater", "off").await;
    daemon.until("valve.lawn", "closed").await;

    let on = daemon.say_approved("turn on the bathroom heater").await;
    assert_eq!(outcome(&on, "switch.heater"), "confirmed", "{on}");
    assert!(on["reply"].as_str().expect("a reply").contains("45 minutes"), "{on}");
    let ends = scheduled(&daemon).await;
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(ends[0]["gated"], false, "the end waits for nobody: {ends:?}");

    // The end is not to be cancelled while the heater is on.
    let id = ends[0]["schedule_id"].as_str().expect("an id");
    assert_eq!(daemon.delete(&format!("/api/schedules/{id}")).await, 403);
    daemon.say("cancel all schedules").await;
    assert_eq!(scheduled(&daemon).await.len(), 1);

    // Switched on again: the newer end alone counts.
    let again = daemon.say_approved("打开浴室加热器").await;
    assert!(again["reply"].as_str().expect("a reply").contains("45分钟"), "{again}");
    let newer = scheduled(&daemon).await;
    assert_eq!(newer.len(), 1, "{newer:?}");
    assert_ne!(newer[0]["schedule_id"], ends[0]["schedule_id"]);

    // Switched off: no end is left, and nothing goes off later by surprise.
    let off = daemon.say("turn off the bathroom heater").await;
    assert_eq!(outcome(&off, "switch.heater"), "confirmed", "{off}");
    assert_eq!(scheduled(&daemon).await, Vec::<Value>::new());

    // An end that is named stands in place of ours.
    let named = daemon.say_approved("turn on the bathroom heater for 10 minutes").await;
    assert_eq!(outcome(&named, "switch.heater"), "confirmed", "{named}");
    let ends = scheduled(&daemon).await;
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(ends[0]["when"], "once after 600 s", "{ends:?}");
    daemon.say("turn off the bathroom heater").await;

    let lawn = daemon.say_approved("open the lawn sprinkler").await;
    assert_eq!(outcome(&lawn, "valve.lawn"), "confirmed", "{lawn}");
    assert!(lawn["reply"].as_str().expect("a reply").contains("30 minutes"), "{lawn}");

    let lamp = daemon.say("turn on the reading lamp").await;
    assert!(!lamp["reply"].as_str().expect("a reply").contains("minutes"), "a lamp may stay on: {lamp}");
}

/// A denied action leaves no end behind, and an end survives kill -9.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_is_kept_over_a_crash_and_only_where_something_was_sent() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let home = HOME.replace("ends/", "ends2/");
    let devices = Devices::start(&home, broker.address, None, "ends2-devices").await;
    let site = Site::new("ends2", &home, broker.address, "");
    let daemon = site.start().await;
    daemon.until("switch.heater", "off").await;
    devices.fault("switch.heater", "offline").await;
    let offline =
        async { while daemon.get("/api/entities/switch.heater").await["availability"] != "offline" {} };
    crate::common::soon("the heater is offline", offline).await;
    let unsent = daemon.say_approved("turn on the bathroom heater").await;
    assert_eq!(outcome(&unsent, "switch.heater"), "not_sent", "{unsent}");
    assert_eq!(scheduled(&daemon).await, Vec::<Value>::new(), "nothing was sent, so nothing ends");

    let on = daemon.say_approved("open the lawn sprinkler").await;
    assert_eq!(outcome(&on, "valve.lawn"), "confirmed", "{on}");
    let before = scheduled(&daemon).await;
    daemon.kill().await;
    let daemon = site.start().await;
    let after = scheduled(&daemon).await;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_eq!(after[0]["schedule_id"], before[0]["schedule_id"]);
}
