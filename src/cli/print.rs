//! What a person sees in a terminal: the steps of the loop, approvals, tables, and the prompt.
//!
//! Everything shown comes from events as JSON, so that a running daemon and the demo print the same. Text of devices
//! was cleaned before it came here; control characters are removed again, since a terminal obeys them.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};

use crate::tools::clean;

/// Prints one event of a task as a step of the loop.
pub fn step(event: &Value) {
    if let Some(line) = step_line(event) {
        println!("{line}");
    }
}

/// The line for an event; `None` for those that say nothing new to a person.
pub fn step_line(event: &Value) -> Option<String> {
    let text = |key: &str| clean(event[key].as_str().unwrap_or_default(), 400);
    match event["event"].as_str()? {
        "accepted" => Some(format!(
            "accepted  task {}",
            clean(event["command"]["task"].as_str().unwrap_or_default(), 40)
        )),
        "turn_started" => {
            Some(format!("turn {}    {}", event["turn"].as_u64().unwrap_or(0) + 1, text("model")))
        }
        "called" => {
            let arguments = clean(event["tool"]["arguments"].as_str().unwrap_or_default(), 300);
            let name = event["tool"]["name"].as_str().unwrap_or_default();
            Some(format!("early     {} {arguments}", clean(name, 64)))
        }
        "model_said" => {
            let mut lines = String::new();
            for call in event["calls"].as_array().into_iter().flatten() {
                let (name, arguments) = (call[1]["name"].as_str(), call[1]["arguments"].as_str());
                let arguments = clean(arguments.unwrap_or_default(), 300);
                let _ = writeln!(lines, "call      {} {arguments}", name.unwrap_or_default());
            }
            Some(lines.trim_end().to_owned()).filter(|lines| !lines.is_empty())
        }
        "model_failed" => Some(format!("failed    {}", text("error"))),
        "decided" => {
            let reasons: Vec<&str> =
                event["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let why = if reasons.is_empty() {
                String::new()
            } else {
                format!(": {}", clean(&reasons.join("; "), 300))
            };
            Some(format!("decision  {} ({}){why}", text("decision"), text("tier")))
        }
        "interim" => Some(format!("interim   {}", text("text"))),
        "approval_asked" => Some(format!("approval  {} code {}", text("approval"), text("match_code"))),
        "approval_ended" => Some(format!("approval  {} {}", text("verdict"), text("by"))),
        "sending" => {
            Some(format!("sending   {} {}", text("entity"), clean(&event["action"]["verb"].to_string(), 40)))
        }
        "outcome" => {
            let entry = &event["entry"];
            let mut line = format!(
                "outcome   {}.{} {}",
                clean(entry["action"]["entity"].as_str().unwrap_or_default(), 80),
                entry["action"]["verb"].as_str().unwrap_or_default(),
                entry["outcome"].as_str().unwrap_or_default()
            );
            if let Some(cause) = entry["cause"].as_str() {
                let _ = write!(line, " ({})", clean(cause, 80));
            }
            Some(line)
        }
        "call_result" | "finished" => None,
        _ => None,
    }
}

/// 0 when the result is honest and complete, 1 when the task could not be brought to an end as asked.
pub fn exit_code(exit: &str) -> ExitCode {
    ExitCode::from(u8::from(!matches!(exit, "done" | "declined")))
}

/// An approval as a person must see it: every target, never cut.
pub fn approval_text(approval: &Value) -> String {
    let text = |key: &str| clean(approval[key].as_str().unwrap_or_default(), 500);
    let mut lines = format!("{}  code {}\n", text("approval_id"), text("match_code"));
    let shown = approval["text"].as_str().unwrap_or_default();
    if !shown.is_empty() {
        for line in shown.lines() {
            let _ = writeln!(lines, "  {}", clean(line, 1000));
        }
        return lines;
    }
    for target in approval["targets"].as_array().into_iter().flatten() {
        let field = |key: &str| clean(target[key].as_str().unwrap_or_default(), 255);
        let _ = writeln!(
            lines,
            "  {} - {} ({})  now: {}",
            field("verb").to_uppercase(),
            field("name"),
            field("entity"),
            field("now")
        );
    }
    let (by, channel) = (text("requested_by"), text("channel"));
    let _ = writeln!(lines, "  asked by {by} over {channel}: {:?}", text("utterance"));
    for warning in approval["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(lines, "  warning: {}", clean(warning, 300));
    }
    let _ = writeln!(lines, "  expires in {} s", approval["expires_in_ms"].as_u64().unwrap_or(0) / 1000);
    lines
}

/// A reply for a terminal: its lines, without what a terminal obeys.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(|line| clean(line, 2000)).collect::<Vec<_>>().join("\n")
}

/// What a stop ended.
pub fn stopped(answer: &Value) -> String {
    match answer["stopped"].as_array().map(Vec::as_slice) {
        None => clean(&answer.to_string(), 400),
        Some([]) => "no task was running; what moved was stopped".to_owned(),
        Some(tasks) => {
            let ids: Vec<String> =
                tasks.iter().map(|task| clean(task.as_str().unwrap_or_default(), 40)).collect();
            format!("stopped {}", ids.join(", "))
        }
    }
}

/// Entities as a table: id, state, area, name.
pub fn entities(entities: &Value) {
    for entity in entities.as_array().into_iter().flatten() {
        let field = |key: &str| clean(entity[key].as_str().unwrap_or_default(), 64);
        let value =
            if entity["availability"] == "offline" { "unavailable".to_owned() } else { field("value") };
        let value = if value.is_empty() { "unknown".to_owned() } else { format!("{value}{}", field("unit")) };
        println!("{:<44} {:<14} {:<16} {}", field("entity"), value, field("area"), field("name"));
    }
}

/// Everything about one entity.
pub fn why(why: &Value) {
    let text = |value: &Value, most: usize| clean(value.as_str().unwrap_or_default(), most);
    let entity = &why["entity"];
    println!("{}  {}", text(&entity["entity"], 255), text(&entity["name"], 120));
    let value = entity["value"].as_str().map_or("unknown".to_owned(), |value| clean(value, 255));
    let age = entity["age_s"].as_u64().map_or("never reported".to_owned(), |age| format!("{age} s ago"));
    println!("  state         {value}{} ({age})", text(&entity["unit"], 16));
    println!("  availability  {}", text(&why["availability"], 600));
    println!("  source        {}", text(&why["source"], 512));
    if let Some(reason) = why["suspended"].as_str() {
        println!(
            "  suspended     {}; accept it with: homeloop discover --accept {}",
            clean(reason, 300),
            text(&entity["entity"], 255)
        );
    }
    for topic in why["reads"].as_array().into_iter().flatten() {
        println!("  reads         {}", text(topic, 512));
    }
    for (label, key, most) in [("publishes", "publishes", 512), ("template", "templates", 2048)] {
        for (name, value) in why[key].as_object().into_iter().flatten() {
            println!("  {label:<12}  {}: {}", clean(name, 64), text(value, most));
        }
    }
    last_message(&why["last_message"], why["faults"].as_u64().unwrap_or(0));
    for tier in why["tiers"].as_array().into_iter().flatten() {
        println!(
            "  {:<12}  {} {}",
            text(&tier["verb"], 40),
            text(&tier["tier"], 4),
            text(&tier["decision"], 8)
        );
        for reason in tier["reasons"].as_array().into_iter().flatten() {
            println!("                  {}", text(reason, 300));
        }
    }
    if let Some(keys) = why["announcement"].as_object() {
        println!("  announcement");
        for (key, value) in keys {
            println!("    {}: {}", clean(key, 64), clean(&value.to_string(), 1024));
        }
    }
}

fn last_message(last: &Value, faults: u64) {
    let Some(topic) = last["topic"].as_str() else {
        println!("  last message  none");
        return;
    };
    let kept = if last["retained"] == true { ", kept by the broker" } else { "" };
    println!(
        "  last message  {} at {}{kept}",
        clean(topic, 512),
        clean(last["at"].as_str().unwrap_or_default(), 40)
    );
    println!("                {}", clean(last["payload"].as_str().unwrap_or_default(), 4096));
    if let Some(fault) = last["fault"].as_str() {
        println!("  not read      {}", clean(fault, 600));
    }
    if faults > 0 {
        println!("  faults        {faults} messages could not be read");
    }
}

/// What waits to be accepted, and what was refused.
pub fn discovery(found: &Value) {
    println!("{} entities announced themselves", found["announced"]);
    for (key, label) in [("suspended", "waits"), ("refused", "refused")] {
        for (name, why) in found[key].as_object().into_iter().flatten() {
            println!("{label:<9} {}: {}", clean(name, 512), clean(why.as_str().unwrap_or_default(), 400));
        }
    }
}

/// One thing that became of an announcement.
pub fn announcement(data: &Value) -> String {
    let text = |key: &str| clean(data[key].as_str().unwrap_or_default(), 512);
    let mut line = format!("{:<9} {}", text("kind"), text("entity"));
    for key in ["topic", "why"] {
        let text = text(key);
        if !text.is_empty() {
            let _ = write!(line, "  {text}");
        }
    }
    line
}

pub fn schedules(schedules: &Value) {
    let list = schedules.as_array().cloned().unwrap_or_default();
    if list.is_empty() {
        println!("nothing is scheduled");
    }
    for schedule in &list {
        let field = |key: &str| clean(schedule[key].as_str().unwrap_or_default(), 200);
        println!("{}  {}  {}", field("schedule_id"), field("when"), field("what"));
        for next in schedule["next"].as_array().into_iter().flatten() {
            let notes: Vec<&str> =
                next["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let note = match notes.as_slice() {
                [] => String::new(),
                notes => format!("  ({})", notes.join(", ").replace('_', " ")),
            };
            println!("    next {}{note}", clean(next["local"].as_str().unwrap_or_default(), 40));
        }
        let gated = if schedule["gated"] == true { "; a person is asked each time" } else { "" };
        println!("    made by {}{gated}", field("created_by"));
    }
}

/// One live event of `tail`.
pub fn live(name: &str, data: &Value) {
    match step_line(data) {
        Some(line) => println!("{} {line}", clean(data["task_id"].as_str().unwrap_or_default(), 40)),
        None if name == "state" => println!(
            "state     {} {}",
            clean(data["entity"].as_str().unwrap_or_default(), 80),
            clean(data["value"].as_str().unwrap_or("unknown"), 80)
        ),
        None => {}
    }
}

/// An error with its causes on one line.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let _ = write!(line, ": {inner}");
        cause = inner.source();
    }
    line
}

/// Lines that a person types, with a prompt on a terminal and without one in a pipe.
pub struct Lines {
    prompt: &'static str,
    input: tokio::io::Lines<BufReader<Stdin>>,
}

impl Lines {
    pub fn new(prompt: &'static str) -> Self {
        Self { prompt, input: BufReader::new(tokio::io::stdin()).lines() }
    }

    /// The next line; `None` at the end of the input. Cancel-safe.
    pub async fn next(&mut self) -> Option<String> {
        if std::io::stdin().is_terminal() {
            print!("{}", self.prompt);
            // A prompt that cannot be shown is no reason not to read.
            let _ = std::io::stdout().flush();
        }
        self.input.next_line().await.ok().flatten()
    }
}
