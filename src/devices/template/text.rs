//! Text: regular expressions, JSON, encodings, shortening.

use base64::Engine;
use minijinja::Error;
use minijinja::value::{Tuple, Value, ValueKind};
use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;
use sha2::Digest;

use super::params::{Params, invalid};
use super::registry::{Entry, entry};

pub(super) const TABLE: &[Entry] = &[
    entry("is_defined", &["value"], |p| p.need("value").cloned()),
    entry("from_json", &["value", "default"], from_json),
    entry("to_json", &["value", "ensure_ascii", "pretty_print", "sort_keys"], to_json),
    entry("tojson", &["value"], tojson),
    entry("regex_match", &["value", "find", "ignorecase"], |p| search(p, true)),
    entry("regex_search", &["value", "find", "ignorecase"], |p| search(p, false)),
    entry("regex_replace", &["value", "find", "replace", "ignorecase", "count"], regex_replace),
    entry("regex_findall", &["value", "find", "ignorecase"], |p| find_all(p).map(Value::from)),
    entry("regex_findall_index", &["value", "find", "index", "ignorecase"], find_all_index),
    entry("base64_encode", &["value"], |p| Ok(base64(&bytes_of(p.need("value")?)).into())),
    entry("base64_decode", &["value", "encoding"], base64_decode),
    entry("from_hex", &["value"], from_hex),
    entry("sha256", &["value"], |p| Ok(hex(&sha2::Sha256::digest(bytes_of(p.need("value")?))).into())),
    entry("sha512", &["value"], |p| Ok(hex(&sha2::Sha512::digest(bytes_of(p.need("value")?))).into())),
    entry("slugify", &["value", "separator"], |p| {
        Ok(slug(&p.text("value")?, &p.text_or("separator", "_")).into())
    }),
    entry("urlencode", &["value"], |p| Ok(url(&p.text("value")?).into())),
    entry("truncate", &["value", "length", "killwords", "end", "leeway"], truncate),
    entry("title", &["value"], |p| Ok(title(&p.text("value")?).into())),
    entry("wordcount", &["value"], |p| Ok(word_count(&p.text("value")?).into())),
    entry("center", &["value", "width"], center),
    entry("striptags", &["value"], |p| Ok(strip_tags(&p.text("value")?).into())),
    entry("version", &["value"], |p| p.need("value").cloned()),
    entry("split", &["value", "separator"], split),
];

const MAX_PATTERN_BYTES: usize = 64 * 1024;

fn pattern(find: &str, ignore_case: bool) -> Result<Regex, Error> {
    RegexBuilder::new(find)
        .case_insensitive(ignore_case)
        .size_limit(MAX_PATTERN_BYTES * 4)
        .build()
        .map_err(|_| invalid("regular expression", &Value::from(find)))
}

/// Whether `find` occurs, anywhere or at the start.
pub(super) fn find(text: &str, find: &str, ignore_case: bool, at_start: bool) -> Result<bool, Error> {
    let found = pattern(find, ignore_case)?.find(text).map(|found| found.start());
    Ok(found.is_some_and(|start| !at_start || start == 0))
}

fn search(p: &Params, at_start: bool) -> Result<Value, Error> {
    find(&p.text("value")?, &p.text("find")?, p.flag("ignorecase", false), at_start).map(Value::from)
}

fn regex_replace(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let pattern = pattern(&p.text_or("find", ""), p.flag("ignorecase", false))?;
    let count = usize::try_from(p.int_or("count", 0)?).unwrap_or(0);
    let replace = python_replacement(&p.text_or("replace", ""));
    Ok(pattern.replacen(&text, count, replace.as_str()).into_owned().into())
}

/// `\1` and `\g<name>` of Python as `${1}` and `${name}`.
fn python_replacement(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek().copied()) {
            ('$', _) => out.push_str("$$"),
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                rest.next();
                out.push_str(&format!("${{{digit}}}"));
            }
            ('\\', Some('g')) => {
                let name: String = rest.by_ref().skip(2).take_while(|c| *c != '>').collect();
                out.push_str(&format!("${{{name}}}"));
            }
            ('\\', Some('\\')) => {
                rest.next();
                out.push('\\');
            }
            ('\\', Some('n')) => {
                rest.next();
                out.push('\n');
            }
            (character, _) => out.push(character),
        }
    }
    out
}

/// Python's `re.findall`: whole matches, the one group, or a tuple of groups.
fn find_all(p: &Params) -> Result<Vec<Value>, Error> {
    let text = p.text("value")?;
    let pattern = pattern(&p.text("find")?, p.flag("ignorecase", false))?;
    let group = |captures: &regex::Captures<'_>, at: usize| {
        Value::from(captures.get(at).map_or("", |found| found.as_str()))
    };
    let found = pattern.captures_iter(&text).map(|captures| match captures.len() {
        1 => group(&captures, 0),
        2 => group(&captures, 1),
        groups => Value::from(Tuple::new((1..groups).map(|at| group(&captures, at)).collect())),
    });
    Ok(found.collect())
}

fn find_all_index(p: &Params) -> Result<Value, Error> {
    let found = find_all(p)?;
    let index = p.int_or("index", 0)?;
    let at = if index < 0 { index + i64::try_from(found.len()).unwrap_or(0) } else { index };
    usize::try_from(at)
        .ok()
        .and_then(|at| found.get(at).cloned())
        .ok_or_else(|| invalid("regex_findall_index", p.get("value").unwrap_or(&Value::UNDEFINED)))
}

fn from_json(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    match serde_json::from_str::<Json>(&value.to_string()) {
        Ok(json) => Ok(super::path::engine_value(&json)),
        Err(_) => p.default_or("from_json", value),
    }
}

fn as_json(value: &Value) -> Result<Json, Error> {
    if value.is_undefined() {
        return Err(Error::new(minijinja::ErrorKind::UndefinedError, "undefined is not JSON"));
    }
    serde_json::to_value(value).map_err(|_| invalid("to_json", value))
}

/// Home Assistant's `to_json`: compact, in the original order, without escapes for other letters.
fn to_json(p: &Params) -> Result<Value, Error> {
    let mut json = as_json(p.need("value")?)?;
    if p.flag("sort_keys", false) {
        json.sort_all_objects();
    }
    let text = if p.flag("pretty_print", false) {
        serde_json::to_string_pretty(&json)
    } else {
        serde_json::to_string(&json)
    };
    let text = text.map_err(|_| invalid("to_json", p.get("value").unwrap_or(&Value::UNDEFINED)))?;
    Ok(if p.flag("ensure_ascii", false) { ascii(&text, "").into() } else { text.into() })
}

/// Jinja's `tojson`: sorted keys, `", "` and `": "`, ASCII only, HTML's special characters escaped.
fn tojson(p: &Params) -> Result<Value, Error> {
    let mut json = as_json(p.need("value")?)?;
    json.sort_all_objects();
    let mut out = String::new();
    write_spaced(&json, &mut out);
    Ok(ascii(&out, "<>&'").into())
}

fn write_spaced(json: &Json, out: &mut String) {
    match json {
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_spaced(item, out);
            }
            out.push(']');
        }
        Json::Object(map) => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push_str(": ");
                write_spaced(item, out);
            }
            out.push('}');
        }
        Json::Number(number) if number.is_f64() => {
            out.push_str(&super::python_float(number.as_f64().unwrap_or(f64::NAN)));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => out.push_str(&json.to_string()),
    }
}

/// JSON text with everything outside ASCII, and the characters of `also`, as `\uXXXX`.
fn ascii(text: &str, also: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() && !also.contains(character) {
            out.push(character);
        } else {
            let mut units = [0u16; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

fn bytes_of(value: &Value) -> Vec<u8> {
    value.as_bytes().map_or_else(|| value.to_string().into_bytes(), <[u8]>::to_vec)
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn base64_decode(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(value.to_string().trim())
        .map_err(|_| invalid("base64_decode", value))?;
    if p.get("encoding").is_some_and(Value::is_none) {
        return Ok(Value::from_bytes(bytes));
    }
    String::from_utf8(bytes).map(Value::from).map_err(|_| invalid("base64_decode", value))
}

fn from_hex(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?.replace(' ', "");
    let digits: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok().filter(|_| pair.len() == 2))
        .collect();
    digits.map(Value::from_bytes).ok_or_else(|| invalid("from_hex", &Value::from(text)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn slug(text: &str, separator: &str) -> String {
    let mut out = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() {
            out.push(character);
        } else if !out.is_empty() && !out.ends_with(separator) {
            out.push_str(separator);
        }
    }
    let trimmed = out.trim_end_matches(separator);
    if trimmed.is_empty() { "unknown".into() } else { trimmed.into() }
}

fn url(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Jinja's `truncate`: text within `length + leeway` stays; a cut text ends with `end`, at a word unless told otherwise.
fn truncate(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let length = usize::try_from(p.int_or("length", 255)?).unwrap_or(0);
    let leeway = usize::try_from(p.int_or("leeway", 5)?).unwrap_or(0);
    let end = p.text_or("end", "...");
    if text.chars().count() <= length + leeway {
        return Ok(text.into());
    }
    let keep = length.saturating_sub(end.chars().count());
    let cut: String = text.chars().take(keep).collect();
    if p.flag("killwords", false) {
        return Ok((cut + &end).into());
    }
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    Ok(format!("{whole}{end}").into())
}

pub(super) fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for character in text.chars() {
        if inside {
            out.extend(character.to_lowercase());
        } else {
            out.extend(character.to_uppercase());
        }
        inside = character.is_alphanumeric() || character == '\'';
    }
    out
}

fn word_count(text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).count()
}

fn center(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let width = usize::try_from(p.int_or("width", 80)?).unwrap_or(0).min(1000);
    Ok(format!("{text:^width$}").into())
}

fn strip_tags(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for character in text.chars() {
        match character {
            '<' => inside = true,
            '>' if inside => inside = false,
            _ if !inside => out.push(character),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn split(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let parts: Vec<Value> = match p.get("separator") {
        Some(separator) if separator.kind() == ValueKind::String => {
            text.split(separator.as_str().unwrap_or_default()).map(Value::from).collect()
        }
        _ => text.split_whitespace().map(Value::from).collect(),
    };
    Ok(parts.into())
}
