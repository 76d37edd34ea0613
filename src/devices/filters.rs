//! MQTT topic filters to values: which entities read a topic.
//!
//! A trie by topic level. Looking a topic up allocates nothing, and its cost grows with the number of levels, not
//! with the number of filters. This module does not know what the values are and does no I/O.

use std::collections::HashMap;

/// Values under MQTT topic filters, with `+` and `#`.
#[derive(Debug)]
pub struct Filters<T> {
    root: Node<T>,
}

#[derive(Debug)]
struct Node<T> {
    children: HashMap<Box<str>, Node<T>>,
    /// The child for `+`.
    any: Option<Box<Node<T>>>,
    /// Values of filters that end here.
    here: Vec<T>,
    /// Values of filters that end here with `#`.
    below: Vec<T>,
}

impl<T> Default for Filters<T> {
    fn default() -> Self {
        Self { root: Node::default() }
    }
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self { children: HashMap::new(), any: None, here: Vec::new(), below: Vec::new() }
    }
}

impl<T> Filters<T> {
    /// Calls `found` for the value of every filter that matches `topic`. A value under two matching filters is
    /// found twice. Wildcards at the first level do not match topics that begin with `$` (MQTT 5, section 4.7.2).
    pub fn each_match<'a>(&'a self, topic: &str, mut found: impl FnMut(&'a T)) {
        self.root.each_match(Some(topic), !topic.starts_with('$'), &mut found);
    }
}

impl<T: PartialEq> Filters<T> {
    /// Adds `value` under `filter`.
    pub fn insert(&mut self, filter: &str, value: T) {
        let mut node = &mut self.root;
        for level in filter.split('/') {
            match level {
                "#" => {
                    node.below.push(value);
                    return;
                }
                "+" => node = node.any.get_or_insert_default(),
                _ => node = node.children.entry(level.into()).or_default(),
            }
        }
        node.here.push(value);
    }

    /// Removes one `value` under `filter`; says whether it was there.
    pub fn remove(&mut self, filter: &str, value: &T) -> bool {
        self.root.remove(Some(filter), value)
    }

    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }
}

impl<T> Node<T> {
    fn each_match<'a>(&'a self, rest: Option<&str>, wildcards: bool, found: &mut impl FnMut(&'a T)) {
        // `a/#` also matches `a` itself, so `below` counts at the end of the topic too.
        if wildcards {
            self.below.iter().for_each(&mut *found);
        }
        let Some(rest) = rest else {
            self.here.iter().for_each(&mut *found);
            return;
        };
        let (level, rest) = match rest.split_once('/') {
            Some((level, rest)) => (level, Some(rest)),
            None => (rest, None),
        };
        if let Some(child) = self.children.get(level) {
            child.each_match(rest, true, found);
        }
        if wildcards && let Some(any) = &self.any {
            any.each_match(rest, true, found);
        }
    }

    fn is_empty(&self) -> bool {
        self.children.is_empty() && self.any.is_none() && self.here.is_empty() && self.below.is_empty()
    }
}

impl<T: PartialEq> Node<T> {
    /// Removes the value and every node that is left empty.
    fn remove(&mut self, rest: Option<&str>, value: &T) -> bool {
        let take = |values: &mut Vec<T>| match values.iter().position(|known| known == value) {
            Some(at) => {
                values.swap_remove(at);
                true
            }
            None => false,
        };
        let Some(rest) = rest else { return take(&mut self.here) };
        let (level, rest) = match rest.split_once('/') {
            Some((level, rest)) => (level, Some(rest)),
            None => (rest, None),
        };
        match level {
            "#" => take(&mut self.below),
            "+" => {
                let Some(any) = &mut self.any else { return false };
                let removed = any.remove(rest, value);
                if any.is_empty() {
                    self.any = None;
                }
                removed
            }
            _ => {
                let Some(child) = self.children.get_mut(level) else { return false };
                let removed = child.remove(rest, value);
                if child.is_empty() {
                    self.children.remove(level);
                }
                removed
            }
        }
    }
}

/// Whether `filter` matches `topic`. A wildcard at the first level does not match a topic that begins with `$`.
pub fn matches(filter: &str, topic: &str) -> bool {
    if filter == topic {
        return true;
    }
    if !filter.contains(['+', '#']) || (topic.starts_with('$') && filter.starts_with(['+', '#'])) {
        return false;
    }
    let mut levels = topic.split('/');
    for wanted in filter.split('/') {
        match (wanted, levels.next()) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (wanted, Some(level)) if wanted == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

/// Whether `topic` may be published to: 1 to 65535 bytes, no wildcard, no NUL (MQTT 5, section 4.7).
pub fn is_topic(topic: &str) -> bool {
    !topic.is_empty() && topic.len() <= 65_535 && !topic.contains(['+', '#', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(filters: &Filters<usize>, topic: &str) -> Vec<usize> {
        let mut values = Vec::new();
        filters.each_match(topic, |value| values.push(*value));
        values.sort_unstable();
        values
    }

    #[test]
    fn filters_match_as_the_standard_says() {
        let filters = ["a/b", "a/+", "a/#", "#", "+/b", "+", "$SYS/#", "$SYS/+", "a//b", "/a", "+/+"];
        let mut trie = Filters::default();
        for (number, filter) in filters.iter().enumerate() {
            trie.insert(filter, number);
        }
        let named = |topic: &str| -> Vec<&str> {
            found(&trie, topic).into_iter().map(|number| filters[number]).collect()
        };
        assert_eq!(named("a/b"), ["a/b", "a/+", "a/#", "#", "+/b", "+/+"]);
        assert_eq!(named("a"), ["a/#", "#", "+"]);
        assert_eq!(named("a/"), ["a/+", "a/#", "#", "+/+"]);
        assert_eq!(named("a//b"), ["a/#", "#", "a//b"]);
        assert_eq!(named("/a"), ["#", "/a", "+/+"]);
        assert_eq!(named("$SYS/x"), ["$SYS/#", "$SYS/+"], "no wildcard at the first level matches $");
        assert_eq!(named("$other"), Vec::<&str>::new());
        assert_eq!(named("x/y/z"), ["#"]);
    }

    #[test]
    fn removing_leaves_nothing_behind() {
        let mut trie = Filters::default();
        for filter in ["a/b/c", "a/+/c", "a/#"] {
            trie.insert(filter, 1);
            trie.insert(filter, 2);
        }
        assert!(!trie.remove("a/b", &1));
        assert!(!trie.remove("a/b/c", &3));
        for filter in ["a/b/c", "a/+/c", "a/#"] {
            assert!(trie.remove(filter, &1));
            assert!(!trie.remove(filter, &1));
        }
        assert_eq!(found(&trie, "a/b/c"), [2, 2, 2]);
        for filter in ["a/b/c", "a/+/c", "a/#"] {
            assert!(trie.remove(filter, &2));
        }
        assert!(trie.is_empty());
    }

    #[test]
    fn one_filter_matches_as_the_standard_says() {
        for (filter, topic, expected) in [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/+", "a/b", true),
            ("a/+", "a/", true),
            ("a/+", "a", false),
            ("a/#", "a", true),
            ("a/#", "a/b/c", true),
            ("#", "a/b", true),
            ("#", "$SYS/x", false),
            ("+/x", "$SYS/x", false),
            ("$SYS/#", "$SYS/x", true),
            ("valetudo/+/+", "valetudo/robot/$state", true),
            ("+", "/", false),
            ("+/+", "/", true),
            ("/+", "/a", true),
        ] {
            assert_eq!(matches(filter, topic), expected, "{filter} {topic}");
        }
    }

    /// The rule written down a second time, level by level, without a trie.
    fn matches_plainly(filter: &str, topic: &str) -> bool {
        let filter: Vec<&str> = filter.split('/').collect();
        let topic: Vec<&str> = topic.split('/').collect();
        let wild_first = filter[0] == "#" || filter[0] == "+";
        if wild_first && topic[0].starts_with('$') {
            return false;
        }
        for (at, level) in filter.iter().enumerate() {
            match (*level, topic.get(at)) {
                ("#", _) => return true,
                ("+", Some(_)) => {}
                (level, Some(there)) if level == *there => {}
                _ => return false,
            }
        }
        filter.len() == topic.len()
    }

    proptest! {
        #[test]
        fn a_trie_agrees_with_the_plain_rule(
            filters in prop::collection::vec("([ab$]?|\\+)(/([ab]?|\\+)){0,3}(/#)?", 1..8),
            topic in "[ab$]?(/[ab]?){0,3}",
        ) {
            let mut trie = Filters::default();
            for (number, filter) in filters.iter().enumerate() {
                trie.insert(filter, number);
            }
            let plain: Vec<usize> = filters
                .iter()
                .enumerate()
                .filter(|(_, filter)| matches_plainly(filter, &topic))
                .map(|(number, _)| number)
                .collect();
            prop_assert_eq!(found(&trie, &topic), plain);
            for filter in &filters {
                prop_assert_eq!(matches(filter, &topic), matches_plainly(filter, &topic), "{} {}", filter, topic);
            }
        }
    }
}
