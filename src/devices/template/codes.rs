//! Bytes: hashes, base64, hexadecimal digits, and Python's `struct`.

use base64::Engine;
use md5::Md5;
use minijinja::Error;
use minijinja::value::{Value, ValueKind};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::display;
use super::numbers::to_float;
use super::operators::whole;
use super::params::{Params, invalid};
use super::registry::{Entry, entry};

pub(super) const TABLE: &[Entry] = &[
    entry("base64_encode", &["value"], |p| {
        let value = p.given("value")?;
        if value.is_undefined() {
            return Err(invalid("base64_encode", value));
        }
        Ok(base64::engine::general_purpose::STANDARD.encode(bytes_of(value)).into())
    }),
    entry("base64_decode", &["value", "encoding"], base64_decode),
    entry("from_hex", &["value"], from_hex),
    entry("md5", &["value"], |p| hash(p, |bytes| hex(&Md5::digest(bytes)))),
    entry("sha1", &["value"], |p| hash(p, |bytes| hex(&Sha1::digest(bytes)))),
    entry("sha256", &["value"], |p| hash(p, |bytes| hex(&Sha256::digest(bytes)))),
    entry("sha512", &["value"], |p| hash(p, |bytes| hex(&Sha512::digest(bytes)))),
    entry("pack", &["value", "format_string"], pack),
    entry("unpack", &["value", "format_string", "offset"], unpack),
];

fn hash(p: &Params, with: fn(&[u8]) -> String) -> Result<Value, Error> {
    Ok(with(&bytes_of(p.need("value")?)).into())
}

fn bytes_of(value: &Value) -> Vec<u8> {
    value.as_bytes().map_or_else(|| display::text(value).into_bytes(), <[u8]>::to_vec)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn base64_decode(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(display::text(value).trim())
        .map_err(|_| invalid("base64_decode", value))?;
    if p.get("encoding").is_some_and(Value::is_none) {
        return Ok(Value::from_bytes(bytes));
    }
    String::from_utf8(bytes).map(Value::from).map_err(|_| invalid("base64_decode", value))
}

fn from_hex(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    let text = value.as_str().ok_or_else(|| invalid("from_hex", value))?;
    let digits: String = text.split_whitespace().collect();
    let bytes: Option<Vec<u8>> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            let text =
                std::str::from_utf8(pair).ok().filter(|text| text.len() == 2 && !text.starts_with('+'))?;
            u8::from_str_radix(text, 16).ok()
        })
        .collect();
    bytes.map(Value::from_bytes).ok_or_else(|| invalid("from_hex", value))
}

/// One item of a format: its letter, how often, and where it begins.
struct Item {
    letter: char,
    count: usize,
    at: usize,
}

struct Layout {
    big: bool,
    native: bool,
    items: Vec<Item>,
    size: usize,
}

/// Reads a format string of `struct`.
fn layout(format: &str) -> Option<Layout> {
    let first = format.chars().next()?;
    let (order, rest) = if "@=<>!".contains(first) { (first, format.get(1..)?) } else { ('@', format) };
    let mut layout = Layout { big: matches!(order, '>' | '!'), native: order == '@', items: vec![], size: 0 };
    let mut count = String::new();
    for letter in rest.chars() {
        if letter.is_ascii_digit() {
            count.push(letter);
            continue;
        }
        if letter.is_ascii_whitespace() {
            continue;
        }
        let times: usize = if count.is_empty() { 1 } else { count.parse().ok().filter(|n| *n <= 4096)? };
        count.clear();
        let width = width(letter, layout.native)?;
        if layout.native {
            layout.size = layout.size.next_multiple_of(width);
        }
        layout.items.push(Item { letter, count: times, at: layout.size });
        layout.size = layout.size.checked_add(width.checked_mul(times)?).filter(|size| *size <= 4096)?;
    }
    count.is_empty().then_some(layout)
}

fn width(letter: char, native: bool) -> Option<usize> {
    Some(match letter {
        'x' | 'c' | 'b' | 'B' | '?' | 's' => 1,
        'h' | 'H' => 2,
        'i' | 'I' | 'f' => 4,
        'l' | 'L' => {
            if native {
                8
            } else {
                4
            }
        }
        'q' | 'Q' | 'd' => 8,
        _ => return None,
    })
}

/// `struct.pack` of one value; none where it does not fit, as Home Assistant has it.
fn pack(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let bytes = layout(&p.text("format_string")?).and_then(|layout| packed(value, &layout));
    Ok(bytes.map_or_else(|| Value::from(()), Value::from_bytes))
}

fn packed(value: &Value, layout: &Layout) -> Option<Vec<u8>> {
    let mut out = vec![0u8; layout.size];
    let mut filled = false;
    for item in layout.items.iter().filter(|item| item.letter != 'x') {
        if filled || (item.letter != 's' && item.count != 1) {
            return None;
        }
        filled = true;
        let width = width(item.letter, layout.native)?;
        let mut bytes: Vec<u8> = match item.letter {
            's' | 'c' => {
                let bytes = value
                    .as_bytes()
                    .filter(|_| value.kind() == ValueKind::Bytes)
                    .filter(|bytes| item.letter == 's' || bytes.len() == 1)?;
                bytes.iter().copied().chain(std::iter::repeat(0)).take(item.count).collect()
            }
            '?' => vec![u8::from(value.is_true())],
            'f' => (number(value)? as f32).to_le_bytes().to_vec(),
            'd' => number(value)?.to_le_bytes().to_vec(),
            letter => {
                let whole = whole(value)?;
                let bits = u32::try_from(width * 8).ok()?;
                let (low, high) = if letter.is_ascii_lowercase() {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                } else {
                    (0, (1i128 << bits) - 1)
                };
                if !(low..=high).contains(&whole) {
                    return None;
                }
                whole.to_le_bytes().get(..width)?.to_vec()
            }
        };
        if layout.big && item.letter != 's' {
            bytes.reverse();
        }
        out.get_mut(item.at..item.at + bytes.len())?.copy_from_slice(&bytes);
    }
    filled.then_some(out)
}

fn number(value: &Value) -> Option<f64> {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool).then(|| to_float(value)).flatten()
}

/// The first value that `struct.unpack_from` reads; none where there are too few bytes.
fn unpack(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let bytes = value.as_bytes().filter(|_| value.kind() == ValueKind::Bytes);
    let bytes = bytes.ok_or_else(|| invalid("unpack", value))?;
    let offset = p.int_or("offset", 0)?;
    let found = layout(&p.text("format_string")?).and_then(|layout| {
        let start = usize::try_from(offset)
            .ok()
            .or_else(|| bytes.len().checked_add_signed(isize::try_from(offset).ok()?))?;
        let bytes = bytes.get(start..)?.get(..layout.size)?;
        let item = layout.items.iter().find(|item| item.letter != 'x')?;
        unpacked(bytes, item, &layout)
    });
    Ok(found.unwrap_or_else(|| Value::from(())))
}

fn unpacked(bytes: &[u8], item: &Item, layout: &Layout) -> Option<Value> {
    if item.letter == 's' {
        return Some(Value::from_bytes(bytes.get(item.at..item.at + item.count)?.to_vec()));
    }
    let width = width(item.letter, layout.native)?;
    let mut raw = bytes.get(item.at..item.at + width)?.to_vec();
    if layout.big {
        raw.reverse();
    }
    let mut wide = [0u8; 16];
    wide.get_mut(..width)?.copy_from_slice(&raw);
    let whole = u128::from_le_bytes(wide);
    let bits = u32::try_from(width * 8).ok()?;
    Some(match item.letter {
        'c' => Value::from_bytes(raw),
        '?' => (whole != 0).into(),
        'f' => f64::from(f32::from_bits(u32::try_from(whole).ok()?)).into(),
        'd' => f64::from_bits(u64::try_from(whole).ok()?).into(),
        letter if letter.is_ascii_lowercase() => {
            let shift = 128 - bits;
            i64::try_from((whole << shift) as i128 >> shift).ok()?.into()
        }
        _ => u64::try_from(whole).ok()?.into(),
    })
}
