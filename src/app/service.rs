//! The daemon as HTTP clients see it: [`Service`] over the queue, the house, the door and the journal.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;

use super::App;
use super::views;
use super::why::Sources;
use crate::agent::{Command, Event, SubmitError as QueueError, Submitted, TaskEvent as LogEvent};
use crate::home::EntityId;
use crate::http::service::{
    Answer, AnswerError, AnswerWord as HttpWord, CancelError, EntityFilter, GrantError, Health, LiveEvent,
    NewCommand, NewGrant, Service, StopError, StopTarget, SubmitError, TaskHandle, Unavailable,
};
use crate::http::views::{
    ApprovalView, DiscoveryView, EntityView, GrantView, ModelsView, ScheduleView, TaskEvent, TaskView,
    WhyView,
};
use crate::journal::{Journal, JournalError};
use crate::policy::{AnswerWord, Policy, Principal, Verdict};

/// A command is too old to be acted on after so many seconds.
const STALE_SECONDS: i64 = 30;

impl Service for App {
    fn submit(&self, new: NewCommand, by: Principal) -> BoxFuture<'_, Result<TaskHandle, SubmitError>> {
        async move {
            let command = self.command(new, by)?;
            let submitted = self.queue.submit(command).await.map_err(|error| match error {
                QueueError::Busy { .. } => SubmitError::Busy,
                QueueError::TooFast { per_minute, wait, .. } => SubmitError::TooFast { per_minute, wait },
                error @ (QueueError::Stopping | QueueError::Paused | QueueError::Journal(_)) => {
                    Unavailable(error.to_string()).into()
                }
            })?;
            Ok(self.handle(submitted))
        }
        .boxed()
    }

    fn tasks(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TaskView>, Unavailable>> {
        async move {
            let rows = self
                .journal
                .tasks(u32::try_from(limit).unwrap_or(u32::MAX), false)
                .await
                .map_err(unavailable)?;
            let mut tasks = Vec::with_capacity(rows.len());
            for row in rows {
                if let Some(mut task) = task_view(&self.journal, &row.id).await? {
                    task.events.clear();
                    tasks.push(task);
                }
            }
            Ok(tasks)
        }
        .boxed()
    }

    fn task<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskView>, Unavailable>> {
        task_view(&self.journal, id).boxed()
    }

    fn entities(&self, filter: &EntityFilter) -> Vec<EntityView> {
        let house = self.house.read();
        house
            .entities()
            .filter(|entity| filter.area.is_none() || entity.area == filter.area)
            .filter(|entity| filter.domain.as_deref().is_none_or(|domain| entity.domain().word() == domain))
            .map(|entity| EntityView::of(&house, entity, &self.clock))
            .collect()
    }

    fn entity(&self, id: &str) -> Option<EntityView> {
        let house = self.house.read();
        house.entity(id).map(|entity| EntityView::of(&house, entity, &self.clock))
    }

    fn why(&self, id: &str) -> Result<WhyView, String> {
        self.sources(&self.door.policy()).why(id)
    }

    fn discovery(&self) -> DiscoveryView {
        self.sources(&self.door.policy()).discovery()
    }

    fn accept(&self, id: &str, by: Principal) -> bool {
        let accepted = EntityId::parse(id).is_ok_and(|id| self.accept_entity(&id));
        if accepted {
            tracing::info!(entity = id, by = by.name, "a person accepted what an entity has become");
        }
        accepted
    }

    fn approvals(&self) -> BoxFuture<'_, Result<Vec<ApprovalView>, Unavailable>> {
        async move {
            let pending = self.door.pending().await.map_err(|error| Unavailable(error.to_string()))?;
            let house = self.house.read();
            Ok(pending
                .iter()
                .map(|approval| views::approval(approval, &self.settings.home.language, &house, &self.clock))
                .collect())
        }
        .boxed()
    }

    fn answer(&self, answer: Answer, by: Principal) -> BoxFuture<'_, Result<Verdict, AnswerError>> {
        async move {
            let word = match answer.decision {
                HttpWord::Approve => AnswerWord::Approve,
                HttpWord::Deny => AnswerWord::Deny,
            };
            self.door
                .answer(&answer.approval_id, &answer.plan_hash, word, answer.issued_at, &by)
                .await
                .map_err(views::answer_error)
        }
        .boxed()
    }

    fn stop(&self, target: StopTarget, _by: Principal) -> BoxFuture<'_, Result<Vec<String>, StopError>> {
        async move {
            match target {
                StopTarget::All => Ok(self.stop_everything().await),
                StopTarget::Task(task) if self.queue.stop(&task) => Ok(vec![task]),
                StopTarget::Task(_) => Err(StopError::NotFound),
            }
        }
        .boxed()
    }

    fn grants(&self) -> Vec<GrantView> {
        self.grant_views()
    }

    fn give_grant(&self, grant: NewGrant, by: Principal) -> BoxFuture<'_, Result<GrantView, GrantError>> {
        async move { self.give(grant, &by).await }.boxed()
    }

    fn revoke_grant<'a>(&'a self, id: &'a str, by: Principal) -> BoxFuture<'a, Result<(), GrantError>> {
        async move { self.take_back(id, &by).await }.boxed()
    }

    fn schedules(&self) -> BoxFuture<'_, Result<Vec<ScheduleView>, Unavailable>> {
        async move { self.household.schedule_views().await.map_err(Unavailable) }.boxed()
    }

    fn cancel_schedule<'a>(&'a self, id: &'a str, by: Principal) -> BoxFuture<'a, Result<(), CancelError>> {
        async move { self.household.cancel_schedule(id, &by).await }.boxed()
    }

    fn restore_schedule<'a>(&'a self, id: &'a str, _by: Principal) -> BoxFuture<'a, Result<(), CancelError>> {
        async move { self.household.restore_schedule(id).await }.boxed()
    }

    fn events(&self) -> BoxStream<'static, LiveEvent> {
        let (house, clock) = (self.house.clone(), self.clock.clone());
        let tasks = BroadcastStream::new(self.queue.agent().events()).map(|event| match event {
            Ok(event) => LiveEvent::Task(task_event(&event)),
            Err(BroadcastStreamRecvError::Lagged(lost)) => LiveEvent::Lost(lost),
        });
        let states = BroadcastStream::new(self.house.changes()).filter_map(move |change| {
            let event = match change {
                Ok(change) if change.changed => {
                    let house = house.read();
                    let entity = house.entity(change.entity.as_str());
                    entity.map(|entity| LiveEvent::State(EntityView::of(&house, entity, &clock)))
                }
                Ok(_) => None,
                Err(BroadcastStreamRecvError::Lagged(lost)) => Some(LiveEvent::Lost(lost)),
            };
            std::future::ready(event)
        });
        let announcements =
            BroadcastStream::new(self.discovery.changes()).map(|announcement| match announcement {
                Ok(announcement) => LiveEvent::Announcement(announcement),
                Err(BroadcastStreamRecvError::Lagged(lost)) => LiveEvent::Lost(lost),
            });
        stream::select(tasks, stream::select(states, announcements)).boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<ModelsView, Unavailable>> {
        async move {
            let balance = self.queue.agent().balance().await.map_err(unavailable)?;
            Ok(views::models(self.models.mode(), &self.models.states(), balance))
        }
        .boxed()
    }

    fn health(&self) -> Health {
        let reasons = self.problems();
        Health { ready: reasons.is_empty(), reasons }
    }

    fn metrics(&self) -> String {
        self.metrics.render(self)
    }
}

impl App {
    /// What `why` is taken from.
    fn sources<'a>(&'a self, policy: &'a Policy) -> Sources<'a> {
        Sources {
            house: &self.house,
            codecs: &self.registry,
            discovered: &self.discovery,
            policy,
            facts: self.door.facts(policy),
            clock: &self.clock,
        }
    }

    /// The command of a client, checked in what only the daemon can know.
    fn command(&self, new: NewCommand, by: Principal) -> Result<Command, SubmitError> {
        let now = self.clock.now();
        if let Some(issued) = new.issued_at {
            let age = (now - issued).num_seconds();
            if !(-STALE_SECONDS..=STALE_SECONDS).contains(&age) {
                let reason = format!("issued_at is {age} s ago; at most {STALE_SECONDS} s are taken");
                return Err(SubmitError::Rejected { code: "stale", reason });
            }
        }
        if let Some(area) = &new.area
            && !self.house.read().places.areas.contains_key(area)
        {
            let reason = format!("there is no area {area:?}");
            return Err(SubmitError::Rejected { code: "unknown_area", reason });
        }
        Ok(Command {
            task: self.clock.new_id(),
            id: new.id,
            text: new.text,
            origin: by,
            area: new.area,
            language: new.language,
            conversation: new.conversation,
            user_hint: new.user_hint,
            at: now,
            plan: None,
        })
    }

    pub(super) fn handle(&self, submitted: Submitted) -> TaskHandle {
        let Submitted { task, repeated, events, mut result } = submitted;
        let (journal, mine) = (self.journal.clone(), task.clone());
        let events = if repeated {
            // What happened already is in the journal; the rest is in the result.
            async move { stream::iter(past_events(&journal, &mine).await) }.flatten_stream().boxed()
        } else {
            live_events(events, mine).boxed()
        };
        let (journal, clock, mine) = (self.journal.clone(), self.clock.clone(), task.clone());
        let result = async move {
            result.result().await;
            match task_view(&journal, &mine).await {
                Ok(Some(view)) => TaskView { events: Vec::new(), ..view },
                Ok(None) | Err(_) => views::lost(&mine, clock.now()),
            }
        };
        TaskHandle { task_id: task, events, result: result.boxed(), repeated }
    }
}

/// A task from its record.
async fn task_view(journal: &Journal, id: &str) -> Result<Option<TaskView>, Unavailable> {
    let rows = journal.events(id).await.map_err(unavailable)?;
    let events: Vec<TaskEvent> = (0u64..)
        .zip(&rows)
        .filter_map(|(sequence, row)| {
            Some(TaskEvent { task_id: id.to_owned(), sequence, at: row.at, event: row.parse().ok()? })
        })
        .collect();
    Ok(views::task(id, events))
}

async fn past_events(journal: &Journal, task: &str) -> Vec<TaskEvent> {
    match task_view(journal, task).await {
        Ok(Some(view)) => view.events,
        Ok(None) | Err(_) => Vec::new(),
    }
}

/// The events of one task from a subscription, up to its last.
fn live_events(
    events: broadcast::Receiver<Arc<LogEvent>>,
    task: String,
) -> impl futures_util::Stream<Item = TaskEvent> {
    stream::unfold(Some(events), move |events| {
        let task = task.clone();
        async move {
            let mut events = events?;
            loop {
                match events.recv().await {
                    Ok(event) if event.task == task => {
                        let rest = (!matches!(event.event, Event::Finished { .. })).then_some(events);
                        return Some((task_event(&event), rest));
                    }
                    Ok(_) => {}
                    // The reader was too slow; the result itself still comes.
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
                }
            }
        }
    })
}

fn task_event(event: &LogEvent) -> TaskEvent {
    TaskEvent {
        task_id: event.task.clone(),
        sequence: event.number,
        at: event.at,
        event: event.event.clone(),
    }
}

fn unavailable(error: JournalError) -> Unavailable {
    Unavailable(error.to_string())
}
