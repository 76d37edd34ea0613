//! Numbers, percentages, temperatures and durations: the small grammars that general crates get wrong
//! (二十六度半, 两个半小时, "twenty six and a half degrees").

use super::lexicon::{Lexicon, Sense};
use super::text::{Kind, Token};
use super::vocabulary::Word;

/// A quantity with its unit, as said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Number(f64),
    Percent(f64),
    Celsius(f64),
    Fahrenheit(f64),
    Kelvin(f64),
    /// Seconds.
    Duration(u64),
}

/// Units of time and their length in seconds.
const UNITS: [(Word, f64); 8] = [
    (Word::QuarterHour, QUARTER_HOUR),
    (Word::Hour, 3600.0),
    (Word::Minute, 60.0),
    (Word::Second, 1.0),
    (Word::Day, 86_400.0),
    (Word::Week, 604_800.0),
    (Word::Month, 2_592_000.0),
    (Word::Year, 31_536_000.0),
];

/// Seconds.
const QUARTER_HOUR: f64 = 900.0;

/// The longest duration that is read, in seconds; what may be waited for is decided elsewhere.
const LONGEST: f64 = 1e12;

/// Reads tokens of one sentence.
pub struct Numbers<'a> {
    pub tokens: &'a [Token],
    pub lexicon: &'a Lexicon,
}

impl Numbers<'_> {
    /// The value that begins at `at`, and how many tokens it takes.
    pub fn value(&self, at: usize) -> Option<(Value, usize)> {
        if self.lexicon.han_numbers
            && let Some((percent, end)) = self.han_percent(at)
        {
            return Some((Value::Percent(percent), end - at));
        }
        if let Some((seconds, end)) = self.duration(at) {
            return Some((Value::Duration(seconds), end - at));
        }
        let Some((number, mut end)) = self.number(at) else { return self.one_degree(at) };
        let mut number = number;
        if let Some(length) = self.word(end, Word::AndHalf) {
            number += 0.5;
            end += length;
        }
        // "Three more degrees"
        let more = self.word(end, Word::More).filter(|_| !self.lexicon.han_numbers).unwrap_or(0);
        let unit = self.unit(number, end).or_else(|| self.unit(number, end + more).filter(|_| more > 0));
        Some(match unit {
            Some((value, end)) => (value, end - at),
            None => (Value::Number(number), end - at),
        })
    }

    /// "A degree"
    fn one_degree(&self, at: usize) -> Option<(Value, usize)> {
        // "Half a degree"
        if let Some(length) = self.word(at, Word::Half) {
            return self.degrees(0.5, self.skip_article(at + length), at);
        }
        self.degrees(1.0, at + self.word(at, Word::One)?, at)
    }

    /// Degrees whose unit stands at `unit`, and how many tokens they take from `at`.
    fn degrees(&self, number: f64, unit: usize, at: usize) -> Option<(Value, usize)> {
        let (value, end) = self.unit(number, unit)?;
        matches!(value, Value::Celsius(_) | Value::Fahrenheit(_)).then_some((value, end - at))
    }

    /// The unit after a number: `%`, `度半`, degrees Fahrenheit, kelvin.
    fn unit(&self, number: f64, at: usize) -> Option<(Value, usize)> {
        if let Some(length) = self.word(at, Word::Percent) {
            return Some((Value::Percent(number), at + length));
        }
        if let Some(length) = self.word(at, Word::Kelvin) {
            return Some((Value::Kelvin(number), at + length));
        }
        if let Some(length) = self.word(at, Word::Fahrenheit) {
            return Some((Value::Fahrenheit(number), at + length));
        }
        let length = self.word(at, Word::Degree)?;
        let mut end = at + length;
        let mut number = number;
        if self.lexicon.han_numbers {
            // 二十六度半, 二十三度五
            if let Some(length) = self.word(end, Word::Half) {
                number += 0.5;
                end += length;
            } else if let Some(digit) = self.digit(end).filter(|_| self.digit(end + 1).is_none()) {
                number += digit / 10.0;
                end += 1;
            }
        } else if let Some(length) = self.word(end, Word::AndHalf) {
            number += 0.5;
            end += length;
        }
        if let Some(length) = self.word(end, Word::Fahrenheit) {
            return Some((Value::Fahrenheit(number), end + length));
        }
        if let Some(length) = self.word(end, Word::Kelvin) {
            return Some((Value::Kelvin(number), end + length));
        }
        Some((Value::Celsius(number), end))
    }

    /// A plain number in digits or words.
    pub fn number(&self, at: usize) -> Option<(f64, usize)> {
        let token = self.tokens.get(at)?;
        if token.kind == Kind::Number {
            let number: f64 = token.key.parse().ok()?;
            return Some(self.scaled(number, at + 1));
        }
        if self.lexicon.han_numbers { self.han_number(at) } else { self.western_number(at) }
    }

    /// 3 万, 2 千 after digits.
    fn scaled(&self, number: f64, at: usize) -> (f64, usize) {
        match self.word_number(at) {
            Some(scale) if self.lexicon.han_numbers && scale >= 100.0 => (number * scale, at + 1),
            Some(_) | None => (number, at),
        }
    }

    fn word_number(&self, at: usize) -> Option<f64> {
        self.lexicon.number_words.get(&self.tokens.get(at)?.key).copied()
    }

    /// The longest number of the data file that begins here: "quatre vingt dix".
    fn number_phrase(&self, at: usize) -> Option<(f64, usize)> {
        let first = self.tokens.get(at)?;
        let long = self.lexicon.number_phrases.get(&first.key).into_iter().flatten().find(|(keys, _)| {
            keys.iter()
                .enumerate()
                .all(|(offset, key)| self.tokens.get(at + offset).is_some_and(|token| token.key == *key))
        });
        match long {
            Some((keys, value)) => Some((*value, keys.len())),
            None => self.word_number(at).map(|value| (value, 1)),
        }
    }

    fn digit(&self, at: usize) -> Option<f64> {
        let token = self.tokens.get(at)?;
        let value = match token.kind {
            Kind::Number if token.key.len() == 1 => token.key.parse().ok(),
            Kind::Number | Kind::Mark => None,
            Kind::Word | Kind::Han => self.word_number(at),
        };
        value.filter(|value| (0.0..10.0).contains(value))
    }

    /// "twenty six", "one hundred and five", "two point five", "a hundred".
    fn western_number(&self, at: usize) -> Option<(f64, usize)> {
        let mut total = 0.0;
        let mut group = 0.0;
        let mut end = at;
        let mut last = f64::INFINITY;
        while let Some((value, length)) = self.number_phrase(end) {
            if value >= 100.0 {
                group = f64::max(group, 1.0) * value;
                if value >= 1000.0 {
                    total += group;
                    group = 0.0;
                }
                last = value;
            } else {
                // "six ten" is two numbers; "twenty six" is one.
                let fits = end == at || (last >= 100.0) || (last >= 20.0 && value < 10.0 && value > 0.0);
                if !fits {
                    break;
                }
                group += value;
                last = value;
            }
            end += length;
            // "one hundred and five", "treinta y cinco"
            let tens = self.lexicon.and_in_tens && (20.0..100.0).contains(&last) && last % 10.0 == 0.0;
            let below = if tens { 10.0 } else { 100.0 };
            if (last >= 100.0 || tens)
                && self.is_and(end)
                && self.number_phrase(end + 1).is_some_and(|(value, _)| value < below)
            {
                end += 1;
            }
        }
        if end == at {
            return None;
        }
        let mut number = total + group;
        if let Some(length) = self.word(end, Word::Point) {
            let mut place = 0.1;
            let mut after = end + length;
            while let Some(digit) = self.digit(after) {
                number += digit * place;
                place /= 10.0;
                after += 1;
            }
            if after > end + length {
                end = after;
            }
        }
        Some((number, end))
    }

    fn is_and(&self, at: usize) -> bool {
        self.word(at, Word::And) == Some(1)
    }

    /// 二十六, 两百零五, 一万二, 三点五, 二六 (digit by digit).
    fn han_number(&self, at: usize) -> Option<(f64, usize)> {
        let mut total = 0.0;
        let mut section = 0.0;
        let mut pending: Option<f64> = None;
        let mut digits = 0usize;
        let mut end = at;
        while let Some(value) = self
            .word_number(end)
            .filter(|_| self.tokens.get(end).is_some_and(|token| token.kind == Kind::Han))
        {
            if value >= 10_000.0 {
                total += (section + pending.take().unwrap_or(0.0)) * value;
                section = 0.0;
            } else if value >= 10.0 {
                section += pending.take().unwrap_or(1.0) * value;
            } else {
                pending = Some(match pending {
                    Some(before) if digits > 0 => before * 10.0 + value,
                    Some(_) | None => value,
                });
                digits += 1;
                end += 1;
                continue;
            }
            digits = 0;
            end += 1;
        }
        if end == at {
            return None;
        }
        let mut number = total + section + pending.unwrap_or(0.0);
        // 三点五度 is 3.5; 七点三十分 is a time and is read elsewhere.
        if self.word(end, Word::Point).is_some()
            && let Some(digit) = self.digit(end + 1)
            && self.unit_follows(end + 2)
        {
            number += digit / 10.0;
            end += 2;
        }
        Some((number, end))
    }

    fn unit_follows(&self, at: usize) -> bool {
        [Word::Degree, Word::Percent, Word::Kelvin, Word::Hour, Word::Minute]
            .into_iter()
            .any(|unit| self.word(at, unit).is_some())
    }

    /// 百分之五十, 五成, 三分之一.
    fn han_percent(&self, at: usize) -> Option<(f64, usize)> {
        if let Some(length) = self.word(at, Word::PercentOf) {
            return self.number(at + length);
        }
        let (number, end) = self.number(at)?;
        if let Some(length) = self.word(end, Word::Tenths)
            && number <= 10.0
        {
            return Some((number * 10.0, end + length));
        }
        let (part, end) = self.number(end + self.word(end, Word::PartsOf)?)?;
        (number >= 2.0).then_some(((part / number * 100.0).round(), end))
    }

    /// "1 hour 5 minutes", "half an hour", "an hour and a half", 一个半小时, 十分钟, 一刻钟. Seconds.
    pub fn duration(&self, at: usize) -> Option<(u64, usize)> {
        let mut end = at;
        let mut seconds = 0.0;
        let mut smallest = f64::INFINITY;
        loop {
            let joined =
                end > at && (self.is_and(end) || self.tokens.get(end).is_some_and(|token| token.text == ","));
            let from = if joined { end + 1 } else { end };
            let Some((amount, unit, after)) = self.duration_part(from) else { break };
            if unit >= smallest {
                break;
            }
            smallest = unit;
            seconds += amount * unit;
            end = after;
        }
        if end == at {
            return None;
        }
        // "an hour and a half", 一分半
        if let Some(length) = self
            .word(end, Word::AndHalf)
            .or_else(|| self.lexicon.han_numbers.then(|| self.word(end, Word::Half)).flatten())
        {
            seconds += smallest / 2.0;
            end += length;
        }
        (seconds.is_finite() && (1.0..=LONGEST).contains(&seconds)).then_some((seconds.round() as u64, end))
    }

    /// An amount, the length of its unit in seconds, and the end.
    fn duration_part(&self, at: usize) -> Option<(f64, f64, usize)> {
        let (mut amount, mut end) = match self.number(at) {
            Some(number) => number,
            None => return self.duration_without_number(at),
        };
        if let Some(length) = self.word(end, Word::AndHalf) {
            amount += 0.5;
            end += length;
        }
        end = self.skip_article(end);
        // "Five more minutes"
        if let Some(length) = self.word(end, Word::More)
            && !self.lexicon.han_numbers
        {
            end += length;
        }
        // 两个半小时
        if self.lexicon.han_numbers
            && let Some(length) = self.word(end, Word::Half)
        {
            amount += 0.5;
            end = self.skip_article(end + length);
        }
        let (unit, end) = self.duration_unit(end)?;
        Some((amount, unit, end))
    }

    /// "half an hour", 半个小时, "an hour", "eine halbe Stunde".
    fn duration_without_number(&self, at: usize) -> Option<(f64, f64, usize)> {
        if let Some(length) = self.word(at, Word::Half) {
            let (unit, end) = self.duration_unit(self.skip_article(at + length))?;
            return Some((0.5, unit, end));
        }
        // "The second lamp" is no time: only what counts one does.
        let from = at + self.word(at, Word::One)?;
        // "In einer Dreiviertelstunde"
        if self.number(from).is_some() {
            return self.duration_part(from).filter(|(_, unit, _)| *unit == QUARTER_HOUR);
        }
        let (amount, from) = match self.word(from, Word::Half) {
            Some(length) => (0.5, from + length),
            None => (1.0, from),
        };
        let (unit, end) = self.duration_unit(from)?;
        Some((amount, unit, end))
    }

    /// The measure word 个, "a" and "an" inside "half an hour".
    fn skip_article(&self, at: usize) -> usize {
        at + self.word(at, Word::Article).unwrap_or(0)
    }

    /// The length of a unit in seconds, and its end.
    pub fn duration_unit(&self, at: usize) -> Option<(f64, usize)> {
        UNITS.into_iter().find_map(|(word, seconds)| Some((seconds, at + self.word(at, word)?)))
    }

    /// The length of the longest phrase at `at` that can mean `word`.
    pub fn word(&self, at: usize, word: Word) -> Option<usize> {
        let first = self.tokens.get(at)?;
        self.lexicon
            .starting(&first.key)
            .iter()
            .find(|phrase| {
                phrase.senses.contains(&Sense::Word(word))
                    && phrase.keys.iter().enumerate().all(|(offset, key)| {
                        self.tokens.get(at + offset).is_some_and(|token| token.key == *key)
                    })
            })
            .map(|phrase| phrase.keys.len())
    }
}
