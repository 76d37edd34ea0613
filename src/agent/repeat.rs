//! Repetition: the same call again and again, cycles, failures alike, and what failed too often in a row.
//!
//! Pure. May this call run now ([`blocked`], [`paused_tool`], [`paused_entity`]), and is the task going in circles
//! ([`verdict`])? A call may be repeated when the state changed in between; the caller says whether it did.

use serde_json::Value;

use super::event::{CallId, Exit};
use super::limits::Limits;
use super::state::{CallState, Phase, TaskState};
use crate::actuate::OutcomeEntry;
use crate::home::{Action, EntityId, House};
use crate::model::ToolCall;
use crate::tools::{HISTORY, is_household, is_read, normal_arguments};

/// Why a call must not run again, as a sentence for the model; `None` when it may.
///
/// An action is blocked the second time, a read the third, unless `changed` says of the last such call that the house
/// is no longer as that one left or read it.
pub fn blocked(
    state: &TaskState,
    id: &CallId,
    call: &ToolCall,
    changed: impl FnOnce(&CallId, &CallState) -> bool,
) -> Option<String> {
    let arguments = normal_arguments(call);
    let before: Vec<(&CallId, &CallState)> = calls(state)
        .take_while(|(earlier, _)| *earlier != id)
        .filter(|(_, earlier)| earlier.call.name == call.name && normal_arguments(&earlier.call) == arguments)
        // A malformed or refused call may be sent again once it is right: only calls that ran count.
        .filter(|(_, earlier)| {
            !matches!(earlier.phase, Phase::Ended { is_error: true, .. }) || !earlier.sent.is_empty()
        })
        .collect();
    let allowed = if is_read(&call.name) { 2 } else { 1 };
    let (last_id, last) = before.last()?;
    if before.len() < allowed || changed(last_id, last) {
        return None;
    }
    Some(format!(
        "not run: {} was called with the same arguments before and nothing changed since; \
         use the earlier result, try something else, or report what happened",
        call.name
    ))
}

/// Whether a read that was made before would say something else now. Ages alone are nothing new.
pub fn reads_otherwise(before: &CallState, now: &Value) -> bool {
    let before = before.result().and_then(|(content, _)| serde_json::from_str::<Value>(content).ok());
    before.is_none_or(|before| without_ages(before) != without_ages(now.clone()))
}

fn without_ages(mut content: Value) -> Value {
    match &mut content {
        Value::Object(fields) => {
            fields.shift_remove("age_seconds");
            for value in fields.values_mut() {
                *value = without_ages(value.take());
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                *item = without_ages(item.take());
            }
            // Entities may be named in any order.
            items.sort_by(|one, other| one["id"].as_str().cmp(&other["id"].as_str()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    content
}

/// Whether an entity that an earlier call brought into the wished state reports another value by now.
pub fn is_undone(outcomes: &[OutcomeEntry], house: &House) -> bool {
    outcomes.iter().filter(|entry| entry.outcome.is_wished()).any(|entry| {
        let now = house.state(entry.action.entity.as_str()).and_then(|state| state.text());
        entry.reported.as_deref().zip(now).is_some_and(|(then, now)| then != now)
    })
}

/// Whether the same household call may be made again after the call `earlier`: reading, when something was changed
/// meanwhile; changing, when the same tool has taken something back.
pub fn household_changed(state: &TaskState, earlier: &CallId) -> bool {
    let Some(first) = state.calls.get(earlier) else { return false };
    let reads = household_use(&first.call) == Use::Reads;
    calls(state).skip_while(|(id, _)| *id != earlier).skip(1).any(|(_, call)| {
        let went_well = call.result().is_some_and(|(_, is_error)| !is_error);
        let undoes = call.call.name == first.call.name && household_use(&call.call) == Use::TakesBack;
        let changes = is_household(&call.call.name) && household_use(&call.call) != Use::Reads;
        went_well && changes && (reads || undoes)
    })
}

/// What a household call does to what the house remembers.
#[derive(PartialEq)]
enum Use {
    Reads,
    Changes,
    TakesBack,
}

fn household_use(call: &ToolCall) -> Use {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    match (call.name.as_str(), arguments["action"].as_str().unwrap_or_default()) {
        (HISTORY, _) | (_, "read" | "query" | "list") => Use::Reads,
        (_, "cancel" | "cancel_all" | "remove" | "complete") => Use::TakesBack,
        _ => Use::Changes,
    }
}

/// Why no further call of a tool may run: it failed so often in a row, whatever the arguments were. Failures of
/// devices do not count here, they are [`paused_entity`]'s; malformed calls end the task by themselves.
pub fn paused_tool(state: &TaskState, tool: &str, limits: &Limits) -> Option<String> {
    let failures = calls(state)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .filter(|(_, call)| call.call.name == tool)
        .filter_map(|(id, call)| Some((id, call.result()?)))
        .take_while(|(id, (content, is_error))| {
            *is_error && !is_malformed(content) && state.outcomes.get(*id).is_none_or(Vec::is_empty)
        })
        .count();
    is_enough(failures, limits).then(|| {
        format!("not run: {tool} failed {failures} times in a row and is paused for this task; report what happened")
    })
}

/// Why actions must not run: one of their entities failed so often in a row in this task.
pub fn paused_entity(state: &TaskState, actions: &[Action], limits: &Limits) -> Option<String> {
    actions.iter().map(|action| &action.entity).find_map(|entity| {
        let failures = failures_of(state, entity);
        is_enough(failures, limits).then(|| {
            format!(
                "not run: {entity} failed {failures} times in a row and is paused for this task; \
                 name the others without it, and report that it does not do as it is told"
            )
        })
    })
}

fn failures_of(state: &TaskState, entity: &EntityId) -> usize {
    let outcomes: Vec<&OutcomeEntry> = calls(state)
        .filter_map(|(id, _)| state.outcomes.get(id))
        .flatten()
        .filter(|entry| entry.action.entity == *entity)
        .collect();
    outcomes.iter().rev().take_while(|entry| !entry.outcome.is_wished()).count()
}

fn is_enough(failures: usize, limits: &Limits) -> bool {
    failures >= usize::try_from(limits.failures_to_pause.max(1)).unwrap_or(usize::MAX)
}

/// Malformed calls in a row at the end of the task so far.
pub fn malformed_in_a_row(state: &TaskState) -> usize {
    let ended: Vec<(&str, bool)> = calls(state).filter_map(|(_, call)| call.result()).collect();
    ended.iter().rev().take_while(|(content, is_error)| *is_error && is_malformed(content)).count()
}

fn is_malformed(content: &str) -> bool {
    content.starts_with("{\"error\":\"malformed\"")
}

/// Ends a task that goes in circles: too many malformed calls in a row, failures alike, or a cycle of up to four.
pub fn verdict(state: &TaskState, limits: &Limits) -> Option<Exit> {
    if malformed_in_a_row(state) >= usize::try_from(limits.malformed_in_a_row).unwrap_or(usize::MAX) {
        return Some(Exit::Malformed);
    }
    let ended = ended(state);
    if let Some(last) = ended.last().filter(|call| call.is_error) {
        let alike = ended.iter().rev().take_while(|call| **call == *last).count();
        if alike >= usize::try_from(limits.failures_alike).unwrap_or(usize::MAX) {
            return Some(Exit::Repetition);
        }
    }
    (1..=4).any(|period| is_cycle(&ended, period, 3)).then_some(Exit::Repetition)
}

/// Whether the model looks at the same two to four things a second time in turn, and sees the same. It does better to
/// report; where it acts in between (a lamp that blinks), a second round may be meant.
pub fn looks_in_circles(state: &TaskState) -> bool {
    let ended: Vec<Ended<'_>> = ended(state).into_iter().filter(|call| !call.beyond_limit()).collect();
    (2..=4).any(|period| {
        let tail = ended.len().checked_sub(period).and_then(|start| ended.get(start..));
        tail.is_some_and(|tail| tail.iter().all(|call| !call.acted)) && is_cycle(&ended, period, 2)
    })
}

/// A call that has its result. Two are equal when they ask for the same and are told the same, whatever its age.
#[derive(PartialEq)]
struct Ended<'a> {
    name: &'a str,
    arguments: String,
    content: Value,
    is_error: bool,
    acted: bool,
}

impl Ended<'_> {
    fn beyond_limit(&self) -> bool {
        self.content["error"] == "limit"
    }
}

fn ended(state: &TaskState) -> Vec<Ended<'_>> {
    let all = calls(state).filter_map(|(id, call)| {
        let (content, is_error) = call.result()?;
        Some(Ended {
            name: call.call.name.as_str(),
            arguments: normal_arguments(&call.call),
            content: without_ages(serde_json::from_str(content).unwrap_or_default()),
            is_error,
            acted: state.outcomes.get(id).is_some_and(|outcomes| !outcomes.is_empty()),
        })
    });
    all.collect()
}

/// Whether the end of `keys` is the same `period` calls, `rounds` times over.
fn is_cycle<T: PartialEq>(keys: &[T], period: usize, rounds: usize) -> bool {
    let Some(tail) = keys.len().checked_sub(period * rounds).and_then(|start| keys.get(start..)) else {
        return false;
    };
    tail.iter().zip(tail.iter().skip(period)).all(|(one, other)| one == other)
}

/// All calls in the order in which the model made them.
fn calls(state: &TaskState) -> impl Iterator<Item = (&CallId, &CallState)> {
    state.turns.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get_key_value(id))
}

#[cfg(test)]
mod tests;
