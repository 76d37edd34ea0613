//! `ask` and `chat`: commands for a running daemon, with the steps of the loop as they happen, and approvals in place.
//!
//! An approval is given with the token of this command line, by the exact word; what is said to the house is never one.

mod input;
mod names;

use std::process::ExitCode;

use clap::Args;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::Common;
use super::client::Client;
use super::print;
use crate::clock::Clock;
use input::Input;
use names::Names;

/// Commands with the words that answer what waits.
const WORDS: [&str; 4] = ["approve", "deny", "exit", "quit"];

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
        let mut talk = Talk { client, input: None, json: common.json, quiet: self.quiet };
        talk.command(&self.text.join(" "), None).await
    }
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
        // The names are for completion alone; that they cannot be had is said by the first command.
        let entities = client.get("/api/entities").await.unwrap_or_default();
        let input = Input::new(Names::of(&entities))?;
        let conversation = format!("chat-{}", Clock::system().new_id());
        let mut talk = Talk { client, input: Some(input), json: common.json, quiet: self.quiet };
        while let Some(line) = talk.next().await {
            match line.trim() {
                "" => {}
                "exit" | "quit" => break,
                text => {
                    if let Err(error) = talk.command(text, Some(&conversation)).await {
                        talk.say(&format!("{error:#}"));
                    }
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// One person at a terminal or a pipe, and the daemon.
struct Talk {
    client: Client,
    /// `None`: nobody is there to answer a question.
    input: Option<Input>,
    json: bool,
    quiet: bool,
}

impl Talk {
    async fn next(&mut self) -> Option<String> {
        self.input.as_mut()?.line("> ").await
    }

    fn say(&mut self, text: &str) {
        match &mut self.input {
            Some(input) => input.say(text),
            None => println!("{text}"),
        }
    }

    /// Gives one command and shows its steps until its result. The exit code says whether the result is honest and
    /// complete.
    async fn command(&mut self, text: &str, conversation: Option<&str>) -> anyhow::Result<ExitCode> {
        let mut events = self.client.events_of(self.client.command(text, conversation)).await?.boxed();
        // Oldest first.
        let mut waiting: Vec<Value> = Vec::new();
        let mut exit = ExitCode::from(1);
        loop {
            let asked = !waiting.is_empty();
            tokio::select! {
                event = events.next() => {
                    let Some(event) = event else { return Ok(exit) };
                    let (name, data) = event?;
                    if name == "result" {
                        exit = print::exit_code(data["exit"].as_str().unwrap_or_default());
                    }
                    self.show(&name, &data, &mut waiting).await;
                    if name == "result" {
                        return Ok(exit);
                    }
                }
                line = answer(&mut self.input), if asked => match line {
                    Some(line) => self.decide(&line, &mut waiting).await,
                    // Nobody is left to answer; the daemon goes on without us.
                    None => self.input = None,
                },
            }
        }
    }

    async fn show(&mut self, name: &str, data: &Value, waiting: &mut Vec<Value>) {
        match data["event"].as_str() {
            Some("approval_asked") => waiting.push(data.clone()),
            Some("approval_ended") => waiting.retain(|asked| asked["approval"] != data["approval"]),
            Some(_) | None => {}
        }
        if self.json {
            self.say(&data.to_string());
        } else if name == "result" {
            let reply = print::clean_lines(data["reply"].as_str().unwrap_or_default());
            self.say(&reply);
        } else if data["event"] == "approval_asked" {
            let asked = self.question(&data["approval"]).await;
            self.say(&asked);
        } else if !self.quiet
            && let Some(line) = print::step_line(data)
        {
            self.say(&line);
        }
    }

    /// What a person must see before deciding.
    async fn question(&self, id: &Value) -> String {
        let approvals = self.client.get("/api/approvals").await.unwrap_or_default();
        let asked =
            approvals.as_array().into_iter().flatten().find(|approval| approval["approval_id"] == *id);
        let mut text = asked.map(print::approval_text).unwrap_or_default();
        let id = id.as_str().unwrap_or_default();
        text.push_str(&if self.input.is_some() {
            "          type approve or deny and Enter".to_owned()
        } else {
            format!("          homeloop approve {id}, or: homeloop deny {id}")
        });
        text
    }

    /// Takes a line that was typed while something waits. Only the exact words decide.
    async fn decide(&mut self, line: &str, waiting: &mut Vec<Value>) {
        let (word, end) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        if !matches!(word, "approve" | "deny") {
            if !word.is_empty() {
                self.say("          type approve or deny");
            }
            return;
        }
        let id_of = |asked: &Value| asked["approval"].as_str().unwrap_or_default().to_owned();
        let Some(asked) = waiting.iter().find(|asked| id_of(asked).ends_with(end)) else {
            self.say(&format!("          nothing that waits ends in {end:?}"));
            return;
        };
        let (id, hash) = (id_of(asked), asked["plan_hash"].clone());
        let body = json!({"v": 1, "plan_hash": hash, "decision": word});
        match self.client.post(&format!("/api/approvals/{id}"), &body).await {
            // Its end is told soon; until then it must not be asked about again.
            Ok(_) => waiting.retain(|asked| id_of(asked) != id),
            Err(error) => self.say(&format!("          {error:#}")),
        }
    }
}

/// The next line while a question is open; never ready where nobody is there.
async fn answer(input: &mut Option<Input>) -> Option<String> {
    match input {
        Some(input) => input.answer("approve or deny> ").await,
        None => std::future::pending().await,
    }
}
