//! The sets with homes and states: what is done is compared with the labels.

use std::path::PathBuf;

use chrono::{TimeZone, Utc};
use chrono_tz::Tz;
use homeloop::eval::{self, Task, Verdict};
use homeloop::home::{Action, Arg, ArgValue, House, Verb};
use homeloop::nlu::{Dialogue, Intent, ListChange, Nlu, Request, Understanding};

/// The folder of the data, if it is there.
pub fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMELOOP_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"))
        .join("nlu");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no data in {}", folder.display());
    None
}

pub fn now() -> chrono::DateTime<Tz> {
    chrono_tz::Europe::Berlin.with_ymd_and_hms(2026, 3, 4, 10, 0, 0).single().unwrap()
}

/// Does what was understood to a simulated state. Schedules and timers change nothing now.
pub fn perform(house: &mut House, intents: &[Intent]) {
    let at = now().with_timezone(&Utc);
    for intent in intents {
        match intent {
            Intent::Actions(actions) => {
                for action in actions {
                    eval::apply(house, action, at);
                }
            }
            Intent::List(change) => {
                let (list, verb, item) = match change {
                    ListChange::Add { list, item } => (list, Verb::AddItem, item),
                    ListChange::Complete { list, item } => (list, Verb::CompleteItem, item),
                    ListChange::Remove { list, item } => (list, Verb::RemoveItem, item),
                    ListChange::Read { .. } => continue,
                };
                if let Some(list) = list {
                    let action =
                        Action::new(list.clone(), verb).with(Arg::Item, ArgValue::Text(item.clone()));
                    eval::apply(house, &action, at);
                }
            }
            _ => {}
        }
    }
}

pub fn reply(understanding: &Understanding) -> String {
    match understanding {
        Understanding::Act(_) => String::new(),
        Understanding::Answer { text, .. } => text.clone(),
        Understanding::Ask { question, .. } => question.clone(),
        Understanding::Refuse { reply, .. }
        | Understanding::Nothing { reply }
        | Understanding::NotUnderstood { reply, .. } => reply.clone(),
    }
}

pub struct Score {
    pub total: usize,
    pub passed: usize,
    pub wrong: usize,
}

fn run(name: &str) -> Option<Score> {
    let folder = data()?;
    let nlu = Nlu::new().unwrap();
    let homes =
        eval::home::read(&std::fs::read_to_string(folder.join(format!("{name}.homes.jsonl"))).unwrap())
            .unwrap();
    let tasks = std::fs::read_to_string(folder.join(format!("{name}.tasks.jsonl"))).unwrap();
    let mut score = Score { total: 0, passed: 0, wrong: 0 };
    let mut spent = Vec::new();
    for line in tasks.lines() {
        let task: Task = serde_json::from_str(line).unwrap();
        let utc = now().with_timezone(&Utc);
        let mut before = eval::house(&homes[&task.home], utc);
        task.prepare(&mut before, utc);
        let request = Request {
            text: &task.input,
            language: task.lang.as_deref(),
            area: task.context_area.as_deref(),
            device: task.context_device.as_deref(),
            now: now(),
        };
        nlu.understand(&request, &before, &Dialogue::default());
        let start = std::time::Instant::now();
        let understanding = nlu.understand(&request, &before, &Dialogue::default());
        spent.push(start.elapsed());
        let mut after = before.clone();
        if let Understanding::Act(intents) = &understanding {
            perform(&mut after, intents);
        }
        let verdict = eval::judge(&task, &before, &after, &reply(&understanding));
        match &verdict {
            Verdict::Disputed => continue,
            Verdict::Passed => score.passed += 1,
            Verdict::Missed(why) | Verdict::Wrong(why) => {
                println!("{name}: {:?} ({:?}): {why}\n    {understanding:?}", task.input, task.context_area);
            }
        }
        score.wrong += usize::from(matches!(verdict, Verdict::Wrong(_)));
        score.total += 1;
    }
    spent.sort();
    println!(
        "{name}: {}/{} passed, {} wrong actions; p50 {:?}, p95 {:?}",
        score.passed,
        score.total,
        score.wrong,
        spent.get(spent.len() / 2),
        spent.get(spent.len() * 95 / 100)
    );
    Some(score)
}

fn at_least(name: &str, percent: f64) {
    let Some(score) = run(name) else { return };
    assert_eq!(score.wrong, 0, "{name}: wrong actions");
    let share = score.passed as f64 * 100.0 / score.total as f64;
    assert!(share >= percent, "{name}: {share:.1} % of {percent} %");
}

#[test]
fn assist() {
    at_least("assist", 95.0);
}

#[test]
fn assist_zh() {
    at_least("assist-zh", 95.0);
}

#[test]
fn assist_mini() {
    at_least("assist-mini", 98.0);
}

#[test]
fn assist_mini_zh() {
    at_least("assist-mini-zh", 98.0);
}

#[test]
fn intents() {
    at_least("intents", 99.0);
}

#[test]
fn questions() {
    at_least("questions", 90.0);
}
