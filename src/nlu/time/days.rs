//! Repetition and days of the week: "every evening", "Monday to Friday", 每周一三五.

use super::{PARTS, Time};
use crate::nlu::lexicon::Sense;
use crate::nlu::number::Numbers;
use crate::nlu::text::Kind;
use crate::nlu::understanding::Weekdays;
use crate::nlu::vocabulary::Word;

const WEEKDAYS: [Word; 7] = [
    Word::Monday,
    Word::Tuesday,
    Word::Wednesday,
    Word::Thursday,
    Word::Friday,
    Word::Saturday,
    Word::Sunday,
];

/// Days of the week that stand together.
struct Days {
    days: Weekdays,
    end: usize,
    /// Whether a "to" is between some of them.
    range: bool,
    /// Whether they are said as a habit.
    habit: bool,
}

impl Days {
    fn add(&mut self, day: u32) {
        if let Some(slot) = self.days.0.get_mut(day as usize) {
            *slot = true;
        }
    }
}

impl Numbers<'_> {
    pub(super) fn every(&self, at: usize) -> Option<(Time, usize)> {
        let on = |days: Weekdays, end: usize| Some((Time::Every { days: Some(days), part: None }, end - at));
        for (word, days) in [(Word::Workdays, Weekdays::WORKDAYS), (Word::Weekend, Weekdays::WEEKEND)] {
            if let Some(length) = self.word(at, word) {
                return on(days, at + length);
            }
        }
        // "From Monday to Friday", "on Mondays": no "every" is needed.
        let from = at + self.word(at, Word::From).or_else(|| self.word(at, Word::Link)).unwrap_or(0);
        for start in [at, from] {
            if let Some(days) = self.weekdays(start)
                && (days.range || (start == at && days.habit))
            {
                return on(days.days, days.end);
            }
        }
        // 每 as well as 每周, before 周一.
        let first = self.tokens.get(at)?;
        let phrases = self.lexicon.starting(&first.key).iter().filter(|phrase| {
            phrase.senses.contains(&Sense::Word(Word::Every)) && self.reads(at, &phrase.keys)
        });
        for phrase in phrases {
            if let Some(days) = self.weekdays(at + phrase.keys.len()) {
                return on(days.days, days.end);
            }
        }
        let every = self.word(at, Word::Every)?;
        let end = at + every;
        let own = PARTS.into_iter().find(|part| self.word(at, *part) == Some(every));
        let next = PARTS.into_iter().find_map(|part| Some((part, self.word(end, part)?)));
        let (part, end) = match (own, next) {
            (Some(part), _) => (Some(part), end),
            (None, Some((part, length))) => (Some(part), end + length),
            (None, None) => (None, end),
        };
        // "Every light" is no time; "every day" is.
        let all = self.word(at, Word::All).unwrap_or(0);
        (part.is_some() || every > all).then(|| (Time::Every { days: None, part }, end - at))
    }

    /// Days of the week: "Monday and Friday", "Monday to Friday", 周一三五.
    fn weekdays(&self, at: usize) -> Option<Days> {
        let mut found = Days { days: Weekdays([false; 7]), end: at, range: false, habit: false };
        let mut from = at;
        while let Some((day, length)) = self.weekday(from) {
            found.add(day);
            found.habit |= self.is_habit(from, length);
            found.end = from + length;
            let to = self.word(found.end, Word::To).or_else(|| self.word(found.end, Word::Until));
            let last =
                to.and_then(|to| self.weekday(found.end + to).map(|(last, length)| (last, to + length)));
            if let Some((last, length)) = last {
                (0..7)
                    .map(|ahead| (day + ahead) % 7)
                    .take_while(|day| *day != last)
                    .for_each(|day| found.add(day));
                found.add(last);
                found.range = true;
                found.end += length;
            }
            while let Some(day) = self.day_digit(found.end) {
                found.add(day);
                found.end += 1;
            }
            let mark =
                self.tokens.get(found.end).is_some_and(|token| token.text == "," || token.text == "、");
            from = found.end + if mark { 1 } else { 0 };
            from += self.word(from, Word::And).unwrap_or(0);
        }
        (found.end > at).then_some(found)
    }

    /// Whether a day of the week is said as a habit: "Mondays", "montags".
    fn is_habit(&self, at: usize, length: usize) -> bool {
        let plural = at
            .checked_add(length)
            .and_then(|end| self.tokens.get(end.checked_sub(1)?))
            .is_some_and(|token| token.plural);
        if self.lexicon.says_habits { self.word(at, Word::Weekly) == Some(length) } else { plural }
    }

    /// 三 of 每周一三五, and not of 每周一三点.
    fn day_digit(&self, at: usize) -> Option<u32> {
        if !self.lexicon.han_numbers || self.tokens.get(at)?.kind != Kind::Han {
            return None;
        }
        let clock =
            self.whole(at).is_some_and(|(hour, end)| hour <= 24 && self.word(end, Word::OClock).is_some());
        let digit = *self.lexicon.number_words.get(&self.tokens.get(at)?.key)?;
        (!clock && (1.0..=6.0).contains(&digit)).then(|| digit as u32 - 1)
    }

    fn reads(&self, at: usize, keys: &[String]) -> bool {
        keys.iter()
            .enumerate()
            .all(|(offset, key)| self.tokens.get(at + offset).is_some_and(|token| token.key == *key))
    }

    pub(super) fn weekday(&self, at: usize) -> Option<(u32, usize)> {
        (0u32..).zip(WEEKDAYS).find_map(|(index, word)| self.word(at, word).map(|length| (index, length)))
    }
}
