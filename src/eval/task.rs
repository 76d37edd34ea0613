//! Tasks of the data sets, and the judgement of what was done.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::home::{Entity, EntityId, House};

use super::home::set;

/// One line of a `*.tasks.jsonl` file with a state to end in.
#[derive(Debug, Clone, Deserialize)]
pub struct Task {
    pub home: String,
    #[serde(default)]
    pub lang: Option<String>,
    pub input: String,
    pub kind: Kind,
    #[serde(default)]
    pub context_area: Option<String>,
    #[serde(default)]
    pub context_device: Option<String>,
    #[serde(default)]
    pub setup: BTreeMap<String, Expectation>,
    #[serde(default)]
    pub expect_changes: BTreeMap<String, Expectation>,
    /// Attributes that do not count, by entity.
    #[serde(default)]
    pub ignore_changes: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub expect_response: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Act,
    NoChange,
    Question,
}

/// A state, wished or given.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Expectation {
    #[serde(default)]
    pub state: Value,
    #[serde(default)]
    pub attributes: Map<String, Value>,
}

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

impl Task {
    /// Puts the house into the task's start state.
    pub fn prepare(&self, house: &mut House, now: DateTime<Utc>) {
        for (id, wanted) in &self.setup {
            if let Ok(id) = EntityId::parse(id) {
                // A lamp that reports a colour has one, whatever its list of modes says.
                if wanted.attributes.contains_key("rgb_color")
                    && let Some(entity) = house.entity(id.as_str()).cloned()
                {
                    let mut entity = Entity::clone(&entity);
                    let colorful = Map::from_iter([("color".to_owned(), Value::Bool(true))]);
                    entity.actions = super::home::actions(entity.domain(), &colorful);
                    house.insert(entity);
                }
                set(house, &id, &wanted.state, &wanted.attributes, now);
            }
        }
    }
}

/// Judges by the states before and after, and by the reply.
pub fn judge(task: &Task, before: &House, after: &House, reply: &str) -> Verdict {
    let mut locked_only = true;
    let mut wrong = Vec::new();
    for entity in after.entities() {
        let id = entity.id.as_str();
        let (old, new) = (before.state(id), after.state(id));
        let wished = task.kind != Kind::NoChange && task.expect_changes.contains_key(id);
        let ignored = task.ignore_changes.get(id);
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
        return if locked_only && task.kind == Kind::NoChange {
            Verdict::Disputed
        } else {
            Verdict::Wrong(wrong.join(", "))
        };
    }
    if task.kind != Kind::NoChange
        && let Some((fault, changed)) = task.expect_changes.iter().find_map(|(id, wanted)| {
            fault(id, wanted, task.ignore_changes.get(id), after)
                .map(|fault| (fault, before.state(id) != after.state(id)))
        })
    {
        return if changed { Verdict::Wrong(fault) } else { Verdict::Missed(fault) };
    }
    match &task.expect_response {
        Some(wanted) if !wanted.iter().any(|text| reply.to_lowercase().contains(&text.to_lowercase())) => {
            Verdict::Missed(format!("reply {reply:?} holds none of {wanted:?}"))
        }
        Some(_) | None => Verdict::Passed,
    }
}

fn fault(id: &str, wanted: &Expectation, ignored: Option<&Vec<String>>, house: &House) -> Option<String> {
    let Some(state) = house.state(id) else { return Some(format!("{id} is not in the house")) };
    let text = match &wanted.state {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
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
        let got = state.attributes.get(name.as_str()).unwrap_or(&Value::Null);
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
