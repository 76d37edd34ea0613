//! Timers: several at once, how long is left, longer and shorter, and where they ring.

use chrono_tz::Europe;
use homeloop::schedule::{FireEvent, NewTimer, ScheduleError, Timer};
use serde_json::json;

use super::{World, minutes};

async fn set(world: &World, label: &str, seconds: u64) -> Timer {
    let timer = NewTimer {
        label: label.into(),
        seconds,
        origin: json!({ "channel": "voice", "device": "kitchen satellite" }),
        conversation: "c".into(),
    };
    world.scheduler.set_timer(timer).await.unwrap()
}

async fn left(world: &World) -> Vec<(String, i64)> {
    let timers = world.scheduler.timers().await.unwrap();
    timers.into_iter().map(|timer| (timer.label, timer.left_millis / 1000)).collect()
}

#[tokio::test(start_paused = true)]
async fn several_run_and_ring_where_they_came_from() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    set(&world, "eggs", 300).await;
    set(&world, "面条", 480).await;
    let tea = set(&world, "tea", 240).await;
    tokio::time::sleep(minutes(1)).await;
    let expected = [("tea".to_owned(), 180), ("eggs".to_owned(), 240), ("面条".to_owned(), 420)];
    assert_eq!(left(&world).await, expected, "the first due first");

    let longer = world.scheduler.extend_timer(&tea.id, 600).await.unwrap();
    assert_eq!((longer.left_millis / 1000, longer.seconds), (780, 840));
    for label in ["eggs", "面条", "tea"] {
        let FireEvent::Rings { timer, late } = world.next().await else { panic!("no ring") };
        assert_eq!((timer.label.as_str(), late.as_secs()), (label, 0));
        assert_eq!(timer.origin["device"], "kitchen satellite");
    }
    assert!(left(&world).await.is_empty());
    assert_eq!(world.kinds().await.iter().filter(|kind| *kind == "timer_rang").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn changed_and_cancelled_and_what_is_refused() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let tea = set(&world, "tea", 600).await;
    let shorter = world.scheduler.extend_timer(&tea.id, -300).await.unwrap();
    assert_eq!(shorter.left_millis / 1000, 300);
    let refused = world.scheduler.extend_timer(&tea.id, -300).await.unwrap_err();
    assert_eq!(refused.to_string(), "a timer of 0 s; expected 1 s to 604800 s");
    assert_eq!(left(&world).await, [("tea".to_owned(), 300)], "a refused change changes nothing");
    world.scheduler.cancel_timer(&tea.id).await.unwrap();
    world.quiet(1).await;
    for (what, id) in [("cancelled", tea.id.as_str()), ("unknown", "x")] {
        let refused = world.scheduler.cancel_timer(id).await;
        assert!(matches!(refused, Err(ScheduleError::Unknown { .. })), "{what}");
        let refused = world.scheduler.extend_timer(id, 60).await;
        assert!(matches!(refused, Err(ScheduleError::Unknown { .. })), "{what}");
    }
    for seconds in [0, 604_801, u64::MAX] {
        let timer = NewTimer { label: String::new(), seconds, origin: json!(null), conversation: "c".into() };
        let refused = world.scheduler.set_timer(timer).await;
        assert!(matches!(refused, Err(ScheduleError::BadTimer { .. })), "{seconds}");
    }
    for _ in 0..32 {
        set(&world, "", 60).await;
    }
    let one_more =
        NewTimer { label: String::new(), seconds: 60, origin: json!(null), conversation: "c".into() };
    let full = world.scheduler.set_timer(one_more).await;
    assert_eq!(full, Err(ScheduleError::TooMany { what: "timers", limit: 32 }));
}

#[tokio::test(start_paused = true)]
async fn a_paused_one_keeps_what_is_left_also_over_a_restart() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let tea = set(&world, "tea", 600).await;
    tokio::time::sleep(minutes(4)).await;
    let paused = world.scheduler.pause_timer(&tea.id).await.unwrap();
    assert_eq!((paused.paused, paused.left_millis / 1000), (true, 360));

    world.quiet(1).await;
    let again = world.scheduler.pause_timer(&tea.id).await.unwrap();
    assert_eq!(again.left_millis / 1000, 360, "paused twice is paused");
    let mut world = world.restart(minutes(60)).await;
    world.quiet(1).await;
    assert_eq!(left(&world).await, [("tea".to_owned(), 360)]);
    let longer = world.scheduler.extend_timer(&tea.id, 60).await.unwrap();
    assert_eq!((longer.paused, longer.left_millis / 1000, longer.seconds), (true, 420, 660));
    let on = world.scheduler.resume_timer(&tea.id).await.unwrap();
    assert_eq!((on.paused, on.left_millis / 1000), (false, 420));
    tokio::time::sleep(minutes(6)).await;
    assert_eq!(left(&world).await, [("tea".to_owned(), 60)]);
    let FireEvent::Rings { timer, late } = world.next().await else { panic!("no ring") };
    assert_eq!((timer.label.as_str(), late.as_secs()), ("tea", 0));
    assert!(matches!(world.scheduler.resume_timer(&tea.id).await, Err(ScheduleError::Unknown { .. })));
    let kinds = world.kinds().await;
    let kept: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|kind| kind.starts_with("timer_")).collect();
    assert_eq!(kept, ["timer_set", "timer_paused", "timer_extended", "timer_resumed", "timer_rang"]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_one_can_be_cancelled_and_counts_as_one_of_the_most() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let tea = set(&world, "tea", 60).await;
    world.scheduler.pause_timer(&tea.id).await.unwrap();
    for _ in 0..31 {
        set(&world, "", 3600).await;
    }
    let one_more =
        NewTimer { label: String::new(), seconds: 60, origin: json!(null), conversation: "c".into() };
    let full = world.scheduler.set_timer(one_more.clone()).await;
    assert_eq!(full, Err(ScheduleError::TooMany { what: "timers", limit: 32 }));
    world.scheduler.cancel_timer(&tea.id).await.unwrap();
    world.scheduler.set_timer(one_more).await.unwrap();
    assert_eq!(left(&world).await.len(), 32);
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_them_and_a_missed_ring_is_told() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    set(&world, "soon", 600).await;
    set(&world, "just over", 300).await;
    set(&world, "long over", 60).await;
    let mut world = world.restart(minutes(7)).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(match world.next().await {
            FireEvent::Rings { timer, late } => (timer.label, "rings", late),
            FireEvent::MissedRing { timer, late } => (timer.label, "missed", late),
            other => panic!("{other:?}"),
        });
    }
    told.sort();
    let expected = [
        ("just over".to_owned(), "rings", minutes(2)),
        ("long over".to_owned(), "missed", minutes(6)),
        ("soon".to_owned(), "rings", minutes(0)),
    ];
    assert_eq!(told, expected);
}
