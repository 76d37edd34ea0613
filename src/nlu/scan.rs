//! Cuts a row of spans into clauses.
//!
//! `nouns` builds noun phrases, `senses` chooses among the meanings of a word, `words` does what a word does to its
//! clause.

mod nouns;
mod senses;
mod words;

use super::clause::{Clause, Np, Role};
use super::index::HouseIndex;
use super::lattice::Span;
use super::lexicon::Lexicon;
use super::text::Token;
use super::vocabulary::Word;

/// Cuts `row` into clauses. `asking` says that the sentence is a question, where "open" is a state and no verb.
pub fn clauses(
    row: &[Span],
    tokens: &[Token],
    index: &HouseIndex,
    lexicon: &Lexicon,
    asking: bool,
) -> Vec<Clause> {
    let mut scanner = Scanner {
        row,
        tokens,
        index,
        lexicon,
        han: lexicon.han_numbers,
        asking,
        done: Vec::new(),
        clause: Clause::default(),
        np: None,
        linked: false,
        excepting: false,
        joined: false,
    };
    for position in 0..row.len() {
        scanner.step(position);
    }
    scanner.close_clause(false);
    merged(scanner.done)
}

/// A clause and whether a strong break ("then", a full stop) stands after it.
type Cut = (Clause, bool);

/// Joins clauses that say nothing by themselves to the ones beside them, and puts corrections in place.
fn merged(cuts: Vec<Cut>) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut waiting: Option<Clause> = None;
    let mut last_strong = false;
    let mut correcting = false;
    for (mut clause, strong) in cuts {
        if clause.only_corrects() {
            correcting = !clauses.is_empty();
            continue;
        }
        let corrects = std::mem::take(&mut correcting) || clause.word(Word::Correction);
        clause.words.retain(|word| *word != Word::Correction);
        let complete = clause.has_predicate() || clause.role != Role::Main;
        if corrects && let Some(last) = clauses.last_mut() {
            match complete {
                false => last.correct(clause),
                // "Turn on the lamp, no, turn on the fan": what was said before is not meant.
                true if clause.nps.is_empty() => clauses.push(clause),
                true => *last = clause,
            }
            last_strong = strong;
            continue;
        }
        match (complete, clauses.last_mut()) {
            (true, _) => {
                if clause.role == Role::Main
                    && let Some(before) = waiting.take()
                {
                    clause.prepend(before);
                }
                clauses.push(clause);
            }
            (false, Some(last)) if !last_strong && waiting.is_none() && last.role == Role::Main => {
                last.absorb(clause);
            }
            (false, _) => match &mut waiting {
                Some(before) => before.absorb(clause),
                None => waiting = Some(clause),
            },
        }
        last_strong = strong;
    }
    if let Some(rest) = waiting {
        match clauses.last_mut() {
            Some(last) if last.role == Role::Main => last.absorb(rest),
            Some(_) | None => clauses.push(rest),
        }
    }
    clauses
}

struct Scanner<'a> {
    row: &'a [Span],
    tokens: &'a [Token],
    index: &'a HouseIndex,
    lexicon: &'a Lexicon,
    han: bool,
    asking: bool,
    done: Vec<Cut>,
    clause: Clause,
    np: Option<Np>,
    /// A word like "in" or 的 stands before: the next noun belongs to the open phrase.
    linked: bool,
    excepting: bool,
    joined: bool,
}

impl Scanner<'_> {
    fn step(&mut self, position: usize) {
        let Some(span) = self.row.get(position) else { return };
        if self.clause.is_empty() && self.np.is_none() {
            self.clause.start = span.start;
        }
        self.clause.end = span.end;
        if span.is_mark() {
            self.mark(span);
        } else if let Some(time) = span.time() {
            self.close_np();
            self.clause.times.push(time);
        } else if let Some(noun) = self.as_noun(span, position) {
            self.noun(noun, span);
        } else if let Some(value) = span.value() {
            self.close_np();
            self.clause.values.push(value);
        } else if span.is_unknown() {
            self.unknown(span);
        } else {
            self.sense(span, position);
        }
    }

    fn text(&self, span: &Span) -> String {
        super::text::joined(self.tokens.get(span.start..span.end).unwrap_or(&[]))
    }

    fn mark(&mut self, span: &Span) {
        let text = self.text(span);
        match text.as_str() {
            "," | "、" | "，" | "-" | "–" | "—" | "/" | "(" | ")" | "\"" | ":" => {
                self.separate(false);
                if self.han {
                    self.excepting = false;
                }
            }
            "." | ";" | "!" | "。" | "；" | "?" => {
                if text == "?" {
                    self.clause.words.push(Word::Asks);
                }
                self.separate(true);
            }
            _ => {}
        }
    }

    /// Ends the clause; whether it stands alone is decided when all are known.
    fn separate(&mut self, strong: bool) {
        let excepting = self.excepting && !strong;
        self.close_clause(strong);
        self.excepting = excepting;
        self.joined = true;
    }

    fn close_clause(&mut self, strong: bool) {
        self.close_np();
        let clause = std::mem::take(&mut self.clause);
        if clause.is_empty() {
            if strong && let Some(last) = self.done.last_mut() {
                last.1 = true;
            }
        } else {
            self.done.push((clause, strong));
        }
        self.linked = false;
        self.excepting = false;
        self.joined = false;
    }

    fn close_np(&mut self) {
        self.linked = false;
        let Some(np) = self.np.take() else { return };
        if self.excepting {
            self.clause.except.push(np);
        } else {
            if self.clause.nps.is_empty() && self.clause.preds.is_empty() && self.clause.states.is_empty() {
                self.clause.np_first = true;
            }
            self.clause.nps.push(np);
        }
    }

    fn unknown(&mut self, span: &Span) {
        let text = self.text(span);
        match &mut self.np {
            Some(np) => np.unknown.push(text),
            None => {
                // It may begin a noun phrase ("the sauna lights"): the phrase takes it if one follows at once.
                let mut np = Np { start: span.start, ..Np::default() };
                np.unknown.push(text);
                self.np = Some(np);
            }
        }
    }
}
