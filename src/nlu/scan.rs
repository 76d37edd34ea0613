//! Cuts a row of spans into clauses.
//!
//! `nouns` builds noun phrases, `senses` chooses among the meanings of a word, `such` tells
//! which things are meant, `words` does what a word does to its clause, `merge` joins what says nothing by itself.

mod merge;
mod nouns;
mod senses;
mod such;
mod words;

use self::merge::{Cut, merged};
use super::clause::{Clause, Np};
use super::index::HouseIndex;
use super::lattice::Span;
use super::lexicon::{Lexicon, Sense};
use super::number::Value;
use super::text::Token;
use super::time::Time;
use super::vocabulary::{Attribute, Pred, StateWord, Word};

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
        such: None,
        linked: false,
        excepting: false,
        joined: false,
    };
    for position in 0..row.len() {
        scanner.step(position);
    }
    scanner.close_clause(Break::None);
    merged(scanner.done)
}

/// What stands after a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Break {
    /// The verb of the next one, and nothing between.
    #[default]
    None,
    Comma,
    And,
    /// "Then", a full stop.
    Strong,
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
    /// How the things of the phrase that follows must be.
    such: Option<StateWord>,
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
        self.clause.now |= span.word(Word::Now);
        self.speaker(span);
        // 换到五台 is no volume.
        let before = position.checked_sub(1).and_then(|before| self.row.get(before));
        if span.word(Word::Channel)
            && !self.clause.preds.is_empty()
            && before.is_some_and(|span| span.value().is_some())
        {
            self.clause.attributes.push(Attribute::Source);
        }
        if span.is_mark() {
            self.mark(span);
        } else if self.such(span, position) {
            // The phrase has it now.
        } else if let Some(time) = span.time().filter(|_| !self.is_little(span)) {
            // 开吊扇到十点, "jusqu'à dix heures"
            let until =
                before.is_some_and(|span| span.word(Word::Until) || (self.han && span.word(Word::To)));
            if until && matches!(time, Time::Clock(_)) {
                self.clause.words.push(Word::Until);
            }
            self.time(time, span);
        } else if let Some(noun) = self.as_noun(span, position) {
            self.noun(noun, span);
        } else if let Some(value) = span.value() {
            self.close_np();
            match value {
                Value::Number(_) if self.is_delay(position) => {
                    self.clause.times.push(Time::Range { bare: false, to: 0 });
                }
                value => {
                    // "Three more degrees"
                    let before = before.is_some_and(|span| span.word(Word::More));
                    if !self.han && (before || self.has_inside(span, Word::More)) {
                        self.clause.words.push(Word::More);
                    }
                    self.clause.values.push(value);
                }
            }
        } else if span.is_unknown() {
            self.unknown(span);
        } else {
            self.sense(span, position);
        }
    }

    /// "… and I'll close the garage": what somebody says to do himself is no command.
    fn speaker(&mut self, span: &Span) {
        let begins = !self.done.is_empty() && self.np.is_none() && self.clause.is_empty();
        if !begins || !span.word(Word::Speaker) {
            return;
        }
        let mut rest = self.row.iter().skip_while(|next| next.start < span.end);
        let helps = |span: &&Span| {
            [Word::Already, Word::Lately].iter().any(|word| span.word(*word))
                && !span.sense(|sense| matches!(sense, Sense::Pred(_)))
        };
        let next = rest.find(|span| !helps(span));
        if next
            .is_some_and(|span| span.word(Word::Past) || span.sense(|sense| matches!(sense, Sense::Pred(_))))
        {
            self.clause.spoiled = true;
        }
    }

    /// 关上一点 is a little, and no one o'clock, which stands before the verb.
    fn is_little(&self, span: &Span) -> bool {
        self.han && span.word(Word::Little) && !self.clause.preds.is_empty()
    }

    /// "… in ten minutes, and the floor lamp in twenty": a delay without its unit.
    fn is_delay(&self, position: usize) -> bool {
        let before = position.checked_sub(1).and_then(|before| self.row.get(before));
        let waits =
            |clause: &Clause| clause.times.iter().any(|time| matches!(time, Time::After(_) | Time::For(_)));
        before.is_some_and(|span| span.word(Word::In) || span.word(Word::For))
            && (waits(&self.clause) || self.done.iter().any(|(clause, _)| waits(clause)))
    }

    fn time(&mut self, time: Time, span: &Span) {
        self.close_np();
        // "Turn it off, wait five minutes, turn it on": the time is for what follows.
        let pauses = self.has_inside(span, Word::Pause);
        if pauses {
            self.separate(Break::Strong);
        }
        let clause = &mut self.clause;
        if clause.times.is_empty() {
            clause.times_first =
                clause.preds.is_empty() && clause.states.is_empty() && clause.nps.iter().all(Np::is_place);
        }
        clause.times.push(if self.excepting { time.excluded() } else { time });
        if pauses {
            self.separate(Break::Strong);
        }
    }

    /// Whether one of the words of a span means `word` by itself.
    fn has_inside(&self, span: &Span, word: Word) -> bool {
        let means = |token: &Token| self.lexicon.means(&token.key, Sense::Word(word));
        self.tokens.get(span.start..span.end).is_some_and(|said| said.iter().any(means))
    }

    fn text(&self, span: &Span) -> String {
        super::text::joined(self.tokens.get(span.start..span.end).unwrap_or(&[]))
    }

    /// "Hör auf, den Rasen zu mähen": the comma is inside of what is to stop, and of "stop, mow the lawn" it is not.
    fn stops_what_follows(&self, comma: &Span) -> bool {
        let works = |span: &Span| {
            [Pred::Clean, Pred::Mow, Pred::Water]
                .iter()
                .any(|pred| span.sense(|sense| *sense == Sense::Pred(*pred)))
        };
        let rest =
            || self.row.iter().skip_while(|span| span.start < comma.end).take_while(|span| !span.is_mark());
        let infinitive = rest().any(|span| self.has_inside(span, Word::To));
        self.clause.preds == [Pred::Stop]
            && self.clause.nps.is_empty()
            && self.np.is_none()
            && infinitive
            && rest().any(works)
    }

    fn mark(&mut self, span: &Span) {
        if self.stops_what_follows(span) {
            return;
        }
        let text = self.text(span);
        match text.as_str() {
            "," | "、" | "，" | "-" | "–" | "—" | "/" | "(" | ")" | "\"" | ":" => {
                self.separate(Break::Comma);
                if self.han {
                    self.excepting = false;
                }
            }
            "." | ";" | "!" | "。" | "；" | "?" => {
                if text == "?" {
                    self.clause.words.push(Word::Asks);
                }
                self.separate(Break::Strong);
                self.clause.after_stop = true;
            }
            _ => {}
        }
    }

    /// Ends the clause; whether it stands alone is decided when all are known.
    fn separate(&mut self, after: Break) {
        let excepting = self.excepting && after != Break::Strong;
        self.close_clause(after);
        self.excepting = excepting;
        self.joined = true;
    }

    fn close_clause(&mut self, after: Break) {
        self.close_np();
        self.clause.spoiled |= self.such.take().is_some();
        let clause = std::mem::take(&mut self.clause);
        if clause.is_empty() {
            self.clause.after_stop = clause.after_stop;
            // ", and" is an "and".
            if after != Break::None
                && let Some((_, last)) = self.done.last_mut()
                && *last != Break::Strong
            {
                *last = after;
            }
        } else {
            self.done.push((clause, after));
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
