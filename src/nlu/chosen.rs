//! What a person chooses in answer to our own question.

use crate::home::EntityId;

use super::clause::{Clause, Np};
use super::command::{Command, push};
use super::dialogue::{Alternative, Pending};
use super::index::Target;
use super::lattice::Span;
use super::lexicon::Sense;
use super::text::{Kind, Token};
use super::understand::Sentence;
use super::understanding::{Intent, Understanding};
use super::vocabulary::{Pred, Word};
use super::which::SPOKEN;

impl Command<'_> {
    /// An answer to our own question.
    pub fn answered(&self, pending: &Pending, sentence: &Sentence, words: &[&Span]) -> Option<Understanding> {
        let is = |word: Word| words.iter().any(|span| span.word(word));
        let verb = words.iter().any(|span| {
            span.sense(|sense| matches!(sense, Sense::Pred(pred) if !matches!(pred, Pred::Set)))
                && span.targets().is_empty()
        });
        if words.iter().all(|span| span.word(Word::No)) && !words.is_empty() {
            return Some(self.nothing("never_mind"));
        }
        // 不是卧室
        let denied = self.lexicon.han_numbers
            && matches!(sentence.row.as_slice(), [no, next, ..] if no.word(Word::No) && !next.is_mark());
        if (is(Word::Not) || denied) && !verb {
            return Some(self.nothing("negated"));
        }
        let done = |chosen: Vec<&Alternative>| {
            let mut intents = pending.rest.clone();
            for intent in chosen.iter().flat_map(|one| &one.intents) {
                push(&mut intents, intent.clone());
            }
            Understanding::Act(intents)
        };
        if pending.all_allowed
            && !verb
            && (is(Word::All) || is(Word::Both) || is(Word::Them))
            && words.len() <= 2
        {
            return Some(done(pending.alternatives.iter().collect()));
        }
        if let [only] = pending.alternatives.as_slice()
            && words.iter().all(|span| span.word(Word::Yes))
        {
            return Some(done(vec![only]));
        }
        if let Some(one) = self.by_place(pending, sentence) {
            return Some(done(vec![one]));
        }
        if verb {
            return None;
        }
        // "The front door locked already?", "the bedroom fan off" are no answers; "not the bedroom" chooses nothing.
        let clauses = sentence.clauses(self.index, self.lexicon);
        if sentence.asking || words.iter().any(|span| span.word(Word::Idiom)) {
            return None;
        }
        if clauses.iter().any(Clause::has_predicate) {
            return if clauses.len() > 1 { Some(self.not_understood(Vec::new())) } else { None };
        }
        let nps: Vec<&Np> = clauses.iter().flat_map(|clause| &clause.nps).collect();
        // "The front, no, the back": what stands before the correction is not meant.
        let corrected = sentence.row.iter().rfind(|span| span.word(Word::No) || span.word(Word::Correction));
        if corrected.is_some_and(|at| nps.iter().any(|np| np.start < at.start)) {
            return Some(self.not_understood(Vec::new()));
        }
        let chosen: Vec<Alternative> =
            nps.iter().map(|np| self.alternative(np, &pending.alternatives)).collect::<Option<_>>()?;
        (!chosen.is_empty()).then(|| done(chosen.iter().collect()))
    }

    /// "The second one", 第二个: of those that our question read aloud.
    fn by_place<'p>(&self, pending: &'p Pending, sentence: &Sentence) -> Option<&'p Alternative> {
        let says = |token: &&Token| token.kind != Kind::Mark && !self.lexicon.fills(&token.key);
        let said: String = sentence.tokens.iter().filter(says).map(|token| token.key.as_str()).collect();
        let place = self.lexicon.ordinals.iter().position(|ordinal| *ordinal == said)?;
        pending.alternatives.get(place).filter(|_| place < SPOKEN)
    }

    /// The alternative that a noun phrase means: one that it names whole, or the part of the only one that it names.
    fn alternative(&self, np: &Np, alternatives: &[Alternative]) -> Option<Alternative> {
        let named = |one: &Alternative| -> Vec<EntityId> {
            let names =
                |id: &&EntityId| self.index.item_of(id.as_str()).is_some_and(|item| self.names(np, item));
            one.entities.iter().filter(names).cloned().collect()
        };
        let parts: Vec<(&Alternative, Vec<EntityId>)> = alternatives
            .iter()
            .map(|one| (one, named(one)))
            .filter(|(_, entities)| !entities.is_empty())
            .collect();
        let whole: Vec<&Alternative> = parts
            .iter()
            .filter(|(one, entities)| entities.len() == one.entities.len())
            .map(|(one, _)| *one)
            .collect();
        match (whole.as_slice(), parts.as_slice()) {
            ([one], _) => Some((*one).clone()),
            (_, [(one, entities)]) => {
                let intents = one.intents.iter().map(|intent| only_on(intent, entities)).collect();
                Some(Alternative { entities: entities.clone(), intents, ..(*one).clone() })
            }
            _ => None,
        }
    }

    /// Whether a noun phrase can name an item.
    pub fn names(&self, np: &Np, position: usize) -> bool {
        let Some(item) = self.index.items.get(position) else { return false };
        np.unknown.is_empty()
            && !np.nouns.is_empty()
            && np.nouns.iter().all(|noun| {
                noun.parts.contains(&position)
                    || noun.classes.iter().any(|class| super::kinds::belongs(item, *class) > 0)
                    || noun.targets.iter().any(|target| match target {
                        Target::Entity(entity) => *entity == position,
                        Target::Area(area) => item.area == Some(*area),
                        Target::Floor(floor) => item.floor == Some(*floor),
                        Target::Scene(_) => false,
                    })
            })
    }
}

/// An intent on some of its entities alone.
fn only_on(intent: &Intent, entities: &[EntityId]) -> Intent {
    match intent {
        Intent::Actions(actions) => Intent::Actions(
            actions.iter().filter(|action| entities.contains(&action.entity)).cloned().collect(),
        ),
        Intent::Schedule { when, intents } => Intent::Schedule {
            when: when.clone(),
            intents: intents.iter().map(|intent| only_on(intent, entities)).collect(),
        },
        Intent::Scene(_)
        | Intent::ScheduleQuery
        | Intent::ScheduleCancel(_)
        | Intent::Timer(_)
        | Intent::List(_)
        | Intent::Broadcast { .. }
        | Intent::History(_)
        | Intent::StopAll => intent.clone(),
    }
}
