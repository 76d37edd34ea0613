//! Completions and the manual page, made from the same definitions as the help.

use std::process::ExitCode;

use clap::CommandFactory;

use super::Arguments;

pub fn completions(shell: clap_complete::Shell) -> ExitCode {
    clap_complete::generate(shell, &mut Arguments::command(), "homeloop", &mut std::io::stdout());
    ExitCode::SUCCESS
}

pub fn page() -> anyhow::Result<ExitCode> {
    clap_mangen::Man::new(Arguments::command()).render(&mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
