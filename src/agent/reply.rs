//! The one reply: from the ledger of outcomes. Where the sentence is a model's, it is compared with the ledger and
//! gives way when it claims more (invariant `reply_never_exceeds_outcomes`).

use serde_json::Value;

use super::Agent;
use super::budget::Period;
use super::claim::{Facts, agrees, asks, claims};
use super::event::Exit;
use super::state::{Phase, TaskState, Turn};
use crate::model::OFFLINE;
use crate::tools::{ASK_USER, FINISH, clean, is_household};

/// Longest reply, in characters: it is to be spoken.
const LONGEST: usize = 1000;

impl Agent {
    /// The reply of a task that ends with `exit`.
    pub(super) fn reply(&self, state: &TaskState, exit: Exit, language: &str) -> String {
        let house = self.house.read();
        let lexicon = self.report.lexicon(language);
        let ledger = state.ledger();
        let outcomes = self.report.outcomes(language, &ledger, &house);
        let mut sentences = Vec::new();
        match exit {
            Exit::Done | Exit::Declined => {
                let text = Some(last_text(state))
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| finished_with(state));
                let from_calls = said_by_calls(state);
                // What our own understanding answers from states is no claim to have done something.
                let answer = ledger.is_empty()
                    && from_calls.is_empty()
                    && state.turns.last().is_some_and(|turn| turn.own);
                let command = state.command.as_ref().map_or("", |command| command.text.as_str());
                let facts = Facts {
                    ledger: &ledger,
                    house: &house,
                    lexicon,
                    household: !from_calls.is_empty(),
                    question: asks(command, lexicon),
                };
                if !text.is_empty()
                    && (answer || honest(&text, &outcomes, &from_calls, household_failed(state), &facts))
                {
                    sentences.push(text);
                } else {
                    sentences.push(outcomes);
                    sentences.extend(from_calls);
                }
                let told = sentences.concat();
                sentences.extend(said_by_actions(state).filter(|said| !told.contains(said.as_str())));
                sentences.extend(question(state));
                sentences.extend(spent(state, exit).map(|key| lexicon.say(key, &[])));
            }
            Exit::ModelFailed => {
                sentences.push(outcomes);
                sentences.push(lexicon.say("exit.model_failed", &[]));
            }
            Exit::Turns
            | Exit::Calls
            | Exit::Deadline
            | Exit::Cancelled
            | Exit::Shutdown
            | Exit::Internal
            | Exit::Budget
            | Exit::Repetition
            | Exit::ContextFull
            | Exit::Malformed
            | Exit::Interrupted => {
                sentences.push(lexicon.say(&format!("exit.{}", word(exit)), &[]));
                sentences.push(outcomes);
            }
        }
        let reply = self.report.join(language, &sentences);
        let reply = if reply.trim().is_empty() { lexicon.say("nothing_done", &[]) } else { reply };
        clean(&reply, LONGEST)
    }
}

/// Whether a model's sentence may stand. The daemon's own sentences in it are true; of the rest every outcome must be
/// as wished, and nothing may be claimed that neither the ledger nor the house shows.
fn honest(text: &str, outcomes: &str, from_calls: &[String], failed: bool, facts: &Facts<'_>) -> bool {
    let mut rest = text.to_owned();
    let mut own = false;
    for said in from_calls.iter().map(String::as_str).chain([outcomes]).filter(|said| !said.is_empty()) {
        own |= rest.contains(said);
        rest = rest.replace(said, "\n");
    }
    let told = own && (outcomes.is_empty() || text.contains(outcomes));
    if !told && !facts.ledger.iter().all(|entry| entry.outcome.is_wished()) {
        return false;
    }
    if failed && !told && claims(&rest, facts.lexicon) {
        return false;
    }
    agrees(&rest, facts)
}

/// What the model said last, with the parts that a token limit cut it into.
fn last_text(state: &TaskState) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let finished = |turn: &Turn| {
        let named = |id| state.calls.get(id).is_some_and(|call| call.call.name == FINISH);
        turn.calls.len() > 1 && turn.calls.iter().any(named)
    };
    let kept = state.turns.iter().enumerate().filter(|(at, _)| !state.is_superseded(*at));
    for (_, turn) in kept.rev() {
        // What stands before actions and `finish` was said before anything was done.
        if (!parts.is_empty() && !turn.calls.is_empty()) || finished(turn) {
            break;
        }
        parts.push(turn.text.as_str());
        if !turn.calls.is_empty() {
            break;
        }
    }
    parts.reverse();
    parts.concat().trim().to_owned()
}

/// What timers, lists and schedules had to say, in the order of the calls.
fn said_by_calls(state: &TaskState) -> Vec<String> {
    results(state)
        .filter(|(tool, _)| is_household(tool))
        .filter_map(|(_, result)| result.get("said")?.as_str().map(str::to_owned))
        .collect()
}

/// What will end by itself, of what the calls switched on.
fn said_by_actions(state: &TaskState) -> impl Iterator<Item = String> {
    results(state)
        .filter(|(tool, _)| !is_household(tool))
        .filter_map(|(_, result)| result.get("said")?.as_str().map(str::to_owned))
}

/// Whether a timer, list or schedule was refused.
fn household_failed(state: &TaskState) -> bool {
    results(state).any(|(tool, result)| is_household(&tool) && result.get("error").is_some())
}

/// The sentence that a model gave along with `finish`.
fn finished_with(state: &TaskState) -> String {
    results(state)
        .filter(|(tool, _)| tool == FINISH)
        .filter_map(|(_, result)| result.get("finish")?.as_str().map(str::to_owned))
        .last()
        .unwrap_or_default()
}

/// The question that ends the task, if there is one.
fn question(state: &TaskState) -> Option<String> {
    results(state)
        .filter(|(tool, _)| tool == ASK_USER)
        .filter_map(|(_, result)| result.get("asked")?.as_str().map(str::to_owned))
        .last()
}

/// What is said of a spent budget, where a language model would have been asked, or had begun.
fn spent(state: &TaskState, exit: Exit) -> Option<&'static str> {
    let by_model = |turn: &Turn| turn.model.as_deref().is_some_and(|model| model != OFFLINE);
    let missed = exit == Exit::Declined || state.turns.iter().any(by_model);
    state.spent.filter(|_| missed).map(|period| match period {
        Period::Day => "spent.day",
        Period::Month => "spent.month",
    })
}

fn results(state: &TaskState) -> impl Iterator<Item = (String, Value)> {
    state.turns.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get(id)).filter_map(|call| {
        match &call.phase {
            Phase::Ended { content, .. } => {
                Some((call.call.name.clone(), serde_json::from_str(content).ok()?))
            }
            Phase::Open | Phase::Waiting { .. } | Phase::Answered { .. } => None,
        }
    })
}

fn word(exit: Exit) -> String {
    match serde_json::to_value(exit) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}
