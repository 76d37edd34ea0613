//! Commands that hold free text: lists, announcements, and what to play.

use crate::home::{Action, Arg, ArgValue, Domain, Verb};

use super::command::Command;
use super::index::Item;
use super::kinds::belongs;
use super::lexicon::Sense;
use super::lists::ListFound;
use super::number::Numbers;
use super::template::{Purpose, Slot, Slots};
use super::text::{Kind, Token, joined};
use super::understand::Sentence;
use super::understanding::{Intent, ListChange, RefuseReason, ScheduleChoice, Understanding};
use super::vocabulary::{Class, Word};

/// Free text without quotation marks around it, and without what introduces it.
fn unquoted(said: &[Token]) -> &[Token] {
    let mark = |token: &Token| token.kind == Kind::Mark;
    match said {
        [first, inner @ .., last] if mark(first) && mark(last) && !inner.is_empty() => inner,
        [first, rest @ ..] if mark(first) && !rest.is_empty() => rest,
        // "The bread, check it off"
        [rest @ .., last] if mark(last) && !rest.is_empty() => rest,
        _ => said,
    }
}

impl Command<'_> {
    /// Tries the templates. The free text is never read as a command.
    pub fn free_text(&self, sentence: &Sentence) -> Option<Understanding> {
        self.free_text_of(self.trimmed(&sentence.tokens), sentence)
            .or_else(|| self.free_text_of(&sentence.tokens, sentence))
    }

    fn free_text_of(&self, tokens: &[Token], sentence: &Sentence) -> Option<Understanding> {
        let explained = !sentence.row.iter().any(|span| span.is_unknown() || span.fuzzy);
        for template in &self.lexicon.templates {
            let skipped = match template.purpose {
                Purpose::Play => explained || sentence.asking,
                // "The eggs are done" tells so, "are the eggs done" asks.
                Purpose::ListAdd | Purpose::ListRemove | Purpose::ListComplete => {
                    sentence.asking && self.begins_with_question(tokens)
                }
                Purpose::ListRead
                | Purpose::Broadcast
                | Purpose::ScheduleList
                | Purpose::ScheduleCancel
                | Purpose::ScheduleCancelAll => false,
            };
            if skipped {
                continue;
            }
            let accepts = |slot: Slot, from: usize, to: usize| match slot {
                Slot::List => tokens.get(from..to).is_some_and(|said| self.list(unquoted(said)).is_some()),
                Slot::Player => tokens.get(from..to).is_some_and(|said| !self.players(said).is_empty()),
                Slot::Item => !tokens.get(from..to).is_some_and(|said| self.names_no_item(said)),
                Slot::Message | Slot::Media => true,
            };
            if let Some(slots) = template.matches(tokens, &accepts) {
                return Some(self.filled(template.purpose, tokens, &slots));
            }
        }
        None
    }

    /// Without politeness before and marks behind.
    fn trimmed<'t>(&self, tokens: &'t [Token]) -> &'t [Token] {
        let mut tokens = tokens;
        loop {
            let Some(first) = tokens.first() else { return tokens };
            let polite = self
                .lexicon
                .starting(&first.key)
                .iter()
                .filter(|phrase| {
                    phrase.senses.contains(&Sense::Word(Word::Polite))
                        || phrase.senses.contains(&Sense::Word(Word::Opening))
                })
                .find(|phrase| {
                    phrase
                        .keys
                        .iter()
                        .enumerate()
                        .all(|(at, key)| tokens.get(at).is_some_and(|token| token.key == *key))
                })
                .map(|phrase| phrase.keys.len());
            match polite.and_then(|length| tokens.get(length..)) {
                Some(rest) if !rest.is_empty() => tokens = rest,
                Some(_) | None => break,
            }
        }
        while let Some((last, rest)) = tokens.split_last() {
            let polite = last.kind == Kind::Mark || self.is_word(&last.key, Word::Closing);
            if !polite {
                break;
            }
            tokens = rest;
        }
        tokens
    }

    fn begins_with_question(&self, tokens: &[Token]) -> bool {
        let asks = [Word::Is, Word::Did, Word::What, Word::Which];
        tokens.first().is_some_and(|first| asks.iter().any(|word| self.is_word(&first.key, *word)))
    }

    /// "Everything", "what": no item of a list.
    fn names_no_item(&self, said: &[Token]) -> bool {
        let none = [Word::What, Word::Any, Word::All, Word::Not, Word::Is];
        said.iter().all(|token| {
            none.iter().any(|word| self.is_word(&token.key, *word))
                || self.lexicon.means(&token.key, Sense::Class(Class::Everything))
        })
    }

    /// "Milk, I mean oat milk" is oat milk.
    fn as_corrected<'t>(&self, said: &'t [Token]) -> &'t [Token] {
        let marked = |at: usize| said.get(at).is_some_and(|token| token.kind == Kind::Mark);
        let numbers = self.numbers(said);
        let corrects = |at: usize| {
            let after_mark = at.checked_sub(1).is_some_and(marked);
            // "Pizza, no onions" is no correction, "milk, no wait, bread" is.
            let said =
                numbers.word(at, Word::Correction).filter(|length| self.lexicon.han_numbers || *length > 1);
            let denied = || numbers.word(at, Word::No).filter(|_| self.lexicon.han_numbers);
            let length = said.or_else(denied)?;
            after_mark.then(|| at + length + usize::from(marked(at + length)))
        };
        let from = (0..said.len()).rev().find_map(corrects);
        from.and_then(|from| said.get(from..)).filter(|rest| !rest.is_empty()).unwrap_or(said)
    }

    /// Whether a key alone can mean `word`.
    fn is_word(&self, key: &str, word: Word) -> bool {
        self.lexicon.means(key, Sense::Word(word))
    }

    fn filled(&self, purpose: Purpose, tokens: &[Token], slots: &Slots) -> Understanding {
        let range = |wanted: Slot| {
            slots.iter().find(|(slot, _, _)| *slot == wanted).and_then(|(_, from, to)| tokens.get(*from..*to))
        };
        let text = |slot: Slot| {
            // What is announced stays as it was said: "dinner is ready, wait for me".
            let said =
                range(slot).map(|said| if slot == Slot::Item { self.as_corrected(said) } else { said });
            said.map(|said| joined(unquoted(said))).unwrap_or_default()
        };
        match purpose {
            Purpose::Broadcast => {
                Understanding::Act(vec![Intent::Broadcast { message: text(Slot::Message), area: None }])
            }
            Purpose::Play => self.play(self.without_kind(&text(Slot::Media)), range(Slot::Player)),
            Purpose::ScheduleList => Understanding::Act(vec![Intent::ScheduleQuery]),
            Purpose::ScheduleCancel => Understanding::Act(vec![Intent::ScheduleCancel(ScheduleChoice::Any)]),
            Purpose::ScheduleCancelAll => {
                Understanding::Act(vec![Intent::ScheduleCancel(ScheduleChoice::All)])
            }
            Purpose::ListAdd | Purpose::ListComplete | Purpose::ListRemove | Purpose::ListRead => {
                let item = text(Slot::Item);
                let change = match purpose {
                    Purpose::ListComplete => ListChange::Complete { list: None, item },
                    Purpose::ListRemove => ListChange::Remove { list: None, item },
                    Purpose::ListRead => ListChange::Read { list: None },
                    Purpose::ListAdd
                    | Purpose::Broadcast
                    | Purpose::Play
                    | Purpose::ScheduleList
                    | Purpose::ScheduleCancel
                    | Purpose::ScheduleCancelAll => ListChange::Add { list: None, item },
                };
                let list = match range(Slot::List) {
                    Some(said) => self.list(unquoted(said)),
                    None => Some(self.list_of_kind(Class::ShoppingList)),
                };
                match list {
                    Some(ListFound::Several(lists)) => self.ask_list(&lists, &change),
                    Some(ListFound::One(list)) => {
                        Understanding::Act(vec![Intent::List(change.in_list(list))])
                    }
                    Some(ListFound::Own) | None => Understanding::Act(vec![Intent::List(change)]),
                }
            }
        }
    }

    /// "Sommerhitsplaylist" is called "Sommerhits", where words are joined.
    fn without_kind<'m>(&self, media: &'m str) -> &'m str {
        let music = |kind: &str| {
            kind.len() > 4
                && self.lexicon.means(&self.lexicon.stem(&kind.to_lowercase()), Sense::Class(Class::Music))
        };
        let from = media.rfind(' ').map_or(0, |space| space + 1);
        let last = media.get(from..).unwrap_or_default();
        let cuts = last.char_indices().map(|(at, _)| from + at).skip(3);
        let name = cuts
            .filter(|_| !self.lexicon.joints.is_empty())
            .find(|at| media.get(*at..).is_some_and(music))
            .and_then(|at| media.get(..at));
        let Some(name) = name.map(|name| name.trim_end_matches(['-', ' '])) else { return media };
        match name.split_once(' ') {
            Some((first, rest)) if self.is_word(&self.lexicon.stem(&first.to_lowercase()), Word::Article) => {
                rest
            }
            Some(_) | None => name,
        }
    }

    pub fn numbers<'t>(&'t self, tokens: &'t [Token]) -> Numbers<'t> {
        Numbers { tokens, lexicon: self.lexicon }
    }

    /// Players that these words name, by name or by area.
    fn players(&self, said: &[Token]) -> Vec<usize> {
        let words: Vec<&str> = said
            .iter()
            .map(|token| token.key.as_str())
            .filter(|word| {
                ![Word::Article, Word::Link, Word::OnLink].iter().any(|link| self.is_word(word, *link))
            })
            .collect();
        if words.is_empty() {
            return Vec::new();
        }
        let fits = |position: &&usize| {
            let Some(item) = self.index.items.get(**position) else { return false };
            let area = item.area.and_then(|area| self.index.areas.get(area));
            item.entity.domain() == Domain::MediaPlayer
                && words.iter().all(|word| {
                    item.words.iter().any(|known| known == word)
                        || area.is_some_and(|area| area.keys.iter().any(|key| key == word))
                        || (area.is_none_or(|area| area.keys.is_empty()) && self.is_area_word(word))
                        || self.is_kind_of(word, item)
                })
        };
        self.index.of_class(Class::Media).iter().filter(fits).copied().collect()
    }

    /// Whether a word names the kind of an item.
    fn is_kind_of(&self, word: &str, item: &Item) -> bool {
        let kind = |sense: &Sense| matches!(sense, Sense::Class(class) if belongs(item, *class) == 2);
        self.lexicon
            .starting(word)
            .iter()
            .any(|phrase| phrase.keys.len() == 1 && phrase.senses.iter().any(kind))
    }

    fn is_area_word(&self, word: &str) -> bool {
        self.index.areas.iter().any(|area| area.keys.iter().any(|key| key == word))
    }

    fn play(&self, media: &str, player: Option<&[Token]>) -> Understanding {
        let able = |item: &Item| item.entity.action(Verb::PlayMedia).is_some();
        let mut players: Vec<usize> = match player {
            Some(said) => self.players(said),
            None => (0..self.index.items.len()).collect(),
        };
        players.retain(|item| self.index.items.get(*item).is_some_and(able));
        if players.len() > 1
            && let Some(area) = self.area()
        {
            let here: Vec<usize> = players
                .iter()
                .copied()
                .filter(|item| self.index.items.get(*item).is_some_and(|item| item.area == Some(area)))
                .collect();
            if !here.is_empty() {
                players = here;
            }
        }
        let actions: Vec<Action> = players
            .iter()
            .filter_map(|item| self.index.items.get(*item))
            .map(|item| {
                Action::new(item.entity.id.clone(), Verb::PlayMedia)
                    .with(Arg::Media, ArgValue::Text(media.to_owned()))
            })
            .collect();
        match actions.len() {
            1 => Understanding::Act(vec![Intent::Actions(actions)]),
            0 => Understanding::NotUnderstood {
                unexplained: vec![media.to_owned()],
                nearest: None,
                reply: self.say("cannot_play", &[("what", media)]),
            },
            _ => {
                let reply = self.say("not_understood", &[]);
                Understanding::Refuse { reply, reason: RefuseReason::NothingThere }
            }
        }
    }
}
