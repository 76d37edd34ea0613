//! The judgement of what came of a task: by the states before and after, by what the house confirmed, by what was
//! asked of the household, and by the reply.

use super::home_llm;
use super::task::{Asked, End, Expectation, Goal, Kind, Task};
use crate::home::{Action, Domain, House};
use crate::nlu::Intent;

/// How a task ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Passed,
    /// Not done, or not answered; nothing wrong was done.
    Missed(String),
    /// Something changed that should not have.
    Wrong(String),
    /// Locking where the data wishes no change: the secure direction; not counted.
    Disputed,
}

/// What could be seen of a task.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub before: &'a House,
    pub after: &'a House,
    /// Actions that were sent and not refused, or that found the house as they wished.
    pub actions: &'a [Action],
    /// What was asked of the household: lists, timers, schedules.
    pub household: &'a [Intent],
    pub reply: &'a str,
    /// A question was put to the person who gave the command.
    pub asked: bool,
    /// Approvals that were asked for.
    pub approvals: usize,
    /// Whether the reply says that something was done (see `agent::claims`).
    pub claims: bool,
}

impl Seen<'_> {
    /// Entities whose state is another one now.
    pub(super) fn changed(&self) -> Vec<&str> {
        self.after
            .entities()
            .map(|entity| entity.id.as_str())
            .filter(|id| match (self.before.state(id), self.after.state(id)) {
                (Some(old), Some(new)) => old.value != new.value || old.attributes != new.attributes,
                (None, Some(_)) => true,
                (Some(_) | None, None) => false,
            })
            .collect()
    }

    /// What was set up or changed with the household, besides looking.
    pub(super) fn arranged(&self) -> impl Iterator<Item = &Intent> {
        self.household.iter().filter(|intent| match intent {
            Intent::ScheduleQuery | Intent::History(_) => false,
            Intent::Timer(change) => !matches!(change, crate::nlu::TimerChange::Query(_)),
            Intent::List(change) => !matches!(change, crate::nlu::ListChange::Read { .. }),
            Intent::Actions(_)
            | Intent::Scene(_)
            | Intent::Schedule { .. }
            | Intent::ScheduleCancel(_)
            | Intent::Broadcast { .. }
            | Intent::StopAll => true,
        })
    }

    /// What was done, in words; `None` where nothing was.
    pub(super) fn anything(&self) -> Option<String> {
        let mut done: Vec<String> = self.changed().into_iter().map(str::to_owned).collect();
        done.extend(self.arranged().map(|intent| format!("{intent:?}")));
        done.extend(self.actions.iter().map(|action| format!("{} {}", action.entity, action.verb)));
        (!done.is_empty()).then(|| done.join(", "))
    }
}

/// Judges one task.
pub fn judge(task: &Task, seen: &Seen<'_>) -> Verdict {
    match &task.goal {
        Goal::End(goal) => end(goal, seen.before, seen.after, seen.reply),
        Goal::Hard { wishes, category } => super::hard::judge(wishes, category, seen),
        Goal::Calls(calls) => home_llm::judge_calls(calls, seen),
        Goal::Status(queries) => match seen.anything() {
            Some(done) => Verdict::Wrong(done),
            None => home_llm::judge_answer(queries, seen),
        },
        Goal::Refusal => match seen.anything() {
            Some(done) => Verdict::Wrong(done),
            None if seen.claims => Verdict::Missed(format!("{:?} claims that it was done", seen.reply)),
            None => Verdict::Passed,
        },
        Goal::Talk(asked) => talk(*asked, seen),
    }
}

/// Whether nothing was done to the home that was not asked. Timers and lists are not the home's devices.
fn talk(asked: Asked, seen: &Seen<'_>) -> Verdict {
    let unasked = match asked {
        Asked::Anything => None,
        Asked::Music => devices(seen).into_iter().find(|(_, domain)| *domain != Some(Domain::MediaPlayer)),
        Asked::Nothing => devices(seen).into_iter().next(),
    };
    unasked.map_or(Verdict::Passed, |(what, _)| Verdict::Wrong(what))
}

/// What was done to devices, now or planned, with the kind of each.
fn devices(seen: &Seen<'_>) -> Vec<(String, Option<Domain>)> {
    let of = |id: &str| seen.after.entity(id).map(|entity| entity.domain());
    let changed = seen.changed().into_iter().map(|id| (id.to_owned(), of(id)));
    // Lists are entities of the simulated homes.
    let mut all: Vec<_> = changed.filter(|(_, domain)| *domain != Some(Domain::Todo)).collect();
    all.extend(seen.actions.iter().map(|action| (action.entity.to_string(), Some(action.entity.domain()))));
    for intent in seen.arranged() {
        match intent {
            Intent::Schedule { intents, .. } => all.extend(intents.iter().flat_map(|intent| {
                match intent {
                    Intent::Actions(actions) => actions
                        .iter()
                        .map(|action| (action.entity.to_string(), Some(action.entity.domain())))
                        .collect(),
                    other => vec![(format!("{other:?}"), None)],
                }
            })),
            Intent::StopAll | Intent::Scene(_) => all.push((format!("{intent:?}"), None)),
            Intent::Actions(_)
            | Intent::ScheduleQuery
            | Intent::ScheduleCancel(_)
            | Intent::Timer(_)
            | Intent::List(_)
            | Intent::Broadcast { .. }
            | Intent::History(_) => {}
        }
    }
    all
}

/// Judges by the states before and after, and by the reply.
fn end(goal: &End, before: &House, after: &House, reply: &str) -> Verdict {
    let mut locked_only = true;
    let mut wrong = Vec::new();
    for entity in after.entities() {
        let id = entity.id.as_str();
        let (old, new) = (before.state(id), after.state(id));
        let wished = goal.kind != Kind::NoChange && goal.expect_changes.contains_key(id);
        let ignored = goal.ignore_changes.get(id);
        let same = match (old, new) {
            (Some(old), Some(new)) => {
                old.value == new.value
                    && old
                        .attributes
                        .iter()
                        .chain(&new.attributes)
                        .filter(|(name, _)| {
                            ignored
                                .is_none_or(|list| !list.iter().any(|known| known.as_str() == name.as_ref()))
                        })
                        .all(|(name, _)| old.attributes.get(name) == new.attributes.get(name))
            }
            _ => true,
        };
        if !same && !wished {
            locked_only &= new.and_then(|state| state.text()) == Some("locked");
            wrong.push(id.to_owned());
        }
    }
    if !wrong.is_empty() {
        return if locked_only && goal.kind == Kind::NoChange {
            Verdict::Disputed
        } else {
            Verdict::Wrong(wrong.join(", "))
        };
    }
    if goal.kind != Kind::NoChange
        && let Some((fault, changed)) = goal.expect_changes.iter().find_map(|(id, wanted)| {
            fault(id, wanted, goal.ignore_changes.get(id), after)
                .map(|fault| (fault, before.state(id) != after.state(id)))
        })
    {
        return if changed { Verdict::Wrong(fault) } else { Verdict::Missed(fault) };
    }
    match &goal.expect_response {
        Some(wanted) if !wanted.iter().any(|text| reply.to_lowercase().contains(&text.to_lowercase())) => {
            Verdict::Missed(format!("reply {reply:?} holds none of {wanted:?}"))
        }
        Some(_) | None => Verdict::Passed,
    }
}

fn fault(id: &str, wanted: &Expectation, ignored: Option<&Vec<String>>, house: &House) -> Option<String> {
    let Some(state) = house.state(id) else { return Some(format!("{id} is not in the house")) };
    let text = match &wanted.state {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    if let Some(text) = text
        && state.text() != Some(text.as_str())
    {
        return Some(format!("{id} is {:?}, not {text}", state.text()));
    }
    for (name, value) in &wanted.attributes {
        if ignored.is_some_and(|list| list.contains(name)) {
            continue;
        }
        let got = state.attributes.get(name.as_str()).unwrap_or(&serde_json::Value::Null);
        let same = match (got.as_f64(), value.as_f64()) {
            (Some(got), Some(wanted)) => (got - wanted).abs() < 0.01,
            _ => got == value,
        };
        if !same {
            return Some(format!("{id}.{name} is {got}, not {value}"));
        }
    }
    None
}
