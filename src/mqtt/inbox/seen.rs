//! Remembers what was asked before, so that a repetition gets the first answer and starts nothing.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Whether a key was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat<T> {
    /// Never, or too long ago. It counts as running from now on.
    New,
    /// The first one still runs; its answer will come.
    Running,
    /// The first one has this answer.
    Done(T),
}

/// A bounded memory of keys and their answers. The key must hold who asked: one person's id must neither fetch nor
/// block what another asks.
#[derive(Debug)]
pub struct Seen<T> {
    most: usize,
    within: Duration,
    entries: HashMap<String, Entry<T>>,
    order: VecDeque<(String, Duration)>,
}

#[derive(Debug)]
struct Entry<T> {
    since: Duration,
    answer: Option<T>,
}

impl<T: Clone> Seen<T> {
    /// Keeps at most `most` keys, each for `within`.
    pub fn new(most: usize, within: Duration) -> Self {
        Self { most, within, entries: HashMap::new(), order: VecDeque::new() }
    }

    /// Looks a key up, and remembers it when it is new. `now` is time since boot.
    pub fn ask(&mut self, key: &str, now: Duration) -> Repeat<T> {
        self.forget_old(now);
        if let Some(entry) = self.entries.get(key) {
            return entry.answer.clone().map_or(Repeat::Running, Repeat::Done);
        }
        if self.most == 0 {
            return Repeat::New;
        }
        while self.entries.len() >= self.most && self.drop_oldest() {}
        if self.order.len() >= 2 * self.most {
            let entries = &self.entries;
            self.order.retain(|(key, since)| entries.get(key).is_some_and(|entry| entry.since == *since));
        }
        self.entries.insert(key.to_owned(), Entry { since: now, answer: None });
        self.order.push_back((key.to_owned(), now));
        Repeat::New
    }

    /// The answer to a key that was new.
    pub fn answer(&mut self, key: &str, answer: T) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.answer = Some(answer);
        }
    }

    /// Forgets a key, so that it may be asked again: what it asked for was not begun.
    pub fn forget(&mut self, key: &str) {
        self.entries.remove(key);
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn forget_old(&mut self, now: Duration) {
        while let Some((_, since)) = self.order.front() {
            if now.saturating_sub(*since) < self.within {
                return;
            }
            self.drop_oldest();
        }
    }

    /// Drops the oldest key; `false` when there is none. A key that was forgotten and asked again stands twice in the
    /// order, and only its younger place counts.
    fn drop_oldest(&mut self) -> bool {
        let Some((key, since)) = self.order.pop_front() else { return false };
        if self.entries.get(&key).is_some_and(|entry| entry.since == since) {
            self.entries.remove(&key);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_repetition_gets_the_first_answer() {
        let mut seen = Seen::new(10, 60 * SECOND);
        assert_eq!(seen.ask("anna/1", SECOND), Repeat::New);
        assert_eq!(seen.ask("anna/1", SECOND), Repeat::Running);
        assert_eq!(seen.ask("boris/1", SECOND), Repeat::New);
        seen.answer("anna/1", "lights on");
        assert_eq!(seen.ask("anna/1", 60 * SECOND), Repeat::Done("lights on"));
        assert_eq!(seen.ask("anna/1", 61 * SECOND), Repeat::New);
    }

    #[test]
    fn it_is_bounded_and_drops_the_oldest() {
        let mut seen = Seen::new(3, 60 * SECOND);
        for key in ["a", "b", "c", "d"] {
            assert_eq!(seen.ask(key, SECOND), Repeat::<u8>::New);
        }
        assert_eq!(seen.len(), 3);
        assert_eq!(seen.ask("d", SECOND), Repeat::Running);
        assert_eq!(seen.ask("a", SECOND), Repeat::New);
        for number in 0..10_000 {
            seen.ask(&number.to_string(), SECOND);
            seen.forget(&number.to_string());
        }
        assert!(seen.order.len() <= 6, "{}", seen.order.len());
        seen.ask("x", 100 * SECOND);
        assert_eq!((seen.len(), seen.order.len()), (1, 1));
    }

    #[test]
    fn what_was_not_begun_may_be_asked_again() {
        let mut seen = Seen::<u8>::new(3, 60 * SECOND);
        seen.ask("a", SECOND);
        seen.forget("a");
        assert_eq!(seen.ask("a", 2 * SECOND), Repeat::New);
        assert_eq!(
            seen.ask("a", 61 * SECOND),
            Repeat::Running,
            "the first place in the order does not count"
        );
    }
}
