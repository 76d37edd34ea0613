//! `demo`: the whole of it in one process and a temporary directory: broker, simulated home, daemon, HTTP.
//!
//! The simulated devices speak real MQTT to the embedded broker through a client of their own and announce themselves
//! as devices of a real house do; the daemon knows nothing of the simulation.

mod simulation;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use self::simulation::Simulation;
use super::print::{self, Lines};
use super::{Common, run};
use crate::agent::{Command, Event, Submitted, TaskEvent, TaskResult};
use crate::app::{App, Setup};
use crate::clock::Clock;
use crate::devices::profile::Profiles;
use crate::devices::simulate::{self, Announcement, World};
use crate::policy::{AnswerWord, Channel, Policy, Principal, Scope};
use crate::settings::Settings;
use crate::settings::home_file::{DEMO_ANNOUNCED, HomeFile};

#[derive(Debug, Args)]
pub struct Demo {
    /// Run this one command, print each step and the reply, and exit: 0 when the result is honest and complete.
    #[arg(long, value_name = "TEXT")]
    once: Option<String>,
    /// Set a simulated device before: `binary_sensor.balcony_door=off`. May be given several times.
    #[arg(long, value_name = "ENTITY=VALUE")]
    set: Vec<String>,
}

impl Demo {
    pub async fn run(self, common: Common) -> anyhow::Result<ExitCode> {
        run::log(common.json);
        let clock = Clock::system();
        let state = Temporary::new(&clock)?;
        let settings = settings(&common, &state)?;
        let profiles = Profiles::embedded().context("the built-in device profiles")?;
        let home = HomeFile::demo(&profiles)?;
        // Who switches discovery off gets the same devices by their profiles.
        let announcements = match settings.discovery.enabled {
            true => Announcement::parse_all(DEMO_ANNOUNCED).context("devices/demo-announced.jsonl")?,
            false => Vec::new(),
        };
        let played: Vec<_> = home.players().collect();
        let expected: Vec<_> = played.iter().map(|(entity, ..)| entity.id.clone()).collect();
        let announced = announcements.iter().flat_map(|known| known.entities.iter().cloned()).collect();
        let said = announcements.into_iter().map(|known| known.said).collect();
        let world = World::new(played).announced_by(said);
        let wanted = [settings.mqtt.embedded.bind.port(), settings.http.bind.port()];
        let setup = Setup {
            settings,
            home: home.leaving_to_announcements(&announced),
            policy: Policy::default(),
            clock: clock.clone(),
            open_broker: true,
            any_port: true,
        };
        let app = App::start(setup).await?;
        tell_busy_ports(wanted, [app.broker_address(), app.http_address()]);
        let simulation = Simulation::start(&app, world, &clock).await?;
        simulation::settled(&app, &expected).await;
        for setting in &self.set {
            simulation::set(&app, setting).await?;
        }
        let code = match &self.once {
            Some(text) => once(&app, text, common.json).await,
            None => talk(&app, &state, common.json).await,
        };
        simulation.stop().await;
        app.stop().await;
        code
    }
}

/// Says which ports were given up for the next free one: broker, then HTTP.
fn tell_busy_ports(wanted: [u16; 2], used: [Option<SocketAddr>; 2]) {
    for (wanted, used) in wanted.into_iter().zip(used) {
        if let Some(used) = used.map(|used| used.port())
            && wanted != 0
            && used != wanted
        {
            eprintln!("port {wanted} is busy: {used} is used instead");
        }
    }
}

/// A directory that is gone when the demo ends.
struct Temporary(PathBuf);

impl Temporary {
    /// A directory that nobody had before: one of a demo that was killed holds results and approvals of its own.
    fn new(clock: &Clock) -> anyhow::Result<Self> {
        let dir = std::env::temp_dir().join(format!("homeloop-demo-{}", clock.new_id()));
        std::fs::create_dir_all(std::env::temp_dir()).context("making the temporary directory")?;
        let made = std::fs::DirBuilder::new().mode(0o700).create(&dir);
        made.with_context(|| format!("making {}", dir.display()))?;
        Ok(Self(dir))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed is in the temporary directory of the system anyway.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(common: &Common, state: &Temporary) -> anyhow::Result<Settings> {
    let overrides = [
        ("state_dir", state.0.display().to_string()),
        ("mqtt.broker", "embedded".to_owned()),
        ("home.file", String::new()),
        ("policy.file", String::new()),
        // The devices announce themselves under the usual prefix, and wait to be greeted.
        ("discovery.prefix", "homeassistant".to_owned()),
        ("discovery.accept", "auto".to_owned()),
        ("discovery.birth", "true".to_owned()),
    ];
    Ok(Settings::with_overrides(&common.config, &overrides)?)
}

fn owner() -> Principal {
    Principal {
        name: "local:demo".into(),
        channel: Channel::Local,
        scopes: vec![Scope::Read, Scope::Command, Scope::Approve],
    }
}

async fn submit(app: &Arc<App>, text: &str) -> anyhow::Result<Submitted> {
    let command = Command {
        task: app.clock().new_id(),
        id: None,
        text: text.to_owned(),
        origin: owner(),
        area: None,
        language: None,
        conversation: Some("demo".into()),
        user_hint: None,
        at: app.clock().now(),
        plan: None,
    };
    Ok(app.queue().submit(command).await?)
}

async fn once(app: &Arc<App>, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    let mut lines = Lines::new("");
    let result = follow(app, submit(app, text).await?, json, &mut lines).await?;
    Ok(print::exit_code(serde_json::to_value(result.exit)?.as_str().unwrap_or_default()))
}

/// Prints the steps of a task until its result. Whoever sits at the prompt is the person who may approve.
async fn follow(
    app: &Arc<App>,
    submitted: Submitted,
    json: bool,
    lines: &mut Lines,
) -> anyhow::Result<Arc<TaskResult>> {
    let Submitted { task, mut events, mut result, .. } = submitted;
    let mut waiting: Vec<(String, String)> = Vec::new();
    let mut input_open = true;
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) if event.task == task => {
                    show(&event, json, &mut waiting);
                    if matches!(event.event, Event::Finished { .. }) {
                        break;
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break,
            },
            line = lines.next(), if input_open && !waiting.is_empty() => match line {
                Some(line) => answer(app, line.trim(), &waiting).await,
                None => input_open = false,
            },
        }
    }
    result.result().await.context("the daemon ended before the result")
}

fn show(event: &TaskEvent, json: bool, waiting: &mut Vec<(String, String)>) {
    if let Event::ApprovalAsked { approval, plan_hash, .. } = &event.event {
        waiting.push((approval.clone(), plan_hash.clone()));
    }
    if let Event::ApprovalEnded { approval, .. } = &event.event {
        waiting.retain(|(id, _)| id != approval);
    }
    let Ok(value) = serde_json::to_value(event) else { return };
    if json {
        println!("{value}");
        return;
    }
    print::step(&value);
    match &event.event {
        Event::ApprovalAsked { approval, .. } => {
            println!("          type approve or deny and Enter, or: homeloop approve {approval}");
        }
        Event::Finished { reply, .. } => println!("{reply}"),
        _ => {}
    }
}

async fn answer(app: &Arc<App>, line: &str, waiting: &[(String, String)]) {
    let (word, id) = line.split_once(' ').unwrap_or((line, ""));
    let decision = match word {
        "approve" => AnswerWord::Approve,
        "deny" => AnswerWord::Deny,
        _ => {
            println!("          type approve or deny");
            return;
        }
    };
    let Some((approval, hash)) = waiting.iter().find(|(approval, _)| approval.ends_with(id)) else { return };
    if let Err(error) = app.door().answer(approval, hash, decision, None, &owner()).await {
        println!("          {error}");
    }
}

/// The prompt of the demo.
async fn talk(app: &Arc<App>, state: &Temporary, json: bool) -> anyhow::Result<ExitCode> {
    introduce(app, state, json)?;
    let mut lines = Lines::new("> ");
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    let terminal = std::io::stdin().is_terminal();
    loop {
        let line = tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            line = lines.next() => line,
        };
        match line.as_deref().map(str::trim) {
            None if terminal => break,
            None => {
                // No prompt to read from: run until a signal.
                tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
                break;
            }
            Some("") => {}
            Some("exit" | "quit") => break,
            Some(text) => {
                follow(app, submit(app, text).await?, json, &mut lines).await?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn introduce(app: &Arc<App>, state: &Temporary, json: bool) -> anyhow::Result<()> {
    let broker = app.broker_address().context("no broker")?;
    let http = app.http_address().context("no HTTP server")?;
    let token = std::fs::read_to_string(state.0.join(crate::http::tokens::FIRST_TOKEN_FILE))
        .context("reading the token")?;
    let token = token.trim();
    let base = app.topics().base();
    if json {
        println!(
            "{}",
            json!({
                "mqtt": broker, "http": http, "wyoming": app.wyoming_address(), "token": token, "base": base,
                "ready": Value::Bool(true),
            })
        );
        return Ok(());
    }
    println!("homeloop demo: {} simulated devices", app.house().read().len());
    println!("  page   http://{http}/#token={token}");
    println!("  HTTP   curl -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \\");
    println!("              -d '{{\"text\": \"turn on the kitchen light\"}}' http://{http}/api/commands");
    println!("  MQTT   mosquitto_pub -p {} -t {base}/command -m 'turn on the kitchen light'", broker.port());
    println!("         mosquitto_sub -p {} -t '{base}/result'", broker.port());
    println!(
        "  world  mosquitto_pub -p {} -t {}/binary_sensor.balcony_door/set -m off",
        broker.port(),
        simulate::CONTROL_BASE
    );
    println!("  stop   Ctrl-C, or exit");
    Ok(())
}
