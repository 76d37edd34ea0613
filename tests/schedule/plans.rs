//! Plans: a simulated day, ends, missed and gated firings, undo, refusals, explanations.

use chrono::{TimeDelta, Weekday};
use chrono_tz::{America, Asia, Australia, Europe};
use homeloop::journal::{JournalError, Verification};
use homeloop::schedule::local::Note;
use homeloop::schedule::{End, FireEvent, Late, Misfire, NewSchedule, Refusal, ScheduleError, State, When};
use serde_json::json;

use super::{World, daily, minutes, once, plan, utc};

#[tokio::test(start_paused = true)]
async fn a_simulated_day() {
    let mut world = World::at("2026-11-29T16:00:00Z", Asia::Shanghai).await;
    let named = |name: &str, when| NewSchedule { description: name.into(), ..plan(when) };
    let monday = When::Weekly { days: vec![Weekday::Mon], time: "07:00:00".parse().unwrap() };
    let sunday = When::Weekly { days: vec![Weekday::Sun], time: "08:00:00".parse().unwrap() };
    for (name, when) in [
        ("monday", monday),
        ("sunday", sunday),
        ("evening", daily("22:30:00")),
        ("six-hourly", When::Every { seconds: 6 * 3600 }),
        ("cron", When::Cron { expression: "15 12 * * 1-5".into() }),
        ("once", once("2026-11-30T01:02:03Z")),
        ("later", When::After { seconds: 1200 }),
    ] {
        world.scheduler.create(named(name, when)).await.unwrap();
    }
    // From midnight of Monday in Shanghai for a day.
    let expected = [
        ("later", "2026-11-29T16:20:00Z"),
        ("six-hourly", "2026-11-29T22:00:00Z"),
        ("monday", "2026-11-29T23:00:00Z"),
        ("once", "2026-11-30T01:02:03Z"),
        ("six-hourly", "2026-11-30T04:00:00Z"),
        ("cron", "2026-11-30T04:15:00Z"),
        ("six-hourly", "2026-11-30T10:00:00Z"),
        ("evening", "2026-11-30T14:30:00Z"),
        ("six-hourly", "2026-11-30T16:00:00Z"),
    ];
    for (name, at) in expected {
        let firing = world.fires().await;
        assert_eq!((firing.schedule.plan.description.as_str(), firing.due), (name, utc(at)));
        let late = world.clock.now() - firing.due;
        assert!(TimeDelta::zero() <= late && late < TimeDelta::seconds(1), "{name} fired {late} late");
    }
    let left = world.scheduler.list(Some(State::Active)).await.unwrap();
    assert_eq!(left.len(), 5, "once and later are done");
    assert!(matches!(world.journal.verify().await.unwrap(), Verification::Intact { .. }));
}

#[tokio::test(start_paused = true)]
async fn f36_both_days_of_clock_change_in_three_zones() {
    let cases = [
        (
            Europe::Berlin,
            "2027-03-27T12:00:00Z",
            "02:30:00",
            ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"],
        ),
        (
            Europe::Berlin,
            "2027-10-30T12:00:00Z",
            "02:30:00",
            ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"],
        ),
        (
            America::New_York,
            "2027-03-13T13:00:00Z",
            "07:30:00",
            ["2027-03-14T11:30:00Z", "2027-03-15T11:30:00Z"],
        ),
        (
            America::New_York,
            "2027-11-06T12:00:00Z",
            "01:30:00",
            ["2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"],
        ),
        (
            Australia::Lord_Howe,
            "2027-10-02T06:00:00Z",
            "02:15:00",
            ["2027-10-02T15:30:00Z", "2027-10-03T15:15:00Z"],
        ),
        (
            Australia::Lord_Howe,
            "2027-04-03T06:00:00Z",
            "01:45:00",
            ["2027-04-03T14:45:00Z", "2027-04-04T15:15:00Z"],
        ),
    ];
    for (zone, now, time, expected) in cases {
        let mut world = World::at(now, zone).await;
        world.create(daily(time)).await;
        for at in expected {
            assert_eq!(world.fires().await.due, utc(at), "{zone} {time}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn missed_by_more_than_five_minutes_is_skipped_and_told() {
    for (down, runs) in [(14, true), (16, false), (600, false)] {
        let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
        world.create(once("2026-11-29T12:10:00Z")).await;
        let mut world = world.restart(minutes(down)).await;
        match world.next().await {
            FireEvent::Due(firing) => {
                assert!(runs, "ran after {down} minutes");
                assert_eq!(firing.late, minutes(down - 10));
            }
            FireEvent::Skipped { schedule, due, why, .. } => {
                assert!(!runs, "skipped after {down} minutes");
                assert_eq!((due, why), (utc("2026-11-29T12:10:00Z"), Misfire::Missed));
                assert_eq!(schedule.state, State::Missed);
                assert!(world.kinds().await.contains(&"schedule_skipped".to_owned()));
            }
            other => panic!("{other:?}"),
        }
        world.quiet(48).await;
    }
}

#[tokio::test(start_paused = true)]
async fn many_missed_firings_are_one_skip_and_the_rhythm_goes_on() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.create(When::Every { seconds: 600 }).await;
    let mut world = world.restart(minutes(127)).await;
    let FireEvent::Skipped { due, schedule, .. } = world.next().await else { panic!("not skipped") };
    assert_eq!(due, utc("2026-11-29T12:10:00Z"));
    assert_eq!(schedule.next_fire, Some(utc("2026-11-29T14:10:00Z")));
    assert_eq!(world.fires().await.due, utc("2026-11-29T14:10:00Z"));
}

#[tokio::test(start_paused = true)]
async fn gated_is_never_late() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let gated = NewSchedule { gated: true, late: Late::Run, ..plan(once("2026-11-29T12:10:00Z")) };
    world.scheduler.create(gated).await.unwrap();
    let mut world = world.restart(minutes(11)).await;
    let FireEvent::Skipped { why, .. } = world.next().await else { panic!("a gated step ran late") };
    assert_eq!(why, Misfire::GatedLate);
    world.quiet(48).await;
}

#[tokio::test(start_paused = true)]
async fn an_end_comes_also_after_a_restart_and_however_late() {
    let end = End { after_seconds: 1200, steps: json!(["off"]), gated: false };
    let watered = || NewSchedule { end: Some(end.clone()), ..plan(daily("14:00:00")) };
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let parent = world.scheduler.create(watered()).await.unwrap();
    let firing = world.fires().await;
    let undo = firing.end.unwrap();
    assert_eq!(undo.plan.end_of.as_ref(), Some(&parent.id));
    world.scheduler.cancel(&parent.id).await.unwrap();
    // Down over the end by hours.
    let mut world = world.restart(minutes(300)).await;
    let firing = world.fires().await;
    assert_eq!((firing.schedule.id, firing.schedule.plan.steps), (undo.id, json!(["off"])));
    assert_eq!(firing.late, minutes(280));
    world.quiet(48).await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_can_be_restored_for_a_day() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let schedule = world.create(daily("14:30:00")).await;
    world.scheduler.cancel(&schedule.id).await.unwrap();
    let again = world.scheduler.cancel(&schedule.id).await.unwrap_err();
    assert!(matches!(again, ScheduleError::WrongState { state: "cancelled", .. }), "{again}");
    world.quiet(20).await;
    let mut world = world.restart(minutes(1)).await;
    let restored = world.scheduler.restore(&schedule.id).await.unwrap();
    assert_eq!(restored.next_fire, Some(utc("2026-11-30T13:30:00Z")));
    assert_eq!(world.fires().await.due, utc("2026-11-30T13:30:00Z"));

    world.scheduler.cancel(&schedule.id).await.unwrap();
    world.quiet(26).await;
    let gone = world.scheduler.restore(&schedule.id).await.unwrap_err();
    assert!(matches!(gone, ScheduleError::Unknown { .. }), "{gone}");

    let short = world.create(When::After { seconds: 600 }).await;
    world.scheduler.cancel(&short.id).await.unwrap();
    world.scheduler.restore(&short.id).await.unwrap();
    assert_eq!(world.fires().await.schedule.id, short.id);
    let over = world.create(When::After { seconds: 600 }).await;
    world.scheduler.cancel(&over.id).await.unwrap();
    world.quiet(1).await;
    let past = world.scheduler.restore(&over.id).await.unwrap_err();
    assert!(matches!(past, ScheduleError::Refused(Refusal::Past { .. })), "{past}");
}

#[tokio::test(start_paused = true)]
async fn refused_plans_leave_nothing_behind() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    let cases = [
        plan(once("2026-11-29T11:00:00Z")),
        plan(once("2126-11-29T11:00:00Z")),
        plan(When::Every { seconds: 1 }),
        plan(When::Cron { expression: "0 0 30 2 *".into() }),
        NewSchedule { zone: Some("Mars/Olympus".into()), ..plan(daily("07:00:00")) },
        NewSchedule {
            end: Some(End { after_seconds: 0, steps: json!([]), gated: false }),
            ..plan(daily("07:00:00"))
        },
    ];
    for plan in cases {
        let when = plan.when.clone();
        let refused = world.scheduler.create(plan).await;
        assert!(matches!(refused, Err(ScheduleError::Refused(_))), "{when}: {refused:?}");
    }
    let large = NewSchedule { steps: json!("x".repeat(70_000)), ..plan(daily("07:00:00")) };
    assert!(matches!(world.scheduler.create(large).await, Err(ScheduleError::TooLarge { .. })));
    let unknown = world.scheduler.cancel("nothing").await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no schedule \"nothing\"");
    assert!(world.kinds().await.is_empty());
    for _ in 0..200 {
        world.create(daily("07:00:00")).await;
    }
    let full = world.scheduler.create(plan(daily("07:00:00"))).await;
    assert_eq!(full, Err(ScheduleError::TooMany { what: "schedules", limit: 200 }));
    assert_eq!(world.scheduler.list(None).await.unwrap().len(), 200);
}

#[tokio::test(start_paused = true)]
async fn an_explanation_shows_what_the_calendar_does() {
    let world = World::at("2027-03-27T12:00:00Z", Europe::Berlin).await;
    let schedule = world.create(daily("02:30:00")).await;
    let explained = world.scheduler.explain(schedule).unwrap();
    let shown: Vec<&str> = explained.next.iter().map(|next| next.local.as_str()).collect();
    let expected = ["2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00", "2027-03-30T02:30:00+02:00"];
    assert_eq!(shown, expected);
    let skipped = Note::Skipped {
        asked: "2027-03-28T02:30:00".parse().unwrap(),
        used: "2027-03-28T03:00:00".parse().unwrap(),
    };
    assert_eq!(explained.next[0].notes, [skipped]);
    assert!(explained.next[1].notes.is_empty());

    let elsewhere = NewSchedule { zone: Some("America/New_York".into()), ..plan(daily("07:00:00")) };
    let elsewhere = world.scheduler.create(elsewhere).await.unwrap();
    let explained = world.scheduler.explain(elsewhere).unwrap();
    assert_eq!(explained.next[0].local, "2027-03-28T07:00:00-04:00");
    let wait = world.create(When::After { seconds: 60 }).await;
    assert_eq!(world.scheduler.explain(wait).unwrap().next.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_does_not_fire_until_it_can() {
    let mut world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.create(once("2026-11-29T12:10:00Z")).await;
    world.journal.set_size_limit(0).await.unwrap();
    let large = homeloop::journal::NewEvent::of_house("filler", &"x".repeat(5000)).unwrap();
    while world.journal.append(large.clone(), homeloop::journal::Durability::Normal).await
        != Err(JournalError::Full)
    {}
    let small = homeloop::journal::NewEvent::of_house("filler", &"x").unwrap();
    while world.journal.append(small.clone(), homeloop::journal::Durability::Normal).await
        != Err(JournalError::Full)
    {}
    let told = tokio::time::timeout(minutes(12), world.told.recv()).await;
    assert!(told.is_err(), "handed over what was not on disk: {told:?}");
    world.journal.set_size_limit(u64::MAX).await.unwrap();
    let firing = world.fires().await;
    assert!(firing.late >= minutes(2) && firing.late < minutes(3), "{:?}", firing.late);
    world.quiet(48).await;
}
