//! Times of day: "half past seven", 七点一刻, "viertel vor acht".

use super::DayWord;
use crate::nlu::number::Numbers;
use crate::nlu::text::Kind;
use crate::nlu::vocabulary::Word;

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

impl Numbers<'_> {
    /// "at 7:30", "half past seven", "7 pm", 早上七点半, 七点三十分.
    pub(super) fn clock(&self, at: usize) -> Option<(Clock, usize)> {
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
    pub(super) fn clock_digits(&self, at: usize, after_at: bool) -> Option<(u32, u32, usize, bool)> {
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
    pub(super) fn minutes(&self, at: usize) -> Option<(u32, usize)> {
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

    pub(super) fn whole(&self, at: usize) -> Option<(u32, usize)> {
        let (number, end) = self.number(at)?;
        (number.fract() == 0.0 && (0.0..=99.0).contains(&number)).then_some((number as u32, end))
    }
}
