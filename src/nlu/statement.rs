//! Sentences that tell what somebody did, "I turned off the desk lamp": they ask for nothing.

use super::lexicon::{Lexicon, Sense};
use super::text::Token;
use super::vocabulary::Word;

/// Whether the sentence begins with somebody and a verb of the past.
pub fn tells_the_past(tokens: &[Token], lexicon: &Lexicon) -> bool {
    let lengths = |at: usize, means: &dyn Fn(&Sense) -> bool| lengths(tokens, lexicon, at, means);
    let past = |at: usize| !lengths(at, &word(Word::Past)).is_empty();
    let mut at = 0;
    let mut already = false;
    let skip_already = |at: &mut usize| {
        let mut found = false;
        while let Some(length) = lengths(*at, &word(Word::Already)).first() {
            *at += length;
            found = true;
        }
        found
    };
    // 刚才我把窗帘拉上了
    if lexicon.han_numbers {
        already |= skip_already(&mut at);
    }
    // "Could you have turned off the tv": what is asked so is over.
    if let Some(length) = lengths(at, &word(Word::Polite)).first() {
        let mut behind = at + length;
        if skip_already(&mut behind) && past(behind) {
            return true;
        }
    }
    let Some(subject) = lengths(at, &word(Word::Subject)).first().copied() else { return false };
    at += subject;
    already |= skip_already(&mut at);
    if past(at) {
        return true;
    }
    if !lexicon.han_numbers {
        return false;
    }
    // 我关了书房灯: the verb, and what makes it one of the past. 我把灯关了, 我已经把灯关了: it stands at the end.
    let verbs = lengths(at, &|sense| matches!(sense, Sense::Pred(_)));
    let object = !lengths(at, &word(Word::Object)).is_empty();
    let ends = tokens.len().checked_sub(1).is_some_and(past);
    verbs.iter().any(|length| past(at + length)) || ((object || already) && ends)
}

fn word(wanted: Word) -> impl Fn(&Sense) -> bool {
    move |sense: &Sense| *sense == Sense::Word(wanted)
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
