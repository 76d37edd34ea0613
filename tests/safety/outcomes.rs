//! What the door says became of an action, whatever the device does.

use std::sync::atomic::Ordering;
use std::time::Duration;

use homeloop::actuate::{Outcome, OutcomeEntry};
use homeloop::home::{Arg, ArgValue, EntityId, Update, Verb};
use homeloop::policy::Permit;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::world::{Behaviour, World, action};

fn told(entry: &OutcomeEntry) -> (Outcome, Option<&str>) {
    (entry.outcome, entry.cause.as_deref())
}

#[tokio::test(start_paused = true)]
async fn every_behaviour_has_its_outcome() {
    use Behaviour::{Down, Obey, Refuse, Retained, Revert, Silent, Slow, Uncertain};
    use Outcome::{Confirmed, Contradicted, NotSent, Unconfirmed};
    let on = Verb::TurnOn;
    for (id, verb, behaviour, outcome, cause, sends) in [
        ("light.kitchen", on, Obey, Confirmed, None, 1),
        ("light.kitchen", on, Slow(2_900), Confirmed, None, 1),
        ("light.kitchen", on, Slow(4_000), Confirmed, None, 2), // repeated once
        ("light.kitchen", on, Silent, Unconfirmed, Some("no_answer"), 2),
        ("light.kitchen", on, Refuse, Contradicted, Some("opposite"), 1),
        ("light.kitchen", on, Retained, Unconfirmed, Some("no_answer"), 2),
        ("light.kitchen", on, Down, NotSent, Some("link_down"), 0),
        ("light.kitchen", on, Uncertain { arrives: true }, Unconfirmed, Some("no_answer"), 2),
        ("light.blind", on, Obey, Unconfirmed, Some("cannot_confirm"), 1),
        ("button.bell", Verb::Press, Obey, Unconfirmed, Some("cannot_confirm"), 1),
        ("cover.curtain", Verb::Close, Slow(30_000), Confirmed, None, 1),
        ("cover.curtain", Verb::Close, Silent, Unconfirmed, Some("no_answer"), 1),
        ("cover.curtain", Verb::Close, Revert, Contradicted, Some("opposite"), 1),
        ("alarm_control_panel.home", Verb::ArmAway, Slow(60_000), Confirmed, None, 1),
        ("alarm_control_panel.home", Verb::ArmAway, Revert, Contradicted, Some("opposite"), 1),
        ("alarm_control_panel.home", Verb::ArmAway, Refuse, Contradicted, Some("opposite"), 1),
    ] {
        let world = World::new(1);
        world.devices.behave(id, behaviour);
        let outcomes = world.act(&[action(id, verb)]).await;
        assert_eq!(told(&outcomes[0]), (outcome, cause), "{id} {behaviour:?}");
        assert_eq!(world.sent(), sends, "{id} {behaviour:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_jams_says_so_and_is_not_repeated() {
    for (behaviour, outcome, cause) in [
        (Behaviour::Jam, Outcome::Contradicted, "jammed"),
        (Behaviour::Refuse, Outcome::Contradicted, "opposite"),
        (Behaviour::Silent, Outcome::Unconfirmed, "no_answer"),
    ] {
        let world = World::new(1);
        world.is("lock.front", "unlocked");
        world.devices.behave("lock.front", behaviour);
        let outcomes = world.act(&[action("lock.front", Verb::Lock)]).await;
        assert_eq!(told(&outcomes[0]), (outcome, Some(cause)));
        assert_eq!(world.devices.sent_to("lock.front"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_to_arm_names_the_open_zones() {
    let world = World::new(1);
    let zones = Update {
        attributes: vec![("open_zones".into(), Some(json!(["Balcony door"])))],
        ..Update::default()
    };
    world.devices.report(&EntityId::parse("alarm_control_panel.home").unwrap(), &zones, true);
    world.devices.behave("alarm_control_panel.home", Behaviour::Revert);
    let entry = &world.act(&[action("alarm_control_panel.home", Verb::ArmAway)]).await[0];
    assert_eq!(told(entry), (Outcome::Contradicted, Some("open_zones")));
    assert_eq!(entry.details, ["Balcony door"]);
    assert_eq!(entry.reported.as_deref(), Some("disarmed"));
    // Armed all the same, the zones are no news.
    world.devices.behave("alarm_control_panel.home", Behaviour::Obey);
    let entry = &world.act(&[action("alarm_control_panel.home", Verb::ArmAway)]).await[0];
    assert_eq!(told(entry), (Outcome::Confirmed, None));
    assert!(entry.details.is_empty(), "{entry:?}");
}

#[tokio::test(start_paused = true)]
async fn b18_what_is_already_so_is_not_sent() {
    let world = World::new(1);
    for (id, verb) in
        [("light.kitchen", Verb::TurnOff), ("cover.curtain", Verb::Open), ("lock.front", Verb::Lock)]
    {
        assert_eq!(world.act(&[action(id, verb)]).await[0].outcome, Outcome::Already, "{id}");
    }
    assert_eq!(world.sent(), 0);
    // Known by a retained message of a new connection, or from before the reconnect: sent.
    world.devices.connection.store(2, Ordering::SeqCst);
    world.devices.report(&EntityId::parse("light.kitchen").unwrap(), &Update::value("off"), false);
    assert_eq!(world.act(&[action("light.kitchen", Verb::TurnOff)]).await[0].outcome, Outcome::Confirmed);
    assert_eq!(world.act(&[action("lock.front", Verb::Lock)]).await[0].outcome, Outcome::Confirmed);
    assert_eq!(world.sent(), 2);
}

#[tokio::test(start_paused = true)]
async fn b16_what_is_offline_gets_nothing() {
    let world = World::new(1);
    let offline = Update { availability: Some(homeloop::home::Availability::Offline), ..Update::default() };
    world.devices.report(&EntityId::parse("light.kitchen").unwrap(), &offline, true);
    let outcomes = world.act(&[action("light.kitchen", Verb::TurnOn)]).await;
    assert_eq!(told(&outcomes[0]), (Outcome::NotSent, Some("offline")));
    // What a person approved is not kept for later either: it is over, and the lock that comes back stays as it is.
    let lock = EntityId::parse("lock.front").unwrap();
    let approval = world.ask("t", &[action("lock.front", Verb::Unlock)]).await;
    world.devices.report(&lock, &offline, true);
    world.approve(&approval).await.unwrap();
    let outcomes = world.carry_out(&approval).await.unwrap();
    assert_eq!(told(&outcomes[0]), (Outcome::NotSent, Some("offline")));
    let online = Update { availability: Some(homeloop::home::Availability::Online), ..Update::default() };
    for id in ["light.kitchen", "lock.front"] {
        world.devices.report(&EntityId::parse(id).unwrap(), &online, true);
    }
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!(world.carry_out(&approval).await.unwrap(), outcomes, "told again, not done again");
    assert_eq!(world.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_sent_while_down() {
    let world = World::new(1);
    world.devices.up.store(false, Ordering::SeqCst);
    let outcomes =
        world.act(&[action("light.kitchen", Verb::TurnOn), action("lock.front", Verb::Lock)]).await;
    assert!(outcomes.iter().all(|entry| told(entry) == (Outcome::NotSent, Some("link_down"))));
    world.devices.up.store(true, Ordering::SeqCst);
    world.devices.connection.store(2, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!(world.sent(), 0, "nothing was kept for later");
}

#[tokio::test(start_paused = true)]
async fn f7_a_gated_action_of_unknown_fate_is_not_sent_again() {
    for arrives in [true, false] {
        let world = World::new(1);
        world.devices.behave("lock.front", Behaviour::Uncertain { arrives });
        let approval = world.ask("t", &[action("lock.front", Verb::Unlock)]).await;
        world.approve(&approval).await.unwrap();
        let outcomes = world.carry_out(&approval).await.unwrap();
        assert_eq!(told(&outcomes[0]), (Outcome::Unconfirmed, Some("no_answer")));
        assert_eq!(world.sent(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn leaves_run_side_by_side_and_are_told_in_order() {
    let world = World::new(1);
    world.devices.behave("cover.curtain", Behaviour::Slow(20_000));
    world.devices.behave("light.kitchen", Behaviour::Slow(1_000));
    let begun = world.clock.since_boot();
    let outcomes = world
        .act(&[
            action("cover.curtain", Verb::Close),
            action("light.lamps", Verb::TurnOn),
            action("switch.fan", Verb::TurnOn),
        ])
        .await;
    let ids: Vec<&str> = outcomes.iter().map(|entry| entry.action.entity.as_str()).collect();
    assert_eq!(ids, ["cover.curtain", "light.kitchen", "light.hall", "switch.fan"]);
    assert!(outcomes.iter().all(|entry| entry.outcome == Outcome::Confirmed));
    assert_eq!(world.clock.since_boot() - begun, Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_task_sends_no_more_and_verifies_what_it_sent() {
    let world = World::new(1);
    world.devices.behave("light.kitchen", Behaviour::Slow(1_000));
    let plan = world.plan(&[action("light.kitchen", Verb::TurnOn)]);
    let cancel = CancellationToken::new();
    let permit = Permit::free(&world.decide(&plan)).unwrap();
    let (outcomes, ()) =
        tokio::join!(world.door.perform(&plan, permit, world.record.as_ref(), &cancel), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            cancel.cancel();
        });
    assert_eq!(outcomes[0].outcome, Outcome::Confirmed);
    let later = world.plan(&[action("light.hall", Verb::TurnOn)]);
    let permit = Permit::free(&world.decide(&later)).unwrap();
    let outcomes = world.door.perform(&later, permit, world.record.as_ref(), &cancel).await;
    assert_eq!(told(&outcomes[0]), (Outcome::NotSent, Some("cancelled")));
    assert_eq!(world.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn stop_needs_no_model() {
    let world = World::new(1);
    world.devices.behave("cover.curtain", Behaviour::Slow(60_000));
    let begun = world.clock.since_boot();
    let close = [action("cover.curtain", Verb::Close)];
    let (moved, stopped) = tokio::join!(world.act(&close), async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        world.devices.behave("cover.curtain", Behaviour::Obey);
        world.door.stop_movers(world.record.as_ref()).await
    });
    assert_eq!(told(&moved[0]), (Outcome::Unconfirmed, Some("stopped")));
    assert_eq!(stopped[0].outcome, Outcome::Confirmed);
    assert_eq!(world.clock.since_boot() - begun, Duration::from_secs(5), "it does not wait for the movement");
    assert_eq!(world.door.stop_movers(world.record.as_ref()).await, []);
}

#[tokio::test(start_paused = true)]
async fn motors_rest_before_they_turn_back() {
    let world = World::new(1);
    world.act(&[action("cover.curtain", Verb::Close)]).await;
    let begun = world.clock.since_boot();
    world.act(&[action("cover.curtain", Verb::Open)]).await;
    assert_eq!(world.clock.since_boot() - begun, Duration::from_secs(2));
    let off = || [action("climate.living", Verb::TurnOff)];
    world.act(&[action("climate.living", Verb::TurnOn)]).await;
    let outcomes = world.act(&off()).await;
    assert_eq!(told(&outcomes[0]), (Outcome::NotSent, Some("too_soon")));
    assert_eq!(outcomes[0].details, ["180 s"]);
    tokio::time::advance(Duration::from_secs(180)).await;
    assert_eq!(world.act(&off()).await[0].outcome, Outcome::Confirmed);
}

/// Leave is for now: it is not kept while another command has the turn.
#[tokio::test(start_paused = true)]
async fn what_was_approved_does_not_wait_long_for_its_turn() {
    let world = World::new(1);
    world.set_policy(|policy| policy.approvals.dispatch_s = 1).await;
    world.devices.behave("lock.front", Behaviour::Silent);
    let mut approved = Vec::new();
    for (task, verb) in [("a", Verb::Unlock), ("b", Verb::Open)] {
        let approval = world.ask(task, &[action("lock.front", verb)]).await;
        world.approve(&approval).await.unwrap();
        approved.push(approval);
    }
    let (one, two) = tokio::join!(world.carry_out(&approved[0]), world.carry_out(&approved[1]));
    assert_eq!(told(&one.unwrap()[0]), (Outcome::Unconfirmed, Some("no_answer")));
    assert_eq!(told(&two.unwrap()[0]), (Outcome::NotSent, Some("waited")));
    assert_eq!(world.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn codes_are_filled_in_at_the_last_moment_and_stand_nowhere_else() {
    let world = World::new(1);
    world.is("alarm_control_panel.home", "armed_away");
    let approval = world.ask("t", &[action("alarm_control_panel.home", Verb::Disarm)]).await;
    world.approve(&approval).await.unwrap();
    assert_eq!(world.carry_out(&approval).await.unwrap()[0].outcome, Outcome::Confirmed);
    let sent = world.devices.sent.lock().unwrap();
    assert!(sent[0].1.payload.contains("\"code\":\"4711\""));
    let rows = format!("{:?}", world.store.rows.lock().unwrap());
    assert!(!rows.contains("4711") && rows.contains("${secret:panel}"));
}

#[tokio::test(start_paused = true)]
async fn values_of_a_dimmed_lamp_are_compared() {
    let world = World::new(1);
    let dim = || [action("light.kitchen", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(40.0))];
    assert_eq!(world.act(&dim()).await[0].outcome, Outcome::Confirmed);
    assert_eq!(world.act(&dim()).await[0].outcome, Outcome::Already);
    let brighter = [action("light.kitchen", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(60.0))];
    assert_eq!(world.act(&brighter).await[0].outcome, Outcome::Confirmed);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_the_first_send_confirms() {
    let world = World::new(1);
    world.devices.behave("light.kitchen", Behaviour::Slow(3_001));
    let begun = world.clock.since_boot();
    assert_eq!(world.act(&[action("light.kitchen", Verb::TurnOn)]).await[0].outcome, Outcome::Confirmed);
    assert_eq!(world.clock.since_boot() - begun, Duration::from_millis(3_001));
}

#[tokio::test(start_paused = true)]
async fn six_notifications_a_minute() {
    let world = World::new(1);
    let verbs = vec![homeloop::home::ActionSpec::new(Verb::SendMessage)];
    world.house.write().insert(crate::world::entity("notify.phone", "Phone", "", verbs));
    let send = [action("notify.phone", Verb::SendMessage)];
    for _ in 0..6 {
        assert_eq!(told(&world.act(&send).await[0]), (Outcome::Unconfirmed, Some("cannot_confirm")));
    }
    tokio::time::advance(Duration::from_secs(30)).await;
    for _ in 0..6 {
        assert_eq!(told(&world.act(&send).await[0]), (Outcome::NotSent, Some("too_soon")));
    }
    // What was not sent does not count.
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(world.act(&send).await[0].outcome, Outcome::Unconfirmed);
}
