//! Values as Python writes them: `str()` and `repr()`.
//!
//! The engine's own text differs for floats (`1e16`), bytes and what is not a number, so nothing here uses it for those.

use std::fmt::{self, Write};

use minijinja::value::{Value, ValueKind};

use super::{MAX_OUTPUT, python_float};

/// Lists within lists that are still written.
const MAX_DEPTH: usize = 32;

/// The text of a text. (The engine also takes bytes for one where they are UTF-8.)
pub(super) fn plain(value: &Value) -> Option<&str> {
    if value.kind() == ValueKind::String { value.as_str() } else { None }
}

/// Python's `str(value)`. Undefined is empty text.
pub(super) fn text(value: &Value) -> String {
    if let Some(text) = plain(value) {
        return text.to_owned();
    }
    let mut out = String::new();
    // What is too long or too deep is cut: the limits of the output and of the work are checked by others.
    let _ = write(&mut out, value);
    out
}

/// Python's `repr(value)`.
pub(super) fn repr(value: &Value) -> String {
    let mut out = String::new();
    let _ = write_repr(&mut out, value, 0);
    out
}

/// Writes `str(value)`; an error says that it is too long or too deep.
pub(super) fn write(out: &mut String, value: &Value) -> fmt::Result {
    match plain(value) {
        Some(text) => out.write_str(text),
        None if value.is_undefined() => Ok(()),
        None => write_repr(out, value, 0),
    }
}

fn write_repr(out: &mut String, value: &Value, depth: usize) -> fmt::Result {
    if depth > MAX_DEPTH || out.len() > MAX_OUTPUT {
        return Err(fmt::Error);
    }
    match value.kind() {
        ValueKind::Undefined => out.write_str("Undefined"),
        ValueKind::Number if !value.is_integer() => {
            out.write_str(&python_float(f64::try_from(value.clone()).unwrap_or(f64::NAN)))
        }
        ValueKind::String => {
            write_quoted(out, value.as_str().unwrap_or_default());
            Ok(())
        }
        ValueKind::Bytes => {
            write_bytes(out, value.as_bytes().unwrap_or_default());
            Ok(())
        }
        ValueKind::Map if is_plain_container(value) => {
            out.push('{');
            for (at, key) in iterate(value).enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_repr(out, &key, depth + 1)?;
                out.push_str(": ");
                write_repr(out, &value.get_item(&key).unwrap_or_default(), depth + 1)?;
            }
            out.push('}');
            Ok(())
        }
        ValueKind::Seq | ValueKind::Iterable if is_plain_container(value) => {
            let tuple = value.is_tuple();
            out.push(if tuple { '(' } else { '[' });
            write_items(out, value, depth)?;
            out.push_str(match (tuple, value.len()) {
                (true, Some(1)) => ",)",
                (true, _) => ")",
                (false, _) => "]",
            });
            Ok(())
        }
        _ => write!(out, "{value}"),
    }
}

/// The items of a list, with commas.
fn write_items(out: &mut String, value: &Value, depth: usize) -> fmt::Result {
    for (at, item) in iterate(value).enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        write_repr(out, &item, depth + 1)?;
    }
    Ok(())
}

fn iterate(value: &Value) -> impl Iterator<Item = Value> {
    value.try_iter().into_iter().flatten()
}

/// Objects of ours say themselves how they are written.
fn is_plain_container(value: &Value) -> bool {
    value.downcast_object_ref::<super::views::View>().is_none()
}

/// The items of a list as `[...]`, for objects that show a list within their name.
pub(super) fn list(items: &[Value]) -> String {
    let mut out = String::from("[");
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        if write_repr(&mut out, item, 1).is_err() {
            break;
        }
    }
    out.push(']');
    out
}

/// Text in single quotes, or in double quotes where it has single ones only.
fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 || (0x7f..0xa1).contains(&u32::from(c)) || c == '\u{ad}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// A bytes literal, which a command publishes as the bytes themselves.
fn write_bytes(out: &mut String, bytes: &[u8]) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    out.push('b');
    out.push(char::from(quote));
    for byte in bytes.iter().take(MAX_OUTPUT) {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            b if *b == quote => out.extend(['\\', char::from(*b)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            b => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push(char::from(quote));
}
