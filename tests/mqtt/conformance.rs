//! What the link and the daemon need of any broker, shown on both.

use std::collections::HashSet;
use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::mqtt::link::{
    Link, LinkSettings, LinkState, Problem, Publish, Qos, SendError, Status, Version,
};

use crate::brokers::{Broker, connect, link_settings, next};
use crate::common::proxy::Proxy;
use crate::common::recorder::Recorder;
use crate::common::{PATIENCE, soon};
use crate::on_each_broker;

on_each_broker!(
    every_retained_message_of_500_topics_arrives,
    retained_messages_come_again_with_each_subscription,
    quality_of_service_and_acknowledgements,
    the_last_will_is_published_when_the_connection_breaks,
    a_clean_stop_says_offline_and_refuses_from_then_on,
    after_a_reconnect_everything_is_subscribed_again,
    nothing_sent_while_down,
    an_unacknowledged_publish_is_uncertain_and_never_repeated,
    a_packet_over_the_limit_does_no_lasting_harm,
    filters_come_and_go_while_connected,
    own_publishes_are_not_news,
    response_topic_and_correlation_data_arrive,
);

const VERSIONS: [Version; 2] = [Version::V5, Version::V311];

async fn every_retained_message_of_500_topics_arrives(broker: Broker) {
    let (publisher, _unused) = connect(link_settings(broker.address(), "publisher", Version::V5), &[]).await;
    for number in 0..500 {
        let message = Publish::new(format!("p/{number}"), format!("value {number}")).retained();
        publisher.publish(message).await.expect("it is taken");
    }
    for (position, version) in VERSIONS.into_iter().enumerate() {
        let name = format!("reader-{position}");
        let (_link, mut arrivals) = connect(link_settings(broker.address(), &name, version), &["p/#"]).await;
        let mut topics = HashSet::new();
        while topics.len() < 500 {
            let message = next(&mut arrivals).await;
            assert!(message.retain, "{message:?}");
            assert_eq!(message.payload, message.topic.replace("p/", "value ").as_bytes());
            topics.insert(message.topic);
        }
    }
}

async fn retained_messages_come_again_with_each_subscription(broker: Broker) {
    let (link, mut arrivals) = connect(link_settings(broker.address(), "reader", Version::V5), &[]).await;
    let (publisher, _unused) =
        connect(link_settings(broker.address(), "publisher", Version::V311), &[]).await;
    publisher.publish(Publish::new("lamp/state", "on").retained()).await.expect("it is taken");
    for _ in 0..2 {
        link.subscribe(["lamp/state".to_owned()]).expect("a good filter");
        let message = next(&mut arrivals).await;
        assert_eq!(
            (message.topic.as_str(), &*message.payload, message.retain),
            ("lamp/state", &b"on"[..], true)
        );
    }
    publisher.publish(Publish::new("lamp/state", "off").retained()).await.expect("it is taken");
    let live = next(&mut arrivals).await;
    assert_eq!(
        (&*live.payload, live.retain),
        (&b"off"[..], false),
        "a live message is not marked as retained"
    );
}

async fn quality_of_service_and_acknowledgements(broker: Broker) {
    for (position, version) in VERSIONS.into_iter().enumerate() {
        let reader = link_settings(broker.address(), &format!("reader-{position}"), version);
        let (_reader, mut arrivals) = connect(reader, &["q/#"]).await;
        let sender = link_settings(broker.address(), &format!("sender-{position}"), version);
        let (sender, _unused) = connect(sender, &[]).await;
        for qos in [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce] {
            let message = Publish { qos, ..Publish::new("q/a", format!("{qos:?}")) };
            sender.publish(message).await.expect("it is taken");
            assert_eq!(next(&mut arrivals).await.payload, format!("{qos:?}").as_bytes());
        }
    }
}

async fn the_last_will_is_published_when_the_connection_breaks(broker: Broker) {
    let recorder = Recorder::start(broker.address(), None).await;
    for (position, version) in VERSIONS.into_iter().enumerate() {
        let proxy = Proxy::start(broker.address()).await;
        let topic = format!("home{position}/status");
        let settings = LinkSettings {
            status: Some(Status { topic: topic.clone() }),
            ..link_settings(proxy.address, &format!("agent-{position}"), version)
        };
        let (_link, _arrivals) = connect(settings, &[]).await;
        recorder.wait_on(&topic, "online").await;
        proxy.cut();
        recorder.wait_on(&topic, "offline").await;
        let count = recorder.on(&topic).len();
        proxy.heal();
        recorder
            .wait("it is online again", |message| {
                message.topic == topic
                    && message.payload == b"online".as_slice()
                    && recorder.on(&topic).len() > count
            })
            .await;
        assert_eq!(recorder.on(&topic), ["online", "offline", "online"]);
    }
}

async fn a_clean_stop_says_offline_and_refuses_from_then_on(broker: Broker) {
    let recorder = Recorder::start(broker.address(), None).await;
    let settings = LinkSettings {
        status: Some(Status { topic: "home/status".into() }),
        ..link_settings(broker.address(), "agent", Version::V5)
    };
    let (link, mut arrivals) = connect(settings, &["x"]).await;
    recorder.wait_on("home/status", "online").await;
    soon("the link stops", link.stop()).await;
    recorder.wait_on("home/status", "offline").await;
    assert_eq!(recorder.on("home/status"), ["online", "offline"], "the will does not follow a clean stop");
    assert_eq!(*link.state().borrow(), LinkState::Stopped);
    assert_eq!(link.publish(Publish::new("x", "1")).await, Err(SendError::Down(Problem::Stopped)));
    assert_eq!(soon("the arrivals end", arrivals.recv()).await, None);
}

async fn after_a_reconnect_everything_is_subscribed_again(broker: Broker) {
    let mut broker = broker;
    let (link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &["a/#", "b/+/c"]).await;
    link.subscribe(["later/x".to_owned()]).expect("a good filter");
    soon("the broker acknowledges", link.subscribed()).await;
    let first = link.connection();
    let mut state = link.state();
    broker.down().await;
    soon("the link notices", state.wait_for(|state| matches!(state, LinkState::Connecting { .. })))
        .await
        .expect("the link lives");
    assert!(!link.is_up());
    broker.back().await;
    let second = soon("the link comes back", link.up()).await.expect("it is not stopped");
    assert_eq!(second, first + 1);
    let (publisher, _unused) =
        connect(link_settings(broker.address(), "publisher", Version::V311), &[]).await;
    for topic in ["a/1", "b/2/c", "later/x"] {
        publisher.publish(Publish::new(topic, "1")).await.expect("it is taken");
        let message = next(&mut arrivals).await;
        assert_eq!((message.topic.as_str(), message.arrival.connection), (topic, second));
    }
}

async fn nothing_sent_while_down(broker: Broker) {
    let recorder = Recorder::start(broker.address(), None).await;
    let proxy = Proxy::start(broker.address()).await;
    for (position, version) in VERSIONS.into_iter().enumerate() {
        proxy.heal();
        let (link, _arrivals) =
            connect(link_settings(proxy.address, &format!("agent-{position}"), version), &[]).await;
        let mut state = link.state();
        proxy.cut();
        soon("the link notices", state.wait_for(|state| matches!(state, LinkState::Connecting { .. })))
            .await
            .expect("the link lives");
        for number in 0..100 {
            let refused = link.publish(Publish::new("lock/set", format!("UNLOCK {number}"))).await;
            assert!(matches!(refused, Err(SendError::Down(_))), "{refused:?}");
        }
        proxy.heal();
        soon("the link comes back", link.up()).await.expect("it is not stopped");
        let seen = recorder.until_marked(&link, &format!("mark {position}")).await;
        assert_eq!(seen, [], "nothing of what was refused may come later");
        link.stop().await;
    }
}

async fn an_unacknowledged_publish_is_uncertain_and_never_repeated(broker: Broker) {
    let recorder = Recorder::start(broker.address(), None).await;
    for (position, version) in VERSIONS.into_iter().enumerate() {
        let proxy = Proxy::start(broker.address()).await;
        let (link, _arrivals) =
            connect(link_settings(proxy.address, &format!("agent-{position}"), version), &[]).await;
        proxy.deafen();
        let payload = format!("UNLOCK {position}");
        let receipt = link.begin_publish(Publish::new("lock/set", payload.clone())).expect("the link is up");
        recorder.wait_on("lock/set", &payload).await;
        proxy.cut();
        assert_eq!(soon("the answer", receipt.acknowledged()).await, Err(SendError::Uncertain));
        proxy.heal();
        soon("the link comes back", link.up()).await.expect("it is not stopped");
        recorder.until_marked(&link, &format!("mark {position}")).await;
        let times = recorder.on("lock/set").iter().filter(|seen| **seen == payload).count();
        assert_eq!(times, 1, "sent once, and never again after the reconnect");
    }
}

async fn a_packet_over_the_limit_does_no_lasting_harm(broker: Broker) {
    let (publisher, _unused) = connect(link_settings(broker.address(), "publisher", Version::V5), &[]).await;
    for (position, version) in VERSIONS.into_iter().enumerate() {
        let settings = LinkSettings {
            max_incoming: 64 * 1024,
            ..link_settings(broker.address(), &format!("reader-{position}"), version)
        };
        let (link, mut arrivals) = connect(settings, &["big/#"]).await;
        publisher.publish(Publish::new("big/a", vec![b'x'; 100_000])).await.expect("the broker takes it");
        match version {
            // The broker knows our limit and keeps the packet to itself.
            Version::V5 => {}
            Version::V311 => {
                let mut state = link.state();
                let told = state.wait_for(|state| {
                    matches!(state, LinkState::Connecting { problem: Some(Problem::Oversized { size, .. }), .. }
                        if *size > 100_000)
                });
                soon("the limit is told", told).await.expect("the link lives");
                soon("the link comes back", link.up()).await.expect("it is not stopped");
            }
        }
        publisher.publish(Publish::new("big/a", vec![b'y'; 50_000])).await.expect("the broker takes it");
        let message = next(&mut arrivals).await;
        assert_eq!((message.payload.len(), message.payload.first()), (50_000, Some(&b'y')));
    }
}

async fn filters_come_and_go_while_connected(broker: Broker) {
    let (link, mut arrivals) = connect(link_settings(broker.address(), "agent", Version::V5), &["end"]).await;
    let (publisher, _unused) = connect(link_settings(broker.address(), "publisher", Version::V5), &[]).await;
    // More than fit in one packet.
    let filters: Vec<_> = (0..1000).map(|number| format!("device/{number}/state")).collect();
    link.subscribe(filters.clone()).expect("good filters");
    soon("the broker acknowledges", link.subscribed()).await;
    for topic in ["device/0/state", "device/999/state"] {
        publisher.publish(Publish::new(topic, "1")).await.expect("it is taken");
        assert_eq!(next(&mut arrivals).await.topic, topic);
    }
    link.subscribe(["device/7/state".to_owned()]).expect("a good filter");
    link.unsubscribe(filters.iter().map(String::as_str));
    link.subscribe(["after".to_owned()]).expect("a good filter");
    soon("the broker acknowledges", link.subscribed()).await;
    for topic in ["device/0/state", "device/7/state", "end"] {
        publisher.publish(Publish::new(topic, "2")).await.expect("it is taken");
    }
    let mut seen = vec![next(&mut arrivals).await.topic];
    while seen.last().is_some_and(|topic| topic != "end") {
        seen.push(next(&mut arrivals).await.topic);
    }
    assert_eq!(seen, ["device/7/state", "end"], "a filter wanted twice is dropped only when both let go");
    assert!(link.subscribe(["a/#/b".to_owned()]).is_err());
    assert!(link.refused_filters().is_empty());
}

async fn own_publishes_are_not_news(broker: Broker) {
    let (link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &["lamp/#"]).await;
    let (other, _unused) = connect(link_settings(broker.address(), "other", Version::V5), &[]).await;
    link.publish(Publish::new("lamp/set", "on")).await.expect("it is taken");
    other.publish(Publish::new("lamp/state", "on")).await.expect("it is taken");
    assert_eq!(next(&mut arrivals).await.topic, "lamp/state");
}

async fn response_topic_and_correlation_data_arrive(broker: Broker) {
    use rumqttc::v5::mqttbytes::{QoS, v5::PublishProperties};
    let (_link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &["ask"]).await;
    let mut options =
        rumqttc::v5::MqttOptions::new("asker", broker.address().ip().to_string(), broker.address().port());
    options.set_keep_alive(Duration::from_secs(30));
    let (asker, mut events) = rumqttc::v5::AsyncClient::new(options, 10);
    let polling = tokio::spawn(async move { while events.poll().await.is_ok() {} });
    let properties = PublishProperties {
        response_topic: Some("answers/7".into()),
        correlation_data: Some(vec![0, 159, 255].into()),
        user_properties: vec![("x-mqtt-sender".into(), "admin".into())],
        ..PublishProperties::default()
    };
    asker
        .publish_with_properties("ask", QoS::AtLeastOnce, false, "what", properties)
        .await
        .expect("the request is queued");
    let message = next(&mut arrivals).await;
    assert_eq!(message.response_topic.as_deref(), Some("answers/7"));
    assert_eq!(message.correlation.as_deref(), Some(&[0, 159, 255][..]));
    assert_eq!(message.sender, None, "no broker but the embedded one is believed about the sender");
    polling.abort();
}

#[tokio::test]
async fn a_broker_that_is_down_at_start_is_waited_for() {
    let Some(mut broker) = Broker::embedded().await else { return };
    broker.down().await;
    let settings = link_settings(broker.address(), "agent", Version::V5);
    let (link, _arrivals) = Link::start(settings, Clock::system(), []).expect("good settings");
    let mut state = link.state();
    let told = soon(
        "it is said",
        state.wait_for(|state| matches!(state, LinkState::Connecting { problem: Some(_), .. })),
    )
    .await
    .expect("the link lives")
    .clone();
    let LinkState::Connecting { problem: Some(problem), .. } = told else { panic!("{told:?}") };
    assert!(problem.to_string().starts_with("nothing listens at 127.0.0.1:"), "{problem}");
    broker.back().await;
    tokio::time::timeout(PATIENCE, link.up()).await.expect("it comes up").expect("it is not stopped");
}
