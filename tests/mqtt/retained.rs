//! What the embedded broker keeps over a restart, and how often it writes.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use homeloop::clock::Clock;
use homeloop::mqtt::broker::accounts::Role;
use homeloop::mqtt::broker::{
    BrokerSettings, EmbeddedBroker, MemoryStore, Retained, RetainedStore, StoreError,
};
use homeloop::mqtt::link::{Publish, Version};

use tokio::sync::watch;

use crate::brokers::{Broker, connect, link_settings, next, settings};
use crate::common::soon;

#[tokio::test]
async fn retained_messages_survive_a_restart_of_the_embedded_broker() {
    let Some(mut broker) = Broker::embedded().await else { return };
    let (link, _unused) = connect(link_settings(broker.address(), "writer", Version::V5), &[]).await;
    for number in 0..50 {
        link.publish(Publish::new(format!("p/{number}"), format!("{number}")).retained())
            .await
            .expect("taken");
    }
    link.publish(Publish::new("p/7", Bytes::new()).retained()).await.expect("taken");
    link.publish(Publish::new("p/8", "new").retained()).await.expect("taken");
    link.publish(Publish::new("p/live", "not kept")).await.expect("taken");
    link.stop().await;
    for round in 0..2 {
        broker.down().await;
        broker.back().await;
        let reader = link_settings(broker.address(), &format!("reader-{round}"), Version::V311);
        let (reader, mut arrivals) = connect(reader, &["p/#"]).await;
        let mut found = std::collections::BTreeMap::new();
        while found.len() < 49 {
            let message = next(&mut arrivals).await;
            assert!(message.retain);
            found.insert(message.topic, message.payload);
        }
        reader.subscribe(["end".to_owned()]).expect("a good filter");
        soon("it is acknowledged", reader.subscribed()).await;
        assert_eq!(arrivals.try_recv(), None, "nothing but the 49");
        assert_eq!(found.get("p/8").map(|payload| &payload[..]), Some(&b"new"[..]));
        assert!(!found.contains_key("p/7") && !found.contains_key("p/live"));
    }
}

/// A store that fails until it is told otherwise, and counts its batches.
#[derive(Default)]
struct Fragile {
    inner: MemoryStore,
    failures_left: Mutex<u32>,
    batches: watch::Sender<u32>,
}

impl RetainedStore for Fragile {
    fn load(&self) -> Result<Vec<Retained>, StoreError> {
        self.inner.load()
    }

    fn save(&self, messages: &[Retained]) -> Result<(), StoreError> {
        self.batches.send_modify(|batches| *batches += 1);
        let mut left = self.failures_left.lock().expect("no panic");
        if *left > 0 {
            *left -= 1;
            return Err("disk full".into());
        }
        self.inner.save(messages)
    }

    fn remove(&self, topics: &[String]) -> Result<(), StoreError> {
        self.inner.remove(topics)
    }
}

#[tokio::test]
async fn retained_messages_are_written_in_batches() {
    let store = Arc::new(Fragile::default());
    let settings = BrokerSettings { anonymous: Some(Role::Agent), ..settings() };
    let broker = EmbeddedBroker::start(settings, store.clone(), &Clock::system()).await.expect("it starts");
    let (link, _unused) = connect(link_settings(broker.address(), "writer", Version::V5), &[]).await;
    for number in 0..500 {
        link.publish(Publish::new("meter/power", number.to_string()).retained()).await.expect("taken");
    }
    link.stop().await;
    broker.stop().await;
    let kept = store.load().expect("it reads");
    assert_eq!(kept, [Retained { topic: "meter/power".into(), payload: "499".into(), qos: 1 }]);
    let batches = *store.batches.borrow();
    assert!(batches < 20, "500 changes of one topic took {batches} writes");
}

#[tokio::test]
async fn what_the_store_refused_is_written_later() {
    let store = Arc::new(Fragile::default());
    *store.failures_left.lock().expect("no panic") = 1;
    let settings = BrokerSettings { anonymous: Some(Role::Agent), ..settings() };
    let broker = EmbeddedBroker::start(settings, store.clone(), &Clock::system()).await.expect("it starts");
    let (link, _unused) = connect(link_settings(broker.address(), "writer", Version::V5), &[]).await;
    for topic in ["a", "b"] {
        link.publish(Publish::new(topic, "1").retained()).await.expect("taken");
    }
    let mut batches = store.batches.subscribe();
    soon("the first write fails", batches.wait_for(|batches| *batches == 1)).await.expect("the store lives");
    link.publish(Publish::new("a", "2").retained()).await.expect("taken");
    link.stop().await;
    broker.stop().await;
    let mut kept = store.load().expect("it reads");
    kept.sort_by(|one, other| one.topic.cmp(&other.topic));
    let kept: Vec<_> = kept.iter().map(|message| (message.topic.as_str(), &message.payload[..])).collect();
    assert_eq!(kept, [("a", &b"2"[..]), ("b", &b"1"[..])]);
}
