//! `eval`: tasks over simulated homes, through the whole path.

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Eval {}

impl Eval {
    pub fn run(self, _common: &super::Common) -> anyhow::Result<ExitCode> {
        anyhow::bail!("not here yet")
    }
}
