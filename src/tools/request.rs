//! From a tool call to what it asks for, with errors that a model can act on.
//!
//! Everything is checked here: the name, the JSON, the verb, every target and every argument against the very entity.
//! Nothing is repaired by guessing: a wrong call comes back as a result that says what is allowed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::clean;
use super::groups::tool_for;
use super::household_calls;
use super::{ASK_USER, FIND_ENTITIES, FINISH, GET_STATE, RUN_SCENE};
use super::{ToolCall, ToolSpec};
use crate::home::{Action, ActionSpec, ArgError, ArgKind, Args, Category, Entity, EntityId, House, Verb};
use crate::nlu::Intent;

/// Characters of a reason: the words of a device may stand in it.
const LONGEST_REASON: usize = 512;

/// What a well-formed call asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Actions on entities that exist and offer them, with checked arguments. Groups are not expanded yet.
    Actions(Vec<Action>),
    Scene(String),
    GetState(Vec<EntityId>),
    FindEntities {
        query: String,
        area: Option<String>,
        domain: Option<String>,
    },
    AskUser(String),
    Finish {
        reply: Option<String>,
    },
    /// Timers, lists, schedules, announcements, stop.
    Household(Intent),
}

/// A call that cannot run, in a form that a model can act on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub kind: ErrorKind,
    pub message: String,
    /// Nearest names or allowed values.
    pub suggestions: Vec<String>,
    /// For a broken call: what one looks like.
    pub example: Option<String>,
}

/// Why a call cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// No such tool, no JSON, wrong types: the call itself is broken.
    Malformed,
    UnknownEntity,
    UnknownArea,
    UnknownScene,
    Unsupported,
    BadArgument,
    /// Nothing fits the targets.
    NoTarget,
}

impl ErrorKind {
    pub fn word(self) -> &'static str {
        match self {
            ErrorKind::Malformed => "malformed",
            ErrorKind::UnknownEntity => "unknown_entity",
            ErrorKind::UnknownArea => "unknown_area",
            ErrorKind::UnknownScene => "unknown_scene",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::BadArgument => "bad_argument",
            ErrorKind::NoTarget => "no_target",
        }
    }
}

impl ToolError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>, suggestions: Vec<String>) -> Self {
        Self { kind, message: message.into(), suggestions, example: None }
    }

    /// Whether the call itself is broken, whatever the house is like.
    pub fn is_malformed(&self) -> bool {
        self.kind == ErrorKind::Malformed
    }

    /// The error result as the model gets it.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"error": self.kind.word(), "message": self.message});
        if !self.suggestions.is_empty() {
            error["did_you_mean"] = json!(self.suggestions);
        }
        if let Some(example) = &self.example {
            error["example"] = json!(example);
        }
        error
    }
}

/// Reads `call` against the tools that were offered and the house as it is.
pub fn request(call: &ToolCall, tools: &[ToolSpec], house: &House) -> Result<Request, ToolError> {
    let Some(spec) = tools.iter().find(|tool| tool.name == call.name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let nearest = nearest(&call.name, names.iter().copied());
        return Err(ToolError::new(
            ErrorKind::Malformed,
            format!("there is no tool {:?}; tools: {}", clip(&call.name), names.join(", ")),
            nearest,
        ));
    };
    read(call, tools, house).map_err(|mut error| {
        if error.is_malformed() {
            error.example = Some(example(spec));
        }
        error
    })
}

/// What the arguments of a tool look like: those that it needs, with words in place of values. No real entity stands in
/// it, so that nothing is done to one that nobody meant.
fn example(tool: &ToolSpec) -> String {
    let schema = &tool.parameters;
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let targets = ["entities"].into_iter().filter(|name| schema["properties"].get(name).is_some());
    let names: BTreeSet<&str> = required.chain(targets).collect();
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("array") => json!([format!("<one of {name}>")]),
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some(_) | None => json!(format!("<{name}>")),
    };
    let arguments: Map<String, Value> =
        names.into_iter().map(|name| (name.to_owned(), value(name))).collect();
    Value::Object(arguments).to_string()
}

fn read(call: &ToolCall, tools: &[ToolSpec], house: &House) -> Result<Request, ToolError> {
    let raw = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    let arguments = match crate::strict_json::parse(raw.as_bytes()) {
        Ok(Value::Object(arguments)) => arguments,
        Ok(other) => {
            let message = format!("the arguments are {}; expected a JSON object", clip(&other.to_string()));
            return Err(ToolError::new(ErrorKind::Malformed, message, vec![]));
        }
        Err(error) => {
            let message = format!("the arguments are not usable: {error}");
            return Err(ToolError::new(ErrorKind::Malformed, message, vec![]));
        }
    };
    match call.name.as_str() {
        GET_STATE => get_state(&arguments, house),
        FIND_ENTITIES => Ok(Request::FindEntities {
            query: text(&arguments, "query")?.unwrap_or_default(),
            area: text(&arguments, "area")?,
            domain: text(&arguments, "domain")?,
        }),
        ASK_USER => match text(&arguments, "question")? {
            Some(question) if !question.trim().is_empty() => Ok(Request::AskUser(question)),
            Some(_) | None => Err(ToolError::new(ErrorKind::BadArgument, "question is missing", vec![])),
        },
        FINISH => Ok(Request::Finish { reply: text(&arguments, "reply")? }),
        RUN_SCENE => scene(&arguments, house),
        name if super::is_household(name) => {
            household_calls::read(name, &arguments, tools, house).map(Request::Household)
        }
        name => actions(name, arguments, house),
    }
}

fn get_state(arguments: &Map<String, Value>, house: &House) -> Result<Request, ToolError> {
    let ids = texts(arguments, "entities")?;
    if ids.is_empty() {
        return Err(ToolError::new(
            ErrorKind::BadArgument,
            "entities is missing; expected a list of entity ids",
            vec![],
        ));
    }
    ids.iter().map(|id| Ok(known(id, house)?.id.clone())).collect::<Result<_, _>>().map(Request::GetState)
}

fn scene(arguments: &Map<String, Value>, house: &House) -> Result<Request, ToolError> {
    let id = text(arguments, "scene")?.unwrap_or_default();
    if house.scenes.contains_key(&id) {
        return Ok(Request::Scene(id));
    }
    let nearest = nearest(&id, house.scenes.keys().map(String::as_str));
    Err(ToolError::new(ErrorKind::UnknownScene, format!("there is no scene {:?}", clip(&id)), nearest))
}

/// A call of a tool that acts: verb, targets, and the rest are arguments of the verb.
fn actions(tool: &str, mut arguments: Map<String, Value>, house: &House) -> Result<Request, ToolError> {
    let word = text(&arguments, "verb")?.unwrap_or_default();
    let verb = Verb::from_word(&word).ok_or_else(|| {
        let verbs = verbs_of(tool, house);
        let message = format!("{:?} is no verb of {tool}; verbs: {}", clip(&word), verbs.join(", "));
        ToolError::new(ErrorKind::BadArgument, message, nearest(&word, verbs.iter().copied()))
    })?;
    let ids = texts(&arguments, "entities")?;
    let areas = texts(&arguments, "areas")?;
    for key in ["verb", "entities", "areas"] {
        arguments.shift_remove(key);
    }
    let mut actions: Vec<Action> = Vec::new();
    for id in &ids {
        let entity = known(id, house)?;
        let args = checked(tool, entity, verb, &arguments)?;
        push(&mut actions, entity, verb, args);
    }
    for area in &areas {
        if !house.places.areas.contains_key(area) {
            let nearest = nearest(area, house.places.areas.keys().map(String::as_str));
            return Err(ToolError::new(
                ErrorKind::UnknownArea,
                format!("there is no area {:?}", clip(area)),
                nearest,
            ));
        }
        let fitting = house.entities().filter(|entity| {
            entity.area.as_deref() == Some(area)
                && entity.category == Category::Main
                && offers(tool, entity, verb)
        });
        for entity in fitting {
            let args = checked(tool, entity, verb, &arguments)?;
            push(&mut actions, entity, verb, args);
        }
    }
    if actions.is_empty() {
        let mut message = format!("no entity for {tool} {verb}");
        if ids.is_empty() && areas.is_empty() {
            message.push_str(": name entities or areas");
        } else {
            let _ = write!(message, " in {}", areas.join(", "));
        }
        return Err(ToolError::new(ErrorKind::NoTarget, message, vec![]));
    }
    Ok(Request::Actions(actions))
}

fn push(actions: &mut Vec<Action>, entity: &Entity, verb: Verb, args: Args) {
    if !actions.iter().any(|action| action.entity == entity.id) {
        actions.push(Action { entity: entity.id.clone(), verb, args });
    }
}

/// The arguments of `verb` for this entity, or what it does offer.
fn checked(
    tool: &str,
    entity: &Entity,
    verb: Verb,
    arguments: &Map<String, Value>,
) -> Result<Args, ToolError> {
    match entity.action(verb) {
        Some(spec) if offers(tool, entity, verb) => spec.check(arguments).map_err(|error| {
            let kind = if error.is_wrong_type() { ErrorKind::Malformed } else { ErrorKind::BadArgument };
            ToolError::new(
                kind,
                clean(&format!("{}: {error}", entity.id), LONGEST_REASON),
                like(&error, spec),
            )
        }),
        Some(_) | None => Err(ToolError::new(ErrorKind::Unsupported, cannot(tool, entity, verb), vec![])),
    }
}

/// Words of the device that are close to one that it does not know.
fn like(error: &ArgError, spec: &ActionSpec) -> Vec<String> {
    let ArgError::Wrong { arg, got, .. } = error else { return Vec::new() };
    match spec.arg(*arg).map(|arg| &arg.kind) {
        Some(ArgKind::Choice(options)) => nearest(got.trim_matches('"'), options.iter().map(String::as_str)),
        Some(_) | None => Vec::new(),
    }
}

/// Says what the entity can do instead, through this tool or through others.
fn cannot(tool: &str, entity: &Entity, verb: Verb) -> String {
    let through = |spec: &&ActionSpec| tool_for(entity, spec.verb).is_some_and(|group| group.name == tool);
    let offered: Vec<&str> = entity.actions.iter().filter(through).map(|spec| spec.verb.word()).collect();
    if !offered.is_empty() {
        return format!("{} cannot {verb}; it can: {}", entity.id, offered.join(", "));
    }
    let tools: BTreeSet<&str> = entity
        .actions
        .iter()
        .filter_map(|spec| tool_for(entity, spec.verb))
        .map(|group| group.name)
        .collect();
    if tools.is_empty() {
        return format!("{} can only be read", entity.id);
    }
    format!(
        "{} is not reached by {tool}; its tools: {}",
        entity.id,
        tools.into_iter().collect::<Vec<_>>().join(", ")
    )
}

fn offers(tool: &str, entity: &Entity, verb: Verb) -> bool {
    entity.action(verb).is_some() && tool_for(entity, verb).is_some_and(|group| group.name == tool)
}

fn verbs_of(tool: &str, house: &House) -> Vec<&'static str> {
    let verbs: BTreeSet<Verb> = house
        .entities()
        .flat_map(|entity| entity.actions.iter().map(move |spec| (entity, spec.verb)))
        .filter(|(entity, verb)| tool_for(entity, *verb).is_some_and(|group| group.name == tool))
        .map(|(_, verb)| verb)
        .collect();
    verbs.into_iter().map(Verb::word).collect()
}

fn known<'h>(id: &str, house: &'h House) -> Result<&'h Entity, ToolError> {
    match house.entity(id) {
        Some(entity) if entity.category == Category::Main => Ok(entity),
        Some(_) | None => {
            let nearest = nearest(id, house.entities().map(|entity| entity.id.as_str()));
            Err(ToolError::new(
                ErrorKind::UnknownEntity,
                format!("there is no entity {:?}", clip(id)),
                nearest,
            ))
        }
    }
}

fn text(arguments: &Map<String, Value>, key: &str) -> Result<Option<String>, ToolError> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            Err(ToolError::new(ErrorKind::Malformed, format!("{key} is {other}; expected a text"), vec![]))
        }
    }
}

/// A list of texts; a single text is taken as a list of one, since models often leave the brackets out.
fn texts(arguments: &Map<String, Value>, key: &str) -> Result<Vec<String>, ToolError> {
    let wrong = |got: &Value| {
        ToolError::new(ErrorKind::Malformed, format!("{key} is {got}; expected a list of texts"), vec![])
    };
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(list @ Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong(list))).collect()
        }
        Some(other) => Err(wrong(other)),
    }
}

/// Up to three names that are close to `wanted`.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    // Models write names in another case, or behind a namespace that is none (`functions.light`).
    let wanted = clip(wanted).to_lowercase();
    let bare = wanted.strip_prefix("functions.").unwrap_or(&wanted);
    let mut close: Vec<(f64, &str)> = names
        .map(|name| (strsim::jaro_winkler(bare, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    close.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    close.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// At most 80 characters, so that an error result cannot be blown up by what the model wrote.
fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}
