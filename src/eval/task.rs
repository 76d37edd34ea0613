//! Tasks of the data sets: one type, whatever the form of the line.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::hard::{Turn, Wish};
use super::home::set;
use super::home_llm::{Query, ServiceCall};
use crate::home::{Entity, EntityId, House};

/// A command, where it is given, and what should come of it.
#[derive(Debug, Clone)]
pub struct Task {
    /// Id of a home; `None`: see [`super::Homes::of`].
    pub home: Option<String>,
    pub lang: Option<String>,
    pub input: String,
    pub context_area: Option<String>,
    /// The device that hears the command; it stands in its area.
    pub context_device: Option<String>,
    /// States to begin with, by entity.
    pub setup: BTreeMap<String, Expectation>,
    /// What was said before in the same conversation, oldest first.
    pub history: Vec<Turn>,
    pub goal: Goal,
}

/// What should come of a task, in the words of its set.
#[derive(Debug, Clone)]
pub enum Goal {
    /// The state that the home must end in.
    End(End),
    /// Any of these is right (`hard.tasks.jsonl`).
    Hard { wishes: Vec<Wish>, category: String },
    /// Exactly these calls (`home-llm`).
    Calls(Vec<ServiceCall>),
    /// A question about these entities, which change nothing (`home-llm`).
    Status(Vec<Query>),
    /// The device is not there: nothing may be done (`home-llm`).
    Refusal,
    /// Somebody talks (`slurp`): only a command for a home may do anything, and only to these.
    Talk(Asked),
}

/// What a sentence of `slurp` asks of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    Music,
    Anything,
}

/// A state to end in.
#[derive(Debug, Clone, Deserialize)]
pub struct End {
    pub kind: Kind,
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

/// Why a line is no task.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("not a task: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "no known form of a task: expected `kind` (act, no_change, question, action, specific, status, refusal), an `expect` with a `type`, or a `scenario`; got the fields {0}"
    )]
    Form(String),
    #[error("`kind` is {0:?}: expected act, no_change, question, action, specific, status or refusal")]
    Kind(String),
    #[error("`expect.type` is {0:?}: expected calls, answer, clarify, refuse, confirm or noop")]
    Wish(String),
}

/// What the lines of all sets have in common.
#[derive(Deserialize)]
struct Common {
    #[serde(default)]
    home: Option<String>,
    #[serde(default)]
    lang: Option<String>,
    input: String,
    #[serde(default)]
    context_area: Option<String>,
    #[serde(default)]
    context_device: Option<String>,
    #[serde(default)]
    setup: Option<BTreeMap<String, Expectation>>,
    #[serde(default)]
    history: Option<Vec<Turn>>,
}

impl Task {
    /// Reads one line of any of the sets that have an `input`. Fields that say nothing about the outcome (`id`, `why`,
    /// `source`, …) are passed over.
    ///
    /// # Errors
    /// A line that is no JSON object, lacks a field of its form, or names something that no form has.
    pub fn parse(line: &str) -> Result<Self, ReadError> {
        let value: Value = serde_json::from_str(line)?;
        let goal = goal(&value)?;
        let common: Common = serde_json::from_value(value)?;
        Ok(Self {
            home: common.home,
            lang: common.lang,
            input: common.input,
            context_area: common.context_area,
            context_device: common.context_device,
            setup: common.setup.unwrap_or_default(),
            history: common.history.unwrap_or_default(),
            goal,
        })
    }

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
        if let Goal::Status(queries) = &self.goal {
            super::home_llm::prepare(queries, house, now);
        }
    }

    /// Entities whose change a person would approve: those that the task wants changed.
    pub fn approved(&self, house: &House) -> Vec<String> {
        match &self.goal {
            Goal::End(end) if end.kind == Kind::NoChange => Vec::new(),
            Goal::End(end) => end.expect_changes.keys().cloned().collect(),
            Goal::Hard { wishes, .. } => wishes.iter().flat_map(Wish::targets).cloned().collect(),
            Goal::Calls(calls) => calls.iter().filter_map(|call| call.target(house)).collect(),
            Goal::Status(_) | Goal::Refusal | Goal::Talk(_) => Vec::new(),
        }
    }

    /// Whether a reply that something is done is about a command: an answer to a question may say so of a state.
    pub fn expects_no_answer(&self) -> bool {
        match &self.goal {
            Goal::End(end) => end.kind != Kind::Question,
            Goal::Hard { wishes, .. } => !wishes.iter().any(Wish::answers),
            Goal::Calls(_) | Goal::Refusal => true,
            Goal::Status(_) | Goal::Talk(_) => false,
        }
    }

    /// Whether anything at all may be done.
    pub fn wants_action(&self) -> bool {
        match &self.goal {
            Goal::End(end) => !end.expect_changes.is_empty(),
            Goal::Hard { wishes, .. } => wishes.iter().any(Wish::acts),
            Goal::Calls(_) => true,
            Goal::Status(_) | Goal::Refusal => false,
            Goal::Talk(asked) => *asked != Asked::Nothing,
        }
    }
}

fn goal(value: &Value) -> Result<Goal, ReadError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let expect = value.get("expect");
    match text("kind") {
        Some("act" | "no_change" | "question") => Ok(Goal::End(End::deserialize(value)?)),
        Some("action" | "specific") => Ok(Goal::Calls(Vec::deserialize(expect.unwrap_or(&Value::Null))?)),
        Some("status") => {
            let entities: Vec<ServiceCall> = Vec::deserialize(expect.unwrap_or(&Value::Null))?;
            let state = text("state").map(str::to_owned);
            let queries = entities.into_iter().filter_map(|call| call.query);
            Ok(Goal::Status(queries.map(|entity| Query { entity, state: state.clone() }).collect()))
        }
        Some("refusal") => Ok(Goal::Refusal),
        Some(other) => Err(ReadError::Kind(other.to_owned())),
        None if expect.is_some_and(Value::is_object) => hard(value, expect.unwrap_or(&Value::Null)),
        None if text("scenario").is_some() => Ok(Goal::Talk(match text("scenario") {
            Some("iot" | "lists") => Asked::Anything,
            // Who asks for music asks the players of the home.
            Some("audio" | "play" | "music") => Asked::Music,
            Some(_) | None => Asked::Nothing,
        })),
        None => {
            let fields =
                value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>().join(", "));
            Err(ReadError::Form(fields.unwrap_or_else(|| "of something that is no object".into())))
        }
    }
}

fn hard(value: &Value, expect: &Value) -> Result<Goal, ReadError> {
    let category = value.get("category").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut wishes = Vec::new();
    let mut next = Some(expect);
    while let Some(wish) = next {
        // "also_ok" may hold a note in words instead of a wish.
        let noted = !wishes.is_empty() && wish.get("type").is_none();
        if !noted {
            if let Some(word) = wish.get("type").and_then(Value::as_str)
                && !Wish::TYPES.contains(&word)
            {
                return Err(ReadError::Wish(word.to_owned()));
            }
            wishes.push(Wish::deserialize(wish)?);
        }
        next = wish.get("also_ok").filter(|other| other.is_object());
    }
    Ok(Goal::Hard { wishes, category })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (line, form) in [
            (
                r#"{"home":"h","lang":"en","input":"x","kind":"act","setup":{},"expect_changes":{"light.a":{"state":"on"}},"ignore_changes":{}}"#,
                "End",
            ),
            (
                r#"{"home":"h","input":"x","kind":"question","expect_changes":{},"expect_response":["20"],"category":["a","b"]}"#,
                "End",
            ),
            (
                r#"{"id":"hard-1","home":"h","input":"x","context_area":null,"history":[{"user":"y","calls":[{"tool":"turn_on","targets":["light.a"]}]}],"setup":{},"expect":{"type":"calls","calls":[],"also_ok":{"type":"clarify","clarify_between":["a"]}},"why":"z","source":null}"#,
                "Hard",
            ),
            (
                r#"{"home":"h","input":"x","expect":{"type":"calls","calls":[],"also_ok":{"note":"in words"}}}"#,
                "Hard",
            ),
            (
                r#"{"home":"h","input":"x","kind":"action","expect":[{"service":"light.turn_on","entity":"light.a","args":{"brightness":44}}]}"#,
                "Calls",
            ),
            (
                r#"{"home":null,"input":"x","kind":"specific","expect":[{"service":"blinds.close_cover","device":"kitchen"}]}"#,
                "Calls",
            ),
            (
                r#"{"home":"h","input":"x","kind":"status","state":null,"expect":[{"query":"light.a"}]}"#,
                "Status",
            ),
            (
                r#"{"home":null,"input":"x","kind":"refusal","reason":"not_available","service":"fan.turn_on","device":"a"}"#,
                "Refusal",
            ),
            (r#"{"id":7,"input":"x","scenario":"music","intent":"music_query"}"#, "Talk(Music)"),
        ] {
            let task = Task::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(format!("{:?}", task.goal).starts_with(form), "{line}: {:?}", task.goal);
        }
    }

    #[test]
    fn what_is_no_task_says_why() {
        for (line, part) in [
            (r#"{"input":"x","kind":"dance"}"#, "\"dance\""),
            (r#"{"input":"x","expect":{"type":"sing"}}"#, "\"sing\""),
            (r#"{"input":"x","expect":{"calls":[]}}"#, "missing field `type`"),
            (r#"{"kind":"refusal"}"#, "missing field `input`"),
            (r#"{"input":"x","kind":"action"}"#, "expected a sequence"),
            (r#"{"sentence":"x","slots":{}}"#, "sentence, slots"),
            ("[]", "no object"),
            ("{", "not a task"),
        ] {
            let error = Task::parse(line).expect_err(line).to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
