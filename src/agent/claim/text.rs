//! A sentence cut into clauses, and where a phrase stands in one. Letters only: what a phrase means is said above.

use super::words;
use crate::nlu::Lexicon;

/// The clauses of a text that say something, lower case, with one space around each word. A question claims nothing.
pub(super) fn clauses(text: &str, lexicon: &Lexicon) -> Vec<String> {
    cut(text, lexicon, true)
}

/// All clauses of a text, those that ask among them.
pub(super) fn parts(text: &str, lexicon: &Lexicon) -> Vec<String> {
    cut(text, lexicon, false)
}

fn cut(text: &str, lexicon: &Lexicon, without_questions: bool) -> Vec<String> {
    let between = |before: Option<char>, after: Option<char>| {
        before.is_some_and(|c| c.is_ascii_digit()) && after.is_some_and(|c| c.is_ascii_digit())
    };
    let mut all = vec![String::new()];
    let characters: Vec<char> = text.chars().collect();
    for (at, character) in characters.iter().enumerate() {
        let neighbours = (at.checked_sub(1).and_then(|at| characters.get(at)), characters.get(at + 1));
        let ends = match character {
            '.' | ',' => !between(neighbours.0.copied(), neighbours.1.copied()),
            '!' | ';' | ':' | '\n' | '。' | '，' | '！' | '；' | '：' | '、' | '–' | '—' | '(' | ')' => {
                true
            }
            '?' | '？' => {
                if without_questions {
                    all.pop();
                }
                true
            }
            _ => false,
        };
        if ends {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push(*character);
        } else {
            all.push(character.to_string());
        }
    }
    let joints: Vec<&str> = lexicon.phrase("and").into_iter().chain(words(lexicon, "claims.but")).collect();
    let mut parts: Vec<String> = all.iter().map(|clause| spaced(clause)).collect();
    let apart = |joint: &String| joint.starts_with(' ') || joint.chars().count() > 1;
    for joint in joints.iter().map(|joint| joint.to_lowercase()).filter(apart) {
        parts = parts.iter().flat_map(|part| part.split(&joint).map(spaced)).collect();
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Lower case, apostrophes alike, words apart by one space, a space at both ends.
pub(super) fn spaced(text: &str) -> String {
    let text = text.to_lowercase().replace(['’', '‘', '`'], "'");
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for word in text.split(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '“' | '”' | '*' | '_' | '¿' | '¡' | '«' | '»')
    }) {
        if !word.is_empty() {
            out.push_str(word);
            out.push(' ');
        }
    }
    out
}

/// Where a phrase begins in a clause: all its parts in this order, with none of `particles` between them ("turned off
/// the light on the porch" turns nothing on).
pub(super) fn position(clause: &str, phrase: &str, particles: &[&str]) -> Option<usize> {
    let mut from = 0;
    let mut first = None;
    for part in phrase.split('…').map(str::trim).filter(|part| !part.is_empty()) {
        let at = find(clause, part, from)?;
        let gap = clause.get(from..at).filter(|_| first.is_some());
        if gap.is_some_and(|gap| particles.iter().any(|particle| holds(gap, particle))) {
            return None;
        }
        first.get_or_insert(at);
        from = at + part.len();
    }
    first
}

/// Whether `part` stands in a clause, as [`find`] looks for it.
pub(super) fn holds(clause: &str, part: &str) -> bool {
    find(clause, part, 0).is_some()
}

/// The first place at or after `from` where `part` stands, as a word of its own where words are apart.
pub(super) fn find(clause: &str, part: &str, from: usize) -> Option<usize> {
    let joins = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() && !is_han(c));
    let (head, tail) = (part.chars().next()?, part.chars().next_back()?);
    let mut from = from;
    loop {
        let at = from + clause.get(from..)?.find(part)?;
        let end = at + part.len();
        let before = clause.get(..at).and_then(|before| before.chars().next_back());
        let after = clause.get(end..).and_then(|after| after.chars().next());
        let goes_on = joins(Some(head)) && joins(before) || joins(Some(tail)) && joins(after);
        if !goes_on {
            return Some(at);
        }
        from = at + head.len_utf8();
    }
}

fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a text begins with a word.
pub(super) fn begins_with(text: &str, word: &str) -> bool {
    // Where words are not apart a question word stands anywhere.
    let anywhere = word.chars().all(is_han);
    find(text, word.trim(), 0).is_some_and(|at| anywhere || at <= 1)
}
