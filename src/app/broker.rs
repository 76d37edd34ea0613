//! The broker: homeloop's own where it has one, and the link to it or to another.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;

use super::build::{BuildError, failed};
use super::retained::InJournal;
use crate::clock::Clock;
use crate::journal::Journal;
use crate::mqtt::broker::accounts::{Account, Role};
use crate::mqtt::broker::{BrokerSettings, EmbeddedBroker};
use crate::mqtt::link::{Credentials, LinkSettings, Status, TlsSettings, Version};
use crate::mqtt::topics::Topics;
use crate::secret_file;
use crate::settings::{Settings, given};

/// homeloop's own account on the embedded broker, with a password that lives as long as the process.
pub(super) fn own_account(clock: &Clock) -> Account {
    let password = format!("{:016x}{:016x}", clock.random(), clock.random());
    Account { name: "homeloop".into(), password: SecretString::from(password), role: Role::Agent }
}

/// The accounts of the embedded broker besides homeloop's own.
pub(super) fn accounts(settings: &Settings) -> Result<Vec<Account>, BuildError> {
    match given(&settings.mqtt.embedded.accounts_file) {
        Some(file) => crate::settings::accounts::load(file).map_err(failed("mqtt.embedded.accounts_file")),
        None => Ok(Vec::new()),
    }
}

pub(super) async fn embedded(
    settings: &Settings,
    topics: &Topics,
    accounts: Vec<Account>,
    journal: &Journal,
    clock: &Clock,
    open: bool,
    any_port: bool,
) -> Result<EmbeddedBroker, BuildError> {
    let before = journal.retained().await.map_err(failed("the retained messages"))?;
    let store = Arc::new(InJournal::new(journal.clone(), before));
    let mut broker = BrokerSettings::new(topics.clone());
    broker.bind = settings.mqtt.embedded.bind;
    broker.discovery_prefix = settings.discovery.prefix.clone();
    broker.accounts = accounts;
    broker.anonymous = open.then_some(Role::Agent);
    let last = broker.bind.port().saturating_add(20);
    loop {
        match EmbeddedBroker::start(broker.clone(), store.clone(), clock).await {
            Ok(broker) => return Ok(broker),
            Err(_) if any_port && broker.bind.port() != 0 && broker.bind.port() < last => {
                broker.bind.set_port(broker.bind.port() + 1);
            }
            Err(error) => return Err(failed("the embedded broker")(error)),
        }
    }
}

/// The settings of the link to an external broker, without what homeloop says of itself there.
pub fn broker_link(settings: &Settings) -> Result<LinkSettings, BuildError> {
    let mqtt = &settings.mqtt;
    let mut link = LinkSettings::new(mqtt.host.clone(), mqtt.port, mqtt.client_id.clone());
    if !mqtt.username.is_empty() {
        let password = match given(&mqtt.password_file) {
            Some(file) => secret_file::read(file).map_err(failed("mqtt.password_file"))?,
            None => SecretString::from(String::new()),
        };
        link.credentials = Some(Credentials { user: mqtt.username.clone(), password });
    }
    link.tls = mqtt
        .tls
        .then(|| TlsSettings { ca_file: given(&mqtt.ca_file).map(Path::to_owned), ..TlsSettings::default() });
    link.version = if mqtt.version == 3 { Version::V311 } else { Version::V5 };
    link.keep_alive = std::time::Duration::from_secs(u64::from(mqtt.keep_alive_seconds));
    link.max_incoming = mqtt.max_packet;
    Ok(link)
}

pub(super) fn link_settings(
    settings: &Settings,
    topics: &Topics,
    broker: Option<SocketAddr>,
    own: Account,
) -> Result<LinkSettings, BuildError> {
    let mut link = broker_link(settings)?;
    if let Some(address) = broker {
        (link.host, link.port) = (address.ip().to_string(), address.port());
        link.credentials = Some(Credentials { user: own.name, password: own.password });
        link.tls = None;
        link.embedded = true;
    }
    link.status = Some(Status { topic: topics.status() });
    Ok(link)
}
