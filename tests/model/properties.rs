//! Whatever models say and however their streams end, what every task must hold holds; and a record can be resumed
//! from any of its prefixes without doing anything twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use homeloop::actuate::Door;
use homeloop::agent::Event;
use homeloop::home::{EntityId, Update};
use homeloop::journal::{Durability, NewEvent};
use homeloop::policy::{AnswerWord, ApprovalState, Channel, Principal, Scope};
use proptest::prelude::*;
use serde_json::json;

use crate::harness::model_settings;
use crate::model_server::{After, Answer, Api, ModelServer, Part};
use crate::world::{World, check, switch};

/// Calls that models make: right ones, gated ones, wrong ones.
fn calls() -> Vec<(&'static str, String)> {
    let say = |tool, arguments: serde_json::Value| (tool, arguments.to_string());
    vec![
        ("light", switch("turn_on", &["light.kitchen"])),
        ("light", switch("turn_off", &["light.kitchen", "light.hall"])),
        ("switch", switch("turn_on", &["switch.fan"])),
        ("cover", switch("close", &["cover.curtain"])),
        ("lock_unlock", switch("unlock", &["lock.front"])),
        ("lock_lock", switch("lock", &["lock.front"])),
        say("get_state", json!({"entities": ["lock.front", "sensor.doorbell_text"]})),
        say("find_entities", json!({"query": "lamp"})),
        say("timer", json!({"action": "start", "seconds": 60})),
        say("ask_user", json!({"question": "Which one?"})),
        say("finish", json!({})),
        say("light", json!({"verb": "unlock", "entities": ["lock.front"]})),
        say("no_such_tool", json!({})),
        ("light", "{\"verb\":\"turn_on\",".to_owned()),
        ("lock_unlock", "[]".to_owned()),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let parts = prop::collection::vec((0..calls().len(), 0_u8..3, any::<bool>()), 0..5).prop_map(|chosen| {
        let pool = calls();
        let part = |(which, id, speaks): (usize, u8, bool)| match speaks {
            true => Part::Text("I have done that. 好的 ".to_owned()),
            false => Part::Call {
                id: format!("id{id}"),
                name: pool[which].0.into(),
                arguments: pool[which].1.clone(),
            },
        };
        chosen.into_iter().map(part).collect::<Vec<_>>()
    });
    let delivery = (any::<u64>(), prop::option::of(0_usize..100));
    prop_oneof![
        8 => (parts, delivery).prop_map(|(parts, (seed, cut))| {
            let answer = Answer::parts(parts).split(seed);
            match cut {
                Some(percent) => answer.until(percent, After::Cut),
                None => answer,
            }
        }),
        1 => prop::sample::select(vec![401_u16, 429, 500, 529]).prop_map(Answer::status),
    ]
}

/// Plays the person: approves every second question, denies the rest.
async fn decide(door: Arc<Door>) {
    let person =
        Principal { name: "token:anna".into(), channel: Channel::Http, scopes: vec![Scope::Approve] };
    let mut changes = door.approval_changes();
    let mut count = 0_usize;
    while let Ok(approval) = changes.recv().await {
        if approval.state == ApprovalState::Pending {
            let word = if count.is_multiple_of(2) { AnswerWord::Approve } else { AnswerWord::Deny };
            count += 1;
            // It may have ended meanwhile.
            let _ = door.answer(&approval.id, &approval.plan_hash, word, None, &person).await;
        }
    }
}

async fn run(api: Api, script: Vec<Answer>) -> (World, Vec<Event>) {
    let server = ModelServer::start(script).await;
    let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
    let person = tokio::spawn(decide(world.door.clone()));
    let result = world.say("do what you want").await;
    person.abort();
    let beyond = "a request beyond the script";
    let faults: Vec<String> = server.faults().into_iter().filter(|fault| fault != beyond).collect();
    assert_eq!(faults, Vec::<String>::new(), "every request is one that a provider takes");
    assert!(server.requests().len() <= 40, "{}", server.requests().len());
    let events = world.events(&result.task).await;
    (world, events)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn for_random_scripts_the_invariants_of_the_loop_hold(
        script in prop::collection::vec(answer(), 1..6),
        anthropic in any::<bool>(),
    ) {
        let api = if anthropic { Api::Anthropic } else { Api::OpenAi };
        runtime().block_on(async {
            // `World::say` checks calls, results, decisions and the one end; here is what needs a person.
            let (world, events) = run(api, script).await;
            let approved: BTreeSet<&str> = events.iter().filter_map(|event| match event {
                Event::ApprovalEnded { call, verdict: homeloop::policy::Verdict::Approved, .. } => Some(call.as_str()),
                _ => None,
            }).collect();
            for event in &events {
                if let Event::Sending { call, action, gated, .. } = event {
                    let unlocks = action.verb == homeloop::home::Verb::Unlock;
                    assert_eq!(*gated, unlocks, "only unlocking needs a person in this house");
                    assert!(!unlocks || approved.contains(call.as_str()), "{call} was not approved");
                }
            }
            let sendings = events.iter().filter(|event| matches!(event, Event::Sending { .. })).count();
            assert!(world.devices.sent().len() <= sendings, "journal_before_send");
        });
    }
}

/// Invariant `state_is_fold_of_journal`: resuming from any prefix repeats no effect.
#[tokio::test]
async fn state_is_fold_of_journal_and_resuming_from_every_prefix_repeats_no_effect() {
    let unlock = switch("unlock", &["lock.front"]);
    let (on, fan) = (switch("turn_on", &["light.kitchen", "light.hall"]), switch("turn_on", &["switch.fan"]));
    for api in [Api::OpenAi, Api::Anthropic] {
        let script = vec![
            Answer::calls(&[("a", "light", &on), ("b", "lock_unlock", &unlock)]),
            Answer::calls(&[("c", "switch", &fan), ("d", "get_state", "{\"entities\":[\"lock.front\"]}")]),
            Answer::text("All done."),
        ];
        let (world, events) = run(api, script).await;
        assert_eq!(world.devices.sent().len(), 4, "the record holds two lamps, a lock and a fan");
        let ends = events.len() - 1;
        for obeyed in [true, false] {
            join_all((1..=ends).map(|length| resume(&events[..length], obeyed))).await;
        }
    }
}

/// `obeyed`: the devices did what they were told before the daemon stopped. Else they are as they were at the start, so
/// that whatever is sent again would be seen.
async fn resume(prefix: &[Event], obeyed: bool) {
    let Some(Event::Accepted { command }) = prefix.first() else { panic!("the first is accepted") };
    let world = World::new(vec![("nobody", model_settings(Api::OpenAi, "http://127.0.0.1:9/v1"))]);
    let done =
        [("light.kitchen", "on"), ("light.hall", "on"), ("switch.fan", "on"), ("lock.front", "unlocked")];
    for (entity, value) in done.into_iter().filter(|_| obeyed) {
        world.devices.report(&EntityId::parse(entity).expect("an id"), &Update::value(value));
    }
    for event in prefix {
        let row =
            NewEvent::of_task(&command.task, event.kind(), event).expect("JSON").about(event.entities());
        world.journal.append(row, Durability::Normal).await.expect("written");
    }
    let mut told = world.queue.agent().events();
    assert_eq!(world.queue.resume().await.expect("resumed"), 1);
    let ended = async {
        loop {
            if let Ok(event) = told.recv().await
                && matches!(event.event, Event::Finished { .. })
            {
                return;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), ended).await.expect("it ends");
    let before: Vec<String> = prefix
        .iter()
        .filter_map(|event| match event {
            Event::Sending { action, .. } => Some(format!("{} {}", action.entity, action.verb)),
            _ => None,
        })
        .collect();
    for sent in world.devices.sent() {
        assert!(!before.contains(&sent), "{sent} again, after {} events", prefix.len());
    }
    let whole = world.events(&command.task).await;
    check(&whole);
}
