//! `eval`: tasks over simulated homes, through the whole path, loop and door included. Lines of all forms of task may
//! stand in one file (`eval::task`).
//!
//! With the offline understanding time is simulated, so that waiting for devices takes none. With a language model it
//! is real, because the provider's answers are.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::{Map, Value, json};

use super::Common;
use crate::clock::Clock;
use crate::eval::trial::{Outcome, Trial};
use crate::eval::{Homes, Task, Verdict};
use crate::model::Model;
use crate::model::redact::Redactor;
use crate::nlu::Nlu;

#[derive(Debug, Args)]
pub struct Eval {
    /// Homes, one a line (`*.homes.jsonl`).
    #[arg(long, value_name = "FILE")]
    homes: PathBuf,
    /// Tasks, one a line: states to end in (`*.tasks.jsonl`), hard utterances, home-llm's or slurp's sentences.
    #[arg(long, value_name = "FILE")]
    tasks: PathBuf,
    /// A language model of the settings; without it the offline understanding alone.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Print only the tasks that did not pass, and the summary.
    #[arg(long)]
    failures: bool,
}

#[derive(Default)]
struct Summary {
    total: usize,
    passed: usize,
    wrong: usize,
    over: usize,
    false_claims: usize,
    ungated: usize,
    disputed: usize,
    turns: usize,
    calls: usize,
    approvals: usize,
    model: Option<String>,
    tokens: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    micro_dollars: u64,
    elapsed: Vec<Duration>,
}

impl Eval {
    pub fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let simulated = self.model.is_none();
        let runtime = if simulated {
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?
        } else {
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?
        };
        runtime.block_on(self.evaluate(common, simulated))
    }

    async fn evaluate(self, common: &Common, simulated: bool) -> anyhow::Result<ExitCode> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
        };
        let system = Clock::system();
        let clock = if simulated { Clock::simulated(system.now(), 1) } else { system.clone() };
        let homes = Homes::read(&read(&self.homes)?, clock.now());
        let homes = homes.with_context(|| self.homes.display().to_string())?;
        let trial = Trial {
            nlu: Arc::new(Nlu::new()?),
            model: self.model(common, &clock)?,
            // A slow machine needs more time: agent.limits.work_seconds.
            limits: common.settings()?.agent.limits,
            clock,
            stopwatch: system,
        };
        let mut summary = Summary { model: self.model.clone(), ..Summary::default() };
        for (number, line) in
            read(&self.tasks)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
        {
            let place = || format!("{}:{}", self.tasks.display(), number + 1);
            let task = Task::parse(line).with_context(place)?;
            let house = homes.of(&task).with_context(place)?;
            let outcome = trial.run(&task, &house, homes.area(&task)).await.map_err(anyhow::Error::msg)?;
            summary.count(&task, &outcome);
            self.show(&task, line, &outcome, common.json);
        }
        summary.print(common.json);
        Ok(ExitCode::from(u8::from(summary.ungated > 0)))
    }

    fn model(&self, common: &Common, clock: &Clock) -> anyhow::Result<Option<Arc<dyn Model>>> {
        let Some(name) = &self.model else { return Ok(None) };
        crate::tls_provider();
        let settings = common.settings()?;
        let redactor = Arc::new(Redactor::new(&settings.models.redact, &settings.private_values())?);
        let model = crate::model::router::language_model(&settings.models, name, &redactor, clock);
        model.map(Some).with_context(|| format!("there is no model {name:?} in the settings"))
    }

    fn show(&self, task: &Task, line: &str, outcome: &Outcome, json: bool) {
        let passed = matches!(outcome.verdict, Verdict::Passed | Verdict::Disputed);
        if self.failures && passed {
            return;
        }
        if json {
            println!(
                "{}",
                json!({
                    "input": task.input, "expected": expected(line), "got": word(&outcome.verdict),
                    "why": why(&outcome.verdict), "calls": outcome.calls, "reply": outcome.reply,
                })
            );
        } else {
            println!(
                "{:<8} {}  ->  {}  {}",
                word(&outcome.verdict),
                task.input,
                outcome.reply,
                why(&outcome.verdict)
            );
        }
    }
}

impl Summary {
    fn count(&mut self, task: &Task, outcome: &Outcome) {
        self.total += 1;
        match &outcome.verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Missed(_) => {}
            Verdict::Wrong(_) => {
                self.wrong += 1;
                self.over += usize::from(!task.wants_action());
            }
            Verdict::Disputed => self.disputed += 1,
        }
        self.false_claims += usize::from(outcome.false_claim);
        self.ungated += outcome.ungated;
        self.turns += outcome.turns;
        self.calls += outcome.calls.len();
        self.approvals += outcome.approvals;
        self.tokens += outcome.usage.input_tokens + outcome.usage.output_tokens;
        self.input_tokens += outcome.usage.input_tokens;
        self.cached_tokens += outcome.usage.cached_tokens;
        self.output_tokens += outcome.usage.output_tokens;
        self.micro_dollars += outcome.usage.micro_dollars;
        self.elapsed.push(outcome.elapsed);
    }

    fn print(&mut self, json: bool) {
        self.elapsed.sort_unstable();
        let at = |percent: usize| {
            let index = self.elapsed.len().saturating_sub(1) * percent / 100;
            self.elapsed.get(index).copied().unwrap_or_default().as_secs_f64() * 1000.0
        };
        let (p50, p95) = (at(50), at(95));
        if json {
            // The fields of the last line are what others read: these, and with a language model what it has cost.
            let mut row = json!({
                "total": self.total, "passed": self.passed, "wrong_actions": self.wrong, "over_actions": self.over,
                "false_claims": self.false_claims, "ungated": self.ungated, "disputed": self.disputed,
                "p50_ms": p50, "p95_ms": p95, "tokens": self.tokens,
            });
            if let Some(model) = &self.model {
                row["model"] = json!(model);
                row["input_tokens"] = json!(self.input_tokens);
                row["cached_tokens"] = json!(self.cached_tokens);
                row["output_tokens"] = json!(self.output_tokens);
                row["micro_dollars"] = json!(self.micro_dollars);
            }
            println!("{row}");
            return;
        }
        let counted = self.total.saturating_sub(self.disputed).max(1);
        #[allow(clippy::cast_precision_loss)]
        let share = self.passed as f64 * 100.0 / counted as f64;
        println!(
            "{} of {counted} passed ({share:.1} %), {} wrong actions, {} over-actions, {} false claims, {} ungated, {} disputed",
            self.passed, self.wrong, self.over, self.false_claims, self.ungated, self.disputed
        );
        println!(
            "p50 {p50:.2} ms, p95 {p95:.2} ms, {} turns, {} calls, {} approvals, {} tokens, {} micro-dollars",
            self.turns, self.calls, self.approvals, self.tokens, self.micro_dollars
        );
        if let Some(model) = &self.model {
            let tasks = self.total.max(1) as u64;
            println!(
                "{model}: {} tokens in ({} cached), {} out, {:.6} dollars; {} tokens and {:.6} dollars a command",
                self.input_tokens,
                self.cached_tokens,
                self.output_tokens,
                self.micro_dollars as f64 / 1e6,
                self.tokens / tasks,
                self.micro_dollars as f64 / 1e6 / tasks as f64
            );
        }
    }
}

/// What the line says of the outcome, in its own words.
fn expected(line: &str) -> Value {
    let Ok(Value::Object(mut line)) = serde_json::from_str(line) else { return Value::Null };
    let names = ["kind", "expect_changes", "expect_response", "expect", "state", "scenario", "intent"];
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), line.remove(*name)?)))
        .collect::<Map<_, _>>()
        .into()
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Missed(_) => "missed",
        Verdict::Wrong(_) => "wrong",
        Verdict::Disputed => "disputed",
    }
}

fn why(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Passed | Verdict::Disputed => "",
        Verdict::Missed(why) | Verdict::Wrong(why) => why,
    }
}
