//! A plan as a whole: how it is parted, what is said where it is denied, and whether it may be sent twice.

use homeloop::actuate::{Outcome, OutcomeEntry, RedeemError};
use homeloop::home::{EntityId, Verb};
use homeloop::policy::Decision;

use crate::world::{Behaviour, World, action};

#[tokio::test(start_paused = true)]
async fn only_what_is_asked_about_is_parted() {
    let world = World::new(1);
    let lamp_and = |others: &[(&str, Verb)]| {
        let mut actions = vec![action("light.kitchen", Verb::TurnOn)];
        actions.extend(others.iter().map(|(id, verb)| action(id, *verb)));
        world.plan(&actions)
    };
    let asked = lamp_and(&[("lock.front", Verb::Unlock)]);
    let (free, gated) = world.door.split(&asked, &world.decide(&asked)).unwrap();
    assert_eq!(free.actions(), [action("light.kitchen", Verb::TurnOn)]);
    assert_eq!(gated.actions(), [action("lock.front", Verb::Unlock)]);
    // A part is the plan that its actions alone would give: what is asked about it stays good.
    for part in [&free, &gated] {
        assert_eq!(part.hash(), world.plan(&part.actions()).hash());
    }
    let all_gated = world.plan(&[action("lock.front", Verb::Unlock)]);
    assert_eq!(world.door.split(&all_gated, &world.decide(&all_gated)), None);
    // A ban holds for all of it: no part is done alone.
    let denied = lamp_and(&[("lock.front", Verb::Unlock), ("update.lamp", Verb::Install)]);
    assert_eq!(world.decide(&denied).decision(), Decision::Deny);
    assert_eq!(world.door.split(&denied, &world.decide(&denied)), None);
    // Nor does the decision about one plan part another.
    let other = lamp_and(&[("lock.back", Verb::Unlock)]);
    assert_eq!(world.door.split(&asked, &world.decide(&other)), None);
    let allowed = lamp_and(&[]);
    assert_eq!(world.door.split(&allowed, &world.decide(&allowed)), None);
}

#[tokio::test(start_paused = true)]
async fn a_denied_plan_says_of_each_part_why() {
    let world = World::new(1);
    let plan = world.plan(&[action("light.kitchen", Verb::TurnOn), action("update.lamp", Verb::Install)]);
    let told = world.door.refused(&plan, &world.decide(&plan));
    let causes: Vec<(Outcome, Option<&str>)> =
        told.iter().map(|entry: &OutcomeEntry| (entry.outcome, entry.cause.as_deref())).collect();
    assert_eq!(causes, [(Outcome::Refused, Some("refused_with_others")), (Outcome::Refused, Some("policy"))]);
    assert!(told[1].details[0].contains("it replaces firmware"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn only_what_changes_nothing_the_second_time_may_be_sent_twice() {
    let world = World::new(1);
    for (id, verb, absolute) in [
        ("light.kitchen", Verb::TurnOn, true),
        ("switch.fan", Verb::TurnOff, true),
        // A compressor, a motor, a bolt and a bell.
        ("climate.living", Verb::TurnOff, false),
        ("cover.curtain", Verb::Close, false),
        ("lock.front", Verb::Lock, false),
        ("button.bell", Verb::Press, false),
    ] {
        assert_eq!(world.door.is_absolute(&world.plan(&[action(id, verb)])), absolute, "{id} {verb}");
    }
    let both = world.plan(&[action("light.kitchen", Verb::TurnOn), action("button.bell", Verb::Press)]);
    assert!(!world.door.is_absolute(&both));
}

/// Two calls of one turn that are opposite are done in their order, one at a time; what lets people in still asks.
#[tokio::test(start_paused = true)]
async fn b19_opposite_calls_are_done_in_their_order_and_each_is_decided_about() {
    let world = World::new(1);
    world.devices.behave("light.kitchen", Behaviour::Slow(500));
    let (on, off) = ([action("light.kitchen", Verb::TurnOn)], [action("light.kitchen", Verb::TurnOff)]);
    let (first, second) = tokio::join!(world.act(&on), world.act(&off));
    assert_eq!((first[0].outcome, second[0].outcome), (Outcome::Confirmed, Outcome::Confirmed));
    let truth = || world.devices.truth.lock().unwrap().clone();
    assert_eq!(truth()[&EntityId::parse("light.kitchen").unwrap()], "off");
    world.is("lock.front", "unlocked");
    let (lock, unlock) = ([action("lock.front", Verb::Lock)], [action("lock.front", Verb::Unlock)]);
    assert_eq!(world.decide(&world.plan(&unlock)).decision(), Decision::Ask);
    let (locked, asked) = tokio::join!(world.act(&lock), world.ask("t", &unlock));
    assert_eq!(locked[0].outcome, Outcome::Confirmed);
    assert_eq!(truth()[&EntityId::parse("lock.front").unwrap()], "locked");
    // It was asked about a lock that was open: now that it is locked it would be another thing.
    world.approve(&asked).await.unwrap();
    assert!(matches!(world.carry_out(&asked).await, Err(RedeemError::Invalidated(_))));
    assert_eq!(truth()[&EntityId::parse("lock.front").unwrap()], "locked");
}

/// Of a plan that is no longer whole nothing is done, though the rest would need nobody.
#[tokio::test(start_paused = true)]
async fn a_plan_whose_device_is_gone_is_denied() {
    let world = World::new(1);
    let plan = world.plan(&[action("light.kitchen", Verb::TurnOn), action("light.hall", Verb::TurnOn)]);
    assert_eq!(world.decide(&plan).decision(), Decision::Allow);
    world.house.write().remove(&EntityId::parse("light.hall").unwrap());
    assert_eq!(world.decide(&plan).decision(), Decision::Deny);
}
