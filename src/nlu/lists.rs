//! Which list a few words name: by its name, or by its kind.

use crate::home::{Domain, EntityId};

use super::command::Command;
use super::index::Item;
use super::lexicon::Sense;
use super::text::Token;
use super::vocabulary::{Class, Word};

/// Which list a few words name.
pub enum ListFound {
    One(EntityId),
    /// The house keeps no list entity: homeloop's own.
    Own,
    Several(Vec<EntityId>),
}

impl Command<'_> {
    fn lists(&self) -> impl Iterator<Item = &Item> {
        self.index
            .of_class(Class::List)
            .iter()
            .filter_map(|item| self.index.items.get(*item))
            .filter(|item| item.entity.domain() == Domain::Todo)
    }

    /// The list that these words name: by its name, or by its kind.
    pub fn list(&self, said: &[Token]) -> Option<ListFound> {
        if self.lexicon.han_numbers
            && let Some(found) = self.han_list(said)
        {
            return Some(found);
        }
        let mut words: Vec<&str> = Vec::new();
        let mut class = None;
        let mut at = 0;
        while let Some(token) = said.get(at) {
            let phrase = self.lexicon.starting(&token.key).iter().find(|phrase| {
                phrase
                    .keys
                    .iter()
                    .enumerate()
                    .all(|(offset, key)| said.get(at + offset).is_some_and(|token| token.key == *key))
                    && phrase.senses.iter().any(|sense| {
                        matches!(
                            sense,
                            Sense::Class(Class::List | Class::ShoppingList | Class::TaskList)
                                | Sense::Word(Word::Filler)
                        )
                    })
            });
            match phrase {
                Some(phrase) => {
                    for sense in &phrase.senses {
                        if let Sense::Class(kind @ (Class::ShoppingList | Class::TaskList)) = sense {
                            class = Some(*kind);
                        } else if *sense == Sense::Class(Class::List) {
                            class = class.or(Some(Class::List));
                        }
                    }
                    at += phrase.keys.len();
                }
                None => {
                    words.push(self.without_list(&token.key));
                    at += 1;
                }
            }
        }
        if words.is_empty() { class.map(|class| self.list_of_kind(class)) } else { self.list_named(&words) }
    }

    /// "Haushaltsliste" is the list "Haushalt", where words are joined.
    fn without_list<'w>(&self, word: &'w str) -> &'w str {
        let list = |kind: &str| self.lexicon.means(kind, Sense::Class(Class::List));
        let parts = word.char_indices().map(|(at, _)| word.split_at(at));
        let named = |name: &&str| self.lists().any(|item| item.words.iter().any(|word| word == name));
        parts
            .filter(|(_, kind)| !self.lexicon.joints.is_empty() && list(kind))
            .find_map(|(name, _)| {
                let stems = self.lexicon.joints.iter().filter_map(|joint| name.strip_suffix(joint.as_str()));
                stems.into_iter().find(named)
            })
            .unwrap_or(word)
    }

    /// A list by its name, or its name with 清单 behind it.
    fn han_list(&self, said: &[Token]) -> Option<ListFound> {
        let text: String = said.iter().map(|token| token.text.as_str()).collect();
        let article = self.numbers(said).word(0, Word::Article).and_then(|length| said.get(..length));
        let article: String = article.into_iter().flatten().map(|token| token.text.as_str()).collect();
        // 我的个人待办 has an article before the name, 个人待办 only what looks like one.
        let forms = [text.as_str(), text.strip_prefix(article.as_str()).unwrap_or(&text)];
        let list = |rest: &str| {
            rest.is_empty() || self.lexicon.has_phrase(&self.lexicon.keys(rest), Sense::Class(Class::List))
        };
        let named = |item: &&Item| {
            item.entity
                .all_names()
                .any(|name| forms.iter().any(|text| text.strip_prefix(name).is_some_and(list)))
        };
        let found: Vec<EntityId> = self.lists().filter(named).map(|item| item.entity.id.clone()).collect();
        match found.as_slice() {
            [one] => Some(ListFound::One(one.clone())),
            [] => None,
            _ => Some(ListFound::Several(found)),
        }
    }

    fn list_named(&self, words: &[&str]) -> Option<ListFound> {
        let found: Vec<EntityId> = self
            .lists()
            .filter(|item| {
                let han = words.iter().all(|word| word.chars().all(super::text::is_han));
                if han {
                    let said = words.concat();
                    said.chars().count() >= 2 && item.entity.all_names().any(|name| name.contains(&said))
                } else {
                    words.iter().all(|word| item.words.iter().any(|known| known == word))
                }
            })
            .map(|item| item.entity.id.clone())
            .collect();
        match found.as_slice() {
            [] => None,
            [one] => Some(ListFound::One(one.clone())),
            _ => Some(ListFound::Several(found)),
        }
    }

    /// "the list" is the only one; a shopping list is the one that is called so, or the only one that is no task list.
    pub fn list_of_kind(&self, class: Class) -> ListFound {
        let ids = |test: &dyn Fn(&Item) -> bool| -> Vec<EntityId> {
            self.lists().filter(|item| test(item)).map(|item| item.entity.id.clone()).collect()
        };
        let all = ids(&|_| true);
        let special = matches!(class, Class::ShoppingList | Class::TaskList);
        let mut found = if special { ids(&|item| item.named.contains(&class)) } else { all.clone() };
        if found.is_empty() {
            let other = if class == Class::ShoppingList { Class::TaskList } else { Class::ShoppingList };
            found = ids(&|item| !item.named.contains(&other));
        }
        if all.is_empty() {
            return ListFound::Own;
        }
        match found.as_slice() {
            [one] => ListFound::One(one.clone()),
            [] => ListFound::Several(all),
            _ => ListFound::Several(found),
        }
    }
}
