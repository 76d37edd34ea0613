//! Repetition: the same call again and again, cycles, and failures alike.
//!
//! Two questions are answered, both pure: may this call run now ([`blocked`]), and is the task going in circles
//! ([`verdict`])? A read may be repeated when the state changed in between; the caller says whether it did.

use super::event::{CallId, Exit};
use super::limits::Limits;
use super::state::{CallState, Phase, TaskState};
use crate::model::ToolCall;
use crate::tools::{is_read, normal_arguments};

/// Why a call must not run again, as a sentence for the model; `None` when it may.
///
/// An action is blocked the second time, a read the third, unless `changed` says that the house changed since.
pub fn blocked(state: &TaskState, id: &CallId, call: &ToolCall, changed: bool) -> Option<String> {
    if changed {
        return None;
    }
    let arguments = normal_arguments(call);
    let before = state
        .turns
        .iter()
        .flat_map(|turn| &turn.calls)
        .take_while(|earlier| *earlier != id)
        .filter_map(|earlier| state.calls.get(earlier))
        .filter(|earlier| earlier.call.name == call.name && normal_arguments(&earlier.call) == arguments)
        // A malformed or refused call may be sent again once it is right: only calls that ran count.
        .filter(|earlier| {
            !matches!(earlier.phase, Phase::Ended { is_error: true, .. }) || !earlier.sent.is_empty()
        })
        .count();
    let allowed = if is_read(&call.name) { 2 } else { 1 };
    (before >= allowed).then(|| {
        format!(
            "not run: {} was called with the same arguments {before} time(s) before and nothing changed since; \
             use the earlier result, try something else, or report what happened",
            call.name
        )
    })
}

/// Ends a task that goes in circles: too many malformed calls in a row, failures alike, or a cycle of up to four.
pub fn verdict(state: &TaskState, limits: &Limits) -> Option<Exit> {
    let calls: Vec<&CallState> =
        state.turns.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get(id)).collect();
    let errors = calls.iter().rev().map_while(|call| match &call.phase {
        Phase::Ended { content, is_error: true } => Some((call, content)),
        Phase::Ended { is_error: false, .. }
        | Phase::Open
        | Phase::Waiting { .. }
        | Phase::Answered { .. } => None,
    });
    let malformed = errors.clone().take_while(|(_, content)| content.contains("\"malformed\"")).count();
    if malformed >= usize::try_from(limits.malformed_in_a_row).unwrap_or(usize::MAX) {
        return Some(Exit::Malformed);
    }
    let mut alike = errors.map(|(call, content)| (&call.call.name, normal_arguments(&call.call), content));
    if let Some(first) = alike.next() {
        let count = 1 + alike.take_while(|other| *other == first).count();
        if count >= usize::try_from(limits.failures_alike).unwrap_or(usize::MAX) {
            return Some(Exit::Repetition);
        }
    }
    let keys: Vec<(String, String)> =
        calls.iter().map(|call| (call.call.name.clone(), normal_arguments(&call.call))).collect();
    (1..=4).any(|period| is_cycle(&keys, period)).then_some(Exit::Repetition)
}

/// Whether the end of `keys` is the same `period` calls three times over.
fn is_cycle<T: PartialEq>(keys: &[T], period: usize) -> bool {
    let length = period * 3;
    let Some(tail) = keys.len().checked_sub(length).and_then(|start| keys.get(start..)) else { return false };
    tail.iter().zip(tail.iter().skip(period)).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::is_cycle;

    #[test]
    fn cycles_up_to_period_four_are_seen_after_three_rounds() {
        for (calls, period, cycle) in [
            ("aaa", 1, true),
            ("xaab", 1, false),
            ("ababab", 2, true),
            ("abab", 2, false),
            ("xabcabcabc", 3, true),
            ("abcdabcdabcd", 4, true),
            ("abcdabcdabce", 4, false),
        ] {
            let calls: Vec<char> = calls.chars().collect();
            assert_eq!(is_cycle(&calls, period), cycle, "{calls:?}");
        }
    }
}
