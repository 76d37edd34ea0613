//! What is told beside a command and asks for nothing: "I just got home, turn on the light", 我刚到家，开灯, "… because I am
//! reading". Where in doubt it stays a part of the sentence.

use super::clause::Clause;
use super::index::HouseIndex;
use super::lattice::Span;
use super::lexicon::{Lexicon, Phrase, Sense};
use super::text::Token;
use super::understand::Sentence;
use super::vocabulary::{Pred, StateWord, Word};

/// The token at which the reason for a command begins, where nothing but that follows.
pub fn reason(row: &[Span]) -> Option<usize> {
    let at = row.iter().position(|span| span.word(Word::Because)).filter(|at| *at > 0)?;
    let told = row.get(at + 1..)?;
    let last = told.len().checked_sub(1)?;
    let goes_on = |(at, span): (usize, &Span)| {
        let joins = [Word::And, Word::Then, Word::Or, Word::Because].iter().any(|word| span.word(*word));
        joins || shapes(span) || (span.is_mark() && at < last)
    };
    let begins = row.get(at).map(|span| span.start)?;
    (!told.iter().enumerate().any(goes_on)).then_some(begins)
}

/// "It says, open the garage": what is repeated, and asked by nobody.
pub fn quotes(row: &[Span], tokens: &[Token], lexicon: &Lexicon) -> bool {
    let end = row.iter().position(Span::is_mark);
    let said = end.and_then(|end| row.get(..end)).map(|spans| Preamble { spans, tokens, lexicon });
    said.is_some_and(|said| said.is_of_oneself() && said.quotes())
}

/// The command that stands behind what somebody tells of himself; `None` where the sentence has none.
pub fn command_after(
    row: &[Span],
    tokens: &[Token],
    lexicon: &Lexicon,
    index: &HouseIndex,
) -> Option<Sentence> {
    let end = row.iter().position(Span::is_mark)?;
    let parts =
        |span: &Span| tokens.get(span.start).is_some_and(|token| PARTING.contains(&token.text.as_str()));
    row.get(end).filter(|mark| parts(mark))?;
    let preamble = Preamble { spans: row.get(..end)?, tokens, lexicon };
    let remarks = preamble.spans.iter().any(|span| span.sense(|sense| matches!(sense, Sense::Remark(_))));
    let done = preamble.tells_what_was_done();
    let told = done || ((remarks || preamble.tells_of_now()) && preamble.is_idle());
    if !told || preamble.quotes() {
        return None;
    }
    let joins = |span: &&Span| span.is_mark() || span.word(Word::And) || span.word(Word::Then);
    let from = row.get(end + 1..)?.iter().find(|span| !joins(span))?.start;
    let command = Sentence::of(tokens.get(from..)?.to_vec(), lexicon, index);
    let clauses = command.clauses(index, lexicon);
    // "Too loud, turn down": the remark says what.
    let complete = |clause: &Clause| stands_alone(clause) && !(remarks && clause.nps.is_empty());
    let wishes = (lexicon.han_numbers && !done) || begins_as_a_wish(&command, lexicon);
    (wishes && clauses.iter().any(Clause::has_predicate) && clauses.iter().all(complete)).then_some(command)
}

/// Whether a clause speaks of nothing that the preamble may have named.
fn stands_alone(clause: &Clause) -> bool {
    let refers = [Word::It, Word::Them, Word::Other, Word::Others, Word::Again];
    clause.unknown.is_empty() && !refers.iter().any(|word| clause.word(*word))
}

/// "… turn on the light", and not "… the tv too", "… das Licht auszumachen", which may go on telling.
fn begins_as_a_wish(command: &Sentence, lexicon: &Lexicon) -> bool {
    let (Some(first), Some(word)) = (command.row.first(), command.tokens.first()) else { return false };
    // "Mach das" is a "yes" too.
    let alone = |phrase: &Phrase| {
        phrase.keys.len() == 1 && phrase.senses.iter().any(|sense| matches!(sense, Sense::Pred(_)))
    };
    let verb = first.is_verb() || lexicon.starting(&word.key).iter().any(alone);
    let wish = verb && !lexicon.han_numbers && !tells_the_past(first, &command.tokens, lexicon);
    wish || first.word(Word::Object) || first.word(Word::Polite)
}

/// Marks that part what is told from the command; quotation marks and colons do not.
const PARTING: &[&str] = &[",", "，", ".", "。", ";", "；", "!", "！"];

/// What stands before the first mark.
struct Preamble<'a> {
    spans: &'a [Span],
    tokens: &'a [Token],
    lexicon: &'a Lexicon,
}

impl Preamble<'_> {
    /// "I am …", "I just …", 我…了, and not "I go home, turn on the light and …", which may tell what somebody always does.
    fn tells_of_now(&self) -> bool {
        let said = |keys: &Vec<String>| {
            let begun = self.tokens.iter().map(|token| &token.key).take(keys.len());
            !keys.is_empty() && begun.eq(keys)
        };
        let marked =
            |span: &Span| [Word::Lately, Word::Already, Word::Past].iter().any(|word| span.word(*word));
        self.lexicon.tellers.iter().any(said) && (!self.lexicon.han_numbers || self.spans.iter().any(marked))
    }

    /// Whether it begins with who tells of himself.
    fn is_of_oneself(&self) -> bool {
        let first = self.tokens.first().map(|token| &token.key);
        first.is_some() && self.lexicon.tellers.iter().any(|keys| keys.first() == first)
    }

    /// "I just got home", "it's getting dark": nothing of the house is in it, and nothing that shapes a command.
    fn is_idle(&self) -> bool {
        let ends = self.spans.last().is_some_and(|span| span.word(Word::Past));
        self.spans.iter().all(|span| {
            // "Cooking" is no slip for what cools.
            if span.fuzzy {
                return true;
            }
            let at_home =
                span.sense(|sense| matches!(sense, Sense::State(StateWord::Home | StateWord::Away)));
            let named = !span.targets().is_empty() || span.sense(|sense| !at_home && is_of_the_house(sense));
            // 我要睡了 is no wish.
            let wish = span.word(Word::Polite) && !(self.lexicon.han_numbers && ends);
            !named && !wish && !shapes(span)
        })
    }

    /// "I said": what follows are somebody's words.
    fn quotes(&self) -> bool {
        let tokens =
            self.spans.iter().flat_map(|span| self.tokens.get(span.start..span.end).unwrap_or_default());
        tokens.into_iter().any(|token| self.lexicon.quoting.contains(&token.text))
    }

    /// "I opened the garage": done, and no wish.
    fn tells_what_was_done(&self) -> bool {
        // "Ik heb de garage geopend": what the verb tells stands elsewhere.
        let helped = self.spans.iter().any(|span| span.word(Word::Past));
        let past = |span: &Span| {
            tells_the_past(span, self.tokens, self.lexicon) || (helped && span.is_state() && !span.is_verb())
        };
        let deeds = || self.spans.iter().filter(|span| span.is_verb() || span.is_state());
        let shaped = self.spans.iter().any(|span| span.word(Word::Polite) || shapes(span));
        !shaped && self.is_of_oneself() && deeds().next().is_some() && deeds().all(past)
    }
}

/// "Turned", "habe … geöffnet", 关了.
fn tells_the_past(span: &Span, tokens: &[Token], lexicon: &Lexicon) -> bool {
    let said = tokens.get(span.start..span.end).unwrap_or_default();
    span.word(Word::Past) || said.iter().any(|token| lexicon.means(&token.key, Sense::Word(Word::Past)))
}

fn is_of_the_house(sense: &Sense) -> bool {
    match sense {
        // "Nach Hause" sends a robot home, and people go there.
        Sense::Pred(Pred::Dock) => false,
        Sense::Word(_) | Sense::Talk(_) | Sense::Such(_) | Sense::Remark(_) => false,
        Sense::Pred(_)
        | Sense::State(_)
        | Sense::Class(_)
        | Sense::Attribute(_)
        | Sense::Mode(_)
        | Sense::Occasion(_)
        | Sense::Color(_)
        | Sense::White(_)
        | Sense::Level(_) => true,
    }
}

/// A condition, a "not", a question, a value or a time: it may be for the command.
fn shapes(span: &Span) -> bool {
    const WORDS: &[Word] = &[
        Word::If,
        Word::IfAfter,
        Word::When,
        Word::Unless,
        Word::Until,
        Word::Not,
        Word::No,
        Word::Except,
        Word::Asks,
        Word::Which,
        Word::What,
        Word::Every,
        Word::Later,
        Word::Today,
        Word::Tomorrow,
        Word::Tonight,
        Word::Morning,
        Word::Noon,
        Word::Afternoon,
        Word::Evening,
        Word::Midnight,
        Word::Weekend,
        Word::Workdays,
    ];
    let timed = span.time().is_some() || span.value().is_some();
    timed || WORDS.iter().any(|word| span.word(*word))
}
