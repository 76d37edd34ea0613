//! `check`: everything that is checked at start, without starting; and the effective policy.

use std::process::ExitCode;

use anyhow::bail;

use super::Common;
use super::run::load;
use crate::settings::{DEFAULTS, MODELS, policy_file};

#[derive(Debug, clap::Args)]
pub struct Check {
    /// Print every setting with its default and its explanation.
    #[arg(long)]
    defaults: bool,
}

impl Check {
    pub fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if self.defaults {
            println!("{DEFAULTS}\n{MODELS}");
            return Ok(ExitCode::SUCCESS);
        }
        let settings = common.settings()?;
        let (home, policy) = load(&settings)?;
        let house = home.house();
        let unknown = policy_file::unknown_names(&policy, &house);
        if !unknown.is_empty() && !settings.discovery.enabled {
            bail!("the policy names what the home does not have: {}", unknown.join(", "));
        }
        let places = &house.places;
        let counts = [
            ("floors", places.floors.len()),
            ("areas", places.areas.len()),
            ("entities", house.len()),
            ("scenes", house.scenes.len()),
        ];
        if common.json {
            let home: serde_json::Map<String, serde_json::Value> =
                counts.iter().map(|(what, count)| ((*what).to_owned(), (*count).into())).collect();
            let files = common.files();
            let all =
                serde_json::json!({"settings": files, "home": home, "unknown": unknown, "policy": policy});
            println!("{}", serde_json::to_string_pretty(&all)?);
            return Ok(ExitCode::SUCCESS);
        }
        println!("settings: {} file(s), good", common.files().len());
        let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        println!("home: {}", counts.join(", "));
        for name in unknown {
            println!("policy: {name} is not in the home file; it may still announce itself");
        }
        print!("{policy}");
        Ok(ExitCode::SUCCESS)
    }
}
