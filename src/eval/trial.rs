//! One task through the whole path: loop, door, journal and a simulated house that confirms.
//!
//! The devices are the simplest honest ones: what they are sent they do, and report it a moment later. Unlike its
//! neighbours this file is not pure: it runs the agent on whatever clock it is given.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::broadcast::error::RecvError;

use super::task::{Kind, Task, Verdict, judge};
use crate::actuate::{Codecs, Containment, Door, DoorParts, NoSecrets, OutcomeEntry, Port, SendError};
use crate::agent::{
    Agent, Budget, Command, Conversations, Event, Limits, Parts, Queue, QueueLimits, TaskEvent,
};
use crate::clock::Clock;
use crate::devices::{Codec, ConfirmHint, Decoded, EncodeError, Message, Payload};
use crate::home::{Action, EntityId, House, SharedHouse, Stamp, State, Verb};
use crate::journal::Journal;
use crate::model::settings::{BreakerSettings, Mode};
use crate::model::{Model, Offline, Report, Router, Usage};
use crate::nlu::{Intent, ListChange, Nlu};
use crate::policy::{AnswerWord, Approval, ApprovalState, Channel, Policy, Principal, Scope, Tier, tier};
use crate::tools::{Household, HouseholdRequest, Occasion};

/// How long a simulated device takes to report.
const REPORT: Duration = Duration::from_millis(50);

/// What came of a task.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub verdict: Verdict,
    pub reply: String,
    /// The tool calls that were made, as `tool arguments`.
    pub calls: Vec<String>,
    /// Actions that need a person and were sent without one. Must be 0.
    pub ungated: usize,
    /// Questions to a person.
    pub approvals: usize,
    /// The reply says that something was done, and nothing was.
    pub false_claim: bool,
    pub turns: usize,
    pub usage: Usage,
    pub elapsed: Duration,
}

/// Runs tasks. One is enough for a whole set.
pub struct Trial {
    pub nlu: Arc<Nlu>,
    /// `None`: the offline understanding alone.
    pub model: Option<Arc<dyn Model>>,
    /// What one task may use up.
    pub limits: Limits,
    pub clock: Clock,
    /// The clock by which durations are measured; never simulated.
    pub stopwatch: Clock,
}

impl Trial {
    /// Runs `task` in a copy of `house`.
    pub async fn run(&self, task: &Task, house: &House) -> Result<Outcome, String> {
        let mut start = house.clone();
        task.prepare(&mut start, self.clock.now());
        let shared = SharedHouse::new(start.clone());
        let devices = Arc::new(Devices { house: shared.clone(), clock: self.clock.clone() });
        let journal = Journal::in_memory(self.clock.clone()).map_err(|error| error.to_string())?;
        let zone = chrono_tz::Tz::UTC;
        let door = Arc::new(Door::new(DoorParts {
            house: shared.clone(),
            codecs: devices.clone(),
            secrets: Arc::new(NoSecrets),
            store: Arc::new(journal.clone()),
            policy: Policy::default(),
            containment: Containment::default(),
            clock: self.clock.clone(),
            zone,
        }));
        let conversations = Conversations::new(self.clock.clone());
        let offline: Arc<dyn Model> = Arc::new(Offline {
            nlu: self.nlu.clone(),
            house: shared.clone(),
            dialogues: Arc::new(conversations.clone()),
            clock: self.clock.clone(),
            zone,
        });
        let agent = Arc::new(Agent::new(Parts {
            house: shared.clone(),
            door: door.clone(),
            journal: journal.clone(),
            model: self.model.clone().unwrap_or_else(|| self.offline_alone(&offline)),
            frugal: self.offline_alone(&offline),
            offline,
            household: Arc::new(Lists { house: shared.clone(), clock: self.clock.clone() }),
            report: Report::new(self.nlu.clone()),
            conversations,
            clock: self.clock.clone(),
            zone,
            language: "en".into(),
            limits: self.limits.clone(),
            // A set costs what it costs; the summary says how much that was.
            budget: Budget { micro_dollars_a_day: 0, micro_dollars_a_month: 0 },
        }));
        let queue = Queue::new(agent, QueueLimits { at_once: 1, waiting: 1, per_minute: 0 });
        // The names of a house are read once a change of its registry, not once a command.
        let language = task.lang.as_deref().unwrap_or_else(|| self.nlu.detect_language(&task.input));
        let _ = self.nlu.index(&start, self.nlu.lexicon(language));
        let begun = self.stopwatch.since_boot();
        let person = tokio::spawn(decide(door.clone(), expected(task)));
        let mut submitted = queue.submit(self.command(task)).await.map_err(|error| error.to_string())?;
        let result = submitted.result.result().await.ok_or("no result")?;
        person.abort();
        let elapsed = self.stopwatch.since_boot().saturating_sub(begun);
        // A device may still be on its way; its report belongs to the task.
        tokio::time::sleep(REPORT * 2).await;
        let events = events(&mut submitted.events);
        let after = shared.read().clone();
        let acted = result.outcomes.iter().any(|entry| entry.outcome.is_wished());
        let claims = self.nlu.lexicon(&result.language).phrase("claims").unwrap_or_default().to_owned();
        let lower = result.reply.to_lowercase();
        journal.close().await;
        Ok(Outcome {
            verdict: judge(task, &start, &after, &result.reply),
            false_claim: task.kind == Kind::Act
                && !acted
                && claims.split('|').any(|claim| lower.contains(claim)),
            reply: result.reply.clone(),
            calls: calls(&events),
            ungated: ungated(&events, &start),
            approvals: events
                .iter()
                .filter(|event| matches!(event.event, Event::ApprovalAsked { .. }))
                .count(),
            turns: events.iter().filter(|event| matches!(event.event, Event::TurnStarted { .. })).count(),
            usage: result.usage,
            elapsed,
        })
    }

    fn offline_alone(&self, offline: &Arc<dyn Model>) -> Arc<dyn Model> {
        let breaker = BreakerSettings::default();
        Arc::new(Router::new(Mode::Offline, Some(offline.clone()), Vec::new(), breaker, self.clock.clone()))
    }

    fn command(&self, task: &Task) -> Command {
        Command {
            task: self.clock.new_id(),
            id: None,
            text: task.input.clone(),
            origin: Principal {
                name: "evaluation".into(),
                channel: Channel::Evaluation,
                scopes: vec![Scope::Read, Scope::Command],
            },
            area: task.context_area.clone(),
            language: task.lang.as_deref().map(|tag| tag.split('-').next().unwrap_or(tag).to_owned()),
            conversation: Some("evaluation".into()),
            user_hint: None,
            at: self.clock.now(),
            plan: None,
        }
    }
}

/// The entities that the task expects to change: what a person would approve.
fn expected(task: &Task) -> Vec<String> {
    if task.kind == Kind::NoChange { Vec::new() } else { task.expect_changes.keys().cloned().collect() }
}

/// Plays the person: approves what is expected, denies the rest.
async fn decide(door: Arc<Door>, expected: Vec<String>) {
    let person =
        Principal { name: "token:evaluator".into(), channel: Channel::Http, scopes: vec![Scope::Approve] };
    let mut changes = door.approval_changes();
    loop {
        let approval: Approval = match changes.recv().await {
            Ok(approval) if approval.state == ApprovalState::Pending => approval,
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let actions = door.actions_of(&approval.id).await;
        let wished = actions.iter().all(|action| expected.iter().any(|id| id == action.entity.as_str()));
        let word = if wished { AnswerWord::Approve } else { AnswerWord::Deny };
        if let Err(error) = door.answer(&approval.id, &approval.plan_hash, word, None, &person).await {
            tracing::warn!(%error, "the evaluation could not decide");
        }
    }
}

fn events(receiver: &mut tokio::sync::broadcast::Receiver<Arc<TaskEvent>>) -> Vec<Arc<TaskEvent>> {
    let mut events = Vec::new();
    while let Ok(event) = receiver.try_recv() {
        events.push(event);
    }
    events
}

fn calls(events: &[Arc<TaskEvent>]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.event {
            Event::ModelSaid { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .map(|(_, call)| format!("{} {}", call.name, call.arguments))
        .collect()
}

/// Sends of actions that need a person, without one.
fn ungated(events: &[Arc<TaskEvent>], house: &House) -> usize {
    let unknown = State::default();
    events
        .iter()
        .filter_map(|event| match &event.event {
            Event::Sending { action, gated: false, .. } => Some(action),
            _ => None,
        })
        .filter(|action| {
            house.entity(action.entity.as_str()).is_some_and(|entity| {
                let state = house.state(action.entity.as_str()).unwrap_or(&unknown);
                tier::classify(action, entity, state).tier >= Tier::Ask
            })
        })
        .count()
}

/// All devices of the house: a codec that writes actions as JSON, and a port that does and reports them.
struct Devices {
    house: SharedHouse,
    clock: Clock,
}

impl Codecs for Devices {
    fn codec(&self, _entity: &EntityId) -> Option<(Arc<dyn Codec>, Arc<dyn Port>)> {
        let port = Devices { house: self.house.clone(), clock: self.clock.clone() };
        Some((Arc::new(Plain), Arc::new(port)))
    }
}

struct Plain;

impl Codec for Plain {
    fn subscriptions(&self) -> Vec<String> {
        Vec::new()
    }

    fn decode(&self, _topic: &str, _payload: &Payload<'_>, _now: &State) -> Decoded {
        Decoded::Nothing
    }

    fn encode(&self, action: &Action, _now: &State) -> Result<Vec<Message>, EncodeError> {
        let payload =
            serde_json::to_string(action).map_err(|error| EncodeError::Argument(error.to_string()))?;
        Ok(vec![Message::text(format!("evaluation/{}", action.entity.object_id()), payload)])
    }

    fn confirm_hint(&self, _action: &Action) -> ConfirmHint {
        ConfirmHint::default()
    }
}

impl Port for Devices {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let action: Action = serde_json::from_str(&message.payload)
                .map_err(|error| SendError::Refused(format!("no action: {error}")))?;
            let (house, clock) = (self.house.clone(), self.clock.clone());
            tokio::spawn(async move {
                tokio::time::sleep(REPORT).await;
                let update = {
                    let house = house.read();
                    house.state(action.entity.as_str()).map(|state| super::apply::effect(&action, state))
                };
                if let Some(update) = update {
                    let stamp = Stamp {
                        at: clock.now(),
                        since_boot: clock.since_boot(),
                        live: true,
                        connection: 1,
                        sequence: 0,
                    };
                    house.apply(&action.entity, &update, stamp);
                }
            });
            Ok(())
        })
    }

    fn is_up(&self) -> bool {
        true
    }

    fn connection(&self) -> u64 {
        1
    }
}

/// A household of lists alone: they are entities of the sets. Timers and schedules are noted; no set judges them.
struct Lists {
    house: SharedHouse,
    clock: Clock,
}

impl Lists {
    fn change(&self, list: Option<EntityId>, verb: Verb) {
        let shopping = || EntityId::parse("todo.shopping_list").ok();
        if let Some(id) = list.or_else(shopping) {
            super::apply(&mut self.house.write(), &Action::new(id, verb), self.clock.now());
        }
    }
}

impl Household for Lists {
    fn handle(&self, request: HouseholdRequest) -> BoxFuture<'_, Result<serde_json::Value, String>> {
        Box::pin(async move {
            match request.intent {
                Intent::Broadcast { message, .. } => return Ok(serde_json::json!({"said": message})),
                Intent::Actions(_) | Intent::Scene(_) => return Err("not of the household".into()),
                Intent::List(ListChange::Add { list, .. }) => self.change(list, Verb::AddItem),
                Intent::List(ListChange::Complete { list, .. }) => self.change(list, Verb::CompleteItem),
                Intent::List(ListChange::Remove { list, .. }) => self.change(list, Verb::RemoveItem),
                Intent::List(ListChange::Read { .. })
                | Intent::Schedule { .. }
                | Intent::ScheduleQuery
                | Intent::ScheduleCancel { .. }
                | Intent::Timer(_)
                | Intent::History(_)
                | Intent::StopAll => {}
            }
            Ok(serde_json::json!({"said": "Noted."}))
        })
    }

    /// A trial is over before anything could end.
    fn arrange_ends<'a>(
        &'a self,
        _actions: &'a [Action],
        _occasion: &'a Occasion,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    fn settle_ends<'a>(
        &'a self,
        _outcomes: &'a [OutcomeEntry],
        _occasion: &'a Occasion,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
