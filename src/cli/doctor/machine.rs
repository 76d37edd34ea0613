//! What the machine gives: the time, and whom it trusts.

use chrono::{DateTime, TimeDelta, Utc};

use super::Finding;
use crate::clock::Clock;
use crate::journal::Journal;
use crate::settings::{Broker, Settings, given};

/// No homeloop is older than this: a clock that shows an earlier time has never been set.
const EARLIEST: i64 = 1_764_547_200; // 2025-12-01

/// Where systemd says that the clock was set from the network.
const SYNCHRONIZED: [&str; 2] = ["/run/systemd/timesync", "synchronized"];

/// How far behind the journal the clock may be: events are stamped by this very clock.
const BEHIND: TimeDelta = TimeDelta::seconds(60);

/// The clock, compared with what is known without a network.
pub async fn clock(settings: &Settings) -> Vec<Finding> {
    let now = Clock::system().now();
    let fix = "set the clock and keep it set: `timedatectl set-ntp true`, or a battery for the clock of the machine";
    if now.timestamp() < EARLIEST {
        let says = format!("the clock shows {}, before this program was made", now.format("%Y-%m-%d %H:%M"));
        return vec![Finding::fault("clock", says, fix)];
    }
    if let Some(last) = last_event(settings).await
        && last - now > BEHIND
    {
        let says = format!(
            "the clock shows {} and the journal already has an event of {}: the clock is behind, or was ahead then",
            now.format("%Y-%m-%d %H:%M"),
            last.format("%Y-%m-%d %H:%M")
        );
        return vec![Finding::fault("clock", says, fix)];
    }
    let [folder, file] = SYNCHRONIZED.map(std::path::Path::new);
    if folder.exists() && !folder.join(file).exists() {
        return vec![Finding::note(
            "clock",
            "systemd has not set the clock from the network since the start",
        )];
    }
    let zone = settings.zone().map(|zone| now.with_timezone(&zone).format("%Y-%m-%d %H:%M %Z").to_string());
    vec![Finding::good("clock", zone.unwrap_or_else(|error| error.to_string()))]
}

async fn last_event(settings: &Settings) -> Option<DateTime<Utc>> {
    let journal = Journal::open_read_only(&settings.state_dir(), Clock::system()).ok()?;
    let last = *journal.head().borrow();
    let events = journal.since(last.saturating_sub(1), 1).await.ok()?;
    events.last().map(|event| event.at)
}

/// Whether the keys of the models that are asked can be read.
pub async fn keys(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in &settings.models.chain {
        let Some(key) = settings.models.named.get(name).and_then(|model| model.key.as_ref()) else {
            continue;
        };
        findings.push(match key.read().await {
            Ok(_) => Finding::good("model key", format!("the key of {name} can be read")),
            Err(error) => {
                let fix = "put the key where the settings say, readable by homeloop alone (chmod 600)";
                Finding::fault("model key", format!("{name}: {error}"), fix)
            }
        });
    }
    findings
}

/// Certificate authorities, where something needs them.
pub fn authorities(settings: &Settings) -> Vec<Finding> {
    let models = settings.models.chain.iter().filter_map(|name| settings.models.named.get(name));
    let mut needed: Vec<String> = models
        .filter(|model| model.base_url.starts_with("https://") && model.ca_file.is_none())
        .map(|model| model.base_url.clone())
        .collect();
    if settings.mqtt.broker == Broker::External
        && settings.mqtt.tls
        && given(&settings.mqtt.ca_file).is_none()
    {
        needed.push(format!("the broker at {}", settings.mqtt.host));
    }
    match (reqwest::Client::builder().build(), needed.as_slice()) {
        (Ok(_), []) => Vec::new(),
        (Ok(_), needed) => {
            vec![Finding::good(
                "trust",
                format!("there are certificate authorities for {}", needed.join(", ")),
            )]
        }
        (Err(_), []) => {
            vec![Finding::note("trust", "no certificate authorities are installed; nothing needs them now")]
        }
        (Err(error), needed) => vec![Finding::fault(
            "trust",
            format!(
                "no certificate authorities are installed, so {} cannot be trusted: {}",
                needed.join(", "),
                crate::cli::print::causes(&error)
            ),
            "install the package ca-certificates, or name a ca_file in the settings",
        )],
    }
}
