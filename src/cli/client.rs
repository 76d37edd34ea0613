//! Subcommands that talk to a running daemon over HTTP.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use futures_util::{Stream, StreamExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::Common;
use super::print;

/// No daemon answered.
#[derive(Debug, thiserror::Error)]
#[error("no homeloop answers at {url}: {reason}; is `homeloop run` running?")]
pub struct Unreachable {
    url: String,
    reason: String,
}

/// The daemon's HTTP API, as the command line uses it.
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: SecretString,
}

impl Client {
    /// Finds the daemon by the options, else by the settings, and its token by file.
    pub fn new(common: &Common) -> anyhow::Result<Self> {
        crate::tls_provider();
        let settings = common.settings()?;
        let url = match &common.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let scheme = if settings.http.tls_cert.as_os_str().is_empty() { "http" } else { "https" };
                format!("{scheme}://{}", settings.http.bind)
            }
        };
        let file = common
            .token_file
            .clone()
            .unwrap_or_else(|| settings.state_dir().join(crate::http::tokens::FIRST_TOKEN_FILE));
        let token = std::fs::read_to_string(&file).with_context(|| {
            format!("reading the token in {}; name another with --token-file", file.display())
        })?;
        let mut http = reqwest::Client::builder().connect_timeout(Duration::from_secs(3)).no_proxy();
        if url.starts_with("http://") {
            // Without TLS nobody has to be trusted: it works on a machine without certificate authorities.
            http = http.tls_certs_only(Vec::<reqwest::Certificate>::new());
        }
        let http = http.build().context("setting up TLS; is the package ca-certificates installed?")?;
        Ok(Self { http, url, token: token.trim().to_owned().into() })
    }

    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.json(self.http.get(format!("{}{path}", self.url))).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.json(self.http.post(format!("{}{path}", self.url)).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.json(self.http.delete(format!("{}{path}", self.url))).await
    }

    /// The name and data of every server-sent event that answers `request`.
    pub async fn events_of(
        &self,
        request: reqwest::RequestBuilder,
    ) -> anyhow::Result<impl Stream<Item = anyhow::Result<(String, Value)>> + use<>> {
        let response = self.send(request.header("accept", "text/event-stream")).await?;
        let events = sse_stream::SseStream::from_bytes_stream(response.bytes_stream());
        Ok(events.filter_map(|event| std::future::ready(read(event).transpose())))
    }

    pub fn command(&self, text: &str, conversation: Option<&str>) -> reqwest::RequestBuilder {
        let mut body = json!({"text": text});
        if let Some(conversation) = conversation {
            body["conversation"] = json!(conversation);
        }
        self.http.post(format!("{}/api/commands", self.url)).json(&body)
    }

    pub fn events(&self) -> reqwest::RequestBuilder {
        self.http.get(format!("{}/api/events", self.url))
    }

    async fn json(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
        let response = self.send(request).await?;
        let text = response.text().await?;
        if text.is_empty() {
            Ok(Value::Null)
        } else {
            serde_json::from_str(&text).context("reading the answer")
        }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<reqwest::Response> {
        let response = request
            .bearer_auth(self.token.expose_secret())
            .send()
            .await
            .map_err(|error| Unreachable { url: self.url.clone(), reason: print::causes(&error) })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.unwrap_or_default();
        let said = serde_json::from_str::<Value>(&text)
            .ok()
            .and_then(|body| body.pointer("/error/message").and_then(Value::as_str).map(str::to_owned))
            .unwrap_or(text);
        bail!("{status}: {said}");
    }
}

/// An event with data; `None` for one without.
fn read(event: Result<sse_stream::Sse, sse_stream::Error>) -> anyhow::Result<Option<(String, Value)>> {
    let event = event.context("reading the daemon's events")?;
    let Some(data) = event.data else { return Ok(None) };
    let data = serde_json::from_str(&data).context("reading an event")?;
    Ok(Some((event.event.unwrap_or_else(|| "message".to_owned()), data)))
}

pub async fn approvals(common: Common) -> anyhow::Result<ExitCode> {
    let approvals = Client::new(&common)?.get("/api/approvals").await?;
    if common.json {
        println!("{approvals}");
        return Ok(ExitCode::SUCCESS);
    }
    let list = approvals.as_array().cloned().unwrap_or_default();
    if list.is_empty() {
        println!("nothing waits for approval");
    }
    for approval in &list {
        println!("{}", print::approval_text(approval).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Args)]
pub struct Answer {
    /// Id of the approval, as `homeloop approvals` shows it; its end is enough where it is unique.
    id: String,
}

impl Answer {
    pub async fn run(self, common: Common, decision: &str) -> anyhow::Result<ExitCode> {
        let client = Client::new(&common)?;
        let approvals = client.get("/api/approvals").await?;
        let waiting = approvals.as_array().cloned().unwrap_or_default();
        let fits: Vec<&Value> = waiting
            .iter()
            .filter(|approval| {
                let id = approval["approval_id"].as_str().unwrap_or_default();
                id == self.id || (self.id.len() >= 4 && id.ends_with(&self.id))
            })
            .collect();
        let [approval] = fits.as_slice() else {
            bail!("{} approvals fit {:?}; `homeloop approvals` shows what waits", fits.len(), self.id);
        };
        if !common.json {
            println!("{}", print::approval_text(approval).trim_end());
        }
        let body = json!({"v": 1, "plan_hash": approval["plan_hash"], "decision": decision});
        let id = approval["approval_id"].as_str().unwrap_or_default();
        let answered = client.post(&format!("/api/approvals/{id}"), &body).await?;
        if common.json {
            println!("{answered}");
        } else {
            println!("{}", answered["verdict"].as_str().unwrap_or(decision));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub struct Stop {
    /// Id of a task; all tasks without it.
    task: Option<String>,
}

impl Stop {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let body = match self.task {
            Some(task) => json!({"task_id": task}),
            None => json!({}),
        };
        let stopped = Client::new(&common)?.post("/api/stop", &body).await?;
        if common.json {
            println!("{stopped}");
        } else {
            println!("{}", print::stopped(&stopped));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub struct Schedules {
    /// Cancel the schedule with this id.
    #[arg(long, value_name = "ID")]
    cancel: Option<String>,
    /// Take back the cancellation of the schedule with this id, within a day of it.
    #[arg(long, value_name = "ID", conflicts_with = "cancel")]
    restore: Option<String>,
}

impl Schedules {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        let client = Client::new(&common)?;
        if let Some(id) = &self.cancel {
            client.delete(&format!("/api/schedules/{id}")).await?;
            if common.json {
                println!("{}", json!({"cancelled": id}));
            } else {
                println!("cancelled {id}");
            }
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(id) = &self.restore {
            client.post(&format!("/api/schedules/{id}/restore"), &json!({})).await?;
            if common.json {
                println!("{}", json!({"restored": id}));
            } else {
                println!("restored {id}");
            }
            return Ok(ExitCode::SUCCESS);
        }
        let schedules = client.get("/api/schedules").await?;
        if common.json {
            println!("{schedules}");
        } else {
            print::schedules(&schedules);
        }
        Ok(ExitCode::SUCCESS)
    }
}

pub async fn tail(common: Common) -> anyhow::Result<ExitCode> {
    let client = Client::new(&common)?;
    let mut events = client.events_of(client.events()).await?.boxed();
    while let Some(event) = events.next().await {
        let (name, data) = event?;
        if common.json {
            println!("{}", json!({"type": name, "data": data}));
        } else {
            print::live(&name, &data);
        }
    }
    Ok(ExitCode::SUCCESS)
}
