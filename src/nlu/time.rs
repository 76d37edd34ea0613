//! Clock times, days, dates and delays, as they stand in a sentence. What they mean together is `when`'s.

use super::number::Numbers;
use super::text::Kind;
use super::understanding::Weekdays;
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
    /// Again and again after so many seconds: understood, and no schedule of ours.
    Rhythm(u64),
    /// Sunset, sunrise: understood, and not held by the scheduler.
    Sun,
    /// A clock time that no clock shows: 25:00.
    NoClock,
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
    AfterTomorrow,
    /// Yesterday, and every other day that is over.
    Over,
    Tonight,
    Part(Word),
    /// 0 is Monday.
    Weekday(u32),
    /// Of this year or the next; it may not exist. Without a month: the next such day of a month.
    Date {
        month: Option<u32>,
        day: u32,
    },
}

const MONTHS: [Word; 12] = [
    Word::January,
    Word::February,
    Word::March,
    Word::April,
    Word::May,
    Word::June,
    Word::July,
    Word::August,
    Word::September,
    Word::October,
    Word::November,
    Word::December,
];

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
        if let Some((seconds, length)) = self.rhythm(at) {
            return Some((Time::Rhythm(seconds), length));
        }
        if let Some((days, length)) = self.every(at) {
            return Some((Time::Every(days), length));
        }
        if let Some(length) = self.word(at, Word::Sun) {
            return Some((Time::Sun, length));
        }
        if let Some(length) = self.no_clock(at) {
            return Some((Time::NoClock, length));
        }
        if let Some((clock, end)) = self.clock(at) {
            return Some((Time::Clock(clock), end - at));
        }
        self.day(at).map(|(day, length)| (Time::Day(day), length))
    }

    /// "every ten minutes", "every second", 每隔十分钟, 每秒.
    fn rhythm(&self, at: usize) -> Option<(u64, usize)> {
        let from = at + self.word(at, Word::Every)?;
        if let Some((seconds, end)) = self.duration(from) {
            return Some((seconds, end - at));
        }
        let (seconds, end) = self.duration_unit(from)?;
        // "Every day" and "every week" are days of the week.
        (seconds < 86_400.0).then_some((seconds as u64, end - at))
    }

    /// 25:00, 8:75, 二十五点.
    fn no_clock(&self, at: usize) -> Option<usize> {
        let from = at + self.word(at, Word::At).unwrap_or(0);
        let token = self.tokens.get(from)?;
        let wrong = |hour: Option<u32>, minute: Option<u32>| {
            hour.is_none_or(|hour| hour > 24) || minute.is_none_or(|minute| minute > 59)
        };
        if token.kind == Kind::Number
            && let Some((hour, minute)) = token.key.split_once(':')
        {
            return wrong(hour.parse().ok(), minute.parse().ok()).then_some(from + 1 - at);
        }
        let (hour, end) = self.whole(from)?;
        let end = end + self.word(end, Word::OClock)?;
        wrong(Some(hour), Some(0)).then_some(end - at)
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
        // "Every light" is no time; "every day" is.
        let all = self.word(at, Word::All).unwrap_or(0);
        (some || every > all).then(|| (some.then_some(Weekdays(days)), end - at))
    }

    fn weekday(&self, at: usize) -> Option<(u32, usize)> {
        (0u32..).zip(WEEKDAYS).find_map(|(index, word)| self.word(at, word).map(|length| (index, length)))
    }

    fn day(&self, at: usize) -> Option<(DayWord, usize)> {
        for (word, day) in [
            (Word::Today, DayWord::Today),
            (Word::Tomorrow, DayWord::Tomorrow),
            (Word::DayAfterTomorrow, DayWord::AfterTomorrow),
            (Word::Yesterday, DayWord::Over),
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
        if let Some((day, length)) = self.weekday(at) {
            return Some((DayWord::Weekday(day), length));
        }
        self.date(at).map(|(month, day, end)| (DayWord::Date { month, day }, end - at))
    }

    /// "March 30th", "the 30th of March", "30. März", 三月三十号, 三十号: month, day, end.
    fn date(&self, at: usize) -> Option<(Option<u32>, u32, usize)> {
        let at = at + self.word(at, Word::OnLink).unwrap_or(0);
        let at = at + self.word(at, Word::Filler).filter(|_| !self.lexicon.han_numbers).unwrap_or(0);
        // "30. März" as well as "30th" and 三十号.
        let dot = |at: usize| self.tokens.get(at).is_some_and(|token| token.text == ".").then_some(at + 1);
        let dot = |at: usize| dot(at).filter(|end| self.month(*end).is_some());
        let mark = |at: usize| self.word(at, Word::DayMark).map(|length| at + length).or_else(|| dot(at));
        if let Some((month, after)) = self.month(at) {
            let (day, end) = self.whole(after)?;
            return Some((Some(month), day, mark(end).unwrap_or(end)));
        }
        let (number, end) = self.whole(at)?;
        if let Some(length) = self.word(end, Word::MonthMark) {
            let (day, end) = self.whole(end + length)?;
            return Some((Some(number), day, mark(end).unwrap_or(end)));
        }
        let marked = mark(end);
        let end = marked.unwrap_or(end);
        let linked = end + self.word(end, Word::Link).unwrap_or(0);
        match self.month(linked) {
            Some((month, end)) => Some((Some(month), number, end)),
            None => marked.map(|end| (None, number, end)),
        }
    }

    fn month(&self, at: usize) -> Option<(u32, usize)> {
        (1u32..).zip(MONTHS).find_map(|(number, word)| Some((number, at + self.word(at, word)?)))
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
        for (word, minutes) in
            [(Word::HalfPast, 30), (Word::HalfTo, -30), (Word::QuarterPast, 15), (Word::QuarterTo, -15)]
        {
            if let Some(length) = self.word(at, word)
                && let Some((hour, end)) = self.whole(at + length)
            {
                let end = end + self.word(end, Word::OClock).unwrap_or(0);
                let total = (i64::from(hour) * 60 + minutes).rem_euclid(1440);
                return Some(((total / 60) as u32, (total % 60) as u32, end, true));
            }
        }
        let token = self.tokens.get(at)?;
        if token.kind == Kind::Number
            && let Some((hour, minute)) = token.key.split_once(':')
        {
            let end = at + 1;
            let end = end + self.word(end, Word::OClock).unwrap_or(0);
            return Some((hour.parse().ok()?, minute.parse().ok()?, end, true));
        }
        let (hour, end) = self.whole(at)?;
        if let Some(length) = self.word(end, Word::OClock) {
            let mut end = end + length;
            let mut minute = 0;
            let half = if self.lexicon.han_numbers { Word::Half } else { Word::AndHalf };
            if let Some(length) = self.word(end, half) {
                minute = 30;
                end += length;
            } else if let Some((value, after)) = self.whole(end).filter(|(value, _)| *value < 60) {
                minute = value;
                end = after + self.word(after, Word::Minute).unwrap_or(0);
            }
            return Some((hour, minute, end, true));
        }
        // "a las siete y media"
        if after_at
            && !self.lexicon.han_numbers
            && let Some(length) = self.word(end, Word::AndHalf)
        {
            return Some((hour, 30, end + length, true));
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
        (number.fract() == 0.0 && (0.0..=99.0).contains(&number)).then_some((number as u32, end))
    }
}
