//! Calls of the tools that no device stands behind: `timer`, `list`, `schedule`, `announce`, `stop_all`.
//!
//! One flat schema serves both ways: what a model writes is read into an [`Intent`] ([`read`]), and what the offline
//! understanding intends is written as a call of the same form ([`write`]).

use chrono::{NaiveDateTime, NaiveTime};
use serde_json::{Map, Value, json};

use super::request::{ErrorKind, Request, ToolError, request};
use super::tool;
use super::{ToolCall, ToolSpec};
use crate::home::{EntityId, House};
use crate::nlu::{Intent, ListChange, ScheduleChoice, TimerChange, TimerFilter, Weekdays, When};

pub const TIMER: &str = "timer";
pub const LIST: &str = "list";
pub const SCHEDULE: &str = "schedule";
pub const ANNOUNCE: &str = "announce";
pub const STOP_ALL: &str = "stop_all";
pub const HISTORY: &str = "history";

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The tools, always the same.
pub fn specs() -> Vec<ToolSpec> {
    vec![
        tool(
            TIMER,
            "Kitchen timers: start, extend, shorten, pause, resume, cancel, cancel_all, query. Several run at once.",
            json!({
                "action": {"type": "string", "enum": ["start", "extend", "shorten", "pause", "resume", "cancel", "cancel_all", "query"]},
                "seconds": {"type": "integer", "minimum": 1, "maximum": 604_800},
                "label": {"type": "string", "maxLength": 64},
                "length": {"type": "integer", "description": "which timer, by the seconds it was set to"},
                "area": {"type": "string"},
            }),
            &["action"],
        ),
        tool(
            LIST,
            "To-do and shopping lists: add, complete, remove or read items.",
            json!({
                "action": {"type": "string", "enum": ["add", "complete", "remove", "read"]},
                "item": {"type": "string", "maxLength": 200},
                "list": {"type": "string", "description": "id of a todo entity; the shopping list if left out"},
            }),
            &["action"],
        ),
        tool(
            SCHEDULE,
            "Do tool calls later: after_seconds, at a local time, or every week on days at a time. Also list and cancel.",
            json!({
                "action": {"type": "string", "enum": ["create", "list", "cancel", "cancel_all"]},
                "after_seconds": {"type": "integer", "minimum": 1},
                "at": {"type": "string", "description": "local date and time, 2026-03-01T22:30"},
                "every": {"type": "object", "properties": {
                    "at": {"type": "string", "description": "local time, 07:00"},
                    "days": {"type": "array", "items": {"type": "string", "enum": DAYS}},
                }, "required": ["at", "days"]},
                "entities": {"type": "array", "items": {"type": "string"}, "description": "cancel: those that act on these"},
                "last": {"type": "boolean", "description": "cancel: the last one of this conversation"},
                "calls": {"type": "array", "items": {"type": "object", "properties": {
                    "tool": {"type": "string"}, "arguments": {"type": "object"},
                }, "required": ["tool", "arguments"]}},
            }),
            &["action"],
        ),
        tool(
            ANNOUNCE,
            "Say a text on the speakers of the house or of one area.",
            json!({"message": {"type": "string", "maxLength": 300}, "area": {"type": "string"}}),
            &["message"],
        ),
        tool(
            HISTORY,
            "Who changed entities, when, through which channel, and who approved it. Reads only.",
            json!({"entities": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_ASKED}}),
            &["entities"],
        ),
        tool(STOP_ALL, "Stop everything that moves and every running task, at once.", json!({}), &[]),
    ]
}

/// Whether `name` is one of these tools.
pub fn is_household(name: &str) -> bool {
    matches!(name, TIMER | LIST | SCHEDULE | ANNOUNCE | STOP_ALL | HISTORY)
}

/// Reads the arguments of one of these tools.
pub fn read(
    name: &str,
    arguments: &Map<String, Value>,
    tools: &[ToolSpec],
    house: &House,
) -> Result<Intent, ToolError> {
    match name {
        TIMER => timer(arguments).map(Intent::Timer),
        LIST => list(arguments, house).map(Intent::List),
        SCHEDULE => schedule(arguments, tools, house),
        ANNOUNCE => {
            Ok(Intent::Broadcast { message: required(arguments, "message")?, area: text(arguments, "area") })
        }
        STOP_ALL => Ok(Intent::StopAll),
        HISTORY => history(arguments, house).map(Intent::History),
        other => Err(bad(format!("there is no tool {other:?}"))),
    }
}

/// Entities whose history is told at once.
const MOST_ASKED: usize = 5;

fn history(arguments: &Map<String, Value>, house: &House) -> Result<Vec<EntityId>, ToolError> {
    let given = arguments.get("entities").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if given.is_empty() || given.len() > MOST_ASKED {
        return Err(bad(format!("entities has {} ids; expected 1 to {MOST_ASKED}", given.len())));
    }
    let known = |id: &Value| {
        let id = id.as_str().and_then(|id| EntityId::parse(id).ok());
        id.filter(|id| house.entity(id.as_str()).is_some())
    };
    given.iter().map(|id| known(id).ok_or_else(|| bad(format!("there is no entity {id}")))).collect()
}

fn timer(arguments: &Map<String, Value>) -> Result<TimerChange, ToolError> {
    let filter = TimerFilter {
        label: text(arguments, "label"),
        length: arguments.get("length").and_then(Value::as_u64),
        area: text(arguments, "area"),
    };
    let seconds = || match arguments.get("seconds").and_then(Value::as_u64) {
        Some(seconds) if (1..=604_800).contains(&seconds) => Ok(seconds),
        Some(_) | None => Err(bad("seconds is missing or out of range; expected 1 to 604800")),
    };
    match required(arguments, "action")?.as_str() {
        "start" => Ok(TimerChange::Start { seconds: seconds()?, label: filter.label }),
        "extend" => Ok(TimerChange::Extend { seconds: seconds()?, timer: filter }),
        "shorten" => Ok(TimerChange::Shorten { seconds: seconds()?, timer: filter }),
        "pause" => Ok(TimerChange::Pause(filter)),
        "resume" => Ok(TimerChange::Resume(filter)),
        "cancel" => Ok(TimerChange::Cancel(filter)),
        "cancel_all" => Ok(TimerChange::CancelAll { area: filter.area }),
        "query" => Ok(TimerChange::Query(filter)),
        other => Err(bad(format!("{other:?} is no action of timer"))),
    }
}

fn list(arguments: &Map<String, Value>, house: &House) -> Result<ListChange, ToolError> {
    let list = match text(arguments, "list") {
        None => None,
        Some(id) => match (EntityId::parse(&id), house.entity(&id)) {
            (Ok(id), Some(_)) => Some(id),
            (Ok(_) | Err(_), _) => return Err(bad(format!("there is no list {id:?}"))),
        },
    };
    let item = || required(arguments, "item");
    match required(arguments, "action")?.as_str() {
        "add" => Ok(ListChange::Add { list, item: item()? }),
        "complete" => Ok(ListChange::Complete { list, item: item()? }),
        "remove" => Ok(ListChange::Remove { list, item: item()? }),
        "read" => Ok(ListChange::Read { list }),
        other => Err(bad(format!("{other:?} is no action of list"))),
    }
}

fn schedule(arguments: &Map<String, Value>, tools: &[ToolSpec], house: &House) -> Result<Intent, ToolError> {
    match required(arguments, "action")?.as_str() {
        "create" => {
            let calls = arguments.get("calls").and_then(Value::as_array).filter(|calls| !calls.is_empty());
            let calls = calls.ok_or_else(|| bad("calls is missing; expected the tool calls to do later"))?;
            let intents = calls.iter().map(|call| later(call, tools, house)).collect::<Result<_, _>>()?;
            Ok(Intent::Schedule { when: when(arguments)?, intents })
        }
        "list" => Ok(Intent::ScheduleQuery),
        "cancel" => cancel(arguments, house).map(Intent::ScheduleCancel),
        "cancel_all" => Ok(Intent::ScheduleCancel(ScheduleChoice::All)),
        other => Err(bad(format!("{other:?} is no action of schedule"))),
    }
}

/// Which schedules to cancel: those of `entities`, the `last` of the conversation, or the only one.
fn cancel(arguments: &Map<String, Value>, house: &House) -> Result<ScheduleChoice, ToolError> {
    if arguments.get("last").and_then(Value::as_bool) == Some(true) {
        return Ok(ScheduleChoice::Last);
    }
    let Some(entities) = arguments.get("entities").and_then(Value::as_array) else {
        return Ok(ScheduleChoice::Any);
    };
    let known = |id: &Value| {
        let id = id.as_str().unwrap_or_default();
        match (EntityId::parse(id), house.entity(id)) {
            (Ok(id), Some(_)) => Ok(id),
            (Ok(_) | Err(_), _) => Err(bad(format!("there is no entity {id:?}; take an id of the house"))),
        }
    };
    entities.iter().map(known).collect::<Result<_, _>>().map(ScheduleChoice::Of)
}

/// One call of a schedule: only what acts may be put off.
fn later(call: &Value, tools: &[ToolSpec], house: &House) -> Result<Intent, ToolError> {
    let name = call.get("tool").and_then(Value::as_str).unwrap_or_default();
    let arguments = call.get("arguments").map(Value::to_string).unwrap_or_default();
    let inner = ToolCall { id: String::new(), name: name.to_owned(), arguments };
    match request(&inner, tools, house)? {
        Request::Actions(actions) => Ok(Intent::Actions(actions)),
        Request::Scene(scene) => Ok(Intent::Scene(scene)),
        Request::Household(announce @ Intent::Broadcast { .. }) => Ok(announce),
        Request::Household(_)
        | Request::GetState(_)
        | Request::FindEntities { .. }
        | Request::AskUser(_)
        | Request::Finish { .. } => Err(bad(format!("{name:?} cannot be put off; schedule only what acts"))),
    }
}

fn when(arguments: &Map<String, Value>) -> Result<When, ToolError> {
    if let Some(seconds) = arguments.get("after_seconds").and_then(Value::as_u64) {
        return Ok(When::After { seconds });
    }
    if let Some(at) = text(arguments, "at") {
        let local = NaiveDateTime::parse_from_str(&at, "%Y-%m-%dT%H:%M")
            .or_else(|_| NaiveDateTime::parse_from_str(&at, "%Y-%m-%dT%H:%M:%S"))
            .map_err(|_| bad(format!("at is {at:?}; expected local time such as 2026-03-01T22:30")))?;
        return Ok(When::At { local });
    }
    let every = arguments.get("every").and_then(Value::as_object);
    let every = every.ok_or_else(|| bad("when is missing; give after_seconds, at or every"))?;
    let at = text(every, "at").unwrap_or_default();
    let at = NaiveTime::parse_from_str(&at, "%H:%M")
        .map_err(|_| bad(format!("every.at is {at:?}; expected local time such as 07:00")))?;
    let mut days = Weekdays([false; 7]);
    for day in every.get("days").and_then(Value::as_array).into_iter().flatten() {
        match DAYS.iter().zip(days.0.iter_mut()).find(|(word, _)| day.as_str() == Some(**word)) {
            Some((_, on)) => *on = true,
            None => return Err(bad(format!("{day} is no day; days: {}", DAYS.join(", ")))),
        }
    }
    Ok(When::Every { at, days })
}

/// The call that says `intent`, as a model would write it; `None` for intents that have tools of their own.
pub fn write(intent: &Intent, house: &House) -> Option<(&'static str, Value)> {
    match intent {
        Intent::Timer(change) => Some((TIMER, write_timer(change))),
        Intent::List(change) => Some((LIST, write_list(change))),
        Intent::Schedule { when, intents } => {
            let calls: Vec<Value> = intents
                .iter()
                .flat_map(|intent| super::calls_for(intent, house))
                .map(|(tool, arguments)| json!({"tool": tool, "arguments": arguments}))
                .collect();
            let mut arguments = write_when(when);
            arguments["action"] = json!("create");
            arguments["calls"] = json!(calls);
            Some((SCHEDULE, arguments))
        }
        Intent::ScheduleQuery => Some((SCHEDULE, json!({"action": "list"}))),
        Intent::ScheduleCancel(which) => Some((
            SCHEDULE,
            match which {
                ScheduleChoice::Any => json!({"action": "cancel"}),
                ScheduleChoice::Last => json!({"action": "cancel", "last": true}),
                ScheduleChoice::Of(entities) => json!({"action": "cancel", "entities": entities}),
                ScheduleChoice::All => json!({"action": "cancel_all"}),
            },
        )),
        Intent::Broadcast { message, area } => Some((ANNOUNCE, json!({"message": message, "area": area}))),
        Intent::StopAll => Some((STOP_ALL, json!({}))),
        Intent::History(entities) => {
            let entities: Vec<&EntityId> = entities.iter().take(MOST_ASKED).collect();
            Some((HISTORY, json!({"entities": entities})))
        }
        Intent::Actions(_) | Intent::Scene(_) => None,
    }
}

fn write_timer(change: &TimerChange) -> Value {
    let filtered = |action: &str, filter: &TimerFilter, seconds: Option<u64>| json!({"action": action, "label": filter.label, "length": filter.length, "area": filter.area, "seconds": seconds});
    match change {
        TimerChange::Start { seconds, label } => {
            json!({"action": "start", "seconds": seconds, "label": label})
        }
        TimerChange::Extend { timer, seconds } => filtered("extend", timer, Some(*seconds)),
        TimerChange::Shorten { timer, seconds } => filtered("shorten", timer, Some(*seconds)),
        TimerChange::Pause(filter) => filtered("pause", filter, None),
        TimerChange::Resume(filter) => filtered("resume", filter, None),
        TimerChange::Cancel(filter) => filtered("cancel", filter, None),
        TimerChange::CancelAll { area } => json!({"action": "cancel_all", "area": area}),
        TimerChange::Query(filter) => filtered("query", filter, None),
    }
}

fn write_list(change: &ListChange) -> Value {
    match change {
        ListChange::Add { list, item } => json!({"action": "add", "list": list, "item": item}),
        ListChange::Complete { list, item } => json!({"action": "complete", "list": list, "item": item}),
        ListChange::Remove { list, item } => json!({"action": "remove", "list": list, "item": item}),
        ListChange::Read { list } => json!({"action": "read", "list": list}),
    }
}

fn write_when(when: &When) -> Value {
    match when {
        When::After { seconds } => json!({"after_seconds": seconds}),
        When::At { local } => json!({"at": local.format("%Y-%m-%dT%H:%M:%S").to_string()}),
        When::Every { at, days } => {
            let days: Vec<&str> =
                DAYS.iter().zip(days.0).filter(|(_, on)| *on).map(|(day, _)| *day).collect();
            json!({"every": {"at": at.format("%H:%M").to_string(), "days": days}})
        }
    }
}

fn text(arguments: &Map<String, Value>, key: &str) -> Option<String> {
    arguments.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn required(arguments: &Map<String, Value>, key: &str) -> Result<String, ToolError> {
    text(arguments, key).ok_or_else(|| bad(format!("{key} is missing; expected a text")))
}

fn bad(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::BadArgument, message, vec![])
}
