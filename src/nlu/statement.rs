//! Sentences that tell what somebody did, "I turned off the desk lamp": they ask for nothing.

use super::lexicon::{Lexicon, Sense};
use super::text::Token;
use super::vocabulary::Word;

/// Whether the sentence begins with somebody and a verb of the past.
pub fn tells_the_past(tokens: &[Token], lexicon: &Lexicon) -> bool {
    let word = |wanted: Word| move |sense: &Sense| *sense == Sense::Word(wanted);
    let lengths = |at: usize, means: &dyn Fn(&Sense) -> bool| lengths(tokens, lexicon, at, means);
    let Some(mut at) = lengths(0, &word(Word::Subject)).first().copied() else { return false };
    while let Some(length) = lengths(at, &word(Word::Already)).first() {
        at += length;
    }
    let past = |at: usize| !lengths(at, &word(Word::Past)).is_empty();
    // 我关了书房灯: the verb, and what makes it one of the past.
    let verbs = lengths(at, &|sense| matches!(sense, Sense::Pred(_)));
    past(at) || (lexicon.han_numbers && verbs.iter().any(|length| past(at + length)))
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
