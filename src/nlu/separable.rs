//! Verbs in two parts with things between them: "mach das Licht an", "doe de deur op slot"; and exclusions that stand
//! around what they exclude: "op de leeslamp na". Which parts make which is in the data files.

use super::lattice::{Reading, Span};
use super::lexicon::{Lexicon, Sense};
use super::text::Token;
use super::vocabulary::Word;

/// A verb in two parts.
#[derive(Debug)]
pub struct Separable {
    pub verb: Vec<String>,
    pub particle: Vec<String>,
    /// A predicate, or [`Word::Except`].
    pub meaning: Sense,
}

/// Gives both parts the meaning of the whole: the first that of the whole, the particle none.
pub fn join(row: &mut [Span], tokens: &[Token], lexicon: &Lexicon) {
    for position in 0..row.len() {
        let Some(verb) = row.get(position) else { break };
        let found = lexicon
            .separables(tokens.get(verb.start).map_or("", |token| token.key.as_str()))
            .filter(|separable| reads(tokens, verb.start, verb.end, &separable.verb))
            .find_map(|separable| {
                Some((separable.meaning, particle(row, position, tokens, &separable.particle)?))
            });
        let Some((meaning, (from, to))) = found else { continue };
        if let Some(verb) = row.get_mut(position) {
            verb.readings = vec![Reading::Sense(meaning)];
        }
        for part in row.get_mut(from..to).unwrap_or_default() {
            part.readings = vec![Reading::Sense(Sense::Word(Word::Filler))];
        }
    }
}

fn reads(tokens: &[Token], start: usize, end: usize, keys: &[String]) -> bool {
    let said = tokens.get(start..end).unwrap_or_default();
    said.len() == keys.len() && said.iter().zip(keys).all(|(token, key)| token.key == *key)
}

/// The spans of the particle: the last one in the clause that begins with the verb. Before a value it is "to".
fn particle(row: &[Span], verb: usize, tokens: &[Token], keys: &[String]) -> Option<(usize, usize)> {
    let ends = |span: &Span| {
        let word = span.word(Word::And) || span.word(Word::Then) || span.word(Word::Or);
        span.is_mark() || (word && span.targets().is_empty())
    };
    let after = verb + 1;
    let clause = row.iter().skip(after).position(ends).map_or(row.len(), |end| after + end);
    (after..clause).rev().find_map(|from| {
        let start = row.get(from)?.start;
        let to =
            (from..clause).find(|to| row.get(*to).is_some_and(|span| span.end == start + keys.len()))? + 1;
        // "Flip it on or off" chooses between the two.
        let value = row.get(to).is_some_and(|next| next.value().is_some() || next.word(Word::Or));
        (!value && reads(tokens, start, start + keys.len(), keys)).then_some((from, to))
    })
}
