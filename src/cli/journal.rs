//! `journal`: what happened, from the record itself. Works beside a running daemon and without one.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::Common;
use super::print;
use crate::app::history::{What, deeds};
use crate::clock::Clock;
use crate::journal::{self, Verification};
use crate::tools::clean;

#[derive(Debug, Args)]
pub struct Journal {
    #[command(subcommand)]
    command: Option<Command>,
    /// Id of a task; its end is enough. Without it: the last tasks.
    task: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Recompute the hash chain over all events.
    Verify,
    /// Write all events as JSON lines.
    Export,
    /// Who did what, when, through which channel, and approved by whom; the newest first.
    Acts {
        /// Only what was done to this entity.
        entity: Option<String>,
        /// How many days back.
        #[arg(long, default_value_t = 7)]
        days: u16,
    },
    /// Move the journal's files into a folder beside them, so that an empty one is begun. Approvals, schedules, timers
    /// and lists go with it. For a journal that is damaged beyond use.
    SetAside,
}

impl Journal {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let dir = common.settings()?.state_dir();
        if matches!(self.command, Some(Command::SetAside)) {
            println!("{}", journal::set_aside(&dir, Clock::system().now())?.display());
            return Ok(ExitCode::SUCCESS);
        }
        let journal = journal::Journal::open_read_only(&dir, Clock::system())?;
        match (self.command, self.task) {
            (Some(Command::Acts { entity, days }), _) => {
                acts(&journal, entity.as_deref(), days, common.json).await
            }
            (Some(Command::SetAside), _) => Ok(ExitCode::SUCCESS),
            (Some(Command::Verify), _) => verify(&journal, common.json).await,
            (Some(Command::Export), _) => export(&journal).await,
            (None, Some(task)) => trajectory(&journal, &task, common.json).await,
            (None, None) => tasks(&journal, common.json).await,
        }
    }
}

async fn acts(
    journal: &journal::Journal,
    entity: Option<&str>,
    days: u16,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let since = Clock::system().now() - chrono::TimeDelta::days(days.into());
    for deed in deeds(journal, entity, since, 200).await? {
        if json {
            println!("{}", serde_json::to_string(&deed)?);
            continue;
        }
        let at = deed.at.format("%Y-%m-%d %H:%M:%S");
        match &deed.what {
            What::Done { verb, outcome, by, channel, text, approved_by, approved_via, task, .. } => {
                let word = |value| {
                    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned))
                };
                let channel = word(serde_json::json!(channel)).unwrap_or_default();
                let outcome = word(serde_json::json!(outcome)).unwrap_or_default();
                print!("{at}  {} {verb}: {outcome}; by {} over {channel}", deed.entity, clean(by, 80));
                if let Some(person) = approved_by {
                    let via = approved_via.as_deref().unwrap_or("unknown");
                    print!("; approved by {} over {via}", clean(person, 80));
                }
                println!("; {:?}; task {task}", clean(text, 200));
            }
            What::Changed { from, to } => {
                println!("{at}  {} {} -> {}; not by homeloop", deed.entity, clean(from, 40), clean(to, 40));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn verify(journal: &journal::Journal, json: bool) -> anyhow::Result<ExitCode> {
    match journal.verify().await? {
        Verification::Intact { events, .. } => {
            if json {
                println!("{}", serde_json::json!({"intact": true, "events": events}));
            } else {
                println!("intact: {events} events");
            }
            Ok(ExitCode::SUCCESS)
        }
        broken @ Verification::Broken { .. } => bail!("the journal was changed: {broken:?}"),
    }
}

async fn export(journal: &journal::Journal) -> anyhow::Result<ExitCode> {
    let mut from = 0;
    loop {
        let events = journal.since(from, 500).await?;
        let Some(last) = events.last() else { return Ok(ExitCode::SUCCESS) };
        from = last.seq;
        for event in &events {
            println!("{}", line(event)?);
        }
    }
}

async fn tasks(journal: &journal::Journal, json: bool) -> anyhow::Result<ExitCode> {
    for row in journal.tasks(20, false).await?.iter().rev() {
        let events = journal.events(&row.id).await?;
        let first: serde_json::Value =
            events.first().map(journal::Event::parse).transpose()?.unwrap_or_default();
        let last: serde_json::Value =
            events.last().map(journal::Event::parse).transpose()?.unwrap_or_default();
        if json {
            println!("{}", serde_json::json!({"task": row.id, "command": first["command"], "result": last}));
        } else {
            println!("{}  {}", row.id, row.opened_at.format("%Y-%m-%d %H:%M:%S"));
            println!(
                "  > {}",
                crate::tools::clean(first["command"]["text"].as_str().unwrap_or_default(), 200)
            );
            println!("  < {}", crate::tools::clean(last["reply"].as_str().unwrap_or("(open)"), 400));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn trajectory(journal: &journal::Journal, task: &str, json: bool) -> anyhow::Result<ExitCode> {
    let rows = journal.tasks(1000, false).await?;
    let fits: Vec<_> =
        rows.iter().filter(|row| row.id == task || (task.len() >= 4 && row.id.ends_with(task))).collect();
    let [row] = fits.as_slice() else {
        bail!("{} tasks fit {task:?}; `homeloop journal` shows the last ones", fits.len())
    };
    for event in journal.events(&row.id).await? {
        let body: serde_json::Value = event.parse()?;
        if json {
            println!("{}", line(&event)?);
        } else if body["event"] == "accepted" {
            println!(
                "{}  > {}",
                event.at.format("%H:%M:%S%.3f"),
                body["command"]["text"].as_str().unwrap_or_default()
            );
        } else if body["event"] == "finished" {
            println!("{}  < {}", event.at.format("%H:%M:%S%.3f"), body["reply"].as_str().unwrap_or_default());
        } else if let Some(line) = print::step_line(&body) {
            for line in line.lines() {
                println!("{}  {line}", event.at.format("%H:%M:%S%.3f"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One event as a JSON line: number, task, time, kind, body and the hashes of the chain.
fn line(event: &journal::Event) -> anyhow::Result<serde_json::Value> {
    let body: serde_json::Value = event.parse()?;
    Ok(
        serde_json::json!({"seq": event.seq, "task": event.task, "at": event.at, "kind": event.kind, "body": body}),
    )
}
