//! Dates and times: reading, writing, comparing ages. Arithmetic with operators is not offered.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use chrono::{
    DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike, Utc,
};
use minijinja::value::{Object, ObjectRepr, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

use super::numbers::to_float;
use super::params::{Params, invalid, plain};
use super::registry::{Entry, entry};
use crate::clock::Clock;

pub(super) const TABLE: &[Entry] = &[
    entry("strptime", &["value", "format", "default"], strptime),
    entry(
        "timedelta",
        &["days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks"],
        timedelta,
    ),
    entry("as_timedelta", &["value"], as_timedelta),
    entry("timestamp_utc", &["value", "default"], timestamp_utc),
];

/// A date and time, with an offset or (as Python has it) without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    naive: NaiveDateTime,
    offset: Option<FixedOffset>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Span(TimeDelta);

impl Moment {
    fn aware(at: DateTime<FixedOffset>) -> Self {
        Self { naive: at.naive_local(), offset: Some(*at.offset()) }
    }

    /// Seconds since 1970; a moment without offset is taken as local time of `zone`.
    fn instant(self, zone: chrono_tz::Tz) -> Option<DateTime<Utc>> {
        match self.offset {
            Some(offset) => offset.from_local_datetime(&self.naive).single().map(|at| at.to_utc()),
            None => zone.from_local_datetime(&self.naive).earliest().map(|at| at.to_utc()),
        }
    }

    fn strftime(self, format: &str) -> String {
        use fmt::Write;
        let mut out = String::new();
        let written = match self.offset.and_then(|offset| offset.from_local_datetime(&self.naive).single()) {
            Some(at) => write!(out, "{}", at.format(format)),
            None => write!(out, "{}", self.naive.format(format)),
        };
        if written.is_err() { String::new() } else { out }
    }

    fn isoformat(self, between: char) -> String {
        let fraction = if self.naive.and_utc().timestamp_subsec_micros() == 0 { "" } else { "%.6f" };
        let base = self.naive.format(&format!("%Y-%m-%d{between}%H:%M:%S{fraction}")).to_string();
        match self.offset {
            Some(offset) => format!("{base}{offset}"),
            None => base,
        }
    }
}

impl Object for Moment {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(match key.as_str()? {
            "year" => self.naive.year().into(),
            "month" => self.naive.month().into(),
            "day" => self.naive.day().into(),
            "hour" => self.naive.hour().into(),
            "minute" => self.naive.minute().into(),
            "second" => self.naive.second().into(),
            "microsecond" => self.naive.and_utc().timestamp_subsec_micros().into(),
            _ => return None,
        })
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        Ok(match (method, args) {
            ("isoformat", _) => self.isoformat('T').into(),
            ("strftime", [format]) => self.strftime(&format.to_string()).into(),
            ("timestamp", []) => self.instant(chrono_tz::UTC).map_or(0.0, seconds).into(),
            ("weekday", []) => self.naive.weekday().num_days_from_monday().into(),
            ("isoweekday", []) => self.naive.weekday().number_from_monday().into(),
            ("date", []) => self.naive.date().to_string().into(),
            ("time", []) => self.naive.time().to_string().into(),
            _ => return Err(Error::from(ErrorKind::UnknownMethod)),
        })
    }

    fn custom_cmp(self: &Arc<Self>, other: &minijinja::value::DynObject) -> Option<std::cmp::Ordering> {
        let other = other.downcast_ref::<Moment>()?;
        self.instant(chrono_tz::UTC)?.partial_cmp(&other.instant(chrono_tz::UTC)?)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.isoformat(' '))
    }
}

impl Object for Span {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "days" => Some(self.0.num_seconds().div_euclid(86_400).into()),
            "seconds" => Some(self.0.num_seconds().rem_euclid(86_400).into()),
            _ => None,
        }
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        _: &[Value],
    ) -> Result<Value, Error> {
        match method {
            "total_seconds" => Ok((self.0.num_milliseconds() as f64 / 1000.0).into()),
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.num_seconds();
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        match days {
            0 => {}
            1 | -1 => write!(f, "{days} day, ")?,
            _ => write!(f, "{days} days, ")?,
        }
        write!(f, "{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
    }
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp() as f64 + f64::from(at.timestamp_subsec_micros()) / 1e6
}

fn from_seconds(value: &Value) -> Option<DateTime<Utc>> {
    let number = to_float(value).filter(|number| number.abs() < 1e12)?;
    DateTime::from_timestamp_micros((number * 1e6).round() as i64)
}

/// ISO 8601 as Home Assistant reads it: date, optional time, optional offset.
pub(super) fn parse(text: &str) -> Option<Moment> {
    let text = text.trim();
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(Moment::aware(at));
    }
    for format in ["%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%:z"] {
        if let Ok(at) = DateTime::parse_from_str(text, format) {
            return Some(Moment::aware(at));
        }
    }
    for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(text, format) {
            return Some(Moment { naive, offset: None });
        }
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(Moment { naive: date.and_time(NaiveTime::MIN), offset: None })
}

fn moment_of(value: &Value) -> Option<Moment> {
    if let Some(moment) = value.downcast_object_ref::<Moment>() {
        return Some(*moment);
    }
    match value.kind() {
        ValueKind::Number => from_seconds(value).map(|at| Moment::aware(at.fixed_offset())),
        ValueKind::String => parse(value.as_str()?).or_else(|| {
            let at = from_seconds(value)?;
            Some(Moment::aware(at.fixed_offset()))
        }),
        _ => None,
    }
}

fn strptime(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let (text, format) = (value.to_string(), p.text("format")?);
    let moment = if let Ok(at) = DateTime::parse_from_str(&text, &format) {
        Some(Moment::aware(at))
    } else if let Ok(naive) = NaiveDateTime::parse_from_str(&text, &format) {
        Some(Moment { naive, offset: None })
    } else if let Ok(date) = NaiveDate::parse_from_str(&text, &format) {
        Some(Moment { naive: date.and_time(NaiveTime::MIN), offset: None })
    } else {
        let epoch = NaiveDate::from_ymd_opt(1900, 1, 1).unwrap_or_default();
        NaiveTime::parse_from_str(&text, &format)
            .ok()
            .map(|time| Moment { naive: epoch.and_time(time), offset: None })
    };
    moment.map_or_else(|| p.default_or("strptime", value), |moment| Ok(Value::from_object(moment)))
}

fn timedelta(p: &Params) -> Result<Value, Error> {
    let part = |name: &str| p.get(name).and_then(to_float).unwrap_or(0.0);
    let seconds = part("weeks") * 604_800.0
        + part("days") * 86_400.0
        + part("hours") * 3600.0
        + part("minutes") * 60.0
        + part("seconds")
        + part("milliseconds") / 1e3
        + part("microseconds") / 1e6;
    let span = (seconds.abs() < 1e11).then(|| TimeDelta::microseconds((seconds * 1e6) as i64));
    span.map(|span| Value::from_object(Span(span))).ok_or_else(|| invalid("timedelta", &Value::from(seconds)))
}

/// `[days] [HH:]MM:SS`.
fn as_timedelta(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let (days, clock) = text.split_once(' ').unwrap_or(("0", &text));
    let parts: Option<Vec<f64>> = clock.split(':').map(|part| part.parse().ok()).collect();
    let days: f64 = days.parse().unwrap_or(0.0);
    match parts {
        Some(parts) => {
            let seconds = parts.iter().fold(0.0, |sum, part| sum * 60.0 + part) + days * 86_400.0;
            Ok(Value::from_object(Span(TimeDelta::milliseconds((seconds.clamp(-1e11, 1e11) * 1e3) as i64))))
        }
        None => Ok(Value::from(())),
    }
}

fn timestamp_utc(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    match from_seconds(value) {
        Some(at) => Ok(Moment::aware(at.fixed_offset()).isoformat('T').into()),
        None => p.default_or("timestamp_utc", value),
    }
}

/// Registers what depends on the clock and the home's time zone.
pub(super) fn local(
    environment: &mut Environment<'static>,
    filters: &mut HashSet<&'static str>,
    clock: &Clock,
    zone: chrono_tz::Tz,
) {
    let in_zone = move |at: DateTime<Utc>| Moment::aware(at.with_timezone(&zone).fixed_offset());
    let now = clock.clone();
    environment.add_function("now", move || Value::from_object(in_zone(now.now())));
    let now = clock.clone();
    environment.add_function("utcnow", move || Value::from_object(Moment::aware(now.now().fixed_offset())));
    let now = clock.clone();
    environment.add_function("today_at", move |time: Option<&str>| -> Result<Value, Error> {
        let text = time.unwrap_or("00:00");
        let time = NaiveTime::parse_from_str(text, "%H:%M:%S")
            .or_else(|_| NaiveTime::parse_from_str(text, "%H:%M"))
            .map_err(|_| invalid("today_at", &Value::from(text)))?;
        let today = in_zone(now.now());
        let naive = today.naive.date().and_time(time);
        let at = Moment { naive, offset: None }.instant(zone).map(in_zone);
        at.map(Value::from_object).ok_or_else(|| invalid("today_at", &Value::from(text)))
    });
    let mut both = |name: &'static str, params: &'static [&'static str], call: Arc<LocalCall>| {
        filters.insert(name);
        let function = move |args: Rest<ValueOrKwargs>| call(&Params::bind(params, false, &plain(&args))?);
        environment.add_filter(name, function.clone());
        environment.add_function(name, function);
    };
    both(
        "as_timestamp",
        &["value", "default"],
        Arc::new(move |p| {
            let value = p.need("value")?;
            match moment_of(value).and_then(|moment| moment.instant(zone)) {
                Some(at) => Ok(seconds(at).into()),
                None => p.default_or("as_timestamp", value),
            }
        }),
    );
    both(
        "as_datetime",
        &["value", "default"],
        Arc::new(|p| {
            let value = p.need("value")?;
            moment_of(value)
                .map_or_else(|| p.default_or("as_datetime", value), |at| Ok(Value::from_object(at)))
        }),
    );
    both(
        "as_local",
        &["value"],
        Arc::new(move |p| {
            let value = p.need("value")?;
            let at = moment_of(value).and_then(|moment| moment.instant(zone));
            at.map(|at| Value::from_object(in_zone(at))).ok_or_else(|| invalid("as_local", value))
        }),
    );
    both(
        "timestamp_local",
        &["value", "default"],
        Arc::new(move |p| {
            let value = p.need("value")?;
            match from_seconds(value) {
                Some(at) => Ok(in_zone(at).isoformat('T').into()),
                None => p.default_or("timestamp_local", value),
            }
        }),
    );
    both(
        "timestamp_custom",
        &["value", "format", "local", "default"],
        Arc::new(move |p| {
            let value = p.need("value")?;
            let format = p.text_or("format", "%Y-%m-%d %H:%M:%S.%f");
            match from_seconds(value) {
                Some(at) if p.flag("local", true) => Ok(in_zone(at).strftime(&format).into()),
                Some(at) => Ok(Moment::aware(at.fixed_offset()).strftime(&format).into()),
                None => p.default_or("timestamp_custom", value),
            }
        }),
    );
    for (name, future) in [("time_since", false), ("relative_time", false), ("time_until", true)] {
        let now = clock.clone();
        both(
            name,
            &["value", "precision"],
            Arc::new(move |p| {
                let value = p.need("value")?;
                let Some(at) = value.downcast_object_ref::<Moment>().and_then(|at| at.instant(zone)) else {
                    return Ok(value.clone());
                };
                let age = if future { at - now.now() } else { now.now() - at };
                if age < TimeDelta::zero() {
                    return Ok(value.clone());
                }
                Ok(age_text(age).into())
            }),
        );
    }
}

type LocalCall = dyn Fn(&Params) -> Result<Value, Error> + Send + Sync;

/// The largest unit of an age, as Home Assistant words it.
fn age_text(age: TimeDelta) -> String {
    let seconds = age.num_seconds();
    let (count, unit) = match seconds {
        31_536_000.. => (seconds / 31_536_000, "year"),
        2_592_000.. => (seconds / 2_592_000, "month"),
        86_400.. => (seconds / 86_400, "day"),
        3600.. => (seconds / 3600, "hour"),
        60.. => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
