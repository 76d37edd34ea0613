//! What words that nothing explains may be slips of: names, places and kinds; never verbs or "not".

use super::{Lattice, Reading, Span, cost};
use crate::nlu::lexicon::Sense;
use crate::nlu::text::{Kind, Token};

impl Lattice<'_> {
    /// Adds what the unknown words may be slips of: the names, places and kinds; never verbs or "not".
    pub(super) fn misspelt(&self, spans: &[Span], all: &mut Vec<(Span, f32)>) {
        for span in spans.iter().filter(|span| span.is_unknown()) {
            let Some(token) = self.tokens.get(span.start) else { continue };
            match token.kind {
                Kind::Word => self.misspelt_word(span.start, token, all),
                Kind::Han => self.misheard(span.start, all),
                Kind::Number | Kind::Mark => {}
            }
        }
    }

    fn misspelt_word(&self, at: usize, token: &Token, all: &mut Vec<(Span, f32)>) {
        let length = token.key.chars().count();
        if length < 5 {
            return;
        }
        let limit = if length >= 8 { 2 } else { 1 };
        let first = token.key.chars().next();
        let mut best: Option<(usize, String)> = None;
        let sizes = (length - limit).max(5)..=length + limit;
        let kinds = self.lexicon.kind_words().filter(|word| sizes.contains(&word.chars().count()));
        for word in self.index.words(sizes.clone()).chain(kinds) {
            if word.chars().next() != first && length < 7 {
                continue;
            }
            let distance = strsim::damerau_levenshtein(&token.key, word);
            if distance > 0
                && distance <= limit
                && best.as_ref().is_none_or(|(least, known)| (distance, word) < (*least, known.as_str()))
            {
                best = Some((distance, word.to_owned()));
            }
        }
        if let Some((_, word)) = best {
            self.substituted(at, at + 1, &[word], all);
        }
    }

    /// Homophones: 可听 for 客厅.
    fn misheard(&self, at: usize, all: &mut Vec<(Span, f32)>) {
        for start in at.saturating_sub(3)..=at {
            for end in at + 1..=(at + 4).min(self.tokens.len()) {
                if end - start < 2 {
                    continue;
                }
                let Some(part) = self.tokens.get(start..end) else { continue };
                let said: String = part.iter().map(|token| token.key.as_str()).collect();
                let forms: Vec<&String> =
                    self.index.sounding(&said).iter().filter(|form| **form != said).collect();
                if let [form] = forms.as_slice() {
                    let keys: Vec<String> = form.chars().map(String::from).collect();
                    self.substituted(start, end, &keys, all);
                }
            }
        }
    }

    /// Reads `start..end` as if `keys` had been said there, together with what stands around.
    fn substituted(&self, start: usize, end: usize, keys: &[String], all: &mut Vec<(Span, f32)>) {
        let mut tokens = self.tokens.to_vec();
        let mut replaced: Vec<Token> = Vec::new();
        let Some(pattern) = self.tokens.get(start) else { return };
        for key in keys {
            replaced.push(Token { text: key.clone(), key: key.clone(), plural: false, ..pattern.clone() });
        }
        if replaced.len() != end - start {
            return;
        }
        tokens.splice(start..end, replaced);
        let other = Lattice { tokens: &tokens, ..*self };
        for (mut span, price) in other.spans() {
            let touches = span.start < end && span.end > start;
            if touches && span.readings.iter().any(names) {
                span.readings.retain(names);
                span.fuzzy = true;
                all.push((span, price + cost::FUZZY - 1.0));
            }
        }
    }
}

/// What may be a slip of the tongue: names, kinds and settings; never verbs or "not".
fn names(reading: &Reading) -> bool {
    match reading {
        Reading::Name(_) | Reading::Part(_) => true,
        Reading::Sense(Sense::Class(_) | Sense::Attribute(_)) => true,
        Reading::Sense(_) | Reading::Value(_) | Reading::Time(_) | Reading::Mark | Reading::Unknown => false,
    }
}
