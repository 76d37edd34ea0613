//! Clock times, days, dates and delays, as they stand in a sentence. What they mean together is `when`'s.

mod clock;
mod days;

pub use clock::Clock;

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
}
