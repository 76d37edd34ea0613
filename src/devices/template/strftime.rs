//! Python's `strftime` and `strptime`.

use std::fmt::Write;

use chrono::{FixedOffset, NaiveDate, NaiveDateTime, TimeZone};

use super::moment::Moment;

/// Directives that chrono writes as the C library does.
const SAME: &str = "aAbBcdDHIjmMpSUwWxXyYsuGVgeklnRrTtFhCP%";

/// Writes a moment. What is no directive stays as it is.
pub(super) fn write(moment: Moment, format: &str) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let flag = after.chars().next().filter(|c| matches!(c, '-' | '_' | '0' | '^' | '#' | ':'));
        let letter = after.chars().nth(usize::from(flag.is_some()));
        let taken = flag.map_or(0, char::len_utf8) + letter.map_or(0, char::len_utf8);
        match (flag, letter) {
            (None, Some('f')) => out.push_str(&format!("{:06}", moment.micros())),
            (None, Some('Z')) => out.push_str(&moment.zone_name()),
            (None | Some(':'), Some('z')) => {
                let directive = if flag.is_some() { "%:z" } else { "%z" };
                if moment.offset.is_some() {
                    out.push_str(&chrono_text(moment, directive));
                }
            }
            (None | Some('-' | '_' | '0'), Some(letter)) if SAME.contains(letter) => {
                let flag = flag.map_or_else(String::new, String::from);
                out.push_str(&chrono_text(moment, &format!("%{flag}{letter}")));
            }
            _ => {
                out.push('%');
                out.push_str(after.get(..taken).unwrap_or_default());
            }
        }
        rest = after.get(taken..).unwrap_or_default();
    }
    out + rest
}

fn chrono_text(moment: Moment, format: &str) -> String {
    let mut out = String::new();
    let at = moment.offset.and_then(|offset| offset.from_local_datetime(&moment.naive).single());
    let written = match at {
        Some(at) => write!(out, "{}", at.format(format)),
        None => write!(out, "{}", moment.naive.format(format)),
    };
    if written.is_err() { String::new() } else { out }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// What was read so far; what is missing is 1900-01-01 00:00:00.
struct Read<'t> {
    rest: &'t str,
    year: i32,
    month: u32,
    day: u32,
    day_of_year: Option<u32>,
    hour: u32,
    hour_of_twelve: Option<u32>,
    afternoon: Option<bool>,
    minute: u32,
    second: u32,
    micros: u32,
    offset: Option<FixedOffset>,
}

/// Reads `text` by `format`, all of it, as Python's `datetime.strptime` does. Weeks (`%U`, `%W`, `%G`, `%V`) are not read.
pub(super) fn parse(text: &str, format: &str) -> Option<Moment> {
    let mut read = Read::of(text);
    read.all(format, 0)?;
    if !read.rest.is_empty() {
        return None;
    }
    if let Some(hour) = read.hour_of_twelve {
        read.hour = hour % 12 + if read.afternoon == Some(true) { 12 } else { 0 };
    }
    let date = match read.day_of_year {
        Some(day) => NaiveDate::from_yo_opt(read.year, day)?,
        None => NaiveDate::from_ymd_opt(read.year, read.month, read.day)?,
    };
    let naive: NaiveDateTime = date.and_hms_micro_opt(read.hour, read.minute, read.second, read.micros)?;
    Some(Moment { naive, offset: read.offset, zone: None })
}

impl<'t> Read<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            rest: text,
            year: 1900,
            month: 1,
            day: 1,
            day_of_year: None,
            hour: 0,
            hour_of_twelve: None,
            afternoon: None,
            minute: 0,
            second: 0,
            micros: 0,
            offset: None,
        }
    }

    fn all(&mut self, format: &str, depth: usize) -> Option<()> {
        let mut format = format.chars().peekable();
        while let Some(character) = format.next() {
            if character.is_whitespace() {
                while format.next_if(|next| next.is_whitespace()).is_some() {}
                let trimmed = self.rest.trim_start();
                if trimmed.len() == self.rest.len() {
                    return None;
                }
                self.rest = trimmed;
            } else if character == '%' {
                self.directive(format.next()?, depth)?;
            } else {
                let next = self.rest.chars().next()?;
                if !next.to_lowercase().eq(character.to_lowercase()) {
                    return None;
                }
                self.rest = self.rest.get(next.len_utf8()..)?;
            }
        }
        Some(())
    }

    fn directive(&mut self, letter: char, depth: usize) -> Option<()> {
        match letter {
            'Y' => self.year = i32::try_from(self.exactly(4)?).ok().filter(|year| *year > 0)?,
            'y' => {
                let year = i32::try_from(self.exactly(2)?).ok()?;
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            'm' => self.month = self.number(2, 1, 12)?,
            'd' => {
                self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                self.day = self.number(2, 1, 31)?;
            }
            'j' => self.day_of_year = Some(self.number(3, 1, 366)?),
            'H' => self.hour = self.number(2, 0, 23)?,
            'I' => self.hour_of_twelve = Some(self.number(2, 1, 12)?),
            'M' => self.minute = self.number(2, 0, 59)?,
            // A leap second is the last second.
            'S' => self.second = self.number(2, 0, 61)?.min(59),
            'f' => self.micros = self.fraction()?,
            'p' => self.afternoon = Some(self.one_of(&["am", "pm"])? == 1),
            'B' => self.month = u32::try_from(self.one_of(&MONTHS)?).ok()? + 1,
            'b' => self.month = u32::try_from(self.one_of(&MONTHS.map(short))?).ok()? + 1,
            'A' => {
                self.one_of(&DAYS)?;
            }
            'a' => {
                self.one_of(&DAYS.map(short))?;
            }
            'w' => {
                self.number(1, 0, 6)?;
            }
            'u' => {
                self.number(1, 1, 7)?;
            }
            'z' => self.offset = Some(self.offset()?),
            'Z' => {
                self.one_of(&["utc", "gmt"])?;
            }
            'c' if depth == 0 => self.all("%a %b %d %H:%M:%S %Y", 1)?,
            'x' if depth == 0 => self.all("%m/%d/%y", 1)?,
            'X' if depth == 0 => self.all("%H:%M:%S", 1)?,
            '%' => self.rest = self.rest.strip_prefix('%')?,
            _ => return None,
        }
        Some(())
    }

    fn digits(&self) -> usize {
        self.rest.bytes().take_while(u8::is_ascii_digit).count()
    }

    fn exactly(&mut self, count: usize) -> Option<u32> {
        if self.digits() < count {
            return None;
        }
        let (number, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        number.parse().ok()
    }

    /// The longest number of at most `width` digits within the bounds.
    fn number(&mut self, width: usize, low: u32, high: u32) -> Option<u32> {
        for count in (1..=width.min(self.digits())).rev() {
            let (number, rest) = self.rest.split_at_checked(count)?;
            let number = number.parse().ok().filter(|number| (low..=high).contains(number));
            if number.is_some() {
                self.rest = rest;
                return number;
            }
        }
        None
    }

    fn fraction(&mut self) -> Option<u32> {
        let count = self.digits().min(6);
        let (number, rest) = self.rest.split_at_checked(count).filter(|_| count > 0)?;
        self.rest = rest;
        format!("{number:0<6}").parse().ok()
    }

    fn one_of(&mut self, words: &[&str]) -> Option<usize> {
        let found = words.iter().position(|word| {
            self.rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
        })?;
        self.rest = self.rest.get(words.get(found)?.len()..)?;
        Some(found)
    }

    fn offset(&mut self) -> Option<FixedOffset> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return FixedOffset::east_opt(0);
        }
        let (offset, rest) = offset(self.rest, true)?;
        self.rest = rest;
        Some(offset)
    }
}

fn short(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or(name)
}

/// `+01:00`, `+0100` or, unless `minutes` are required, `+01`.
fn offset(text: &str, minutes: bool) -> Option<(FixedOffset, &str)> {
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let pair = |text: &str| -> Option<i32> {
        text.get(..2).filter(|pair| pair.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let rest = text.get(1..)?;
    let hours = pair(rest)?;
    let rest = rest.get(2..)?;
    let after = rest.strip_prefix(':').unwrap_or(rest);
    let (minute, rest) = match pair(after) {
        Some(minute) if minute < 60 => (minute, after.get(2..)?),
        _ if minutes || after.len() != rest.len() => return None,
        _ => (0, rest),
    };
    Some((FixedOffset::east_opt(sign * (hours * 3600 + minute * 60))?, rest))
}

/// ISO 8601 as Home Assistant reads it: a date, perhaps a time, perhaps an offset, with or without separators.
pub(super) fn iso(text: &str) -> Option<Moment> {
    let mut read = Read::of(text);
    read.year = i32::try_from(read.exactly(4)?).ok()?;
    let before = read.rest;
    let date = read.iso_date()?;
    // `2024-1-2` is a date only where a time follows.
    let short =
        before.starts_with('-') && before.len() - read.rest.len() < 6 && before.matches('-').count() > 1;
    let mut next_day = false;
    if let Some(rest) = read.rest.strip_prefix(['T', 't', ' ']) {
        read.rest = rest;
        next_day = read.iso_time()?;
        if read.rest.starts_with(['Z', 'z']) {
            read.rest = read.rest.get(1..)?;
            read.offset = FixedOffset::east_opt(0);
        } else if !read.rest.is_empty() {
            let (offset, rest) = offset(read.rest, false)?;
            read.rest = rest;
            read.offset = Some(offset);
        }
    } else if short && !before.starts_with("-W") {
        return None;
    }
    if !read.rest.is_empty() {
        return None;
    }
    let date = if next_day { date.succ_opt()? } else { date };
    let naive = date.and_hms_micro_opt(read.hour, read.minute, read.second, read.micros)?;
    Some(Moment { naive, offset: read.offset, zone: None })
}

impl<'t> Read<'t> {
    /// After the year: `-MM-DD`, `MMDD`, `-MM`, `-DDD` or `-Www-D`.
    fn iso_date(&mut self) -> Option<NaiveDate> {
        let dashed = self.rest.strip_prefix('-');
        self.rest = dashed.unwrap_or(self.rest);
        if let Some(rest) = self.rest.strip_prefix('W') {
            self.rest = rest;
            let week = self.exactly(2)?;
            self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
            let day = if self.digits() > 0 { self.exactly(1)? } else { 1 };
            let day = chrono::Weekday::try_from(u8::try_from(day.checked_sub(1)?).ok()?).ok()?;
            return NaiveDate::from_isoywd_opt(self.year, week, day);
        }
        if self.digits() == 3 {
            let day = self.exactly(3)?;
            return NaiveDate::from_yo_opt(self.year, day);
        }
        if dashed.is_none() {
            let (month, day) = (self.exactly(2)?, self.exactly(2)?);
            return NaiveDate::from_ymd_opt(self.year, month, day);
        }
        let month = self.number(2, 1, 12)?;
        let day = match self.rest.strip_prefix('-') {
            Some(rest) => {
                self.rest = rest;
                self.number(2, 1, 31)?
            }
            None => 1,
        };
        NaiveDate::from_ymd_opt(self.year, month, day)
    }

    /// `HH[:MM[:SS[.ffffff]]]`; says whether it is 24:00, the next day.
    fn iso_time(&mut self) -> Option<bool> {
        self.hour = self.number(2, 0, 24)?;
        let colon = self.rest.strip_prefix(':');
        if colon.is_some() || self.digits() >= 2 {
            self.rest = colon.unwrap_or(self.rest);
            self.minute = self.number(2, 0, 59)?;
            let second = if colon.is_some() { self.rest.strip_prefix(':') } else { Some(self.rest) };
            if let Some(rest) = second.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                self.rest = rest;
                self.second = self.number(2, 0, 59)?;
                if let Some(rest) = self.rest.strip_prefix(['.', ',']) {
                    self.rest = rest;
                    self.micros = self.fraction()?;
                    self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
                }
            }
        }
        if self.hour < 24 {
            return Some(false);
        }
        self.hour = 0;
        (self.minute == 0 && self.second == 0 && self.micros == 0).then_some(true)
    }
}
