//! Steps of the wall clock, clocks that were never set, and machines that slept.

use chrono::TimeDelta;
use chrono_tz::Europe;
use homeloop::clock::Clock;
use homeloop::schedule::{FireEvent, Misfire, NewTimer, When};
use serde_json::json;

use super::{World, daily, minutes, once, utc};

#[tokio::test(start_paused = true)]
async fn f35_an_hour_forward_skips_what_it_jumped_over() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.create(daily("13:30:00")).await;
    world.create(once("2026-11-29T14:00:00Z")).await;
    world.quiet(0).await;
    world.clock.step_wall(TimeDelta::hours(1));
    let FireEvent::Skipped { due, why, schedule, .. } = world.next().await else { panic!("it ran late") };
    assert_eq!((due, why), (utc("2026-11-29T12:30:00Z"), Misfire::Missed));
    assert_eq!(schedule.next_fire, Some(utc("2026-11-30T12:30:00Z")));
    assert_eq!(world.fires().await.due, utc("2026-11-29T14:00:00Z"));
    assert!(world.kinds().await.contains(&"clock_stepped".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn f35_an_hour_back_fires_nothing_twice() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.create(daily("13:30:00")).await;
    world.create(When::Every { seconds: 1800 }).await;
    let first = [world.fires().await.due, world.fires().await.due];
    assert_eq!(first, [utc("2026-11-29T12:30:00Z"); 2]);
    assert_eq!(world.fires().await.due, utc("2026-11-29T13:00:00Z"));
    world.clock.step_wall(TimeDelta::hours(-1));
    // 12:00 again: 12:30 and 13:00 have been.
    assert_eq!(world.fires().await.due, utc("2026-11-29T13:30:00Z"));
    assert!(
        world.clock.now() - utc("2026-11-29T13:30:00Z") < TimeDelta::seconds(1),
        "at its time, not an hour late"
    );
}

#[tokio::test(start_paused = true)]
async fn f35_a_clock_that_was_a_day_ahead_loses_no_day() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.create(daily("13:30:00")).await;
    world.quiet(0).await;
    world.clock.step_wall(TimeDelta::days(1));
    assert!(matches!(world.next().await, FireEvent::Skipped { .. }));
    world.clock.step_wall(TimeDelta::days(-1));
    assert_eq!(world.fires().await.due, utc("2026-11-29T12:30:00Z"), "its time comes after all");
    assert_eq!(world.fires().await.due, utc("2026-11-30T12:30:00Z"));
}

#[tokio::test(start_paused = true)]
async fn f35_a_boot_in_1970_fires_nothing_and_is_mended_by_the_first_step() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.create(daily("13:30:00")).await;
    world.create(once("2026-11-29T15:00:00Z")).await;
    let mut world = world.restart(minutes(1)).await;
    world.scheduler.stop().await;
    // Another boot, whose clock was not set.
    world.clock = Clock::simulated("1970-01-01T00:00:00Z".parse().unwrap(), 2);
    let mut world = world.restart(minutes(0)).await;
    let wait = world.create(When::After { seconds: 7200 }).await;
    let tea =
        NewTimer { label: "tea".into(), seconds: 5400, origin: json!("kitchen"), conversation: "c".into() };
    world.scheduler.set_timer(tea).await.unwrap();
    world.quiet(1).await;
    // The time comes from the network: 13:15 in Berlin.
    let now = world.clock.now();
    world.clock.step_wall(utc("2026-11-29T12:15:00Z") - now);
    assert_eq!(world.fires().await.due, utc("2026-11-29T12:30:00Z"));
    assert!(matches!(world.next().await, FireEvent::Rings { .. }), "an hour and a half after it was set");
    let waited = world.fires().await;
    assert_eq!(waited.schedule.id, wait.id, "two hours after it was made, whatever the clock said");
    assert_eq!(waited.late, minutes(0));
    assert_eq!(world.fires().await.due, utc("2026-11-29T15:00:00Z"));
}

#[tokio::test(start_paused = true)]
async fn a_wait_counts_elapsed_time_over_any_step_and_a_restart() {
    for step in [TimeDelta::hours(1), TimeDelta::hours(-1), TimeDelta::days(1), TimeDelta::days(-20_000)] {
        let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
        world.create(When::After { seconds: 1200 }).await;
        let begun = world.clock.since_boot();
        world.clock.step_wall(step);
        let mut world = if step == TimeDelta::hours(1) { world.restart(minutes(5)).await } else { world };
        let firing = world.fires().await;
        assert_eq!(firing.late.as_secs(), 0, "{step}");
        assert_eq!((world.clock.since_boot() - begun).as_secs(), 1200, "{step}");
        world.quiet(48).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f37_a_machine_that_slept_eight_hours_tells_what_it_missed() {
    let mut world = World::at("2026-11-29T20:00:00Z", Europe::Berlin).await;
    world.create(daily("22:30:00")).await;
    world.create(once("2026-11-30T04:03:00Z")).await;
    world.create(When::Every { seconds: 3600 }).await;
    let egg =
        NewTimer { label: "egg".into(), seconds: 600, origin: json!("kitchen"), conversation: "c".into() };
    world.scheduler.set_timer(egg).await.unwrap();
    tokio::time::sleep(minutes(5)).await;
    // Lid closed at 20:05 UTC, opened at 04:05.
    world.clock.suspend(minutes(8 * 60));
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(match world.next().await {
            FireEvent::Due(firing) => format!("ran {}", firing.due),
            FireEvent::Skipped { due, .. } => format!("skipped {due}"),
            FireEvent::MissedRing { timer, late } => {
                format!("missed {} by {} min", timer.label, late.as_secs() / 60)
            }
            other => panic!("{other:?}"),
        });
    }
    told.sort();
    let expected = [
        "missed egg by 475 min",
        "ran 2026-11-30 04:03:00 UTC",
        "skipped 2026-11-29 21:00:00 UTC",
        "skipped 2026-11-29 21:30:00 UTC",
    ];
    assert_eq!(told, expected, "two minutes late is run, hours late is told");
    assert_eq!(world.fires().await.due, utc("2026-11-30T05:00:00Z"), "and the rhythm goes on");
    assert!(!world.kinds().await.contains(&"clock_stepped".to_owned()), "sleep is no step of the clock");
}
