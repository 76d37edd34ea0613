//! Numbers by Python's rules: conversion, rounding, arithmetic filters.

use minijinja::Error;
use minijinja::value::{Value, ValueKind};

use super::display;
use super::operators::whole;
use super::params::{Params, invalid};
use super::registry::{Entry, entry, variadic};

pub(super) const TABLE: &[Entry] = &[
    entry("float", &["value", "default"], float),
    entry("int", &["value", "default", "base"], int),
    entry("bool", &["value", "default"], boolean),
    entry("round", &["value", "precision", "method", "default"], round),
    entry("multiply", &["value", "amount", "default"], multiply),
    entry("add", &["value", "amount", "default"], add),
    entry("log", &["value", "base", "default"], log),
    entry("sqrt", &["value", "default"], |p| unary(p, "sqrt", f64::sqrt)),
    entry("sin", &["value", "default"], |p| unary(p, "sin", f64::sin)),
    entry("cos", &["value", "default"], |p| unary(p, "cos", f64::cos)),
    entry("tan", &["value", "default"], |p| unary(p, "tan", f64::tan)),
    entry("asin", &["value", "default"], |p| unary(p, "asin", f64::asin)),
    entry("acos", &["value", "default"], |p| unary(p, "acos", f64::acos)),
    entry("atan", &["value", "default"], |p| unary(p, "atan", f64::atan)),
    variadic("average", &["value", "default"], average),
    variadic("median", &["value", "default"], median),
    entry("clamp", &["value", "min", "max"], clamp),
    entry("wrap", &["value", "min", "max"], wrap),
    entry("remap", &["value", "in_min", "in_max", "out_min", "out_max", "steps", "edges"], remap),
    entry("atan2", &["value", "x", "default"], atan2),
    entry("bitwise_and", &["value", "other"], |p| bits(p, "bitwise_and", |a, b| a & b)),
    entry("bitwise_or", &["value", "other"], |p| bits(p, "bitwise_or", |a, b| a | b)),
    entry("bitwise_xor", &["value", "other"], |p| bits(p, "bitwise_xor", |a, b| a ^ b)),
    entry("is_number", &["value"], |p| Ok(is_number(p.need("value")?).into())),
    entry("ordinal", &["value"], ordinal),
    entry("filesizeformat", &["value", "binary"], file_size),
];

/// Python's `float()`. Underscores between digits are legal, white space at the ends too.
pub(super) fn to_float(value: &Value) -> Option<f64> {
    match value.kind() {
        ValueKind::Bool => Some(if value.is_true() { 1.0 } else { 0.0 }),
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        ValueKind::String => parse_float(value.as_str()?),
        _ => None,
    }
}

fn parse_float(text: &str) -> Option<f64> {
    let text = ascii_digits(text.trim());
    let mut plain = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if character == '_' {
            let after = text.get(at + 1..).and_then(|rest| rest.chars().next());
            if !before.is_ascii_digit() || !after.is_some_and(|after| after.is_ascii_digit()) {
                return None;
            }
        } else {
            plain.push(character);
        }
        before = character;
    }
    plain.parse().ok()
}

/// Digits of other scripts count as ours in Python.
fn ascii_digits(text: &str) -> std::borrow::Cow<'_, str> {
    /// The zeros of Arabic, Persian, Devanagari, Bengali, Thai and of full width.
    const ZEROS: [u32; 6] = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];
    if text.is_ascii() {
        return text.into();
    }
    let digit = |c: char| {
        let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&u32::from(c)))?;
        char::from_digit(u32::from(c) - zero, 10)
    };
    text.chars().map(|c| digit(c).unwrap_or(c)).collect::<String>().into()
}

/// Home Assistant's `is_number`: finite, and readable as a float.
pub(super) fn is_number(value: &Value) -> bool {
    to_float(value).is_some_and(f64::is_finite)
}

fn float(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    to_float(value).map_or_else(|| p.default_or("float", value), |number| Ok(number.into()))
}

fn int(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let base = p.int_or("base", 10)?;
    let whole = match value.kind() {
        ValueKind::String => parse_int(value.as_str().unwrap_or_default(), base),
        ValueKind::Number if value.is_integer() => return Ok(value.clone()),
        _ => None,
    };
    if let Some(whole) = whole {
        return Ok(whole.into());
    }
    match to_float(value).filter(|number| number.is_finite()) {
        Some(number) => Ok(as_integer(number.trunc())),
        None => p.default_or("int", value),
    }
}

/// A whole float as an integer. What the engine's integers do not hold is given as its digits.
fn as_integer(number: f64) -> Value {
    if number.abs() < 1e38 { Value::from(number as i128) } else { format!("{number:.0}").into() }
}

/// Python's `int(text, base)`: sign, matching prefix and underscores are legal; base 0 reads the prefix.
fn parse_int(text: &str, base: i64) -> Option<i128> {
    let text = ascii_digits(text.trim()).to_ascii_lowercase();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, of)| digits.strip_prefix(prefix).map(|digits| (digits, of)));
    let (digits, base) = match (prefixed, base) {
        (Some((digits, of)), base) if base == i64::from(of) || base == 0 => (digits, of),
        (_, 0) => (digits, 10),
        (_, base) => (digits, u32::try_from(base).ok().filter(|base| (2..=36).contains(base))?),
    };
    // Underscores stand between digits, or after a prefix, one at a time.
    let bare = digits.strip_prefix('_').filter(|_| prefixed.is_some()).unwrap_or(digits);
    if bare.starts_with(['+', '-', '_']) || bare.ends_with('_') || bare.contains("__") {
        return None;
    }
    i128::from_str_radix(&bare.replace('_', ""), base).ok().map(|number| sign * number)
}

fn boolean(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    let flag = match value.kind() {
        ValueKind::Bool => Some(value.is_true()),
        ValueKind::Number => to_float(value).map(|number| number != 0.0),
        ValueKind::String => match value.as_str().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" | "enable" => Some(true),
            "0" | "false" | "no" | "off" | "disable" => Some(false),
            _ => None,
        },
        _ => None,
    };
    flag.map_or_else(|| p.default_or("bool", value), |flag| Ok(flag.into()))
}

/// Rounds half to even on the exact binary value, as Python does.
pub(super) fn round_half_even(number: f64, digits: i64) -> f64 {
    if !number.is_finite() {
        return number;
    }
    match usize::try_from(digits) {
        Ok(digits) => format!("{number:.*}", digits.min(300)).parse().unwrap_or(number),
        Err(_) => {
            let scale = 10f64.powi(i32::try_from(digits.saturating_neg()).unwrap_or(300));
            (number / scale).round_ties_even() * scale
        }
    }
}

fn round(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let precision = p.int_or("precision", 0)?;
    let Some(number) = to_float(value) else { return p.default_or("round", value) };
    let scale = 10f64.powi(i32::try_from(precision).unwrap_or(0));
    let method = p.text_or("method", "common");
    let rounded = match method.as_str() {
        "ceil" => ((number * scale).ceil() + 0.0) / scale,
        // An integer in Python: it has no negative zero.
        "floor" => ((number * scale).floor() + 0.0) / scale,
        "half" => ((number * 2.0).round_ties_even() + 0.0) / 2.0,
        _ => round_half_even(number, precision),
    };
    let whole = precision == 0 || matches!(method.as_str(), "ceil" | "floor" | "half");
    if whole && number.is_infinite() {
        // Python's `OverflowError`, which a default does not catch.
        return Err(invalid("round", value));
    }
    if whole && number.is_nan() {
        return p.default_or("round", value);
    }
    Ok(if precision == 0 { as_integer(rounded) } else { rounded.into() })
}

fn multiply(p: &Params) -> Result<Value, Error> {
    binary(p, "multiply", |a, b| a * b)
}

fn add(p: &Params) -> Result<Value, Error> {
    binary(p, "add", |a, b| a + b)
}

fn binary(p: &Params, what: &str, with: fn(f64, f64) -> f64) -> Result<Value, Error> {
    let value = p.need("value")?;
    let amount = p.need("amount")?;
    match (to_float(value), amount.kind()) {
        (Some(number), ValueKind::Number | ValueKind::Bool) => {
            Ok(with(number, to_float(amount).unwrap_or(f64::NAN)).into())
        }
        _ => p.default_or(what, value),
    }
}

fn log(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let base = p.get("base").map_or(Some(std::f64::consts::E), to_float);
    match (to_float(value), base) {
        (Some(number), Some(base)) if (number > 0.0 || number.is_nan()) && base > 0.0 && base != 1.0 => {
            let result = if p.get("base").is_some() { number.ln() / base.ln() } else { number.ln() };
            Ok(result.into())
        }
        _ => p.default_or("log", value),
    }
}

fn unary(p: &Params, what: &str, of: fn(f64) -> f64) -> Result<Value, Error> {
    let value = p.need("value")?;
    let number = to_float(value);
    match number.map(of) {
        Some(result) if !result.is_nan() || number.is_some_and(f64::is_nan) => Ok(result.into()),
        _ => p.default_or(what, value),
    }
}

/// `atan2(y, x)`, or of a list of both.
fn atan2(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let (y, x, default) = match value.kind() {
        ValueKind::Seq => {
            let pair = super::params::items(value)?;
            (pair.first().cloned(), pair.get(1).cloned(), p.get("x").or_else(|| p.get("default")))
        }
        _ => (Some(value.clone()), p.get("x").cloned(), p.get("default")),
    };
    match (y.as_ref().and_then(to_float), x.as_ref().and_then(to_float)) {
        (Some(y), Some(x)) => Ok(y.atan2(x).into()),
        _ => default.cloned().ok_or_else(|| invalid("atan2", value)),
    }
}

/// The numbers of a list, or of the arguments themselves.
fn numbers(p: &Params) -> Result<Vec<Value>, Error> {
    let first = p.given("value")?;
    let items = match first.kind() {
        ValueKind::Number | ValueKind::Bool | ValueKind::String => {
            let second = p.get("default").cloned();
            std::iter::once(first.clone()).chain(second).chain(p.more.iter().cloned()).collect()
        }
        ValueKind::Undefined => return Err(invalid("average", first)),
        _ => super::params::items(first)?,
    };
    match items.iter().find(|item| !matches!(item.kind(), ValueKind::Number | ValueKind::Bool)) {
        Some(odd) => Err(invalid("average", odd)),
        None => Ok(items),
    }
}

fn average(p: &Params) -> Result<Value, Error> {
    let list: Vec<f64> = match numbers(p) {
        Ok(list) => list.iter().filter_map(to_float).collect(),
        Err(error) => return p.get("default").cloned().ok_or(error),
    };
    if list.is_empty() {
        return p.default_or("average", p.need("value")?);
    }
    Ok((list.iter().sum::<f64>() / list.len() as f64).into())
}

fn median(p: &Params) -> Result<Value, Error> {
    let mut list = match numbers(p) {
        Ok(list) => list,
        Err(error) => return p.get("default").cloned().ok_or(error),
    };
    list.sort();
    let middle = list.len() / 2;
    match (list.get(middle), middle.checked_sub(1).and_then(|at| list.get(at))) {
        (Some(high), Some(low)) if list.len() % 2 == 0 => {
            let number = |value: &Value| to_float(value).unwrap_or(f64::NAN);
            Ok(f64::midpoint(number(low), number(high)).into())
        }
        (Some(number), _) => Ok(number.clone()),
        (None, _) => p.default_or("median", p.need("value")?),
    }
}

fn needed(p: &Params, name: &str) -> Result<f64, Error> {
    let value = p.need(name)?;
    to_float(value).ok_or_else(|| invalid(name, value))
}

fn clamp(p: &Params) -> Result<Value, Error> {
    let (value, low, high) = (needed(p, "value")?, needed(p, "min")?, needed(p, "max")?);
    Ok(value.max(low).min(high).into())
}

fn wrap(p: &Params) -> Result<Value, Error> {
    let (value, low, high) = (needed(p, "value")?, needed(p, "min")?, needed(p, "max")?);
    let span = high - low;
    if span == 0.0 {
        return Ok(low.into());
    }
    Ok(((value - low).rem_euclid(span) + low).into())
}

fn remap(p: &Params) -> Result<Value, Error> {
    let (value, low, high) = (needed(p, "value")?, needed(p, "in_min")?, needed(p, "in_max")?);
    let (out_low, out_high) = (needed(p, "out_min")?, needed(p, "out_max")?);
    if low == high {
        return Err(invalid("remap", p.need("in_min")?));
    }
    let value = match p.text_or("edges", "none").as_str() {
        "clamp" => value.max(low.min(high)).min(low.max(high)),
        "wrap" => (value - low).rem_euclid(high - low) + low,
        _ => value,
    };
    let mut share = (value - low) / (high - low);
    let steps = p.int_or("steps", 0)?;
    if steps > 0 {
        share = (share * steps as f64).round_ties_even() / steps as f64;
    }
    Ok((out_low + share * (out_high - out_low)).into())
}

fn bits(p: &Params, what: &str, with: fn(i128, i128) -> i128) -> Result<Value, Error> {
    let (first, second) = (p.given("value")?, p.given("other")?);
    match (whole(first), whole(second)) {
        (Some(first), Some(second)) => Ok(with(first, second).into()),
        (None, _) => Err(invalid(what, first)),
        (_, None) => Err(invalid(what, second)),
    }
}

/// Home Assistant looks at the last two characters.
fn ordinal(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    let text = display::text(value);
    let last = |count: usize| -> Option<i128> {
        let start = text.char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at);
        parse_int(text.get(start..)?, 10)
    };
    let (digit, two) = last(1).zip(last(2)).ok_or_else(|| invalid("ordinal", value))?;
    let ending = match (two.rem_euclid(100), digit) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    Ok(format!("{text}{ending}").into())
}

fn file_size(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let bytes = to_float(value).ok_or_else(|| invalid("filesizeformat", value))?;
    let binary = p.flag("binary", false);
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok("1 Byte".into());
    }
    if bytes < base {
        return Ok(format!("{} Bytes", bytes as i64).into());
    }
    let mut size = bytes;
    let mut unit = "";
    for prefix in ["k", "M", "G", "T", "P", "E", "Z", "Y"] {
        if size < base {
            break;
        }
        size /= base;
        unit = prefix;
    }
    let suffix = if binary { format!("{}iB", unit.to_uppercase()) } else { format!("{unit}B") };
    Ok(format!("{size:.1} {suffix}").into())
}
