//! When a schedule fires: pure, by table. Given the same moment and zone it answers the same.
//!
//! Calendar times are computed with croner and the real zone, so that 07:30 stays 07:30 over both changes of the clock.
//! A time that a change skips fires at the first instant after the gap; a time that comes twice fires once, the first
//! time. Nothing here reads a clock.

use std::fmt;

use chrono::{DateTime, NaiveTime, TimeDelta, Timelike, Utc, Weekday};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use serde::{Deserialize, Serialize};

use super::local;

/// How far ahead a single firing may lie, and how long a wait may be.
pub const HORIZON: TimeDelta = TimeDelta::days(366);

/// The shortest interval.
pub const SHORTEST: TimeDelta = TimeDelta::seconds(60);

/// A cron expression at most, in bytes.
const CRON_BYTES: usize = 128;

/// When to fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum When {
    /// Once, at an instant. See [`local`] for how a clock time becomes one.
    Once { at: DateTime<Utc> },
    /// Once, when this much time has passed since it was made. Steps of the wall clock do not move it.
    After { seconds: u64 },
    /// Every day at a clock time.
    Daily { time: NaiveTime },
    /// On these days of the week at a clock time.
    Weekly { days: Vec<Weekday>, time: NaiveTime },
    /// Again and again, counted from when it was made.
    Every { seconds: u64 },
    /// Five fields as in crontab(5), or six with the second in front.
    Cron { expression: String },
}

/// Why a time is refused, with the value and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{at} is in the past; now it is {now}")]
    Past { at: DateTime<Utc>, now: DateTime<Utc> },
    #[error("{at} is too far ahead; at most {} days", HORIZON.num_days())]
    TooFar { at: DateTime<Utc> },
    #[error("{days} days are too long; at most {}", HORIZON.num_days())]
    TooLong { days: u64 },
    #[error("every {seconds} s is too often; at least every {} s", SHORTEST.num_seconds())]
    TooOften { seconds: u64 },
    #[error("there is no {year}-{month:02}-{day:02} in the calendar")]
    NoSuchDate { year: i32, month: u32, day: u32 },
    #[error("{what} never comes")]
    Never { what: String },
    #[error("no day of the week is named")]
    NoDays,
    #[error("a wait of nothing; at least one second")]
    NoWait,
    #[error("the cron expression {expression:?} cannot be read: {why}")]
    BadCron { expression: String, why: String },
    #[error("there is no time zone {name:?}; expected a name such as \"Europe/Berlin\"")]
    BadZone { name: String },
}

impl When {
    /// The first firing of a schedule that is made `now`, or why there is none.
    pub fn first(&self, now: DateTime<Utc>, zone: Tz) -> Result<DateTime<Utc>, Refusal> {
        self.check(now)?;
        self.next(now, now, zone).ok_or_else(|| Refusal::Never { what: self.to_string() })
    }

    fn check(&self, now: DateTime<Utc>) -> Result<(), Refusal> {
        match self {
            When::Once { at } => local::check_ahead(*at, now),
            When::After { seconds: 0 } => Err(Refusal::NoWait),
            When::After { seconds } => check_length(*seconds),
            When::Every { seconds } if *seconds < SHORTEST.num_seconds().unsigned_abs() => {
                Err(Refusal::TooOften { seconds: *seconds })
            }
            When::Every { seconds } => check_length(*seconds),
            When::Daily { .. } => Ok(()),
            When::Weekly { days, .. } if days.is_empty() => Err(Refusal::NoDays),
            When::Weekly { .. } => Ok(()),
            When::Cron { expression } => parse(expression).map(|_| ()),
        }
    }

    /// The first firing after `after`, for a schedule made at `made`. `None` when there is none any more.
    pub fn next(&self, after: DateTime<Utc>, made: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        match self {
            When::Once { at } => (*at > after).then_some(*at),
            When::After { seconds } => {
                let at = made.checked_add_signed(length(*seconds)?)?;
                (at > after).then_some(at)
            }
            When::Every { seconds } => {
                let every = length(*seconds)?.num_milliseconds().max(1);
                let passed = (after - made).num_milliseconds().max(0);
                made.checked_add_signed(TimeDelta::milliseconds((passed / every + 1).checked_mul(every)?))
            }
            When::Daily { time } => occurrence(&parse(&expression(*time, "*")).ok()?, after, zone),
            When::Weekly { days, time } => {
                let days: Vec<String> =
                    days.iter().map(|day| day.num_days_from_sunday().to_string()).collect();
                occurrence(&parse(&expression(*time, &days.join(","))).ok()?, after, zone)
            }
            When::Cron { expression } => occurrence(&parse(expression).ok()?, after, zone),
        }
    }

    /// Whether elapsed time counts and not the wall clock.
    pub fn is_elapsed(&self) -> bool {
        match self {
            When::After { .. } => true,
            When::Once { .. }
            | When::Daily { .. }
            | When::Weekly { .. }
            | When::Every { .. }
            | When::Cron { .. } => false,
        }
    }

    /// The clock time that is asked for, where it is one.
    pub fn clock_time(&self) -> Option<NaiveTime> {
        match self {
            When::Daily { time } | When::Weekly { time, .. } => Some(*time),
            When::Once { .. } | When::After { .. } | When::Every { .. } | When::Cron { .. } => None,
        }
    }
}

impl fmt::Display for When {
    /// Plain English for logs, events and the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Once { at } => write!(f, "once at {}", at.format("%Y-%m-%d %H:%M:%S UTC")),
            When::After { seconds } => write!(f, "once after {seconds} s"),
            When::Daily { time } => write!(f, "every day at {}", time.format("%H:%M:%S")),
            When::Weekly { days, time } => {
                let days: Vec<String> = days.iter().map(ToString::to_string).collect();
                write!(f, "every {} at {}", days.join(", "), time.format("%H:%M:%S"))
            }
            When::Every { seconds } => write!(f, "every {seconds} s"),
            When::Cron { expression } => write!(f, "cron {expression:?}"),
        }
    }
}

fn length(seconds: u64) -> Option<TimeDelta> {
    TimeDelta::try_seconds(i64::try_from(seconds).ok()?)
}

fn check_length(seconds: u64) -> Result<(), Refusal> {
    if seconds > HORIZON.num_seconds().unsigned_abs() {
        return Err(Refusal::TooLong { days: seconds / 86_400 });
    }
    Ok(())
}

/// A clock time as a cron expression.
fn expression(time: NaiveTime, days: &str) -> String {
    format!("{} {} {} * * {days}", time.second(), time.minute(), time.hour())
}

/// A cron expression that was read.
struct Pattern {
    cron: Cron,
    /// A rhythm over minutes or hours (`*`, `/`), not times of day.
    is_rhythm: bool,
}

fn parse(expression: &str) -> Result<Pattern, Refusal> {
    let bad = |why: String| Refusal::BadCron { expression: expression.to_owned(), why };
    if expression.len() > CRON_BYTES {
        return Err(bad(format!("it has {} bytes; at most {CRON_BYTES}", expression.len())));
    }
    let fields: Vec<&str> = expression.split_whitespace().collect();
    match fields.as_slice() {
        // Several seconds in a minute are several firings in a minute.
        [second, _, _, _, _, _] if second.parse::<u8>().is_err() => {
            return Err(Refusal::TooOften { seconds: 1 });
        }
        [_, _, _, _, _] | [_, _, _, _, _, _] => {}
        _ => {
            return Err(bad(format!(
                "it has {} fields; expected 5, or 6 with the second in front",
                fields.len()
            )));
        }
    }
    let days: Option<(&str, &str)> = match fields.as_slice() {
        [.., day, month, _] => Some((day, month)),
        _ => None,
    };
    if let Some((day, month)) = days
        && let (Ok(day), Ok(month)) = (day.parse::<u32>(), month.parse::<u32>())
        && fields.last() == Some(&"*")
        // 2024 has a 29 February: what does not exist there never comes.
        && chrono::NaiveDate::from_ymd_opt(2024, month, day).is_none()
    {
        return Err(Refusal::Never { what: format!("day {day} of month {month}") });
    }
    let cron = CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Disallowed)
        .build()
        .parse(expression)
        .map_err(|error| bad(error.to_string()))?;
    let minute_and_hour = fields.iter().rev().skip(3).take(2);
    let is_rhythm = minute_and_hour.into_iter().any(|field| field.contains(['*', '/']));
    Ok(Pattern { cron, is_rhythm })
}

/// The next occurrence in the zone. croner matches the fields on the clock's face; what the face shows when is the
/// zone's, worked out here: asked in a zone, croner 3.0.1 errs around half-hour changes and inside a repeated hour.
fn occurrence(pattern: &Pattern, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    if pattern.is_rhythm {
        rhythm(&pattern.cron, after, zone)
    } else {
        times_of_day(&pattern.cron, after, zone)
    }
}

/// Times of day: at the first instant that shows it, or at the end of the gap that hides it.
fn times_of_day(cron: &Cron, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let mut shown = after.with_timezone(&zone).naive_local();
    loop {
        shown = cron.find_next_occurrence(&shown.and_utc(), false).ok()?.naive_utc();
        let at = local::instant(shown, zone).at;
        if at > after {
            return Some(at);
        }
    }
}

/// A rhythm: at every instant whose clock shows it, so that it neither stops in a repeated hour nor bunches after a gap.
fn rhythm(cron: &Cron, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let (mut from, mut inclusive) = (after, false);
    loop {
        let shown = from.with_timezone(&zone).naive_local();
        let ahead = shown - from.naive_utc();
        let found = cron.find_next_occurrence(&shown.and_utc(), inclusive).ok()? - ahead;
        match local::change_between(from, found, zone) {
            None => return Some(found),
            // The clocks change before that: go on from what they show then.
            Some(change) => (from, inclusive) = (change, true),
        }
    }
}

#[cfg(test)]
#[path = "when_tests.rs"]
mod tests;
