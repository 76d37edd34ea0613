//! A model that wants to open the door: random sequences of calls, answers with the wrong credentials, touched rows.
//!
//! Nobody approves anything here, so whatever needs a person must never be sent. What needs a person is said by a list
//! of its own, not by the table under test. `HOMELOOP_SEQUENCES` sets how many sequences run.

use homeloop::home::{Action, Arg, ArgValue, Verb};
use homeloop::policy::{AnswerWord, Asked, Channel, Decision, Permit, Principal, Scope};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tokio_util::sync::CancellationToken;

use crate::world::{World, action, requester};

/// Sent only if a person approved it; nobody does.
fn needs_a_person(entity: &str, payload: &str) -> bool {
    let verb = |word: &str| payload.contains(&format!("\"verb\":\"{word}\""));
    match entity {
        "lock.front" | "lock.back" => verb("unlock") || verb("open"),
        "cover.garage" => verb("open") || verb("close"),
        "alarm_control_panel.home" => verb("disarm"),
        "siren.roof" | "switch.garage_door" | "script.unknown" => true,
        "update.lamp" | "switch.permit_join" => true,
        _ => false,
    }
}

const TARGETS: &[&str] = &[
    "light.kitchen",
    "light.lamps",
    "switch.fan",
    "switch.garage_door",
    "cover.curtain",
    "cover.garage",
    "climate.living",
    "lock.front",
    "lock.back",
    "alarm_control_panel.home",
    "siren.roof",
    "button.bell",
    "script.unknown",
    "update.lamp",
    "switch.permit_join",
    "lock.none",
];

fn pick<'a, T>(random: &mut StdRng, list: &'a [T]) -> &'a T {
    &list[random.random_range(0..list.len())]
}

/// Mostly what an entity really offers, so that the sequences get somewhere; else anything.
fn random_action(random: &mut StdRng, world: &World) -> Action {
    let target = pick::<&str>(random, TARGETS);
    let mut made = action(target, *pick(random, Verb::ALL));
    let offered = world.house.read().entity(target).cloned();
    if let Some(entity) = offered
        && random.random_bool(0.9)
    {
        made.verb = pick(random, &entity.actions).verb;
    }
    if made.verb == Verb::SetTemperature || random.random_bool(0.05) {
        let value = *pick(random, &[0.0, 1.0, 24.0, 40.0, 100.0, 1e9, -1.0, f64::NAN]);
        let arg = if made.verb == Verb::SetTemperature { Arg::Temperature } else { *pick(random, Arg::ALL) };
        made.args.insert(arg, ArgValue::Number(value));
    }
    made
}

fn impostor(random: &mut StdRng) -> Principal {
    let (channel, scopes) = pick(
        random,
        &[
            (Channel::Http, vec![Scope::Read, Scope::Command]),
            (Channel::Mcp, vec![Scope::Approve, Scope::Admin]),
            (Channel::Voice, vec![Scope::Approve]),
            (Channel::Schedule, vec![Scope::Approve]),
            (Channel::Chat, vec![Scope::Approve, Scope::Command]),
        ],
    )
    .clone();
    Principal { name: format!("impostor {}", random.next_u32() % 4), channel, scopes }
}

/// One step of an attack.
async fn step(world: &World, random: &mut StdRng, last: &mut Option<Permit>) {
    let actions: Vec<Action> = (0..random.random_range(1..4)).map(|_| random_action(random, world)).collect();
    let Ok(plan) = world.door.plan(&actions) else { return };
    let who = if random.random_bool(0.5) { requester() } else { impostor(random) };
    let asked = Asked { principal: &who, conversation: Some("c"), taint: None, sent: &[] };
    let decided = world.door.decide(&plan, &asked);
    let cancel = CancellationToken::new();
    match decided.decision() {
        Decision::Allow => {
            let permit = Permit::free(&decided).expect("allowed");
            if random.random_bool(0.1) {
                *last = Some(permit);
            } else {
                world.door.perform(&plan, permit, world.record.as_ref(), &cancel).await;
            }
        }
        Decision::Ask => {
            // A permit of another plan.
            if let Some(permit) = last.take() {
                world.door.perform(&plan, permit, world.record.as_ref(), &cancel).await;
            }
            let Ok(approval) = world.try_ask("t", &who, &actions).await else { return };
            let impostor = impostor(random);
            let word = AnswerWord::Approve;
            let answer = world.door.answer(&approval.id, &approval.plan_hash, word, None, &impostor).await;
            assert!(answer.is_err());
            if random.random_bool(0.3) {
                // Somebody in the database puts another plan into the row.
                world
                    .store
                    .tamper(&approval.id, |row| row.plan_json = row.plan_json.replace("front", "back"));
            }
            assert!(world.carry_out(&approval).await.is_err());
            world.door.cancel_approval(&approval.id).await.unwrap();
        }
        Decision::Deny => assert!(Permit::free(&decided).is_none()),
    }
}

#[tokio::test(start_paused = true)]
async fn adversarial_sequences_send_nothing_that_needs_a_person() {
    let sequences: u64 =
        std::env::var("HOMELOOP_SEQUENCES").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let mut sent = 0;
    for seed in 0..sequences {
        let mut random = StdRng::seed_from_u64(seed);
        let world = World::new(seed);
        let mut last = None;
        for _ in 0..random.random_range(1..6) {
            step(&world, &mut random, &mut last).await;
        }
        let log = world.devices.sent.lock().unwrap();
        sent += log.len();
        for (entity, message) in log.iter() {
            assert!(!needs_a_person(entity.as_str(), &message.payload), "seed {seed}: {message:?}");
        }
        assert!(!world.devices.unrecorded.load(std::sync::atomic::Ordering::SeqCst), "seed {seed}");
    }
    assert!(sent as u64 > sequences / 4, "the attack reached the door: {sent} sends");
    println!("{sequences} sequences, {sent} harmless sends, 0 that need a person");
}
