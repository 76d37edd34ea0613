//! One task through the whole path: loop, door, journal and a simulated house that confirms.
//!
//! The devices are the simplest honest ones: what they are sent they do, and report it a moment later. Unlike its
//! neighbours this file is not pure: it runs the agent on whatever clock it is given.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::broadcast::error::RecvError;

use super::judge::{Seen, Verdict, judge};
use super::task::Task;
use crate::actuate::{
    Codecs, Containment, Door, DoorParts, NoSecrets, Outcome as OutcomeKind, OutcomeEntry, Port, SendError,
};
use crate::agent::{
    Agent, Budget, Command, Conversations, Event, Exchange, Limits, Parts, Queue, QueueLimits, TaskEvent,
    claims, is_so,
};
use crate::clock::Clock;
use crate::devices::{Codec, ConfirmHint, Decoded, EncodeError, Message, Payload};
use crate::home::{Action, EntityId, House, SharedHouse, Stamp, State, Verb};
use crate::journal::Journal;
use crate::model::settings::{BreakerSettings, Mode};
use crate::model::{Dialogues, Model, Offline, Report, Router, ToolCall, Usage};
use crate::nlu::{Dialogue, Intent, ListChange, Nlu};
use crate::policy::{AnswerWord, Approval, ApprovalState, Channel, Policy, Principal, Scope, Tier, tier};
use crate::tools::{ASK_USER, Household, HouseholdRequest, Occasion};

/// The conversation of a task with its earlier turns.
const CONVERSATION: &str = "evaluation";
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
    /// Runs `task` in `house`; `area` is where it is said.
    pub async fn run(&self, task: &Task, house: &House, area: Option<String>) -> Result<Outcome, String> {
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
        remember(task, &start, &conversations);
        let household =
            Arc::new(Lists { house: shared.clone(), clock: self.clock.clone(), asked: Mutex::default() });
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
            household: household.clone(),
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
        let person = tokio::spawn(decide(door.clone(), task.approved(&start)));
        let mut submitted =
            queue.submit(self.command(task, area)).await.map_err(|error| error.to_string())?;
        let result = submitted.result.result().await.ok_or("no result")?;
        person.abort();
        let elapsed = self.stopwatch.since_boot().saturating_sub(begun);
        // A device may still be on its way; its report belongs to the task.
        tokio::time::sleep(REPORT * 2).await;
        let events = events(&mut submitted.events);
        let after = shared.read().clone();
        // A scene, a stop and a next track cannot be confirmed: that they were sent is all that can be seen.
        let done = result
            .outcomes
            .iter()
            .filter(|entry| entry.outcome.is_wished() || entry.outcome == OutcomeKind::Unconfirmed);
        let actions: Vec<Action> = done.map(|entry| entry.action.clone()).collect();
        let intents = household.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let claims = claims(&result.reply, self.nlu.lexicon(&result.language));
        let approvals = count(&events, |event| matches!(event, Event::ApprovalAsked { .. }));
        let seen = Seen {
            before: &start,
            after: &after,
            actions: &actions,
            household: &intents,
            reply: &result.reply,
            asked: calls_of(&events).any(|call| call.name == ASK_USER),
            approvals,
            claims,
        };
        let verdict = judge(task, &seen);
        // How a thing is may be told where it was taken for a question: that is no claim of success.
        let so = || is_so(&result.reply, &result.outcomes, &after, self.nlu.lexicon(&result.language));
        let false_claim = claims && seen.anything().is_none() && task.expects_no_answer() && !so();
        journal.close().await;
        Ok(Outcome {
            verdict,
            false_claim,
            calls: calls_of(&events).map(|call| format!("{} {}", call.name, call.arguments)).collect(),
            ungated: ungated(&events, &start),
            approvals,
            turns: count(&events, |event| matches!(event, Event::TurnStarted { .. })),
            reply: result.reply.clone(),
            usage: result.usage,
            elapsed,
        })
    }

    fn offline_alone(&self, offline: &Arc<dyn Model>) -> Arc<dyn Model> {
        let breaker = BreakerSettings::default();
        Arc::new(Router::new(Mode::Offline, Some(offline.clone()), Vec::new(), breaker, self.clock.clone()))
    }

    fn command(&self, task: &Task, area: Option<String>) -> Command {
        Command {
            task: self.clock.new_id(),
            id: None,
            text: task.input.clone(),
            origin: Principal {
                name: "evaluation".into(),
                channel: Channel::Evaluation,
                scopes: vec![Scope::Read, Scope::Command],
            },
            area,
            language: task.lang.as_deref().map(|tag| tag.split('-').next().unwrap_or(tag).to_owned()),
            conversation: Some(CONVERSATION.into()),
            user_hint: None,
            at: self.clock.now(),
            plan: None,
        }
    }
}

/// Puts what was said before into the memory of the conversation: for the offline understanding what was done, for
/// language models what was said.
fn remember(task: &Task, house: &House, conversations: &Conversations) {
    let mut dialogue = Dialogue::default();
    for turn in &task.history {
        dialogue.actions = super::hard::actions_of(turn, house);
        dialogue.entities = dialogue.actions.iter().map(|action| action.entity.clone()).collect();
        dialogue.text = Some(turn.user.clone());
        let called = || turn.calls.iter().map(|call| format!("{} {}", call.tool, call.targets.join(", ")));
        let reply = turn.answer.clone().unwrap_or_else(|| called().collect::<Vec<_>>().join("; "));
        conversations.add(Some(CONVERSATION), Exchange { said: turn.user.clone(), reply, taint: None });
    }
    conversations.keep(Some(CONVERSATION), dialogue);
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

fn count(events: &[Arc<TaskEvent>], is: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is(&event.event)).count()
}

fn calls_of(events: &[Arc<TaskEvent>]) -> impl Iterator<Item = &ToolCall> {
    events
        .iter()
        .filter_map(|event| match &event.event {
            Event::ModelSaid { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .map(|(_, call)| call)
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

/// A household of lists: they are entities of the sets. Timers and schedules are noted for the judge.
struct Lists {
    house: SharedHouse,
    clock: Clock,
    /// Everything that was asked of it.
    asked: Mutex<Vec<Intent>>,
}

impl Lists {
    fn change(&self, list: Option<EntityId>, verb: Verb) {
        if let Some(id) = list.or_else(shopping) {
            super::apply(&mut self.house.write(), &Action::new(id, verb), self.clock.now());
        }
    }

    /// How many items are open: all that the sets know of a list.
    fn read(&self, list: Option<EntityId>) -> Option<String> {
        let id = list.or_else(shopping)?;
        self.house.read().state(id.as_str())?.text().map(str::to_owned)
    }
}

fn shopping() -> Option<EntityId> {
    EntityId::parse("todo.shopping_list").ok()
}

impl Household for Lists {
    fn handle(&self, request: HouseholdRequest) -> BoxFuture<'_, Result<serde_json::Value, String>> {
        Box::pin(async move {
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.intent.clone());
            match request.intent {
                Intent::Broadcast { message, .. } => return Ok(serde_json::json!({"said": message})),
                Intent::Actions(_) | Intent::Scene(_) => return Err("not of the household".into()),
                Intent::List(ListChange::Add { list, .. }) => self.change(list, Verb::AddItem),
                Intent::List(ListChange::Complete { list, .. }) => self.change(list, Verb::CompleteItem),
                Intent::List(ListChange::Remove { list, .. }) => self.change(list, Verb::RemoveItem),
                Intent::List(ListChange::Read { list }) => {
                    return Ok(serde_json::json!({"said": self.read(list).unwrap_or_default()}));
                }
                Intent::Schedule { .. }
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
