//! What the times of one clause mean together: one moment, a delay, or days of the week at a time.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use chrono_tz::Tz;

use super::time::{Clock, DayWord, Time};
use super::understanding::{Weekdays, When};
use super::vocabulary::Word;

/// Why times mean nothing that can be scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFault {
    /// It is over.
    Past,
    /// No calendar has that day: 30 February.
    NoDate { month: u32, day: u32 },
    /// No clock shows it: 25:00.
    NoClock,
    /// More than a year ahead.
    TooFar,
    /// Again within the minute.
    TooOften,
    /// A rhythm of minutes or hours.
    Rhythm,
    /// Sunset and sunrise.
    Sun,
    /// Times that do not go together, or a day without a time.
    Unclear,
}

impl TimeFault {
    /// The key of its sentence in the data files.
    pub fn key(self) -> &'static str {
        match self {
            TimeFault::Past => "time_past",
            TimeFault::NoDate { .. } => "time_no_date",
            TimeFault::NoClock => "time_no_clock",
            TimeFault::TooFar => "time_too_far",
            TimeFault::TooOften => "time_too_often",
            TimeFault::Rhythm => "time_rhythm",
            TimeFault::Sun => "time_sun",
            TimeFault::Unclear => "no_such_time",
        }
    }
}

/// How far ahead anything is scheduled, in days; the scheduler's own limit.
const HORIZON_DAYS: u64 = 366;

/// What is repeated sooner than this is a mistake, in seconds.
const SHORTEST_RHYTHM: u64 = 60;

/// What the times of one clause mean together, from `now`.
///
/// # Errors
/// They do not go together, name the past, or nothing that can be waited for.
pub fn when(times: &[Time], now: DateTime<Tz>) -> Result<When, TimeFault> {
    if let [Time::After(seconds)] = times {
        let far = *seconds > HORIZON_DAYS * 86_400;
        return if far { Err(TimeFault::TooFar) } else { Ok(When::After { seconds: *seconds }) };
    }
    let mut clock = None;
    let mut days = (None, None);
    let mut every = None;
    let mut left_out = [false; 7];
    for time in times {
        match time {
            Time::Clock(said) if clock.is_none() => clock = Some(*said),
            Time::Day(day) => days = merged(days, *day)?,
            Time::Every { days: said, part } => {
                every = Some(said.unwrap_or(Weekdays::ALL));
                if let Some(part) = part {
                    days = merged(days, DayWord::Part(*part))?;
                }
            }
            Time::NotOn(Some(Weekdays(days))) => {
                for (slot, day) in left_out.iter_mut().zip(days) {
                    *slot |= day;
                }
            }
            Time::Clock(_) | Time::After(_) | Time::For(_) | Time::NotOn(None) | Time::Range { .. } => {
                return Err(TimeFault::Unclear);
            }
            Time::Rhythm(seconds) if *seconds < SHORTEST_RHYTHM => return Err(TimeFault::TooOften),
            Time::Rhythm(_) => return Err(TimeFault::Rhythm),
            Time::Sun => return Err(TimeFault::Sun),
            Time::NoClock => return Err(TimeFault::NoClock),
        }
    }
    let (day, part) = days;
    let today = now.date_naive();
    let date = day.map(|day| on_day(day, today)).transpose()?.flatten();
    let clock = match (clock, part) {
        (Some(clock), Some(part)) => clock.in_part(part).ok_or(TimeFault::Unclear)?,
        (Some(clock), None) => clock,
        (None, Some(Word::Noon)) => Clock { half_known: true, ..Clock::at(12, 0) },
        (None, Some(Word::Midnight)) => {
            Clock { next_day: matches!(day, Some(DayWord::Today | DayWord::Tonight)), ..Clock::at(0, 0) }
        }
        (None, _) => return Err(TimeFault::Unclear),
    };
    let time = NaiveTime::from_hms_opt(clock.hour, clock.minute, 0).ok_or(TimeFault::NoClock)?;
    if let Some(mut every) = every {
        match day {
            Some(DayWord::Weekday(day)) => {
                every = Weekdays(std::array::from_fn(|index| index == day as usize));
            }
            Some(DayWord::Date { .. } | DayWord::Over) => return Err(TimeFault::Unclear),
            Some(
                DayWord::Today
                | DayWord::Tomorrow
                | DayWord::AfterTomorrow
                | DayWord::Tonight
                | DayWord::Part(_),
            )
            | None => {}
        }
        let left: [bool; 7] = std::array::from_fn(|day| {
            every.0.get(day).copied().unwrap_or(false) && !left_out.get(day).copied().unwrap_or(false)
        });
        if left == [false; 7] {
            return Err(TimeFault::Unclear);
        }
        let mut days = Weekdays(left);
        if clock.next_day {
            days.0.rotate_right(1);
        }
        return Ok(When::Every { at: time, days });
    }
    if left_out != [false; 7] {
        return Err(TimeFault::Unclear);
    }
    let now = now.naive_local();
    let local = moment(day, date, clock, time, now).ok_or(TimeFault::TooFar)?;
    if local <= now {
        return Err(TimeFault::Past);
    }
    let far = (local - now).num_days() >= i64::try_from(HORIZON_DAYS).unwrap_or(i64::MAX);
    if far { Err(TimeFault::TooFar) } else { Ok(When::At { local }) }
}

type DayAndPart = (Option<DayWord>, Option<Word>);

/// A further day or part of the day. Two of one kind do not go together.
fn merged(known: DayAndPart, day: DayWord) -> Result<DayAndPart, TimeFault> {
    let (known_day, known_part) = known;
    let part = |part: Word| match known_part {
        Some(known) if known != part && known_day != Some(DayWord::Tonight) => Err(TimeFault::Unclear),
        Some(_) | None => Ok(Some(part)),
    };
    match day {
        DayWord::Part(said) => Ok((known_day, part(said)?)),
        DayWord::Tonight if known_day.is_none_or(|known| known == DayWord::Today) => {
            Ok((Some(day), Some(known_part.unwrap_or(Word::Evening))))
        }
        DayWord::Today
        | DayWord::Tonight
        | DayWord::Tomorrow
        | DayWord::AfterTomorrow
        | DayWord::Over
        | DayWord::Weekday(_)
        | DayWord::Date { .. } => match (known_day, day) {
            (None, _) => Ok((Some(day), known_part)),
            (Some(known), _) if known == day => Ok((known_day, known_part)),
            // "Tuesday, March 3"
            (Some(DayWord::Weekday(_)), DayWord::Date { .. }) => Ok((Some(day), known_part)),
            (Some(DayWord::Date { .. }), DayWord::Weekday(_)) => Ok((known_day, known_part)),
            (Some(_), _) => Err(TimeFault::Unclear),
        },
    }
}

/// The date of a day, where the day alone says it.
fn on_day(day: DayWord, today: NaiveDate) -> Result<Option<NaiveDate>, TimeFault> {
    let ahead = |days: u64| today.checked_add_days(Days::new(days)).ok_or(TimeFault::TooFar).map(Some);
    match day {
        DayWord::Today | DayWord::Tonight => ahead(0),
        DayWord::Tomorrow => ahead(1),
        DayWord::AfterTomorrow => ahead(2),
        DayWord::Over => Err(TimeFault::Past),
        DayWord::Weekday(day) => ahead(u64::from((day + 7 - today.weekday().num_days_from_monday()) % 7)),
        DayWord::Date { month, day } => calendar(month, day, today).map(Some),
        DayWord::Part(_) => Ok(None),
    }
}

/// The next day of the calendar with this number, from today.
fn calendar(month: Option<u32>, day: u32, today: NaiveDate) -> Result<NaiveDate, TimeFault> {
    let no_date = TimeFault::NoDate { month: month.unwrap_or(today.month()), day };
    if let Some(month) = month {
        let this = NaiveDate::from_ymd_opt(today.year(), month, day);
        return match this {
            Some(date) if date >= today => Ok(date),
            Some(_) | None => NaiveDate::from_ymd_opt(today.year() + 1, month, day).ok_or(no_date),
        };
    }
    // The next month that has such a day, of this and the following two.
    (0..3)
        .filter_map(|ahead| {
            let first = today.with_day(1)?.checked_add_months(chrono::Months::new(ahead))?;
            first.with_day(day)
        })
        .find(|date| *date >= today)
        .ok_or(no_date)
}

/// The moment of a clock time: on its day, or the next time that a clock shows it.
fn moment(
    day: Option<DayWord>,
    date: Option<NaiveDate>,
    clock: Clock,
    time: NaiveTime,
    now: NaiveDateTime,
) -> Option<NaiveDateTime> {
    let today = now.date();
    let date = match date {
        Some(date) if clock.next_day => Some(date.checked_add_days(Days::new(1))?),
        other => other,
    };
    let moment = date.unwrap_or(today).and_time(time);
    if moment > now {
        return Some(moment);
    }
    // "at seven", said at nine in the morning: this evening.
    if date.is_none_or(|date| date == today) && !clock.half_known && clock.hour < 12 {
        let later = today.and_time(time.with_hour(clock.hour + 12)?);
        if later > now {
            return Some(later);
        }
    }
    match day {
        Some(DayWord::Weekday(_)) => moment.checked_add_days(Days::new(7)),
        Some(DayWord::Part(_)) | None => moment.checked_add_days(Days::new(1)),
        Some(
            DayWord::Today
            | DayWord::Tonight
            | DayWord::Tomorrow
            | DayWord::AfterTomorrow
            | DayWord::Over
            | DayWord::Date { .. },
        ) => Some(moment),
    }
}
