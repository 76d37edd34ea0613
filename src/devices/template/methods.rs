//! Python's methods on text, numbers, lists and mappings.
//!
//! They are called where the value itself has no such member, so a JSON key wins over a method of the same name.

use std::collections::HashSet;

use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::params::{Params, invalid, items, weight, work};
use super::views::View;
use super::{codes, format, text};

const MAX_WIDTH: usize = 1000;
/// Longest text that a method makes, in bytes. It may be longer than a result: a part may be taken of it.
const MAX_TEXT: usize = 1 << 20;

/// The engine's callback for unknown methods.
pub(super) fn call(_: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    work(weight(value))?;
    match value.kind() {
        ValueKind::Undefined => Err(Error::new(ErrorKind::UndefinedError, format!("{method} of undefined"))),
        ValueKind::String => text_method(value.as_str().unwrap_or_default(), method, args),
        ValueKind::Map => map_method(value, method, args),
        ValueKind::Seq | ValueKind::Iterable => list_method(value, method, args),
        ValueKind::Number => number_method(value, method),
        ValueKind::Bytes => bytes_method(value.as_bytes().unwrap_or_default(), method),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn text_method(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let arg = |at: usize| args.get(at);
    let word = |at: usize| arg(at).and_then(Value::as_str);
    let number = |at: usize| arg(at).and_then(Value::as_usize);
    let strip = |start: bool, end: bool| {
        let of: Option<HashSet<char>> = word(0).map(|set| set.chars().collect());
        let out = |c: char| of.as_ref().map_or(c.is_whitespace(), |of| of.contains(&c));
        let text = if start { text.trim_start_matches(out) } else { text };
        if end { text.trim_end_matches(out) } else { text }.to_owned()
    };
    if let Some(answer) = text_test(text, method) {
        return Ok(answer.into());
    }
    Ok(match method {
        "lower" | "casefold" => text.to_lowercase().into(),
        "upper" => text.to_uppercase().into(),
        "title" => text::title_method(text).into(),
        "capitalize" => capitalize(text).into(),
        "swapcase" => swap_case(text).into(),
        "strip" => strip(true, true).into(),
        "lstrip" => strip(true, false).into(),
        "rstrip" => strip(false, true).into(),
        "removeprefix" => word(0).and_then(|prefix| text.strip_prefix(prefix)).unwrap_or(text).into(),
        "removesuffix" => word(0).and_then(|suffix| text.strip_suffix(suffix)).unwrap_or(text).into(),
        "split" => split(text, args, false)?,
        "rsplit" => split(text, args, true)?,
        "splitlines" => text.lines().map(Value::from).collect::<Vec<_>>().into(),
        "partition" => partition(word(0).and_then(|by| text.split_once(by)), word(0), (text, "", "")),
        "rpartition" => partition(word(0).and_then(|by| text.rsplit_once(by)), word(0), ("", "", text)),
        "replace" => {
            let (Some(from), Some(to)) = (word(0), word(1)) else { return Err(wrong(method, args)) };
            let count = text.matches(from).take(number(2).unwrap_or(usize::MAX)).count();
            if text.len().saturating_add(to.len().saturating_mul(count)) > MAX_TEXT {
                return Err(wrong(method, args));
            }
            text.replacen(from, to, count).into()
        }
        "startswith" => affix(args, |part| text.starts_with(part))?,
        "endswith" => affix(args, |part| text.ends_with(part))?,
        "find" | "index" => match word(0).and_then(|part| text.find(part)) {
            Some(at) => text.get(..at).map_or(0, |before| before.chars().count()).into(),
            None if method == "find" => (-1).into(),
            None => return Err(wrong(method, args)),
        },
        "count" => word(0).map_or(0, |part| text.matches(part).count()).into(),
        "zfill" => zfill(text, number(0).unwrap_or(0).min(MAX_WIDTH)).into(),
        "ljust" => pad(text, args, |missing| (0, missing)).into(),
        "rjust" => pad(text, args, |missing| (missing, 0)).into(),
        "center" => pad(text, args, |missing| (missing / 2, missing - missing / 2)).into(),
        "expandtabs" => expand_tabs(text, number(0).unwrap_or(8).min(MAX_WIDTH))
            .ok_or_else(|| wrong(method, args))?
            .into(),
        "join" => {
            let parts = items(arg(0).unwrap_or(&Value::UNDEFINED))?;
            if let Some(odd) = parts.iter().find(|part| part.as_str().is_none()) {
                return Err(invalid("join", odd));
            }
            let joined = text::joined(parts.iter().filter_map(Value::as_str), text, MAX_TEXT);
            joined.ok_or_else(|| wrong(method, args))?.into()
        }
        "format" => return format::braces(text, args),
        "encode" => Value::from_bytes(text.as_bytes().to_vec()),
        _ => return Err(Error::from(ErrorKind::UnknownMethod)),
    })
}

/// What Python's `is…` methods say.
fn text_test(text: &str, method: &str) -> Option<bool> {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    Some(match method {
        "isdigit" | "isdecimal" | "isnumeric" => all(|c| c.is_numeric()),
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isspace" => all(char::is_whitespace),
        "istitle" => text.chars().any(char::is_alphabetic) && text::title_method(text) == text,
        "isidentifier" => {
            let starts = text.starts_with(|c: char| c == '_' || c.is_alphabetic());
            starts && text.chars().all(|c| c == '_' || c.is_alphanumeric())
        }
        "isascii" => text.is_ascii(),
        "isupper" => text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase),
        "islower" => text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase),
        _ => return None,
    })
}

fn bytes_method(bytes: &[u8], method: &str) -> Result<Value, Error> {
    match method {
        "hex" => Ok(codes::hex(bytes).into()),
        "decode" => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(invalid("decode", &Value::from_bytes(bytes.to_vec()))),
        },
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// The text with blanks for tabs, or `None` where it would be too long.
fn expand_tabs(text: &str, width: usize) -> Option<String> {
    let mut out = String::new();
    let mut column = 0usize;
    for character in text.chars() {
        if character == '\t' {
            let missing = width - column.checked_rem(width).unwrap_or(width);
            out.extend(std::iter::repeat_n(' ', missing));
            column += missing;
            if out.len() > MAX_TEXT {
                return None;
            }
        } else {
            out.push(character);
            column = if character == '\n' { 0 } else { column + 1 };
        }
    }
    Some(out)
}

fn wrong(method: &str, args: &[Value]) -> Error {
    invalid(method, args.first().unwrap_or(&Value::UNDEFINED))
}

fn capitalize(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest.flat_map(char::to_lowercase)).collect()
    })
}

fn swap_case(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect::<Vec<_>>() }
        })
        .collect()
}

fn split(text: &str, args: &[Value], from_end: bool) -> Result<Value, Error> {
    let p = Params::bind(&["sep", "maxsplit"], false, args)?;
    let limit =
        usize::try_from(p.int_or("maxsplit", -1)?).map_or(usize::MAX, |limit| limit.saturating_add(1));
    let mut parts: Vec<&str> = match p.get("sep").and_then(Value::as_str) {
        Some("") => return Err(wrong("split", args)),
        Some(separator) if from_end => {
            let mut parts: Vec<&str> = text.rsplitn(limit, separator).collect();
            parts.reverse();
            parts
        }
        Some(separator) => text.splitn(limit, separator).collect(),
        None => text.split_whitespace().collect(),
    };
    if p.get("sep").is_none_or(Value::is_none) && parts.len() > limit {
        // Only the first separators count: the rest stays as it is.
        let mut rest = text.trim();
        parts.clear();
        for _ in 1..limit {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            parts.push(word);
            rest = after.trim_start();
        }
        parts.push(rest);
    }
    Ok(parts.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

fn partition(found: Option<(&str, &str)>, by: Option<&str>, otherwise: (&str, &str, &str)) -> Value {
    let (before, by, after) =
        found.map_or(otherwise, |(before, after)| (before, by.unwrap_or_default(), after));
    Value::from(Tuple::new(vec![before.into(), by.into(), after.into()]))
}

fn affix(args: &[Value], test: impl Fn(&str) -> bool) -> Result<Value, Error> {
    let first = args.first().ok_or_else(|| Error::from(ErrorKind::MissingArgument))?;
    match first.as_str() {
        Some(part) => Ok(test(part).into()),
        None if first.is_tuple() => Ok(items(first)?.iter().filter_map(Value::as_str).any(test).into()),
        None => Err(invalid("startswith", first)),
    }
}

fn zfill(text: &str, width: usize) -> String {
    let (sign, digits) = match text.chars().next() {
        Some('+' | '-') => text.split_at(1),
        _ => ("", text),
    };
    let missing = width.saturating_sub(text.chars().count());
    format!("{sign}{}{digits}", "0".repeat(missing))
}

fn pad(text: &str, args: &[Value], sides: fn(usize) -> (usize, usize)) -> String {
    let width = args.first().and_then(Value::as_usize).unwrap_or(0).min(MAX_WIDTH);
    // Python takes one character alone.
    let fill =
        args.get(1).and_then(Value::as_str).and_then(|fill| fill.get(..fill.chars().next()?.len_utf8()));
    let fill = fill.unwrap_or(" ");
    let (left, right) = sides(width.saturating_sub(text.chars().count()));
    format!("{}{text}{}", fill.repeat(left), fill.repeat(right))
}

fn map_method(map: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match method {
        "get" => {
            let key = args.first().ok_or_else(|| Error::from(ErrorKind::MissingArgument))?;
            let found = map.get_item(key)?;
            let otherwise = || args.get(1).cloned().unwrap_or(Value::from(()));
            Ok(if found.is_undefined() { otherwise() } else { found })
        }
        "copy" => Ok(map.clone()),
        "keys" => Ok(View::value("dict_keys", items(map)?)),
        "values" => {
            let values: Result<Vec<_>, _> = items(map)?.iter().map(|key| map.get_item(key)).collect();
            Ok(View::value("dict_values", values?))
        }
        "items" => {
            let pair = |key: Value| -> Result<Value, Error> {
                let value = map.get_item(&key)?;
                Ok(Value::from(Tuple::new(vec![key, value])))
            };
            let pairs: Result<Vec<_>, _> = items(map)?.into_iter().map(pair).collect();
            Ok(View::value("dict_items", pairs?))
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn list_method(list: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let wanted = args.first().ok_or_else(|| Error::from(ErrorKind::UnknownMethod))?;
    let items = items(list)?;
    match method {
        "index" => items
            .iter()
            .position(|item| item == wanted)
            .map(Value::from)
            .ok_or_else(|| invalid("index", wanted)),
        "count" => Ok(items.iter().filter(|item| *item == wanted).count().into()),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn number_method(value: &Value, method: &str) -> Result<Value, Error> {
    let number = f64::try_from(value.clone()).unwrap_or(f64::NAN);
    match method {
        "hex" if !value.is_integer() => Ok(float_hex(number).into()),
        "is_integer" => Ok((number.fract() == 0.0).into()),
        "bit_length" => Ok(value.as_i64().map_or(0, |n| 64 - n.unsigned_abs().leading_zeros()).into()),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// Python's `float.hex()` for normal numbers.
fn float_hex(number: f64) -> String {
    let bits = number.to_bits();
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    let mantissa = bits & ((1 << 52) - 1);
    if exponent == 0 && mantissa == 0 {
        return format!("{sign}0x0.0p+0");
    }
    format!("{sign}0x1.{mantissa:013x}p{:+}", exponent - 1023)
}
