//! Templated sentences with the service calls they should become. A toggle is read from the state: either way counts.

use std::collections::BTreeMap;

use chrono::Utc;
use homeloop::eval::home::{EntityFile, HomeFile};
use homeloop::eval::{self};
use homeloop::home::{Action, Arg, ArgValue, Domain, Verb};
use homeloop::nlu::{Dialogue, Intent, Nlu, Request, TimerChange, Understanding};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::sets::{data, now};

#[derive(Debug, Deserialize)]
struct Line {
    home: Option<String>,
    input: String,
    kind: String,
    #[serde(default)]
    expect: Vec<Call>,
}

#[derive(Debug, Clone, Deserialize)]
struct Call {
    service: Option<String>,
    entity: Option<String>,
    device: Option<String>,
    query: Option<String>,
    #[serde(default)]
    args: Map<String, Value>,
}

/// Our ids: `blinds` and `garage_door` are covers.
fn domain(word: &str) -> &str {
    match word {
        "blinds" | "garage_door" => "cover",
        other => other,
    }
}

fn furnished(home: &HomeFile) -> HomeFile {
    let mut home = home.clone();
    for entity in &mut home.entities {
        ready(entity);
    }
    home
}

fn ready(entity: &mut EntityFile) {
    let (state, attributes) = match entity.domain.as_deref().unwrap_or("") {
        "light" => ("on", json!({"color": true, "brightness": 128})),
        "fan" => ("on", json!({"percentage": 50})),
        "blinds" | "garage_door" => ("open", json!({"current_position": 50})),
        "media_player" => ("playing", json!({"volume_level": 0.5})),
        "lock" => ("locked", json!({})),
        "climate" => ("heat", json!({"temperature": 20, "current_temperature": 20})),
        "vacuum" => ("docked", json!({})),
        _ => ("on", json!({})),
    };
    entity.state = json!(state);
    if let Value::Object(map) = attributes {
        entity.attributes.extend(map);
    }
}

/// The name and area that a sentence of the kind "specific" has in mind.
fn thing(call: &Call, input: &str) -> EntityFile {
    let word = call.service.as_deref().and_then(|service| service.split('.').next()).unwrap_or("");
    let kind = match word {
        "blinds" => "blinds",
        "garage_door" => "garage door",
        "media_player" => "speaker",
        "switch" if input.contains("light") => "lights",
        other => other,
    };
    let device = call.device.as_deref().unwrap_or("").replace('_', " ");
    let mut entity = EntityFile {
        id: None,
        name: if device.ends_with(kind) { device } else { format!("{device} {kind}") },
        domain: Some(word.to_owned()),
        area: None,
        device: None,
        state: Value::Null,
        attributes: Map::new(),
    };
    ready(&mut entity);
    entity
}

fn verbs(service: &str) -> &'static [Verb] {
    match service.split('.').nth(1).unwrap_or("") {
        "turn_on" => &[Verb::TurnOn, Verb::Activate],
        "turn_off" => &[Verb::TurnOff],
        "toggle" => &[Verb::TurnOn, Verb::TurnOff, Verb::Open, Verb::Close],
        "open_cover" => &[Verb::Open],
        "close_cover" => &[Verb::Close],
        "stop_cover" => &[Verb::Stop],
        "lock" => &[Verb::Lock],
        "unlock" => &[Verb::Unlock],
        "increase_speed" | "decrease_speed" => &[Verb::SetPercentage],
        "media_play" => &[Verb::Play],
        "media_pause" => &[Verb::Pause],
        "media_stop" => &[Verb::Stop, Verb::TurnOff],
        "media_next_track" => &[Verb::NextTrack],
        "media_previous_track" => &[Verb::PreviousTrack],
        "volume_up" => &[Verb::VolumeUp],
        "volume_down" => &[Verb::VolumeDown],
        "volume_mute" => &[Verb::Mute],
        "start" => &[Verb::Start],
        "stop" => &[Verb::Stop, Verb::ReturnToBase],
        "pause" => &[Verb::Pause],
        "return_to_base" => &[Verb::ReturnToBase],
        _ => &[],
    }
}

fn did(call: &Call, actions: &[Action], homes: &BTreeMap<String, String>) -> bool {
    let service = call.service.as_deref().unwrap_or("");
    let faster = service.ends_with("increase_speed");
    let wanted = call.entity.as_deref().and_then(|id| homes.get(id));
    actions.iter().any(|action| {
        let right = wanted.is_none_or(|id| action.entity.as_str() == id);
        let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
        let direction = match action.verb {
            Verb::SetPercentage => number(Arg::Percentage).is_some_and(|level| (level > 50.0) == faster),
            _ => true,
        };
        let color = !call.args.contains_key("color") || action.args.contains_key(&Arg::RgbColor);
        let level = !call.args.contains_key("brightness") || action.args.contains_key(&Arg::BrightnessPct);
        right && verbs(service).contains(&action.verb) && direction && color && level
    })
}

#[test]
fn home_llm() {
    let Some(folder) = data() else { return };
    let folder = folder.join("home-llm");
    let nlu = Nlu::new().unwrap();
    let homes = eval::home::read(&std::fs::read_to_string(folder.join("en.homes.jsonl")).unwrap()).unwrap();
    let lines = std::fs::read_to_string(folder.join("en.jsonl")).unwrap();
    let mut by_kind: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let others: Vec<HomeFile> = homes.values().map(furnished).collect();
    for line in lines.lines() {
        let line: Line = serde_json::from_str(line).unwrap();
        let mut home = match line.home.as_ref().and_then(|id| homes.get(id)) {
            Some(home) => furnished(home),
            None => HomeFile {
                id: "specific".into(),
                floors: vec![],
                areas: vec![],
                devices: vec![],
                entities: vec![],
            },
        };
        if line.kind == "specific" {
            home.entities.extend(line.expect.iter().map(|call| thing(call, &line.input)));
        }
        if line.kind == "refusal" {
            // The device is not there: nothing may be done.
            let used = others.first().cloned();
            home.entities = used.map(|home| home.entities).unwrap_or_default();
        }
        let ids: BTreeMap<String, String> = home
            .entities
            .iter()
            .enumerate()
            .filter_map(|(number, entity)| {
                let id = entity.id.clone()?;
                let (word, object) = id.split_once('.')?;
                let mapped = domain(word);
                let ours = if mapped == word {
                    id.clone()
                } else {
                    homeloop::home::EntityId::from_name(Domain::Cover, &format!("{} {number}", entity.name))
                        .to_string()
                };
                let _ = object;
                Some((id, ours))
            })
            .collect();
        let house = eval::house(&home, now().with_timezone(&Utc));
        let request =
            Request { text: &line.input, language: Some("en"), area: None, device: None, now: now() };
        let got = nlu.understand(&request, &house, &Dialogue::default());
        let actions: Vec<Action> = match &got {
            Understanding::Act(intents) => intents
                .iter()
                .flat_map(|intent| match intent {
                    Intent::Actions(actions) => actions.clone(),
                    _ => Vec::new(),
                })
                .collect(),
            _ => Vec::new(),
        };
        let timer = matches!(&got, Understanding::Act(intents) if matches!(intents.first(), Some(Intent::Timer(TimerChange::Start { .. } | TimerChange::Cancel(_)))));
        let fits = match line.kind.as_str() {
            "status" => {
                let query =
                    line.expect.first().and_then(|call| call.query.as_deref()).and_then(|id| ids.get(id));
                matches!(&got, Understanding::Answer { entities, .. } if entities.len() == 1
                    && entities.first().map(|id| id.as_str()) == query.map(String::as_str))
                    || matches!(&got, Understanding::Act(intents) if matches!(intents.first(), Some(Intent::List(_))))
            }
            "refusal" => true,
            _ => {
                let timed = line
                    .expect
                    .iter()
                    .any(|call| call.service.as_deref().is_some_and(|service| service.starts_with("timer.")));
                if timed {
                    timer
                } else {
                    actions.len() == line.expect.len()
                        && line.expect.iter().all(|call| did(call, &actions, &ids))
                }
            }
        };
        let score = by_kind.entry(line.kind.clone()).or_default();
        score.1 += 1;
        score.0 += usize::from(fits);
        if !fits {
            let wanted: Vec<String> = line
                .expect
                .iter()
                .map(|call| {
                    format!(
                        "{} {}",
                        call.service.as_deref().unwrap_or("?"),
                        call.entity.as_deref().or(call.device.as_deref()).unwrap_or("")
                    )
                })
                .collect();
            let short: String = format!("{got:?}").chars().take(220).collect();
            println!("home-llm {} {:?} wants {wanted:?}\n    {short}", line.kind, line.input);
        }
    }
    let counted: (usize, usize) = by_kind
        .iter()
        .filter(|(kind, _)| *kind != "refusal")
        .fold((0, 0), |sum, (_, score)| (sum.0 + score.0, sum.1 + score.1));
    println!("home-llm: {counted:?} = {:.1} %; {by_kind:?}", counted.0 as f64 * 100.0 / counted.1 as f64);
    assert!(counted.0 * 100 >= counted.1 * 90, "home-llm: less than 90 %");
}
