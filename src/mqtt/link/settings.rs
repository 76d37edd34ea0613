//! What the link must know, and the checks at start.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::super::topics::{BadTopic, check_topic};
use super::queue::QueueLimits;

/// Settings of one link.
#[derive(Debug, Clone)]
pub struct LinkSettings {
    /// Name or address of the broker.
    pub host: String,
    pub port: u16,
    pub version: Version,
    /// The same at every start: a new connection then takes the place of a dead one at once, and the dead one's last
    /// will cannot come after our `online`.
    pub client_id: String,
    pub credentials: Option<Credentials>,
    pub tls: Option<TlsSettings>,
    /// What to say of ourselves; `None` says nothing.
    pub status: Option<Status>,
    /// Silence after which we ask whether the broker is still there; after half as long again without any packet the
    /// connection is given up. 5 s to 18 h.
    pub keep_alive: Duration,
    /// Time for name, socket, TLS and CONNACK together; whole seconds, at least 1.
    pub connect_within: Duration,
    /// Time within which the broker must acknowledge a publish before it counts as uncertain.
    pub acknowledge_within: Duration,
    /// Largest packet that is accepted, in bytes; 1 KiB to 256 MiB.
    pub max_incoming: u32,
    pub queue: QueueLimits,
    /// Whether the broker is the one inside this daemon, whose word on who published can be trusted.
    pub embedded: bool,
}

impl LinkSettings {
    /// Settings with our defaults: MQTT 5, keep-alive 20 s, 16 MiB.
    pub fn new(host: impl Into<String>, port: u16, client_id: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port,
            version: Version::V5,
            client_id: client_id.into(),
            credentials: None,
            tls: None,
            status: None,
            keep_alive: Duration::from_secs(20),
            connect_within: Duration::from_secs(5),
            acknowledge_within: Duration::from_secs(10),
            max_incoming: 16 * 1024 * 1024,
            queue: QueueLimits::default(),
            embedded: false,
        }
    }

    /// Checks what can be checked without a connection.
    pub fn check(&self) -> Result<(), BadLinkSettings> {
        if self.host.is_empty() || self.host.contains(char::is_whitespace) {
            return Err(BadLinkSettings::Host(self.host.clone()));
        }
        if self.client_id.is_empty() || self.client_id.len() > 128 || self.client_id.contains(['/', '+', '#'])
        {
            return Err(BadLinkSettings::ClientId(self.client_id.clone()));
        }
        let keep_alive = self.keep_alive.as_secs();
        if !(5..=u64::from(u16::MAX)).contains(&keep_alive) {
            return Err(BadLinkSettings::KeepAlive(keep_alive));
        }
        if !(1024..=256 * 1024 * 1024).contains(&self.max_incoming) {
            return Err(BadLinkSettings::MaxIncoming(self.max_incoming));
        }
        if let Some(status) = &self.status {
            check_topic(&status.topic)?;
        }
        Ok(())
    }
}

/// Version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V5,
    V311,
}

#[derive(Debug, Clone)]
pub struct Credentials {
    pub user: String,
    pub password: SecretString,
}

/// How the broker proves who it is, and how we may prove who we are. Certificates are always checked.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// PEM file of the authorities to trust; `None` takes those of the system.
    pub ca_file: Option<PathBuf>,
    /// PEM files of our own certificate chain and its key, where the broker asks for them.
    pub client: Option<ClientCertificate>,
}

#[derive(Debug, Clone)]
pub struct ClientCertificate {
    pub certificate_file: PathBuf,
    pub key_file: PathBuf,
}

/// A retained topic that says whether we are there: `online` after each connect, `offline` at the stop and as last will.
#[derive(Debug, Clone)]
pub struct Status {
    pub topic: String,
}

impl Status {
    pub const ONLINE: &'static str = "online";
    pub const OFFLINE: &'static str = "offline";
}

/// A setting that no connection could be made with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLinkSettings {
    #[error("{0:?} is no name or address of a broker")]
    Host(String),
    #[error("the client id {0:?} must have 1 to 128 characters and none of / + #")]
    ClientId(String),
    #[error("a keep-alive of {0} s is not possible; expected 5 to 65535 s")]
    KeepAlive(u64),
    #[error("a packet limit of {0} bytes is not possible; expected 1024 to 268435456")]
    MaxIncoming(u32),
    #[error(transparent)]
    Topic(#[from] BadTopic),
}
