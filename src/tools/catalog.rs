//! From a house to its tools: the schema of each from the entities' real features.
//!
//! The same house gives byte-identical tools (invariant `same_house_same_prefix`): entities come in the order of their
//! ids, verbs and arguments in the order of their tables, tools sorted by name. States play no part.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::ToolSpec;
use super::groups::{Group, tool_for};
use super::{ASK_USER, FIND_ENTITIES, FINISH, GET_STATE, RUN_SCENE, clean, tool};
use crate::home::{Arg, ArgKind, ArgSpec, Category, House, Verb};

/// Above this number of entities the schemas name no ids: the model finds them with `find_entities`.
pub const MOST_LISTED: usize = 150;

/// Options of devices that a schema lists: at most so many, each of at most so many characters.
const MOST_OPTIONS: usize = 64;
const LONGEST_OPTION: usize = 64;
/// Of more than that, so many are told.
const OPTIONS_TOLD: usize = 12;

/// The tools of `house`, sorted by name.
pub fn catalog(house: &House) -> Vec<ToolSpec> {
    let listed = house.len() <= MOST_LISTED;
    let mut collected: BTreeMap<&'static str, Collected> = BTreeMap::new();
    for entity in house.entities().filter(|entity| entity.category == Category::Main) {
        for spec in &entity.actions {
            let Some(group) = tool_for(entity, spec.verb) else { continue };
            let tool = collected.entry(group.name).or_insert_with(|| Collected::new(group));
            tool.verbs.insert(spec.verb);
            tool.entities.insert(entity.id.to_string());
            for arg in &spec.args {
                tool.take_arg(arg);
            }
        }
    }
    let has_areas = !house.places.areas.is_empty();
    let mut tools: Vec<ToolSpec> = collected.values().map(|tool| tool.spec(listed, has_areas)).collect();
    tools.extend(builtins(house));
    tools.extend(super::household_specs());
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

/// What the entities of one tool can do together.
struct Collected {
    group: Group,
    verbs: BTreeSet<Verb>,
    entities: BTreeSet<String>,
    args: BTreeMap<Arg, ArgKind>,
}

impl Collected {
    fn new(group: Group) -> Self {
        Self { group, verbs: BTreeSet::new(), entities: BTreeSet::new(), args: BTreeMap::new() }
    }

    /// Widens the argument to what any of the entities takes; each call is checked against its own entities.
    fn take_arg(&mut self, arg: &ArgSpec) {
        // Codes are never the model's to know.
        if arg.name == Arg::Code {
            return;
        }
        match self.args.entry(arg.name) {
            std::collections::btree_map::Entry::Vacant(empty) => {
                empty.insert(arg.kind.clone());
            }
            std::collections::btree_map::Entry::Occupied(mut known) => widen(known.get_mut(), &arg.kind),
        }
    }

    fn spec(&self, listed: bool, has_areas: bool) -> ToolSpec {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.word()).collect();
        let mut properties = Map::new();
        properties.insert("verb".into(), json!({"type": "string", "enum": verbs}));
        let mut entity = json!({"type": "string"});
        if listed {
            entity["enum"] = json!(self.entities);
        }
        properties.insert("entities".into(), json!({"type": "array", "items": entity}));
        if has_areas {
            // Their ids stand in the system text once; in every tool again they were a fifth of the prefix.
            let area = json!({"type": "array", "items": {"type": "string"},
                "description": "area ids: all fitting entities there"});
            properties.insert("areas".into(), area);
        }
        for (arg, kind) in &self.args {
            properties.insert(arg.word().into(), schema(*arg, kind));
        }
        ToolSpec {
            name: self.group.name.into(),
            description: self.group.description.into(),
            parameters: json!({
                "type": "object", "properties": properties, "required": ["verb"], "additionalProperties": false,
            }),
        }
    }
}

fn widen(known: &mut ArgKind, other: &ArgKind) {
    match (known, other) {
        (ArgKind::Number { min, max, step }, ArgKind::Number { min: low, max: high, step: fine }) => {
            *min = min.min(*low);
            *max = max.max(*high);
            *step = step.min(*fine);
        }
        (ArgKind::Choice(known), ArgKind::Choice(more)) => {
            for option in more {
                if !known.contains(option) {
                    known.push(option.clone());
                }
            }
        }
        (ArgKind::Text { max_chars }, ArgKind::Text { max_chars: more }) => {
            *max_chars = (*max_chars).max(*more)
        }
        // Entities that disagree on the type of an argument: free text in the schema, exact check per entity.
        (known, other) => {
            if std::mem::discriminant(known) != std::mem::discriminant(other) {
                *known = ArgKind::Text { max_chars: 255 };
            }
        }
    }
}

fn schema(arg: Arg, kind: &ArgKind) -> Value {
    let mut schema = match kind {
        ArgKind::Number { min, max, .. } => json!({"type": "number", "minimum": min, "maximum": max}),
        ArgKind::Choice(options) => choice(options),
        ArgKind::Text { max_chars } => json!({"type": "string", "maxLength": max_chars}),
        ArgKind::Bool => json!({"type": "boolean"}),
        ArgKind::Rgb => json!({
            "type": "array", "minItems": 3, "maxItems": 3,
            "items": {"type": "integer", "minimum": 0, "maximum": 255},
        }),
        ArgKind::Numbers { limits, whole } => json!({
            "type": "array", "minItems": limits.len(), "maxItems": limits.len(),
            "items": {
                "type": if *whole { "integer" } else { "number" },
                // The largest of them; each is checked against its own.
                "minimum": 0, "maximum": limits.iter().copied().fold(0.0, f64::max),
            },
        }),
    };
    if !arg.unit().is_empty() {
        schema["description"] = json!(format!("in {}", arg.unit()));
    }
    schema
}

/// The options of devices are their own words: few and plain ones are listed, of others some are told. Which ones there
/// are is checked for each entity, whatever is told here.
fn choice(options: &[String]) -> Value {
    // What joins and colours an emoji hides nothing.
    let bare = |option: &str| option.replace(['\u{fe0f}', '\u{200d}'], "");
    let plain = |option: &&String| clean(option, LONGEST_OPTION) == bare(option);
    if options.len() <= MOST_OPTIONS && options.iter().all(|option| plain(&option)) {
        return json!({"type": "string", "enum": options});
    }
    let some: Vec<&str> = options.iter().filter(plain).take(OPTIONS_TOLD).map(String::as_str).collect();
    let told = format!("one of {} words of the device, such as {}", options.len(), json!(some));
    json!({"type": "string", "description": told})
}

fn builtins(house: &House) -> Vec<ToolSpec> {
    let mut tools = vec![
        tool(
            GET_STATE,
            "Read the present state of entities: value, attributes, age. Reads only.",
            json!({"entities": {"type": "array", "items": {"type": "string"}, "minItems": 1}}),
            &["entities"],
        ),
        tool(
            FIND_ENTITIES,
            "Find entities by words of their name, by area or by domain. Reads only.",
            json!({"query": {"type": "string"}, "area": {"type": "string"}, "domain": {"type": "string"}}),
            &[],
        ),
        tool(
            ASK_USER,
            "Ask the person one short question when the command is ambiguous. Ends the turn.",
            json!({"question": {"type": "string", "maxLength": 300}}),
            &["question"],
        ),
        tool(
            FINISH,
            "Call together with actions when nothing more is needed if they succeed.",
            json!({"reply": {"type": "string", "maxLength": 300, "description": "optional short sentence"}}),
            &[],
        ),
    ];
    if !house.scenes.is_empty() {
        let scenes: Vec<&str> = house.scenes.keys().map(String::as_str).collect();
        tools.push(tool(
            RUN_SCENE,
            "Run a scene of the home: a named list of actions.",
            json!({"scene": {"type": "string", "enum": scenes}}),
            &["scene"],
        ));
    }
    tools
}
