//! A broker inside the daemon, for the demo, for tests and for houses without one.
//!
//! It runs on the mqtt5 crate, which nothing outside this file and its children names. Sessions and queues live in
//! memory; retained messages are written behind into a [`RetainedStore`] and come back at the next start, without the
//! properties that their publishers gave them. Who may connect and what each may say is decided by [`accounts`].
//! An external broker stays as good a choice: this one does not cluster, bridge or keep sessions over a restart.

pub mod accounts;
mod guard;
mod retained;
mod rights;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mqtt5::broker::config::TlsConfig;
use mqtt5::broker::{BrokerConfig, BrokerShutdownHandle, MqttBroker, StorageBackendType, StorageConfig};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock::Clock;

use super::topics::Topics;
use accounts::{Account, BadAccount, Role};
use guard::Guard;
pub use retained::{MemoryStore, Retained, RetainedStore, StoreError};
use retained::{WriteBehind, restore};

/// Connections that the broker holds at most.
const MAX_CONNECTIONS: usize = 1024;
/// Retained messages that the broker holds at most: five thousand devices with room to spare.
const MAX_RETAINED: usize = 100_000;
/// Publishes of one client in one second; beyond that they are refused with "quota exceeded".
const MAX_RATE: u32 = 10_000;
/// Longest time that a session outlives its connection.
const MAX_SESSION: Duration = Duration::from_secs(24 * 60 * 60);
/// Time for clients to go at a stop, on top of the broker's own 5 s.
const STOP_WITHIN: Duration = Duration::from_secs(8);

/// Settings of the embedded broker.
#[derive(Debug, Clone)]
pub struct BrokerSettings {
    /// Where to listen; port 0 takes a free one.
    pub bind: SocketAddr,
    pub tls: Option<BrokerTls>,
    /// The tree that belongs to homeloop alone.
    pub topics: Topics,
    /// Prefix of Home Assistant's discovery, usually `homeassistant`.
    pub discovery_prefix: String,
    pub accounts: Vec<Account>,
    /// Role of clients without a name; `None` refuses them. Only on loopback.
    pub anonymous: Option<Role>,
    /// Largest packet, in bytes; at least 1 KiB.
    pub max_packet: usize,
}

/// A second listener that speaks TLS.
#[derive(Debug, Clone)]
pub struct BrokerTls {
    pub bind: SocketAddr,
    pub certificate_file: PathBuf,
    pub key_file: PathBuf,
}

impl BrokerSettings {
    /// Loopback, a free port, no accounts, nobody without a name, 4 MiB.
    pub fn new(topics: Topics) -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: None,
            topics,
            discovery_prefix: "homeassistant".to_owned(),
            accounts: Vec::new(),
            anonymous: None,
            max_packet: 4 * 1024 * 1024,
        }
    }

    fn check(&self) -> Result<(), BrokerError> {
        let open = self.anonymous.is_some();
        let beyond = std::iter::once(self.bind).chain(self.tls.as_ref().map(|tls| tls.bind));
        if let Some(address) = beyond.into_iter().find(|address| open && !address.ip().is_loopback()) {
            return Err(BrokerError::OpenBeyondLoopback(address));
        }
        if self.max_packet < 1024 {
            return Err(BrokerError::MaxPacket(self.max_packet));
        }
        Ok(())
    }
}

/// Why the broker did not start.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    #[error("the embedded broker would let anyone in on {0}; clients without a name are for loopback only")]
    OpenBeyondLoopback(SocketAddr),
    #[error("a packet limit of {0} bytes is not possible; at least 1024")]
    MaxPacket(usize),
    #[error(transparent)]
    Account(#[from] BadAccount),
    #[error("the embedded broker cannot listen on {address}: {reason}")]
    Start { address: SocketAddr, reason: String },
    #[error("the retained messages cannot be read: {0}")]
    Store(StoreError),
}

/// A running broker. [`EmbeddedBroker::stop`] ends it cleanly; dropping it ends it too, but the last changes of
/// retained messages may be lost.
pub struct EmbeddedBroker {
    address: SocketAddr,
    tls_address: Option<SocketAddr>,
    shutdown: BrokerShutdownHandle,
    guard: Arc<Guard>,
    running: watch::Receiver<bool>,
    serving: JoinHandle<()>,
    writing: Option<WriteBehind>,
}

impl EmbeddedBroker {
    /// Starts the broker and returns when it accepts connections, with what was retained before.
    pub async fn start(
        settings: BrokerSettings,
        store: Arc<dyn RetainedStore>,
        clock: &Clock,
    ) -> Result<Self, BrokerError> {
        settings.check()?;
        let guard = Arc::new(Guard::new(&settings, clock)?);
        let writing = WriteBehind::new(store.clone());
        let failed = |error: mqtt5::MqttError| BrokerError::Start {
            address: settings.bind,
            reason: error.to_string(),
        };
        // Our guard is put in the place of the broker's own authentication before anything runs.
        let broker = MqttBroker::with_config(config(&settings, &writing)).await.map_err(failed)?;
        let mut broker = broker.with_auth_provider(guard.clone());
        let Some(address) = broker.local_addr() else {
            return Err(BrokerError::Start { address: settings.bind, reason: "no socket".to_owned() });
        };
        let tls_address = broker.tls_local_addr();
        restore(&broker.router(), store).await.map_err(BrokerError::Store)?;
        writing.begin();
        let mut ready = broker.ready_receiver();
        let shutdown = broker.shutdown_handle();
        let (alive, running) = watch::channel(true);
        let serving = tokio::spawn(async move {
            if let Err(error) = broker.run().await {
                tracing::error!(%error, "the embedded broker failed");
            }
            alive.send_replace(false);
        });
        if ready.wait_for(|ready| *ready).await.is_err() {
            let reason = "it ended at once; the log says why".to_owned();
            return Err(BrokerError::Start { address, reason });
        }
        tracing::info!(%address, "the embedded broker listens");
        Ok(Self { address, tls_address, shutdown, guard, running, serving, writing: Some(writing) })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients connect with TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Takes new accounts. Clients of a removed or changed account can neither publish nor subscribe from now on.
    pub fn set_accounts(&self, accounts: &[Account]) -> Result<(), BadAccount> {
        self.guard.set_accounts(accounts)
    }

    /// Whether it still runs, and when that ends.
    pub fn running(&self) -> watch::Receiver<bool> {
        self.running.clone()
    }

    /// Disconnects the clients, ends, and writes what is still to be written.
    pub async fn stop(mut self) {
        self.shutdown.shutdown();
        if tokio::time::timeout(STOP_WITHIN, &mut self.serving).await.is_err() {
            tracing::warn!("the embedded broker did not end in time");
            self.serving.abort();
        }
        if let Some(writing) = self.writing.take() {
            writing.finish().await;
        }
    }
}

impl Drop for EmbeddedBroker {
    fn drop(&mut self) {
        self.shutdown.shutdown();
    }
}

fn config(settings: &BrokerSettings, writing: &WriteBehind) -> BrokerConfig {
    let storage = StorageConfig::new()
        .with_backend(StorageBackendType::Memory)
        .with_max_queued_messages_per_client(10_000)
        .with_max_queued_bytes_per_client(16 << 20);
    let mut config = BrokerConfig::new()
        .with_bind_address(settings.bind)
        .with_max_clients(MAX_CONNECTIONS)
        .with_max_packet_size(settings.max_packet)
        .with_max_retained_messages(MAX_RETAINED)
        .with_max_retained_message_size(settings.max_packet)
        .with_session_expiry(MAX_SESSION)
        .with_sys_topics_enabled(false)
        .with_storage(storage)
        .with_event_handler(writing.handler());
    config.max_message_rate_per_client = MAX_RATE;
    if let Some(tls) = &settings.tls {
        config = config.with_tls(
            TlsConfig::new(tls.certificate_file.clone(), tls.key_file.clone()).with_bind_address(tls.bind),
        );
    }
    config
}
