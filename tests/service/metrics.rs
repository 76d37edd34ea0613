//! Every family of figures is there, and counts what happened.

use serde_json::Value;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::soon;
use crate::site::{Daemon, Devices, Site};

const HOME: &str = r#"
[[entity]]
id = "light.one"
name = "First lamp"
profile = "plain.light"
with = { topic = "metrics/one" }

[[entity]]
id = "lock.door"
name = "Front door"
profile = "plain.lock"
with = { topic = "metrics/door" }
simulate = { value = "locked", seconds = 0.05 }
"#;

/// As a scraper on this machine: without a token.
async fn metrics(daemon: &Daemon) -> String {
    let url = format!("{}/metrics", daemon.http);
    let response = soon("metrics", reqwest::get(url)).await.expect("an answer");
    assert_eq!(response.status(), 200);
    response.text().await.expect("text")
}

/// The value of a line that begins with `name`, labels included.
fn value(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.rsplit(' ').next().expect("a value").parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_family_counts_what_happened() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let _devices = Devices::start(HOME, broker.address, None, "metrics-devices").await;
    let site = Site::new("metrics", HOME, broker.address, "");
    let daemon = site.start().await;
    daemon.until("light.one", "off").await;
    daemon.until("lock.door", "locked").await;
    daemon.say("turn on the first lamp").await;
    daemon.say_approved("unlock the front door").await;
    daemon.say("set a timer for 1 hour").await;
    daemon.say("turn off the first lamp in 1 hour").await;
    daemon.say("turn off the first lamp in 1 second").await;
    daemon.until("light.one", "off").await;

    // What is counted follows the event that the last line waits for.
    let text = soon("the firing is counted", async {
        loop {
            let text = metrics(&daemon).await;
            if value(&text, "homeloop_tasks_total{exit=\"done\"}") >= 6.0 {
                return text;
            }
        }
    })
    .await;
    for (name, expected) in [
        ("homeloop_outcomes_total{domain=\"light\",outcome=\"confirmed\"}", 2.0),
        ("homeloop_outcomes_total{domain=\"lock\",outcome=\"confirmed\"}", 1.0),
        ("homeloop_approvals_asked_total", 1.0),
        ("homeloop_approvals_ended_total{verdict=\"approved\"}", 1.0),
        ("homeloop_approval_seconds_count", 1.0),
        ("homeloop_confirm_seconds_count", 3.0),
        ("homeloop_link_up", 1.0),
        ("homeloop_link_connections", 1.0),
        ("homeloop_link_dropped", 0.0),
        ("homeloop_tasks_open", 0.0),
        ("homeloop_schedules_active", 1.0),
        ("homeloop_schedules_due_total{what=\"fired\"}", 1.0),
        ("homeloop_timers_running", 1.0),
        ("homeloop_journal_good", 1.0),
        ("homeloop_entities", 2.0),
    ] {
        assert_eq!(value(&text, name), expected, "{name} in\n{text}");
    }
    assert!(value(&text, "homeloop_task_seconds_count") >= 6.0);
    assert!(value(&text, "homeloop_model_seconds_count") >= 6.0);
    // Figures name no entity and no person.
    for word in ["First lamp", "light.one", "owner"] {
        assert!(!text.contains(word), "{word} in\n{text}");
    }
    let _: Value = daemon.get("/readyz").await;
}
