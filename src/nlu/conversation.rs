//! Sentences that need what was said before: answers to our question, corrections, "and upstairs?", "again".

use crate::home::{Action, Verb};

use super::answer::Asker;
use super::clause::{Clause, Noun, Np};
use super::command::Command;
use super::dialogue::Made;
use super::index::Target;
use super::lattice::{Reading, Span};
use super::lexicon::Sense;
use super::understand::Sentence;
use super::understanding::{Intent, ScheduleChoice, TimerChange, TimerFilter, Understanding};
use super::vocabulary::{Class, Pred, Word};

/// What takes a verb without arguments back.
const UNDOES: &[(Verb, Verb)] = &[
    (Verb::TurnOn, Verb::TurnOff),
    (Verb::Open, Verb::Close),
    (Verb::Play, Verb::Pause),
    (Verb::Mute, Verb::Unmute),
];

impl Command<'_> {
    /// Reads a sentence as a part of the conversation; `None` where it stands by itself.
    pub fn conversation(&self, sentence: &Sentence) -> Option<Understanding> {
        let words = content(&sentence.row);
        let only = |word: Word| !words.is_empty() && words.iter().all(|span| span.word(word));
        if let Some(understanding) = self.taken_back(&words) {
            return Some(understanding);
        }
        if only(Word::NeverMind) || retracted(sentence) {
            return Some(self.nothing("never_mind"));
        }
        if let Some(pending) = &self.dialogue.pending
            && let Some(understanding) = self.answered(pending, sentence, &words)
        {
            return Some(understanding);
        }
        if only(Word::Yes) || only(Word::No) || (only(Word::Filler) && !words.is_empty()) {
            return Some(self.nothing("nothing_asked"));
        }
        if let Some(talk) = self.talk(sentence) {
            return Some(talk);
        }
        if only(Word::Again) && !self.dialogue.actions.is_empty() {
            return Some(Understanding::Act(vec![Intent::Actions(self.dialogue.actions.clone())]));
        }
        None
    }

    /// "Cancel that", "undo": takes back what the last command set up or did. Nothing else is cancelled by it.
    fn taken_back(&self, words: &[&Span]) -> Option<Understanding> {
        let verb = |span: &Span| {
            span.sense(|sense| matches!(sense, Sense::Pred(Pred::Cancel | Pred::Undo | Pred::Remove)))
        };
        let thing =
            |span: &Span| span.sense(|sense| matches!(sense, Sense::Class(Class::Timer | Class::Schedule)));
        let pronoun = words.iter().any(|span| span.word(Word::It));
        let only = words.iter().all(|span| verb(span) || thing(span) || span.word(Word::It));
        let named = words.iter().any(|span| thing(span));
        if !only || !words.iter().any(|span| verb(span)) || (named && !pronoun) {
            return None;
        }
        if self.dialogue.pending.is_some() {
            return Some(self.nothing("never_mind"));
        }
        match &self.dialogue.made {
            Some(Made::Schedule) => {
                Some(Understanding::Act(vec![Intent::ScheduleCancel(ScheduleChoice::Last)]))
            }
            Some(Made::Timer { length, label }) => {
                let timer = TimerFilter { label: label.clone(), length: Some(*length), area: None };
                Some(Understanding::Act(vec![Intent::Timer(TimerChange::Cancel(timer))]))
            }
            None if named => None,
            None if self.dialogue.actions.is_empty() => Some(self.nothing("nothing_to_cancel")),
            None => {
                let back = self.undone();
                Some(if back.is_empty() {
                    self.nothing("cannot_undo")
                } else {
                    Understanding::Act(vec![Intent::Actions(back)])
                })
            }
        }
    }

    /// A greeting, or a question about ourselves, and nothing else.
    fn talk(&self, sentence: &Sentence) -> Option<Understanding> {
        let of = |span: &Span| {
            span.readings.iter().find_map(|reading| match reading {
                Reading::Sense(Sense::Talk(talk)) => Some(*talk),
                Reading::Sense(_)
                | Reading::Name(_)
                | Reading::Part(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
        };
        let row = &sentence.row;
        let only = row.iter().all(|span| {
            of(span).is_some() || span.is_mark() || span.word(Word::Filler) || span.word(Word::Polite)
        });
        let whole = row.iter().filter_map(of).next_back().filter(|_| only);
        let talk = whole.or_else(|| self.lexicon.talk_of(&sentence.tokens))?;
        Some(Understanding::Answer {
            text: self.say(&format!("talk.{}", talk.word()), &[]),
            entities: Vec::new(),
        })
    }

    /// Corrections and ellipses: the last sentence with another place or thing.
    pub fn follow_up(&self, sentence: &Sentence) -> Option<Understanding> {
        let text = self.dialogue.text.as_deref()?;
        let words = content(&sentence.row);
        let corrects = words.first().is_some_and(|span| span.word(Word::No) || span.word(Word::Correction));
        let clauses = sentence.clauses(self.index, self.lexicon);
        let bare = clauses.iter().all(|clause| {
            clause.preds.is_empty()
                && clause.states.is_empty()
                && clause.unknown.is_empty()
                && !clause.has_value()
                && clause.attributes.is_empty()
                && clause.times.is_empty()
        });
        if !bare {
            return None;
        }
        let other = words.iter().any(|span| span.word(Word::Other));
        if corrects && other {
            return self.the_other_one();
        }
        let nps: Vec<&Np> = clauses.iter().flat_map(|clause| &clause.nps).collect();
        let [np] = nps.as_slice() else { return None };
        if !np.unknown.is_empty() {
            return None;
        }
        if corrects {
            return self.corrected(np);
        }
        let linked = words.iter().any(|span| {
            span.word(Word::And) || span.word(Word::What) || span.word(Word::Then) || span.word(Word::Link)
        });
        let marked = sentence.tokens.last().is_some_and(|token| token.text == "?");
        if !linked && !marked {
            return None;
        }
        let request = super::understand::Request { text, ..self.request.clone() };
        let before = Sentence::read(&request, self.lexicon, self.index);
        let mut clauses = before.clauses(self.index, self.lexicon);
        for clause in &mut clauses {
            self.replace(clause, np);
        }
        Some(if before.asking { Asker { command: self }.answer(&clauses) } else { self.act(&clauses) })
    }

    /// Puts another place, or another thing, into a clause. What was named there becomes its like in the other place:
    /// the bedroom window, "and the kitchen?".
    fn replace(&self, clause: &mut Clause, np: &Np) {
        if clause.nps.is_empty() {
            clause.nps.push(np.clone());
            return;
        }
        for known in &mut clause.nps {
            if !np.is_place() {
                known.nouns.clone_from(&np.nouns);
                known.places.clone_from(&np.places);
                continue;
            }
            known.nouns.retain(|noun| !noun.is_place());
            known.places.clone_from(&np.places);
            let named = known.nouns.iter().any(Noun::has_entity_target);
            for noun in known.nouns.iter_mut().filter(|noun| noun.has_entity_target()) {
                noun.targets =
                    noun.entities().flat_map(|item| self.likes(item, np)).map(Target::Entity).collect();
                noun.targets.sort_unstable();
                noun.targets.dedup();
                noun.parts.clear();
            }
            if !named {
                known.nouns.extend(np.nouns.iter().cloned());
            }
        }
    }

    /// Things of the same domain and device class in a place.
    fn likes(&self, item: usize, place: &Np) -> Vec<usize> {
        let Some(known) = self.index.items.get(item) else { return Vec::new() };
        let like = |position: &usize| {
            self.index.items.get(*position).is_some_and(|other| {
                other.entity.domain() == known.entity.domain()
                    && other.entity.device_class == known.entity.device_class
                    && self.names(place, *position)
            })
        };
        (0..self.index.items.len()).filter(like).collect()
    }

    /// The last actions on the one of the same name or kind that was not meant.
    fn the_other_one(&self) -> Option<Understanding> {
        let [last] = self.dialogue.entities.as_slice() else { return None };
        let entity = self.house.entity(last.as_str())?;
        let others: Vec<_> = self
            .index
            .items
            .iter()
            .filter(|item| item.entity.id != *last && item.entity.domain() == entity.domain())
            .collect();
        let twins: Vec<_> = others.iter().filter(|item| item.entity.name == entity.name).collect();
        let other = match (twins.as_slice(), others.as_slice()) {
            ([twin], _) => **twin,
            ([], [other]) => *other,
            _ => return None,
        };
        let mut actions = self.undone();
        actions.extend(self.repeated(&other.entity.id)?);
        Some(Understanding::Act(vec![Intent::Actions(actions)]))
    }

    /// "No, the bedroom one."
    fn corrected(&self, np: &Np) -> Option<Understanding> {
        let last = self.dialogue.actions.first()?;
        let items: Vec<_> = self
            .index
            .items
            .iter()
            .enumerate()
            .filter(|(position, item)| {
                item.entity.domain() == last.entity.domain()
                    && item.entity.action(last.verb).is_some()
                    && self.names(np, *position)
            })
            .map(|(_, item)| item)
            .collect();
        // The one of the same name, where the new place has several.
        let name = self.house.entity(last.entity.as_str()).map(|entity| entity.name.clone());
        let same: Vec<_> = items.iter().filter(|item| Some(&item.entity.name) == name.as_ref()).collect();
        let chosen = match (same.as_slice(), items.as_slice()) {
            ([one], _) => **one,
            (_, [one]) => *one,
            _ => return None,
        };
        let mut actions = self.undone();
        actions.extend(self.repeated(&chosen.entity.id)?);
        Some(Understanding::Act(vec![Intent::Actions(actions)]))
    }

    /// The last actions, on another entity, as far as it has the verbs.
    fn repeated(&self, id: &crate::home::EntityId) -> Option<Vec<Action>> {
        let entity = self.house.entity(id.as_str())?;
        self.dialogue
            .actions
            .iter()
            .map(|action| {
                entity.action(action.verb)?;
                Some(Action { entity: id.clone(), ..action.clone() })
            })
            .collect()
    }

    /// What takes the last actions back. Only what was started is stopped: how it was before is not known, and
    /// locks and alarms are never moved by a "no".
    fn undone(&self) -> Vec<Action> {
        self.dialogue
            .actions
            .iter()
            .filter_map(|action| {
                let (_, back) =
                    UNDOES.iter().find(|(done, _)| *done == action.verb && action.args.is_empty())?;
                let back = *back;
                let entity = self.house.entity(action.entity.as_str())?;
                entity.action(back)?;
                Some(Action::new(action.entity.clone(), back))
            })
            .collect()
    }
}

/// "Turn off the desk lamp, never mind", "…, no": whether the end takes the sentence back.
fn retracted(sentence: &Sentence) -> bool {
    let row = &sentence.row;
    let says = |span: &Span| !(span.is_mark() || span.word(Word::Filler) || span.word(Word::Polite));
    let retracts = |span: &Span| span.word(Word::NeverMind) || span.word(Word::No);
    let Some(last) = row.iter().rposition(|span| retracts(span) || says(span)) else { return false };
    let (Some(end), Some(before)) = (row.get(last), last.checked_sub(1).and_then(|before| row.get(before)))
    else {
        return false;
    };
    // "¿no?" asks for a nod.
    let asks = sentence.tokens.last().is_some_and(|token| token.text == "?");
    let parted = before.is_mark();
    let long = end.end - end.start > 1 && !before.word(Word::And);
    let said = row.iter().take(last).any(says);
    said && !asks && ((end.word(Word::NeverMind) && (parted || long)) || (end.word(Word::No) && parted))
}

/// The spans that say something.
fn content(row: &[Span]) -> Vec<&Span> {
    let says = |span: &Span| {
        span.word(Word::It) || span.sense(|sense| matches!(sense, Sense::Class(_) | Sense::Pred(_)))
    };
    row.iter().filter(|span| !span.is_mark() && (says(span) || !span.word(Word::Filler))).collect()
}
