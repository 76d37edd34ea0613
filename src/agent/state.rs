//! The state of a task: a fold over its events. Live run, resume, replay and tests use the same fold.

use std::collections::BTreeMap;

use serde::Serialize;

use super::budget::Period;
use super::command::Command;
use super::event::{CallId, Event, Exit, Failure};
use crate::actuate::Ledger;
use crate::home::Action;
use crate::model::{Stop, ToolCall, Usage};
use crate::policy::{Decision, Verdict};

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
    /// The last turn failed.
    pub failure: Option<Failure>,
    /// Turns that failed because the conversation no longer fitted the model.
    pub too_long: u32,
    /// The budget that was spent when the last turn began.
    pub spent: Option<Period>,
    pub finished: Option<Exit>,
}

/// One answered turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<CallId>,
    pub stop: Stop,
    /// Who took it, where a router chose.
    pub model: Option<String>,
    /// See [`Event::ModelSaid`].
    pub own: bool,
}

/// One call and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallState {
    pub call: ToolCall,
    pub phase: Phase,
    /// Actions of the plan that were already handed to a device: never again.
    pub sent: Vec<Action>,
    /// Actions that policy allowed, which are sent or about to be.
    pub allowed: Vec<Action>,
    /// Hash of the plan that a person was asked about.
    pub asked: Option<String>,
}

impl CallState {
    fn new(call: &ToolCall) -> Self {
        Self { call: call.clone(), phase: Phase::Open, sent: Vec::new(), allowed: Vec::new(), asked: None }
    }

    /// The result, once it has one, and whether it is an error.
    pub fn result(&self) -> Option<(&str, bool)> {
        match &self.phase {
            Phase::Ended { content, is_error } => Some((content, *is_error)),
            Phase::Open | Phase::Waiting { .. } | Phase::Answered { .. } => None,
        }
    }
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
            Event::TurnStarted { spent, taint, .. } => {
                self.turn_open = true;
                self.spent = *spent;
                if self.taint.is_none() {
                    self.taint.clone_from(taint);
                }
            }
            Event::Called { turn, call, tool } => {
                self.change_turn(*turn, |turn| turn.calls.push(call.clone()));
                self.calls.entry(call.clone()).or_insert_with(|| CallState::new(tool));
            }
            Event::ModelSaid { turn, text, calls, stop, usage, model, own } => {
                self.usage += *usage;
                let (text, model) = (text.clone(), model.clone());
                let ids = calls.iter().map(|(id, _)| id.clone()).collect();
                self.take_turn(*turn, Turn { text, calls: ids, stop: *stop, model, own: *own });
                for (id, call) in calls {
                    self.calls.entry(id.clone()).or_insert_with(|| CallState::new(call));
                }
            }
            Event::ModelFailed { failure, usage, .. } => {
                self.turn_open = false;
                self.usage += *usage;
                self.failure = Some(*failure);
                self.too_long += u32::from(*failure == Failure::ContextFull);
            }
            Event::Decided { call, actions, decision, .. } => {
                if let Some(call) = self.calls.get_mut(call)
                    && *decision == Decision::Allow
                {
                    call.allowed.extend(actions.iter().cloned());
                }
            }
            Event::Interim { .. } => {}
            Event::ApprovalAsked { call, approval, plan_hash, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.asked = Some(plan_hash.clone());
                }
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

    /// Actions that this task has sent or is about to send: what its limits count.
    pub fn actions(&self) -> Vec<Action> {
        self.calls
            .values()
            .flat_map(|call| {
                let allowed = if call.result().is_none() { call.allowed.as_slice() } else { &[] };
                call.sent.iter().chain(allowed.iter().filter(|action| !call.sent.contains(action)))
            })
            .cloned()
            .collect()
    }

    /// Whether a turn's answer was cut off by its token limit before any call, for the first time in a row: then it is
    /// asked for again with more room.
    pub fn is_first_cut(&self, turn: usize) -> bool {
        let cut = |at: usize| {
            self.turns.get(at).is_some_and(|turn| turn.stop == Stop::Truncated && turn.calls.is_empty())
        };
        cut(turn) && turn.checked_sub(1).is_none_or(|before| !cut(before))
    }

    /// Whether such an answer was asked for again, so that it is no part of what the model said.
    pub fn is_superseded(&self, turn: usize) -> bool {
        self.is_first_cut(turn) && turn + 1 < self.turns.len()
    }

    fn take_turn(&mut self, number: u32, said: Turn) {
        self.turn_open = false;
        self.failure = None;
        self.change_turn(number, |turn| *turn = said);
    }

    /// Changes the turn of that number; one that is only beginning is empty.
    fn change_turn(&mut self, turn: u32, change: impl FnOnce(&mut Turn)) {
        let at = usize::try_from(turn).unwrap_or(usize::MAX).min(self.turns.len());
        if at == self.turns.len() {
            let (text, calls) = (String::new(), Vec::new());
            self.turns.push(Turn { text, calls, stop: Stop::Ended, model: None, own: false });
        }
        if let Some(turn) = self.turns.get_mut(at) {
            change(turn);
        }
    }

    fn set_phase(&mut self, id: &CallId, phase: Phase) {
        if let Some(call) = self.calls.get_mut(id)
            && !matches!(call.phase, Phase::Ended { .. })
        {
            call.phase = phase;
        }
    }
}
