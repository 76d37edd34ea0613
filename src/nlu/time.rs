//! Clock times, days and delays.

use chrono::{DateTime, Datelike, Days, NaiveDateTime, NaiveTime, Timelike};
use chrono_tz::Tz;

use super::number::Numbers;
use super::text::Kind;
use super::understanding::{Weekdays, When};
use super::vocabulary::Word;

/// A part of a sentence that says when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    /// In ten minutes; 十分钟后.
    After(u64),
    /// For ten minutes.
    For(u64),
    Clock(Clock),
    Day(DayWord),
    /// Daily, or on the days that follow.
    Every(Option<Weekdays>),
    /// Sunset, sunrise: understood, and not held by the scheduler.
    Sun,
}

/// A time of day as said; "7" may be in the morning or in the evening.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    pub hour: u32,
    pub minute: u32,
    /// Whether the half of the day was said, or follows from the hour.
    pub half_known: bool,
    /// A number after "at" and no more: it may be no time at all.
    pub bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayWord {
    Today,
    Tomorrow,
    Tonight,
    Part(Word),
    /// 0 is Monday.
    Weekday(u32),
}

const WEEKDAYS: [Word; 7] = [
    Word::Monday,
    Word::Tuesday,
    Word::Wednesday,
    Word::Thursday,
    Word::Friday,
    Word::Saturday,
    Word::Sunday,
];

impl Numbers<'_> {
    /// The time expression that begins at `at`, and how many tokens it takes.
    pub fn time(&self, at: usize) -> Option<(Time, usize)> {
        for (word, make) in
            [(Word::In, Time::After as fn(u64) -> Time), (Word::After, Time::After), (Word::For, Time::For)]
        {
            if let Some(length) = self.word(at, word)
                && let Some((seconds, end)) = self.duration(at + length)
            {
                // 过十分钟后
                let end = end + self.word(end, Word::Later).unwrap_or(0);
                return Some((make(seconds), end - at));
            }
        }
        if let Some((seconds, end)) = self.duration(at)
            && let Some(length) = self.word(end, Word::Later)
        {
            return Some((Time::After(seconds), end + length - at));
        }
        if let Some((days, length)) = self.every(at) {
            return Some((Time::Every(days), length));
        }
        if let Some(length) = self.word(at, Word::Sun) {
            return Some((Time::Sun, length));
        }
        if let Some((clock, end)) = self.clock(at) {
            return Some((Time::Clock(clock), end - at));
        }
        self.day(at).map(|(day, length)| (Time::Day(day), length))
    }

    fn every(&self, at: usize) -> Option<(Option<Weekdays>, usize)> {
        for (word, days) in [(Word::Workdays, Weekdays::WORKDAYS), (Word::Weekend, Weekdays::WEEKEND)] {
            if let Some(length) = self.word(at, word) {
                return Some((Some(days), length));
            }
        }
        let every = self.word(at, Word::Every)?;
        let mut end = at + every;
        let mut days = [false; 7];
        let mut some = false;
        loop {
            let from = if some { end + self.word(end, Word::And).unwrap_or(0) } else { end };
            let Some((day, length)) = self.weekday(from) else { break };
            if let Some(slot) = days.get_mut(day as usize) {
                *slot = true;
            }
            some = true;
            end = from + length;
        }
        Some((some.then_some(Weekdays(days)), end - at))
    }

    fn weekday(&self, at: usize) -> Option<(u32, usize)> {
        (0u32..).zip(WEEKDAYS).find_map(|(index, word)| self.word(at, word).map(|length| (index, length)))
    }

    fn day(&self, at: usize) -> Option<(DayWord, usize)> {
        for (word, day) in [
            (Word::Today, DayWord::Today),
            (Word::Tomorrow, DayWord::Tomorrow),
            (Word::Tonight, DayWord::Tonight),
        ] {
            if let Some(length) = self.word(at, word) {
                return Some((day, length));
            }
        }
        for word in [Word::Morning, Word::Noon, Word::Afternoon, Word::Evening, Word::Midnight] {
            if let Some(length) = self.word(at, word) {
                return Some((DayWord::Part(word), length));
            }
        }
        self.weekday(at).map(|(day, length)| (DayWord::Weekday(day), length))
    }

    /// "at 7:30", "half past seven", "7 pm", 早上七点半, 七点三十分.
    fn clock(&self, at: usize) -> Option<(Clock, usize)> {
        let said = self.word(at, Word::At).unwrap_or(0);
        let mut from = at + said;
        let mut part = None;
        if self.lexicon.han_numbers
            && let Some((DayWord::Part(word), length)) = self.day(from)
        {
            part = Some(word);
            from += length;
        }
        let (mut hour, mut minute, mut end, sure) = self.clock_digits(from, said > 0)?;
        let mut half_known = hour > 12 || hour == 0;
        let mut bare = end == from + 1 && self.tokens.get(from).is_some_and(|token| !token.key.contains(':'));
        if let Some(length) = self.word(end, Word::Pm) {
            part = Some(Word::Afternoon);
            bare = false;
            end += length;
        } else if let Some(length) = self.word(end, Word::Am) {
            part = Some(Word::Morning);
            bare = false;
            end += length;
        } else if !sure {
            return None;
        }
        match part {
            Some(Word::Afternoon | Word::Evening) => {
                hour = if hour < 12 { hour + 12 } else { hour };
                half_known = true;
            }
            Some(Word::Morning | Word::Midnight) => {
                hour = if hour == 12 { 0 } else { hour };
                half_known = true;
            }
            Some(Word::Noon) => half_known = true,
            Some(_) | None => {}
        }
        minute = minute.min(59);
        (hour < 24 && !(bare && hour > 12)).then_some((Clock { hour, minute, half_known, bare }, end))
    }

    /// Hour, minute, end, and whether this can be nothing but a time.
    fn clock_digits(&self, at: usize, after_at: bool) -> Option<(u32, u32, usize, bool)> {
        for (word, minutes) in [(Word::HalfPast, 30), (Word::QuarterPast, 15), (Word::QuarterTo, -15)] {
            if let Some(length) = self.word(at, word) {
                let (hour, end) = self.whole(at + length)?;
                let total = (i64::from(hour) * 60 + minutes).rem_euclid(1440);
                return Some(((total / 60) as u32, (total % 60) as u32, end, true));
            }
        }
        let token = self.tokens.get(at)?;
        if token.kind == Kind::Number
            && let Some((hour, minute)) = token.key.split_once(':')
        {
            return Some((hour.parse().ok()?, minute.parse().ok()?, at + 1, true));
        }
        let (hour, end) = self.whole(at)?;
        if let Some(length) = self.word(end, Word::OClock) {
            let mut end = end + length;
            let mut minute = 0;
            if self.lexicon.han_numbers {
                if let Some(length) = self.word(end, Word::Half) {
                    minute = 30;
                    end += length;
                } else if let Some((value, after)) = self.whole(end) {
                    minute = value;
                    end = after + self.word(after, Word::Minute).unwrap_or(0);
                }
            }
            return Some((hour, minute, end, true));
        }
        // "at six thirty"
        if !self.lexicon.han_numbers
            && let Some((minute, after)) = self.whole(end)
            && (10..60).contains(&minute)
            && after_at
        {
            return Some((hour, minute, after, true));
        }
        let bounded = hour <= 24
            && [Word::Percent, Word::Degree, Word::Kelvin, Word::Minute, Word::Second, Word::Hour]
                .into_iter()
                .all(|unit| self.word(end, unit).is_none());
        bounded.then_some((hour, 0, end, after_at))
    }

    fn whole(&self, at: usize) -> Option<(u32, usize)> {
        let (number, end) = self.number(at)?;
        (number.fract() == 0.0 && (0.0..=60.0).contains(&number)).then_some((number as u32, end))
    }
}

/// What the times of one clause mean together, from `now`. `None` where they do not go together, or name the past.
pub fn when(times: &[Time], now: DateTime<Tz>) -> Option<When> {
    if let [Time::After(seconds)] = times {
        return Some(When::After { seconds: *seconds });
    }
    let mut clock = None;
    let mut days = None;
    let mut every = None;
    for time in times {
        match time {
            Time::Clock(said) if clock.is_none() => clock = Some(*said),
            Time::Day(day) => days = Some(merged(days, *day)),
            Time::Every(said) => every = Some(said.unwrap_or(Weekdays::ALL)),
            Time::Clock(_) | Time::After(_) | Time::For(_) | Time::Sun => return None,
        }
    }
    let (day, part) = days.unwrap_or((None, None));
    let clock = match (clock, part) {
        (Some(clock), part) => placed(clock, part),
        (None, Some(Word::Noon)) => Clock { hour: 12, minute: 0, half_known: true, bare: false },
        (None, Some(Word::Midnight)) => Clock { hour: 0, minute: 0, half_known: true, bare: false },
        (None, _) => return None,
    };
    let time = NaiveTime::from_hms_opt(clock.hour, clock.minute, 0)?;
    if let Some(mut every) = every {
        if let Some(DayWord::Weekday(day)) = day {
            every = Weekdays(std::array::from_fn(|index| index == day as usize));
        }
        return Some(When::Every { at: time, days: every });
    }
    let local = at(day, clock, time, now.naive_local())?;
    (local > now.naive_local()).then_some(When::At { local })
}

type DayAndPart = (Option<DayWord>, Option<Word>);

fn merged(known: Option<DayAndPart>, day: DayWord) -> DayAndPart {
    let (known_day, known_part) = known.unwrap_or((None, None));
    match day {
        DayWord::Part(part) => (known_day, Some(part)),
        DayWord::Tonight => (Some(DayWord::Tonight), Some(Word::Evening)),
        DayWord::Today | DayWord::Tomorrow | DayWord::Weekday(_) => (Some(day), known_part),
    }
}

/// The clock with the part of the day that was said beside it.
fn placed(clock: Clock, part: Option<Word>) -> Clock {
    match part {
        Some(Word::Afternoon | Word::Evening) if !clock.half_known && clock.hour < 12 => {
            Clock { hour: clock.hour + 12, half_known: true, ..clock }
        }
        Some(_) => Clock { half_known: true, ..clock },
        None => clock,
    }
}

fn at(day: Option<DayWord>, clock: Clock, time: NaiveTime, now: NaiveDateTime) -> Option<NaiveDateTime> {
    let today = now.date();
    match day {
        Some(DayWord::Tomorrow) => Some(today.checked_add_days(Days::new(1))?.and_time(time)),
        Some(DayWord::Weekday(day)) => {
            let ahead = (day + 7 - today.weekday().num_days_from_monday()) % 7;
            let date = today.checked_add_days(Days::new(u64::from(ahead)))?;
            let moment = date.and_time(time);
            if moment > now { Some(moment) } else { moment.checked_add_days(Days::new(7)) }
        }
        Some(DayWord::Today | DayWord::Tonight) => Some(today.and_time(time)),
        Some(DayWord::Part(_)) | None => {
            let moment = today.and_time(time);
            if moment > now {
                return Some(moment);
            }
            // "at seven", said at nine in the morning: this evening.
            if !clock.half_known && clock.hour < 12 {
                let later = today.and_time(time.with_hour(clock.hour + 12)?);
                if later > now {
                    return Some(later);
                }
            }
            moment.checked_add_days(Days::new(1))
        }
    }
}
