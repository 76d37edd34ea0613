//! Scheduled commands taken back by what they act on: "cancel the desk lamp schedule".

use super::clause::{Clause, Noun};
use super::command::{Command, Running, Stop};
use super::frame::Frame;
use super::understanding::{Intent, ScheduleChoice};
use super::vocabulary::{Class, Pred, Word};

impl Command<'_> {
    /// "Cancel the desk lamp schedule".
    pub fn cancelled(&self, clause: &Clause) -> Option<Result<Intent, Stop>> {
        let scheduled = |noun: &Noun| noun.classes.contains(&Class::Schedule);
        let named = clause.nps.iter().any(|np| np.nouns.iter().any(scheduled));
        if !named || !(clause.pred(Pred::Cancel) || clause.pred(Pred::Remove)) {
            return None;
        }
        let frame = Frame::question();
        let resolver = self.resolver(&frame, &Running::default());
        let mut of = Vec::new();
        for np in &clause.nps {
            let mut np = np.clone();
            np.nouns.retain(|noun| !scheduled(noun));
            if !np.unknown.is_empty() {
                return Some(Err(Box::new(self.unknown(&np.text()))));
            }
            if !np.nouns.is_empty() {
                let found = resolver.asked(&np, &|item| !item.entity.actions.is_empty());
                of.extend(
                    found
                        .iter()
                        .filter_map(|item| self.index.items.get(*item))
                        .map(|item| item.entity.id.clone()),
                );
            }
        }
        let all = clause.word(Word::All) || clause.nps.iter().any(|np| np.all);
        Some(Ok(Intent::ScheduleCancel(match (of.is_empty(), all) {
            (false, _) => ScheduleChoice::Of(of),
            (true, true) => ScheduleChoice::All,
            (true, false) => ScheduleChoice::Any,
        })))
    }
}
