//! The embedded broker: who comes in, and what each may say and hear.

use std::net::SocketAddr;
use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::mqtt::broker::accounts::{Account, Announces, DeviceRights, Role};
use homeloop::mqtt::broker::{BrokerError, BrokerSettings, EmbeddedBroker, MemoryStore};
use homeloop::mqtt::link::{
    Credentials, Link, LinkHandle, LinkSettings, LinkState, Problem, Publish, SendError, Version,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::brokers::{Broker, account, connect, link_settings, login, next, settings};
use crate::common::mosquitto::Options;
use crate::common::recorder::Recorder;
use crate::common::soon;

/// A house with one account of each kind.
fn house() -> BrokerSettings {
    let bridge = DeviceRights { trees: vec!["zigbee2mqtt".into()], announces: Announces::Anything };
    BrokerSettings {
        accounts: vec![
            account("agent", Role::Agent),
            account("anna", Role::Person),
            account("boris", Role::Approver),
            account("panel", Role::ReadOnly),
            account("plug", Role::Device(DeviceRights::own("plug"))),
            account("lock", Role::Device(DeviceRights::own("lock"))),
            account("bridge", Role::Device(bridge)),
        ],
        ..settings()
    }
}

fn settings_of(address: SocketAddr, name: &str) -> LinkSettings {
    LinkSettings {
        credentials: Some(login(name)),
        ..link_settings(address, &format!("{name}-client"), Version::V5)
    }
}

async fn client(address: SocketAddr, name: &str) -> LinkHandle {
    connect(settings_of(address, name), &[]).await.0
}

async fn refused(link: &LinkHandle, topic: &str) {
    let answer = link.publish(Publish::new(topic, "x")).await;
    assert_eq!(answer, Err(SendError::Refused("not authorized".into())), "{topic}");
}

async fn allowed(link: &LinkHandle, topic: &str) {
    assert_eq!(link.publish(Publish::new(topic, "x")).await, Ok(()), "{topic}");
}

#[tokio::test]
async fn s51_a_device_cannot_write_outside_its_own_tree() {
    let broker = Broker::embedded_with(house()).await;
    let recorder = Recorder::start(broker.address(), Some(login("agent"))).await;
    let plug = client(broker.address(), "plug").await;
    for topic in [
        "homeloop/home/command",
        "homeloop/home/stop",
        "homeloop/home/approval/01K/decision",
        "homeloop/home/approval/01K",
        "homeloop/home/status",
        "lock/state",
        "plug2/state",
        "zigbee2mqtt/bridge/request/permit_join",
        "homeassistant/lock/lock/config",
        "homeassistant/status",
    ] {
        refused(&plug, topic).await;
    }
    sys_is_refused(broker.address()).await;
    allowed(&plug, "plug/state").await;
    allowed(&plug, "homeassistant/switch/plug/relay/config").await;
    let seen = recorder.until_marked(&client(broker.address(), "agent").await, "mark").await;
    let topics: Vec<_> = seen.iter().map(|message| message.topic.as_str()).collect();
    assert_eq!(topics, ["plug/state", "homeassistant/switch/plug/relay/config"]);
}

/// Our own link does not even send to `$SYS`, so this device speaks by itself: it is refused, or thrown out.
async fn sys_is_refused(address: SocketAddr) {
    use rumqttc::v5::mqttbytes::{
        QoS,
        v5::{Packet, PubAckReason},
    };
    let mut options =
        rumqttc::v5::MqttOptions::new("plug-by-itself", address.ip().to_string(), address.port());
    options.set_credentials("plug", "plug-password");
    let (device, mut events) = rumqttc::v5::AsyncClient::new(options, 10);
    device.publish("$SYS/broker/version", QoS::AtLeastOnce, true, "x").await.expect("it is queued");
    let refused = async {
        loop {
            match events.poll().await {
                Ok(rumqttc::v5::Event::Incoming(Packet::PubAck(ack))) => {
                    return matches!(
                        ack.reason,
                        PubAckReason::NotAuthorized | PubAckReason::TopicNameInvalid
                    );
                }
                Ok(rumqttc::v5::Event::Incoming(Packet::Disconnect(_))) | Err(_) => return true,
                Ok(_) => {}
            }
        }
    };
    assert!(soon("the answer", refused).await, "$SYS is the broker's");
}

#[tokio::test]
async fn s55_a_device_reads_only_its_own_tree() {
    let broker = Broker::embedded_with(house()).await;
    let agent = client(broker.address(), "agent").await;
    let (plug, mut arrivals) =
        connect(settings_of(broker.address(), "plug"), &["#", "plug/#", "+/state", "$share/g/#"]).await;
    let refused = plug.refused_filters();
    assert_eq!(refused.keys().collect::<Vec<_>>(), ["#", "$share/g/#", "+/state"]);
    assert_eq!(refused.get("#").map(String::as_str), Some("not authorized"));
    for topic in ["lock/state", "homeloop/home/command", "plug/set"] {
        allowed(&agent, topic).await;
    }
    assert_eq!(next(&mut arrivals).await.topic, "plug/set");
}

#[tokio::test]
async fn people_command_approvers_decide_and_readers_read() {
    let broker = Broker::embedded_with(house()).await;
    let anna = client(broker.address(), "anna").await;
    allowed(&anna, "homeloop/home/command").await;
    allowed(&anna, "homeloop/home/stop").await;
    for topic in ["homeloop/home/approval/01K/decision", "lock/set", "homeloop/home/result"] {
        refused(&anna, topic).await;
    }
    let boris = client(broker.address(), "boris").await;
    allowed(&boris, "homeloop/home/approval/01K/decision").await;
    refused(&boris, "lock/set").await;
    let (panel, mut arrivals) = connect(settings_of(broker.address(), "panel"), &["#"]).await;
    assert!(panel.refused_filters().is_empty());
    refused(&panel, "homeloop/home/command").await;
    allowed(&anna, "homeloop/home/command").await;
    assert_eq!(next(&mut arrivals).await.topic, "homeloop/home/command");
}

/// `deploy/mosquitto.acl` says the same to mosquitto as the roles say to the embedded broker.
#[tokio::test]
async fn the_access_list_for_mosquitto_has_the_same_roles() {
    let names = ["agent", "anna", "boris", "panel", "bridge", "plug", "lock"];
    let logins = names.map(|name| (name.to_owned(), format!("{name}-password"))).to_vec();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/mosquitto.acl");
    let acl = Some(std::fs::read_to_string(file).expect("the access list"));
    let Some(mosquitto) = Broker::mosquitto_with(Options { logins, acl, ..Options::default() }).await else {
        return;
    };
    let embedded = Broker::embedded_with(house()).await;
    let topics = [
        "homeloop/home/command",
        "homeloop/home/stop",
        "homeloop/home/approval/01K/decision",
        "homeloop/home/approval/01K",
        "homeloop/home/result",
        "homeloop/home/status",
        "plug/state",
        "lock/set",
        "plugs/state",
        "zigbee2mqtt/lamp/set",
        "homeassistant/switch/plug/config",
        "homeassistant/switch/plug/relay/config",
        "homeassistant/switch/lock/config",
        "homeassistant/status",
    ];
    for name in names {
        let (one, other) = (client(embedded.address(), name).await, client(mosquitto.address(), name).await);
        for topic in topics {
            let answers =
                (one.publish(Publish::new(topic, "x")).await, other.publish(Publish::new(topic, "x")).await);
            assert_eq!(answers.0, answers.1, "{name} {topic}");
        }
    }
    let (_plug, mut arrivals) = connect(
        LinkSettings { client_id: "reader".into(), ..settings_of(mosquitto.address(), "plug") },
        &["#"],
    )
    .await;
    let agent = client(mosquitto.address(), "agent").await;
    for topic in ["homeloop/home/command", "lock/state", "plug/set"] {
        allowed(&agent, topic).await;
    }
    assert_eq!(next(&mut arrivals).await.topic, "plug/set");
}

#[tokio::test]
async fn the_sender_is_what_the_broker_authenticated_and_cannot_be_forged() {
    use rumqttc::v5::mqttbytes::{QoS, v5::PublishProperties};
    let broker = Broker::embedded_with(house()).await;
    let agent = LinkSettings { embedded: true, ..settings_of(broker.address(), "agent") };
    let (_agent, mut arrivals) = connect(agent, &["homeloop/home/#"]).await;
    let (host, port) = (broker.address().ip().to_string(), broker.address().port());
    let mut options = rumqttc::v5::MqttOptions::new("forger", host.clone(), port);
    options.set_credentials("anna", "anna-password");
    let (forger, mut events) = rumqttc::v5::AsyncClient::new(options, 10);
    let polling = tokio::spawn(async move { while events.poll().await.is_ok() {} });
    let forged = |name: &str| (name.to_owned(), "boris".to_owned());
    let properties = PublishProperties {
        user_properties: vec![forged("x-mqtt-sender"), forged("x-mqtt-sender"), forged("x-mqtt-client-id")],
        ..PublishProperties::default()
    };
    let topic = "homeloop/home/command";
    forger
        .publish_with_properties(topic, QoS::AtLeastOnce, false, "x", properties)
        .await
        .expect("it is queued");
    assert_eq!(next(&mut arrivals).await.sender.as_deref(), Some("anna"));
    polling.abort();
    // Version 3.1.1 has no properties, and still the broker tells the sender.
    let old = LinkSettings { version: Version::V311, ..settings_of(broker.address(), "boris") };
    let (old, _unused) = connect(old, &[]).await;
    allowed(&old, topic).await;
    assert_eq!(next(&mut arrivals).await.sender.as_deref(), Some("boris"));
}

#[tokio::test]
async fn a_wrong_password_is_said_in_plain_words() {
    let embedded = Broker::embedded_with(house()).await;
    let logins = vec![("anna".to_owned(), "anna-password".to_owned())];
    let mosquitto = Broker::mosquitto_with(Options { logins, ..Options::default() }).await;
    for broker in std::iter::once(&embedded).chain(&mosquitto) {
        for (position, version) in [Version::V5, Version::V311].into_iter().enumerate() {
            for wrong in [Some(("anna", "wrong")), Some(("nobody", "x")), None] {
                let credentials = wrong
                    .map(|(user, password)| Credentials { user: user.into(), password: password.into() });
                let name = format!("client-{position}");
                let settings =
                    LinkSettings { credentials, ..link_settings(broker.address(), &name, version) };
                let (link, _arrivals) = Link::start(settings, Clock::system(), []).expect("good settings");
                let mut state = link.state();
                let told = state.wait_for(|state| {
                    matches!(state, LinkState::Connecting { problem: Some(Problem::Credentials), .. })
                });
                soon("the refusal is told", told).await.expect("the link lives");
                let refused = link.publish(Publish::new("x", "y")).await;
                assert_eq!(
                    refused.map_err(|error| error.to_string()),
                    Err("not sent: the broker refuses the user name or password".to_owned())
                );
                link.stop().await;
            }
        }
    }
}

#[tokio::test]
async fn f4_refused_credentials_are_tried_again_until_they_are_accepted() {
    let broker = EmbeddedBroker::start(settings(), Arc::new(MemoryStore::default()), &Clock::system())
        .await
        .expect("it starts");
    let (link, _arrivals) =
        Link::start(settings_of(broker.address(), "anna"), Clock::system(), []).expect("good settings");
    let mut state = link.state();
    let told = state
        .wait_for(|state| matches!(state, LinkState::Connecting { problem: Some(Problem::Credentials), .. }));
    soon("the refusal is told", told).await.expect("the link lives");
    broker.set_accounts(&[account("anna", Role::Person)]).expect("a good account");
    soon("the link comes up", link.up()).await.expect("it is not stopped");
    broker.set_accounts(&[]).expect("no accounts");
    refused(&link, "homeloop/home/command").await;
}

#[tokio::test]
async fn nobody_without_a_name_comes_in_by_default() {
    let broker = Broker::embedded_with(settings()).await;
    let (link, _arrivals) =
        Link::start(link_settings(broker.address(), "x", Version::V5), Clock::system(), [])
            .expect("good settings");
    let mut state = link.state();
    let told = state
        .wait_for(|state| matches!(state, LinkState::Connecting { problem: Some(Problem::Credentials), .. }));
    soon("the refusal is told", told).await.expect("the link lives");
    assert!(broker.address().ip().is_loopback());
    let open = BrokerSettings {
        bind: SocketAddr::from(([0, 0, 0, 0], 0)),
        anonymous: Some(Role::Agent),
        ..settings()
    };
    let error = EmbeddedBroker::start(open, Arc::new(MemoryStore::default()), &Clock::system()).await.err();
    assert!(matches!(error, Some(BrokerError::OpenBeyondLoopback(_))), "{error:?}");
}

#[tokio::test]
async fn nobody_takes_over_the_client_id_of_another_account() {
    let broker = Broker::embedded_with(house()).await;
    let agent = client(broker.address(), "agent").await;
    let thief = LinkSettings { client_id: "agent-client".into(), ..settings_of(broker.address(), "plug") };
    let (thief, _arrivals) = Link::start(thief, Clock::system(), []).expect("good settings");
    let mut state = thief.state();
    let told = state.wait_for(
        |state| matches!(state, LinkState::Connecting { problem: Some(Problem::Refused(reason)), .. } if reason.contains("identifier")),
    );
    soon("the refusal is told", told).await.expect("the link lives");
    allowed(&agent, "x").await;
    assert_eq!(agent.connection(), 1, "the owner was never disconnected");
}

#[tokio::test]
async fn ten_wrong_passwords_lock_a_name_for_its_address() {
    let broker = Broker::embedded_with(house()).await;
    for _ in 0..10 {
        assert_eq!(connack(broker.address(), "x", Some(("anna", "wrong"))).await, Some(4));
    }
    assert_eq!(connack(broker.address(), "x", Some(("anna", "anna-password"))).await, Some(4), "locked");
    assert_eq!(connack(broker.address(), "y", Some(("boris", "boris-password"))).await, Some(0));
}

#[tokio::test]
async fn s50_wildcards_in_names_are_refused() {
    let broker = Broker::embedded_with(house()).await;
    for id in ["#", "+", "a+b", "a/#"] {
        let answer = connack(broker.address(), id, Some(("anna", "anna-password"))).await;
        assert!(answer != Some(0), "{id} {answer:?}");
    }
    // Nor where everybody is let in.
    let open = Broker::embedded_with(BrokerSettings { anonymous: Some(Role::Person), ..settings() }).await;
    for id in ["#", "+", "a+b"] {
        assert!(connack(open.address(), id, None).await != Some(0), "{id}");
    }
    for user in ["#", "+"] {
        assert_eq!(connack(open.address(), "x", Some((user, "x"))).await, Some(4), "{user}");
    }
    assert_eq!(connack(open.address(), "x", None).await, Some(0), "it lets in who has a name of its own");
    for user in ["#", "+", ""] {
        assert_eq!(connack(broker.address(), "x", Some((user, ""))).await, Some(4), "{user}");
    }
    for name in ["#", "+", "a b"] {
        let bad = BrokerSettings {
            accounts: vec![Account { name: name.into(), ..account("x", Role::Person) }],
            ..settings()
        };
        assert!(
            EmbeddedBroker::start(bad, Arc::new(MemoryStore::default()), &Clock::system()).await.is_err(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_will_needs_the_right_to_its_topic() {
    let broker = Broker::embedded_with(house()).await;
    let recorder = Recorder::start(broker.address(), Some(login("agent"))).await;
    for (topic, comes) in [("homeloop/home/command", false), ("plug/status", true)] {
        let mut socket = TcpStream::connect(broker.address()).await.expect("it listens");
        let packet = connect_packet(topic, Some(("plug", "plug-password")), Some((topic, "dead")));
        socket.write_all(&packet).await.expect("it is written");
        let mut answer = [0; 4];
        soon("CONNACK", socket.read_exact(&mut answer)).await.expect("an answer");
        assert_eq!(answer, [0x20, 2, 0, 0]);
        drop(socket);
        if comes {
            recorder.wait_on(topic, "dead").await;
        }
    }
    assert!(recorder.on("homeloop/home/command").is_empty());
}

#[tokio::test]
async fn b48_bad_topics_never_leave() {
    let Some(broker) = Broker::embedded().await else { return };
    let (link, _unused) = connect(link_settings(broker.address(), "agent", Version::V5), &[]).await;
    let long = "x".repeat(65_535);
    for topic in ["", "a\0b", "a\nb", "+/set", "#", "$SYS/x", long.as_str()] {
        let answer = link.publish(Publish::new(topic, "x")).await;
        assert!(matches!(answer, Err(SendError::Topic(_))), "{answer:?}");
    }
    let large = link.publish(Publish::new("a", vec![0; 5 << 20])).await;
    assert!(matches!(large, Err(SendError::TooLarge { .. })), "{large:?}");
    allowed(&link, "a").await;
    assert_eq!(link.connection(), 1);
}

/// Connects with MQTT 3.1.1 by hand and gives the return code, or `None` when the broker just closes.
async fn connack(address: SocketAddr, client_id: &str, login: Option<(&str, &str)>) -> Option<u8> {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    socket.write_all(&connect_packet(client_id, login, None)).await.expect("it is written");
    let mut answer = [0; 4];
    soon("an answer", socket.read_exact(&mut answer)).await.ok()?;
    answer.last().copied()
}

/// A CONNECT packet of MQTT 3.1.1 with a clean session.
pub fn connect_packet(client_id: &str, login: Option<(&str, &str)>, will: Option<(&str, &str)>) -> Vec<u8> {
    let mut flags = 2;
    let mut body = Vec::new();
    let mut text = |text: &str| {
        body.extend(u16::try_from(text.len()).expect("short").to_be_bytes());
        body.extend(text.as_bytes());
    };
    text(&client_id.replace('/', "_"));
    if let Some((topic, payload)) = will {
        flags |= 4;
        text(topic);
        text(payload);
    }
    if let Some((user, password)) = login {
        flags |= 0xC0;
        text(user);
        text(password);
    }
    let mut packet = vec![0x10, u8::try_from(10 + body.len()).expect("short")];
    packet.extend(b"\x00\x04MQTT\x04");
    packet.extend([flags, 0, 60]);
    packet.extend(body);
    packet
}
