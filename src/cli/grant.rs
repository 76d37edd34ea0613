//! `grant`: leave given in advance, on the machine itself, by a token with the scope admin.

use std::process::ExitCode;

use anyhow::{Context, bail};
use chrono::{DateTime, Days, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use clap::{Args, Subcommand};
use serde_json::json;

use super::Common;
use super::client::Client;
use crate::clock::Clock;
use crate::tools::clean;

#[derive(Debug, Args)]
pub struct GrantCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Let somebody do something without being asked about, until an end.
    ///
    /// homeloop grant give lock.side_door unlock --to token:cleaner --until 18:00 --reason "cleans on Mondays"
    Give {
        entity: String,
        /// Verbs, such as unlock.
        #[arg(required = true)]
        verbs: Vec<String>,
        /// The exact name of who may, as the journal shows it: token:cleaner, mqtt:anna.
        #[arg(long, value_name = "PRINCIPAL")]
        to: String,
        /// The end: 18:00 (the next one), 2h, 90m, 2026-12-01T18:00, or with a zone. At most 30 days from now.
        #[arg(long)]
        until: String,
        /// Why; it stands in the journal at every use.
        #[arg(long)]
        reason: String,
    },
    /// Show the grants that have not ended.
    List,
    /// Take a grant back, at once.
    Revoke { id: String },
}

impl GrantCommand {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let client = Client::new(&common)?;
        match self.command {
            Command::Give { entity, verbs, to, until, reason } => {
                let now = Clock::system().now().with_timezone(&common.settings()?.zone()?);
                let until = end(&until, now)?;
                let body = json!({
                    "entity": entity, "verbs": verbs, "principal": to, "until": until.to_rfc3339(), "reason": reason,
                });
                let grant = client.post("/api/grants", &body).await?;
                if common.json {
                    println!("{grant}");
                } else {
                    println!("{}  until {}", grant["grant_id"].as_str().unwrap_or_default(), until);
                }
            }
            Command::List => {
                let grants = client.get("/api/grants").await?;
                if common.json {
                    println!("{grants}");
                    return Ok(ExitCode::SUCCESS);
                }
                for grant in grants.as_array().into_iter().flatten() {
                    let text = |key: &str| clean(grant[key].as_str().unwrap_or_default(), 200);
                    let verbs: Vec<&str> = grant["verbs"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|verb| verb.as_str())
                        .collect();
                    println!(
                        "{}  {} may {} {} until {}: {} (given by {})",
                        text("grant_id"),
                        text("principal"),
                        verbs.join(", "),
                        text("entity"),
                        text("until"),
                        text("reason"),
                        text("given_by")
                    );
                }
            }
            Command::Revoke { id } => {
                client.delete(&format!("/api/grants/{id}")).await?;
                println!("taken back");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The end that a person wrote, as a time.
fn end(text: &str, now: DateTime<Tz>) -> anyhow::Result<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    let span = |unit: char| text.strip_suffix(unit).and_then(|number| number.parse::<u32>().ok());
    if let Some(hours) = span('h') {
        return Ok((now + TimeDelta::hours(hours.into())).to_utc());
    }
    if let Some(minutes) = span('m') {
        return Ok((now + TimeDelta::minutes(minutes.into())).to_utc());
    }
    let local = match NaiveTime::parse_from_str(text, "%H:%M") {
        Ok(time) => {
            let today = now.naive_local().date().and_time(time);
            let next = today.checked_add_days(Days::new(1)).context("the end is beyond all time")?;
            if today > now.naive_local() { today } else { next }
        }
        Err(_) => match NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M") {
            Ok(local) => local,
            Err(_) => bail!("{text:?} is no end; expected 18:00, 2h, 90m or 2026-12-01T18:00"),
        },
    };
    // Where clocks go back, the earlier of the two: leave ends rather too early.
    let zoned = now.timezone().from_local_datetime(&local).earliest();
    Ok(zoned.with_context(|| format!("{local} does not exist here: the clocks go forward over it"))?.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_the_next_one_that_is_meant() {
        let now = chrono_tz::Europe::Berlin.with_ymd_and_hms(2026, 11, 30, 12, 0, 0).unwrap();
        for (text, expected) in [
            ("18:00", "2026-11-30T17:00:00+00:00"),
            ("11:00", "2026-12-01T10:00:00+00:00"),
            ("2h", "2026-11-30T13:00:00+00:00"),
            ("90m", "2026-11-30T12:30:00+00:00"),
            ("2026-12-02T08:15", "2026-12-02T07:15:00+00:00"),
            ("2026-12-02T08:15:00Z", "2026-12-02T08:15:00+00:00"),
        ] {
            assert_eq!(end(text, now).unwrap().to_rfc3339(), expected, "{text}");
        }
        for wrong in ["", "soon", "25:00", "h", "-1h"] {
            assert!(end(wrong, now).is_err(), "{wrong}");
        }
    }
}
