//! The hard utterances: exclusions, corrections, delays, negation, questions, dangerous and impossible ones.

use std::collections::BTreeMap;

use chrono::Utc;
use homeloop::eval::{self, Expectation};
use homeloop::home::{Action, Arg, ArgValue, EntityId, House, Verb};
use homeloop::nlu::{Dialogue, Intent, Nlu, Request, Understanding, When};
use serde::Deserialize;
use serde_json::Value;

use crate::sets::{data, now, perform, reply};

#[derive(Debug, Deserialize)]
struct Task {
    id: String,
    lang: String,
    home: String,
    context_area: Option<String>,
    history: Vec<Turn>,
    setup: BTreeMap<String, Expectation>,
    input: String,
    expect: Wish,
}

#[derive(Debug, Deserialize)]
struct Turn {
    user: String,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
struct Wish {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    calls: Vec<Call>,
    #[serde(default)]
    answer_contains: Vec<String>,
    also_ok: Option<Box<Wish>>,
}

#[derive(Debug, Deserialize)]
struct Call {
    tool: String,
    targets: Vec<String>,
    #[serde(default)]
    args: BTreeMap<String, Value>,
}

/// The actions that a call of the data means.
fn actions(call: &Call, house: &House) -> Vec<Action> {
    let number = |name: &str| call.args.get(name).and_then(Value::as_f64);
    let mut all = Vec::new();
    for target in &call.targets {
        let Ok(id) = EntityId::parse(target) else { continue };
        let brightness = house
            .state(id.as_str())
            .and_then(|state| state.attribute_number("brightness"))
            .map_or(100.0, |level| (level / 2.55).round());
        let action = |verb: Verb| Action::new(id.clone(), verb);
        let word = call.tool.rsplit('.').next().unwrap_or(&call.tool);
        all.push(match call.tool.as_str() {
            "light.set" => match number("brightness_pct") {
                Some(level) => action(Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(level)),
                None => action(Verb::TurnOn),
            },
            "light.step" => {
                let level = (brightness + number("delta_pct").unwrap_or(0.0)).clamp(1.0, 100.0);
                action(Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(level))
            }
            "climate.set_temperature" => action(Verb::SetTemperature)
                .with(Arg::Temperature, ArgValue::Number(number("temperature").unwrap_or(0.0))),
            "cover.set_position" => action(Verb::SetPosition)
                .with(Arg::Position, ArgValue::Number(number("position").unwrap_or(0.0))),
            "alarm.disarm" => action(Verb::Disarm),
            "scene.activate" => action(Verb::Activate),
            _ => match Verb::from_word(word) {
                Some(verb) => action(verb),
                None => continue,
            },
        });
    }
    all
}

/// The state after actions, as text; brightness within the tolerance of a step.
fn after(house: &House, actions: &[Action]) -> BTreeMap<String, String> {
    let mut house = house.clone();
    for action in actions {
        eval::apply(&mut house, action, now().with_timezone(&Utc));
    }
    house
        .entities()
        .filter_map(|entity| {
            let state = house.state(entity.id.as_str())?;
            let level = state.attribute_number("brightness").map(|level| (level / 40.0).round());
            let rest: Vec<String> = ["temperature", "current_position", "volume_level", "percentage"]
                .iter()
                .map(|name| format!("{:?}", state.attribute_number(name)))
                .collect();
            Some((entity.id.to_string(), format!("{:?} {level:?} {rest:?}", state.text())))
        })
        .collect()
}

fn flat(intents: &[Intent]) -> Vec<Action> {
    intents
        .iter()
        .flat_map(|intent| match intent {
            Intent::Actions(actions) => actions.clone(),
            _ => Vec::new(),
        })
        .collect()
}

fn fits(wish: &Wish, got: &Understanding, house: &House) -> bool {
    let answers = |text: &str| wish.answer_contains.iter().all(|part| text.contains(part.as_str()));
    match wish.kind.as_str() {
        "calls" | "confirm" => {
            let Understanding::Act(intents) = got else { return false };
            let now_calls: Vec<Action> = wish
                .calls
                .iter()
                .filter(|call| call.tool != "schedule")
                .flat_map(|call| actions(call, house))
                .collect();
            let scenes: Vec<&String> = wish
                .calls
                .iter()
                .filter(|call| call.tool == "scene.activate")
                .flat_map(|call| &call.targets)
                .collect();
            let mine = flat(intents);
            let my_scenes: Vec<String> = mine
                .iter()
                .filter(|action| action.verb == Verb::Activate)
                .map(|action| action.entity.to_string())
                .collect();
            let schedules = wish
                .calls
                .iter()
                .filter(|call| call.tool == "schedule")
                .all(|call| intents.iter().any(|intent| scheduled(call, intent)));
            let wished = wish.calls.iter().filter(|call| call.tool == "schedule").count();
            let planned = intents.iter().filter(|intent| matches!(intent, Intent::Schedule { .. })).count();
            after(house, &now_calls) == after(house, &mine)
                && scenes.len() == my_scenes.len()
                && scenes.iter().all(|scene| my_scenes.contains(scene))
                && schedules
                && wished == planned
        }
        "answer" => matches!(got, Understanding::Answer { text, .. } if answers(text)),
        "clarify" => {
            matches!(got, Understanding::Ask { .. })
                || matches!(got, Understanding::Refuse { reason: homeloop::nlu::RefuseReason::Condition, .. })
        }
        "refuse" => matches!(got, Understanding::Refuse { .. } | Understanding::NotUnderstood { .. }),
        "noop" => matches!(got, Understanding::Nothing { .. }),
        _ => false,
    }
}

fn scheduled(call: &Call, intent: &Intent) -> bool {
    let Intent::Schedule { when, intents } = intent else { return false };
    let time = match (when, call.args.get("after_s").and_then(Value::as_u64)) {
        (When::After { seconds }, Some(wanted)) => *seconds == wanted,
        (When::At { local }, None) => {
            let wanted = call.args.get("at").and_then(Value::as_str).unwrap_or("");
            let clock = wanted.rsplit(' ').next().unwrap_or("");
            local.format("%H:%M").to_string() == clock
        }
        (When::Every { .. } | When::After { .. } | When::At { .. }, _) => false,
    };
    let verb = call.args.get("action").and_then(Value::as_str).unwrap_or("");
    let actions = flat(intents);
    time && call.targets.len() == actions.len()
        && actions
            .iter()
            .all(|action| action.verb.word() == verb && call.targets.contains(&action.entity.to_string()))
}

#[test]
fn hard() {
    let Some(folder) = data() else { return };
    let nlu = Nlu::new().unwrap();
    let homes = eval::home::read(&std::fs::read_to_string(folder.join("hard.homes.jsonl")).unwrap()).unwrap();
    let tasks = std::fs::read_to_string(folder.join("hard.tasks.jsonl")).unwrap();
    let (mut passed, mut wrong, mut total) = (0, 0, 0);
    for line in tasks.lines() {
        let task: Task = serde_json::from_str(line).unwrap();
        let utc = now().with_timezone(&Utc);
        let mut house = eval::house(&homes[&task.home], utc);
        for (id, wanted) in &task.setup {
            eval::home::set(
                &mut house,
                &EntityId::parse(id).unwrap(),
                &wanted.state,
                &wanted.attributes,
                utc,
            );
        }
        let mut dialogue = Dialogue::default();
        for turn in &task.history {
            dialogue.actions = turn.calls.iter().flat_map(|call| actions(call, &house)).collect();
            dialogue.entities = dialogue.actions.iter().map(|action| action.entity.clone()).collect();
            dialogue.text = Some(turn.user.clone());
        }
        let request = Request {
            text: &task.input,
            language: Some(&task.lang),
            area: task.context_area.as_deref(),
            device: None,
            now: now(),
        };
        let got = nlu.understand(&request, &house, &dialogue);
        total += 1;
        let ok = fits(&task.expect, &got, &house)
            || task.expect.also_ok.as_ref().is_some_and(|wish| fits(wish, &got, &house));
        if ok {
            passed += 1;
            continue;
        }
        let acted = match &got {
            Understanding::Act(intents) => {
                let mut changed = house.clone();
                perform(&mut changed, intents);
                after(&changed, &[]) != after(&house, &[])
            }
            _ => false,
        };
        wrong += usize::from(acted);
        println!(
            "{}: {:?} in {:?}\n    {got:?}\n    {}",
            task.id,
            task.input,
            task.context_area,
            reply(&got)
        );
    }
    println!("hard: {passed}/{total} passed, {wrong} wrong actions");
    assert_eq!(wrong, 0, "hard: wrong actions");
    assert!(passed >= 34, "hard: {passed} of 34");
}
