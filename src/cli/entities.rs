//! `entities`: what the house is, and why an entity is what it is, from the running daemon or from recorded messages.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::Value;

use super::client::Client;
use super::run::load;
use super::{Common, print};
use crate::app::replay::{Recorded, Replay};
use crate::clock::Clock;

/// Stack of the thread that plays recorded messages, in bytes: as much as the daemon's decoding thread has.
const STACK: usize = 32 * 1024 * 1024;

#[derive(Debug, Args)]
pub struct Entities {
    /// Only this area, by id.
    #[arg(long)]
    area: Option<String>,
    /// Only this domain (light, cover…).
    #[arg(long)]
    domain: Option<String>,
    /// Play recorded messages instead of asking a daemon: one JSON object a line with topic, payload and retain, as
    /// `homeloop record` writes them. Nothing is sent anywhere.
    #[arg(long, value_name = "FILE", global = true)]
    from: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<EntitiesCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum EntitiesCommand {
    /// Say everything about one entity: its announcement, topics, templates, last message, availability and tiers.
    Why { id: String },
}

impl Entities {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let found = match &self.from {
            Some(file) => self.replayed(&common, file)?,
            None => self.asked(&common).await?,
        };
        match (&self.command, common.json) {
            (Some(_), true) => println!("{}", serde_json::to_string_pretty(&found)?),
            (Some(_), false) => print::why(&found),
            (None, true) => println!("{found}"),
            (None, false) => print::entities(&found),
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn asked(&self, common: &Common) -> anyhow::Result<Value> {
        let client = Client::new(common)?;
        if let Some(EntitiesCommand::Why { id }) = &self.command {
            return client.get(&format!("/api/entities/{id}/why")).await;
        }
        let mut query = Vec::new();
        query.extend(self.area.as_ref().map(|area| format!("area={area}")));
        query.extend(self.domain.as_ref().map(|domain| format!("domain={domain}")));
        client.get(&format!("/api/entities?{}", query.join("&"))).await
    }

    fn replayed(&self, common: &Common, file: &Path) -> anyhow::Result<Value> {
        let replay = play(common, file)?;
        if let Some(EntitiesCommand::Why { id }) = &self.command {
            let why = replay.why(id).map_err(|missing| anyhow!(missing))?;
            return Ok(serde_json::to_value(why)?);
        }
        if !common.json {
            for (topic, why) in replay.discovery().refused {
                eprintln!("refused: {topic}: {why}");
            }
        }
        let wanted = |view: &crate::http::views::EntityView| {
            self.area.as_ref().is_none_or(|area| view.area.as_ref() == Some(area))
                && self.domain.as_ref().is_none_or(|domain| view.domain == *domain)
        };
        let entities: Vec<_> = replay.entities().into_iter().filter(wanted).collect();
        Ok(serde_json::to_value(entities)?)
    }
}

/// Plays a file on a thread with a big stack: it holds templates of devices.
fn play(common: &Common, file: &Path) -> anyhow::Result<Replay> {
    let settings = common.settings()?;
    let (home, policy) = load(&settings)?;
    let zone = settings.zone()?;
    let mut replay = Replay::new(&settings, &home, policy, Clock::system(), zone);
    let opened = std::fs::File::open(file).with_context(|| format!("opening {}", file.display()))?;
    let name = file.display().to_string();
    let thread = std::thread::Builder::new().name("decode".into()).stack_size(STACK);
    let played = thread.spawn(move || -> anyhow::Result<Replay> {
        for (number, line) in (1..).zip(std::io::BufReader::new(opened).lines()) {
            let line = line.with_context(|| format!("reading {name}"))?;
            if line.trim().is_empty() {
                continue;
            }
            let message = Recorded::parse(&line).with_context(|| format!("{name}, line {number}"))?;
            replay.play(&message);
        }
        Ok(replay)
    })?;
    match played.join() {
        Ok(replay) => replay,
        Err(_) => bail!("playing {} brought the decoding thread down; please report it", file.display()),
    }
}
