//! Compounds of German and Dutch: "Küchenlicht" is the light of the kitchen, where nothing in the house has that name.

use super::index::{HouseIndex, Target};
use super::lexicon::{Lexicon, Sense};
use super::text::{Kind, Token};
use super::vocabulary::Class;

/// Letters of a part at least.
const PART: usize = 3;

/// Cuts the words that nothing explains into a place and a kind of thing, where they are made of both.
pub fn split(tokens: Vec<Token>, lexicon: &Lexicon, index: &HouseIndex) -> Vec<Token> {
    if !lexicon.enclitics.is_empty() {
        return without_enclitics(tokens, lexicon, index);
    }
    if lexicon.joints.is_empty() {
        return tokens;
    }
    let mut all = Vec::with_capacity(tokens.len());
    for mut token in tokens {
        if let Some(name) = of_whom(&token, lexicon, index) {
            token.key = name;
        }
        match parts(&token, lexicon, index) {
            Some((place, kind)) => {
                let part = |key: String, gap| Token {
                    said: key.clone(),
                    text: key.clone(),
                    key,
                    gap,
                    ..token.clone()
                };
                all.push(part(place, token.gap));
                all.push(part(kind, None));
            }
            None => all.push(token),
        }
    }
    all
}

/// "Apágala" is "apaga" and "la": a verb with its pronoun.
fn without_enclitics(tokens: Vec<Token>, lexicon: &Lexicon, index: &HouseIndex) -> Vec<Token> {
    let verb = |key: &str| {
        let pred = |sense: &Sense| matches!(sense, Sense::Pred(_));
        lexicon.starting(key).iter().any(|phrase| phrase.keys.len() == 1 && phrase.senses.iter().any(pred))
    };
    let mut all = Vec::with_capacity(tokens.len());
    for token in tokens {
        let unknown = token.kind == Kind::Word && !is_known(&token.key, lexicon, index);
        let cut = lexicon.enclitics.iter().find_map(|(ending, pronoun)| {
            let stem = token.key.strip_suffix(ending.as_str()).filter(|stem| verb(stem))?;
            Some((stem.to_owned(), pronoun.clone()))
        });
        match cut.filter(|_| unknown) {
            Some((stem, pronoun)) => {
                let pronoun = Token {
                    said: String::new(),
                    text: pronoun.clone(),
                    key: pronoun,
                    gap: None,
                    ..token.clone()
                };
                all.push(Token { key: stem, ..token });
                all.push(pronoun);
            }
            None => all.push(token),
        }
    }
    all
}

/// "Rovers" of "Rover": a name of the house with the ending that says whose.
fn of_whom(token: &Token, lexicon: &Lexicon, index: &HouseIndex) -> Option<String> {
    let name = token.key.strip_suffix('s').filter(|name| name.len() >= PART)?;
    let unknown = token.kind == Kind::Word && !is_known(&token.key, lexicon, index);
    let named = index.starting(name).iter().any(|entry| entry.keys.len() == 1);
    (unknown && named).then(|| name.to_owned())
}

fn is_known(word: &str, lexicon: &Lexicon, index: &HouseIndex) -> bool {
    !lexicon.starting(word).is_empty() || index.with_part(word).is_some() || !index.starting(word).is_empty()
}

fn parts(token: &Token, lexicon: &Lexicon, index: &HouseIndex) -> Option<(String, String)> {
    let word = token.key.as_str();
    if token.kind != Kind::Word || is_known(word, lexicon, index) {
        return None;
    }
    word.char_indices().map(|(at, _)| word.split_at(at)).find_map(|(place, kind)| {
        let is_kind = |sense: &Sense| match sense {
            Sense::Class(class) => *class != Class::Everything,
            Sense::Attribute(_) => true,
            Sense::Pred(_)
            | Sense::State(_)
            | Sense::Such(_)
            | Sense::Word(_)
            | Sense::Mode(_)
            | Sense::Remark(_)
            | Sense::Occasion(_)
            | Sense::Talk(_)
            | Sense::Color(_)
            | Sense::White(_)
            | Sense::Level(_) => false,
        };
        let phrases = lexicon.starting(kind);
        let named = phrases.iter().any(|phrase| phrase.keys.len() == 1 && phrase.senses.iter().any(is_kind));
        if place.len() < PART || kind.len() < PART || !named {
            return None;
        }
        let scene = |sense: &Sense| matches!(sense, Sense::Class(Class::Scene | Class::Script));
        let runs = phrases.iter().any(|phrase| phrase.keys.len() == 1 && phrase.senses.iter().any(scene));
        let place = lexicon.joints.iter().find_map(|joint| {
            let stem = place.strip_suffix(joint.as_str())?;
            if runs && index.starting(stem).iter().any(|entry| entry.keys.len() == 1) {
                return Some(stem.to_owned());
            }
            // "Küchen" is of "Küche", "Dielen" of "Diele": what the joint took may belong to the name.
            [stem.to_owned(), format!("{stem}e")].into_iter().find(|name| is_place(name, index))
        })?;
        Some((place, kind.to_owned()))
    })
}

fn is_place(name: &str, index: &HouseIndex) -> bool {
    index.starting(name).iter().any(|entry| {
        entry.keys.len() == 1
            && entry.targets.iter().any(|target| matches!(target, Target::Area(_) | Target::Floor(_)))
    })
}
