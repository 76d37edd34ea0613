//! Several questions in one sentence: "is the window open and the door locked?"

use super::Asker;
use crate::nlu::clause::Clause;
use crate::nlu::understanding::Understanding;
use crate::nlu::vocabulary::{Pred, Word};

impl Asker<'_, '_> {
    /// Answers every question of a sentence, one after the other.
    pub fn answer(&self, clauses: &[Clause]) -> Understanding {
        let questions = questions(clauses);
        let [first, others @ ..] = questions.as_slice() else { return self.one(clauses) };
        if others.is_empty() {
            return self.one(std::slice::from_ref(first));
        }
        let mut texts = Vec::new();
        let mut all = Vec::new();
        for question in &questions {
            match self.one(std::slice::from_ref(question)) {
                Understanding::Answer { text, entities } => {
                    texts.push(text);
                    all.extend(entities);
                }
                other => return other,
            }
        }
        let between = self.command.lexicon.phrase("between_sentences").unwrap_or(" ");
        Understanding::Answer { text: texts.join(between), entities: all }
    }
}

/// The questions of a sentence: a subject without a question of its own belongs to the one beside it.
fn questions(clauses: &[Clause]) -> Vec<Clause> {
    let asks = |clause: &Clause| {
        !clause.states.is_empty()
            || !clause.attributes.is_empty()
            || clause.preds.iter().any(|pred| *pred != Pred::Tell)
            || clause.word(Word::Above)
            || clause.word(Word::Below)
            // …吗, …吗: each with its own.
            || (clause.question == Some(Word::Asks) && !clause.nps.is_empty())
    };
    let mut questions: Vec<Clause> = Vec::new();
    let mut waiting: Option<Clause> = None;
    for clause in clauses {
        let mut clause = clause.clone();
        match (asks(&clause), questions.last_mut(), &mut waiting) {
            (true, _, waiting) => {
                if let Some(before) = waiting.take() {
                    clause.prepend(before);
                }
                questions.push(clause);
            }
            (false, Some(last), _) if !clause.nps.is_empty() => last.absorb(clause),
            (false, _, Some(before)) => before.absorb(clause),
            (false, _, waiting) => *waiting = Some(clause),
        }
    }
    questions
}
