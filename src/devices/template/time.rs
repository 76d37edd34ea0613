//! Dates and times: reading, writing, ages.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind};
use regex::Regex;

use super::moment::{Moment, Span, seconds};
use super::numbers::to_float;
use super::params::{Params, invalid, plain};
use super::registry::{Entry, entry};
use super::strftime;
use crate::clock::Clock;

pub(super) const TABLE: &[Entry] = &[
    entry("strptime", &["value", "format", "default"], strptime),
    entry(
        "timedelta",
        &["days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks"],
        timedelta,
    ),
    entry("as_timedelta", &["value"], as_timedelta),
    entry("timestamp_utc", &["value", "default"], |p| {
        timestamp(p, "timestamp_utc", |at| Moment::utc(at).isoformat('T').into())
    }),
    entry("as_datetime", &["value", "default"], as_datetime),
];

/// Python's `datetime.fromtimestamp`, within the years 1 to 9999.
fn from_seconds(number: f64) -> Option<DateTime<Utc>> {
    if !(-62_135_596_800.0..253_402_300_800.0).contains(&number) {
        return None;
    }
    DateTime::from_timestamp_micros((number * 1e6).round_ties_even() as i64)
}

/// A number is a time; text is not.
fn timestamp(p: &Params, what: &str, with: impl Fn(DateTime<Utc>) -> Value) -> Result<Value, Error> {
    let value = p.given("value")?;
    let number = to_float(value).filter(|_| matches!(value.kind(), ValueKind::Number | ValueKind::Bool));
    number.and_then(from_seconds).map_or_else(|| p.default_or(what, value), |at| Ok(with(at)))
}

fn as_datetime(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    if value.downcast_object_ref::<Moment>().is_some() {
        return Ok(value.clone());
    }
    let moment =
        to_float(value).and_then(from_seconds).map(Moment::utc).or_else(|| strftime::iso(value.as_str()?));
    match (moment, p.get("default")) {
        (Some(moment), _) => Ok(Value::from_object(moment)),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) if value.as_str().is_some() => Ok(Value::from(())),
        (None, None) => Err(invalid("as_datetime", value)),
    }
}

fn strptime(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    let format = p.text("format")?;
    let moment = value.as_str().and_then(|text| strftime::parse(text, &format));
    moment.map_or_else(|| p.default_or("strptime", value), |moment| Ok(Value::from_object(moment)))
}

fn timedelta(p: &Params) -> Result<Value, Error> {
    let part = |name: &str| match p.get(name) {
        None => Ok(0.0),
        Some(value) if matches!(value.kind(), ValueKind::Number | ValueKind::Bool) => {
            Ok(to_float(value).unwrap_or(f64::NAN))
        }
        Some(value) => Err(invalid("timedelta", value)),
    };
    let seconds = part("weeks")? * 604_800.0
        + part("days")? * 86_400.0
        + part("hours")? * 3600.0
        + part("minutes")? * 60.0
        + part("seconds")?
        + part("milliseconds")? / 1e3
        + part("microseconds")? / 1e6;
    span(seconds).ok_or_else(|| invalid("timedelta", &Value::from(seconds)))
}

fn span(seconds: f64) -> Option<Value> {
    let micros = (seconds * 1e6).round_ties_even();
    (seconds.abs() < 1e11).then(|| Value::from_object(Span(TimeDelta::microseconds(micros as i64))))
}

/// Durations: `[D days, ][H:]MM:SS[.f]`, ISO 8601, and PostgreSQL's intervals.
static DURATIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let sources = [
        r"^(?:(?P<days>-?[0-9]+) (?:days?, )?)?(?P<sign>-?)(?:(?:(?P<hours>[0-9]+):)?(?P<minutes>[0-9]+):)?(?P<seconds>[0-9]+(?:[.,][0-9]+)?)$",
        r"^(?P<isosign>[-+]?)P(?:(?P<days>[0-9]+(?:[.,][0-9]+)?)D)?(?:T(?:(?P<hours>[0-9]+(?:[.,][0-9]+)?)H)?(?:(?P<minutes>[0-9]+(?:[.,][0-9]+)?)M)?(?:(?P<seconds>[0-9]+(?:[.,][0-9]+)?)S)?)?$",
        r"^(?:(?P<days>-?[0-9]+) days? ?)?(?:(?P<sign>[-+])?(?P<hours>[0-9]+):(?P<minutes>[0-9][0-9]):(?P<seconds>[0-9][0-9](?:\.[0-9]{1,6})?))?$",
    ];
    sources.iter().filter_map(|source| Regex::new(source).ok()).collect()
});

fn as_timedelta(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    let text = value.as_str().ok_or_else(|| invalid("as_timedelta", value))?;
    let Some(found) = DURATIONS.iter().find_map(|pattern| pattern.captures(text)) else {
        return Ok(Value::from(()));
    };
    let part = |name: &str| {
        found.name(name).and_then(|part| part.as_str().replace(',', ".").parse::<f64>().ok()).unwrap_or(0.0)
    };
    let minus = |name: &str| found.name(name).is_some_and(|sign| sign.as_str() == "-");
    let clock = part("hours") * 3600.0 + part("minutes") * 60.0 + part("seconds");
    let days = part("days") * 86_400.0;
    let seconds = match (minus("isosign"), minus("sign")) {
        (true, _) => -days - clock,
        (false, true) => days - clock,
        (false, false) => days + clock,
    };
    span(seconds).ok_or_else(|| invalid("as_timedelta", value))
}

/// A moment, or text that is read as one; a number is none.
fn moment_of(value: &Value) -> Option<Moment> {
    match value.downcast_object_ref::<Moment>() {
        Some(moment) => Some(*moment),
        None => strftime::iso(&value.to_string()),
    }
}

/// Registers what depends on the clock and the home's time zone.
pub(super) fn local(
    environment: &mut Environment<'static>,
    filters: &mut HashSet<&'static str>,
    clock: &Clock,
    zone: chrono_tz::Tz,
) {
    let now = clock.clone();
    environment.add_function("now", move || Value::from_object(Moment::within(now.now(), zone)));
    let now = clock.clone();
    environment.add_function("utcnow", move || Value::from_object(Moment::utc(now.now())));
    let mut both = |name: &'static str, params: &'static [&'static str], call: Arc<LocalCall>| {
        filters.insert(name);
        let function = move |args: Rest<ValueOrKwargs>| call(&Params::bind(params, false, &plain(&args))?);
        environment.add_filter(name, function.clone());
        environment.add_function(name, function);
    };
    let now = clock.clone();
    both("today_at", &["value"], Arc::new(move |p| today_at(p, now.now(), zone)));
    both(
        "as_timestamp",
        &["value", "default"],
        Arc::new(move |p| {
            let value = p.given("value")?;
            match moment_of(value).and_then(|moment| moment.instant(zone)) {
                Some(at) => Ok(seconds(at).into()),
                None => p.default_or("as_timestamp", value),
            }
        }),
    );
    both(
        "as_local",
        &["value"],
        Arc::new(move |p| {
            let value = p.need("value")?;
            let moment = value.downcast_object_ref::<Moment>().and_then(|moment| moment.instant(zone));
            moment
                .map(|at| Value::from_object(Moment::within(at, zone)))
                .ok_or_else(|| invalid("as_local", value))
        }),
    );
    both(
        "timestamp_local",
        &["value", "default"],
        Arc::new(move |p| {
            timestamp(p, "timestamp_local", |at| Moment::within(at, zone).isoformat('T').into())
        }),
    );
    both(
        "timestamp_custom",
        &["value", "format", "local", "default"],
        Arc::new(move |p| {
            let format = p.text_or("format", "%Y-%m-%d %H:%M:%S");
            let zone = if p.flag("local", true) { zone } else { chrono_tz::UTC };
            timestamp(p, "timestamp_custom", |at| strftime::write(Moment::within(at, zone), &format).into())
        }),
    );
    ages(&mut both, clock, zone);
}

/// How long ago or how far ahead a moment is.
fn ages(
    both: &mut impl FnMut(&'static str, &'static [&'static str], Arc<LocalCall>),
    clock: &Clock,
    zone: chrono_tz::Tz,
) {
    for (name, future) in [("time_since", false), ("relative_time", false), ("time_until", true)] {
        let now = clock.clone();
        both(
            name,
            &["value", "precision"],
            Arc::new(move |p| {
                let value = p.get("value").ok_or_else(|| Error::from(ErrorKind::MissingArgument))?;
                let Some(at) = value.downcast_object_ref::<Moment>().and_then(|at| at.instant(zone)) else {
                    return Ok(value.clone());
                };
                let age = if future { at - now.now() } else { now.now() - at };
                if age < TimeDelta::zero() {
                    return Ok(value.clone());
                }
                Ok(age_text(age, p.int_or("precision", 1)?).into())
            }),
        );
    }
}

type LocalCall = dyn Fn(&Params) -> Result<Value, Error> + Send + Sync;

/// Today at `H:MM[:SS]`, or at midnight.
fn today_at(p: &Params, now: DateTime<Utc>, zone: chrono_tz::Tz) -> Result<Value, Error> {
    let text = p.text_or("value", "");
    let parts: Option<Vec<u32>> = text.split(':').map(|part| part.trim().parse().ok()).collect();
    let time = match parts.as_deref() {
        _ if text.is_empty() => Some(NaiveTime::MIN),
        Some([hour, minute]) => NaiveTime::from_hms_opt(*hour, *minute, 0),
        Some([hour, minute, second, ..]) => NaiveTime::from_hms_opt(*hour, *minute, *second),
        _ => None,
    };
    let today = Moment::within(now, zone).naive.date();
    time.and_then(|time| Moment::local(today.and_time(time), zone))
        .map(Value::from_object)
        .ok_or_else(|| invalid("today_at", &Value::from(text)))
}

/// The `precision` largest units of an age, the last of them rounded, as Home Assistant words it.
fn age_text(age: TimeDelta, precision: i64) -> String {
    const UNITS: [(&str, i64); 6] = [
        ("year", 31_536_000),
        ("month", 2_592_000),
        ("day", 86_400),
        ("hour", 3600),
        ("minute", 60),
        ("second", 1),
    ];
    let mut left = (age.num_milliseconds() as f64 / 1000.0).round_ties_even() as i64;
    if left == 0 {
        return "0 seconds".into();
    }
    let mut parts = Vec::new();
    for (unit, length) in UNITS {
        if left < length {
            continue;
        }
        let last = i64::try_from(parts.len()).unwrap_or(i64::MAX).saturating_add(1) == precision;
        let count = if last { (left as f64 / length as f64).round_ties_even() as i64 } else { left / length };
        parts.push(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }));
        if last {
            break;
        }
        left -= count * length;
    }
    parts.join(" ")
}
