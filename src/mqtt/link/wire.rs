//! rumqttc's two clients, MQTT 5 and 3.1.1, as one. Nothing outside this file names them (but their errors).

mod v311;
mod v5;

use bytes::Bytes;
use secrecy::ExposeSecret;

use super::problem::Problem;
use super::settings::{LinkSettings, Version};
use super::{Publish, tls};

/// Requests that wait for the client; more than the loop can write at once means that the broker is slow.
const WAITING_REQUESTS: usize = 512;
/// Publishes that the broker may leave unacknowledged before we stop to write more.
const IN_FLIGHT: u16 = 512;
/// Bytes that the system holds for us: a broker drops retained messages for who reads slower than it writes.
const RECEIVE_BUFFER: u32 = 8 << 20;
/// Name of the property in which the embedded broker tells the publisher's account. It removes any that the publisher
/// has set itself.
const SENDER_PROPERTY: &str = "x-mqtt-sender";

/// The end of a client that takes requests, without ever waiting.
#[derive(Clone)]
pub(super) enum Requests {
    V5(rumqttc::v5::AsyncClient),
    V311(rumqttc::AsyncClient),
}

/// The end of a client that does the work. Whoever polls it must do nothing else that waits.
pub(super) enum Poller {
    V5(Box<rumqttc::v5::EventLoop>, String),
    V311(Box<rumqttc::EventLoop>, String),
}

/// What happened on the wire.
#[derive(Debug)]
pub(super) enum Signal {
    Connected {
        /// Largest packet that the broker takes.
        max_outgoing: Option<usize>,
    },
    Message(Message),
    /// A message whose topic is not UTF-8.
    BadTopic,
    /// The next publish was written, with this packet id (0 for QoS 0).
    Wrote(u16),
    Acknowledged {
        packet: u16,
        refused: Option<String>,
    },
    Subscribed(Vec<Option<String>>),
    Disconnected,
    /// The broker said something else.
    Heard,
    /// We said something else.
    Said,
}

/// A message as the client gives it.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) topic: String,
    pub(super) payload: Bytes,
    pub(super) retain: bool,
    /// The broker's number of this delivery; 0 for QoS 0.
    pub(super) packet: u16,
    /// The broker says that it delivers it again.
    pub(super) again: bool,
    pub(super) response_topic: Option<String>,
    pub(super) correlation: Option<Bytes>,
    pub(super) sender: Option<String>,
}

/// A fresh client, not yet connected.
pub(super) fn open(settings: &LinkSettings) -> Result<(Requests, Poller), Problem> {
    let transport = match &settings.tls {
        None => rumqttc::Transport::tcp(),
        Some(tls) => {
            rumqttc::Transport::tls_with_config(rumqttc::TlsConfiguration::Rustls(tls::client_config(tls)?))
        }
    };
    let mut network = rumqttc::NetworkOptions::new();
    network.set_tcp_nodelay(true);
    network.set_tcp_recv_buffer_size(RECEIVE_BUFFER);
    network.set_connection_timeout(settings.connect_within.as_secs().max(1));
    let login =
        settings.credentials.as_ref().map(|login| (login.user.as_str(), login.password.expose_secret()));
    let broker = format!("{}:{}", settings.host, settings.port);
    Ok(match settings.version {
        Version::V5 => {
            let (client, events) = v5::open(settings, transport, network, login);
            (Requests::V5(client), Poller::V5(Box::new(events), broker))
        }
        Version::V311 => {
            let (client, events) = v311::open(settings, transport, network, login);
            (Requests::V311(client), Poller::V311(Box::new(events), broker))
        }
    })
}

impl Requests {
    /// `false`: the client takes no more now.
    pub(super) fn try_publish(&self, publish: &Publish) -> bool {
        match self {
            Self::V5(client) => v5::try_publish(client, publish),
            Self::V311(client) => v311::try_publish(client, publish),
        }
    }

    /// Filters under `own`, our own tree, are subscribed to with QoS 1: a command must arrive. Everything else has QoS 0:
    /// of what it has retained a broker gives at most about a thousand messages to a subscription with QoS 1, and
    /// drops the others.
    pub(super) fn try_subscribe(&self, filters: &[String], own: &str) -> bool {
        match self {
            Self::V5(client) => v5::try_subscribe(client, filters, own),
            Self::V311(client) => v311::try_subscribe(client, filters, own),
        }
    }

    pub(super) fn try_unsubscribe(&self, filter: &str) -> bool {
        match self {
            Self::V5(client) => client.try_unsubscribe(filter).is_ok(),
            Self::V311(client) => client.try_unsubscribe(filter).is_ok(),
        }
    }

    pub(super) fn try_disconnect(&self) -> bool {
        match self {
            Self::V5(client) => client.try_disconnect().is_ok(),
            Self::V311(client) => client.try_disconnect().is_ok(),
        }
    }
}

impl Poller {
    /// The next thing that happened. Not to be cancelled unless the connection is given up.
    pub(super) async fn poll(&mut self) -> Result<Signal, Problem> {
        match self {
            Self::V5(events, broker) => match events.poll().await {
                Ok(event) => Ok(v5::read(event)),
                Err(error) => Err(Problem::of_v5(error, broker)),
            },
            Self::V311(events, broker) => match events.poll().await {
                Ok(event) => Ok(v311::read(event)),
                Err(error) => Err(Problem::of_v4(error, broker, events.mqtt_options.max_packet_size())),
            },
        }
    }

    /// The keep-alive of the connection; a broker may have set its own.
    pub(super) fn keep_alive(&self) -> std::time::Duration {
        match self {
            Self::V5(events, _) => events.options.keep_alive(),
            Self::V311(events, _) => events.mqtt_options.keep_alive(),
        }
    }

    /// Gives the connection up and counts the publishes that the client never took. Call it only when nobody can hand
    /// over any more.
    pub(super) fn close(&mut self) -> usize {
        match self {
            Self::V5(events, _) => {
                events.clean();
                v5::never_taken(&events.pending)
            }
            Self::V311(events, _) => {
                events.clean();
                v311::never_taken(&events.pending)
            }
        }
    }
}
