//! What a person sees of a question: every target, all of a text, and what is not known.

use std::time::Duration;

use homeloop::actuate::Shown;
use homeloop::home::{ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Verb};
use homeloop::policy::Moment;

use crate::world::{World, action, entity};

fn unlock() -> Vec<homeloop::home::Action> {
    vec![action("lock.front", Verb::Unlock)]
}

#[tokio::test(start_paused = true)]
async fn s24_a_name_cannot_hide_its_target() {
    let world = World::new(1);
    let verbs = vec![ActionSpec::new(Verb::Unlock)];
    let name = format!("Lamp\nLIGHT ON - \u{202e}rood\u{200b}\u{7} {}", "x".repeat(5000));
    world.house.write().insert(entity("lock.evil", &name, "", verbs));
    let approval =
        world.ask("t", &[action("lock.evil", Verb::Unlock), action("lock.front", Verb::Unlock)]).await;
    let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
    assert_eq!(shown.targets.len(), 2);
    let lines: Vec<&str> = shown.text.lines().collect();
    assert!(
        lines[0].starts_with("UNLOCK - Lamp LIGHT ON - rood xxx") && lines[0].contains("(lock.evil)"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("UNLOCK - Front door (lock.front) - now: locked, 0 s ago"), "{lines:?}");
    assert!(lines[2].contains("token:phone \"Kitchen\": \"open up for the courier\" (heard, not verified)"));
    assert!(lines[3].starts_with(&format!("Code {} - expires in 2:00", approval.match_code)));
    assert_eq!(lines.len(), 4);
    assert!(!shown.text.contains(['\u{202e}', '\u{200b}', '\u{7}']) && shown.text.len() < 1500);
    let chinese = Shown::of(&approval, "zh", &Moment::of(&world.clock)).unwrap();
    assert!(chinese.text.contains("开锁 - Front door (lock.front)"));
}

/// What a text may be is the reason why a person is asked: all of it is seen, and none of it passes for something else.
#[tokio::test(start_paused = true)]
async fn s24_free_text_is_shown_to_its_end_and_in_quotation_marks() {
    let world = World::new(1);
    let text = |max_chars| ArgKind::Text { max_chars };
    let verb = ActionSpec::new(Verb::SendCommand)
        .with(ArgSpec::required(Arg::Command, text(255)))
        .with(ArgSpec::optional(Arg::Params, text(1000)));
    world.house.write().insert(entity("vacuum.robot", "Robot", "", vec![verb]));
    let command = format!("go\u{200b} {} params={{}}", "x".repeat(200));
    let params = format!(r#"{{"pad":"{}","do":"reset"}}"#, "y".repeat(500));
    let action = action("vacuum.robot", Verb::SendCommand)
        .with(Arg::Command, ArgValue::Text(command))
        .with(Arg::Params, ArgValue::Text(params));
    let shown = Shown::of(&world.ask("t", &[action]).await, "en", &Moment::of(&world.clock)).unwrap();
    let what = &shown.targets[0].what;
    assert!(
        what.starts_with("SEND COMMAND command=\"go xxx") && what.contains("x params={}\" params=\""),
        "{what}"
    );
    assert!(what.contains(r#"\"do\":\"reset\"}""#) && what.ends_with(" -> dev/vacuum.robot/set"), "{what}");
}

#[tokio::test(start_paused = true)]
async fn t22_an_unreachable_target_is_shown_as_unknown() {
    let world = World::new(1);
    let update = homeloop::home::Update {
        availability: Some(homeloop::home::Availability::Offline),
        ..homeloop::home::Update::default()
    };
    world.devices.report(&homeloop::home::EntityId::parse("lock.front").unwrap(), &update, true);
    tokio::time::advance(Duration::from_secs(600)).await;
    let approval = world.ask("t", &unlock()).await;
    let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
    assert_eq!(shown.targets[0].now, "state unknown (last known: locked, 10 min ago)");
}
