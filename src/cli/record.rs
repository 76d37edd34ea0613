//! `record`: the messages of a broker as a file that `entities --from` plays, with personal details replaced.

mod anonymous;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine as _;
use clap::Args;
use secrecy::SecretString;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use self::anonymous::Replacements;
use super::Common;
use crate::app::replay::Recorded;
use crate::clock::Clock;
use crate::mqtt::link::{Arrivals, Credentials, Inbound, Link, LinkSettings, TlsSettings};
use crate::settings::{Broker, Settings, given};

/// Most bytes of topics and payloads that are recorded.
const MOST_BYTES: usize = 64 << 20;

#[derive(Debug, Args)]
pub struct Record {
    /// The file to write; it must not exist yet. Without it: standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Stop after so many seconds; without it at Ctrl-C.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Only messages of this filter; may be given several times. Without it everything but homeloop's own tree.
    #[arg(long, value_name = "FILTER")]
    topic: Vec<String>,
    /// Leave everything as it is, names and addresses too. Do not share such a file.
    #[arg(long)]
    raw: bool,
    /// The broker, where it is not the one of the settings: HOST:PORT.
    #[arg(long, value_name = "HOST:PORT")]
    broker: Option<String>,
}

impl Record {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        crate::tls_provider();
        let settings = common.settings()?;
        let mut out: Box<dyn std::io::Write> = match &self.out {
            Some(file) => Box::new(
                std::fs::File::create_new(file).with_context(|| format!("making {}", file.display()))?,
            ),
            None => Box::new(std::io::stdout().lock()),
        };
        let filters = if self.topic.is_empty() { vec!["#".to_owned()] } else { self.topic.clone() };
        let (link, arrivals) =
            Link::start(link_settings(&settings, self.broker.as_deref())?, Clock::system(), filters)?;
        if tokio::time::timeout(Duration::from_secs(10), link.up()).await.is_err() {
            bail!(
                "the broker does not answer, or does not let us in; see [mqtt] of the settings, or --broker"
            );
        }
        eprintln!("recording; Ctrl-C ends it");
        let base = format!("{}/", settings.base_topic());
        let recorded = self.collect(arrivals, &base).await?;
        link.stop().await;
        let replacements = if self.raw {
            Replacements::default()
        } else {
            Replacements::of(&recorded, &settings.discovery.prefix)
        };
        for message in &recorded {
            writeln!(out, "{}", line(message, &replacements, self.raw))?;
        }
        out.flush()?;
        eprintln!("{} messages, {} names and addresses replaced", recorded.len(), replacements.len());
        Ok(ExitCode::SUCCESS)
    }

    /// Everything until the time is over, Ctrl-C comes, or there is too much.
    async fn collect(&self, mut arrivals: Arrivals, base: &str) -> anyhow::Result<Vec<Recorded>> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let end = tokio::time::sleep(Duration::from_secs(self.seconds.unwrap_or(365 * 24 * 3600)));
        tokio::pin!(end);
        let (mut recorded, mut bytes) = (Vec::new(), 0);
        loop {
            let message: Inbound = tokio::select! {
                message = arrivals.recv() => match message {
                    Some(message) => message,
                    None => break,
                },
                () = &mut end => break,
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
            };
            if message.topic.starts_with(base) {
                continue;
            }
            bytes += message.topic.len() + message.payload.len();
            if bytes > MOST_BYTES {
                eprintln!("{} MiB are recorded, no more is kept", MOST_BYTES >> 20);
                break;
            }
            recorded.push(Recorded {
                topic: message.topic,
                payload: message.payload.to_vec(),
                retain: message.retain,
            });
        }
        Ok(recorded)
    }
}

/// One line of the file.
fn line(message: &Recorded, replacements: &Replacements, raw: bool) -> String {
    let topic = replacements.text(&message.topic);
    let mut line = json!({"topic": topic, "retain": message.retain});
    match std::str::from_utf8(&message.payload) {
        Ok(text) => line["payload"] = replacements.text(text).into(),
        // Pictures and maps of a home are as personal as anything: their length alone is kept.
        Err(_) => {
            let bytes = if raw { message.payload.clone() } else { vec![0xff; message.payload.len().min(64)] };
            line["payload_b64"] = base64::engine::general_purpose::STANDARD.encode(bytes).into();
        }
    }
    line.to_string()
}

fn link_settings(settings: &Settings, broker: Option<&str>) -> anyhow::Result<LinkSettings> {
    let mqtt = &settings.mqtt;
    let client = format!("{}-record", mqtt.client_id);
    if let Some(broker) = broker {
        let (host, port) = broker.rsplit_once(':').context("--broker needs HOST:PORT")?;
        return Ok(LinkSettings::new(host.to_owned(), port.parse().context("the port of --broker")?, client));
    }
    let mut link = match mqtt.broker {
        Broker::Embedded => {
            let bind = mqtt.embedded.bind;
            LinkSettings::new(bind.ip().to_string(), bind.port(), client)
        }
        Broker::External => LinkSettings::new(mqtt.host.clone(), mqtt.port, client),
    };
    if mqtt.broker == Broker::External {
        if !mqtt.username.is_empty() {
            let password = match given(&mqtt.password_file) {
                Some(file) => std::fs::read_to_string(file)
                    .with_context(|| format!("reading the password in {}", file.display()))?,
                None => String::new(),
            };
            let password = SecretString::from(password.trim_end_matches(['\r', '\n']).to_owned());
            link.credentials = Some(Credentials { user: mqtt.username.clone(), password });
        }
        link.tls = mqtt.tls.then(|| TlsSettings {
            ca_file: given(&mqtt.ca_file).map(ToOwned::to_owned),
            ..TlsSettings::default()
        });
    }
    link.max_incoming = mqtt.max_packet;
    Ok(link)
}
