//! Questions about the past: "why is the hall light on?", "who unlocked the door?".
//!
//! A sentence that fits a pattern of the language is asked again as a question about the present; what that question is
//! about is what the person wants to know the history of. What happened is not known here: the intent goes to whoever
//! keeps the record.

use crate::home::{EntityId, House};

use super::dialogue::Dialogue;
use super::understand::{Nlu, Request};
use super::understanding::{Intent, Understanding};

/// A pattern of a question about the past, and the same question about the present.
#[derive(Debug)]
pub struct Past {
    /// What stands before, between and behind the two parts that are kept; the second part may be missing.
    asked: Vec<String>,
    now: String,
}

impl Past {
    /// Reads `["why is {1}", "is {1}"]`. `None` where the pattern has no place to keep.
    pub fn read(asked: &str, now: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = asked;
        for place in ["{1}", "{2}"] {
            if let Some((before, after)) = rest.split_once(place) {
                parts.push(before.to_owned());
                rest = after;
            }
        }
        parts.push(rest.to_owned());
        (parts.len() > 1 && now.contains("{1}")).then(|| Self { asked: parts, now: now.to_owned() })
    }

    /// The question about the present, where `text` is one about the past.
    fn rewritten(&self, text: &str) -> Option<String> {
        let mut rest = text.strip_prefix(self.asked.first()?.as_str())?;
        let mut now = self.now.clone();
        let last = self.asked.len() - 1;
        for (at, between) in self.asked.iter().enumerate().skip(1) {
            let kept = if at == last {
                let kept = rest.strip_suffix(between.as_str())?;
                rest = "";
                kept
            } else {
                let (kept, after) = rest.split_once(between.as_str())?;
                rest = after;
                kept
            };
            if kept.trim().is_empty() {
                return None;
            }
            now = now.replace(&format!("{{{at}}}"), kept.trim());
        }
        Some(now)
    }
}

impl Nlu {
    /// The intent to tell the history of what a question about the past is about; `None` where it is no such question.
    pub(super) fn history(
        &self,
        request: &Request<'_>,
        house: &House,
        dialogue: &Dialogue,
        language: &str,
    ) -> Option<Understanding> {
        let lexicon = self.lexicon(language);
        let text =
            request.text.trim().trim_end_matches(['?', '？', '!', '.', '。', '呢']).trim().to_lowercase();
        let questions = lexicon.past.iter().filter_map(|past| past.rewritten(&text));
        for question in questions {
            let asked = Request { text: &question, language: Some(language), ..request.clone() };
            if let Understanding::Answer { entities, .. } = self.understand(&asked, house, dialogue) {
                // Sensors have no history that anybody made: "why is it so warm?" is answered by the temperature.
                let moved =
                    |id: &EntityId| house.entity(id.as_str()).is_some_and(|it| !it.actions.is_empty());
                let moved: Vec<EntityId> = entities.into_iter().filter(moved).collect();
                if !moved.is_empty() {
                    return Some(Understanding::Act(vec![Intent::History(moved)]));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_keeps_what_stands_in_its_places() {
        let past = Past::read("who turned {1} on", "is {1} on").unwrap();
        assert_eq!(past.rewritten("who turned the hall light on").as_deref(), Some("is the hall light on"));
        assert_eq!(past.rewritten("who turned on"), None);
        let past = Past::read("{1}为什么{2}", "{1}{2}吗").unwrap();
        assert_eq!(past.rewritten("走廊灯为什么开着").as_deref(), Some("走廊灯开着吗"));
        assert!(Past::read("why", "is {1}").is_none());
    }
}
