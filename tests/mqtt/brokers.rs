//! The two brokers that the same tests run against.

use std::net::SocketAddr;
use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::mqtt::broker::accounts::{Account, Role};
use homeloop::mqtt::broker::{BrokerSettings, EmbeddedBroker, MemoryStore};
use homeloop::mqtt::link::{Arrivals, Credentials, Inbound, Link, LinkHandle, LinkSettings, Version};
use homeloop::mqtt::topics::Topics;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::soon;

pub enum Broker {
    Embedded {
        running: Option<EmbeddedBroker>,
        address: SocketAddr,
        settings: BrokerSettings,
        store: Arc<MemoryStore>,
    },
    Mosquitto(Mosquitto),
}

pub fn settings() -> BrokerSettings {
    BrokerSettings::new(Topics::new("homeloop/home").expect("a good base"))
}

pub fn account(name: &str, role: Role) -> Account {
    Account { name: name.into(), password: format!("{name}-password").into(), role }
}

/// The credentials of an [`account`].
pub fn login(name: &str) -> Credentials {
    Credentials { user: name.into(), password: format!("{name}-password").into() }
}

impl Broker {
    /// The embedded broker, where everyone may do everything.
    pub async fn embedded() -> Option<Self> {
        Some(Self::embedded_with(BrokerSettings { anonymous: Some(Role::Agent), ..settings() }).await)
    }

    pub async fn embedded_with(settings: BrokerSettings) -> Self {
        let store = Arc::new(MemoryStore::default());
        let running = EmbeddedBroker::start(settings.clone(), store.clone(), &Clock::system())
            .await
            .expect("the embedded broker starts");
        let address = running.address();
        Self::Embedded { running: Some(running), address, settings, store }
    }

    /// mosquitto, where everyone may do everything; `None` where it is not installed.
    pub async fn mosquitto() -> Option<Self> {
        Self::mosquitto_with(Options::default()).await
    }

    pub async fn mosquitto_with(options: Options) -> Option<Self> {
        Mosquitto::start(options).await.map(Self::Mosquitto)
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            Self::Embedded { address, .. } => *address,
            Self::Mosquitto(mosquitto) => mosquitto.address,
        }
    }

    /// Takes the broker away: cleanly the embedded one, with SIGKILL mosquitto.
    pub async fn down(&mut self) {
        match self {
            Self::Embedded { running, .. } => {
                running.take().expect("it runs").stop().await;
            }
            Self::Mosquitto(mosquitto) => mosquitto.kill().await,
        }
    }

    /// Brings it back on the same address.
    pub async fn back(&mut self) {
        match self {
            Self::Embedded { running, address, settings, store } => {
                let settings = BrokerSettings { bind: *address, ..settings.clone() };
                let broker = EmbeddedBroker::start(settings, store.clone(), &Clock::system()).await;
                *running = Some(broker.expect("the embedded broker starts again"));
            }
            Self::Mosquitto(mosquitto) => mosquitto.restart().await,
        }
    }
}

pub fn link_settings(address: SocketAddr, name: &str, version: Version) -> LinkSettings {
    LinkSettings { version, ..LinkSettings::new(address.ip().to_string(), address.port(), name) }
}

/// A link that is up.
pub async fn connect(settings: LinkSettings, filters: &[&str]) -> (LinkHandle, Arrivals) {
    let filters: Vec<_> = filters.iter().map(|filter| (*filter).to_owned()).collect();
    let (link, arrivals) = Link::start(settings, Clock::system(), filters).expect("good settings");
    soon("the link comes up", link.up()).await.expect("it is not stopped");
    (link, arrivals)
}

pub async fn next(arrivals: &mut Arrivals) -> Inbound {
    soon("a message arrives", arrivals.recv()).await.expect("the link is not stopped")
}

/// Makes one test for each broker of a function over a broker.
#[macro_export]
macro_rules! on_each_broker {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test]
            async fn on_the_embedded_broker() {
                let Some(broker) = $crate::brokers::Broker::embedded().await else { return };
                super::$name(broker).await;
            }

            #[tokio::test]
            async fn on_mosquitto() {
                let Some(broker) = $crate::brokers::Broker::mosquitto().await else { return };
                super::$name(broker).await;
            }
        }
    )+};
}
