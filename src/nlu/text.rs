//! From text to tokens: one form for what is written in several ways.

use unicode_normalization::UnicodeNormalization;

use super::lexicon::Lexicon;

/// Sentences with more tokens are not read: nobody says them to a house, and time stays bounded.
pub const MAX_TOKENS: usize = 120;

/// One word, number, mark, or Chinese character.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// As written, for texts that are passed on.
    pub said: String,
    /// In lower case.
    pub text: String,
    /// Without its plural ending; what phrases and names are compared by.
    pub key: String,
    pub kind: Kind,
    /// What stood before it: white space, or a hyphen between the parts of a word.
    pub gap: Option<char>,
    pub plural: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Word,
    Number,
    Han,
    Mark,
}

/// The normal form: NFKC, one apostrophe, simplified characters.
pub fn normal(text: &str, lexicon: &Lexicon) -> String {
    if text.is_ascii() && !text.contains('`') {
        return text.to_owned();
    }
    text.nfkc()
        .map(|character| match character {
            '\u{2018}' | '\u{2019}' | '\u{02bc}' | '`' | '\u{00b4}' => '\'',
            other => lexicon.simplified(other),
        })
        .collect()
}

/// Cuts `text` into at most [`MAX_TOKENS`] + 1 tokens.
pub fn tokens(text: &str, lexicon: &Lexicon) -> Vec<Token> {
    let text = normal(text, lexicon);
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut gap = None;
    let characters: Vec<char> = text.chars().collect();
    for (position, &character) in characters.iter().enumerate() {
        let next = characters.get(position + 1).copied();
        if joins(&word, character, next, lexicon) {
            word.push(character);
            continue;
        }
        push(&mut tokens, &mut word, &mut gap, lexicon);
        if tokens.len() > MAX_TOKENS {
            return tokens;
        }
        // "Under-stairs" and "kids' room" are written in several ways; between letters these marks say nothing.
        let inside = position
            .checked_sub(1)
            .and_then(|before| characters.get(before))
            .is_some_and(|before| before.is_alphabetic());
        let next = characters.get(position + 1).copied();
        let silent = match character {
            '-' => inside && next.is_some_and(char::is_alphanumeric),
            '\'' => inside && next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if character.is_whitespace() {
            gap = Some(' ');
        } else if silent {
            gap = Some(character).filter(|character| *character == '-');
        } else if is_han(character) || !character.is_alphanumeric() {
            word.push(character);
            push(&mut tokens, &mut word, &mut gap, lexicon);
        } else {
            word.push(character);
        }
    }
    push(&mut tokens, &mut word, &mut gap, lexicon);
    tokens
}

/// Whether `character` continues `word`: letters with letters, digits with digits, and the marks inside numbers
/// ("7:30", "26.5") and words ("don't").
fn joins(word: &str, character: char, next: Option<char>, lexicon: &Lexicon) -> bool {
    let Some(last) = word.chars().last() else { return false };
    if is_han(last) || is_han(character) {
        return false;
    }
    let next_digit = next.is_some_and(|next| next.is_ascii_digit());
    let next_letter = next.is_some_and(|next| next.is_alphabetic() && !is_han(next));
    match character {
        '.' | ':' | ',' => {
            last.is_ascii_digit()
                && next_digit
                && (character != ',' || lexicon.decimal_comma || thousands(word))
                && !word.contains(character)
        }
        '\'' => last.is_alphabetic() && next_letter,
        _ if character.is_ascii_digit() => last.is_ascii_digit() || matches!(last, '.' | ':' | ','),
        _ => character.is_alphabetic() && (last.is_alphabetic() || last == '\''),
    }
}

/// "1,000" is one number, "20,30" is two.
fn thousands(word: &str) -> bool {
    word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn push(tokens: &mut Vec<Token>, word: &mut String, gap: &mut Option<char>, lexicon: &Lexicon) {
    if word.is_empty() {
        return;
    }
    let said = std::mem::take(word);
    let first = said.chars().next().unwrap_or(' ');
    let kind = match first {
        _ if first.is_ascii_digit() => Kind::Number,
        _ if is_han(first) => Kind::Han,
        _ if first.is_alphanumeric() || matches!(first, '%' | '°' | '+' | '&') => Kind::Word,
        _ => Kind::Mark,
    };
    let before = gap.take();
    if kind == Kind::Word {
        let text = said.to_lowercase();
        // "l'éclairage"
        if let (Some((article, _)), Some(at)) = (text.split_once('\''), said.find('\''))
            && lexicon.elides(article)
        {
            let (article, rest) = said.split_at(at);
            let rest = rest.trim_start_matches('\'');
            let mut article = token(article.to_owned(), Kind::Word, before, lexicon);
            article.said.push('\'');
            tokens.push(article);
            tokens.push(token(rest.to_owned(), Kind::Word, None, lexicon));
            return;
        }
        if let Some(parts) = lexicon.contraction(&text) {
            for (position, part) in parts.iter().enumerate() {
                let gap = if position > 0 { Some(' ') } else { before };
                tokens.push(token(part.clone(), Kind::Word, gap, lexicon));
            }
            return;
        }
    }
    tokens.push(token(said, kind, before, lexicon));
}

fn token(said: String, kind: Kind, gap: Option<char>, lexicon: &Lexicon) -> Token {
    let text = said.to_lowercase();
    let key = match kind {
        Kind::Word => lexicon.stem(&text),
        Kind::Number => text.replace(',', if lexicon.decimal_comma { "." } else { "" }),
        Kind::Han | Kind::Mark => text.clone(),
    };
    let plural = kind == Kind::Word && key != lexicon.folded(&text);
    Token { said, text, key, kind, gap, plural }
}

/// Han characters, the ones that are words by themselves here.
pub fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// The tokens as they were written.
pub fn joined(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        if !text.is_empty() {
            text.extend(token.gap);
        }
        text.push_str(&token.said);
    }
    text
}
