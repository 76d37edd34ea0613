//! The log of a task: every line says which task, turn and call it belongs to, and no line holds a secret.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::common::soon;

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_a_task_carries_its_ids() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_homeloop"));
    command
        .args(["demo", "--json", "--once", "turn off the kitchen light"])
        .env("HOMELOOP__MQTT__EMBEDDED__BIND", "127.0.0.1:0")
        .env("HOMELOOP__HTTP__BIND", "127.0.0.1:0")
        .env("RUST_LOG", "homeloop::agent=debug,homeloop::actuate=debug")
        .stdin(Stdio::null());
    let output = soon("the demo ends", command.output()).await.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = String::from_utf8(output.stderr).expect("text");
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of_agent: Vec<&Value> = lines
        .iter()
        .filter(|line| line["target"].as_str().is_some_and(|target| target.starts_with("homeloop::agent")))
        .collect();
    assert!(!of_agent.is_empty(), "{log}");
    let ids = |line: &Value, key: &str| {
        line["spans"].as_array().is_some_and(|spans| spans.iter().any(|span| !span[key].is_null()))
    };
    for line in &of_agent {
        assert!(ids(line, "task"), "no task in {line}");
    }
    let call = of_agent.iter().find(|line| line["fields"]["message"] == "a call begins").expect("a call");
    assert!(ids(call, "call"), "{call}");
    assert!(of_agent.iter().any(|line| ids(line, "turn")), "{log}");
}
