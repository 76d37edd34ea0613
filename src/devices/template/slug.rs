//! `slugify`: words of lower-case ASCII letters, in every script that Home Assistant's own makes readable.

use pinyin::ToPinyin;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The Cyrillic letters from U+0430 on, as the Latin ones that stand for them.
const CYRILLIC: [&str; 32] = [
    "a", "b", "v", "g", "d", "e", "zh", "z", "i", "i", "k", "l", "m", "n", "o", "p", "r", "s", "t", "u", "f",
    "kh", "ts", "ch", "sh", "shch", "", "y", "", "e", "iu", "ia",
];

/// Letters that have no parts to take them from.
fn latin(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' => "ss",
        'ø' | 'Ø' => "o",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ı' => "i",
        '°' => "deg",
        'µ' | 'μ' => "m",
        '’' | '‘' => "'",
        _ => return None,
    })
}

fn cyrillic(character: char) -> Option<&'static str> {
    let lower = character.to_lowercase().next()?;
    if lower == 'ё' {
        return Some("io");
    }
    let at = u32::from(lower).checked_sub(0x430)?;
    CYRILLIC.get(usize::try_from(at).ok()?).copied()
}

pub(super) fn slug(text: &str, separator: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut words: Vec<String> = vec![String::new()];
    let mut push = |piece: &str| {
        for character in piece.chars().filter(|c| !is_combining_mark(*c)) {
            match words.last_mut() {
                Some(word) if character.is_ascii_alphanumeric() => word.push(character.to_ascii_lowercase()),
                Some(word) if !word.is_empty() => words.push(String::new()),
                _ => {}
            }
        }
    };
    for character in text.chars() {
        if let Some(letters) = latin(character).or_else(|| cyrillic(character)) {
            push(letters);
        } else if let Some(pinyin) = character.to_pinyin() {
            push(pinyin.plain());
            push(" ");
        } else {
            push(&std::iter::once(character).nfkd().collect::<String>());
        }
    }
    words.retain(|word| !word.is_empty());
    if words.is_empty() { "unknown".into() } else { words.join(separator) }
}
