//! Python's two ways to format text: `str.format` and the `%` operator.

use minijinja::Error;
use minijinja::value::{Value, ValueKind};

use super::params::{Params, invalid, items};
use super::registry::{Entry, entry, variadic};

pub(super) const TABLE: &[Entry] = &[
    variadic("format", &["value"], |p| percent(&p.text("value")?, &p.more)),
    // What the `%` operator after a text is rewritten to.
    entry(PERCENT, &["value", "operand"], percent_operator),
];

/// The name of the filter that stands for `%`; no template can contain it by accident.
const PERCENT: &str = "__percent";
const MAX_WIDTH: usize = 1000;

/// Rewrites `'text' % operand` to a filter, because the engine's `%` knows numbers only.
pub(super) fn rewrite_percent(source: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len() + 16);
    let (mut at, mut inside, mut changed) = (0, false, false);
    let bytes = source.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        let quoted = inside && matches!(byte, b'\'' | b'"');
        match (byte, bytes.get(at + 1)) {
            (b'{', Some(b'{' | b'%')) => inside = true,
            (b'}' | b'%', Some(b'}')) => inside = false,
            _ => {}
        }
        let end = if quoted { string_end(bytes, at) } else { at + 1 };
        let end = (end..=source.len()).find(|end| source.is_char_boundary(*end))?;
        out.push_str(source.get(at..end)?);
        at = end;
        if !quoted {
            continue;
        }
        let sign = skip_space(bytes, at);
        if bytes.get(sign) == Some(&b'%') && bytes.get(sign + 1) != Some(&b'}') {
            let start = skip_space(bytes, sign + 1);
            if let Some(end) = operand_end(bytes, start) {
                out.push_str(&format!("|{PERCENT}({})", source.get(start..end)?));
                at = end;
                changed = true;
            }
        }
    }
    changed.then_some(out)
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

pub(super) fn string_end(bytes: &[u8], at: usize) -> usize {
    let quote = bytes.get(at).copied();
    let mut at = at + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            _ if Some(byte) == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

fn bracket_end(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0usize);
    loop {
        match bytes.get(at)? {
            b'\'' | b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The end of a primary with its lookups, calls and filters: those bind tighter than `%`.
fn operand_end(bytes: &[u8], start: usize) -> Option<usize> {
    let word = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        at + rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
            .count()
    };
    let mut at = match bytes.get(start)? {
        b'(' | b'[' | b'{' => bracket_end(bytes, start)?,
        b'\'' | b'"' => string_end(bytes, start),
        _ => word(start),
    };
    if at == start {
        return None;
    }
    loop {
        let next = skip_space(bytes, at);
        match bytes.get(at) {
            Some(b'(' | b'[') => at = bracket_end(bytes, at)?,
            Some(b'.') => at = word(at),
            _ if bytes.get(next) == Some(&b'|') => at = word(skip_space(bytes, next + 1)),
            _ => return Some(at),
        }
    }
}

fn percent_operator(p: &Params) -> Result<Value, Error> {
    let operand = p.need("operand")?;
    let args = if operand.is_tuple() { items(operand)? } else { vec![operand.clone()] };
    percent(&p.text("value")?, &args)
}

/// `text % args`, and Jinja's filter `format`.
fn percent(text: &str, args: &[Value]) -> Result<Value, Error> {
    let bad = || invalid("format", &Value::from(text));
    let mut out = String::new();
    let mut rest = text;
    let mut args = args.iter();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let length = after.find(|c: char| c.is_ascii_alphabetic() || c == '%').ok_or_else(bad)?;
        let (flags, after) = after.split_at(length);
        let kind = after.chars().next().ok_or_else(bad)?;
        rest = after.get(1..).unwrap_or_default();
        if kind == '%' {
            out.push('%');
            continue;
        }
        let arg = args.next().ok_or_else(bad)?;
        out.push_str(&percent_field(flags, kind, arg)?);
    }
    if args.next().is_some() {
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
        's' | 'r' | 'a' => (Value::from(arg.to_string()), "s"),
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
        let name = name.split_once('!').map_or(name, |(name, _)| name);
        let value = if name.is_empty() {
            next += 1;
            positional.get(next - 1).copied().cloned()
        } else if let Ok(at) = name.parse::<usize>() {
            positional.get(at).copied().cloned()
        } else {
            named.first().and_then(|named| named.get_attr(name).ok())
        };
        let value = value.ok_or_else(|| invalid("format", &Value::from(text)))?;
        out.push_str(&spec_format(&value, spec)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out.into())
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
    let (group, after) = after.strip_prefix(',').map_or((false, after), |after| (true, after));
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
                Some(_) => value.to_string().trim_start_matches('-').to_owned(),
                None => value.to_string(),
            };
            match (precision, number) {
                (Some(precision), None) => text.chars().take(precision).collect(),
                _ => text,
            }
        }
        _ => return Err(bad()),
    };
    let body = if group { thousands(&body) } else { body };
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

fn thousands(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
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
