//! Commands in, results and approvals out, over real brokers.

use std::time::Duration;

use homeloop::mqtt::inbox::{Inbox, InboxCounters, Rejection, ReplyTo, Request, Tell};
use homeloop::mqtt::link::{LinkState, Publish, SendError, Version};
use homeloop::mqtt::outbox::{Outbox, OutboxCounters, WaitingApproval};
use homeloop::mqtt::topics::Topics;

use crate::brokers::{Broker, connect, link_settings, next};
use crate::common::proxy::Proxy;
use crate::common::recorder::Recorder;
use crate::common::soon;
use crate::on_each_broker;

on_each_broker!(
    stale_starts_nothing,
    a_result_goes_to_every_topic_and_is_never_sent_late,
    approvals_stand_on_the_broker_until_they_are_resolved,
    a_rejection_reaches_the_reply_topic,
);

fn topics() -> Topics {
    Topics::new("homeloop/home").expect("a good base")
}

fn approval(id: &str) -> WaitingApproval {
    let body = format!("{{\"id\":\"{id}\"}}");
    WaitingApproval { id: id.into(), body: body.into(), expires_in: Duration::from_secs(120) }
}

/// T4 and S8: what was retained or sent while we were away is not done when we come.
async fn stale_starts_nothing(broker: Broker) {
    let (sender, _unused) = connect(link_settings(broker.address(), "sender", Version::V5), &[]).await;
    for topic in ["homeloop/home/command", "homeloop/home/stop", "homeloop/home/approval/01K/decision"] {
        sender.publish(Publish::new(topic, "all").retained()).await.expect("taken");
        sender.publish(Publish::new(topic, "all")).await.expect("taken by nobody");
    }
    let own = topics().subscriptions();
    let filters: Vec<_> = own.iter().map(String::as_str).collect();
    let (_link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &filters).await;
    let inbox = Inbox::new(topics(), "homeassistant");
    for _ in 0..3 {
        let message = next(&mut arrivals).await;
        let refused = inbox.read(&message).expect("ours").expect_err("it is refused");
        assert_eq!((refused.reason, refused.tell), (Rejection::Retained, None), "{message:?}");
    }
    sender.publish(Publish::new("homeloop/home/command", "lights on")).await.expect("taken");
    let message = next(&mut arrivals).await;
    assert!(matches!(inbox.read(&message), Some(Ok(Request::Command(_)))), "{message:?}");
    assert_eq!(inbox.counters(), InboxCounters { accepted: 1, retained: 3, ..InboxCounters::default() });
}

async fn a_result_goes_to_every_topic_and_is_never_sent_late(broker: Broker) {
    let recorder = Recorder::start(broker.address(), None).await;
    let proxy = Proxy::start(broker.address()).await;
    let (link, _arrivals) = connect(link_settings(proxy.address, "agent", Version::V5), &[]).await;
    let outbox = Outbox::start(link.clone(), topics(), Vec::new());
    outbox.event("01A", "accepted");
    let reply = ReplyTo { topic: "phone/answers".into(), correlation: Some("7".into()) };
    outbox.result("01A", "done", Some(&reply)).await.expect("delivered");
    let seen = recorder.until_marked(&link, "first").await;
    let seen: Vec<_> = seen.iter().map(|message| message.topic.as_str()).collect();
    assert_eq!(
        seen,
        [
            "homeloop/home/task/01A/event",
            "homeloop/home/task/01A/result",
            "homeloop/home/result",
            "phone/answers"
        ]
    );
    let answer = recorder.wait_on("phone/answers", "done").await;
    assert_eq!(answer.correlation.as_deref(), Some(&b"7"[..]));

    let mut state = link.state();
    proxy.cut();
    soon("the link notices", state.wait_for(|state| matches!(state, LinkState::Connecting { .. })))
        .await
        .expect("the link lives");
    outbox.event("01B", "accepted");
    let lost = outbox.result("01B", "done", None).await;
    assert!(matches!(lost, Err(SendError::Down(_))), "{lost:?}");
    proxy.heal();
    soon("the link comes back", link.up()).await.expect("it is not stopped");
    recorder.until_marked(&link, "second").await;
    assert!(recorder.all().iter().all(|message| !message.topic.contains("01B")));
    let expected = OutboxCounters { events: 2, events_lost: 1, results: 2, results_lost: 1, rejections: 0 };
    assert_eq!(outbox.counters(), expected);
}

/// F3 too: the broker comes back without anything that it had retained (mosquitto), or with it (the embedded one).
async fn approvals_stand_on_the_broker_until_they_are_resolved(broker: Broker) {
    let mut broker = broker;
    let (before, _unused) = connect(link_settings(broker.address(), "earlier", Version::V5), &[]).await;
    before
        .publish(Publish::new("homeloop/home/approval/old", "left behind").retained())
        .await
        .expect("taken");
    let every = topics().every_approval();
    let (link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &[&every]).await;
    let outbox = Outbox::start(link.clone(), topics(), vec![approval("kept")]);
    outbox.show_approval(approval("a"));
    outbox.show_approval(approval("b"));
    let leftover = next(&mut arrivals).await;
    let recorder = Recorder::start(broker.address(), None).await;
    outbox.tidy(&leftover);
    recorder.wait_on("homeloop/home/approval/old", "").await;
    recorder.link.stop().await;
    let mut state = link.state();
    broker.down().await;
    soon("the link notices", state.wait_for(|state| matches!(state, LinkState::Connecting { .. })))
        .await
        .expect("the link lives");
    outbox.clear_approval("a");
    broker.back().await;
    soon("the link comes back", link.up()).await.expect("it is not stopped");
    let watcher = Recorder::start(broker.address(), None).await;
    watcher.wait_on("homeloop/home/approval/kept", "{\"id\":\"kept\"}").await;
    watcher.wait_on("homeloop/home/approval/b", "{\"id\":\"b\"}").await;
    outbox.clear_approval("b");
    watcher.wait_on("homeloop/home/approval/b", "").await;
    // Who comes now sees what still waits, and nothing else.
    let late = link_settings(broker.address(), "late", Version::V311);
    let (late, mut seen) = connect(late, &["homeloop/home/approval/+"]).await;
    assert_eq!(next(&mut seen).await.topic, "homeloop/home/approval/kept");
    late.subscribe(["nothing".to_owned()]).expect("a good filter");
    soon("it is acknowledged", late.subscribed()).await;
    assert_eq!(seen.try_recv(), None);
}

async fn a_rejection_reaches_the_reply_topic(broker: Broker) {
    let recorder = Recorder::start(broker.address(), None).await;
    let (link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &["homeloop/home/command"]).await;
    let (sender, _unused) = connect(link_settings(broker.address(), "sender", Version::V5), &[]).await;
    let outbox = Outbox::start(link, topics(), Vec::new());
    let inbox = Inbox::new(topics(), "homeassistant");
    for (payload, says) in [
        (Vec::new(), "the command is empty"),
        (vec![b'x'; 20 * 1024], "the message has 20480 bytes; at most 16384 are accepted"),
        (vec![0xFF, 0xFE], "the message is not UTF-8 text"),
        (b"{\"text\":".to_vec(), "EOF"),
    ] {
        sender.publish(Publish::new("homeloop/home/command", payload)).await.expect("taken");
        let refused = inbox.read(&next(&mut arrivals).await).expect("ours").expect_err("it is refused");
        assert_eq!(refused.tell, Some(Tell::Result));
        outbox.reject(&refused);
        recorder
            .wait(says, |message| {
                let text = String::from_utf8_lossy(&message.payload);
                message.topic == "homeloop/home/result"
                    && text.contains("\"rejected\"")
                    && text.contains(says)
            })
            .await;
    }
    assert_eq!(outbox.counters().rejections, 4);
}
