//! The short memory of one conversation: what was last done and to what, and our own open question.

use serde::{Deserialize, Serialize};

use crate::home::{Action, EntityId};

use super::understanding::{Intent, ListChange, TimerChange, Understanding};

/// The state of a conversation. Serialisable, a few hundred bytes; the caller keeps one per conversation and
/// forgets it after some minutes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Dialogue {
    /// What was last acted on or answered about, in order.
    pub entities: Vec<EntityId>,
    /// The actions of the last command that were done at once, for "undo", "again" and corrections.
    pub actions: Vec<Action>,
    /// What the last command set up for later, for "cancel that".
    #[serde(default)]
    pub made: Option<Made>,
    /// The last command or question as it was said, for "and upstairs?" and "no, the bedroom one".
    pub text: Option<String>,
    /// Our question, if it is still open.
    pub pending: Option<Pending>,
}

/// Something that was set up for later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    Schedule,
    Timer {
        /// Seconds.
        length: u64,
        label: Option<String>,
    },
}

/// A question that we asked, with what each answer means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// What would be done for each alternative.
    pub alternatives: Vec<Alternative>,
    /// Whether "all" or "both" is an answer.
    pub all_allowed: bool,
    /// What else the sentence asked for, done together with the choice.
    pub rest: Vec<Intent>,
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    pub entities: Vec<EntityId>,
    /// As it is called in the question.
    pub name: String,
    pub intents: Vec<Intent>,
}

impl Dialogue {
    /// Remembers what `text` was understood as. Refusals and misunderstandings leave what was there, except that
    /// our question is closed: the next sentence is a new one.
    pub fn update(&mut self, text: &str, understanding: &Understanding) {
        self.pending = None;
        match understanding {
            Understanding::Act(intents) => {
                // A look at lists and schedules takes nothing from "cancel that".
                if !intents.iter().all(only_reads) {
                    self.actions = intents.iter().filter_map(immediate).flatten().cloned().collect();
                    self.made = intents.iter().rev().find_map(made);
                }
                let mut entities: Vec<EntityId> = Vec::new();
                for action in intents.iter().flat_map(actions_of) {
                    if !entities.contains(&action.entity) {
                        entities.push(action.entity.clone());
                    }
                }
                if !entities.is_empty() {
                    self.entities = entities;
                }
                self.text = Some(text.to_owned());
            }
            Understanding::Answer { entities, .. } => {
                self.entities.clone_from(entities);
                self.actions.clear();
                self.made = None;
                self.text = Some(text.to_owned());
            }
            Understanding::Ask { pending, .. } => {
                self.pending = Some(pending.clone());
                self.text = Some(text.to_owned());
            }
            Understanding::Refuse { .. }
            | Understanding::Nothing { .. }
            | Understanding::NotUnderstood { .. } => {}
        }
    }
}

fn only_reads(intent: &Intent) -> bool {
    match intent {
        Intent::ScheduleQuery
        | Intent::History(_)
        | Intent::Timer(TimerChange::Query(_))
        | Intent::List(ListChange::Read { .. }) => true,
        Intent::Actions(_)
        | Intent::Scene(_)
        | Intent::Schedule { .. }
        | Intent::ScheduleCancel(_)
        | Intent::Timer(_)
        | Intent::List(_)
        | Intent::Broadcast { .. }
        | Intent::StopAll => false,
    }
}

/// What an intent does at once.
fn immediate(intent: &Intent) -> Option<&Vec<Action>> {
    match intent {
        Intent::Actions(actions) => Some(actions),
        Intent::Scene(_)
        | Intent::Schedule { .. }
        | Intent::ScheduleQuery
        | Intent::ScheduleCancel(_)
        | Intent::Timer(_)
        | Intent::List(_)
        | Intent::Broadcast { .. }
        | Intent::History(_)
        | Intent::StopAll => None,
    }
}

fn made(intent: &Intent) -> Option<Made> {
    match intent {
        Intent::Schedule { .. } => Some(Made::Schedule),
        Intent::Timer(TimerChange::Start { seconds, label }) => {
            Some(Made::Timer { length: *seconds, label: label.clone() })
        }
        Intent::Timer(_)
        | Intent::Actions(_)
        | Intent::Scene(_)
        | Intent::ScheduleQuery
        | Intent::ScheduleCancel(_)
        | Intent::List(_)
        | Intent::Broadcast { .. }
        | Intent::History(_)
        | Intent::StopAll => None,
    }
}

fn actions_of(intent: &Intent) -> Vec<&Action> {
    match intent {
        Intent::Actions(actions) => actions.iter().collect(),
        Intent::Schedule { intents, .. } => intents.iter().flat_map(actions_of).collect(),
        Intent::Scene(_)
        | Intent::ScheduleQuery
        | Intent::ScheduleCancel(_)
        | Intent::Timer(_)
        | Intent::List(_)
        | Intent::Broadcast { .. }
        | Intent::History(_)
        | Intent::StopAll => Vec::new(),
    }
}
