//! The model that needs no network: `nlu` reads the command, and what it understands goes on as any model's calls.
//!
//! It takes at most three turns: act (and finish early); where something failed, read what may explain it; report.
//! What it does not fully understand it does not half do: that is [`ModelError::NotUnderstood`], for a language model
//! to try or for an honest reply.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::json;

use super::report::Report;
use super::{Delta, Model, ModelError, Planned, Situation, Stop, TurnRequest};
use crate::actuate::OutcomeEntry;
use crate::clock::Clock;
use crate::home::{Domain, EntityId, House, SharedHouse};
use crate::nlu::{Dialogue, Intent, Nlu, RefuseReason, Request, Understanding};
use crate::tools::{ASK_USER, FINISH, GET_STATE, ToolCall, calls_for, is_household};

/// The name under which the offline understanding takes its turns.
pub const OFFLINE: &str = "offline";

/// Where the short memory of conversations is kept.
pub trait Dialogues: Send + Sync {
    fn dialogue(&self, conversation: Option<&str>) -> Dialogue;
    fn keep(&self, conversation: Option<&str>, dialogue: Dialogue);
}

/// See the module.
pub struct Offline {
    pub nlu: Arc<Nlu>,
    pub house: SharedHouse,
    pub dialogues: Arc<dyn Dialogues>,
    pub clock: Clock,
    pub zone: chrono_tz::Tz,
}

impl Model for Offline {
    fn name(&self) -> &str {
        OFFLINE
    }

    fn turn(&self, request: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
        let situation = &request.situation;
        let deltas = if situation.turns == 0 { self.first(situation) } else { Ok(self.after(situation)) };
        match deltas {
            Ok(deltas) => stream::iter(deltas.into_iter().map(Ok)).boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

impl Offline {
    /// The first turn: understand, then act, answer, ask or decline.
    fn first(&self, situation: &Situation) -> Result<Vec<Delta>, ModelError> {
        if let Some(plan) = &situation.plan {
            return Ok(match plan {
                Planned::Intents(intents) => act(intents, &self.house.read()),
                Planned::Call(call) => vec![Delta::Call(call.clone()), Delta::End(Stop::Ended)],
            });
        }
        let conversation = situation.conversation.as_deref();
        let mut dialogue = self.dialogues.dialogue(conversation);
        let request = Request {
            text: &situation.text,
            language: situation.language.as_deref(),
            area: situation.area.as_deref(),
            device: None,
            now: self.clock.now().with_timezone(&self.zone),
        };
        let house = self.house.read();
        let understanding = self.nlu.understand(&request, &house, &dialogue);
        if situation.leaves_questions
            && let Some(reply) = unresolved(&understanding)
        {
            return Err(ModelError::NotUnderstood { reply: reply.to_owned() });
        }
        dialogue.update(&situation.text, &understanding);
        self.dialogues.keep(conversation, dialogue);
        match understanding {
            Understanding::Act(intents) => Ok(act(&intents, &house)),
            Understanding::Answer { text, .. } => Ok(vec![Delta::Text(text), Delta::End(Stop::Ended)]),
            Understanding::Ask { question, .. } => {
                let call = call(0, ASK_USER, &json!({"question": question}));
                Ok(vec![Delta::Call(call), Delta::End(Stop::Ended)])
            }
            Understanding::Refuse { reply, .. } | Understanding::Nothing { reply } => {
                Ok(vec![Delta::Text(reply), Delta::End(Stop::Refused)])
            }
            Understanding::NotUnderstood { reply, .. } => Err(ModelError::NotUnderstood { reply }),
        }
    }

    /// Later turns: read what may explain a failure, once; then report.
    fn after(&self, situation: &Situation) -> Vec<Delta> {
        let house = self.house.read();
        let read_already = situation.results.iter().any(|(tool, _)| tool == GET_STATE);
        let explain: Vec<EntityId> = worth_reading(&situation.outcomes, &house);
        if !read_already && !explain.is_empty() {
            let call = call(0, GET_STATE, &json!({"entities": explain}));
            return vec![Delta::Call(call), Delta::End(Stop::Ended)];
        }
        let report = Report::new(self.nlu.clone());
        let language = report.language(situation.language.as_deref(), &situation.text);
        let outcomes = report.outcomes(language, &situation.outcomes, &house);
        let open = report.open_contacts(language, &explain, &outcomes, &house);
        let mut sentences = vec![outcomes];
        sentences.extend(household_sentences(situation));
        sentences.extend(open);
        vec![Delta::Text(report.join(language, &sentences)), Delta::End(Stop::Ended)]
    }
}

/// What would be said to a person of a sentence whose target is not clear; `None` where it is, or where there is none.
fn unresolved(understanding: &Understanding) -> Option<&str> {
    match understanding {
        Understanding::Ask { question, .. } => Some(question),
        Understanding::Refuse { reply, reason: RefuseReason::UnknownName { .. } } => Some(reply),
        Understanding::Act(_)
        | Understanding::Answer { .. }
        | Understanding::Refuse { .. }
        | Understanding::Nothing { .. }
        | Understanding::NotUnderstood { .. } => None,
    }
}

/// The calls of all intents, and `finish`: if they succeed, nothing more is needed.
fn act(intents: &[Intent], house: &House) -> Vec<Delta> {
    let calls = intents.iter().flat_map(|intent| calls_for(intent, house));
    let finish = std::iter::once((FINISH, json!({})));
    calls
        .chain(finish)
        .enumerate()
        .map(|(index, (tool, arguments))| Delta::Call(call(index, tool, &arguments)))
        .chain([Delta::End(Stop::Ended)])
        .collect()
}

fn call(index: usize, name: &str, arguments: &serde_json::Value) -> ToolCall {
    ToolCall { id: format!("offline-{index}"), name: name.to_owned(), arguments: arguments.to_string() }
}

/// What may explain a failure: for an alarm panel its zones' contacts, for a lock its door.
fn worth_reading(outcomes: &[OutcomeEntry], house: &House) -> Vec<EntityId> {
    let mut worth = Vec::new();
    for entry in outcomes.iter().filter(|entry| !entry.outcome.is_wished()) {
        match entry.action.entity.domain() {
            Domain::AlarmControlPanel => worth.extend(contacts(house, None)),
            Domain::Lock => {
                let area = house.entity(entry.action.entity.as_str()).and_then(|lock| lock.area.clone());
                worth.extend(area.map(|area| contacts(house, Some(&area))).unwrap_or_default());
            }
            _ => {}
        }
    }
    worth.dedup();
    worth
}

/// Contact sensors of doors and windows, of one area or of all.
fn contacts(house: &House, area: Option<&str>) -> Vec<EntityId> {
    house
        .entities()
        .filter(|entity| entity.domain() == Domain::BinarySensor)
        .filter(|entity| {
            matches!(entity.device_class.as_deref(), Some("door" | "window" | "garage_door" | "opening"))
        })
        .filter(|entity| area.is_none() || entity.area.as_deref() == area)
        .map(|entity| entity.id.clone())
        .collect()
}

/// What timers, lists and schedules have to say.
fn household_sentences(situation: &Situation) -> Vec<String> {
    situation
        .results
        .iter()
        .filter(|(tool, _)| is_household(tool))
        .filter_map(|(_, result)| serde_json::from_str::<serde_json::Value>(result).ok())
        .filter_map(|result| result.get("said")?.as_str().map(str::to_owned))
        .collect()
}
