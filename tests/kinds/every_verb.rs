//! Every verb of every entity of the home, with every argument that it takes: the bytes that leave, the outcome, and
//! the sentences in both languages, as one snapshot that a person has read. A verb that nobody thought of shows there.

use homeloop::home::{Action, ActionSpec, ArgKind, EntityId};
use serde_json::{Map, Value, json};

use crate::home::Home;

/// A value in the middle of what an argument allows; never the one that holds at the start.
fn value(kind: &ArgKind) -> Value {
    match kind {
        ArgKind::Number { min, max, .. } => json!(((min + max) / 2.0).round().clamp(*min, *max)),
        ArgKind::Choice(options) => json!(options.last()),
        ArgKind::Text { .. } => json!("Hello"),
        ArgKind::Bool => json!(true),
        ArgKind::Rgb => json!([255, 0, 0]),
        ArgKind::Numbers { limits, whole } => {
            let half = |limit: &f64| if *whole { (limit / 2.0).round() } else { limit / 2.0 };
            json!(limits.iter().map(half).collect::<Vec<f64>>())
        }
    }
}

/// The verb alone, or with its required arguments, and then with each optional one.
fn calls(id: &EntityId, spec: &ActionSpec) -> Vec<Action> {
    let required: Map<String, Value> = spec
        .args
        .iter()
        .filter(|arg| arg.required)
        .map(|arg| (arg.name.word().to_owned(), value(&arg.kind)))
        .collect();
    let each = spec.args.iter().filter(|arg| !arg.required).map(|arg| {
        let mut args = required.clone();
        args.insert(arg.name.word().to_owned(), value(&arg.kind));
        args
    });
    let all: Vec<Map<String, Value>> = std::iter::once(required.clone()).chain(each).collect();
    all.iter()
        .filter_map(|args| {
            // A set of arguments that only makes sense together with another one is no call.
            let args = spec.check(args).ok()?;
            Some(Action { entity: id.clone(), verb: spec.verb, args })
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_verb_of_every_entity_is_sent_confirmed_and_told() {
    let mut ids: Vec<(EntityId, Vec<ActionSpec>)> = Home::start()
        .await
        .house
        .read()
        .entities()
        .map(|entity| (entity.id.clone(), entity.actions.clone()))
        .collect();
    ids.sort_by(|one, other| one.0.cmp(&other.0));
    let mut told = String::new();
    for (id, specs) in ids {
        for spec in specs {
            for call in calls(&id, &spec) {
                let home = Home::start().await;
                let done = home.act(std::slice::from_ref(&call)).await;
                let sent: Vec<String> =
                    done.sent.iter().map(|(topic, payload)| format!("{topic} {payload}")).collect();
                let asked = if done.asked { "asked, " } else { "" };
                assert!(!done.en.is_empty() && !done.zh.is_empty(), "{call} is not told");
                told.push_str(&format!(
                    "{call}\n  {}\n  {asked}{}\n  {}\n  {}\n",
                    sent.join(" | "),
                    done.outcome(id.as_str()),
                    done.en,
                    done.zh
                ));
            }
        }
    }
    insta::assert_snapshot!(told);
}
