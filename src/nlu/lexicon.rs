//! The words of one language. `file` reads them from its data file.

mod file;

use std::collections::{BTreeMap, HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

use super::history::Past;
use super::separable::Separable;
use super::template::Template;
use super::text::{self, Kind, Token};
use super::vocabulary::{Attribute, Class, Mode, Occasion, Pred, Remark, StateWord, Talk, Word};

/// What a phrase can mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sense {
    Pred(Pred),
    State(StateWord),
    /// Which of several things are meant, by how they are.
    Such(StateWord),
    Class(Class),
    Attribute(Attribute),
    Word(Word),
    Mode(Mode),
    Remark(Remark),
    Occasion(Occasion),
    Talk(Talk),
    /// Index into [`COLORS`].
    Color(usize),
    /// A named white, in kelvin.
    White(u16),
    /// A named share of the range, in percent.
    Level(u8),
}

/// Named colours as CSS has them, with warm ones as lamps show them.
pub const COLORS: &[(&str, [u8; 3])] = &[
    ("red", [255, 0, 0]),
    ("green", [0, 128, 0]),
    ("blue", [0, 0, 255]),
    ("yellow", [255, 255, 0]),
    ("orange", [255, 165, 0]),
    ("purple", [128, 0, 128]),
    ("violet", [238, 130, 238]),
    ("pink", [255, 192, 203]),
    ("white", [255, 255, 255]),
    ("cyan", [0, 255, 255]),
    ("turquoise", [64, 224, 208]),
    ("magenta", [255, 0, 255]),
    ("amber", [255, 191, 0]),
    ("gold", [255, 215, 0]),
    ("brown", [165, 42, 42]),
    ("lime", [0, 255, 0]),
    ("teal", [0, 128, 128]),
    ("indigo", [75, 0, 130]),
    ("navy", [0, 0, 128]),
    ("lavender", [230, 230, 250]),
    ("coral", [255, 127, 80]),
    ("crimson", [220, 20, 60]),
    ("lightblue", [173, 216, 230]),
    ("skyblue", [135, 206, 235]),
    ("lightgreen", [144, 238, 144]),
    ("darkgreen", [0, 100, 0]),
    ("darkred", [139, 0, 0]),
    ("lightpink", [255, 182, 193]),
];

/// A data file that cannot be used. The files are part of the program, so a test of the language finds it first.
#[derive(Debug, thiserror::Error)]
pub enum LexiconError {
    #[error("the words of {language} are no valid file: {source}")]
    Syntax { language: &'static str, source: Box<toml::de::Error> },
    #[error("the words of {language} have an unknown meaning {section}.{word}")]
    Meaning { language: &'static str, section: &'static str, word: String },
    #[error("the words of {language} have a bad template {template:?}")]
    Template { language: &'static str, template: String },
}

/// Words, numbers, templates and replies of one language.
#[derive(Debug)]
pub struct Lexicon {
    pub language: &'static str,
    /// Whether words are separated by spaces.
    pub spaced: bool,
    /// Whether number words are Chinese (十, 百, 半) or Western (twenty six).
    pub han_numbers: bool,
    /// Whether "21,5" is a decimal number.
    pub decimal_comma: bool,
    /// Whether "and" stands between tens and ones.
    pub and_in_tens: bool,
    /// Whether it has words of their own for days of the week as a habit ("montags").
    pub says_habits: bool,
    pub number_words: HashMap<String, f64>,
    /// Numbers of several words by their first one, longest first.
    pub number_phrases: HashMap<String, Vec<(Vec<String>, f64)>>,
    /// What stands between the parts of a compound ("Küche-n-licht"); none where words are not joined.
    pub joints: Vec<String>,
    /// Pronouns written at the end of a verb, with the word that each stands for: "la" of "apágala".
    pub enclitics: Vec<(String, String)>,
    /// Question words that are none without their accent, beside a verb: "que Robi limpie".
    pub unasked: HashSet<String>,
    /// Words of saying and thinking: what follows them may be somebody's words.
    pub quoting: HashSet<String>,
    /// How somebody begins who tells of himself: "I am", "acabo de".
    pub tellers: Vec<Vec<String>>,
    pub templates: Vec<Template>,
    /// Words in the names of scenes that serve an occasion.
    pub scenes: Vec<(Occasion, Vec<Vec<String>>)>,
    /// Questions about the past, see `history`.
    pub past: Vec<Past>,
    /// First, second, third …
    pub ordinals: Vec<String>,
    /// Names of days, months and sentences of the replies.
    replies: BTreeMap<String, String>,
    /// Phrases by their first key, longest first.
    phrases: HashMap<String, Vec<Phrase>>,
    /// Talk by its keys, without what fills sentences.
    talks: HashMap<String, Talk>,
    /// The plainest word for each kind of thing: the first of its list.
    common: HashSet<Vec<String>>,
    /// By the first key of the verb.
    separable: HashMap<String, Vec<Separable>>,
    fold_accents: bool,
    elisions: HashSet<String>,
    color_names: HashMap<usize, String>,
    /// Plurals that no ending tells, with their singular.
    forms: HashMap<String, String>,
    stems: Vec<(String, String)>,
    keep: HashSet<String>,
    contractions: HashMap<String, Vec<String>>,
    traditional: HashMap<char, char>,
    floor_words: Vec<String>,

    /// What stands after the number of a thing: 号.
    counters: Vec<String>,
    same_places: Vec<Vec<Vec<String>>>,
    /// The first words of `outside` and `critical`: a name without any of them is neither.
    marked: HashSet<String>,
    outside: Vec<Vec<String>>,
    critical: Vec<Vec<String>>,
}

/// A phrase and its meanings.
#[derive(Debug)]
pub struct Phrase {
    pub keys: Vec<String>,
    pub senses: Vec<Sense>,
}

impl Lexicon {
    /// The keys of a phrase or a name, without marks.
    pub fn keys(&self, text: &str) -> Vec<String> {
        text::tokens(text, self)
            .into_iter()
            .filter(|token| token.kind != Kind::Mark)
            .map(|token| token.key)
            .collect()
    }

    /// Phrases that may begin with `key`, longest first.
    pub fn starting(&self, key: &str) -> &[Phrase] {
        self.phrases.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether a word for a kind says nothing special about the thing: "light", and not "chandelier".
    pub fn is_common(&self, keys: &[String]) -> bool {
        self.common.contains(keys)
    }

    /// The verbs in two parts that begin with `key`, in the order of the data file.
    pub fn separables(&self, key: &str) -> impl Iterator<Item = &Separable> {
        self.separable.get(key).into_iter().flatten()
    }

    /// A word without apostrophes, and without accents where the language is often written without.
    pub fn folded(&self, word: &str) -> String {
        let plain = word.chars().filter(|character| *character != '\'');
        if !self.fold_accents || word.is_ascii() {
            return plain.collect();
        }
        let mut folded = String::with_capacity(word.len());
        for character in plain.nfd() {
            match character {
                '\u{0300}'..='\u{036f}' => {}
                'ß' => folded.push_str("ss"),
                'œ' => folded.push_str("oe"),
                other => folded.push(other),
            }
        }
        folded
    }

    /// Whether a word with an apostrophe after it is one of its own: "l'".
    pub fn elides(&self, word: &str) -> bool {
        self.elisions.contains(word)
    }

    /// A word without its plural ending, apostrophes and accents.
    pub fn stem(&self, word: &str) -> String {
        let word = self.folded(word);
        if let Some(form) = self.forms.get(&word) {
            return form.clone();
        }
        if self.keep.contains(&word) || word.chars().count() < 4 {
            return word;
        }
        for (ending, becomes) in &self.stems {
            if let Some(stem) = word.strip_suffix(ending.as_str())
                && stem.chars().count() >= 2
            {
                return format!("{stem}{becomes}");
            }
        }
        word
    }

    pub fn contraction(&self, word: &str) -> Option<&[String]> {
        self.contractions.get(word).map(Vec::as_slice)
    }

    pub fn simplified(&self, character: char) -> char {
        self.traditional.get(&character).copied().unwrap_or(character)
    }

    /// Whether the phrase with exactly these keys can mean `sense`.
    pub fn has_phrase(&self, keys: &[String], sense: Sense) -> bool {
        let Some(first) = keys.first() else { return false };
        self.starting(first).iter().any(|phrase| phrase.keys == keys && phrase.senses.contains(&sense))
    }

    /// Whether a word can mean `sense` by itself.
    pub fn means(&self, key: &str, sense: Sense) -> bool {
        let says = |phrase: &Phrase| phrase.keys.len() == 1 && phrase.senses.contains(&sense);
        self.starting(key).iter().any(says)
    }

    /// The word for a colour, by its index.
    pub fn color_name(&self, color: usize) -> Option<&str> {
        self.color_names.get(&color).map(String::as_str)
    }

    /// A reply by its key, with `{name}` filled from `values`.
    pub fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        let mut text = self.replies.get(key).cloned().unwrap_or_default();
        for (name, value) in values {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    /// A reply without fields, `None` where the language has none.
    pub fn phrase(&self, key: &str) -> Option<&str> {
        self.replies.get(key).map(String::as_str)
    }

    /// What is said to the house itself, whatever fills the sentence: "wer hat dich eigentlich gemacht".
    pub fn talk_of(&self, tokens: &[Token]) -> Option<Talk> {
        let keys: Vec<&str> = tokens
            .iter()
            .filter(|token| token.kind != Kind::Mark && !self.fills(&token.key))
            .map(|token| token.key.as_str())
            .collect();
        self.talks.get(&keys.join(" ")).copied().filter(|_| keys.len() > 1)
    }

    /// Whether a word alone may say nothing.
    pub(super) fn fills(&self, key: &str) -> bool {
        let filler = |phrase: &Phrase| {
            phrase.keys.len() == 1
                && phrase
                    .senses
                    .iter()
                    .any(|sense| matches!(sense, Sense::Word(Word::Filler | Word::Polite | Word::Opening)))
        };
        self.starting(key).iter().any(filler)
    }

    /// How many tokens of `text` are words of this language, and of how many.
    pub fn hits(&self, text: &str) -> (usize, usize) {
        let tokens = text::tokens(text, self);
        let counted =
            |token: &&text::Token| token.kind == if self.han_numbers { Kind::Han } else { Kind::Word };
        let known = tokens
            .iter()
            .filter(counted)
            .filter(|token| {
                self.phrases.contains_key(&token.key) || self.number_words.contains_key(&token.key)
            })
            .count();
        (known, tokens.iter().filter(|token| token.kind != Kind::Mark).count())
    }
}

impl Lexicon {
    /// Names under which a floor is known: "Ground" is also "ground floor", 一层 also 一楼.
    pub fn floor_names(&self, name: &str) -> Vec<Vec<String>> {
        let keys = self.keys(name);
        let mut all = vec![keys.clone()];
        let bare: Vec<String> = keys.iter().filter(|key| !self.floor_words.contains(*key)).cloned().collect();
        let numbered =
            bare.iter().all(|key| self.number_words.contains_key(key) || key.parse::<u8>().is_ok());
        if bare.is_empty() || (self.han_numbers && !numbered) {
            return all;
        }
        for word in &self.floor_words {
            let mut with = bare.clone();
            with.push(word.clone());
            if !all.contains(&with) {
                all.push(with);
            }
        }
        all
    }

    /// Other words for the place with these keys.
    pub fn same_place(&self, keys: &[String]) -> Vec<Vec<String>> {
        self.same_places
            .iter()
            .filter(|group| group.iter().any(|name| name == keys))
            .flatten()
            .filter(|name| name.as_slice() != keys)
            .cloned()
            .collect()
    }

    /// Other ways to say a name with a number in it: "bedroom three" and "third bedroom", 卧室三 and 三号卧室.
    pub fn counted_names(&self, keys: &[String]) -> Vec<Vec<String>> {
        let number = |key: &String| key.parse::<u32>().ok().filter(|number| (1..=20).contains(number));
        let Some((at, number)) = keys.iter().enumerate().find_map(|(at, key)| Some((at, number(key)?)))
        else {
            return Vec::new();
        };
        let mut all = Vec::new();
        let said = self.number_words.iter().filter(|(_, value)| **value == f64::from(number));
        for word in said.map(|(word, _)| word.clone()) {
            let mut other = keys.to_vec();
            if let Some(key) = other.get_mut(at) {
                key.clone_from(&word);
            }
            all.push(other);
            if let Some(mark) = self.counters.first() {
                all.push([vec![word, mark.clone()], without(keys, at)].concat());
            }
        }
        if let Some(mark) = self.counters.first() {
            let key = keys.get(at).cloned().into_iter().chain([mark.clone()]).collect();
            all.push([key, without(keys, at)].concat());
        }
        if let Some(ordinal) = usize::try_from(number).ok().and_then(|number| self.ordinals.get(number - 1)) {
            all.push([self.keys(ordinal), without(keys, at)].concat());
        }
        all
    }

    /// Whether a name has a word that may say that it is outside, or that it is not to be swept up.
    pub fn is_marked(&self, keys: &[String]) -> bool {
        keys.iter().any(|key| self.marked.contains(key))
    }

    pub fn is_outside(&self, keys: &[String]) -> bool {
        contains_any(keys, &self.outside)
    }

    /// Whether a name says that the thing must not be swept up by "everything".
    pub fn is_critical(&self, keys: &[String]) -> bool {
        contains_any(keys, &self.critical)
    }
}

fn without(keys: &[String], at: usize) -> Vec<String> {
    keys.iter().enumerate().filter(|(position, _)| *position != at).map(|(_, key)| key.clone()).collect()
}

fn contains_any(keys: &[String], phrases: &[Vec<String>]) -> bool {
    phrases.iter().any(|phrase| {
        !phrase.is_empty() && keys.windows(phrase.len()).any(|window| window == phrase.as_slice())
    })
}

impl Lexicon {
    /// Single words for kinds of things and for settings: what a misspelt word may be.
    pub fn kind_words(&self) -> impl Iterator<Item = &str> {
        self.phrases.values().flatten().filter_map(|phrase| match phrase.keys.as_slice() {
            [word]
                if phrase
                    .senses
                    .iter()
                    .any(|sense| matches!(sense, Sense::Class(_) | Sense::Attribute(_))) =>
            {
                Some(word.as_str())
            }
            _ => None,
        })
    }
}
