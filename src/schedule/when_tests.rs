use chrono::TimeZone;
use chrono_tz::{America, Asia, Australia, Europe, Pacific};
use proptest::prelude::*;

use super::*;

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn clock(text: &str) -> NaiveTime {
    text.parse().unwrap()
}

/// The first `count` firings after `from`, as local times with their offset.
fn firings(when: &When, from: &str, zone: Tz, count: usize) -> Vec<String> {
    let made = utc(from);
    let mut at = made;
    (0..count)
        .map(|_| {
            at = when.next(at, made, zone).unwrap();
            at.with_timezone(&zone).format("%d %H:%M %z").to_string()
        })
        .collect()
}

#[test]
fn clock_times_stay_clock_times_over_both_changes() {
    let daily = |time: &str| When::Daily { time: clock(time) };
    let cases: [(Tz, &str, &str, [&str; 3]); 12] = [
        (
            Europe::Berlin,
            "07:30:00",
            "2027-03-27T00:00:00Z",
            ["27 07:30 +0100", "28 07:30 +0200", "29 07:30 +0200"],
        ),
        (
            Europe::Berlin,
            "07:30:00",
            "2027-10-30T00:00:00Z",
            ["30 07:30 +0200", "31 07:30 +0100", "01 07:30 +0100"],
        ),
        (
            Europe::Berlin,
            "02:30:00",
            "2027-03-27T00:00:00Z",
            ["27 02:30 +0100", "28 03:00 +0200", "29 02:30 +0200"],
        ),
        (
            Europe::Berlin,
            "02:30:00",
            "2027-10-30T00:00:00Z",
            ["30 02:30 +0200", "31 02:30 +0200", "01 02:30 +0100"],
        ),
        (
            America::New_York,
            "02:30:00",
            "2027-03-13T05:00:00Z",
            ["13 02:30 -0500", "14 03:00 -0400", "15 02:30 -0400"],
        ),
        (
            America::New_York,
            "01:30:00",
            "2027-11-06T04:00:00Z",
            ["06 01:30 -0400", "07 01:30 -0400", "08 01:30 -0500"],
        ),
        (
            Australia::Lord_Howe,
            "02:15:00",
            "2027-10-01T14:00:00Z",
            ["02 02:15 +1030", "03 02:30 +1100", "04 02:15 +1100"],
        ),
        (
            Australia::Lord_Howe,
            "01:45:00",
            "2027-04-02T14:00:00Z",
            ["03 01:45 +1100", "04 01:45 +1100", "05 01:45 +1030"],
        ),
        (
            Asia::Shanghai,
            "02:30:00",
            "2027-03-26T18:00:00Z",
            ["27 02:30 +0800", "28 02:30 +0800", "29 02:30 +0800"],
        ),
        (
            Asia::Kolkata,
            "06:00:00",
            "2027-03-27T00:00:00Z",
            ["27 06:00 +0530", "28 06:00 +0530", "29 06:00 +0530"],
        ),
        (
            America::Santiago,
            "00:30:00",
            "2027-09-04T02:00:00Z",
            ["04 00:30 -0400", "05 01:00 -0300", "06 00:30 -0300"],
        ),
        (
            Europe::London,
            "01:00:00",
            "2027-03-27T00:00:00Z",
            ["27 01:00 +0000", "28 02:00 +0100", "29 01:00 +0100"],
        ),
    ];
    for (zone, time, from, expected) in cases {
        assert_eq!(firings(&daily(time), from, zone, 3), expected, "{zone} {time}");
    }
}

#[test]
fn a_repeated_hour_fires_once_even_when_computed_inside_it() {
    let when = When::Daily { time: clock("02:30:00") };
    // Between the two passes, and inside the second one.
    for from in ["2027-10-31T00:30:00Z", "2027-10-31T00:45:00Z", "2027-10-31T01:15:00Z"] {
        assert_eq!(firings(&when, from, Europe::Berlin, 1), ["01 02:30 +0100"], "{from}");
    }
}

#[test]
fn several_times_of_day_are_no_rhythm() {
    let when = When::Cron { expression: "30 1,2,14 * * *".into() };
    let spring = ["28 01:30 +0100", "28 03:00 +0200", "28 14:30 +0200", "29 01:30 +0200"];
    assert_eq!(firings(&when, "2027-03-27T23:00:00Z", Europe::Berlin, 4), spring);
    let autumn = ["31 01:30 +0200", "31 02:30 +0200", "31 14:30 +0100", "01 01:30 +0100"];
    assert_eq!(firings(&when, "2027-10-30T22:00:00Z", Europe::Berlin, 4), autumn);
    let half_hours = When::Cron { expression: "*/30 1-3 * * *".into() };
    let twice = ["31 02:00 +0200", "31 02:30 +0200", "31 02:00 +0100", "31 02:30 +0100", "31 03:00 +0100"];
    assert_eq!(firings(&half_hours, "2027-10-30T23:30:00Z", Europe::Berlin, 5), twice);
}

#[test]
fn days_of_the_week_are_those_of_the_zone() {
    let weekdays = vec![Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri];
    let when = When::Weekly { days: weekdays, time: clock("07:00:00") };
    // 2026-11-29 is a Sunday; at 23:30 UTC it is Monday in Shanghai.
    assert_eq!(
        firings(&when, "2026-11-28T12:00:00Z", Asia::Shanghai, 2),
        ["30 07:00 +0800", "01 07:00 +0800"]
    );
    assert_eq!(firings(&when, "2026-11-29T23:30:00Z", Asia::Shanghai, 1), ["01 07:00 +0800"]);
    assert_eq!(firings(&when, "2026-12-04T12:00:00Z", America::New_York, 1), ["07 07:00 -0500"]);
    let sunday = When::Weekly { days: vec![Weekday::Sun], time: clock("07:00:00") };
    assert_eq!(
        firings(&sunday, "2026-11-28T12:00:00Z", Europe::Berlin, 2),
        ["29 07:00 +0100", "06 07:00 +0100"]
    );
}

#[test]
fn intervals_count_from_when_they_were_made_and_never_pile_up() {
    let when = When::Every { seconds: 600 };
    let made = utc("2026-11-29T12:03:00Z");
    let next = |after: &str| when.next(utc(after), made, Europe::Berlin).unwrap();
    assert_eq!(next("2026-11-29T12:03:00Z"), utc("2026-11-29T12:13:00Z"));
    assert_eq!(next("2026-11-29T12:13:00Z"), utc("2026-11-29T12:23:00Z"));
    assert_eq!(
        next("2026-11-29T18:00:00Z"),
        utc("2026-11-29T18:03:00Z"),
        "after six hours: one, not thirty-six"
    );
    assert_eq!(next("1970-01-01T00:00:00Z"), utc("2026-11-29T12:13:00Z"), "a clock before it was made");
}

#[test]
fn b25_and_b26_refused_with_the_value_and_what_would_be_right() {
    let now = utc("2026-11-29T12:00:00Z");
    let cron = |expression: &str| When::Cron { expression: expression.into() };
    let once = |at: &str| When::Once { at: utc(at) };
    let cases = [
        (
            once("2026-11-29T11:59:59Z"),
            "2026-11-29 11:59:59 UTC is in the past; now it is 2026-11-29 12:00:00 UTC",
        ),
        (
            once("2026-11-29T12:00:00Z"),
            "2026-11-29 12:00:00 UTC is in the past; now it is 2026-11-29 12:00:00 UTC",
        ),
        (once("2126-11-29T12:00:00Z"), "2126-11-29 12:00:00 UTC is too far ahead; at most 366 days"),
        (When::After { seconds: 0 }, "a wait of nothing; at least one second"),
        (When::After { seconds: 40_000_000 }, "462 days are too long; at most 366"),
        (When::After { seconds: u64::MAX }, "213503982334601 days are too long; at most 366"),
        (When::Every { seconds: 59 }, "every 59 s is too often; at least every 60 s"),
        (When::Weekly { days: vec![], time: clock("07:00:00") }, "no day of the week is named"),
        (cron("* * * * * *"), "every 1 s is too often; at least every 60 s"),
        (cron("*/5 * * * * *"), "every 1 s is too often; at least every 60 s"),
        (cron("0,30 * * * * *"), "every 1 s is too often; at least every 60 s"),
        (cron("0 0 30 2 *"), "day 30 of month 2 never comes"),
        (cron("0 0 0 31 4 *"), "day 31 of month 4 never comes"),
        (
            cron("* * *"),
            "the cron expression \"* * *\" cannot be read: it has 3 fields; expected 5, or 6 with the second in front",
        ),
        (
            cron("0 0 0 1 1 * 2099"),
            "the cron expression \"0 0 0 1 1 * 2099\" cannot be read: it has 7 fields; expected 5, or 6 with the second in front",
        ),
        (
            cron(""),
            "the cron expression \"\" cannot be read: it has 0 fields; expected 5, or 6 with the second in front",
        ),
    ];
    for (when, says) in cases {
        assert_eq!(
            when.first(now, Europe::Berlin).map_err(|refusal| refusal.to_string()),
            Err(says.into()),
            "{when}"
        );
    }
    for expression in ["61 * * * *", "x * * * *", "* * * * 9", "0 0 0 * *", "@reboot"] {
        assert!(
            matches!(cron(expression).first(now, Europe::Berlin), Err(Refusal::BadCron { .. })),
            "{expression}"
        );
    }
    let long = "0,".repeat(100) + "1 * * * *";
    assert!(matches!(cron(&long).first(now, Europe::Berlin), Err(Refusal::BadCron { .. })));
    for ok in [once("2027-11-29T12:00:00Z"), cron("0 7 * * 1-5"), cron("30 0 7 * * *"), cron("0 0 29 2 *")] {
        assert!(ok.first(now, Europe::Berlin).is_ok(), "{ok}");
    }
}

#[test]
fn a_stored_schedule_reads_back_and_nothing_else_does() {
    for when in [
        When::Once { at: utc("2026-11-29T12:00:00Z") },
        When::After { seconds: 1200 },
        When::Daily { time: clock("22:30:00") },
        When::Weekly { days: vec![Weekday::Mon, Weekday::Sun], time: clock("07:00:00") },
        When::Every { seconds: 3600 },
        When::Cron { expression: "0 7 * * *".into() },
    ] {
        let text = serde_json::to_string(&when).unwrap();
        assert_eq!(serde_json::from_str::<When>(&text).unwrap(), when, "{text}");
    }
    for text in [r#"{"kind":"daily"}"#, r#"{"kind":"daily","time":"07:00:00","x":1}"#, r#"{"kind":"hourly"}"#]
    {
        assert!(serde_json::from_str::<When>(text).is_err(), "{text}");
    }
}

const ZONES: [Tz; 8] = [
    Europe::Berlin,
    America::New_York,
    Australia::Lord_Howe,
    Asia::Shanghai,
    America::Santiago,
    Asia::Kathmandu,
    Pacific::Chatham,
    Tz::Africa__Casablanca,
];

/// What a clock time means, computed apart from croner: the first instant of each local day that shows it, else the end
/// of the gap that hides it.
fn by_hand(time: NaiveTime, after: DateTime<Utc>, zone: Tz) -> DateTime<Utc> {
    let mut date = after.with_timezone(&zone).date_naive().pred_opt().unwrap();
    loop {
        let at = local::instant(date.and_time(time), zone).at;
        if at > after {
            return at;
        }
        date = date.succ_opt().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn daily_agrees_with_the_calendar(
        zone in proptest::sample::select(&ZONES[..]),
        minute in 0_u32..1440,
        after in 1_767_225_600_i64..1_893_456_000,
    ) {
        let time = NaiveTime::from_hms_opt(minute / 60, minute % 60, 0).unwrap();
        let after = Utc.timestamp_opt(after, 0).unwrap();
        let next = When::Daily { time }.next(after, after, zone).unwrap();
        prop_assert_eq!(next, by_hand(time, after, zone), "{} {} after {}", zone, time, after);
    }

    #[test]
    fn b24_around_every_change_a_daily_time_fires_once_a_day(
        zone in proptest::sample::select(&ZONES[..]),
        minute in 0_u32..240,
        year in 2026_i32..2030,
        month in 3_u32..12,
    ) {
        let time = NaiveTime::from_hms_opt(minute / 60, minute % 60, 0).unwrap();
        let when = When::Daily { time };
        let mut at = Utc.with_ymd_and_hms(year, month, 1, 12, 0, 0).unwrap();
        let mut date = None;
        for _ in 0..32 {
            at = when.next(at, at, zone).unwrap();
            let day = at.with_timezone(&zone).date_naive();
            if let Some(before) = date {
                let before: chrono::NaiveDate = before;
                prop_assert_eq!((day - before).num_days(), 1, "{} {}", zone, at);
            }
            date = Some(day);
        }
    }

    #[test]
    fn a_rhythm_is_what_the_clock_shows(
        zone in proptest::sample::select(&ZONES[..]),
        which in 0_usize..4,
        // Half of them within two days of a change in some of the zones.
        after in prop_oneof![
            1_767_225_600_i64..1_893_456_000,
            1_806_019_200_i64..1_806_364_800,
            1_806_624_000_i64..1_806_969_600,
            1_822_348_800_i64..1_822_694_400,
            1_824_768_000_i64..1_825_113_600,
        ],
    ) {
        let expression = ["*/7 1-3 * * *", "30 * * * *", "*/20 * * 3,4,9,10,11 *", "15 */2 * * 0"][which];
        let after = Utc.timestamp_opt(after, 0).unwrap();
        let next = When::Cron { expression: expression.into() }.next(after, after, zone).unwrap();
        // Every minute in between, asked one by one.
        let cron = parse(expression).unwrap().cron;
        let mut minute = Utc.timestamp_opt((after.timestamp() / 60 + 1) * 60, 0).unwrap();
        while !cron.is_time_matching(&minute.with_timezone(&zone).naive_local().and_utc()).unwrap() {
            minute += TimeDelta::minutes(1);
        }
        prop_assert_eq!(next, minute, "{} {} after {}", zone, expression, after);
    }

    #[test]
    fn the_next_firing_is_always_later(
        zone in proptest::sample::select(&ZONES[..]),
        which in 0_usize..5,
        after in 1_767_225_600_i64..1_893_456_000,
    ) {
        let when = [
            When::Every { seconds: 61 },
            When::Cron { expression: "*/7 1-3 * * *".into() },
            When::Cron { expression: "0 7 1 * 1".into() },
            When::Weekly { days: vec![Weekday::Sun], time: clock("02:15:00") },
            When::Daily { time: clock("00:00:00") },
        ][which].clone();
        let after = Utc.timestamp_opt(after, 0).unwrap();
        let mut at = after;
        for _ in 0..20 {
            let next = when.next(at, after, zone).unwrap();
            prop_assert!(next > at, "{} {} after {}", when, next, at);
            at = next;
        }
    }
}
