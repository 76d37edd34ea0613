//! `discover`: what became of the announcements of devices.

use std::process::ExitCode;

use clap::Args;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::client::Client;
use super::{Common, print};

#[derive(Debug, Args)]
pub struct Discover {
    /// Print every change from now on, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Accept what this entity has become; until then it only reports.
    #[arg(long, value_name = "ENTITY", conflicts_with = "watch")]
    accept: Option<String>,
}

impl Discover {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let client = Client::new(&common)?;
        if let Some(id) = &self.accept {
            client.post(&format!("/api/entities/{id}/accept"), &json!({})).await?;
            println!("accepted {id}");
            return Ok(ExitCode::SUCCESS);
        }
        if self.watch {
            let mut events = client.events_of(client.events()).await?.boxed();
            while let Some(event) = events.next().await {
                let (name, data) = event?;
                watched(&name, &data, common.json);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let found = client.get("/api/discovery").await?;
        if common.json {
            println!("{found}");
        } else {
            print::discovery(&found);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn watched(name: &str, data: &Value, json: bool) {
    match (name, json) {
        ("announcement", true) => println!("{data}"),
        ("announcement", false) => println!("{}", print::announcement(data)),
        ("lost", _) => eprintln!("{} events were lost: too many at once", data["count"]),
        _ => {}
    }
}
