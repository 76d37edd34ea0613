//! Clock times, days, dates and delays, as they stand in a sentence. What they mean together is `when`'s.

mod days;

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
    /// Daily, or on these days; with the part of the day that was said with it ("every evening").
    Every {
        days: Option<Weekdays>,
        part: Option<Word>,
    },
    /// But not on these days; `None` where it is no day of the week.
    NotOn(Option<Weekdays>),
    /// From one clock time to another: understood, and no schedule of ours. Of bare numbers it may be no time at all;
    /// `to` is the second one.
    Range {
        bare: bool,
        to: u32,
    },
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
    /// After the midnight of the evening that was said: "tonight at half past twelve".
    pub next_day: bool,
}

impl Clock {
    pub fn at(hour: u32, minute: u32) -> Self {
        Self { hour, minute, half_known: hour > 12 || hour == 0, bare: false, next_day: false }
    }

    /// With the part of the day that was said beside it; `None` where they do not go together.
    pub fn in_part(self, part: Word) -> Option<Self> {
        let night = part == Word::Evening && (self.hour < 5 || self.hour == 12);
        let after_noon = matches!(part, Word::Afternoon | Word::Evening) && self.hour < 12 && !night;
        let later = after_noon || (part == Word::Noon && self.hour < 4);
        let contradicts = after_noon || (part == Word::Morning && self.hour >= 12);
        if self.half_known {
            return (!contradicts).then_some(Self { next_day: self.next_day || night, ..self });
        }
        let midnight = self.hour == 12 && matches!(part, Word::Evening | Word::Morning | Word::Midnight);
        let hour = match (midnight, later) {
            (true, _) => 0,
            (false, true) => self.hour + 12,
            (false, false) => self.hour,
        };
        Some(Self { hour, half_known: true, next_day: night, ..self })
    }
}

impl Time {
    /// Whether it says on which days.
    pub fn names_day(&self) -> bool {
        matches!(self, Time::Every { .. } | Time::NotOn(_))
            || matches!(self, Time::Day(day) if !matches!(day, DayWord::Part(_)))
    }

    /// "… except on Sunday": a day that is left out.
    pub fn excluded(self) -> Self {
        match self {
            Time::Day(DayWord::Weekday(day)) => {
                Time::NotOn(Some(Weekdays(std::array::from_fn(|index| index == day as usize))))
            }
            Time::Every { days: Some(days), part: None } => Time::NotOn(Some(days)),
            Time::Every { .. } | Time::Day(_) => Time::NotOn(None),
            Time::After(_)
            | Time::For(_)
            | Time::Clock(_)
            | Time::NotOn(_)
            | Time::Range { .. }
            | Time::Rhythm(_)
            | Time::Sun
            | Time::NoClock => self,
        }
    }
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

const PARTS: [Word; 5] = [Word::Morning, Word::Noon, Word::Afternoon, Word::Evening, Word::Midnight];

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
        if let Some(every) = self.every(at).or_else(|| self.range(at)) {
            return Some(every);
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

    /// "From seven to nine".
    fn range(&self, at: usize) -> Option<(Time, usize)> {
        let half =
            |end: usize| end + self.word(end, Word::Pm).or_else(|| self.word(end, Word::Am)).unwrap_or(0);
        let until = |end: usize| self.word(end, Word::To).or_else(|| self.word(end, Word::Until));
        let from = at + self.word(at, Word::From)?;
        let first = half(self.clock_digits(from, false)?.2);
        let to = first + until(first)?;
        let (hour, _, last, _) = self.clock_digits(to, false)?;
        let end = half(last);
        let bare = first == from + 1 && end == to + 1;
        Some((Time::Range { bare, to: hour }, end - at))
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
        for word in PARTS {
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
        let (hour, minute, mut end, sure) = self.clock_digits(from, said > 0)?;
        let colon = self.tokens.get(from).is_some_and(|token| token.key.contains(':'));
        let mut clock = Clock { bare: end == from + 1 && !colon, ..Clock::at(hour, minute.min(59)) };
        if let Some(length) = self.word(end, Word::Pm) {
            let night = self.word(end, Word::Evening) == Some(length);
            part = Some(if night { Word::Evening } else { Word::Afternoon });
            clock.bare = false;
            end += length;
        } else if let Some(length) = self.word(end, Word::Am) {
            part = Some(Word::Morning);
            clock.bare = false;
            end += length;
        } else if !sure {
            return None;
        }
        let placed = match part {
            Some(part) => clock.in_part(part).unwrap_or(clock),
            None => clock,
        };
        (placed.hour < 24 && !(placed.bare && placed.hour > 12)).then_some((placed, end))
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
        if let Some((total, end)) = self.around_the_hour(at, after_at) {
            return Some(((total / 60) as u32, (total % 60) as u32, end, true));
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

    /// "Ten to eight", "huit heures moins le quart", 差五分八点, 八点一刻: minutes of the day, and the end.
    fn around_the_hour(&self, at: usize, after_at: bool) -> Option<(i64, usize)> {
        let clock = |hour: u32, minutes: i64| (i64::from(hour) * 60 + minutes).rem_euclid(1440);
        let o_clock = |end: usize| end + self.word(end, Word::OClock).unwrap_or(0);
        let less = |at: usize| self.minutes(at + self.word(at, Word::Less)?);
        // 差五分八点
        if let Some((minutes, after)) = less(at) {
            let (hour, end) = self.whole(after)?;
            return Some((clock(hour, -i64::from(minutes)), end + self.word(end, Word::OClock)?));
        }
        let (number, end) = self.whole(at)?;
        let past = self.word(end, Word::MinutesPast).map(|length| (1, length));
        if let Some((sign, length)) =
            past.or_else(|| self.word(end, Word::MinutesTo).map(|length| (-1, length)))
            && after_at
            && number < 60
        {
            let (hour, last) = self.whole(end + length)?;
            return Some((clock(hour, sign * i64::from(number)), o_clock(last)));
        }
        let sure = after_at || self.word(end, Word::OClock).is_some();
        let after = o_clock(end);
        if let Some((minutes, last)) = less(after).filter(|_| sure) {
            return Some((clock(number, -i64::from(minutes)), last));
        }
        let and = if self.lexicon.han_numbers { 0 } else { self.word(after, Word::And)? };
        let quarter = self.quarter(after + and).filter(|_| sure)?;
        Some((clock(number, i64::from(quarter.0)), quarter.1))
    }

    /// Minutes that are taken from an hour.
    fn minutes(&self, at: usize) -> Option<(u32, usize)> {
        self.quarter(at).or_else(|| {
            let (minutes, end) = self.whole(at)?;
            (minutes < 60).then(|| (minutes, end + self.word(end, Word::Minute).unwrap_or(0)))
        })
    }

    /// "Le quart", 一刻, 三刻: its minutes.
    fn quarter(&self, at: usize) -> Option<(u32, usize)> {
        if let Some(length) = self.word(at, Word::Quarter) {
            return Some((15, at + length));
        }
        let (count, end) = self.whole(at)?;
        let length = self.word(end, Word::Quarter)?;
        (1..=3).contains(&count).then_some((count * 15, end + length))
    }

    fn whole(&self, at: usize) -> Option<(u32, usize)> {
        let (number, end) = self.number(at)?;
        (number.fract() == 0.0 && (0.0..=99.0).contains(&number)).then_some((number as u32, end))
    }
}
