//! From what a clock on the wall shows to an instant: pure, and open about what the calendar does.

use chrono::{DateTime, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::when::{HORIZON, Refusal};

/// Something about a time that the person should be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// That time was over today, so it is tomorrow's.
    Tomorrow { date: NaiveDate },
    /// The clocks skip that time on that day; it fires at the first time after the gap.
    Skipped { asked: NaiveDateTime, used: NaiveDateTime },
    /// The clocks show that time twice on that day; it fires the first time.
    Twice { local: NaiveDateTime },
}

/// An instant for a clock time, and what is to be told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub at: DateTime<Utc>,
    pub notes: Vec<Note>,
}

/// "At eight": today, or tomorrow where that is over.
pub fn at_clock_time(time: NaiveTime, now: DateTime<Utc>, zone: Tz) -> Resolved {
    let today = now.with_timezone(&zone).date_naive();
    let resolved = instant(today.and_time(time), zone);
    if resolved.at > now {
        return resolved;
    }
    let date = today.succ_opt().unwrap_or(today);
    let mut next = instant(date.and_time(time), zone);
    next.notes.insert(0, Note::Tomorrow { date });
    next
}

/// A date and a clock time, checked against the calendar, the past and the horizon.
pub fn at_date(
    (year, month, day): (i32, u32, u32),
    time: NaiveTime,
    now: DateTime<Utc>,
    zone: Tz,
) -> Result<Resolved, Refusal> {
    let date = NaiveDate::from_ymd_opt(year, month, day).ok_or(Refusal::NoSuchDate { year, month, day })?;
    let resolved = instant(date.and_time(time), zone);
    check_ahead(resolved.at, now)?;
    Ok(resolved)
}

/// Refuses what is over or too far ahead.
pub(super) fn check_ahead(at: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), Refusal> {
    if at <= now {
        return Err(Refusal::Past { at, now });
    }
    if at - now > HORIZON {
        return Err(Refusal::TooFar { at });
    }
    Ok(())
}

/// The instant of a local time: the first of two, and the end of the gap for one that is skipped.
pub fn instant(local: NaiveDateTime, zone: Tz) -> Resolved {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(at) => Resolved { at: at.to_utc(), notes: Vec::new() },
        LocalResult::Ambiguous(first, _) => {
            Resolved { at: first.to_utc(), notes: vec![Note::Twice { local }] }
        }
        LocalResult::None => {
            let at = gap_end(local, zone);
            let used = at.with_timezone(&zone).naive_local();
            Resolved { at, notes: vec![Note::Skipped { asked: local, used }] }
        }
    }
}

/// The first instant whose local time is not before `local`, which the zone skips.
fn gap_end(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    // No offset is more than 26 hours from UTC, and no gap is longer than a day.
    let (before, after) = (local.and_utc() - TimeDelta::hours(52), local.and_utc() + TimeDelta::hours(52));
    first_second(before, after, |at| at.with_timezone(&zone).naive_local() >= local)
}

/// An instant after `from` and not after `to` from which on the offset is that of `to`, if it differs from that of
/// `from`.
pub(super) fn change_between(from: DateTime<Utc>, to: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
    let offset = |at: &DateTime<Utc>| zone.offset_from_utc_datetime(&at.naive_utc()).fix();
    let first = offset(&from);
    (offset(&to) != first).then(|| first_second(from, to, |at| offset(at) != first))
}

/// Halves the time between an instant where `holds` is false and one where it is true, down to the second.
fn first_second(
    mut before: DateTime<Utc>,
    mut after: DateTime<Utc>,
    holds: impl Fn(&DateTime<Utc>) -> bool,
) -> DateTime<Utc> {
    while after - before > TimeDelta::seconds(1) {
        let seconds = before.timestamp() + (after.timestamp() - before.timestamp() + 1) / 2;
        let Some(middle) =
            DateTime::from_timestamp(seconds, 0).filter(|middle| before < *middle && *middle < after)
        else {
            break;
        };
        if holds(&middle) {
            after = middle;
        } else {
            before = middle;
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn clock(text: &str) -> NaiveTime {
        text.parse().unwrap()
    }

    #[test]
    fn at_eight_is_today_or_tomorrow_and_says_so() {
        let zone = chrono_tz::Europe::Berlin;
        let cases = [
            ("2026-11-29T12:00:00Z", "20:00:00", "2026-11-29T19:00:00Z", None),
            ("2026-11-29T20:00:00Z", "20:00:00", "2026-11-30T19:00:00Z", Some("2026-11-30")),
            ("2026-11-29T19:00:00Z", "20:00:00", "2026-11-30T19:00:00Z", Some("2026-11-30")),
            // 23:30 UTC is the next day in Berlin already.
            ("2026-11-29T23:30:00Z", "08:00:00", "2026-11-30T07:00:00Z", None),
            ("2026-12-31T22:30:00Z", "08:00:00", "2027-01-01T07:00:00Z", Some("2027-01-01")),
        ];
        for (now, time, at, tomorrow) in cases {
            let resolved = at_clock_time(clock(time), utc(now), zone);
            assert_eq!(resolved.at, utc(at), "{time} at {now}");
            let note = tomorrow.map(|date| Note::Tomorrow { date: date.parse().unwrap() });
            assert_eq!(resolved.notes, Vec::from_iter(note), "{time} at {now}");
        }
    }

    #[test]
    fn gaps_and_repeats_are_resolved_and_noted() {
        let cases = [
            (chrono_tz::Europe::Berlin, "2027-03-28T02:30:00", "2027-03-28T01:00:00Z", "skipped"),
            (chrono_tz::Europe::Berlin, "2027-03-28T03:00:00", "2027-03-28T01:00:00Z", ""),
            (chrono_tz::Europe::Berlin, "2027-10-31T02:30:00", "2027-10-31T00:30:00Z", "twice"),
            (chrono_tz::America::New_York, "2027-03-14T02:00:00", "2027-03-14T07:00:00Z", "skipped"),
            (chrono_tz::America::New_York, "2027-11-07T01:30:00", "2027-11-07T05:30:00Z", "twice"),
            // Half an hour on Lord Howe.
            (chrono_tz::Australia::Lord_Howe, "2027-10-03T02:15:00", "2027-10-02T15:30:00Z", "skipped"),
            (chrono_tz::Australia::Lord_Howe, "2027-04-04T01:45:00", "2027-04-03T14:45:00Z", "twice"),
            (chrono_tz::Asia::Shanghai, "2027-03-28T02:30:00", "2027-03-27T18:30:00Z", ""),
            // Samoa skipped a whole day.
            (chrono_tz::Pacific::Apia, "2011-12-30T12:00:00", "2011-12-30T10:00:00Z", "skipped"),
        ];
        for (zone, local, at, note) in cases {
            let resolved = instant(local.parse().unwrap(), zone);
            assert_eq!(resolved.at, utc(at), "{zone} {local}");
            let notes: Vec<&str> = resolved
                .notes
                .iter()
                .map(|note| match note {
                    Note::Tomorrow { .. } => "tomorrow",
                    Note::Skipped { .. } => "skipped",
                    Note::Twice { .. } => "twice",
                })
                .collect();
            assert_eq!(notes.join(" "), note, "{zone} {local}");
        }
    }

    #[test]
    fn dates_are_checked_against_the_calendar() {
        let (now, zone) = (utc("2026-11-29T12:00:00Z"), chrono_tz::Asia::Shanghai);
        let at = |date| at_date(date, clock("08:00:00"), now, zone);
        assert_eq!(at((2026, 11, 30)).unwrap().at, utc("2026-11-30T00:00:00Z"));
        assert_eq!(at((2027, 2, 30)), Err(Refusal::NoSuchDate { year: 2027, month: 2, day: 30 }));
        assert!(matches!(at((2027, 2, 29)), Err(Refusal::NoSuchDate { .. })));
        assert!(matches!(at((2026, 11, 28)), Err(Refusal::Past { .. })));
        assert!(matches!(at((2126, 11, 30)), Err(Refusal::TooFar { .. })));
        assert!(matches!(at((2027, 12, 1)), Err(Refusal::TooFar { .. })));
        assert_eq!(at((2027, 13, 1)).unwrap_err().to_string(), "there is no 2027-13-01 in the calendar");
    }
}
