//! Sentences that tell what somebody did, "I turned off the desk lamp", or how things are: they ask for nothing. What
//! may be a report or a wish in the same words is a wish only where that is the safe reading.

mod aspect;

use super::asides::quotes;
use super::asking::names_something;
use super::lattice::Span;
use super::lexicon::{Lexicon, Sense};
use super::number::Value;
use super::text::{Kind, Token};
use super::vocabulary::{Pred, Word};

/// Whether the sentence begins with somebody and a verb of the past.
pub fn tells_the_past(tokens: &[Token], lexicon: &Lexicon) -> bool {
    let lengths = |at: usize, means: &dyn Fn(&Sense) -> bool| lengths(tokens, lexicon, at, means);
    let past = |at: usize| !lengths(at, &word(Word::Past)).is_empty();
    let behind_already = |at: usize| skipped(at, tokens, lexicon, &[Word::Already]);
    // 刚才我把窗帘拉上了
    let begins = if lexicon.han_numbers { behind_already(0) } else { 0 };
    // "Could you have turned off the tv": what is asked so is over.
    if let Some(length) = lengths(begins, &word(Word::Polite)).first() {
        let behind = begins + length;
        let helped = behind_already(behind);
        // "Could you just shut the door" asks for it.
        let verb = |at: usize| lengths(at, &|sense| matches!(sense, Sense::Pred(_))).contains(&1);
        if helped > behind && past(helped) && !verb(helped) {
            return true;
        }
    }
    let Some(subject) = lengths(begins, &word(Word::Subject)).first().copied() else { return false };
    let at = behind_already(begins + subject);
    let already = begins > 0 || at > begins + subject;
    if past(at) {
        return true;
    }
    if !lexicon.han_numbers {
        return false;
    }
    // 我关了书房灯: the verb, and what makes it one of the past. 我把灯关了, 我已经把灯关了: it stands at the end.
    let verbs = lengths(at, &|sense| matches!(sense, Sense::Pred(_)));
    let object = !lengths(at, &word(Word::Object)).is_empty();
    let marked = tokens.iter().any(|token| token.kind == Kind::Mark);
    let ends = tokens.len().checked_sub(1).is_some_and(past);
    // 我刚打开空调, 我去关电视: done, or about to be done by somebody else.
    let busy = already && !verbs.is_empty();
    busy || verbs.iter().any(|length| past(at + length)) || ((object || (already && !marked)) && ends)
}

/// Whether a sentence tells how things are or what somebody does, and asks for nothing: it has no verb, or one of a report.
pub fn reports(row: &[Span], tokens: &[Token], lexicon: &Lexicon) -> bool {
    quotes(row, tokens, lexicon)
        || tells_a_measure(row, lexicon.han_numbers)
        || tells_what_was_done_to_it(row)
        || speaks_of_itself(tokens, lexicon)
        || (lexicon.han_numbers && aspect::reports(row, tokens, lexicon))
        || (!lexicon.han_numbers
            && (begins_with_the_past(tokens, lexicon)
                || tells_what_was_done(row)
                || tells_a_habit(row)
                || tells_how(row)))
}

/// "It is 30 degrees in the bedroom", "the kitchen light is at 50 percent", 空调已经26度了: without a verb that sets it.
fn tells_a_measure(row: &[Span], han: bool) -> bool {
    let measured = |span: &Span| {
        let value = matches!(
            span.value(),
            Some(Value::Celsius(_) | Value::Fahrenheit(_) | Value::Percent(_) | Value::Number(_))
        );
        let most = span.word(Word::Max) || span.word(Word::Min);
        value
            || most
            || span.sense(|sense| matches!(sense, Sense::Color(_) | Sense::White(_) | Sense::Level(_)))
    };
    let past = row.iter().rfind(|span| !span.is_mark()).is_some_and(|span| span.word(Word::Past));
    let is = |span: &Span| span.word(Word::Is) || span.word(Word::Has) || (han && span.word(Word::Lately));
    let verb = |span: &Span| {
        span.is_verb() && !(han && past && span.sense(|sense| matches!(sense, Sense::Level(_))))
    };
    row.iter().any(measured)
        && (row.iter().any(is) || (han && past))
        && !row
            .iter()
            .any(|span| verb(span) || (!(han && past) && span.word(Word::Polite)) || span.word(Word::If))
}

/// "I open the garage", "ik ga de poort openen": somebody says what he does himself.
fn speaks_of_itself(tokens: &[Token], lexicon: &Lexicon) -> bool {
    let lengths = |at: usize, means: &dyn Fn(&Sense) -> bool| lengths(tokens, lexicon, at, means);
    let wish = |sense: &Sense| {
        matches!(sense, Sense::Word(Word::Polite | Word::Not) | Sense::Remark(_) | Sense::Occasion(_))
    };
    let Some(speaker) = lengths(0, &word(Word::Speaker)).first().copied() else { return false };
    if !lengths(0, &wish).is_empty() {
        return false;
    }
    let at = skipped(speaker, tokens, lexicon, &[Word::Already, Word::Lately]);
    let verb = |at: usize| {
        !lengths(at, &|sense| matches!(sense, Sense::Pred(pred) if *pred != Pred::Tell)).is_empty()
    };
    // "Ik ga de televisie uitzetten": the verb stands at the end.
    let helped = at > speaker && !lexicon.han_numbers;
    verb(at) || (helped && (at..tokens.len()).any(verb))
}

/// 电视被关掉了
fn tells_what_was_done_to_it(row: &[Span]) -> bool {
    let said = |word: Word| row.iter().any(|span| span.word(word));
    said(Word::Passive) && !said(Word::If) && !said(Word::When)
}

/// "Just locked the back door", "gerade den Fernseher ausgeschaltet": done, and no verb that asks for anything.
fn tells_what_was_done(row: &[Span]) -> bool {
    let only = row.first().is_some_and(|span| span.word(Word::Only));
    // "Just the kitchen light on" asks for it.
    let wish = |span: &Span| only && span.word(Word::Unchanging);
    let done =
        |span: &Span| (span.word(Word::Past) && !wish(span)) || (span.is_state() && !span.is_verb() && !only);
    // "The garage opened"
    let named = row.iter().position(names_something);
    let past = row.iter().rposition(|span| span.word(Word::Past));
    let ends =
        |past: usize| row.iter().skip(past + 1).all(|span| !names_something(span) && span.value().is_none());
    let opened = past.is_some_and(|past| named.is_some_and(|named| named < past) && ends(past));
    (opened || row.iter().any(|span| span.word(Word::Lately)))
        && row.iter().any(done)
        && !row.iter().any(|span| (span.is_verb() && !done(span)) || span.word(Word::Polite))
}

/// "Turned off the tv", "already turned off the tv"
fn begins_with_the_past(tokens: &[Token], lexicon: &Lexicon) -> bool {
    let lengths = |at: usize, means: &dyn Fn(&Sense) -> bool| lengths(tokens, lexicon, at, means);
    let lately = lengths(0, &word(Word::Lately)).first().copied().unwrap_or(0);
    let past = lengths(lately, &word(Word::Past)).contains(&1);
    let verb = lengths(lately, &|sense| matches!(sense, Sense::Pred(_))).contains(&1);
    // French "à" is written like "a" once its accent is off.
    let links =
        lengths(lately, &|sense| matches!(sense, Sense::Word(Word::To | Word::At | Word::Link))).contains(&1);
    let polite = !lengths(lately, &word(Word::Polite)).is_empty();
    // "Just set the thermostat to 20" asks for it, "already set …" does not.
    let wish =
        !lengths(0, &word(Word::Only)).is_empty() && lengths(lately, &word(Word::Unchanging)).contains(&1);
    past && !links && (lately > 0 || !verb) && !polite && !wish
}

/// "The garage door opens at eight"
fn tells_a_habit(row: &[Span]) -> bool {
    if row.iter().any(|span| [Word::If, Word::When, Word::Unless].iter().any(|word| span.word(*word))) {
        return false;
    }
    let named = row.iter().position(names_something);
    // "Needs locking" is a wish.
    let wish = |span: &Span| span.sense(|sense| *sense == Sense::Pred(Pred::Set));
    let habit = |span: &Span| span.plural && span.is_verb() && !names_something(span) && !wish(span);
    // "Je veux les volets fermés" is one too.
    let wished = |span: &Span| span.is_verb() || span.word(Word::Polite);
    named.is_some_and(|named| row.iter().skip(named + 1).any(habit) && !row.iter().take(named).any(wished))
}

/// "To turn off the tv say …"
fn tells_how(row: &[Span]) -> bool {
    matches!(row, [to, verb, ..] if to.word(Word::To) && to.time().is_none() && !to.is_verb() && verb.is_verb())
}

fn word(wanted: Word) -> impl Fn(&Sense) -> bool {
    move |sense: &Sense| *sense == Sense::Word(wanted)
}

/// Where what follows some words begins, which may stand at `at` one after the other.
fn skipped(at: usize, tokens: &[Token], lexicon: &Lexicon, words: &[Word]) -> usize {
    let known = |sense: &Sense| matches!(sense, Sense::Word(word) if words.contains(word));
    let mut at = at;
    while let Some(length) = lengths(tokens, lexicon, at, &known).first() {
        at += length;
    }
    at
}

/// How long the phrases at `at` are that can mean it, longest first.
fn lengths(tokens: &[Token], lexicon: &Lexicon, at: usize, means: &dyn Fn(&Sense) -> bool) -> Vec<usize> {
    let Some(rest) = tokens.get(at..).filter(|rest| !rest.is_empty()) else { return Vec::new() };
    let said = |keys: &[String]| {
        rest.len() >= keys.len() && rest.iter().zip(keys).all(|(token, key)| token.key == *key)
    };
    let phrases = rest.first().map_or(&[][..], |first| lexicon.starting(&first.key));
    let meant = phrases.iter().filter(|phrase| said(&phrase.keys) && phrase.senses.iter().any(means));
    meant.map(|phrase| phrase.keys.len()).collect()
}
