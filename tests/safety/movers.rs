//! What moves: what a stop reaches, how long motors rest, and how long an opposite report may stand.

use std::time::Duration;

use homeloop::actuate::{Outcome, OutcomeEntry};
use homeloop::home::{ActionSpec, EntityId, Verb};

use crate::world::{Behaviour, World, action, entity};

fn told(entry: &OutcomeEntry) -> (Outcome, Option<&str>) {
    (entry.outcome, entry.cause.as_deref())
}

/// Music has a stop too and is no mover: whoever stops a shutter does not stop it.
#[tokio::test(start_paused = true)]
async fn a_stop_for_all_reaches_movers_alone() {
    let world = World::new(1);
    let verbs = [Verb::Play, Verb::Stop].map(ActionSpec::new).to_vec();
    world.house.write().insert(entity("media_player.hall", "Hall", "", verbs));
    world.devices.behave("media_player.hall", Behaviour::Silent);
    let play = [action("media_player.hall", Verb::Play)];
    let (_, stopped) = tokio::join!(world.act(&play), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.door.stop_movers(world.record.as_ref()).await
    });
    assert_eq!(stopped, []);
    let sent = world.devices.sent.lock().unwrap();
    assert!(sent.iter().all(|(_, message)| !message.payload.contains("stop")), "{sent:?}");
}

/// A stop while the motor rests before it turns: the turn is not made.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_what_waits_for_its_motor() {
    let world = World::new(1);
    world.act(&[action("cover.curtain", Verb::Close)]).await;
    let open = [action("cover.curtain", Verb::Open)];
    let stop = [action("cover.curtain", Verb::Stop)];
    let (opened, _) = tokio::join!(world.act(&open), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.act(&stop).await
    });
    assert_eq!(told(&opened[0]), (Outcome::NotSent, Some("cancelled")));
    assert_eq!(world.devices.sent_to("cover.curtain"), 2, "the closing and the stop");
}

/// What may trap somebody closes once a minute, counted from the closing and not from what came after it.
#[tokio::test(start_paused = true)]
async fn a_garage_door_closes_once_a_minute() {
    let world = World::new(1);
    world.is("cover.garage", "open");
    let mut last = Vec::new();
    for (task, verb) in [("a", Verb::Close), ("b", Verb::Open), ("c", Verb::Close)] {
        let approval = world.ask(task, &[action("cover.garage", verb)]).await;
        world.approve(&approval).await.unwrap();
        last = world.carry_out(&approval).await.unwrap();
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    assert_eq!(told(&last[0]), (Outcome::NotSent, Some("too_soon")));
    assert_eq!(last[0].details, ["40 s"]);
    assert_eq!(world.devices.sent_to("cover.garage"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_opposite_report_counts_when_its_time_is_over() {
    use Behaviour::{Refuse, Revert};
    for (id, before, verb, behaviour, millis) in [
        ("lock.front", "unlocked", Verb::Lock, Refuse, 10_000),
        ("alarm_control_panel.home", "disarmed", Verb::ArmAway, Refuse, 3_000),
        ("cover.curtain", "open", Verb::Close, Refuse, 90_000),
        // What had moved, and is back after half a second, has two seconds to go on.
        ("lock.front", "unlocked", Verb::Lock, Revert, 2_500),
        ("cover.curtain", "open", Verb::Close, Revert, 2_500),
    ] {
        let world = World::new(1);
        world.is(id, before);
        world.devices.behave(id, behaviour);
        let begun = world.clock.since_boot();
        let outcomes = world.act(&[action(id, verb)]).await;
        assert_eq!(told(&outcomes[0]), (Outcome::Contradicted, Some("opposite")), "{id}");
        assert_eq!(world.clock.since_boot() - begun, Duration::from_millis(millis), "{id} {behaviour:?}");
    }
}

/// What was sent last, and how long ago.
#[tokio::test(start_paused = true)]
async fn the_last_sent_verb_is_remembered() {
    let world = World::new(1);
    let kitchen = EntityId::parse("light.kitchen").unwrap();
    assert_eq!(world.door.last_sent(&kitchen), None);
    world.act(&[action("light.kitchen", Verb::TurnOff)]).await;
    assert_eq!(world.door.last_sent(&kitchen), None, "it was off already");
    world.act(&[action("light.kitchen", Verb::TurnOn)]).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(world.door.last_sent(&kitchen), Some((Verb::TurnOn, Duration::from_secs(5))));
}

/// A lock that reports the old state, and then moves after all, is waited for.
#[tokio::test(start_paused = true)]
async fn what_moves_again_is_no_longer_the_opposite() {
    let world = World::new(1);
    world.is("lock.front", "unlocked");
    world.devices.behave("lock.front", Behaviour::Silent);
    let lock = [action("lock.front", Verb::Lock)];
    let (outcomes, ()) = tokio::join!(world.act(&lock), async {
        for (seconds, value) in [(1, "unlocked"), (4, "locking"), (8, "locked")] {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            world.is("lock.front", value);
        }
    });
    assert_eq!(told(&outcomes[0]), (Outcome::Confirmed, None));
}

#[tokio::test(start_paused = true)]
async fn what_still_moves_at_the_end_is_told_so() {
    let world = World::new(1);
    world.devices.behave("cover.curtain", Behaviour::Slow(100_000));
    let outcomes = world.act(&[action("cover.curtain", Verb::Close)]).await;
    assert_eq!(told(&outcomes[0]), (Outcome::Unconfirmed, Some("still_moving")));
}
