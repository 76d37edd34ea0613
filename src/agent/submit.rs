//! The counter at which channels hand in commands: queue, repeated ids, stop, drain, and going on after a restart.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::event::{Event, Exit};
use super::log::TaskEvent;
use super::rate::Rate;
use super::run::Cancel;
use super::{Agent, Command};
use crate::actuate::Ledger;
use crate::journal::JournalError;
use crate::journal::memory::Claim;
use crate::model::Usage;
use crate::policy::Channel;

/// The one result of a task, as every channel reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    pub task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    pub exit: Exit,
    pub reply: String,
    pub language: String,
    pub outcomes: Ledger,
    pub usage: Usage,
    pub seconds: f64,
}

/// A command that was taken.
pub struct Submitted {
    pub task: String,
    /// The id was known: this is the task that it opened first.
    pub repeated: bool,
    /// Events of all tasks, from before this one's first.
    pub events: broadcast::Receiver<Arc<TaskEvent>>,
    pub result: Pending,
}

impl Submitted {
    /// Waits until the task is in the journal: from then on a restart knows of it. A task that ends without getting
    /// there ends the wait too.
    pub async fn accepted(mut self) {
        let first = async {
            loop {
                match self.events.recv().await {
                    // Events are told after the journal has them, and the first of a task is that it was accepted.
                    Ok(event) if event.task == self.task => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        };
        tokio::select! {
            () = first => {}
            _ = self.result.result() => {}
        }
    }
}

/// The result of a task that may still run. Dropping this does not stop the task.
#[derive(Clone)]
pub struct Pending(watch::Receiver<Option<Arc<TaskResult>>>);

impl Pending {
    /// Waits for the result; `None` when the daemon ends before it.
    pub async fn result(&mut self) -> Option<Arc<TaskResult>> {
        match self.0.wait_for(Option::is_some).await {
            Ok(result) => result.clone(),
            Err(_) => None,
        }
    }

    fn is_open(&self) -> bool {
        // A task whose sender is gone has ended without a word; it holds no place.
        self.0.borrow().is_none() && self.0.has_changed().is_ok()
    }
}

/// Why a command was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("busy: {waiting} commands wait already; try again in a moment")]
    Busy { waiting: usize },
    #[error("too many commands: {principal} may give {per_minute} in a minute; try again in {wait:?}")]
    TooFast { principal: String, per_minute: u32, wait: Duration },
    #[error("homeloop is stopping")]
    Stopping,
    /// A person said so; what runs goes on.
    #[error("homeloop is paused; it takes commands again when the pause is switched off")]
    Paused,
    #[error("not taken: {0}")]
    Journal(#[from] JournalError),
}

/// How much is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Commands that run at the same time.
    pub at_once: usize,
    /// Commands that wait behind them.
    pub waiting: usize,
    /// Commands of one principal in a minute; 0: no limit.
    pub per_minute: u32,
}

/// Takes commands and runs them, so many at once and so many waiting.
pub struct Queue {
    agent: Arc<Agent>,
    slots: Arc<Semaphore>,
    limits: QueueLimits,
    rate: Option<Rate>,
    shutdown: CancellationToken,
    paused: AtomicBool,
    running: Mutex<HashMap<String, Running>>,
}

struct Running {
    token: CancellationToken,
    result: Pending,
}

/// Tasks of this run that are remembered with their results.
const REMEMBERED: usize = 1024;

impl Queue {
    pub fn new(agent: Arc<Agent>, limits: QueueLimits) -> Arc<Self> {
        let per_minute = NonZeroU32::new(limits.per_minute);
        Arc::new(Self {
            rate: per_minute.map(|per_minute| Rate::new(per_minute, agent.clock.clone())),
            agent,
            slots: Arc::new(Semaphore::new(limits.at_once)),
            limits,
            shutdown: CancellationToken::new(),
            paused: AtomicBool::new(false),
            running: Mutex::default(),
        })
    }

    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// Takes no further commands, or takes them again. What runs goes on.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// Takes a command. One whose id was seen from the same principal, also before a restart, gets the first one's
    /// task and result.
    pub async fn submit(self: &Arc<Self>, command: Command) -> Result<Submitted, SubmitError> {
        // In a task of its own: a caller that goes away in between leaves no half-taken command behind.
        let queue = self.clone();
        tokio::spawn(async move { queue.enter(command).await }).await.unwrap_or(Err(SubmitError::Stopping))
    }

    async fn enter(self: Arc<Self>, command: Command) -> Result<Submitted, SubmitError> {
        if self.shutdown.is_cancelled() {
            return Err(SubmitError::Stopping);
        }
        if self.paused.load(Ordering::Relaxed) {
            return Err(SubmitError::Paused);
        }
        self.check_rate(&command)?;
        let events = self.agent.events();
        let (tell, result) = watch::channel(None);
        let (cancel, result) = (Cancel::of(&self.shutdown), Pending(result));
        self.take_place(&command.task, Running { token: cancel.token.clone(), result: result.clone() })?;
        if let Some(id) = &command.id {
            let key = format!("{} {id}", command.origin.name);
            match self.agent.journal.claim_command(&key, &command.task).await {
                Ok(Claim::New) => {}
                Ok(Claim::Seen { task, result }) => {
                    self.running().remove(&command.task);
                    let result = self.first_result(&task, result, &command);
                    return Ok(Submitted { task, repeated: true, events, result });
                }
                Err(error) => {
                    self.running().remove(&command.task);
                    return Err(error.into());
                }
            }
        }
        let task = command.task.clone();
        self.start(command, None, cancel, tell);
        Ok(Submitted { task, repeated: false, events, result })
    }

    /// What a schedule fires was taken when the schedule was made.
    fn check_rate(&self, command: &Command) -> Result<(), SubmitError> {
        let Some(rate) = self.rate.as_ref().filter(|_| command.origin.channel != Channel::Schedule) else {
            return Ok(());
        };
        rate.check(&command.origin.name).map_err(|wait| SubmitError::TooFast {
            principal: command.origin.name.clone(),
            per_minute: self.limits.per_minute,
            wait,
        })
    }

    /// A place for a new task, if there is one.
    fn take_place(&self, task: &str, entry: Running) -> Result<(), SubmitError> {
        let mut running = self.running();
        let open = running.values().filter(|task| task.result.is_open()).count();
        if open >= self.limits.at_once + self.limits.waiting {
            return Err(SubmitError::Busy { waiting: open.saturating_sub(self.limits.at_once) });
        }
        running.insert(task.to_owned(), entry);
        Ok(())
    }

    /// The result of the task that an id opened first: running, or stored.
    fn first_result(&self, task: &str, stored: Option<String>, again: &Command) -> Pending {
        if let Some(running) = self.running().get(task) {
            return running.result.clone();
        }
        let stored = stored.and_then(|result| serde_json::from_str(&result).ok());
        let result = stored.unwrap_or_else(|| TaskResult::lost(again));
        Pending(watch::channel(Some(Arc::new(result))).1)
    }

    /// Stops one task; says whether it was running.
    pub fn stop(&self, task: &str) -> bool {
        match self.running().get(task) {
            Some(running) if running.result.is_open() => {
                running.token.cancel();
                true
            }
            Some(_) | None => false,
        }
    }

    /// Stops every task; returns their ids.
    pub fn stop_all(&self) -> Vec<String> {
        self.stop_others("")
    }

    /// Stops every task but one: the one that says so.
    pub fn stop_others(&self, but: &str) -> Vec<String> {
        let running = self.running();
        let open = running.iter().filter(|(id, task)| id.as_str() != but && task.result.is_open());
        open.map(|(id, task)| {
            task.token.cancel();
            id.clone()
        })
        .collect()
    }

    /// Tasks without a result now.
    pub fn open(&self) -> usize {
        self.running().values().filter(|task| task.result.is_open()).count()
    }

    /// Takes nothing more, ends what runs, and waits up to `limit` for the results.
    pub async fn drain(&self, limit: Duration) {
        self.shutdown.cancel();
        let open: Vec<_> = self.running().values().map(|task| task.result.clone()).collect();
        let all = async {
            for mut pending in open {
                pending.result().await;
            }
        };
        if tokio::time::timeout(limit, all).await.is_err() {
            tracing::warn!(
                seconds = limit.as_secs(),
                "tasks did not end in time; the journal has what they did"
            );
        }
    }

    /// Goes on with the tasks that the last run left open: those that wait for a person keep waiting, the others get
    /// an honest end. Returns how many there were.
    pub async fn resume(self: &Arc<Self>) -> Result<usize, JournalError> {
        let open = self.agent.journal.tasks(1000, true).await?;
        for row in &open {
            // Opened by this run, while the channels were already there.
            if self.running().contains_key(&row.id) {
                continue;
            }
            let events: Vec<Event> =
                self.agent.journal.events(&row.id).await?.iter().filter_map(|row| row.parse().ok()).collect();
            let Some(Event::Accepted { command }) = events.first() else { continue };
            let command = command.clone();
            let cancel = Cancel::of(&self.shutdown);
            let (tell, result) = watch::channel(None);
            self.running()
                .insert(row.id.clone(), Running { token: cancel.token.clone(), result: Pending(result) });
            self.start(command, Some(events), cancel, tell);
        }
        Ok(open.len())
    }

    fn start(
        self: &Arc<Self>,
        command: Command,
        resumed: Option<Vec<Event>>,
        cancel: Cancel,
        tell: watch::Sender<Option<Arc<TaskResult>>>,
    ) {
        let queue = self.clone();
        // Every line that is logged below carries the ids of its task, turn and call.
        let span = tracing::info_span!("task", task = %command.task);
        let work = async move {
            let slot = queue.slots.clone().acquire_owned().await;
            let task = command.task.clone();
            let result = match resumed {
                Some(events) => {
                    let (agent, mine) = (queue.agent.clone(), command.clone());
                    let resumed = tokio::spawn(
                        async move { agent.run_on(mine, &events, cancel).await }.in_current_span(),
                    );
                    match resumed.await {
                        Ok(result) => result,
                        Err(error) => {
                            tracing::error!(%task, %error, "a resumed task broke");
                            queue.agent.broken(&command).await
                        }
                    }
                }
                None => match queue.agent.spawn(command.clone(), cancel).await {
                    Ok(result) => result,
                    Err(error) => {
                        tracing::error!(%task, %error, "a task was lost");
                        TaskResult::lost(&command)
                    }
                },
            };
            drop(slot);
            queue.keep_first_result(&result).await;
            tracing::info!(%task, exit = ?result.exit, seconds = result.seconds, "task ended");
            tell.send_replace(Some(Arc::new(result)));
        };
        tokio::spawn(work.instrument(span));
    }

    async fn keep_first_result(&self, result: &TaskResult) {
        let stored = match serde_json::to_string(result) {
            Ok(text) => {
                self.agent.journal.store_first_result(&result.task, &text).await.map_err(|e| e.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = stored {
            tracing::warn!(task = %result.task, %error, "the first result of a command id is not kept");
        }
    }

    /// The tasks of this run, bounded: the oldest finished ones go first.
    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() > REMEMBERED {
            let mut finished: Vec<String> =
                running.iter().filter(|(_, task)| !task.result.is_open()).map(|(id, _)| id.clone()).collect();
            // Task ids are ULIDs: the order of the alphabet is the order of time.
            finished.sort_unstable();
            for id in finished.into_iter().take(REMEMBERED / 2) {
                running.remove(&id);
            }
        }
        running
    }
}

impl TaskResult {
    /// The last resort: neither the task nor its guard could report.
    fn lost(command: &Command) -> Self {
        Self {
            task: command.task.clone(),
            id: command.id.clone(),
            conversation: command.conversation.clone(),
            exit: Exit::Internal,
            reply: "homeloop failed inside; look at its log".into(),
            language: "en".into(),
            outcomes: Ledger::new(),
            usage: Usage::default(),
            seconds: 0.0,
        }
    }
}
