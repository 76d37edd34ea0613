//! The whole reading of a sentence, from text to [`Understanding`].

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::DateTime;
use chrono_tz::Tz;

use crate::home::House;

use super::asides;
use super::asking::asks;
use super::clause::Clause;
use super::command::Command;
use super::compound;
use super::dialogue::Dialogue;
use super::index::HouseIndex;
use super::lattice::{Lattice, Span};
use super::lexicon::{Lexicon, LexiconError};
use super::scan::clauses;
use super::separable;
use super::text::{self, Kind, MAX_TOKENS, Token};
use super::understanding::Understanding;

/// The offline understanding: the words of every language, and the names of the houses seen last.
pub struct Nlu {
    /// English: taken where no other language fits.
    english: Lexicon,
    others: Vec<Lexicon>,
    /// By language and registry revision. A revision names one content of one registry in this process.
    indexes: RwLock<HashMap<(&'static str, u64), Arc<HouseIndex>>>,
}

/// Indexes kept; more houses than this are only seen by tests.
const INDEXES: usize = 16;

/// One sentence and where it was said.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub text: &'a str,
    /// `en`, `zh-CN`…; without it the words decide.
    pub language: Option<&'a str>,
    /// Id of the caller's area.
    pub area: Option<&'a str>,
    /// Id of the device that heard it.
    pub device: Option<&'a str>,
    pub now: DateTime<Tz>,
}

/// The languages that the program carries.
const ENGLISH: &str = include_str!("data/en.toml");
const OTHERS: &[(&str, &str)] = &[
    ("zh", include_str!("data/zh.toml")),
    ("de", include_str!("data/de.toml")),
    ("fr", include_str!("data/fr.toml")),
    ("es", include_str!("data/es.toml")),
    ("nl", include_str!("data/nl.toml")),
];

impl Nlu {
    /// Reads the words of every language, side by side: it is a part of every start.
    ///
    /// # Errors
    /// A data file is malformed; the first fault is told.
    pub fn new() -> Result<Self, LexiconError> {
        std::thread::scope(|scope| {
            let others: Vec<_> = OTHERS
                .iter()
                .map(|(language, file)| (scope.spawn(move || Lexicon::read(language, file)), language, file))
                .collect();
            let english = Lexicon::read("en", ENGLISH)?;
            let others = others
                .into_iter()
                .map(|(read, language, file)| read.join().unwrap_or_else(|_| Lexicon::read(language, file)))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(Self { english, others, indexes: RwLock::default() })
        })
    }

    /// The words of a language (`zh-CN` is `zh`); the default where it is not known.
    pub fn lexicon(&self, language: &str) -> &Lexicon {
        let known = |lexicon: &&Lexicon| {
            language.len() >= 2
                && language.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case(lexicon.language))
        };
        self.others.iter().find(known).unwrap_or(&self.english)
    }

    /// The language of a text, by its script and the words known: `en`, `zh`…
    pub fn detect_language(&self, text: &str) -> &'static str {
        self.likely_languages(text).first().copied().unwrap_or(self.english.language)
    }

    /// The languages that know most of the words of a text; several where they know as many.
    fn likely_languages(&self, text: &str) -> Vec<&'static str> {
        let shares: Vec<(f64, &'static str)> = std::iter::once(&self.english)
            .chain(&self.others)
            .map(|lexicon| {
                let (known, total) = lexicon.hits(text);
                (known as f64 / total.max(1) as f64, lexicon.language)
            })
            .collect();
        let most = shares.iter().map(|(share, _)| *share).fold(0.0, f64::max);
        shares
            .into_iter()
            .filter(|(share, _)| *share > 0.0 && *share >= most)
            .map(|(_, language)| language)
            .collect()
    }

    /// The names of `house`, from the cache or built now (milliseconds for thousands of entities).
    pub fn index(&self, house: &House, lexicon: &Lexicon) -> Arc<HouseIndex> {
        let key = (lexicon.language, house.revision());
        let known = self.indexes.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(index) = known {
            return index;
        }
        let index = Arc::new(HouseIndex::build(house, lexicon));
        let mut indexes = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        if indexes.len() >= INDEXES {
            indexes.clear();
        }
        indexes.insert(key, index.clone());
        index
    }

    /// Reads one sentence. It changes nothing: `dialogue` is updated by its owner. Where no language is given and
    /// several are as likely, it is the first in which the sentence means something.
    pub fn understand(&self, request: &Request<'_>, house: &House, dialogue: &Dialogue) -> Understanding {
        let likely = match request.language {
            Some(language) if !language.is_empty() => vec![self.lexicon(language).language],
            Some(_) | None => self.likely_languages(request.text),
        };
        let mut first = None;
        for language in likely {
            let understanding = self.understand_in(language, request, house, dialogue);
            if !matches!(understanding, Understanding::NotUnderstood { .. } | Understanding::Refuse { .. }) {
                return understanding;
            }
            first = first.or(Some(understanding));
        }
        first.unwrap_or_else(|| self.understand_in(self.english.language, request, house, dialogue))
    }

    fn understand_in(
        &self,
        language: &str,
        request: &Request<'_>,
        house: &House,
        dialogue: &Dialogue,
    ) -> Understanding {
        if let Some(history) = self.history(request, house, dialogue, language) {
            return history;
        }
        let lexicon = self.lexicon(language);
        let index = self.index(house, lexicon);
        let sentence = Sentence::read(request, lexicon, &index);
        Command { request, house, dialogue, lexicon, index: &index }.understand(&sentence)
    }
}

/// A sentence as tokens and spans.
pub struct Sentence {
    pub tokens: Vec<Token>,
    pub row: Vec<Span>,
    /// A question: it never acts.
    pub asking: bool,
    pub too_long: bool,
}

impl Sentence {
    pub fn read(request: &Request<'_>, lexicon: &Lexicon, index: &HouseIndex) -> Self {
        Self::of(text::tokens(request.text, lexicon), lexicon, index)
    }

    pub fn of(tokens: Vec<Token>, lexicon: &Lexicon, index: &HouseIndex) -> Self {
        let tokens = compound::split(tokens, lexicon, index);
        if tokens.len() > MAX_TOKENS {
            return Self { tokens: Vec::new(), row: Vec::new(), asking: false, too_long: true };
        }
        let acts = |item: usize| index.acts(item);
        let row = Lattice { tokens: &tokens, lexicon, index, counts: &acts }.best();
        if let Some(end) = asides::reason(&row) {
            return Self::of(tokens.into_iter().take(end).collect(), lexicon, index);
        }
        if let Some(command) = asides::command_after(&row, &tokens, lexicon, index) {
            return command;
        }
        // "Sla dit liedje over" begins with a verb in two parts, and asks nothing.
        let mut joined = row.clone();
        separable::join(&mut joined, &tokens, lexicon);
        let asking = asks(&joined, &tokens, lexicon);
        let row = if asking {
            Lattice { tokens: &tokens, lexicon, index, counts: &|_| true }.best()
        } else {
            joined
        };
        Self { tokens, row, asking, too_long: false }
    }

    pub fn clauses(&self, index: &HouseIndex, lexicon: &Lexicon) -> Vec<Clause> {
        clauses(&self.row, &self.tokens, index, lexicon, self.asking)
    }

    /// Whether the sentence is nothing but marks and a recogniser's note ("[MUSIC]").
    pub fn is_noise(&self) -> bool {
        let bracketed = self
            .tokens
            .first()
            .is_some_and(|token| matches!(token.text.as_str(), "[" | "(" | "*" | "♪" | "【"))
            && self
                .tokens
                .last()
                .is_some_and(|token| matches!(token.text.as_str(), "]" | ")" | "*" | "♪" | "】"));
        bracketed || self.tokens.iter().all(|token| token.kind == Kind::Mark)
    }
}

impl Nlu {
    /// How a sentence is cut into clauses, for people who write words for a language. Not a stable format.
    pub fn explain(&self, request: &Request<'_>, house: &House) -> String {
        let language = request.language.unwrap_or_else(|| self.detect_language(request.text));
        let lexicon = self.lexicon(language);
        let index = self.index(house, lexicon);
        let sentence = Sentence::read(request, lexicon, &index);
        let spans: Vec<String> = sentence
            .row
            .iter()
            .map(|span| {
                let text = text::joined(sentence.tokens.get(span.start..span.end).unwrap_or(&[]));
                format!("{text}: {:?}", span.readings)
            })
            .collect();
        let clauses = sentence.clauses(&index, lexicon);
        format!("asking: {}\n{}\n{clauses:#?}", sentence.asking, spans.join("\n"))
    }
}
