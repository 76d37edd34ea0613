//! Sentences of our own, in every language: politeness, word orders, slips, exclusions, corrections, several clauses,
//! conversations, times, questions, things that are not there. What each must become stands beside it in
//! `variations/*.txt`; what is executed is compared whole, so that a wrong action cannot hide behind a right one.

use std::path::{Path, PathBuf};

use chrono::Utc;
use homeloop::eval;
use homeloop::nlu::{Dialogue, Intent, Nlu, Request, Understanding, When};

use crate::sets::{data, now};

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nlu/variations")
}

/// What was understood in one line, as the tables write it.
fn short(understanding: &Understanding) -> String {
    match understanding {
        Understanding::Act(intents) => {
            format!("ACT {}", intents.iter().map(intent).collect::<Vec<_>>().join(" + "))
        }
        Understanding::Answer { text, .. } => format!("ANSWER {text}"),
        Understanding::Ask { question, .. } => format!("ASK {question}"),
        Understanding::Refuse { reply, .. } => format!("REFUSE {reply}"),
        Understanding::Nothing { reply } => format!("NOTHING {reply}"),
        Understanding::NotUnderstood { reply, .. } => format!("NOT {reply}"),
    }
}

fn intent(intent: &Intent) -> String {
    match intent {
        Intent::Actions(actions) => actions
            .iter()
            .map(|action| {
                let args = action.args.iter().map(|(arg, value)| {
                    format!(" {}={}", arg.word(), serde_json::to_string(value).unwrap_or_default())
                });
                format!("{} {}{}", action.verb, action.entity, args.collect::<String>())
            })
            .collect::<Vec<_>>()
            .join("; "),
        Intent::Schedule { when, intents } => {
            let when = match when {
                When::After { seconds } => format!("+{seconds}s"),
                When::At { local } => format!("at {local}"),
                When::Every { at, days } => format!("every {at} {:?}", days.0.map(u8::from)),
            };
            format!("[{when}] {}", intents.iter().map(self::intent).collect::<Vec<_>>().join(" + "))
        }
        other => format!("{other:?}"),
    }
}

fn table(homes: &Path, home: &str, language: &str, table: &str) {
    let homes = eval::home::read(&std::fs::read_to_string(homes).unwrap()).unwrap();
    let house = eval::house(&homes[home], now().with_timezone(&Utc));
    let nlu = Nlu::new().unwrap();
    let table = std::fs::read_to_string(own().join(format!("{table}.txt"))).unwrap();
    let mut dialogue = Dialogue::default();
    let mut wrong = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (said, expected) = line.split_once('\t').unwrap();
        let text = match said.strip_prefix('>') {
            Some(text) => text,
            None => {
                dialogue = Dialogue::default();
                said
            }
        };
        let (area, text) = match text.strip_prefix('@') {
            Some(text) => text.split_once(' ').map(|(area, text)| (Some(area), text)).unwrap(),
            None => (None, text),
        };
        let request = Request { text, language: Some(language), area, device: None, now: now() };
        let got = nlu.understand(&request, &house, &dialogue);
        dialogue.update(text, &got);
        if short(&got) != expected {
            wrong += 1;
            println!("{language} {said:?}\n    wanted {expected}\n    got    {}", short(&got));
        }
    }
    assert_eq!(wrong, 0, "{language}: sentences that became something else");
}

#[test]
fn variations_en() {
    let Some(data) = data() else { return };
    table(&data.join("hard.homes.jsonl"), "hard/maple", "en", "en");
}

#[test]
fn variations_zh() {
    let Some(data) = data() else { return };
    table(&data.join("hard.homes.jsonl"), "hard/mingyuan", "zh", "zh");
}

#[test]
fn variations_de() {
    table(&own().join("homes.jsonl"), "de", "de", "de");
}

#[test]
fn variations_fr() {
    table(&own().join("homes.jsonl"), "fr", "fr", "fr");
}

#[test]
fn variations_es() {
    table(&own().join("homes.jsonl"), "es", "es", "es");
}

#[test]
fn variations_nl() {
    table(&own().join("homes.jsonl"), "nl", "nl", "nl");
}

#[test]
fn variations_own_en() {
    table(&own().join("homes.jsonl"), "own-en", "en", "own-en");
}

#[test]
fn variations_own_zh() {
    table(&own().join("homes.jsonl"), "own-zh", "zh", "own-zh");
}

#[test]
fn variations_wide_en() {
    table(&own().join("homes.jsonl"), "wide-en", "en", "wide-en");
}

#[test]
fn variations_wide_zh() {
    table(&own().join("homes.jsonl"), "wide-zh", "zh", "wide-zh");
}

#[test]
fn variations_wide_de() {
    table(&own().join("homes.jsonl"), "wide-de", "de", "wide-de");
}

#[test]
fn variations_wide_fr() {
    table(&own().join("homes.jsonl"), "wide-fr", "fr", "wide-fr");
}

#[test]
fn variations_wide_es() {
    table(&own().join("homes.jsonl"), "wide-es", "es", "wide-es");
}

#[test]
fn variations_wide_nl() {
    table(&own().join("homes.jsonl"), "wide-nl", "nl", "wide-nl");
}

#[test]
fn variations_sly_en() {
    table(&own().join("homes.jsonl"), "wide-en", "en", "sly-en");
}

#[test]
fn variations_sly_zh() {
    table(&own().join("homes.jsonl"), "wide-zh", "zh", "sly-zh");
}

#[test]
fn variations_sly_de() {
    table(&own().join("homes.jsonl"), "wide-de", "de", "sly-de");
}

#[test]
fn variations_sly_fr() {
    table(&own().join("homes.jsonl"), "wide-fr", "fr", "sly-fr");
}

#[test]
fn variations_sly_es() {
    table(&own().join("homes.jsonl"), "wide-es", "es", "sly-es");
}

#[test]
fn variations_sly_nl() {
    table(&own().join("homes.jsonl"), "wide-nl", "nl", "sly-nl");
}
