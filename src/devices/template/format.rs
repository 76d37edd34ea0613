//! Python's two ways to format text: `str.format` and the `%` operator.

use minijinja::Error;
use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};

use super::params::{invalid, plain};
use super::{MAX_OUTPUT, display};

const MAX_WIDTH: usize = 1000;

/// Jinja's filter `format`: positional arguments, or named ones.
pub(super) fn filter(value: &Value, args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    percent(&display::text(value), &plain(&args))
}

/// `text % args`. A mapping that is the only argument gives the fields by name.
pub(super) fn percent(text: &str, args: &[Value]) -> Result<Value, Error> {
    let bad = || invalid("format", &Value::from(text));
    let mut out = String::new();
    let mut rest = text;
    let named = args.first().filter(|arg| arg.is_kwargs() || arg.kind() == ValueKind::Map);
    let mut left = args.iter().filter(|arg| !arg.is_kwargs());
    let mut by_name = false;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let (name, after) = match after.strip_prefix('(') {
            Some(inner) => inner.split_once(')').map(|(name, after)| (Some(name), after)).ok_or_else(bad)?,
            None => (None, after),
        };
        let length = after.find(|c: char| c.is_ascii_alphabetic() || c == '%').ok_or_else(bad)?;
        let (flags, after) = after.split_at(length);
        let kind = after.chars().next().ok_or_else(bad)?;
        rest = after.get(1..).unwrap_or_default();
        if kind == '%' {
            out.push('%');
            continue;
        }
        let found = match name {
            Some(name) => {
                by_name = true;
                named.ok_or_else(bad)?.get_attr(name).ok().filter(|found| !found.is_undefined())
            }
            None => left.next().cloned(),
        };
        out.push_str(&percent_field(flags, kind, &found.ok_or_else(bad)?)?);
        if out.len() > MAX_OUTPUT {
            return Err(bad());
        }
    }
    if !by_name && named.is_none() && left.next().is_some() {
        return Err(bad());
    }
    out.push_str(rest);
    Ok(out.into())
}

fn percent_field(flags: &str, kind: char, arg: &Value) -> Result<String, Error> {
    if arg.is_undefined() && kind != 's' {
        return Err(Error::new(minijinja::ErrorKind::UndefinedError, "an argument of format is undefined"));
    }
    let width = flags.trim_start_matches(['-', '+', ' ', '0', '#']);
    let set = flags.get(..flags.len() - width.len()).unwrap_or_default();
    let has = |flag: char| if set.contains(flag) { flag.to_string() } else { String::new() };
    let (arg, kind) = match kind {
        'd' | 'i' | 'u' => {
            let number = super::numbers::to_float(arg).filter(|_| arg.kind() != ValueKind::String);
            let number = number.ok_or_else(|| invalid("format", arg))?;
            let whole = if arg.is_integer() { arg.clone() } else { Value::from(number.trunc() as i64) };
            (whole, "d")
        }
        's' => (Value::from(display::text(arg)), "s"),
        'r' | 'a' => (Value::from(display::repr(arg)), "s"),
        'f' | 'F' => (arg.clone(), "f"),
        'e' => (arg.clone(), "e"),
        'E' => (arg.clone(), "E"),
        'g' | 'G' => (arg.clone(), "g"),
        'x' => (arg.clone(), "x"),
        'X' => (arg.clone(), "X"),
        'o' => (arg.clone(), "o"),
        'c' => (arg.clone(), "c"),
        _ => return Err(invalid("format", arg)),
    };
    let align = match (set.contains('-'), kind) {
        (true, _) => "<",
        (false, "s") => ">",
        (false, _) => "",
    };
    let zero = if align.is_empty() { has('0') } else { String::new() };
    spec_format(&arg, &format!("{align}{}{}{}{zero}{width}{kind}", has('+'), has(' '), has('#')))
}

/// Python's `str.format` with positional, numbered and named fields and the usual format specifications.
pub(super) fn braces(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (named, positional): (Vec<&Value>, Vec<&Value>) = args.iter().partition(|arg| arg.is_kwargs());
    let mut out = String::new();
    let mut rest = text;
    let mut next = 0usize;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            out.push_str(from.get(..1).unwrap_or_default());
            rest = after;
            continue;
        }
        let Some((field, after)) = from.strip_prefix('{').and_then(|from| from.split_once('}')) else {
            return Err(invalid("format", &Value::from(text)));
        };
        let (name, spec) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = name.split_once('!').unwrap_or((name, ""));
        let steps = name.find(['.', '[']).unwrap_or(name.len());
        let (name, steps) = name.split_at(steps);
        let value = if name.is_empty() {
            next += 1;
            positional.get(next - 1).copied().cloned()
        } else if let Ok(at) = name.parse::<usize>() {
            positional.get(at).copied().cloned()
        } else {
            named.first().and_then(|named| named.get_attr(name).ok()).filter(|value| !value.is_undefined())
        };
        let value = value.and_then(|value| member(value, steps));
        let value = value.ok_or_else(|| invalid("format", &Value::from(text)))?;
        let value = match conversion {
            "r" | "a" => display::repr(&value).into(),
            "s" => display::text(&value).into(),
            _ => value,
        };
        out.push_str(&spec_format(&value, spec)?);
        if out.len() > MAX_OUTPUT {
            return Err(invalid("format", &Value::from(spec)));
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out.into())
}

/// What `[key]` and `.name` after a field's name lead to.
fn member(value: Value, steps: &str) -> Option<Value> {
    let mut found = value;
    let mut rest = steps;
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']')?,
            None => {
                let inner = rest.strip_prefix('.')?;
                inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()))
            }
        };
        found = match step.parse::<u32>() {
            Ok(index) => found.get_item(&index.into()).ok()?,
            Err(_) => found.get_attr(step).ok()?,
        };
        if found.is_undefined() {
            return None;
        }
        rest = after;
    }
    Some(found)
}

/// One value by a format specification: `[[fill]align][sign][#][0][width][,][.precision][type]`.
fn spec_format(value: &Value, spec: &str) -> Result<String, Error> {
    let bad = || invalid("format", &Value::from(spec));
    let mut chars: Vec<char> = spec.chars().collect();
    let aligned = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
    let (fill, align) = if aligned(chars.get(1)) {
        let head: Vec<char> = chars.drain(..2).collect();
        (head.first().copied().unwrap_or(' '), head.get(1).copied())
    } else if aligned(chars.first()) {
        (' ', Some(chars.remove(0)))
    } else {
        (' ', None)
    };
    let mut rest: &str = &chars.iter().collect::<String>();
    let mut take = |flag: char| match rest.strip_prefix(flag) {
        Some(after) => {
            rest = after;
            true
        }
        None => false,
    };
    let plus = take('+');
    let space = take(' ');
    let _minus = take('-');
    let alternate = take('#');
    let zero = take('0');
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (width, after) = rest.split_at(digits(rest));
    let width = width.parse::<usize>().unwrap_or(0).min(MAX_WIDTH);
    let group = after.chars().next().filter(|c| matches!(c, ',' | '_'));
    let after = if group.is_some() { after.get(1..).unwrap_or_default() } else { after };
    let (precision, kind) = match after.strip_prefix('.') {
        Some(after) => {
            let (precision, kind) = after.split_at(digits(after));
            (Some(precision.parse::<usize>().map_err(|_| bad())?.min(100)), kind)
        }
        None => (None, after),
    };
    let number = super::numbers::to_float(value).filter(|_| value.kind() != ValueKind::String);
    let whole = value.as_i64().filter(|_| value.is_integer() || value.kind() == ValueKind::Bool);
    let need = || number.ok_or_else(bad);
    let prefix = |text: &'static str| if alternate { text } else { "" };
    let unsigned = whole.map(i64::unsigned_abs);
    let body = match (kind, unsigned) {
        ("d" | "n", Some(n)) => n.to_string(),
        ("b", Some(n)) => format!("{}{n:b}", prefix("0b")),
        ("o", Some(n)) => format!("{}{n:o}", prefix("0o")),
        ("x", Some(n)) => format!("{}{n:x}", prefix("0x")),
        ("X", Some(n)) => format!("{}{n:X}", prefix("0X")),
        ("c", Some(n)) => u32::try_from(n).ok().and_then(char::from_u32).ok_or_else(bad)?.to_string(),
        ("f" | "F", _) => format!("{:.*}", precision.unwrap_or(6), need()?.abs()),
        ("%", _) => format!("{:.*}%", precision.unwrap_or(6), need()?.abs() * 100.0),
        ("e" | "E", _) => exponent(need()?.abs(), precision.unwrap_or(6), kind == "E"),
        ("g", _) | ("", None) if number.is_some() && (kind == "g" || precision.is_some()) => {
            general(need()?.abs(), precision.unwrap_or(6))
        }
        ("" | "s", _) => {
            let text = match number {
                Some(_) => display::text(value).trim_start_matches('-').to_owned(),
                None => display::text(value),
            };
            match (precision, number) {
                (Some(precision), None) => text.chars().take(precision).collect(),
                _ => text,
            }
        }
        _ => return Err(bad()),
    };
    let body = group.map_or_else(|| body.clone(), |by| thousands(&body, by));
    let sign = match number {
        Some(number) if number < 0.0 => "-",
        Some(_) if plus => "+",
        Some(_) if space => " ",
        _ => "",
    };
    let missing = width.saturating_sub(body.chars().count() + sign.len());
    let fill = if zero && align.is_none() { "0".to_owned() } else { fill.to_string() };
    let align = align.unwrap_or(match (number, zero) {
        (_, true) => '=',
        (Some(_), false) => '>',
        (None, false) => '<',
    });
    Ok(match align {
        '<' => format!("{sign}{body}{}", fill.repeat(missing)),
        '^' => format!("{}{sign}{body}{}", fill.repeat(missing / 2), fill.repeat(missing - missing / 2)),
        '=' => format!("{sign}{}{body}", fill.repeat(missing)),
        _ => format!("{}{sign}{body}", fill.repeat(missing)),
    })
}

fn thousands(text: &str, by: char) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(by);
        }
        out.push(digit);
    }
    out + rest
}

fn exponent(number: f64, precision: usize, upper: bool) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}{}{sign}{exponent:0>2}", if upper { 'E' } else { 'e' })
}

fn general(number: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let scientific = exponent(number, precision - 1, false);
    let power: i64 = scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if power < -4 || power >= i64::try_from(precision).unwrap_or(i64::MAX) {
        let (digits, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{power}", trim(digits));
    }
    let decimals = usize::try_from(i64::try_from(precision).unwrap_or(0) - 1 - power).unwrap_or(0);
    trim(&format!("{number:.decimals$}"))
}
