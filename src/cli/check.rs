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
        println!("settings: {} file(s), good", common.files().len());
        println!(
            "home: {} floors, {} areas, {} entities, {} scenes",
            house.places.floors.len(),
            house.places.areas.len(),
            house.len(),
            house.scenes.len()
        );
        for name in unknown {
            println!("policy: {name} is not in the home file; it may still announce itself");
        }
        if common.json {
            println!("{}", serde_json::to_string_pretty(&policy)?);
        } else {
            print!("{policy}");
        }
        Ok(ExitCode::SUCCESS)
    }
}
