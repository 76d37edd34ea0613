//! What a language model reads: a byte-stable prefix, then what changes.
//!
//! The prefix (system text and tools) holds names, places and features and no state, so that a provider's cache keeps
//! it between commands (invariant `same_house_same_prefix`). Device text is quoted JSON data, cut and cleaned, and
//! marked as data (invariant `device_text_is_data`). Redaction for providers is `model`'s.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, Datelike, Timelike};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::command::Command;
use super::conversation::Exchange;
use super::limits::Limits;
use super::state::{TaskState, Turn};
use crate::home::{Arg, Category, Entity, House};
use crate::model::{Message, ToolSpec};
use crate::tools::{self, MOST_LISTED};

/// The part of a request that is the same for the same home.
#[derive(Debug, Clone)]
pub struct Prefix {
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
}

/// What a model is told to do, by the language of the home.
const RULES: &[(&str, &str)] =
    &[("en", include_str!("prompt/en.txt")), ("zh", include_str!("prompt/zh.txt"))];

/// Names of an entity in the house table.
const NAMES: usize = 4;
/// Characters of a name of an entity or a place.
const NAME: usize = 64;

/// What stands for the body of an old tool result in a conversation that was too long for the model.
const SHORTENED: &str =
    r#"{"left_out":"this result was left out to save room; read it again if it is needed"}"#;

/// The prefix for a house, in a stable order. `language` is the home's; English where there are no rules in it.
pub fn prefix(house: &House, language: &str) -> Prefix {
    Prefix { system: system(house, language).into(), tools: tools::catalog(house).into() }
}

fn system(house: &House, language: &str) -> String {
    let rules = RULES.iter().find(|(known, _)| *known == language).or(RULES.first());
    let mut text = rules.map_or("", |(_, rules)| rules).to_owned();
    let floors: Vec<_> = house
        .places
        .floors
        .values()
        .map(|floor| json!({"id": floor.id, "name": tools::clean(&floor.name, NAME)}))
        .collect();
    let areas: Vec<_> = house
        .places
        .areas
        .values()
        .map(|area| json!({"id": area.id, "name": tools::clean(&area.name, NAME), "floor": area.floor}))
        .collect();
    let _ = write!(text, "\nFloors: {}\nAreas: {}\n", json!(floors), json!(areas));
    if house.len() > MOST_LISTED {
        let _ = writeln!(text, "The house has {} entities; find them with find_entities.", house.len());
    } else {
        text.push_str("Entities (data, one a line: id, names, area, class, what it takes):\n");
        for entity in house.entities().filter(|entity| entity.category == Category::Main) {
            let _ = writeln!(text, "{}", row(entity));
        }
    }
    for scene in house.scenes.values() {
        let _ = writeln!(text, "Scene {}", json!([scene.id, tools::clean(&scene.name, NAME)]));
    }
    text
}

/// One entity without its state; what it does not have at the end of the row is left out.
fn row(entity: &Entity) -> Value {
    let names: Vec<String> = entity.all_names().take(NAMES).map(|name| tools::clean(name, NAME)).collect();
    let takes: BTreeSet<&str> = entity
        .actions
        .iter()
        .flat_map(|action| &action.args)
        // Codes are never the model's to know.
        .filter(|arg| arg.name != Arg::Code)
        .map(|arg| arg.name.word())
        .collect();
    let takes = if takes.is_empty() { Value::Null } else { json!(takes) };
    let class = entity.device_class.as_deref().map(|class| tools::clean(class, tools::CLASS));
    let mut cells = vec![json!(entity.id), json!(names), json!(entity.area), json!(class), takes];
    while cells.last().is_some_and(Value::is_null) {
        cells.pop();
    }
    Value::Array(cells)
}

/// The messages of a turn: the conversation, the command with its surroundings, and the task so far. A conversation
/// that was too long for the model comes shorter: without what was said before, and without the bodies of old results.
pub fn messages(
    task: &TaskState,
    command: &Command,
    history: &[Exchange],
    house: &House,
    limits: &Limits,
    now: DateTime<Tz>,
) -> Vec<Message> {
    let too_long = task.too_long > 0;
    let mut messages = Vec::new();
    for exchange in history.iter().filter(|_| !too_long) {
        messages.push(Message::User { text: exchange.said.clone() });
        messages.push(Message::Assistant { text: exchange.reply.clone(), calls: Vec::new() });
    }
    messages
        .push(Message::User { text: format!("{}\n\n{}", surroundings(command, house, now), command.text) });
    let newest = task.turns.iter().rposition(|turn| !turn.calls.is_empty());
    // An answer that its limit cut is asked for again with more room: the model does not see its own first try.
    for (at, turn) in task.turns.iter().enumerate().filter(|(at, _)| !task.is_first_cut(*at)) {
        let shorten = too_long && Some(at) != newest;
        add_turn(&mut messages, task, turn, limits, shorten);
    }
    messages
}

fn add_turn(messages: &mut Vec<Message>, task: &TaskState, turn: &Turn, limits: &Limits, shorten: bool) {
    let calls: Vec<_> = turn.calls.iter().filter_map(|id| task.calls.get(id)).collect();
    messages.push(Message::Assistant {
        text: turn.text.clone(),
        calls: calls.iter().map(|call| call.call.clone()).collect(),
    });
    let mut left = limits.turn_result_bytes;
    for call in calls {
        let Some((content, is_error)) = call.result() else { continue };
        let content = if shorten && content.len() > SHORTENED.len() {
            SHORTENED.to_owned()
        } else {
            tools::fit(content, limits.result_bytes.min(left))
        };
        left = left.saturating_sub(content.len());
        messages.push(Message::ToolResult { call_id: call.call.id.clone(), content, is_error });
    }
    if turn.calls.is_empty() {
        messages.push(Message::User { text: "Go on from where you stopped.".into() });
    }
}

/// Time, caller's place, and the entities that matter: those that the words point at, and those where the caller is.
/// In a listed house their states alone; in a big one what the prefix does not tell as well.
fn surroundings(command: &Command, house: &House, now: DateTime<Tz>) -> String {
    let mut facts = json!({
        "now": format!("{} {:02}:{:02}", now.date_naive(), now.hour(), now.minute()),
        "weekday": now.weekday().to_string(),
        "zone": now.timezone().name(),
    });
    if let Some(area) = &command.area {
        facts["caller_area"] = json!(area);
    }
    let related = tools::related(&command.text, command.area.as_deref(), house);
    if house.len() > MOST_LISTED {
        let views = related.iter().map(|entity| tools::quoted_view(entity, house, now.to_utc()));
        facts["candidates"] = views.collect();
    } else {
        let states =
            related.iter().map(|entity| (entity.id.to_string(), json!(tools::quoted_state(entity, house))));
        facts["states"] = Value::Object(states.collect());
    }
    format!("[context, data] {facts}")
}
