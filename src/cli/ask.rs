//! `ask` and `chat`: commands for a running daemon, with the steps of the loop as they happen.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::Common;
use super::client::{Client, Flow};
use super::print;

#[derive(Debug, Args)]
pub struct Ask {
    /// What to do or to tell, in plain words.
    #[arg(required = true)]
    text: Vec<String>,
    /// Show only the reply.
    #[arg(long, short)]
    quiet: bool,
}

impl Ask {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let client = Client::new(&common)?;
        ask(&client, &self.text.join(" "), None, common.json, self.quiet).await
    }
}

/// One command: prints its steps and its reply; the exit code says whether the result is honest and complete.
async fn ask(
    client: &Client,
    text: &str,
    conversation: Option<&str>,
    json: bool,
    quiet: bool,
) -> anyhow::Result<ExitCode> {
    let mut exit = ExitCode::from(1);
    let each = |name: &str, data: Value| {
        if json {
            println!("{data}");
        } else if name == "result" {
            println!("{}", data["reply"].as_str().unwrap_or_default());
        } else if !quiet {
            print::step(&data);
        }
        if name == "result" {
            exit = print::exit_code(data["exit"].as_str().unwrap_or_default());
            return Ok(Flow::Stop);
        }
        Ok(Flow::GoOn)
    };
    client.stream(client.command(text, conversation), each).await?;
    Ok(exit)
}

#[derive(Debug, Args)]
pub struct Chat {
    /// Show only the replies.
    #[arg(long, short)]
    quiet: bool,
}

impl Chat {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let client = Client::new(&common)?;
        let conversation = format!("chat-{}", std::process::id());
        let mut lines = super::print::Lines::new("> ");
        while let Some(line) = lines.next().await {
            match line.trim() {
                "" => {}
                "exit" | "quit" => break,
                text => {
                    if let Err(error) = ask(&client, text, Some(&conversation), common.json, self.quiet).await
                    {
                        eprintln!("{error:#}");
                    }
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
