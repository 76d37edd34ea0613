//! The architecture's invariants that the door holds, under their own names.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use homeloop::actuate::Outcome;
use homeloop::home::Verb;
use homeloop::policy::{ApprovalState, Decision, Permit};
use tokio_util::sync::CancellationToken;

use crate::world::{Behaviour, World, action};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Files under `src` whose text, without tests beside the code, holds any of `patterns`.
fn files_with(patterns: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 20, "the sources are not where they were");
    let mut named: Vec<String> = files
        .into_iter()
        .filter(|path| !path.ends_with("tests.rs"))
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            patterns.iter().any(|pattern| code.contains(pattern))
        })
        .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    named.sort();
    named
}

#[test]
fn only_actuate_sends() {
    assert_eq!(files_with(&["port.send("]), ["actuate/perform.rs"]);
    assert_eq!(
        files_with(&["dyn Port>", "dyn Port,"]).iter().filter(|file| file.starts_with("agent")).count(),
        0
    );
    // A permit is made in one place, and only of what has private fields.
    assert_eq!(files_with(&["Permit {"]), ["policy/permit.rs"]);
    assert_eq!(files_with(&["Permit::approved("]), ["actuate/redeem.rs"]);
    assert_eq!(files_with(&["Decided { plan_hash"]), ["policy/decide.rs"]);
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_for_one_plan() {
    let world = World::new(1);
    let lamp = world.plan(&[action("light.kitchen", Verb::TurnOn)]);
    let lock = world.plan(&[action("lock.front", Verb::Unlock)]);
    assert!(Permit::free(&world.decide(&lock)).is_none());
    let permit = Permit::free(&world.decide(&lamp)).unwrap();
    let outcomes = world.door.perform(&lock, permit, world.record.as_ref(), &CancellationToken::new()).await;
    assert_eq!(outcomes[0].outcome, Outcome::Refused);
    assert_eq!(world.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_effect_without_decision() {
    let world = World::new(1);
    let approval = world.ask("t", &[action("lock.front", Verb::Unlock)]).await;
    for state in ApprovalState::ALL {
        let mut row = approval.clone();
        row.state = state;
        row.decided_by = Some("somebody".into());
        assert_eq!(Permit::approved(&row).is_some(), state == ApprovalState::Executing, "{state:?}");
        row.decided_by = None;
        assert!(Permit::approved(&row).is_none(), "nobody decided");
    }
}

#[tokio::test(start_paused = true)]
async fn journal_before_send() {
    let world = World::new(1);
    let approval = world.ask("t", &[action("lock.front", Verb::Unlock)]).await;
    world.approve(&approval).await.unwrap();
    world.carry_out(&approval).await.unwrap();
    world.act(&[action("light.kitchen", Verb::TurnOn)]).await;
    assert!(!world.devices.unrecorded.load(Ordering::SeqCst));
    {
        let lines = world.record.lines.lock().unwrap();
        assert_eq!(lines[0].1, approval.plan_hash);
        assert_eq!(lines.iter().map(|line| line.2).collect::<Vec<_>>(), [true, false], "gated or not");
    }
    // The row is executing on disk before the first byte: its edge comes before the end.
    let taken = world.store.taken.lock().unwrap().clone();
    let edges: Vec<ApprovalState> = taken.iter().map(|(_, _, to)| *to).collect();
    assert_eq!(edges, [ApprovalState::Approved, ApprovalState::Executing, ApprovalState::DoneConfirmed]);
    world.record.broken.store(true, Ordering::SeqCst);
    let sent = world.sent();
    let outcomes = world.act(&[action("light.hall", Verb::TurnOn)]).await;
    assert_eq!(outcomes[0].cause.as_deref(), Some("not_recorded"));
    assert_eq!(world.sent(), sent, "what cannot be written down is not sent");
}

#[tokio::test(start_paused = true)]
async fn one_action_in_flight_per_entity() {
    let world = World::new(1);
    world.devices.behave("light.kitchen", Behaviour::Slow(1_000));
    let on = [action("light.kitchen", Verb::TurnOn)];
    let off = [action("light.kitchen", Verb::TurnOff)];
    let begun = world.clock.since_boot();
    let (one, two) = tokio::join!(world.act(&on), world.act(&off));
    assert_eq!(one[0].outcome, Outcome::Confirmed);
    assert_eq!(two[0].outcome, Outcome::Confirmed);
    assert_eq!(world.clock.since_boot() - begun, Duration::from_secs(2), "one after the other");
    assert_eq!(world.devices.most_at_once.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn t8_a_group_is_as_gated_as_its_leaves() {
    let world = World::new(1);
    let mut lamps = crate::world::entity("cover.all", "All covers", "curtain", vec![]);
    lamps.members =
        ["cover.curtain", "cover.garage"].map(|id| homeloop::home::EntityId::parse(id).unwrap()).to_vec();
    world.house.write().insert(lamps);
    world.is("cover.curtain", "closed");
    let plan = world.plan(&[action("cover.all", Verb::Open)]);
    let decided = world.decide(&plan);
    assert_eq!(decided.decision(), Decision::Ask);
    let (free, gated) = world.door.split(&plan, &decided).unwrap();
    assert_eq!(free.actions(), [action("cover.curtain", Verb::Open)]);
    assert_eq!(gated.actions(), [action("cover.garage", Verb::Open)]);
    assert_eq!(world.decide(&free).decision(), Decision::Allow);
    assert_eq!(world.decide(&gated).decision(), Decision::Ask);
}

#[tokio::test(start_paused = true)]
async fn t9_a_class_that_goes_leaves_the_gate() {
    let world = World::new(1);
    let verbs = || [Verb::Open, Verb::Close].map(homeloop::home::ActionSpec::new).to_vec();
    for class in ["garage", "", "damper"] {
        world.house.write().insert(crate::world::entity("cover.garage", "Garage", class, verbs()));
        let plan = world.plan(&[action("cover.garage", Verb::Open)]);
        assert_eq!(world.decide(&plan).decision(), Decision::Ask, "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn b11_refusals_tell_the_range() {
    use homeloop::home::{Arg, ArgValue};
    let world = World::new(1);
    let hot = action("climate.living", Verb::SetTemperature).with(Arg::Temperature, ArgValue::Number(60.0));
    let plan = world.plan(&[hot]);
    let decided = world.decide(&plan);
    assert_eq!(decided.decision(), Decision::Deny);
    let entry = &world.door.refused(&plan, &decided)[0];
    assert_eq!((entry.outcome, entry.cause.as_deref()), (Outcome::Refused, Some("limit")));
    assert_eq!(entry.details, ["temperature 60 °C is outside 10 to 28 °C"]);
}

#[tokio::test(start_paused = true)]
async fn b19_opposite_steps_are_a_question() {
    let world = World::new(1);
    let both = [action("lock.front", Verb::Lock), action("lock.front", Verb::Unlock)];
    assert_eq!(
        world.door.plan(&both).unwrap_err().to_string(),
        "lock.front is to lock and to unlock; say which"
    );
}

#[tokio::test(start_paused = true)]
async fn rules_see_who_is_home_and_the_alarm() {
    let world = World::new(1);
    let facts = || world.door.facts(&world.door.policy());
    assert_eq!((facts().somebody_home, facts().alarm.as_deref()), (None, Some("disarmed")));
    for (id, value, home) in [
        ("person.anna", "unknown", None),
        ("person.anna", "not_home", Some(false)),
        ("person.ben", "home", Some(true)),
        ("person.anna", "work", Some(true)),
        ("person.ben", "unavailable", Some(false)),
    ] {
        if world.house.read().entity(id).is_none() {
            world.house.write().insert(crate::world::entity(id, id, "", vec![]));
        }
        world.is(id, value);
        assert_eq!(facts().somebody_home, home, "{id} {value}");
    }
    // One more panel, first by its name, hides nothing of the one that guards.
    let shed = "alarm_control_panel.a_shed";
    world.house.write().insert(crate::world::entity(shed, "Shed", "", vec![]));
    for (id, value, alarm) in [
        (shed, "disarmed", "disarmed"),
        ("alarm_control_panel.home", "armed_away", "armed_away"),
        (shed, "triggered", "triggered"),
        (shed, "unavailable", "armed_away"),
        ("alarm_control_panel.home", "pending", "pending"),
        // Of two that guard as well it is always the same one.
        ("alarm_control_panel.home", "armed_away", "armed_away"),
        (shed, "armed_home", "armed_home"),
    ] {
        world.is(id, value);
        assert_eq!(facts().alarm.as_deref(), Some(alarm), "{id} {value}");
    }
    // Without a panel there is no alarm, whatever else reports.
    for id in [shed, "alarm_control_panel.home"] {
        world.house.write().remove(&homeloop::home::EntityId::parse(id).unwrap());
    }
    assert_eq!(facts().alarm, None);
    world.house.write().insert(crate::world::entity("sensor.outside", "Outside", "temperature", vec![]));
    world.is("sensor.outside", "-4.5");
    world.set_policy(|policy| policy.limits.outdoor_sensor = Some("sensor.outside".into())).await;
    assert_eq!(facts().outside, Some(-4.5));
    let off = world.plan(&[action("climate.living", Verb::TurnOff)]);
    assert_eq!(world.decide(&off).decision(), Decision::Deny, "frost");
}

/// The loop spawns the door's futures.
#[test]
fn the_doors_futures_move_between_threads() {
    fn moves<T: Send>(_: T) {}
    fn check(
        door: &homeloop::actuate::Door,
        record: &dyn homeloop::actuate::Record,
        plan: &homeloop::actuate::Plan,
    ) {
        let cancel = CancellationToken::new();
        moves(door.carry_out("", "", record, &cancel));
        moves(door.await_answer(""));
        moves(door.verify(&[]));
        moves(door.stop_movers(record));
        moves(async move { plan.hash().len() });
    }
    let _ = check;
}
