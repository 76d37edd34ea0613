//! Reads a template's tokens before the engine does: how deep it nests, and whether every name that it calls exists.
//!
//! The engine's parser and code generator are recursive. The limits here keep their depth far below what a thread's
//! stack holds, so that no accepted source can overflow it.

use super::CompileError;
use super::registry::Names;

/// Brackets within brackets.
const MAX_BRACKETS: usize = 24;
/// Blocks (`if`, `for`, `macro`…) within blocks.
const MAX_BLOCKS: usize = 48;
/// Operators, filters and lookups in one tag: each may be one level of the syntax tree.
const MAX_LINKS: usize = 256;

/// Checks the source; it says nothing about the grammar.
pub(super) fn check(source: &str, names: &Names) -> Result<(), CompileError> {
    let mut rest = source;
    // Levels that each open block counts for: an `elif` nests in the `if` before it, and ends with it.
    let mut blocks: Vec<usize> = Vec::new();
    while let Some(start) = rest.find('{') {
        let after = rest.get(start + 1..).unwrap_or_default();
        match after.bytes().next() {
            Some(b'#') => {
                let Some(end) = after.find("#}") else {
                    return Err(CompileError::Syntax("a comment is not closed".into()));
                };
                rest = after.get(end + 2..).unwrap_or_default();
            }
            Some(kind @ (b'{' | b'%')) => {
                let inner = after.get(1..).unwrap_or_default();
                let tag = Tag::read(inner, kind, names)?;
                match tag.word {
                    "if" | "for" | "macro" | "call" | "filter" | "with" | "block" | "autoescape" => {
                        blocks.push(1)
                    }
                    "set" if !tag.assigns => blocks.push(1),
                    "elif" | "else" => {
                        if let Some(levels) = blocks.last_mut() {
                            *levels += 1;
                        }
                    }
                    "include" | "import" | "from" | "extends" => {
                        return Err(CompileError::Unknown { what: "statement", name: tag.word.into() });
                    }
                    word if word.starts_with("end") => {
                        blocks.pop();
                    }
                    _ => {}
                }
                if blocks.iter().sum::<usize>() > MAX_BLOCKS {
                    return Err(CompileError::TooDeep("blocks"));
                }
                rest = tag.rest;
            }
            _ => rest = after,
        }
    }
    Ok(())
}

struct Tag<'s> {
    /// The first word, for statements.
    word: &'s str,
    /// Whether a lone `=` occurs: `{% set x = 1 %}` opens no block.
    assigns: bool,
    rest: &'s str,
}

impl<'s> Tag<'s> {
    fn read(inner: &'s str, kind: u8, names: &Names) -> Result<Self, CompileError> {
        let bytes = inner.as_bytes();
        let close = if kind == b'{' { b'}' } else { b'%' };
        let (mut at, mut depth, mut links, mut assigns) = (0usize, 0usize, 0usize, false);
        let mut word = "";
        // The word that decides what the next one is: a filter after `|`, a test after `is`.
        let mut expect: Option<&'static str> = None;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\'' | b'"' => {
                    at = string_end(bytes, at);
                    expect = None;
                    continue;
                }
                _ if byte == close && depth == 0 && bytes.get(at + 1) == Some(&b'}') => {
                    return Ok(Self { word, assigns, rest: inner.get(at + 2..).unwrap_or_default() });
                }
                b'(' | b'[' | b'{' => {
                    depth += 1;
                    links += 1;
                    expect = None;
                    if depth > MAX_BRACKETS {
                        return Err(CompileError::TooDeep("brackets"));
                    }
                }
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'|' => {
                    links += 1;
                    expect = Some("filter");
                }
                b'+' | b'-' | b'*' | b'/' | b'%' | b'~' | b'<' | b'>' | b'!' | b'.' => links += 1,
                b'=' => {
                    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
                    let lone = !matches!(before, Some(b'=' | b'!' | b'<' | b'>'))
                        && bytes.get(at + 1) != Some(&b'=');
                    assigns |= lone && depth == 0;
                    links += 1;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let end = word_end(bytes, at);
                    let found = inner.get(at..end).unwrap_or_default();
                    if word.is_empty() && kind == b'%' {
                        word = found;
                    }
                    match (expect.take(), found) {
                        (Some("filter"), _) => names.check_filter(found)?,
                        (Some(_), "not") => expect = Some("test"),
                        (Some(_), _) => names.check_test(found)?,
                        (None, "is") => {
                            links += 1;
                            expect = Some("test");
                        }
                        (None, "not" | "and" | "or" | "if" | "else" | "in") => links += 1,
                        (None, _) => {}
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            if links > MAX_LINKS {
                return Err(CompileError::TooDeep("operators in one tag"));
            }
            at += 1;
        }
        Err(CompileError::Syntax("a tag is not closed".into()))
    }
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let length = bytes
        .get(at..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    at + length
}

/// The end of the text in quotes that begins at `at`.
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
