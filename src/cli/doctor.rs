//! `doctor`: looks at a set-up as the daemon would find it, and says of each fault what it is and what mends it.
//!
//! It changes nothing and starts nothing: on the broker it only listens, with a client id of its own, and in the state
//! directory it only reads, but for one file that it writes and removes to see whether there is space.
//!
//! Exit codes: 0 no fault was found; 1 at least one was.

mod broker;
mod hass;
mod machine;
mod state;
mod topics;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::Common;
use super::run::load;
use crate::settings::home_file::HomeFile;
use crate::tools::clean;

#[derive(Debug, Args)]
pub struct Doctor {}

/// How something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// As it should be.
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// A fault, with what mends it.
    Fault,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    /// A word for programs: `broker`, `clock`, `state`…
    check: &'static str,
    level: Level,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn good(check: &'static str, says: impl Into<String>) -> Self {
        Self { check, level: Level::Good, says: says.into(), fix: None }
    }

    fn note(check: &'static str, says: impl Into<String>) -> Self {
        Self { check, level: Level::Note, says: says.into(), fix: None }
    }

    fn fault(check: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, level: Level::Fault, says: says.into(), fix: Some(fix.into()) }
    }
}

impl Doctor {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let findings = examine(&common).await;
        let faults = findings.iter().filter(|finding| finding.level == Level::Fault).count();
        if common.json {
            println!("{}", serde_json::json!({"faults": faults, "findings": findings}));
        } else {
            findings.iter().for_each(print);
            println!(
                "{}",
                if faults == 0 { "no fault was found".into() } else { format!("{faults} to mend") }
            );
        }
        Ok(ExitCode::from(u8::from(faults > 0)))
    }
}

fn print(finding: &Finding) {
    let mark = match finding.level {
        Level::Good => "good ",
        Level::Note => "note ",
        Level::Fault => "FAULT",
    };
    // Topics and names of devices are text from outside.
    println!("{mark}  {:<9} {}", finding.check, clean(&finding.says, 1000));
    if let Some(fix) = &finding.fix {
        println!("       to mend   {}", clean(fix, 1000));
    }
}

/// Everything, from what the rest stands on to the house itself.
async fn examine(common: &Common) -> Vec<Finding> {
    let mut findings = Vec::new();
    let settings = match common.settings() {
        Ok(settings) => settings,
        Err(error) => {
            let fix =
                "correct that setting; `homeloop check --defaults` prints every setting with its default";
            findings.push(Finding::fault("settings", format!("the settings cannot be used: {error:#}"), fix));
            return findings;
        }
    };
    findings.push(Finding::good("settings", format!("{} file(s) read", common.files().len())));
    let home = match load(&settings) {
        Ok((home, _)) => {
            findings.push(Finding::good("files", "home file, policy and profiles can be used"));
            Some(home)
        }
        Err(error) => {
            let fix = "correct that line; `homeloop check` reads the files again";
            findings.push(Finding::fault("files", format!("{error:#}"), fix));
            None
        }
    };
    let running = state::examine(&settings, &mut findings).await;
    findings.extend(machine::clock(&settings).await);
    findings.extend(machine::authorities(&settings));
    findings.extend(machine::keys(&settings).await);
    let empty = HomeFile::default();
    broker::examine(&settings, home.as_ref().unwrap_or(&empty), running, &mut findings).await;
    hass::examine(&settings, &mut findings).await;
    findings
}
