//! What happens next in a task: one pure decision over its folded state.
//!
//! The loop goes on if and only if the model's message holds a complete tool call. Everything else here is a limit.
//! This module runs nothing and reads no clock: the driver passes in the time that was worked.

use std::time::Duration;

use super::event::{CallId, Exit, Failure};
use super::limits::Limits;
use super::repeat;
use super::state::{CallState, Phase, TaskState, Turn};
use crate::model::{Stop, ToolChoice};
use crate::tools::{FINISH, is_read};

/// How the result of a call begins that was not run because the limit of calls was reached.
const BEYOND_LIMIT: &str = "{\"error\":\"limit\"";

/// The next step. A driver must handle every one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    CallModel {
        why: Why,
        tool_choice: ToolChoice,
    },
    /// These calls have no result yet and nobody to wait for.
    RunCalls(Vec<CallId>),
    /// Everything else of the turn is done; these wait for a person.
    AwaitApproval(Vec<CallId>),
    Finish(Exit),
}

/// Why the model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    First,
    /// The calls of the last turn have their results.
    Results,
    /// The last answer was cut by its token limit; it is asked for again, with more room.
    Truncated,
    /// The answer was cut even so, or the provider paused: it goes on from where it stopped.
    Continued,
    /// The conversation was too long for the model; it is asked again with less of it.
    TooLong,
}

/// Decides the next step. `worked` is the time spent in model turns and tools, without waiting for people and devices.
pub fn next(state: &TaskState, limits: &Limits, worked: Duration) -> Step {
    if let Some(exit) = state.finished {
        return Step::Finish(exit);
    }
    if let Some(failure) = state.failure {
        return match failure {
            Failure::Model if worked >= limits.work() => Step::Finish(Exit::Deadline),
            Failure::Model => Step::Finish(Exit::ModelFailed),
            Failure::ContextFull if state.too_long > limits.shortenings => Step::Finish(Exit::ContextFull),
            Failure::ContextFull => call_model(state, limits, worked, Why::TooLong),
        };
    }
    let Some(turn) = state.turns.last() else { return call_model(state, limits, worked, Why::First) };
    if let Some(step) = unfinished(state) {
        return step;
    }
    let asks_for_calls = turn.calls.iter().any(|id| !is_finish(state, id));
    if asks_for_calls {
        if let Some(exit) = repeat::verdict(state, limits) {
            return Step::Finish(exit);
        }
        return if finished_early(state, turn) {
            Step::Finish(Exit::Done)
        } else if !repeat::looks_in_circles(state) {
            call_model(state, limits, worked, Why::Results)
        } else if called_beyond_limit(state) {
            Step::Finish(Exit::Repetition)
        } else {
            report(call_model(state, limits, worked, Why::Results))
        };
    }
    match turn.stop {
        Stop::Ended => Step::Finish(Exit::Done),
        Stop::Refused => Step::Finish(Exit::Declined),
        Stop::Truncated | Stop::Paused => continue_answer(state, limits, worked),
    }
}

/// Calls that have no result: those that can run, else those that wait for a person.
fn unfinished(state: &TaskState) -> Option<Step> {
    let mut run = Vec::new();
    let mut wait = Vec::new();
    for (id, call) in state.open_calls() {
        match call.phase {
            Phase::Open | Phase::Answered { .. } => run.push(id.clone()),
            Phase::Waiting { .. } => wait.push(id.clone()),
            Phase::Ended { .. } => {}
        }
    }
    match (run.is_empty(), wait.is_empty()) {
        (false, _) => Some(Step::RunCalls(run)),
        (true, false) => Some(Step::AwaitApproval(wait)),
        (true, true) => None,
    }
}

fn call_model(state: &TaskState, limits: &Limits, worked: Duration, why: Why) -> Step {
    let turns = u32::try_from(state.turns.len()).unwrap_or(u32::MAX);
    let calls = u32::try_from(counted(state)).unwrap_or(u32::MAX);
    let tokens = state.usage.input_tokens + state.usage.output_tokens;
    if turns >= limits.turns {
        return Step::Finish(Exit::Turns);
    }
    if worked >= limits.work() {
        return Step::Finish(Exit::Deadline);
    }
    if tokens >= limits.tokens || state.usage.micro_dollars > limits.micro_dollars {
        return Step::Finish(Exit::Budget);
    }
    // One more answer is allowed after the last call, so that the model can report.
    let last = turns + 1 == limits.turns || calls >= limits.calls;
    if calls >= limits.calls && called_beyond_limit(state) {
        return Step::Finish(Exit::Calls);
    }
    Step::CallModel { why, tool_choice: if last { ToolChoice::None } else { ToolChoice::Auto } }
}

/// The same step, with the model told to report and not to call.
fn report(step: Step) -> Step {
    match step {
        Step::CallModel { why, .. } => Step::CallModel { why, tool_choice: ToolChoice::None },
        Step::RunCalls(_) | Step::AwaitApproval(_) | Step::Finish(_) => step,
    }
}

/// An answer without calls that is not complete: once more with more room, then on from where it stopped.
fn continue_answer(state: &TaskState, limits: &Limits, worked: Duration) -> Step {
    let unfinished =
        |turn: &&Turn| matches!(turn.stop, Stop::Truncated | Stop::Paused) && turn.calls.is_empty();
    let row: Vec<&Turn> = state.turns.iter().rev().take_while(unfinished).collect();
    let again = usize::from(row.last().is_some_and(|first| first.stop == Stop::Truncated));
    if row.len() > usize::try_from(limits.continuations).unwrap_or(usize::MAX).saturating_add(again) {
        return Step::Finish(Exit::Done);
    }
    let why = if row.len() == 1 && again == 1 { Why::Truncated } else { Why::Continued };
    call_model(state, limits, worked, why)
}

/// A `finish` call beside actions that all succeeded saves the last round trip. What was read in the same turn the
/// model has not seen yet: then the loop goes on.
fn finished_early(state: &TaskState, turn: &Turn) -> bool {
    turn.calls.iter().any(|id| is_finish(state, id))
        && turn.calls.iter().all(|id| {
            state.calls.get(id).is_some_and(|call| {
                matches!(call.phase, Phase::Ended { is_error: false, .. }) && !is_read(&call.call.name)
            })
        })
        && state.outcomes.values().flatten().all(|entry| entry.outcome.is_wished())
}

/// Calls that count: not `finish`, and not those that were refused because the limit was reached.
fn counted(state: &TaskState) -> usize {
    state.calls.values().filter(|call| call.call.name != FINISH && !is_beyond_limit(call)).count()
}

fn is_beyond_limit(call: &CallState) -> bool {
    call.result().is_some_and(|(content, _)| content.starts_with(BEYOND_LIMIT))
}

/// Whether a model that was to report called again.
fn called_beyond_limit(state: &TaskState) -> bool {
    let refused = |id: &CallId| state.calls.get(id).is_some_and(is_beyond_limit);
    let calls = state.turns.last().map(|turn| turn.calls.as_slice()).unwrap_or_default();
    calls.iter().any(refused) && calls.iter().all(|id| refused(id) || is_finish(state, id))
}

fn is_finish(state: &TaskState, id: &CallId) -> bool {
    state.calls.get(id).is_some_and(|call| call.call.name == FINISH)
}

#[cfg(test)]
mod tests;
