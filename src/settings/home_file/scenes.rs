//! Scenes and groups: lists of actions and of entities, checked against what the entities offer.
//!
//! A step on an entity that announces itself cannot be checked before the announcement: it is taken where an override
//! names the entity by its id, and the door checks it when the scene runs.

use std::collections::BTreeMap;

use super::HomeEntity;
use super::Overrides;
use super::build::{entity_id, name, names, no_such, place_id};
use super::format::{EntityToml, SceneToml};
use serde_json::{Map, Value};

use crate::devices::{FileError, Source};
use crate::home::{
    Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Args, Entity, Scene, SceneStep, Verb,
};

/// The scenes of the file; every step on an entity of the file is an action that it offers with these arguments.
pub(super) fn scenes(
    source: Source<'_>,
    files: &[SceneToml],
    entities: &BTreeMap<&str, &Entity>,
    overrides: &Overrides,
) -> Result<Vec<Scene>, FileError> {
    let mut scenes: Vec<Scene> = Vec::new();
    for file in files {
        let taken = scenes.iter().any(|scene| scene.id == *file.id.get_ref());
        let id = place_id(source, &file.id, taken)?;
        let mut steps = Vec::new();
        for step in &file.steps {
            let (span, step) = (step.span(), step.get_ref());
            let Some(verb) = Verb::from_word(step.verb.get_ref()) else {
                let known = Verb::ALL.iter().map(|verb| verb.word());
                return Err(source.error(step.verb.span(), no_such("verb", step.verb.get_ref(), known)));
            };
            let targets: Vec<_> = step.entity.iter().chain(&step.entities).collect();
            if targets.is_empty() {
                return Err(source.error(span, "this step has no entity; give entity = … or entities = […]"));
            }
            for target in targets {
                let entity = entity_id(source, target)?;
                let Some(known) = entities.get(entity.as_str()) else {
                    if overrides.name(entity.as_str()) {
                        let args = unchecked(&step.args).map_err(|error| {
                            source.error(span.clone(), format!("{entity} {verb}: {error}"))
                        })?;
                        steps.push(SceneStep(Action { entity, verb, args }));
                        continue;
                    }
                    let message = no_such("entity", entity.as_str(), entities.keys().copied());
                    let message = format!(
                        "{message}; an entity that announces itself is named by an [[override]] with its id"
                    );
                    return Err(source.error(target.span(), message));
                };
                let Some(spec) = known.action(verb) else {
                    let offered = known.actions.iter().map(|spec| spec.verb.word()).collect::<Vec<_>>();
                    let message = format!("{entity} has no {verb}; it has {}", offered.join(", "));
                    return Err(source.error(step.verb.span(), message));
                };
                let args = spec
                    .check(&step.args)
                    .map_err(|error| source.error(span.clone(), format!("{entity} {verb}: {error}")))?;
                steps.push(SceneStep(Action { entity, verb, args }));
            }
        }
        if steps.is_empty() {
            return Err(source.error(file.id.span(), format!("scene {id} has no steps")));
        }
        scenes.push(Scene {
            id,
            name: name(source, &file.name)?,
            aliases: names(source, &file.aliases)?,
            steps,
            waits_for_approval: file.waits_for_approval,
        });
    }
    Ok(scenes)
}

/// Arguments for an entity that is not known yet: each is of some type that an argument can have.
fn unchecked(raw: &Map<String, Value>) -> Result<Args, String> {
    let mut args = Args::new();
    for (name, value) in raw {
        let Some(arg) = Arg::from_word(name) else {
            return Err(no_such("argument", name, Arg::ALL.iter().map(|arg| arg.word())));
        };
        let read = serde_json::from_value::<ArgValue>(value.clone()).map_err(|_| {
            format!("{arg} is {value}; expected a number, text, true or false, or a list of numbers")
        })?;
        args.insert(arg, read);
    }
    Ok(args)
}

/// Gives the group at `at` the actions that all its leaves offer.
pub(super) fn complete_group(
    source: Source<'_>,
    file: &EntityToml,
    at: usize,
    entities: &mut [HomeEntity],
) -> Result<(), FileError> {
    if file.members.is_empty() {
        return Ok(());
    }
    let span = file.id.span();
    let Some(group) = entities.get(at).map(|known| &known.entity) else { return Ok(()) };
    let leaves = leaves(group, entities)
        .ok_or_else(|| source.error(span.clone(), format!("{} is a member of itself", group.id)))?;
    if let Some(other) = leaves.iter().find(|leaf| leaf.domain() != group.domain()) {
        let message =
            format!("{} is a group of {}; {} is a {}", group.id, group.domain(), other.id, other.domain());
        return Err(source.error(span, message));
    }
    let actions = common_actions(&leaves);
    let reports_state = leaves.iter().all(|leaf| leaf.reports_state);
    if let Some(known) = entities.get_mut(at) {
        known.entity.actions = actions;
        known.entity.reports_state = reports_state;
    }
    Ok(())
}

/// The entities below a group that are no groups; `None` where the group holds itself.
fn leaves<'a>(group: &Entity, entities: &'a [HomeEntity]) -> Option<Vec<&'a Entity>> {
    let mut leaves: Vec<&Entity> = Vec::new();
    let mut open = group.members.clone();
    // A group that holds itself never ends; no home has a hundred thousand memberships.
    for _ in 0..100_000 {
        let Some(id) = open.pop() else { return Some(leaves) };
        if id == group.id {
            return None;
        }
        let Some(entity) = entities.iter().map(|known| &known.entity).find(|known| known.id == id) else {
            continue;
        };
        open.extend(entity.members.iter().cloned());
        if entity.members.is_empty() && !leaves.iter().any(|leaf| leaf.id == id) {
            leaves.push(entity);
        }
    }
    None
}

/// The actions that every entity takes, with the arguments and ranges that fit them all.
fn common_actions(entities: &[&Entity]) -> Vec<ActionSpec> {
    let Some((first, others)) = entities.split_first() else { return Vec::new() };
    let common = |spec: &ActionSpec| {
        let mut common = ActionSpec::new(spec.verb);
        let theirs: Vec<&ActionSpec> =
            others.iter().map(|entity| entity.action(spec.verb)).collect::<Option<_>>()?;
        for arg in &spec.args {
            let kind = theirs
                .iter()
                .try_fold(arg.kind.clone(), |kind, other| both(&kind, &other.arg(arg.name)?.kind));
            match kind {
                Some(kind) => common.args.push(ArgSpec { kind, ..arg.clone() }),
                None if arg.required => return None,
                None => {}
            }
        }
        let needs_more = theirs
            .iter()
            .any(|other| other.args.iter().any(|arg| arg.required && common.arg(arg.name).is_none()));
        (!needs_more).then_some(common)
    };
    first.actions.iter().filter_map(common).collect()
}

/// What two kinds of an argument have in common.
fn both(left: &ArgKind, right: &ArgKind) -> Option<ArgKind> {
    match (left, right) {
        (
            ArgKind::Number { min, max, step },
            ArgKind::Number { min: other_min, max: other_max, step: other_step },
        ) => {
            let (min, max) = (min.max(*other_min), max.min(*other_max));
            (min <= max).then(|| ArgKind::Number { min, max, step: step.max(*other_step) })
        }
        (ArgKind::Choice(left), ArgKind::Choice(right)) => {
            let words: Vec<String> = left.iter().filter(|word| right.contains(word)).cloned().collect();
            (!words.is_empty()).then_some(ArgKind::Choice(words))
        }
        (ArgKind::Text { max_chars: left }, ArgKind::Text { max_chars: right }) => {
            Some(ArgKind::Text { max_chars: *left.min(right) })
        }
        (ArgKind::Bool, ArgKind::Bool) => Some(ArgKind::Bool),
        (ArgKind::Rgb, ArgKind::Rgb) => Some(ArgKind::Rgb),
        (ArgKind::Numbers { .. }, ArgKind::Numbers { .. }) => (left == right).then(|| left.clone()),
        (
            ArgKind::Number { .. }
            | ArgKind::Choice(_)
            | ArgKind::Text { .. }
            | ArgKind::Bool
            | ArgKind::Rgb
            | ArgKind::Numbers { .. },
            _,
        ) => None,
    }
}
