//! The command line: one file per group of subcommands.
//!
//! Exit codes: 0 it worked; 1 it did not, and the reason is on standard error; 2 the arguments are wrong (clap's);
//! 3 a daemon could not be reached.

mod chat;
mod check;
mod client;
mod demo;
mod discover;
mod doctor;
mod entities;
mod eval;
mod grant;
mod journal;
mod manual;
mod models;
mod policy;
mod print;
mod record;
mod run;
mod token;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::settings::Settings;

/// A home agent: it listens to a house over MQTT, acts through one guarded door, and reports what the house confirmed.
#[derive(Debug, Parser)]
#[command(name = "homeloop", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options of every subcommand.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Settings file; may be given several times, later ones win. Without it: /etc/homeloop/homeloop.toml if it is there.
    #[arg(long, short, global = true, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Where the daemon's HTTP server is. Without it: where the settings say.
    #[arg(long, global = true, value_name = "URL", env = "HOMELOOP_URL")]
    url: Option<String>,
    /// A file that holds a token. Without it: the first-start token in the state directory.
    #[arg(long, global = true, value_name = "FILE", env = "HOMELOOP_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon.
    Run,
    /// Try it: an embedded broker, a simulated home and the daemon, in a temporary directory.
    Demo(demo::Demo),
    /// Give the running daemon one command and wait for the result.
    Ask(chat::Ask),
    /// Talk to the running daemon, line by line.
    Chat(chat::Chat),
    /// Show the entities of the house with their states, or those of recorded messages.
    Entities(entities::Entities),
    /// Show what waits to be accepted and what was refused of the announcements of devices, or watch them.
    Discover(discover::Discover),
    /// Write the messages of a broker to a file that can be shared: personal details are replaced.
    Record(record::Record),
    /// Show the approvals that wait for a person.
    Approvals,
    /// Approve what waits under this id.
    Approve(client::Answer),
    /// Deny what waits under this id.
    Deny(client::Answer),
    /// Stop one task, or all, at once.
    Stop(client::Stop),
    /// Show what is scheduled, or cancel one.
    Schedules(client::Schedules),
    /// Let somebody do something without being asked about, until an end.
    Grant(grant::GrantCommand),
    /// Make, show and revoke tokens of the HTTP API.
    Token(token::TokenCommand),
    /// Follow everything that happens.
    Tail,
    /// Look for faults of the set-up, and say what mends each.
    Doctor(doctor::Doctor),
    /// Check settings, home file, policy and profiles, and print the effective policy.
    Check(check::Check),
    /// Tell what the rules say about a sentence, or print them.
    Policy(policy::PolicyCommand),
    /// Show a task as a readable trajectory, the last tasks, or verify and export the journal.
    Journal(journal::Journal),
    /// Show the language models, their state and their cost; `models test` tries them.
    Models(models::Models),
    /// Run the tasks of a file over simulated homes and report what came out right.
    Eval(eval::Eval),
    /// Print completions for a shell.
    Completions { shell: clap_complete::Shell },
    /// Print the manual page.
    #[command(hide = true)]
    Man,
}

/// Runs the program and gives its exit code.
pub fn main() -> ExitCode {
    end_with_the_reader();
    let arguments = Arguments::parse();
    // Every subcommand that talks to a daemon or a broker needs it before its first client is built.
    crate::tls_provider();
    match dispatch(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("homeloop: {error:#}");
            ExitCode::from(if error.is::<client::Unreachable>() { 3 } else { 1 })
        }
    }
}

/// Ends quietly when whoever reads standard output has seen enough (`homeloop check | head`): the standard library
/// makes that a panic of the print macros.
fn end_with_the_reader() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or_default();
        if text.starts_with("failed printing to stdout") && text.contains("Broken pipe") {
            std::process::exit(0);
        }
        usual(panic);
    }));
}

fn dispatch(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let common = arguments.common;
    match arguments.command {
        Command::Run => block_on(run::run(common)),
        Command::Demo(demo) => block_on(demo.run(common)),
        Command::Ask(ask) => block_on(ask.run(common)),
        Command::Chat(chat) => block_on(chat.run(common)),
        Command::Entities(entities) => block_on(entities.run(common)),
        Command::Discover(discover) => block_on(discover.run(common)),
        Command::Record(record) => block_on(record.run(common)),
        Command::Approvals => block_on(client::approvals(common)),
        Command::Approve(answer) => block_on(answer.run(common, "approve")),
        Command::Deny(answer) => block_on(answer.run(common, "deny")),
        Command::Stop(stop) => block_on(stop.run(common)),
        Command::Schedules(schedules) => block_on(schedules.run(common)),
        Command::Grant(grant) => block_on(grant.run(common)),
        Command::Token(token) => token.run(&common),
        Command::Tail => block_on(client::tail(common)),
        Command::Doctor(doctor) => block_on(doctor.run(common)),
        Command::Check(check) => check.run(&common),
        Command::Policy(policy) => policy.run(&common),
        Command::Journal(journal) => block_on(journal.run(common)),
        Command::Models(models) => block_on(models.run(common)),
        Command::Eval(eval) => eval.run(&common),
        Command::Completions { shell } => Ok(manual::completions(shell)),
        Command::Man => manual::page(),
    }
}

/// How long the end waits for threads that still read or write something.
const LEFTOVERS: std::time::Duration = std::time::Duration::from_secs(1);

fn block_on(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    // A read of standard input cannot be taken back: whoever holds its other end must not hold the program.
    runtime.shutdown_timeout(LEFTOVERS);
    code
}

impl Common {
    /// The settings files to read.
    fn files(&self) -> Vec<PathBuf> {
        let usual = PathBuf::from("/etc/homeloop/homeloop.toml");
        if self.config.is_empty() && usual.exists() { vec![usual] } else { self.config.clone() }
    }

    fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings::load(&self.files())?)
    }
}
