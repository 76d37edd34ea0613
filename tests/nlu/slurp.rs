//! Sentences of real people, most of them not for a home: nothing may be done that was not asked.

use chrono::Utc;
use homeloop::eval;
use homeloop::home::Domain;
use homeloop::nlu::{Dialogue, Intent, Nlu, Request, Understanding};
use serde::Deserialize;

use crate::sets::{data, now};

#[derive(Debug, Deserialize)]
struct Line {
    input: String,
    scenario: String,
    intent: String,
}

#[test]
fn slurp() {
    let Some(folder) = data() else { return };
    let nlu = Nlu::new().unwrap();
    let lines = std::fs::read_to_string(folder.join("slurp.jsonl")).unwrap();
    let mut unasked = 0;
    for (file, id) in [
        ("hard", "hard/maple"),
        ("assist", "assist/dom1-pl"),
        ("assist", "assist/home7-dk"),
        ("intents", "intents/en"),
    ] {
        let homes =
            eval::home::read(&std::fs::read_to_string(folder.join(format!("{file}.homes.jsonl"))).unwrap())
                .unwrap();
        let house = eval::house(&homes[id], now().with_timezone(&Utc));
        let (mut acted, mut total) = (0, 0);
        for line in lines.lines() {
            let line: Line = serde_json::from_str(line).unwrap();
            let request =
                Request { text: &line.input, language: Some("en"), area: None, device: None, now: now() };
            let got = nlu.understand(&request, &house, &Dialogue::default());
            let Understanding::Act(intents) = &got else { continue };
            let device = intents.iter().any(|intent| {
                matches!(
                    intent,
                    Intent::Actions(_) | Intent::Schedule { .. } | Intent::Scene(_) | Intent::StopAll
                )
            });
            total += 1;
            let media = intents.iter().all(|intent| {
                let listed = match intent {
                    Intent::Schedule { intents, .. } => intents.as_slice(),
                    other => std::slice::from_ref(other),
                };
                listed.iter().all(|intent| {
                    matches!(intent, Intent::Actions(actions)
                        if actions.iter().all(|action| action.entity.domain() == Domain::MediaPlayer))
                })
            });
            // Who asks for music asks the players of the home.
            let asked = match line.scenario.as_str() {
                "iot" | "lists" => true,
                "audio" | "play" | "music" => media,
                _ => false,
            };
            acted += usize::from(device);
            if !asked && device {
                unasked += 1;
                println!("{id}: {} {:?}: {intents:?}", line.intent, line.input);
            } else if device || std::env::var_os("ALL").is_some() {
                println!("  ok? {id}: {} {:?}: {intents:?}", line.intent, line.input);
            }
        }
        println!("{id}: acted on {acted}, understood {total}");
    }
    println!("slurp: {unasked} unasked");
    assert_eq!(unasked, 0);
}
