//! Sentence templates for commands that hold free text: lists, announcements, media.
//!
//! A template is literal words, `(a|b c)` for alternatives, `[a|b]` for optional ones, and slots `{item}`. The free
//! slots take any words; `{list}`, `{player}` are read by the caller's function.

use super::lexicon::Lexicon;
use super::text::{Kind, Token};

/// What a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    ListAdd,
    ListComplete,
    ListRemove,
    ListRead,
    Broadcast,
    Play,
    ScheduleList,
    ScheduleCancel,
    ScheduleCancelAll,
}

/// Slots of templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Item,
    List,
    Message,
    Media,
    Player,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Word(String),
    Either(Vec<Vec<String>>),
    Maybe(Vec<Vec<String>>),
    Slot(Slot),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub purpose: Purpose,
    parts: Vec<Part>,
}

/// The token ranges of the slots of a match.
pub type Slots = Vec<(Slot, usize, usize)>;

impl Template {
    /// Reads one line of a data file; `None` where it is malformed.
    pub fn read(purpose: &str, line: &str, lexicon: &Lexicon) -> Option<Self> {
        let purpose = match purpose {
            "list_add" => Purpose::ListAdd,
            "list_complete" => Purpose::ListComplete,
            "list_remove" => Purpose::ListRemove,
            "list_read" => Purpose::ListRead,
            "schedule_list" => Purpose::ScheduleList,
            "schedule_cancel" => Purpose::ScheduleCancel,
            "schedule_cancel_all" => Purpose::ScheduleCancelAll,
            "broadcast" => Purpose::Broadcast,
            "play" => Purpose::Play,
            _ => return None,
        };
        let mut parts = Vec::new();
        let mut rest = line.trim();
        while let Some(first) = rest.chars().next() {
            let close = match first {
                '(' => ')',
                '[' => ']',
                '{' => '}',
                _ => {
                    let end = rest.find(['(', '[', '{']).unwrap_or(rest.len());
                    let (words, after) = rest.split_at(end);
                    parts.extend(lexicon.keys(words).into_iter().map(Part::Word));
                    rest = after.trim_start();
                    continue;
                }
            };
            let (inside, after) = rest.get(1..)?.split_once(close)?;
            let alternatives = || inside.split('|').map(|words| lexicon.keys(words)).collect();
            parts.push(match first {
                '(' => Part::Either(alternatives()),
                '[' => Part::Maybe(alternatives()),
                _ => Part::Slot(match inside {
                    "item" => Slot::Item,
                    "list" => Slot::List,
                    "message" => Slot::Message,
                    "media" => Slot::Media,
                    "player" => Slot::Player,
                    _ => return None,
                }),
            });
            rest = after.trim_start();
        }
        Some(Self { purpose, parts })
    }

    /// Whether anything at all may stand at its beginning.
    pub fn begins_free(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Slot(Slot::Item | Slot::Message | Slot::Media)))
    }

    /// Matches all of `tokens`. `accepts` says whether a range can fill a slot that is not free text.
    pub fn matches(&self, tokens: &[Token], accepts: &dyn Fn(Slot, usize, usize) -> bool) -> Option<Slots> {
        let mut slots = Slots::new();
        let mut budget = 4_000u32;
        fits(&self.parts, tokens, 0, accepts, &mut slots, &mut budget).then_some(slots)
    }
}

fn fits(
    parts: &[Part],
    tokens: &[Token],
    at: usize,
    accepts: &dyn Fn(Slot, usize, usize) -> bool,
    slots: &mut Slots,
    budget: &mut u32,
) -> bool {
    let Some(left) = budget.checked_sub(1) else { return false };
    *budget = left;
    let Some((part, rest)) = parts.split_first() else { return at == tokens.len() };
    // "We're out of oil, add it …": a mark before a literal word says nothing.
    let literal = matches!(part, Part::Word(_) | Part::Either(_));
    let at =
        if literal && tokens.get(at).is_some_and(|token| token.kind == Kind::Mark) { at + 1 } else { at };
    match part {
        Part::Word(word) => {
            tokens.get(at).is_some_and(|token| token.key == *word)
                && fits(rest, tokens, at + 1, accepts, slots, budget)
        }
        Part::Either(alternatives) => alternatives.iter().any(|words| {
            begins(tokens, at, words) && fits(rest, tokens, at + words.len(), accepts, slots, budget)
        }),
        Part::Maybe(alternatives) => {
            alternatives.iter().any(|words| {
                begins(tokens, at, words) && fits(rest, tokens, at + words.len(), accepts, slots, budget)
            }) || fits(rest, tokens, at, accepts, slots, budget)
        }
        Part::Slot(slot) => (at + 1..=tokens.len()).any(|step| {
            // Of a player or a list as much as it can be ("the soundbar in the living room"), of free text the least.
            let end = match slot {
                Slot::Player | Slot::List => at + 1 + tokens.len() - step,
                Slot::Item | Slot::Message | Slot::Media => step,
            };
            if !accepts(*slot, at, end) {
                return false;
            }
            slots.push((*slot, at, end));
            let fit = fits(rest, tokens, end, accepts, slots, budget);
            if !fit {
                slots.pop();
            }
            fit
        }),
    }
}

fn begins(tokens: &[Token], at: usize, words: &[String]) -> bool {
    words
        .iter()
        .enumerate()
        .all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token.key == *word))
}
