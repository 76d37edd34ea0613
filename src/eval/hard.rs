//! The hard utterances: several right outcomes, earlier turns, and outcomes that are no states.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::judge::{Seen, Verdict};
use crate::home::{Action, Arg, ArgValue, EntityId, House, State, Verb, attr};
use crate::nlu::{Intent, When};

/// One earlier turn of the conversation.
#[derive(Debug, Clone, Deserialize)]
pub struct Turn {
    pub user: String,
    #[serde(default)]
    pub calls: Vec<Call>,
    #[serde(default)]
    pub answer: Option<String>,
}

/// One right outcome.
#[derive(Debug, Clone, Deserialize)]
pub struct Wish {
    /// One of [`Wish::TYPES`].
    #[serde(rename = "type")]
    pub kind: WishKind,
    #[serde(default)]
    pub calls: Vec<Call>,
    /// All of these are in the reply.
    #[serde(default)]
    pub answer_contains: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WishKind {
    /// What these calls do, and no more.
    Calls,
    /// The same, after a person has approved it.
    Confirm,
    /// Nothing is done, and the reply holds an answer.
    Answer,
    /// Nothing is done, and the person is asked.
    Clarify,
    /// Nothing is done, and that is said.
    Refuse,
    /// Nothing is done.
    Noop,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    pub tool: String,
    #[serde(default)]
    pub targets: Vec<String>,
    #[serde(default)]
    pub args: BTreeMap<String, Value>,
}

/// Attributes by which a state is compared.
const COMPARED: [&str; 9] = [
    attr::BRIGHTNESS,
    attr::RGB_COLOR,
    attr::COLOR_TEMP_KELVIN,
    attr::TEMPERATURE,
    attr::CURRENT_POSITION,
    attr::PERCENTAGE,
    attr::OSCILLATING,
    attr::VOLUME_LEVEL,
    attr::FAN_MODE,
];

impl Wish {
    /// The words of `type`.
    pub const TYPES: [&'static str; 6] = ["calls", "answer", "clarify", "refuse", "confirm", "noop"];

    /// Everything that the calls name.
    pub fn targets(&self) -> impl Iterator<Item = &String> {
        self.calls.iter().flat_map(|call| &call.targets)
    }

    pub(super) fn answers(&self) -> bool {
        self.kind == WishKind::Answer
    }

    pub(super) fn acts(&self) -> bool {
        matches!(self.kind, WishKind::Calls | WishKind::Confirm)
    }
}

/// The actions that an earlier turn did.
pub fn actions_of(turn: &Turn, house: &House) -> Vec<Action> {
    turn.calls.iter().flat_map(|call| call.actions(house).unwrap_or_default()).collect()
}

impl Call {
    /// What the call means, one action a target; `None` for a tool that is no action of a device.
    fn actions(&self, house: &House) -> Option<Vec<Action>> {
        let number = |name: &str| self.args.get(name).and_then(Value::as_f64);
        let word = self.tool.rsplit('.').next().unwrap_or(&self.tool);
        let mut all = Vec::new();
        for target in &self.targets {
            let id = EntityId::parse(target).ok()?;
            let level = house
                .state(id.as_str())
                .and_then(|state| state.attribute_number(attr::BRIGHTNESS))
                .map_or(100.0, |level| (level / 2.55).round());
            let action = |verb: Verb| Action::new(id.clone(), verb);
            all.push(match self.tool.as_str() {
                "light.set" => match number("brightness_pct") {
                    Some(level) => action(Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(level)),
                    None => action(Verb::TurnOn),
                },
                "light.step" => {
                    let level = (level + number("delta_pct")?).clamp(1.0, 100.0);
                    action(Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(level))
                }
                "climate.set_temperature" => action(Verb::SetTemperature)
                    .with(Arg::Temperature, ArgValue::Number(number("temperature")?)),
                "cover.set_position" => {
                    action(Verb::SetPosition).with(Arg::Position, ArgValue::Number(number("position")?))
                }
                "fan.set_percentage" | "fan.set_speed" => {
                    action(Verb::SetPercentage).with(Arg::Percentage, ArgValue::Number(number("percentage")?))
                }
                "media_player.set_volume" | "media.set_volume" => {
                    action(Verb::SetVolume).with(Arg::VolumePct, ArgValue::Number(number("volume_pct")?))
                }
                "alarm.disarm" => action(Verb::Disarm),
                "scene.activate" => action(Verb::Activate),
                _ => action(Verb::from_word(word)?),
            });
        }
        Some(all)
    }
}

/// Judges by the wish that fits best.
pub(super) fn judge(wishes: &[Wish], category: &str, seen: &Seen<'_>) -> Verdict {
    let mut faults = Vec::new();
    for wish in wishes {
        match fault(wish, category, seen) {
            None => return Verdict::Passed,
            Some(fault) => faults.push(fault),
        }
    }
    let why = faults.join("; or ");
    if wrong(wishes, seen) { Verdict::Wrong(why) } else { Verdict::Missed(why) }
}

/// What is missing for a wish; `None`: it is fulfilled.
fn fault(wish: &Wish, category: &str, seen: &Seen<'_>) -> Option<String> {
    let silent =
        wish.answer_contains.iter().find(|part| !seen.reply.to_lowercase().contains(&part.to_lowercase()));
    let nothing = || seen.anything().map(|done| format!("done, although nothing should be: {done}"));
    let unless = |holds: bool, why: &str| (!holds).then(|| format!("{why}: {:?}", seen.reply));
    match wish.kind {
        WishKind::Calls | WishKind::Confirm if wish.kind == WishKind::Confirm && seen.approvals == 0 => {
            Some("no person was asked to approve".into())
        }
        WishKind::Calls | WishKind::Confirm => {
            done(wish, seen).or_else(|| silent.map(|part| format!("reply {:?} lacks {part:?}", seen.reply)))
        }
        WishKind::Answer => {
            nothing().or_else(|| silent.map(|part| format!("reply {:?} lacks {part:?}", seen.reply)))
        }
        // A condition that cannot be kept is told, not asked about.
        WishKind::Clarify => nothing().or_else(|| {
            let asks = seen.asked || seen.reply.trim_end().ends_with(['?', '？']);
            unless(asks || (category == "condition" && !seen.claims), "no question")
        }),
        WishKind::Refuse => nothing().or_else(|| unless(!seen.asked && !seen.claims, "not refused")),
        WishKind::Noop => nothing().or_else(|| unless(!seen.asked && !seen.claims, "not left alone")),
    }
}

/// What differs between what the calls would do and what was done.
fn done(wish: &Wish, seen: &Seen<'_>) -> Option<String> {
    let (planned, now): (Vec<&Call>, Vec<&Call>) =
        wish.calls.iter().partition(|call| call.tool == "schedule");
    let mut wanted = seen.before.clone();
    let mut stepped: BTreeMap<&str, f64> = BTreeMap::new();
    let mut scenes = Vec::new();
    for call in now {
        let Some(actions) = call.actions(seen.before) else {
            return Some(format!("{} is no action of a device", call.tool));
        };
        if call.tool == "light.step" {
            let delta = call.args.get("delta_pct").and_then(Value::as_f64).unwrap_or(0.0);
            stepped.extend(call.targets.iter().map(|id| (id.as_str(), delta)));
        }
        for action in &actions {
            super::apply(&mut wanted, action, DateTime::<Utc>::UNIX_EPOCH);
            scenes.extend((action.verb == Verb::Activate).then(|| action.entity.clone()));
        }
    }
    for entity in seen.after.entities() {
        let id = entity.id.as_str();
        let (Some(before), Some(after), Some(wanted)) =
            (seen.before.state(id), seen.after.state(id), wanted.state(id))
        else {
            continue;
        };
        let same = match stepped.get(id) {
            Some(delta) => stepped_so(before, after, *delta),
            None => alike(after, wanted),
        };
        if !same {
            return Some(format!("{id} is {:?}, not {:?}", told(after), told(wanted)));
        }
    }
    let activated: Vec<&EntityId> = seen
        .actions
        .iter()
        .filter(|action| action.verb == Verb::Activate)
        .map(|action| &action.entity)
        .collect();
    if activated.len() != scenes.len() || !scenes.iter().all(|scene| activated.contains(&scene)) {
        return Some(format!("activated {activated:?}, not {scenes:?}"));
    }
    let arranged: Vec<&Intent> = seen.arranged().collect();
    let kept = planned.iter().all(|call| arranged.iter().any(|intent| scheduled(call, intent)));
    (!kept || arranged.len() != planned.len()).then(|| format!("arranged {arranged:?}, not {planned:?}"))
}

/// Whether anything was changed or set up that no wish names.
fn wrong(wishes: &[Wish], seen: &Seen<'_>) -> bool {
    let acting = || wishes.iter().filter(|wish| wish.acts());
    let named = |id: &str| acting().any(|wish| wish.targets().any(|target| target == id));
    let fits = |id: &str| {
        acting().any(|wish| {
            let mut wanted = seen.before.clone();
            let now = wish.calls.iter().filter(|call| call.tool != "schedule");
            for action in now.flat_map(|call| call.actions(seen.before).unwrap_or_default()) {
                super::apply(&mut wanted, &action, DateTime::<Utc>::UNIX_EPOCH);
            }
            match (seen.after.state(id), wanted.state(id)) {
                (Some(after), Some(wanted)) => alike(after, wanted),
                (Some(_) | None, _) => false,
            }
        })
    };
    let unwished =
        |intent: &&Intent| !acting().flat_map(|wish| &wish.calls).any(|call| scheduled(call, intent));
    seen.changed().into_iter().any(|id| !named(id) || !fits(id))
        || seen.actions.iter().any(|action| !named(action.entity.as_str()))
        || seen.arranged().any(|intent| unwished(&intent))
}

fn told(state: &State) -> (Option<&str>, Vec<(&str, &Value)>) {
    let attributes = COMPARED.iter().filter_map(|name| Some((*name, state.attributes.get(*name)?)));
    (state.text(), attributes.collect())
}

fn alike(one: &State, other: &State) -> bool {
    one.text() == other.text()
        && COMPARED.iter().all(|name| {
            let (one, other) = (one.attributes.get(*name), other.attributes.get(*name));
            match (one.and_then(Value::as_f64), other.and_then(Value::as_f64)) {
                // A percent of 255 steps.
                (Some(one), Some(other)) if *name == attr::BRIGHTNESS => (one - other).abs() <= 1.5,
                (Some(one), Some(other)) => (one - other).abs() < 0.01,
                (Some(_), None) | (None, _) => one == other,
            }
        })
}

/// Whether a lamp was stepped in the direction that was meant, visibly, and not by more than about double.
fn stepped_so(before: &State, after: &State, delta: f64) -> bool {
    let level = |state: &State| state.attribute_number(attr::BRIGHTNESS).map(|level| level / 2.55);
    let (Some(before), Some(after)) = (level(before), level(after)) else { return false };
    let by = (after - before) * delta.signum();
    by >= 4.0 && by <= delta.abs() * 2.5
}

fn scheduled(call: &Call, intent: &Intent) -> bool {
    if call.tool != "schedule" {
        return false;
    }
    let Intent::Schedule { when, intents } = intent else { return false };
    let time = match (when, call.args.get("after_s").and_then(Value::as_u64)) {
        (When::After { seconds }, Some(wanted)) => *seconds == wanted,
        (When::At { local }, None) => {
            let wanted = call.args.get("at").and_then(Value::as_str).unwrap_or("");
            local.format("%H:%M").to_string() == wanted.rsplit(' ').next().unwrap_or("")
        }
        (When::Every { .. } | When::After { .. } | When::At { .. }, _) => false,
    };
    let verb = call.args.get("action").and_then(Value::as_str).unwrap_or("");
    let actions: Vec<&Action> = intents
        .iter()
        .flat_map(|intent| match intent {
            Intent::Actions(actions) => actions.as_slice(),
            Intent::Scene(_)
            | Intent::Schedule { .. }
            | Intent::ScheduleQuery
            | Intent::ScheduleCancel(_)
            | Intent::Timer(_)
            | Intent::List(_)
            | Intent::Broadcast { .. }
            | Intent::StopAll
            | Intent::History(_) => &[],
        })
        .collect();
    time && call.targets.len() == actions.len()
        && actions
            .iter()
            .all(|action| action.verb.word() == verb && call.targets.contains(&action.entity.to_string()))
}
