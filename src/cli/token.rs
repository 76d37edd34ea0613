//! `token`: who may use the HTTP API. It works on the file in the state directory; a running daemon follows it within
//! seconds and ends the open streams of a token that is revoked.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use secrecy::ExposeSecret;

use super::Common;
use crate::clock::Clock;
use crate::http::tokens::{TokenKind, TokenStore};
use crate::policy::Scope;

#[derive(Debug, Args)]
pub struct TokenCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token. It is shown once, or written to a file of its own.
    Create {
        /// 1 to 64 of a-z, 0-9, _ and -.
        name: String,
        /// Whose it is. Only a person's can hold approve and admin.
        #[arg(long, value_enum, default_value = "person")]
        kind: Kind,
        /// What it may do; may be given several times.
        #[arg(long, value_enum, required = true)]
        scope: Vec<ScopeWord>,
        /// Write it to this file, which only its owner can read, instead of printing it.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show the tokens in force, without the tokens themselves.
    List,
    /// Take a token back.
    Revoke { name: String },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Person,
    Agent,
    Mcp,
    Voice,
    Device,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScopeWord {
    Read,
    Command,
    Approve,
    Admin,
}

impl TokenCommand {
    pub fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let (store, _) = TokenStore::open(&common.settings()?.state_dir(), Clock::system())?;
        match self.command {
            Command::Create { name, kind, scope, out } => {
                let mut scopes: Vec<Scope> = scope.into_iter().map(ScopeWord::scope).collect();
                scopes.sort_unstable();
                scopes.dedup();
                let token = store.create(&name, kind.kind(), scopes)?;
                match out {
                    Some(file) => {
                        let mut to = std::fs::OpenOptions::new()
                            .write(true)
                            .create_new(true)
                            .mode(0o600)
                            .open(&file)
                            .with_context(|| format!("making {}", file.display()))?;
                        writeln!(to, "{}", token.expose_secret())?;
                    }
                    None => println!("{}", token.expose_secret()),
                }
            }
            Command::List if common.json => println!("{}", serde_json::to_string(&list(&store))?),
            Command::List => {
                for token in store.list() {
                    let scopes: Vec<String> =
                        token.scopes.iter().map(|scope| format!("{scope:?}").to_lowercase()).collect();
                    let kind = format!("{:?}", token.kind).to_lowercase();
                    let made = token.created_at.format("%Y-%m-%d %H:%M");
                    println!("{:<24} {kind:<8} {:<28} {made}", token.name, scopes.join(","));
                }
            }
            Command::Revoke { name } => store.revoke(&name)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The tokens without their hashes.
fn list(store: &TokenStore) -> Vec<serde_json::Value> {
    let row = |token: &crate::http::tokens::Token| {
        serde_json::json!({
            "name": token.name, "kind": token.kind, "scopes": token.scopes, "created_at": token.created_at,
        })
    };
    store.list().iter().map(row).collect()
}

impl Kind {
    fn kind(self) -> TokenKind {
        match self {
            Kind::Person => TokenKind::Person,
            Kind::Agent => TokenKind::Agent,
            Kind::Mcp => TokenKind::Mcp,
            Kind::Voice => TokenKind::Voice,
            Kind::Device => TokenKind::Device,
        }
    }
}

impl ScopeWord {
    fn scope(self) -> Scope {
        match self {
            ScopeWord::Read => Scope::Read,
            ScopeWord::Command => Scope::Command,
            ScopeWord::Approve => Scope::Approve,
            ScopeWord::Admin => Scope::Admin,
        }
    }
}
