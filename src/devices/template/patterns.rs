//! Regular expressions, with Python's rules for what is found and replaced.
//!
//! `regex` runs them in linear time. What it has not (look-around, back-references) runs in `fancy-regex`, whose steps
//! are limited.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use minijinja::value::{Tuple, Value};
use minijinja::{Error, ErrorKind};
use regex::RegexBuilder;

use super::params::{BYTES_A_STEP, Params, invalid, work};
use super::registry::{Entry, entry};
use super::{MAX_OUTPUT, display};

pub(super) const TABLE: &[Entry] = &[
    entry("regex_match", &["value", "find", "ignorecase"], |p| search(p, true)),
    entry("regex_search", &["value", "find", "ignorecase"], |p| search(p, false)),
    entry("regex_replace", &["value", "find", "replace", "ignorecase"], replace),
    entry("regex_findall", &["value", "find", "ignorecase"], |p| find_all(p).map(Value::from)),
    entry("regex_findall_index", &["value", "find", "index", "ignorecase"], find_all_index),
];

const MAX_COMPILED: usize = 256 * 1024;
/// Steps that a pattern with look-around or back-references may take over one text.
const MAX_STEPS: usize = 10_000;
/// Longest pattern with look-around or back-references.
const MAX_BACKTRACKING: usize = 1024;
/// Matches that are collected.
const MAX_MATCHES: usize = 4096;
/// What one rendering may spend on patterns: the engine's fuel does not see how long they take.
const BUDGET: u32 = 512;
const COMPILING: u32 = 1;
const BACKTRACKING: u32 = 4;
/// Memory that a pattern may use to run faster, in bytes.
const MAX_TABLES: usize = 256 * 1024;
/// Compiled patterns that are kept: a template needs the same few for every message.
const MAX_KEPT: usize = 32;

thread_local! {
    static SPENT: Cell<u32> = const { Cell::new(0) };
    /// By source and whether case matters.
    static KEPT: RefCell<HashMap<(String, bool), Rc<Pattern>>> = RefCell::new(HashMap::new());
}

/// A rendering begins.
pub(super) fn refill() {
    SPENT.set(0);
}

fn spend(cost: u32) -> Result<(), Error> {
    SPENT.set(SPENT.get().saturating_add(cost));
    if SPENT.get() > BUDGET { Err(ErrorKind::OutOfFuel.into()) } else { Ok(()) }
}

enum Pattern {
    Linear(regex::Regex),
    Backtracking(fancy_regex::Regex),
}

/// The spans of a match and its groups.
type Groups = Vec<Option<(usize, usize)>>;

impl Pattern {
    /// The pattern, compiled now or for an earlier message. Both cost the same, so that what a rendering may do does
    /// not depend on what ran before.
    fn of(find: &str, ignore_case: bool) -> Result<Rc<Self>, Error> {
        spend(COMPILING)?;
        let key = (find.to_owned(), ignore_case);
        if let Some(kept) = KEPT.with_borrow(|kept| kept.get(&key).cloned()) {
            return Ok(kept);
        }
        let new = Rc::new(Self::compile(find, ignore_case)?);
        KEPT.with_borrow_mut(|kept| {
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            kept.insert(key, new.clone());
        });
        Ok(new)
    }

    fn compile(find: &str, ignore_case: bool) -> Result<Self, Error> {
        let mut linear = RegexBuilder::new(find);
        linear.case_insensitive(ignore_case).size_limit(MAX_COMPILED).dfa_size_limit(MAX_TABLES);
        let linear = linear.build();
        if let Ok(linear) = linear {
            return Ok(Self::Linear(linear));
        }
        if find.len() > MAX_BACKTRACKING {
            return Err(invalid("regular expression", &Value::from(find)));
        }
        fancy_regex::RegexBuilder::new(find)
            .case_insensitive(ignore_case)
            .delegate_size_limit(MAX_COMPILED)
            .backtrack_limit(MAX_STEPS)
            .build()
            .map(Self::Backtracking)
            .map_err(|_| invalid("regular expression", &Value::from(find)))
    }

    /// The first match from `start` on.
    fn at(&self, text: &str, start: usize) -> Result<Option<Groups>, Error> {
        match self {
            Self::Linear(pattern) => Ok(pattern.captures_at(text, start).map(|found| {
                found.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect()
            })),
            Self::Backtracking(pattern) => {
                spend(BACKTRACKING)?;
                let found = pattern
                    .captures_from_pos(text, start)
                    .map_err(|_| invalid("regular expression, which takes too long,", &Value::from(text)))?;
                Ok(found.map(|found| {
                    found.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect()
                }))
            }
        }
    }

    /// The number of a named group.
    fn group(&self, name: &str) -> Option<usize> {
        name.parse().ok().or_else(|| match self {
            Self::Linear(pattern) => pattern.capture_names().position(|known| known == Some(name)),
            Self::Backtracking(pattern) => pattern.capture_names().position(|known| known == Some(name)),
        })
    }

    /// All matches, one after another.
    fn all(&self, text: &str) -> Result<Vec<Groups>, Error> {
        let mut found = Vec::new();
        let mut at = 0;
        while at <= text.len() && found.len() < MAX_MATCHES {
            // Each search may read up to the end, whatever it finds.
            work((text.len() - at) / BYTES_A_STEP / 4)?;
            let Some(groups) = self.at(text, at)? else { break };
            let Some(Some((start, end))) = groups.first().copied() else { break };
            found.push(groups);
            at = end;
            if start == end {
                // An empty match: go on behind the next character.
                let next = text.get(end..).and_then(|rest| rest.chars().next());
                at += next.map_or(1, char::len_utf8);
            }
        }
        Ok(found)
    }
}

/// Whether `find` occurs, anywhere or at the start.
pub(super) fn find(text: &str, find: &str, ignore_case: bool, at_start: bool) -> Result<bool, Error> {
    let source = if at_start { format!(r"\A(?:{find})") } else { find.to_owned() };
    Ok(Pattern::of(&source, ignore_case)?.at(text, 0)?.is_some())
}

fn search(p: &Params, at_start: bool) -> Result<Value, Error> {
    let pattern = p.text_or("find", "");
    find(&p.text("value")?, &pattern, p.flag("ignorecase", false), at_start).map(Value::from)
}

fn part(text: &str, span: Option<(usize, usize)>) -> &str {
    span.and_then(|(start, end)| text.get(start..end)).unwrap_or_default()
}

fn replace(p: &Params) -> Result<Value, Error> {
    let text = p.text("value")?;
    let pattern = Pattern::of(&p.text_or("find", ""), p.flag("ignorecase", false))?;
    let with = p.text_or("replace", "");
    let mut out = String::new();
    let mut done = 0;
    for groups in pattern.all(&text)? {
        let Some(Some((start, end))) = groups.first().copied() else { break };
        out.push_str(text.get(done..start).unwrap_or_default());
        expand(&with, &text, &groups, &pattern, &mut out)?;
        done = end;
        if out.len() > MAX_OUTPUT {
            return Err(invalid("regex_replace, whose result is too long,", &Value::from(text)));
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out.into())
}

/// Writes a replacement: `\1`, `\g<1>` and `\g<name>` are groups.
fn expand(with: &str, text: &str, groups: &Groups, pattern: &Pattern, out: &mut String) -> Result<(), Error> {
    let mut rest = with.chars().peekable();
    while let Some(character) = rest.next() {
        let escaped = if character == '\\' { rest.next() } else { None };
        let group = match escaped {
            None => {
                out.push(character);
                continue;
            }
            Some(digit) if digit.is_ascii_digit() => {
                let mut number = digit.to_string();
                if let Some(next) = rest.next_if(char::is_ascii_digit) {
                    number.push(next);
                }
                number.parse().ok()
            }
            Some('g') if rest.next_if_eq(&'<').is_some() => {
                let name: String = rest.by_ref().take_while(|c| *c != '>').collect();
                pattern.group(&name)
            }
            Some('n') => {
                out.push('\n');
                continue;
            }
            Some('t') => {
                out.push('\t');
                continue;
            }
            Some('r') => {
                out.push('\r');
                continue;
            }
            Some('\\') => {
                out.push('\\');
                continue;
            }
            Some(letter) if letter.is_ascii_alphabetic() => None,
            Some(other) => {
                out.extend(['\\', other]);
                continue;
            }
        };
        let span = group
            .and_then(|at| groups.get(at))
            .ok_or_else(|| invalid("regex_replace", &Value::from(with)))?;
        out.push_str(part(text, *span));
    }
    Ok(())
}

/// Python's `re.findall`: whole matches, the one group, or a tuple of groups.
fn find_all(p: &Params) -> Result<Vec<Value>, Error> {
    let text = p.text("value")?;
    let pattern = Pattern::of(&p.text_or("find", ""), p.flag("ignorecase", false))?;
    let found = pattern.all(&text)?;
    Ok(found
        .iter()
        .map(|groups| match groups.as_slice() {
            [one] | [_, one] => Value::from(part(&text, *one)),
            [_, groups @ ..] => {
                Value::from(Tuple::new(groups.iter().map(|group| part(&text, *group).into()).collect()))
            }
            [] => Value::from(""),
        })
        .collect())
}

fn find_all_index(p: &Params) -> Result<Value, Error> {
    let found = find_all(p)?;
    let index = p.int_or("index", 0)?;
    let at = if index < 0 { index + i64::try_from(found.len()).unwrap_or(0) } else { index };
    usize::try_from(at).ok().and_then(|at| found.get(at).cloned()).ok_or_else(|| {
        invalid(
            "regex_findall_index",
            &Value::from(display::text(p.given("value").unwrap_or(&Value::UNDEFINED))),
        )
    })
}
