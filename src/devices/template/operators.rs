//! Python's operators where the engine's differ: order, `%`, and `+` and `-` with dates. See [`super::rewrite`].

use std::cmp::Ordering;

use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::moment::{Moment, Span, arithmetic};
use super::params::{Params, items};
use super::registry::{Entry, entry, variadic};
use super::views::Version;
use super::{display, format};

pub(super) const TABLE: &[Entry] = &[
    entry("__lt", &["value", "other"], |p| order(p, "<", Ordering::is_lt)),
    entry("__le", &["value", "other"], |p| order(p, "<=", Ordering::is_le)),
    entry("__gt", &["value", "other"], |p| order(p, ">", Ordering::is_gt)),
    entry("__ge", &["value", "other"], |p| order(p, ">=", Ordering::is_ge)),
    variadic("__chain", &["value"], chain),
    entry("__percent", &["value", "operand"], percent),
    entry("__add", &["value", "other"], |p| with_dates(p, true)),
    entry("__sub", &["value", "other"], |p| with_dates(p, false)),
    entry("__text", &["value"], |p| match p.get("value") {
        Some(value) if display::plain(value).is_some() => Ok(value.clone()),
        Some(value) => Ok(display::text(value).into()),
        None => Ok("".into()),
    }),
];

/// Lists within lists that are still compared.
const MAX_DEPTH: usize = 32;

fn mismatch(what: &str, a: &Value, b: &Value) -> Error {
    let name = super::collections::type_name;
    Error::new(
        ErrorKind::InvalidOperation,
        format!("{what} is not possible between {} and {}", name(a), name(b)),
    )
}

fn undefined() -> Error {
    Error::new(ErrorKind::UndefinedError, "an operand is undefined")
}

fn order(p: &Params, what: &str, test: fn(Ordering) -> bool) -> Result<Value, Error> {
    let (a, b) = (p.need("value")?, p.need("other")?);
    Ok(compare(what, a, b)?.is_some_and(test).into())
}

/// `a < b <= c` as its first operand, and each further one behind its operator. Python would not come to the operands
/// behind the first pair that does not hold; here they are worked out, but not compared.
fn chain(p: &Params) -> Result<Value, Error> {
    let mut a = p.given("value")?;
    for pair in p.more.chunks(2) {
        let [symbol, b] = pair else { return Err(ErrorKind::MissingArgument.into()) };
        let what = symbol.as_str().unwrap_or_default();
        let test: fn(Ordering) -> bool = match what {
            "<" => Ordering::is_lt,
            "<=" => Ordering::is_le,
            ">" => Ordering::is_gt,
            ">=" => Ordering::is_ge,
            _ => Ordering::is_eq,
        };
        let holds = match what {
            "==" => a == b,
            "!=" => a != b,
            _ => compare(what, a, b)?.is_some_and(test),
        };
        if !holds {
            return Ok(false.into());
        }
        a = b;
    }
    Ok(true.into())
}

fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

/// Python's order of two values; `None` where one is not a number (NaN), an error where there is no order.
pub(super) fn compare(what: &str, a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    compare_within(what, a, b, 0)
}

fn compare_within(what: &str, a: &Value, b: &Value, depth: usize) -> Result<Option<Ordering>, Error> {
    if a.is_undefined() || b.is_undefined() {
        return Err(undefined());
    }
    if is_number(a) && is_number(b) {
        let nan = |value: &Value| f64::try_from(value.clone()).is_ok_and(f64::is_nan);
        return Ok((!nan(a) && !nan(b)).then(|| a.cmp(b)));
    }
    if let (Some(a), Some(b)) = (display::plain(a), display::plain(b)) {
        return Ok(Some(a.cmp(b)));
    }
    if let (Some(a), Some(b)) = (a.as_bytes(), b.as_bytes()) {
        return Ok(Some(a.cmp(b)));
    }
    if let (Some(first), Some(second)) =
        (a.downcast_object_ref::<Moment>(), b.downcast_object_ref::<Moment>())
    {
        return first.order(second).map(Some).ok_or_else(|| mismatch(what, a, b));
    }
    if let (Some(a), Some(b)) = (a.downcast_object_ref::<Span>(), b.downcast_object_ref::<Span>()) {
        return Ok(Some(a.0.cmp(&b.0)));
    }
    if let (Some(first), Some(second)) = (version(a), version(b))
        && !(display::plain(a).is_some() && display::plain(b).is_some())
    {
        return Ok(Some(first.order(&second)));
    }
    let list = |value: &Value| value.kind() == ValueKind::Seq;
    if list(a) && list(b) && a.is_tuple() == b.is_tuple() && depth < MAX_DEPTH {
        let (first, second) = (items(a)?, items(b)?);
        for (a, b) in first.iter().zip(&second) {
            if a != b {
                return compare_within(what, a, b, depth + 1);
            }
        }
        return Ok(Some(first.len().cmp(&second.len())));
    }
    Err(mismatch(what, a, b))
}

/// A version, or text that is compared with one.
fn version(value: &Value) -> Option<Version> {
    if value.downcast_object_ref::<Version>().is_some() {
        return Some(Version::new(value.to_string()));
    }
    display::plain(value).map(|text| Version::new(text.to_owned()))
}

/// `text % operand`, or the remainder with the sign of the divisor.
fn percent(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let operand = p.get("operand").unwrap_or(&Value::UNDEFINED);
    if let Some(text) = display::plain(value) {
        let args = if operand.is_tuple() { items(operand)? } else { vec![operand.clone()] };
        return format::percent(text, &args);
    }
    if operand.is_undefined() {
        return Err(undefined());
    }
    if !is_number(value) || !is_number(operand) {
        return Err(mismatch("%", value, operand));
    }
    if let (Some(a), Some(b)) = (whole(value), whole(operand)) {
        let rest = a.checked_rem(b).ok_or_else(|| mismatch("% by zero", value, operand))?;
        return Ok(Value::from(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }));
    }
    let (a, b) = (float(value), float(operand));
    if b == 0.0 {
        return Err(mismatch("% by zero", value, operand));
    }
    let rest = a % b;
    Ok(if rest == 0.0 {
        0f64.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
    .into())
}

fn float(value: &Value) -> f64 {
    super::numbers::to_float(value).unwrap_or(f64::NAN)
}

/// An integer or a boolean; `3.0` is none.
pub(super) fn whole(value: &Value) -> Option<i128> {
    match value.kind() {
        ValueKind::Bool => Some(i128::from(value.is_true())),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok(),
        _ => None,
    }
}

fn with_dates(p: &Params, plus: bool) -> Result<Value, Error> {
    let (a, b) = (p.need("value")?, p.need("other")?);
    let what = if plus { "+" } else { "-" };
    let bad = || mismatch(what, a, b);
    if let Some(result) = arithmetic(a, b, plus) {
        return result.ok_or_else(bad);
    }
    if is_number(a) && is_number(b) {
        return match (whole(a), whole(b)) {
            (Some(x), Some(y)) => {
                let sum = if plus { x.checked_add(y) } else { x.checked_sub(y) };
                sum.map(Value::from).ok_or_else(bad)
            }
            _ => Ok(if plus { float(a) + float(b) } else { float(a) - float(b) }.into()),
        };
    }
    if !plus {
        return Err(bad());
    }
    if let (Some(x), Some(y)) = (display::plain(a), display::plain(b)) {
        return if x.len() + y.len() > MAX_TEXT { Err(bad()) } else { Ok(format!("{x}{y}").into()) };
    }
    if a.kind() == ValueKind::Seq && b.kind() == ValueKind::Seq && a.is_tuple() == b.is_tuple() {
        if a.len().unwrap_or(0) + b.len().unwrap_or(0) > MAX_ITEMS {
            return Err(bad());
        }
        let all: Vec<Value> = items(a)?.into_iter().chain(items(b)?).collect();
        return Ok(if a.is_tuple() { Value::from(Tuple::new(all)) } else { all.into() });
    }
    Err(bad())
}

/// Longest list and text that `+` makes here: the engine's fuel does not see them.
const MAX_ITEMS: usize = 512;
const MAX_TEXT: usize = 8 * 1024;
