//! What a model SEES: the tools of a house, and what a call of one means.
//!
//! The catalog is derived from the entities' real features, at most [`MOST_TOOLS`] for any house. A call is read into
//! a [`Request`]; nothing here acts, that is `agent` with the door of `actuate`.

mod builtin;
mod catalog;
mod fit;
mod groups;
mod hints;
mod household;
mod household_calls;
mod request;
mod spec;
mod told;

pub use builtin::{CLASS, entity_view, find_entities, get_state, quoted_state, quoted_view, related};
pub use catalog::{MOST_LISTED, catalog};
pub use fit::fit;
pub use groups::tool_for;
pub use hints::{Traits, is_talk, traits_of};
pub use household::{Household, HouseholdRequest, Interim, Occasion};
pub use household_calls::{HISTORY, is_household, specs as household_specs};
pub use request::{Request, ToolError, request};

use serde_json::{Value, json};

use crate::home::House;
use crate::nlu::Intent;
pub use spec::{ToolCall, ToolSpec};
pub use told::{clean, free_text};

/// No house has more tools than this: models choose badly past 25.
pub const MOST_TOOLS: usize = 24;

/// Says that nothing more is needed when the actions of the same turn succeed.
pub const FINISH: &str = "finish";
pub const GET_STATE: &str = "get_state";
pub const FIND_ENTITIES: &str = "find_entities";
pub const RUN_SCENE: &str = "run_scene";
pub const ASK_USER: &str = "ask_user";

/// Whether a tool only reads (tier G0).
pub fn is_read(tool: &str) -> bool {
    matches!(tool, GET_STATE | FIND_ENTITIES)
}

/// The arguments in a form in which spellings of the same call are equal: keys sorted at every depth, spaces removed,
/// whole numbers alike, a list of one text the text alone, and lists of texts sorted.
pub fn normal_arguments(call: &ToolCall) -> String {
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => normal(&arguments).to_string(),
        Err(_) => call.arguments.trim().to_owned(),
    }
}

fn normal(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: std::collections::BTreeMap<&String, Value> =
                fields.iter().map(|(key, field)| (key, normal(field))).collect();
            json!(sorted)
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let mut texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            texts.sort_unstable();
            match texts.as_slice() {
                [one] => json!(one),
                texts => json!(texts),
            }
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Number(number) => number.as_f64().map_or_else(|| value.clone(), |number| json!(number)),
        Value::String(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

/// The calls that say `intent`, as a model would write them: one per tool, verb and arguments.
pub fn calls_for(intent: &Intent, house: &House) -> Vec<(&'static str, Value)> {
    match intent {
        Intent::Actions(actions) => {
            let mut calls: Vec<(&'static str, Value, Vec<Value>)> = Vec::new();
            for action in actions {
                let Some(entity) = house.entity(action.entity.as_str()) else { continue };
                let Some(group) = tool_for(entity, action.verb) else { continue };
                let mut arguments = json!(action.args);
                arguments["verb"] = json!(action.verb);
                match calls.iter_mut().find(|(tool, known, _)| *tool == group.name && *known == arguments) {
                    Some((_, _, entities)) => entities.push(json!(action.entity)),
                    None => calls.push((group.name, arguments, vec![json!(action.entity)])),
                }
            }
            let with_entities = |(tool, mut arguments, entities): (&'static str, Value, Vec<Value>)| {
                arguments["entities"] = Value::Array(entities);
                (tool, arguments)
            };
            calls.into_iter().map(with_entities).collect()
        }
        Intent::Scene(scene) => vec![(RUN_SCENE, json!({"scene": scene}))],
        Intent::Schedule { .. }
        | Intent::ScheduleQuery
        | Intent::ScheduleCancel { .. }
        | Intent::Timer(_)
        | Intent::List(_)
        | Intent::Broadcast { .. }
        | Intent::History(_)
        | Intent::StopAll => household_calls::write(intent, house).into_iter().collect(),
    }
}

/// A tool with an object schema that takes nothing else.
fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
    }
}
