//! Rewrites operators to filters where the engine's own differ from Python's.
//!
//! The engine orders text and numbers instead of raising `TypeError`, its `%` knows numbers only, its `~` writes floats
//! its own way, and its `+` and `-` know no dates. So `a < b` becomes `a|__lt(b)`, and so on. Operands are found by the
//! binding of the operators; everything that binds looser (`and`, `if`, commas…) only separates what is rewritten.
//! A filter for an operator adds no depth of its own: chains stay chains.

use super::guard::string_end;

/// Names after which `+` and `-` may meet dates. Elsewhere the engine's own arithmetic is right, and faster.
const DATES: &[&str] =
    &["now", "timedelta", "as_datetime", "as_local", "strptime", "today_at", "as_timedelta", "fromisoformat"];

/// Words that end an operand and bind looser than every operator here.
const LOOSE: &[&str] = &["and", "or", "not", "if", "else", "in", "recursive"];

/// A piece of a tag at one level of brackets.
#[derive(Debug, Clone)]
enum Piece {
    /// White space; kept where nothing is rewritten.
    Space(String),
    /// A name, number, text, or a bracket with what is in it.
    Operand(String),
    /// A symbol: `.`, `|`, an operator…
    Symbol(&'static str),
    /// What separates expressions.
    Loose(String),
}

/// Names and numbers of a source. `unknown` has no `now` in it.
fn words(source: &str) -> impl Iterator<Item = &str> {
    source.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The rewritten source, or `None` where it stays as it is.
pub(super) fn operators(source: &str) -> Option<String> {
    let dates = words(source).any(|word| DATES.contains(&word));
    let mut out = String::with_capacity(source.len() + 32);
    let mut rest = source;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let kind = from.as_bytes().get(1).copied();
        rest = match kind {
            Some(b'#') => {
                let end = from.find("#}").map_or(from.len(), |end| end + 2);
                copy(&mut out, from, end)
            }
            Some(b'{' | b'%') => {
                let mut reader = Reader { text: from, at: 2, dates };
                if matches!(from.as_bytes().get(2), Some(b'-' | b'+')) {
                    reader.at = 3;
                }
                let start = reader.at;
                let close = if kind == Some(b'{') { "}}" } else { "%}" };
                let pieces = reader.level(Some(close))?;
                out.push_str(from.get(..start)?);
                out.push_str(&level(&pieces, dates));
                let tag = from.get(start..reader.at)?.trim_start();
                let after = from.get(reader.at..)?;
                if kind == Some(b'%') && first_word(tag) == "raw" {
                    let end = after.find("endraw").unwrap_or(after.len());
                    copy(&mut out, after, end)
                } else {
                    after
                }
            }
            _ => copy(&mut out, from, 1),
        };
    }
    out.push_str(rest);
    (out != source).then_some(out)
}

fn copy<'s>(out: &mut String, text: &'s str, end: usize) -> &'s str {
    let (head, tail) = text.split_at_checked(end).unwrap_or((text, ""));
    out.push_str(head);
    tail
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

struct Reader<'s> {
    text: &'s str,
    at: usize,
    dates: bool,
}

const SYMBOLS: &[&str] =
    &["==", "!=", "<=", ">=", "//", "**", "<", ">", "+", "-", "*", "/", "%", "~", ".", "|"];

impl Reader<'_> {
    /// Reads up to the end of a tag (`close`, taken as the last piece) or of a bracket.
    fn level(&mut self, close: Option<&str>) -> Option<Vec<Piece>> {
        let bytes = self.text.as_bytes();
        let mut pieces = Vec::new();
        loop {
            let rest = self.text.get(self.at..)?;
            if let Some(close) = close {
                let mark = rest.strip_prefix(['-', '+']).filter(|after| after.starts_with(close));
                if mark.is_some() || rest.starts_with(close) {
                    let end = close.len() + usize::from(mark.is_some());
                    pieces.push(Piece::Loose(rest.get(..end)?.to_owned()));
                    self.at += end;
                    return Some(pieces);
                }
            }
            let byte = *bytes.get(self.at)?;
            let end = match byte {
                b'\'' | b'"' => string_end(bytes, self.at),
                b'(' | b'[' | b'{' => {
                    self.at += 1;
                    let inner = self.level(None)?;
                    let text = format!("{}{}", char::from(byte), level(&inner, self.dates));
                    pieces.push(Piece::Operand(text));
                    continue;
                }
                b')' | b']' | b'}' if close.is_none() => {
                    pieces.push(Piece::Loose(char::from(byte).to_string()));
                    self.at += 1;
                    return Some(pieces);
                }
                _ if byte.is_ascii_whitespace() => self.span(|b| b.is_ascii_whitespace()),
                b'0'..=b'9' => self.number(),
                _ if byte == b'_' || byte.is_ascii_alphabetic() || !byte.is_ascii() => {
                    self.span(|b| b == b'_' || b.is_ascii_alphanumeric() || !b.is_ascii())
                }
                _ => {
                    let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
                    pieces.push(match symbol {
                        Some(symbol) => Piece::Symbol(symbol),
                        None => Piece::Loose(rest.get(..1)?.to_owned()),
                    });
                    self.at += symbol.map_or(1, |symbol| symbol.len());
                    continue;
                }
            };
            let text = self.text.get(self.at..end)?.to_owned();
            self.at = end;
            pieces.push(self.word(text, &pieces));
        }
    }

    /// Whether a word is an operand or separates operands: `is in`, `.in` and `|in` are names.
    fn word(&self, text: String, before: &[Piece]) -> Piece {
        if text.trim().is_empty() {
            return Piece::Space(text);
        }
        let last = before.iter().rev().find(|piece| !matches!(piece, Piece::Space(_)));
        let named = match last {
            Some(Piece::Symbol(symbol)) => matches!(*symbol, "." | "|"),
            Some(Piece::Operand(word)) => word == "is" || (word == "not" && text == "in"),
            _ => false,
        };
        if LOOSE.contains(&text.as_str()) && !named { Piece::Loose(text) } else { Piece::Operand(text) }
    }

    fn span(&self, of: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at + rest.iter().take_while(|byte| of(**byte)).count()
    }

    /// Digits with fraction and exponent: `1e-5` has no operator in it.
    fn number(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(byte) = bytes.get(at) {
            let sign = matches!(byte, b'+' | b'-')
                && matches!(at.checked_sub(1).and_then(|at| bytes.get(at)), Some(b'e' | b'E'))
                && !self.text.get(self.at..at).is_some_and(|digits| digits.starts_with("0x"));
            let fraction = *byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            if !(byte.is_ascii_alphanumeric() || *byte == b'_' || sign || fraction) {
                break;
            }
            at += 1;
        }
        at
    }
}

/// One level of brackets, with its operators rewritten.
fn level(pieces: &[Piece], dates: bool) -> String {
    let mut out = String::new();
    for run in pieces.split_inclusive(|piece| matches!(piece, Piece::Loose(_))) {
        let (run, end) = match run.split_last() {
            Some((Piece::Loose(end), run)) => (run, end.as_str()),
            _ => (run, ""),
        };
        let space = |piece: &Piece| matches!(piece, Piece::Space(_));
        let start = run.iter().take_while(|piece| space(piece)).count();
        let stop = run.iter().rposition(|piece| !space(piece)).map_or(start, |last| last + 1);
        out.push_str(&plain(run.get(..start).unwrap_or_default()));
        // `{% set x %}`, `{% if a %}`: the word of a statement stands before its first operand.
        let core = run.get(start..stop).unwrap_or_default();
        let statement = core.iter().take(2).filter(|piece| !space(piece)).count() == 1
            && matches!(core.first(), Some(Piece::Operand(word)) if STATEMENTS.contains(&word.as_str()));
        let (head, core) =
            core.split_at_checked(if statement { core.len().min(2) } else { 0 }).unwrap_or((core, &[]));
        out.push_str(&plain(head));
        out.push_str(&run_of(core, dates).0);
        out.push_str(&plain(run.get(stop.max(start)..).unwrap_or_default()));
        out.push_str(end);
    }
    out
}

const STATEMENTS: &[&str] = &["elif", "set", "for", "do", "with", "macro", "call", "filter"];

fn plain(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Space(text) | Piece::Operand(text) | Piece::Loose(text) => out.push_str(text),
            Piece::Symbol(symbol) => out.push_str(symbol),
        }
    }
    out
}

/// The operands and operators of one level of binding. A sign in front of an operand is no operator.
fn split<'p>(pieces: &'p [Piece], of: &[&str]) -> (Vec<&'p [Piece]>, Vec<&'static str>) {
    let (mut operands, mut symbols) = (Vec::new(), Vec::new());
    let (mut start, mut after_operand) = (0, false);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Space(_) => {}
            Piece::Operand(_) | Piece::Loose(_) => after_operand = true,
            Piece::Symbol(symbol) => {
                if after_operand && of.contains(symbol) {
                    operands.push(pieces.get(start..at).unwrap_or_default());
                    symbols.push(*symbol);
                    start = at + 1;
                }
                after_operand = false;
            }
        }
    }
    operands.push(pieces.get(start..).unwrap_or_default());
    (operands, symbols)
}

/// Text of an expression, and whether a filter may follow it as it is.
type Emitted = (String, bool);

fn closed((text, tight): Emitted) -> String {
    if tight { text.trim().to_owned() } else { format!("({})", text.trim()) }
}

fn run_of(pieces: &[Piece], dates: bool) -> Emitted {
    let (operands, symbols) = split(pieces, &["==", "!=", "<", "<=", ">", ">="]);
    let ordered = |symbol: &&str| matches!(*symbol, "<" | "<=" | ">" | ">=");
    if symbols.is_empty() {
        return sum(pieces, dates);
    }
    let operands: Vec<Emitted> = operands.into_iter().map(|operand| sum(operand, dates)).collect();
    if !symbols.iter().any(ordered) {
        let mut out = String::new();
        for (at, (text, _)) in operands.iter().enumerate() {
            out.push_str(text);
            out.push_str(symbols.get(at).copied().unwrap_or_default());
        }
        return (out, false);
    }
    let mut operands = operands.into_iter();
    let Some(first) = operands.next() else { return (plain(pieces), false) };
    if let ([symbol], Some((other, _))) = (symbols.as_slice(), operands.as_slice().first()) {
        let name = match *symbol {
            "<" => "__lt",
            "<=" => "__le",
            ">" => "__gt",
            _ => "__ge",
        };
        return (format!("{}|{name}({})", closed(first), other.trim()), true);
    }
    // `a < b < c` is `a < b and b < c`, but each operand is written once: written twice at each level of brackets, it
    // would double what stands in the innermost ones level by level.
    let links: Vec<String> =
        operands.zip(symbols).map(|((text, _), symbol)| format!("{symbol:?}, {}", text.trim())).collect();
    (format!("{}|__chain({})", closed(first), links.join(", ")), true)
}

fn sum(pieces: &[Piece], dates: bool) -> Emitted {
    let (operands, symbols) = split(pieces, &["+", "-"]);
    if symbols.is_empty() {
        return concat(pieces);
    }
    let mut operands = operands.into_iter().map(concat);
    let Some(first) = operands.next() else { return (plain(pieces), false) };
    if !dates {
        let text = operands.zip(symbols).fold(first.0, |out, ((text, _), symbol)| out + symbol + &text);
        return (text, false);
    }
    let text = operands.zip(symbols).fold(closed(first), |out, (operand, symbol)| {
        let name = if symbol == "+" { "__add" } else { "__sub" };
        format!("{out}|{name}({})", operand.0.trim())
    });
    (text, true)
}

fn concat(pieces: &[Piece]) -> Emitted {
    let (operands, symbols) = split(pieces, &["~"]);
    if symbols.is_empty() {
        return product(pieces);
    }
    let parts: Vec<String> =
        operands.into_iter().map(|part| format!("{}|__text", closed(product(part)))).collect();
    (parts.join(" ~ "), false)
}

fn product(pieces: &[Piece]) -> Emitted {
    let (operands, symbols) = split(pieces, &["*", "/", "//", "%"]);
    let mut operands = operands.into_iter().map(power);
    let Some(mut out) = operands.next() else { return (plain(pieces), false) };
    for (operand, symbol) in operands.zip(symbols) {
        out = match symbol {
            "%" => (format!("{}|__percent({})", closed(out), operand.0.trim()), true),
            _ => (format!("{}{symbol}{}", out.0, operand.0), false),
        };
    }
    out
}

fn power(pieces: &[Piece]) -> Emitted {
    let mut core = pieces;
    while let Some((Piece::Space(_), rest)) = core.split_first() {
        core = rest;
    }
    // The engine has no unary plus; numbers do not need it.
    if let Some((Piece::Symbol("+"), rest)) = core.split_first() {
        return (format!("(0 +{})", plain(rest)), true);
    }
    let loose = |piece: &Piece| match piece {
        Piece::Symbol(symbol) => matches!(*symbol, "**" | "-"),
        // The argument of a test would take the filter.
        Piece::Operand(word) => word == "is",
        Piece::Space(_) | Piece::Loose(_) => false,
    };
    let tight = !core.iter().any(loose);
    (plain(pieces), tight)
}
