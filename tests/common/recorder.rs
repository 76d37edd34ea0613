//! A client that records everything that is published on a broker, to say what was and what was not.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use homeloop::clock::Clock;
use homeloop::mqtt::link::{Credentials, Inbound, Link, LinkHandle, LinkSettings, Publish};
use tokio::sync::Notify;

use super::soon;

/// Subscribed to `#`; it also publishes, so that a test can mark the end of what it waits for.
pub struct Recorder {
    pub link: LinkHandle,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    messages: Mutex<Vec<Inbound>>,
    more: Notify,
}

impl Recorder {
    /// Connects, and returns when the broker has acknowledged the subscription.
    pub async fn start(address: SocketAddr, login: Option<Credentials>) -> Self {
        let mut settings = LinkSettings::new(address.ip().to_string(), address.port(), "recorder");
        settings.credentials = login;
        settings.embedded = true;
        let (link, mut arrivals) =
            Link::start(settings, Clock::system(), ["#".to_owned()]).expect("settings of the recorder");
        let seen = Arc::new(Seen::default());
        let writer = seen.clone();
        tokio::spawn(async move {
            while let Some(message) = arrivals.recv().await {
                writer.messages.lock().expect("no panic in between").push(message);
                writer.more.notify_waiters();
            }
        });
        soon("the recorder connects", link.up()).await.expect("it is not stopped");
        Self { link, seen }
    }

    /// Everything so far, in order of arrival.
    pub fn all(&self) -> Vec<Inbound> {
        self.seen.messages.lock().expect("no panic in between").clone()
    }

    /// The payloads that came on a topic, as text.
    pub fn on(&self, topic: &str) -> Vec<String> {
        self.all()
            .iter()
            .filter(|message| message.topic == topic)
            .map(|message| String::from_utf8_lossy(&message.payload).into_owned())
            .collect()
    }

    /// Waits for a message for which `wanted` holds.
    pub async fn wait(&self, what: &str, wanted: impl Fn(&Inbound) -> bool) -> Inbound {
        soon(what, async {
            loop {
                let more = self.seen.more.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                if let Some(message) = self.all().into_iter().find(&wanted) {
                    return message;
                }
                more.await;
            }
        })
        .await
    }

    /// Waits for a payload on a topic.
    pub async fn wait_on(&self, topic: &str, payload: &str) -> Inbound {
        let what = format!("{topic} {payload}");
        self.wait(&what, |message| message.topic == topic && message.payload == payload.as_bytes()).await
    }

    /// Everything that was published before `mark` was, by a publisher whose messages the broker keeps in order:
    /// publishes a mark through `publisher` and waits for it. What is not here by then was not published.
    pub async fn until_marked(&self, publisher: &LinkHandle, mark: &str) -> Vec<Inbound> {
        let topic = "test/mark";
        publisher.publish(Publish::new(topic, mark.to_owned())).await.expect("the mark is published");
        self.wait_on(topic, mark).await;
        self.all().into_iter().filter(|message| message.topic != topic).collect()
    }
}
