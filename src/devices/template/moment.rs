//! Python's `datetime` and `timedelta`, with their arithmetic.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDateTime, Offset, TimeDelta, TimeZone, Timelike, Utc};
use minijinja::value::{DynObject, Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind, State};

use super::params::Params;

/// A date and time, with an offset or (as Python has it) without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    pub naive: NaiveDateTime,
    pub offset: Option<FixedOffset>,
    /// The zone that the offset comes from: arithmetic then keeps the time of the clock on the wall.
    pub zone: Option<chrono_tz::Tz>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span(pub TimeDelta);

impl Moment {
    pub fn utc(at: DateTime<Utc>) -> Self {
        Self::within(at, chrono_tz::UTC)
    }

    pub fn within(at: DateTime<Utc>, zone: chrono_tz::Tz) -> Self {
        let at = at.with_timezone(&zone);
        Self { naive: at.naive_local(), offset: Some(at.offset().fix()), zone: Some(zone) }
    }

    /// The moment when the clocks of `zone` show `naive`.
    pub fn local(naive: NaiveDateTime, zone: chrono_tz::Tz) -> Option<Self> {
        zone.from_local_datetime(&naive).earliest().map(|at| Self::within(at.to_utc(), zone))
    }

    /// A moment without offset is taken as local time of `zone`.
    pub fn instant(self, zone: chrono_tz::Tz) -> Option<DateTime<Utc>> {
        match self.offset {
            Some(offset) => offset.from_local_datetime(&self.naive).single().map(|at| at.to_utc()),
            None => zone.from_local_datetime(&self.naive).earliest().map(|at| at.to_utc()),
        }
    }

    /// Python orders two moments only if both have an offset or none has.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        if self.offset.is_some() != other.offset.is_some() {
            return None;
        }
        Some(self.instant(chrono_tz::UTC)?.cmp(&other.instant(chrono_tz::UTC)?))
    }

    fn plus(self, span: TimeDelta) -> Option<Self> {
        let naive = self.naive.checked_add_signed(span).filter(|at| (1..=9999).contains(&at.year()))?;
        match self.zone {
            Some(zone) => Self::local(naive, zone),
            None => Some(Self { naive, ..self }),
        }
    }

    fn minus(self, other: Self) -> Option<TimeDelta> {
        match (self.offset, other.offset) {
            (Some(_), Some(_)) if self.zone.is_none() || self.zone != other.zone => {
                Some(self.instant(chrono_tz::UTC)? - other.instant(chrono_tz::UTC)?)
            }
            (Some(_), Some(_)) | (None, None) => Some(self.naive - other.naive),
            _ => None,
        }
    }

    pub fn isoformat(self, between: char) -> String {
        let fraction = if self.micros() == 0 { "" } else { "%.6f" };
        let base = self.naive.format(&format!("%Y-%m-%d{between}%H:%M:%S{fraction}")).to_string();
        self.offset.map_or_else(|| base.clone(), |offset| format!("{base}{offset}"))
    }

    pub fn micros(self) -> u32 {
        self.naive.and_utc().timestamp_subsec_micros()
    }

    /// The name of the zone, as `%Z` has it.
    pub fn zone_name(self) -> String {
        match (self.offset, self.zone) {
            (None, _) => String::new(),
            (Some(_), Some(zone)) => self
                .instant(zone)
                .map(|at| at.with_timezone(&zone).format("%Z").to_string())
                .unwrap_or_default(),
            (Some(offset), None) if offset.local_minus_utc() == 0 => "UTC".into(),
            (Some(offset), None) => format!("UTC{offset}"),
        }
    }

    fn replaced(self, args: &[Value]) -> Result<Self, Error> {
        const PARTS: &[&str] = &["year", "month", "day", "hour", "minute", "second", "microsecond"];
        let p = Params::bind(PARTS, false, args)?;
        let wrong = || Error::new(ErrorKind::InvalidOperation, "no such date");
        let part = |name: &str, now: u32| -> Result<u32, Error> {
            u32::try_from(p.int_or(name, i64::from(now))?).map_err(|_| wrong())
        };
        let year = i32::try_from(p.int_or("year", i64::from(self.naive.year()))?).map_err(|_| wrong())?;
        let naive = chrono::NaiveDate::from_ymd_opt(
            year,
            part("month", self.naive.month())?,
            part("day", self.naive.day())?,
        )
        .and_then(|date| {
            date.and_hms_micro_opt(
                part("hour", self.naive.hour()).ok()?,
                part("minute", self.naive.minute()).ok()?,
                part("second", self.naive.second()).ok()?,
                part("microsecond", self.micros()).ok()?,
            )
        })
        .ok_or_else(wrong)?;
        match self.zone {
            Some(zone) => Self::local(naive, zone).ok_or_else(wrong),
            None => Ok(Self { naive, ..self }),
        }
    }
}

/// `a + b` or `a - b` where one of them is a date or a span: outer `None` if neither is, inner if it makes no sense.
pub(super) fn arithmetic(a: &Value, b: &Value, plus: bool) -> Option<Option<Value>> {
    let moment = |value: &Value| value.downcast_object_ref::<Moment>().copied();
    let span = |value: &Value| value.downcast_object_ref::<Span>().map(|span| span.0);
    let (first, second) = ((moment(a), span(a)), (moment(b), span(b)));
    if matches!((first, second), ((None, None), (None, None))) {
        return None;
    }
    let at = |moment: Option<Moment>| moment.map(Value::from_object);
    let of = |span: Option<TimeDelta>| span.map(|span| Value::from_object(Span(span)));
    Some(match (first, second, plus) {
        ((Some(moment), _), (_, Some(span)), true) | ((_, Some(span)), (Some(moment), _), true) => {
            at(moment.plus(span))
        }
        ((Some(moment), _), (_, Some(span)), false) => at(moment.plus(-span)),
        ((Some(moment), _), (Some(other), _), false) => of(moment.minus(other)),
        ((_, Some(span)), (_, Some(other)), true) => of(span.checked_add(&other)),
        ((_, Some(span)), (_, Some(other)), false) => of(span.checked_sub(&other)),
        _ => None,
    })
}

pub(super) fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp() as f64 + f64::from(at.timestamp_subsec_micros()) / 1e6
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
            "microsecond" => self.micros().into(),
            "tzinfo" => match (self.offset, self.zone) {
                (None, _) => ().into(),
                (_, Some(zone)) => zone.name().into(),
                _ => self.zone_name().into(),
            },
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
            ("isoformat", []) => self.isoformat('T').into(),
            ("isoformat", [between]) => {
                self.isoformat(between.as_str().and_then(|text| text.chars().next()).unwrap_or('T')).into()
            }
            ("strftime", [format]) => super::strftime::write(**self, &format.to_string()).into(),
            ("timestamp", []) => self.instant(chrono_tz::UTC).map_or(0.0, seconds).into(),
            ("weekday", []) => self.naive.weekday().num_days_from_monday().into(),
            ("isoweekday", []) => self.naive.weekday().number_from_monday().into(),
            ("date", []) => self.naive.date().to_string().into(),
            ("time", []) => self.naive.time().to_string().into(),
            ("replace", args) => Value::from_object(self.replaced(args)?),
            _ => return Err(Error::from(ErrorKind::UnknownMethod)),
        })
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        self.order(other.downcast_ref::<Moment>()?)
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
        let seconds = self.whole_seconds();
        match key.as_str()? {
            "days" => Some(seconds.div_euclid(86_400).into()),
            "seconds" => Some(seconds.rem_euclid(86_400).into()),
            "microseconds" => Some(self.micros().into()),
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
            "total_seconds" => Ok((self.whole_seconds() as f64 + f64::from(self.micros()) / 1e6).into()),
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.0.is_zero()
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        Some(self.0.cmp(&other.downcast_ref::<Span>()?.0))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.whole_seconds();
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        match days {
            0 => {}
            1 | -1 => write!(f, "{days} day, ")?,
            _ => write!(f, "{days} days, ")?,
        }
        write!(f, "{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)?;
        match self.micros() {
            0 => Ok(()),
            micros => write!(f, ".{micros:06}"),
        }
    }
}

impl Span {
    /// Seconds rounded down; [`Span::micros`] is what is left.
    fn whole_seconds(&self) -> i64 {
        self.0.num_seconds() - i64::from(self.0.subsec_nanos() < 0)
    }

    fn micros(&self) -> u32 {
        let nanos = self.0.subsec_nanos();
        u32::try_from(if nanos < 0 { nanos + 1_000_000_000 } else { nanos }).unwrap_or(0) / 1000
    }
}
