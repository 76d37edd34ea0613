//! Reads the data file of a language. What its sections mean is in docs/understanding.md.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

use super::{COLORS, Lexicon, LexiconError, Phrase, Sense};
use crate::nlu::history::Past;
use crate::nlu::separable::Separable;
use crate::nlu::template::Template;
use crate::nlu::vocabulary::{Attribute, Class, Mode, Occasion, Pred, Remark, StateWord, Talk, Word};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    spaced: bool,
    han_numbers: bool,
    floor_words: Vec<String>,
    same_places: Vec<Vec<String>>,
    outside: Vec<String>,
    critical: Vec<String>,
    #[serde(default)]
    ordinals: Vec<String>,
    #[serde(default)]
    counters: Vec<String>,
    #[serde(default)]
    decimal_comma: bool,
    #[serde(default)]
    and_in_tens: bool,
    #[serde(default)]
    fold_accents: bool,
    #[serde(default)]
    elisions: Vec<String>,
    #[serde(default)]
    joints: Vec<String>,
    #[serde(default)]
    enclitics: Vec<(String, String)>,
    #[serde(default)]
    unasked: HashSet<String>,
    #[serde(default)]
    quoting: HashSet<String>,
    #[serde(default)]
    tellers: Vec<String>,
    #[serde(default)]
    forms: BTreeMap<String, String>,
    #[serde(default)]
    plurals: Vec<(String, String)>,
    #[serde(default)]
    keep: Vec<String>,
    #[serde(default)]
    traditional: String,
    #[serde(default)]
    simplified: String,
    #[serde(default)]
    contractions: BTreeMap<String, String>,
    #[serde(default)]
    numbers: BTreeMap<String, f64>,
    #[serde(default)]
    separable: Words,
    pred: Words,
    state: Words,
    such: Words,
    class: Words,
    attribute: Words,
    word: Words,
    mode: Words,
    remark: Words,
    occasion: Words,
    talk: Words,
    scene: Words,
    color: Words,
    white: Words,
    level: Words,
    template: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    history: Vec<(String, String)>,
    reply: BTreeMap<String, String>,
}

type Words = BTreeMap<String, Vec<String>>;

impl Lexicon {
    /// Reads the data file of `language`.
    ///
    /// # Errors
    /// It is no valid file, or has a meaning or a template that the program does not know.
    pub fn read(language: &'static str, file: &str) -> Result<Self, LexiconError> {
        let mut file: File = toml::from_str(file)
            .map_err(|source| LexiconError::Syntax { language, source: Box::new(source) })?;
        let mut lexicon = Self::bare(language, &mut file);
        for (asked, now) in &file.history {
            let past = Past::read(asked, now);
            let wrong = || LexiconError::Template { language, template: asked.clone() };
            lexicon.past.push(past.ok_or_else(wrong)?);
        }
        lexicon.ordinals = file.ordinals.iter().map(|word| lexicon.stem(word)).collect();
        lexicon.floor_words = file.floor_words.iter().map(|word| lexicon.stem(word)).collect();
        let keys = |names: &Vec<String>| names.iter().map(|name| lexicon.keys(name)).collect::<Vec<_>>();
        let (same_places, outside, critical) =
            (file.same_places.iter().map(keys).collect(), keys(&file.outside), keys(&file.critical));
        let tellers = keys(&file.tellers);
        (lexicon.same_places, lexicon.outside, lexicon.critical) = (same_places, outside, critical);
        let all = lexicon.outside.iter().chain(&lexicon.critical);
        lexicon.marked = all.filter_map(|keys| keys.first().cloned()).collect();
        lexicon.tellers = tellers;
        lexicon.numbers(&file.numbers);
        lexicon.meanings(&file)?;
        lexicon.verbs_in_two_parts(&file.separable)?;
        for (word, names) in &file.scene {
            let occasion = Occasion::from_word(word).ok_or_else(|| LexiconError::Meaning {
                language,
                section: "scene",
                word: word.clone(),
            })?;
            let names = names.iter().map(|name| lexicon.keys(name)).collect();
            lexicon.scenes.push((occasion, names));
        }
        for (kind, lines) in &file.template {
            for line in lines {
                let template = Template::read(kind, line, &lexicon)
                    .ok_or_else(|| LexiconError::Template { language, template: line.clone() })?;
                lexicon.templates.push(template);
            }
        }
        lexicon.talks(&file.talk);
        // "{item} auf die Liste" would also take "streiche Milch auf der Liste".
        lexicon.templates.sort_by_key(Template::begins_free);
        lexicon.says_habits = file.word.get(Word::Weekly.word()).is_some_and(|words| !words.is_empty());
        for phrases in lexicon.phrases.values_mut() {
            phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.keys.len()));
        }
        Ok(lexicon)
    }

    /// With what cuts and stems words, and without any.
    fn bare(language: &'static str, file: &mut File) -> Self {
        let mut lexicon = Self {
            language,
            spaced: file.spaced,
            han_numbers: file.han_numbers,
            decimal_comma: file.decimal_comma,
            and_in_tens: file.and_in_tens,
            says_habits: false,
            number_words: HashMap::new(),
            number_phrases: HashMap::new(),
            joints: std::mem::take(&mut file.joints),
            enclitics: std::mem::take(&mut file.enclitics),
            unasked: std::mem::take(&mut file.unasked),
            quoting: std::mem::take(&mut file.quoting),
            tellers: Vec::new(),
            templates: Vec::new(),
            scenes: Vec::new(),
            past: Vec::new(),
            replies: std::mem::take(&mut file.reply),
            phrases: HashMap::new(),
            talks: HashMap::new(),
            common: HashSet::new(),
            separable: HashMap::new(),
            fold_accents: file.fold_accents,
            color_names: HashMap::new(),
            elisions: std::mem::take(&mut file.elisions).into_iter().collect(),
            forms: HashMap::new(),
            stems: std::mem::take(&mut file.plurals),
            keep: HashSet::new(),
            contractions: std::mem::take(&mut file.contractions)
                .into_iter()
                .map(|(from, to)| (from, to.split_whitespace().map(str::to_owned).collect()))
                .collect(),
            traditional: file.traditional.chars().zip(file.simplified.chars()).collect(),
            floor_words: Vec::new(),
            ordinals: Vec::new(),
            counters: std::mem::take(&mut file.counters),
            same_places: Vec::new(),
            marked: HashSet::new(),
            outside: Vec::new(),
            critical: Vec::new(),
        };
        let fold = |words: Vec<String>| words.iter().map(|word| lexicon.folded(word)).collect();
        let keep = fold(std::mem::take(&mut file.keep));
        let forms = std::mem::take(&mut file.forms);
        let forms = forms.iter().map(|(from, to)| (lexicon.folded(from), lexicon.folded(to))).collect();
        (lexicon.keep, lexicon.forms) = (keep, forms);
        lexicon
    }

    fn numbers(&mut self, numbers: &BTreeMap<String, f64>) {
        for (words, value) in numbers {
            let mut keys = self.keys(words);
            match (keys.pop(), keys.first().cloned()) {
                (Some(word), None) => {
                    self.number_words.insert(word, *value);
                }
                (Some(last), Some(first)) => {
                    keys.push(last);
                    self.number_phrases.entry(first).or_default().push((keys, *value));
                }
                (None, _) => {}
            }
        }
        for phrases in self.number_phrases.values_mut() {
            phrases.sort_by_key(|(keys, _)| std::cmp::Reverse(keys.len()));
        }
    }

    fn talks(&mut self, words: &Words) {
        for (word, phrases) in words {
            let Some(talk) = Talk::from_word(word) else { continue };
            for phrase in phrases {
                let keys = self.keys(phrase);
                let said: Vec<&str> =
                    keys.iter().map(String::as_str).filter(|key| !self.fills(key)).collect();
                let said = said.join(" ");
                self.talks.entry(said).or_insert(talk);
            }
        }
    }

    /// "mach|mache … an|ein": every verb with every particle.
    fn verbs_in_two_parts(&mut self, words: &Words) -> Result<(), LexiconError> {
        for (word, lines) in words {
            let bad = || LexiconError::Meaning {
                language: self.language,
                section: "separable",
                word: word.clone(),
            };
            let except = (word == Word::Except.word()).then_some(Sense::Word(Word::Except));
            let meaning = Pred::from_word(word).map(Sense::Pred).or(except).ok_or_else(bad)?;
            for line in lines {
                let (verbs, particles) = line.split_once('…').ok_or_else(bad)?;
                for verb in verbs.split('|').map(|verb| self.keys(verb)).collect::<Vec<_>>() {
                    let Some(first) = verb.first().cloned() else { continue };
                    for particle in particles.split('|') {
                        let particle = self.keys(particle);
                        let separable = Separable { verb: verb.clone(), particle, meaning };
                        self.separable.entry(first.clone()).or_default().push(separable);
                    }
                }
            }
        }
        Ok(())
    }

    fn meanings(&mut self, file: &File) -> Result<(), LexiconError> {
        self.section("pred", &file.pred, |word| Pred::from_word(word).map(Sense::Pred))?;
        self.section("state", &file.state, |word| StateWord::from_word(word).map(Sense::State))?;
        self.section("such", &file.such, |word| StateWord::from_word(word).map(Sense::Such))?;
        self.section("class", &file.class, |word| Class::from_word(word).map(Sense::Class))?;
        self.section("attribute", &file.attribute, |word| Attribute::from_word(word).map(Sense::Attribute))?;
        self.section("word", &file.word, |word| Word::from_word(word).map(Sense::Word))?;
        self.section("mode", &file.mode, |word| Mode::from_word(word).map(Sense::Mode))?;
        self.section("remark", &file.remark, |word| Remark::from_word(word).map(Sense::Remark))?;
        self.section("occasion", &file.occasion, |word| Occasion::from_word(word).map(Sense::Occasion))?;
        self.section("talk", &file.talk, |word| Talk::from_word(word).map(Sense::Talk))?;
        let first = |words: &Vec<String>| words.first().map(|word| self.keys(word));
        self.common = file.class.values().filter_map(first).collect();
        for (color, (name, _)) in COLORS.iter().enumerate() {
            if let Some(word) = file.color.get(*name).and_then(|words| words.first()) {
                self.color_names.insert(color, word.clone());
            }
        }
        self.section("color", &file.color, |word| {
            COLORS.iter().position(|(name, _)| *name == word).map(Sense::Color)
        })?;
        self.section("white", &file.white, |word| word.parse().ok().map(Sense::White))?;
        self.section("level", &file.level, |word| word.parse().ok().map(Sense::Level))
    }

    fn section(
        &mut self,
        section: &'static str,
        words: &Words,
        sense: impl Fn(&str) -> Option<Sense>,
    ) -> Result<(), LexiconError> {
        for (word, phrases) in words {
            let sense = sense(word).ok_or_else(|| LexiconError::Meaning {
                language: self.language,
                section,
                word: word.clone(),
            })?;
            for phrase in phrases {
                let keys = self.keys(phrase);
                let Some(first) = keys.first().cloned() else { continue };
                let list = self.phrases.entry(first).or_default();
                match list.iter_mut().find(|phrase| phrase.keys == keys) {
                    Some(known) => known.senses.push(sense),
                    None => list.push(Phrase { keys, senses: vec![sense] }),
                }
            }
        }
        Ok(())
    }
}
