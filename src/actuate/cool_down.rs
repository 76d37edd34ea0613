//! What was denied is not asked again at once.

use std::collections::HashMap;
use std::time::Duration;

use super::ask::Question;
use super::plan::Plan;
use crate::home::{EntityId, Verb};
use crate::policy::{Approval, Channel, Decided, Decision};

/// What was denied just now, by conversation (or task, where there is none), verb and target.
#[derive(Debug, Default)]
pub(super) struct CoolDowns {
    denied: HashMap<(String, Verb, EntityId), Denied>,
}

#[derive(Debug)]
struct Denied {
    task: String,
    until: Duration,
}

impl CoolDowns {
    pub fn denied(&mut self, plan: &Plan, approval: &Approval, until: Duration, now: Duration) {
        self.denied.retain(|_, denied| denied.until > now);
        let conversation = approval.conversation.as_ref().unwrap_or(&approval.task);
        for action in plan.actions() {
            let denied = Denied { task: approval.task.clone(), until };
            self.denied.insert((conversation.clone(), action.verb, action.entity), denied);
        }
    }

    /// How long this may not be asked again. A new command of a person always can; the model within the same command,
    /// or something that is no person, cannot.
    pub fn left(
        &self,
        plan: &Plan,
        decided: &Decided,
        question: &Question<'_>,
        now: Duration,
    ) -> Option<Duration> {
        let conversation = question.conversation.unwrap_or(question.task);
        let person = match question.principal.channel {
            Channel::Local
            | Channel::Http
            | Channel::Mqtt
            | Channel::Voice
            | Channel::Chat
            | Channel::HomeAssistant => true,
            Channel::Mcp | Channel::Schedule | Channel::Evaluation => false,
        };
        plan.leaves()
            .iter()
            .zip(decided.leaves())
            .filter(|(_, leaf)| leaf.decision == Decision::Ask || decided.asks_by_size_only())
            .filter_map(|(leaf, _)| {
                let action = &leaf.action;
                self.denied.get(&(conversation.to_owned(), action.verb, action.entity.clone()))
            })
            .filter(|denied| denied.task == question.task || !person)
            .filter_map(|denied| denied.until.checked_sub(now).filter(|left| !left.is_zero()))
            .max()
    }
}
