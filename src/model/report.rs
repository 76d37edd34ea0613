//! From outcomes to sentences, in the command's language. A sentence never claims more than its outcomes
//! (invariant `reply_never_exceeds_outcomes`): it is built from them and from nothing else.

use std::sync::Arc;

use crate::actuate::{Outcome, OutcomeEntry};
use crate::home::{Action, EntityId, House};
use crate::nlu::reply::{OutcomeKind, Told, outcomes_sentence};
use crate::nlu::{Lexicon, Nlu};

/// Speaks for the house. Cheap to clone.
#[derive(Clone)]
pub struct Report {
    nlu: Arc<Nlu>,
}

impl Report {
    pub fn new(nlu: Arc<Nlu>) -> Self {
        Self { nlu }
    }

    pub fn nlu(&self) -> &Arc<Nlu> {
        &self.nlu
    }

    pub fn lexicon(&self, language: &str) -> &Lexicon {
        self.nlu.lexicon(language)
    }

    /// The language of a text: the given one, else what its words tell.
    pub fn language<'l>(&self, given: Option<&'l str>, text: &str) -> &'l str {
        given.unwrap_or_else(|| self.nlu.detect_language(text))
    }

    /// The sentences for a ledger; empty for an empty one.
    pub fn outcomes(&self, language: &str, outcomes: &[OutcomeEntry], house: &House) -> String {
        let lexicon = self.nlu.lexicon(language);
        let details: Vec<Option<String>> =
            outcomes.iter().map(|entry| detail(lexicon, language, entry, house)).collect();
        let told: Vec<Told<'_>> = outcomes
            .iter()
            .zip(&details)
            .map(|(entry, detail)| Told {
                name: name(language, &entry.action.entity, house),
                action: &entry.action,
                kind: kind(entry),
                detail: detail.as_deref(),
            })
            .collect();
        outcomes_sentence(lexicon, &told)
    }

    /// "The balcony door is open.", for those of `contacts` that are open and not named in `said`.
    pub fn open_contacts(
        &self,
        language: &str,
        contacts: &[EntityId],
        said: &str,
        house: &House,
    ) -> Option<String> {
        let lexicon = self.nlu.lexicon(language);
        let open: Vec<String> = contacts
            .iter()
            .filter(|id| house.state(id.as_str()).and_then(|state| state.text()) == Some("on"))
            .map(|id| name(language, id, house))
            .filter(|name| !said.to_lowercase().contains(&name.to_lowercase()))
            .map(|name| lexicon.say("name", &[("name", name)]))
            .collect();
        if open.is_empty() {
            return None;
        }
        let key = if open.len() == 1 { "open_contact" } else { "open_contacts" };
        Some(lexicon.say(key, &[("names", &open.join(lexicon.phrase("and").unwrap_or(" ")))]))
    }

    /// "I need your approval to unlock the front door. The code is 47."
    pub fn waiting(&self, language: &str, actions: &[Action], code: &str, house: &House) -> String {
        let lexicon = self.nlu.lexicon(language);
        let what = self.told(language, actions, OutcomeKind::Intended, house);
        lexicon.say("waiting_code", &[("what", &what), ("code", code)])
    }

    /// What is intended, without a claim: "turn off the fan".
    pub fn intention(&self, language: &str, actions: &[Action], house: &House) -> String {
        self.told(language, actions, OutcomeKind::Intended, house)
    }

    fn told(&self, language: &str, actions: &[Action], kind: OutcomeKind, house: &House) -> String {
        let told: Vec<Told<'_>> = actions
            .iter()
            .map(|action| Told { name: name(language, &action.entity, house), action, kind, detail: None })
            .collect();
        outcomes_sentence(self.nlu.lexicon(language), &told)
    }

    /// Sentences one after the other, as the language does it.
    pub fn join(&self, language: &str, sentences: &[String]) -> String {
        let between = self.nlu.lexicon(language).phrase("between_sentences").unwrap_or(" ");
        sentences.iter().filter(|sentence| !sentence.is_empty()).cloned().collect::<Vec<_>>().join(between)
    }
}

/// The name that people use, in the language of the reply.
pub fn name<'h>(language: &str, id: &'h EntityId, house: &'h House) -> &'h str {
    house.entity(id.as_str()).map_or(id.as_str(), |entity| entity.name_in(language))
}

fn kind(entry: &OutcomeEntry) -> OutcomeKind {
    match (entry.outcome, entry.cause.as_deref()) {
        (Outcome::Confirmed, _) => OutcomeKind::Confirmed,
        (Outcome::Already, _) => OutcomeKind::Already,
        (Outcome::Unconfirmed, _) => OutcomeKind::Unconfirmed,
        (Outcome::Contradicted, _) => OutcomeKind::Contradicted,
        (Outcome::NotSent, Some("denied" | "cooling_down")) => OutcomeKind::Denied,
        (Outcome::NotSent, Some("expired")) => OutcomeKind::Expired,
        (Outcome::NotSent, _) => OutcomeKind::NotSent,
        (Outcome::Refused, _) => OutcomeKind::Refused,
    }
}

/// Why, in the language of the reply, where the cause says more than the outcome.
fn detail(lexicon: &Lexicon, language: &str, entry: &OutcomeEntry, house: &House) -> Option<String> {
    let cause = entry.cause.as_deref()?;
    let names: Vec<&str> = entry
        .details
        .iter()
        .map(|detail| match EntityId::parse(detail) {
            Ok(id) if house.entity(id.as_str()).is_some() => {
                house.entity(id.as_str()).map_or(detail.as_str(), |entity| entity.name_in(language))
            }
            // A panel names its zones in its own words; where that is an entity's name, people hear theirs.
            Ok(_) | Err(_) => house
                .entities()
                .find(|entity| entity.all_names().any(|name| name.eq_ignore_ascii_case(detail)))
                .map_or(detail.as_str(), |entity| entity.name_in(language)),
        })
        .collect();
    let key = format!("cause.{cause}");
    lexicon.phrase(&key)?;
    let comma = lexicon.phrase("comma").unwrap_or(", ");
    Some(lexicon.say(&key, &[("details", &names.join(comma))]))
}
