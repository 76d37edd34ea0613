//! The state of a task: a fold over its events. Live run, resume, replay and tests use the same fold.

use std::collections::BTreeMap;

use serde::Serialize;

use super::command::Command;
use super::event::{CallId, Event, Exit};
use crate::actuate::Ledger;
use crate::model::{Stop, ToolCall, Usage};
use crate::policy::Verdict;

/// Everything that decides what happens next.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TaskState {
    pub command: Option<Command>,
    pub turns: Vec<Turn>,
    pub calls: BTreeMap<CallId, CallState>,
    /// Outcomes by call; a call's come together, in the order of its actions.
    pub outcomes: BTreeMap<CallId, Ledger>,
    pub usage: Usage,
    /// The entity whose free text entered the context first, if any did.
    pub taint: Option<String>,
    /// A turn that was asked for and not yet answered.
    pub turn_open: bool,
    pub model_error: Option<String>,
    pub finished: Option<Exit>,
}

/// One answered turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<CallId>,
    pub stop: Stop,
    /// See [`Event::ModelSaid`].
    pub own: bool,
}

/// One call and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallState {
    pub call: ToolCall,
    pub phase: Phase,
    /// Actions of the plan that were already handed to a device: never again.
    pub sent: Vec<crate::home::Action>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Not looked at yet, or allowed and running.
    Open,
    /// A person has been asked.
    Waiting { approval: String },
    /// A person has answered; the frozen plan goes on or ends.
    Answered { approval: String, verdict: Verdict },
    /// It has its single result.
    Ended { content: String, is_error: bool },
}

impl TaskState {
    /// The state after `events`.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut state = Self::default();
        for event in events {
            state.apply(event);
        }
        state
    }

    /// Takes one event into the state. Late events of calls that have ended change nothing.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Accepted { command } => self.command = Some(command.clone()),
            Event::TurnStarted { .. } => self.turn_open = true,
            Event::ModelSaid { text, calls, stop, usage, own, .. } => {
                self.turn_open = false;
                self.usage += *usage;
                self.turns.push(Turn {
                    text: text.clone(),
                    calls: calls.iter().map(|(id, _)| id.clone()).collect(),
                    stop: *stop,
                    own: *own,
                });
                for (id, call) in calls {
                    let state = CallState { call: call.clone(), phase: Phase::Open, sent: Vec::new() };
                    self.calls.insert(id.clone(), state);
                }
            }
            Event::ModelFailed { error, .. } => {
                self.turn_open = false;
                self.model_error = Some(error.clone());
            }
            Event::Decided { .. } | Event::Interim { .. } => {}
            Event::ApprovalAsked { call, approval, .. } => {
                self.set_phase(call, Phase::Waiting { approval: approval.clone() });
            }
            Event::ApprovalEnded { call, approval, verdict, .. } => {
                self.set_phase(call, Phase::Answered { approval: approval.clone(), verdict: *verdict });
            }
            Event::Sending { call, action, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.sent.push(action.clone());
                }
            }
            Event::Outcome { call, entry } => {
                self.outcomes.entry(call.clone()).or_default().push(entry.clone())
            }
            Event::CallResult { call, content, is_error, taint } => {
                if self.taint.is_none() {
                    self.taint.clone_from(taint);
                }
                self.set_phase(call, Phase::Ended { content: content.clone(), is_error: *is_error });
            }
            Event::Finished { exit, .. } => self.finished = Some(*exit),
        }
    }

    /// Calls without a result, in the order in which the model made them.
    pub fn open_calls(&self) -> impl Iterator<Item = (&CallId, &CallState)> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.calls)
            .filter_map(|id| self.calls.get_key_value(id))
            .filter(|(_, call)| !matches!(call.phase, Phase::Ended { .. }))
    }

    /// The table of outcomes in the order in which the model made the calls.
    pub fn ledger(&self) -> Ledger {
        self.turns
            .iter()
            .flat_map(|turn| &turn.calls)
            .filter_map(|id| self.outcomes.get(id))
            .flatten()
            .cloned()
            .collect()
    }

    fn set_phase(&mut self, id: &CallId, phase: Phase) {
        if let Some(call) = self.calls.get_mut(id)
            && !matches!(call.phase, Phase::Ended { .. })
        {
            call.phase = phase;
        }
    }
}
