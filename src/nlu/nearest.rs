//! "Did you mean …": the names of the house that are spelt most like a word that it does not have.

use std::cmp::Ordering;

use super::index::HouseIndex;

/// A name with what rules it out quickly.
#[derive(Debug)]
pub struct Known {
    name: String,
    lower: String,
    length: usize,
    /// The characters in it, as a small set that may hold a few too many.
    characters: u64,
}

impl Known {
    pub fn new(name: &str) -> Self {
        let lower = name.to_lowercase();
        let (length, characters) = (lower.chars().count(), characters(&lower));
        Self { name: name.to_owned(), lower, length, characters }
    }

    /// 0 to 1: by spelling, or by shared words.
    fn likeness(&self, said: &Known) -> f64 {
        let words: Vec<&str> = self.lower.split_whitespace().collect();
        let shared = said
            .lower
            .split_whitespace()
            .filter(|word| word.chars().nth(2).is_some() && words.contains(word))
            .count();
        let total = words.len().max(said.lower.split_whitespace().count()).max(1);
        let by_words = if shared == 0 { 0.0 } else { 0.4 + 0.6 * shared as f64 / total as f64 };
        if self.may_be_spelt_like(said) {
            by_words.max(strsim::normalized_damerau_levenshtein(&said.lower, &self.lower))
        } else {
            by_words
        }
    }

    /// Whether more than half of the longer one can be the same: by length, and by characters that only one has.
    fn may_be_spelt_like(&self, said: &Known) -> bool {
        let longer = self.length.max(said.length);
        let alone = (self.characters & !said.characters).count_ones();
        let apart = self.length.abs_diff(said.length).max(alone as usize);
        apart * 2 < longer
    }
}

fn characters(text: &str) -> u64 {
    text.chars().fold(0, |set, character| set | 1 << (u32::from(character) % 64))
}

impl HouseIndex {
    /// The names nearest to `said`, best first; only of what could be meant.
    pub fn nearest(&self, said: &str, limit: usize) -> Vec<String> {
        let said = Known::new(said);
        let mut scored: Vec<(f64, &str)> = self
            .known()
            .iter()
            .map(|known| (known.likeness(&said), known.name.as_str()))
            .filter(|(score, _)| *score > 0.5)
            .collect();
        let best_first = |left: &(f64, &str), right: &(f64, &str)| match right.0.total_cmp(&left.0) {
            Ordering::Equal => left.1.cmp(right.1),
            other => other,
        };
        scored.sort_by(best_first);
        scored.into_iter().take(limit).map(|(_, name)| name.to_owned()).collect()
    }
}
