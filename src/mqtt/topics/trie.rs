//! Finds the subscribers of a message among many filters, without allocating.

use std::collections::HashMap;

/// Filters, each with its values, arranged by level. A lookup walks only the levels that exist.
#[derive(Debug, Clone)]
pub struct FilterTrie<V> {
    root: Node<V>,
    len: usize,
}

#[derive(Debug, Clone)]
struct Node<V> {
    literal: HashMap<Box<str>, Node<V>>,
    any: Option<Box<Node<V>>>,
    /// Values of the filter that ends here.
    here: Vec<V>,
    /// Values of the filter that ends with `#` here.
    rest: Vec<V>,
}

impl<V> Default for FilterTrie<V> {
    fn default() -> Self {
        Self { root: Node::new(), len: 0 }
    }
}

impl<V> FilterTrie<V> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of values held.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a value under a filter, which [`super::check_filter`] has accepted. Equal values may stand twice.
    pub fn insert(&mut self, filter: &str, value: V) {
        self.len += 1;
        let mut node = &mut self.root;
        for level in filter.split('/') {
            node = match level {
                "#" => {
                    node.rest.push(value);
                    return;
                }
                "+" => node.any.get_or_insert_with(|| Box::new(Node::new())),
                _ => node.literal.entry(level.into()).or_insert_with(Node::new),
            };
        }
        node.here.push(value);
    }

    /// Removes the values under exactly this filter for which `gone` says so; gives back how many.
    pub fn remove(&mut self, filter: &str, gone: impl FnMut(&V) -> bool) -> usize {
        let removed = self.root.remove(Some(filter), gone);
        self.len -= removed;
        removed
    }

    /// Calls `found` with every value whose filter matches `topic`.
    pub fn for_each<'a>(&'a self, topic: &str, mut found: impl FnMut(&'a V)) {
        self.root.walk(Some(topic), topic.starts_with('$'), &mut found);
    }
}

impl<V> Node<V> {
    fn new() -> Self {
        Self { literal: HashMap::new(), any: None, here: Vec::new(), rest: Vec::new() }
    }

    /// `left` is what of the topic lies below this node; `None` when the topic ends here.
    fn walk<'a>(&'a self, left: Option<&str>, dollar: bool, found: &mut impl FnMut(&'a V)) {
        if !dollar {
            self.rest.iter().for_each(&mut *found);
        }
        let Some(left) = left else {
            self.here.iter().for_each(found);
            return;
        };
        let (level, below) = cut(left);
        if let Some(node) = self.literal.get(level) {
            node.walk(below, false, found);
        }
        if let Some(node) = &self.any
            && !dollar
        {
            node.walk(below, false, found);
        }
    }

    fn remove(&mut self, left: Option<&str>, mut gone: impl FnMut(&V) -> bool) -> usize {
        let Some(left) = left else { return take(&mut self.here, gone) };
        let (level, below) = cut(left);
        match level {
            "#" => take(&mut self.rest, gone),
            "+" => {
                let Some(node) = &mut self.any else { return 0 };
                let removed = node.remove_dyn(below, &mut gone);
                if node.is_empty() {
                    self.any = None;
                }
                removed
            }
            _ => {
                let Some(node) = self.literal.get_mut(level) else { return 0 };
                let removed = node.remove_dyn(below, &mut gone);
                if node.is_empty() {
                    self.literal.remove(level);
                }
                removed
            }
        }
    }

    /// Breaks the chain of ever new closure types that the recursion would make.
    fn remove_dyn(&mut self, left: Option<&str>, gone: &mut dyn FnMut(&V) -> bool) -> usize {
        self.remove(left, gone)
    }

    fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.any.is_none() && self.here.is_empty() && self.rest.is_empty()
    }
}

fn cut(topic: &str) -> (&str, Option<&str>) {
    match topic.split_once('/') {
        Some((level, below)) => (level, Some(below)),
        None => (topic, None),
    }
}

fn take<V>(values: &mut Vec<V>, mut gone: impl FnMut(&V) -> bool) -> usize {
    let before = values.len();
    values.retain(|value| !gone(value));
    before - values.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{check_filter, matches};
    use super::*;

    fn found(trie: &FilterTrie<u32>, topic: &str) -> Vec<u32> {
        let mut found = Vec::new();
        trie.for_each(topic, |value| found.push(*value));
        found.sort_unstable();
        found
    }

    #[test]
    fn dollar_topics_are_hidden_from_first_level_wildcards_only() {
        let mut trie = FilterTrie::new();
        for (value, filter) in
            ["#", "+/x", "$SYS/#", "valetudo/+/$state", "valetudo/#"].into_iter().enumerate()
        {
            trie.insert(filter, value as u32);
        }
        assert_eq!(found(&trie, "$SYS/x"), [2]);
        assert_eq!(found(&trie, "valetudo/robot/$state"), [0, 3, 4]);
        assert_eq!(found(&trie, "$SYS"), [2]);
    }

    #[test]
    fn removal_leaves_nothing_behind() {
        let mut trie = FilterTrie::new();
        trie.insert("a/+/c/#", 1);
        trie.insert("a/+/c/#", 2);
        trie.insert("a/b", 3);
        assert_eq!(trie.remove("a/+/c/#", |value| *value == 1), 1);
        assert_eq!(found(&trie, "a/x/c/d"), [2]);
        assert_eq!(trie.remove("a/+/c/#", |_| true), 1);
        assert_eq!(trie.remove("a/b", |_| true), 1);
        assert_eq!(trie.remove("a/b", |_| true), 0);
        assert!(trie.is_empty() && trie.root.is_empty());
    }

    proptest! {
        #[test]
        fn finds_exactly_what_matches(
            filters in prop::collection::vec("(([ab$+]|ab|)/){0,3}([ab$+#]|)", 1..20),
            topic in "(([ab$]|ab|)/){0,3}([ab$]|)",
        ) {
            let filters: Vec<_> = filters.into_iter().filter(|filter| check_filter(filter).is_ok()).collect();
            let mut trie = FilterTrie::new();
            for (value, filter) in filters.iter().enumerate() {
                trie.insert(filter, value as u32);
            }
            let expected: Vec<u32> = (0_u32..).zip(&filters)
                .filter(|(_, filter)| matches(filter, &topic)).map(|(value, _)| value).collect();
            prop_assert_eq!(found(&trie, &topic), expected);
            for filter in &filters {
                trie.remove(filter, |_| true);
            }
            prop_assert!(trie.is_empty() && trie.root.is_empty());
        }
    }
}
