//! `models`: which language models there are and whether they are asked; `models test` tries one for real.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::Common;
use super::client::{Client, Unreachable};
use crate::clock::Clock;
use crate::model::probe::models_test;
use crate::model::redact::Redactor;
use crate::model::router::language_model;
use crate::settings::Settings;
use crate::tools::clean;

/// Tokens that each of the two answers of a test may take; models that think first need more than the answer does.
const ANSWER: u32 = 1024;

#[derive(Debug, clap::Args)]
pub struct Models {
    #[command(subcommand)]
    command: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make one real round trip with a tool call, and tell what works, how long it takes and what it costs. Nothing of
    /// the house is sent. Needs no daemon.
    Test {
        /// Names of models in the settings; without them those of the chain.
        names: Vec<String>,
    },
}

impl Models {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        match self.command {
            None => list(&common).await,
            Some(What::Test { names }) => test(&common, names).await,
        }
    }
}

/// From the running daemon, else from the settings alone.
async fn list(common: &Common) -> anyhow::Result<ExitCode> {
    let settings = common.settings()?;
    let asked = async { Client::new(common)?.get("/api/models").await }.await;
    let models = match asked {
        Ok(models) => models,
        Err(error) if error.is::<Unreachable>() || error.is::<std::io::Error>() => configured(&settings),
        Err(error) => return Err(error),
    };
    if common.json {
        println!("{models}");
    } else {
        print!("{}", table(&models, &settings));
    }
    Ok(ExitCode::SUCCESS)
}

fn configured(settings: &Settings) -> Value {
    let chain: Vec<Value> =
        settings.models.chain.iter().map(|name| json!({"name": name, "state": "not running"})).collect();
    json!({"mode": settings.models.mode.word(), "chain": chain})
}

fn table(models: &Value, settings: &Settings) -> String {
    let text = |value: &Value| clean(value.as_str().unwrap_or_default(), 80);
    let mut lines = vec![format!("mode     {}", text(&models["mode"]))];
    let chain = models["chain"].as_array().cloned().unwrap_or_default();
    if chain.is_empty() {
        lines.push("chain    empty: the offline understanding answers alone".to_owned());
    }
    for model in &chain {
        let name = text(&model["name"]);
        let own = settings.models.named.get(&name).map_or("", |own| own.model.as_str());
        let state = match model["state"].as_str().unwrap_or_default() {
            "open" => {
                let seconds = model["paused_ms"].as_u64().unwrap_or(0).div_ceil(1000);
                format!("paused after failures, tried again in {seconds} s")
            }
            "half_open" => "paused after failures, the next request tries it".to_owned(),
            "closed" => match model["failures_in_a_row"].as_u64().unwrap_or(0) {
                0 => "in use".to_owned(),
                failures => format!("in use, {failures} failure(s) in a row"),
            },
            other => clean(other, 80),
        };
        lines.push(format!("model    {name:<14} {own:<34} {state}"));
    }
    if let Some(budget) = models["budget"].as_object() {
        let dollars = |key: &str| budget.get(key).and_then(Value::as_u64).unwrap_or(0) as f64 / 1e6;
        for (period, spent, limit) in
            [("today", "day_spent", "day_limit"), ("month", "month_spent", "month_limit")]
        {
            let of = match dollars(limit) {
                0.0 => "no limit".to_owned(),
                limit => format!("of {limit:.2}"),
            };
            lines.push(format!("{period:<8} {:.4} dollars spent, {of}", dollars(spent)));
        }
        if budget.get("is_spent").and_then(Value::as_bool).unwrap_or(false) {
            lines.push("budget   spent: language models are not asked".to_owned());
        }
    }
    let others: Vec<&str> = settings
        .models
        .named
        .keys()
        .map(String::as_str)
        .filter(|name| !chain.iter().any(|model| model["name"] == *name))
        .collect();
    lines.push(format!("unused   {}", others.join(", ")));
    lines.join("\n") + "\n"
}

async fn test(common: &Common, names: Vec<String>) -> anyhow::Result<ExitCode> {
    crate::tls_provider();
    let settings = common.settings()?;
    let names = if names.is_empty() { settings.models.chain.clone() } else { names };
    if names.is_empty() {
        bail!("no model to test: models.chain is empty; name one: homeloop models test anthropic");
    }
    let redactor = Arc::new(Redactor::new(&settings.models.redact, &settings.private_values())?);
    let mut all_work = true;
    for name in &names {
        let known: Vec<&str> = settings.models.named.keys().map(String::as_str).collect();
        let model =
            language_model(&settings.models, name, &redactor, &Clock::system()).with_context(|| {
                format!("there is no model {name:?} in the settings; known: {}", known.join(", "))
            })?;
        let report = models_test(&*model, ANSWER).await;
        all_work &= report.works();
        if common.json {
            let mut row = serde_json::to_value(&report)?;
            row["works"] = json!(report.works());
            println!("{row}");
        } else {
            print!("{report}");
        }
    }
    Ok(ExitCode::from(u8::from(!all_work)))
}
