//! The scene and ten more commands, typed with `mosquitto_pub` by a person's account on a mosquitto with the access
//! list of `deploy/`. homeloop has the account of an agent, the devices have one of their own.

use std::process::Stdio;

use homeloop::mqtt::link::Credentials;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::common::soon;
use crate::site::{Devices, Site, client, outcome, project};

const ACCOUNTS: [&str; 4] = ["agent", "anna", "simulator", "recorder"];

/// The simulated devices speak with the topics of many producers; a real house has an account for each.
const MORE: &str =
    "\nuser simulator\ntopic readwrite #\ntopic deny homeloop/#\nuser recorder\ntopic readwrite #\n";

fn password(name: &str) -> String {
    format!("{name}-password")
}

fn login(name: &str) -> Option<Credentials> {
    Some(Credentials { user: name.into(), password: password(name).into() })
}

/// `mosquitto_pub` as a person.
async fn publish(broker: &Mosquitto, topic: &str, text: &str) {
    let address = broker.address;
    let status = Command::new("mosquitto_pub")
        .args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()])
        .args(["-u", "anna", "-P", &password("anna"), "-q", "1", "-t", topic, "-m", text])
        .stdout(Stdio::null())
        .status();
    assert!(soon("mosquitto_pub ends", status).await.expect("mosquitto_pub runs").success());
}

async fn result(recorder: &Recorder, id: &str) -> Value {
    let of_id = |message: &homeloop::mqtt::link::Inbound| {
        message.topic == "homeloop/home/result"
            && serde_json::from_slice::<Value>(&message.payload).is_ok_and(|result| result["id"] == *id)
    };
    let message = recorder.wait(&format!("the result of {id}"), of_id).await;
    serde_json::from_slice(&message.payload).expect("JSON")
}

/// Command, what the reply holds, and entities with what became of them: `reached`, or an outcome's word.
type Typed = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const COMMANDS: &[Typed] = &[
    (
        "我要睡觉了，把家里调成睡眠模式",
        "阳台门",
        &[
            ("light.kitchen", "reached"),
            ("cover.bedroom_curtain", "reached"),
            ("climate.air_conditioner", "reached"),
            ("alarm_control_panel.house", "contradicted"),
        ],
    ),
    ("turn on the kitchen light", "itchen light", &[("light.kitchen", "reached")]),
    ("dim the kitchen light to 40%", "40", &[("light.kitchen", "reached")]),
    ("打开卧室的灯", "灯", &[("light.bedroom_left", "reached"), ("light.bedroom_right", "reached")]),
    ("set the air conditioner to 24 degrees", "24", &[("climate.air_conditioner", "reached")]),
    ("turn on the bedroom fan", "fan", &[("fan.bedroom", "reached")]),
    ("start the vacuum", "robot", &[("vacuum.robot", "reached")]),
    ("turn off the coffee machine", "offee machine", &[("switch.coffee_machine", "reached")]),
    ("锁上后门", "后门", &[("lock.back_door", "reached")]),
    ("is the kitchen window open?", "indow", &[]),
    ("add milk to the shopping list", "milk", &[]),
    ("open the kitchen blind", "lind", &[("cover.kitchen_blind", "reached")]),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_scene_and_more_commands_are_typed_at_a_broker_with_the_access_list() {
    let list = std::fs::read_to_string(project("deploy/mosquitto.acl")).expect("the access list");
    let logins = ACCOUNTS.map(|name| (name.to_owned(), password(name))).to_vec();
    let options = Options { logins, acl: Some(list + MORE), ..Options::default() };
    let Some(broker) = Mosquitto::start(options).await else { return };
    let recorder = Recorder::start(broker.address, login("recorder")).await;
    let home = std::fs::read_to_string(project("devices/demo-home.toml")).expect("the home");
    let _devices = Devices::start(&home, broker.address, login("simulator"), "simulator").await;
    let site = Site::new("home", &home, broker.address, "username = \"agent\"\npassword_file = \"PASSWORD\"");
    let file = site.path("password");
    site.secret("password", &password("agent"));
    let settings = std::fs::read_to_string(site.config()).expect("the settings");
    let settings = settings.replace("PASSWORD", &file.display().to_string());
    std::fs::write(site.config(), settings).expect("the settings");
    let daemon = site.start().await;
    daemon.until("binary_sensor.balcony_door", "on").await;
    daemon.until("cover.kitchen_blind", "open").await;

    for (number, (text, says, outcomes)) in COMMANDS.iter().enumerate() {
        let id = format!("typed-{number}");
        publish(&broker, "homeloop/home/command", &json!({"text": text, "id": id}).to_string()).await;
        let result = result(&recorder, &id).await;
        assert!(result["reply"].as_str().expect("a reply").contains(says), "{text}: {result}");
        for (entity, expected) in *outcomes {
            let word = outcome(&result, entity);
            let as_expected = match *expected {
                "reached" => matches!(word, "confirmed" | "already"),
                other => word == other,
            };
            assert!(as_expected, "{text}: {entity} {word}: {result}");
        }
    }

    // What the list does not give to a person is not passed on.
    for topic in
        ["home/front_door/lock/set", "homeloop/home/approval/01K/decision", "zigbee2mqtt/garden valve/set"]
    {
        publish(&broker, topic, "forged").await;
    }
    let marker = client(broker.address, login("recorder"), "marker").await;
    let seen = recorder.until_marked(&marker, "the end").await;
    assert!(!seen.iter().any(|message| message.payload == "forged"), "a person wrote past homeloop");
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.ended().await, Some(0));
}
