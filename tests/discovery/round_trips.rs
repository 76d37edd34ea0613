//! Announce, report, command, the exact bytes, and what the device's answer is worth: every component that acts, over
//! a real broker and through the door.

#[path = "round_trips/air.rs"]
mod air;
#[path = "round_trips/guards.rs"]
mod guards;
#[path = "round_trips/lights.rs"]
mod lights;
#[path = "round_trips/movers.rs"]
mod movers;
#[path = "round_trips/native.rs"]
mod native;
#[path = "round_trips/simple.rs"]
mod simple;

use homeloop::actuate::Outcome;
use homeloop::home::{Action, Arg, ArgValue, EntityId, Verb};
use serde_json::{Value, json};

use super::house::House;
use crate::common::soon;

/// One command and its answer.
struct Step {
    verb: Verb,
    args: Vec<(Arg, ArgValue)>,
    /// Topics and payloads, all of them, in their order.
    sent: Vec<(&'static str, &'static str)>,
    /// What the device says then.
    answer: Vec<(&'static str, &'static str)>,
    outcome: Outcome,
    /// Value and attributes afterwards.
    shows: Value,
}

/// One announced thing.
struct Case {
    component: &'static str,
    name: &'static str,
    /// Null where it is announced already.
    config: Value,
    /// What the device says before.
    before: Vec<(&'static str, &'static str)>,
    steps: Vec<Step>,
}

fn step(
    verb: Verb,
    args: &[(Arg, ArgValue)],
    sent: &[(&'static str, &'static str)],
    answer: &[(&'static str, &'static str)],
    shows: Value,
) -> Step {
    Step {
        verb,
        args: args.to_vec(),
        sent: sent.to_vec(),
        answer: answer.to_vec(),
        outcome: Outcome::Confirmed,
        shows,
    }
}

/// A command that no report can confirm.
fn blind(verb: Verb, args: &[(Arg, ArgValue)], sent: &[(&'static str, &'static str)], shows: Value) -> Step {
    Step { outcome: Outcome::Unconfirmed, ..step(verb, args, sent, &[], shows) }
}

fn number(value: f64) -> ArgValue {
    ArgValue::Number(value)
}

fn numbers(values: &[f64]) -> ArgValue {
    ArgValue::Numbers(values.to_vec())
}

fn text(value: &str) -> ArgValue {
    ArgValue::Text(value.into())
}

/// Plays a case; the first thing that is not as it should be.
async fn run(house: &House, case: Case) -> Result<(), String> {
    let id = format!("{}.{}", case.component, case.name);
    let mut config = case.config;
    if !config.is_null() {
        config["name"] = json!(case.name);
        let topic = format!("homeassistant/{}/{}/config", case.component, case.name);
        house.announce(&topic, &config, &id).await;
    }
    // Kept by the broker, so that it is heard whenever the subscription stands.
    for (topic, payload) in &case.before {
        house.publish(topic, payload, true).await;
    }
    if !case.before.is_empty() {
        house.until(&id, "has reported", |state| state.value.is_some()).await;
    }
    for step in case.steps {
        let label = format!("{id} {}", step.verb);
        let mut action = Action::new(EntityId::parse(&id).unwrap(), step.verb);
        for (arg, value) in step.args {
            action = action.with(arg, value);
        }
        let from = house.recorder.all().len();
        let topics: Vec<&str> = step.sent.iter().map(|(topic, _)| *topic).collect();
        let device = async {
            soon(&format!("{label}: {} messages", topics.len()), async {
                while house.sent(&topics, from).len() < topics.len() {
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                }
            })
            .await;
            for (topic, payload) in &step.answer {
                house.publish(topic, payload, false).await;
            }
        };
        let (outcome, ()) = tokio::join!(house.perform(action), device);
        let outcome = outcome.map_err(|error| format!("{label}: {error}"))?;
        let expected: Vec<(String, String)> =
            step.sent.iter().map(|(topic, payload)| ((*topic).to_owned(), (*payload).to_owned())).collect();
        let sent = house.sent(&topics, from);
        if sent != expected {
            return Err(format!("{label} sent {sent:?}, not {expected:?}"));
        }
        if outcome.outcome != step.outcome {
            return Err(format!("{label}: {outcome:?}"));
        }
        for (name, value) in step.shows.as_object().unwrap() {
            let shows = |state: &homeloop::home::State| match name.as_str() {
                "state" => state.text() == value.as_str(),
                name => state.attributes.get(name).is_some_and(|own| same(own, value)),
            };
            house.until(&id, &format!("shows {name} {value} after {}", step.verb), shows).await;
        }
    }
    Ok(())
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        _ => one == other || one.as_f64().is_some_and(|one| other.as_f64() == Some(one)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_component_that_acts_does_what_is_asked_and_says_what_is_true() {
    // What would wait for a person here is allowed by rule: this is about bytes and reports.
    let gated = ["lock.door", "lock.safe", "alarm_control_panel.vault", "siren.siren", "lawn_mower.mower"];
    let Some(house) = House::start_with(guards::CODES, &gated, guards::SECRETS).await else { return };
    let mut wrong = Vec::new();
    let cases = [
        lights::lights(),
        lights::more_lights(),
        movers::movers(),
        air::air(),
        guards::guards(),
        guards::coded(),
        simple::simple(),
    ];
    for case in cases.into_iter().flatten() {
        wrong.extend(run(&house, case).await.err());
    }
    house.stop().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What Tasmota, zigbee2mqtt and Shelly announce in their own words acts and reports as exactly; who keeps no state
/// retained is asked for it.
#[tokio::test(flavor = "multi_thread")]
async fn devices_with_announcements_of_their_own_do_what_is_asked_too() {
    let Some(house) = House::start("", native::GATED).await else { return };
    for (topic, payload) in native::announcements() {
        house.publish(topic, &payload.to_string(), true).await;
    }
    let asked = ["cmnd/tlamp/STATE", "cmnd/tlamp/TelePeriod", "shellyx-a8032ab00001/rpc"];
    soon("devices are asked for their state", async {
        while house.sent(&asked, 0).len() < asked.len() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    })
    .await;
    let (topic, payload) = native::SHELLY;
    house.publish(topic, payload, false).await;
    let cases = [native::tasmota(), native::zigbee2mqtt(), native::shelly()];
    for id in native::GATED {
        house.until(id, "is announced", |_| true).await;
    }
    soon("topics are subscribed to", house.app.link().subscribed()).await;
    let mut wrong = Vec::new();
    for case in cases.into_iter().flatten() {
        wrong.extend(run(&house, case).await.err());
    }
    assert_eq!(house.sent(&asked, 0).iter().filter(|(_, sent)| sent.contains("GetStatus")).count(), 1);
    house.stop().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Firmware is never installed on anybody's word, and settings of devices are not for tools.
#[tokio::test(flavor = "multi_thread")]
async fn updates_and_settings_are_refused_whoever_asks() {
    let Some(house) = House::start("", &[]).await else { return };
    let update = json!({"name": "firmware", "stat_t": "firmware", "cmd_t": "firmware/set", "pl_inst": "go"});
    house.announce("homeassistant/update/firmware/config", &update, "update.firmware").await;
    house.publish("firmware", r#"{"installed_version":"1","latest_version":"2"}"#, true).await;
    house.until("update.firmware", "has a newer version", |state| state.text() == Some("on")).await;
    let setting =
        json!({"name": "setting", "stat_t": "setting", "cmd_t": "setting/set", "ent_cat": "config"});
    house.announce("homeassistant/switch/setting/config", &setting, "switch.setting").await;
    for (id, verb) in [("update.firmware", Verb::Install), ("switch.setting", Verb::TurnOn)] {
        let refused = house.perform(Action::new(EntityId::parse(id).unwrap(), verb)).await;
        assert!(refused.as_ref().is_err_and(|why| why.contains("G3")), "{id}: {refused:?}");
    }
    assert!(house.sent(&["firmware/set", "setting/set"], 0).is_empty());
    house.stop().await;
}
