//! Text: JSON, shortening, wrapping, escaping.

use minijinja::Error;
use minijinja::value::{Value, ValueKind};
use serde_json::Value as Json;

use super::params::{Params, invalid, items};
use super::registry::{Entry, entry, variadic};
use super::views::Version;
use super::{display, slug};

pub(super) const TABLE: &[Entry] = &[
    entry("is_defined", &["value"], |p| p.need("value").cloned()),
    entry("from_json", &["value", "default"], from_json),
    entry("to_json", &["value", "ensure_ascii", "pretty_print", "sort_keys"], to_json),
    entry("tojson", &["value"], tojson),
    entry("slugify", &["value", "separator"], |p| {
        Ok(slug::slug(&p.text("value")?, &p.text_or("separator", "_")).into())
    }),
    entry("urlencode", &["value"], urlencode),
    entry("truncate", &["value", "length", "killwords", "end", "leeway"], truncate),
    entry("title", &["value"], |p| Ok(title(&p.text("value")?).into())),
    entry("wordcount", &["value"], |p| Ok(word_count(&p.text("value")?).into())),
    entry("center", &["value", "width"], center),
    entry("striptags", &["value"], |p| Ok(strip_tags(&p.text("value")?).into())),
    entry("version", &["value"], version),
    entry("wordwrap", &["value", "width", "break_long_words", "wrapstring", "break_on_hyphens"], wordwrap),
    entry("escape", &["value"], |p| Ok(escape(&p.text("value")?).into())),
    entry("e", &["value"], |p| Ok(escape(&p.text("value")?).into())),
    entry("forceescape", &["value"], |p| Ok(escape(&p.text("value")?).into())),
    entry("string", &["value"], |p| {
        Ok(match p.given("value")? {
            value if display::plain(value).is_some() => value.clone(),
            value => display::text(value).into(),
        })
    }),
    variadic("join", &["value", "d", "attribute"], join),
    entry("split", &["value", "separator"], split),
];

fn from_json(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    match serde_json::from_str::<Json>(&display::text(value)) {
        Ok(json) => Ok(super::path::engine_value(&json)),
        Err(_) => p.default_or("from_json", value),
    }
}

fn as_json(value: &Value) -> Result<Json, Error> {
    if value.is_undefined() {
        return Err(invalid("to_json", value));
    }
    serde_json::to_value(value).map_err(|_| invalid("to_json", value))
}

/// Home Assistant's `to_json`: compact, in the original order, without escapes for other letters.
fn to_json(p: &Params) -> Result<Value, Error> {
    let mut json = as_json(p.given("value")?)?;
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
    let mut json = as_json(p.given("value")?)?;
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

/// Jinja's filter: words are parted by white space, hyphens and brackets.
pub(super) fn title(text: &str) -> String {
    capital_after(text, |before| before.is_whitespace() || "-([{<".contains(before))
}

/// Python's `str.title()`: whatever is no letter parts words.
pub(super) fn title_method(text: &str) -> String {
    capital_after(text, |before| !before.is_alphabetic())
}

fn capital_after(text: &str, parts: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut first = true;
    for character in text.chars() {
        if first {
            out.extend(character.to_uppercase());
        } else {
            out.extend(character.to_lowercase());
        }
        first = parts(character);
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

fn version(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    match value.is_undefined() {
        true => Ok("".into()),
        false => Ok(Value::from_object(Version::new(display::text(value)))),
    }
}

/// Markup's characters as Python's `markupsafe` writes them.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// Text is quoted; a mapping becomes `a=b&c=d`.
fn urlencode(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    if value.kind() != ValueKind::Map {
        return Ok(url(&display::text(value)).into());
    }
    let pairs: Result<Vec<String>, Error> = items(value)?
        .into_iter()
        .map(|key| {
            let item = value.get_item(&key)?;
            let quoted = |value: &Value| url(&display::text(value)).replace("%20", "+").replace('/', "%2F");
            Ok(format!("{}={}", quoted(&key), quoted(&item)))
        })
        .collect();
    Ok(pairs?.join("&").into())
}

fn join(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    if value.is_undefined() {
        return Ok("".into());
    }
    let by = p.text_or("d", "");
    let mut out = String::new();
    for (at, item) in items(value)?.iter().enumerate() {
        let item = match p.get("attribute") {
            Some(path) => super::collections::attribute(item, path)?,
            None => item.clone(),
        };
        if at > 0 {
            out.push_str(&by);
        }
        if display::write(&mut out, &item).is_err() || out.len() > super::MAX_OUTPUT {
            return Err(invalid("join, whose result is too long,", &Value::from(at)));
        }
    }
    Ok(out.into())
}

/// Jinja's `wordwrap`: each line is wrapped by itself.
fn wordwrap(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let width = usize::try_from(p.int_or("width", 79)?).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| invalid("wordwrap", p.get("width").unwrap_or(&Value::UNDEFINED)))?;
    let by = p.text_or("wrapstring", "\n");
    let (long, hyphens) = (p.flag("break_long_words", true), p.flag("break_on_hyphens", true));
    let lines = text.lines().flat_map(|line| {
        let wrapped = wrap(line, width, long, hyphens);
        // An empty line stays one.
        if wrapped.is_empty() { vec![String::new()] } else { wrapped }
    });
    joined(lines, &by, super::MAX_OUTPUT)
        .map(Value::from)
        .ok_or_else(|| invalid("wordwrap, whose result is too long,", &Value::from(width)))
}

/// Texts with `by` between them, or `None` where they are longer than `most` together: nothing longer is ever made.
pub(super) fn joined<T: AsRef<str>>(
    parts: impl IntoIterator<Item = T>,
    by: &str,
    most: usize,
) -> Option<String> {
    let mut out = String::new();
    for (at, part) in parts.into_iter().enumerate() {
        let (by, part) = (if at == 0 { "" } else { by }, part.as_ref());
        if out.len() + by.len() + part.len() > most {
            return None;
        }
        out.push_str(by);
        out.push_str(part);
    }
    Some(out)
}

/// Words and the white space between them, and words after their hyphens.
fn chunks(line: &str, hyphens: bool) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    let mut letters = 0;
    for character in line.chars() {
        let apart = before.is_none_or(|before| {
            before.is_whitespace() != character.is_whitespace()
                || (hyphens && before == '-' && letters > 1 && character.is_alphabetic())
        });
        if apart {
            chunks.push(String::new());
            letters = 0;
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(character);
        }
        letters += usize::from(character.is_alphabetic());
        before = Some(character);
    }
    chunks
}

fn wrap(line: &str, width: usize, long: bool, hyphens: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // The line that is being filled, and how many characters are in it.
    let (mut now, mut filled) = (String::new(), 0usize);
    for chunk in chunks(line, hyphens) {
        let mut chunk = chunk.as_str();
        let mut length = chunk.chars().count();
        if now.is_empty() && !lines.is_empty() && chunk.trim().is_empty() {
            continue;
        }
        if filled + length > width {
            if long && length > width {
                // A word that fits in no line fills this one up.
                while filled + length > width {
                    let room = width.saturating_sub(filled);
                    let end = chunk.char_indices().nth(room).map_or(chunk.len(), |(at, _)| at);
                    let (head, tail) = chunk.split_at_checked(end).unwrap_or((chunk, ""));
                    lines.push((std::mem::take(&mut now) + head).trim_end().to_owned());
                    (chunk, length, filled) = (tail, length.saturating_sub(room), 0);
                }
            } else if !now.trim().is_empty() {
                lines.push(std::mem::take(&mut now).trim_end().to_owned());
                filled = 0;
            }
            if chunk.trim().is_empty() {
                continue;
            }
        }
        now.push_str(chunk);
        filled += length;
    }
    if !now.trim().is_empty() {
        lines.push(now.trim_end().to_owned());
    }
    lines
}
