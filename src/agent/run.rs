//! The driver: what [`next`] decides is done here, until the task has its one result.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span};

use super::event::{Event, Exit};
use super::log::TaskLog;
use super::next::{Step, next};
use super::{Agent, Command, TaskResult};
use crate::journal::JournalError;

/// How a task is stopped from outside.
#[derive(Debug, Clone)]
pub struct Cancel {
    shutdown: CancellationToken,
    /// Cancelled for this task, by a person or a client, or with the daemon.
    pub token: CancellationToken,
}

impl Cancel {
    /// For one task of a daemon that stops with `shutdown`.
    pub fn of(shutdown: &CancellationToken) -> Self {
        Self { shutdown: shutdown.clone(), token: shutdown.child_token() }
    }

    /// The exit of a task that was stopped; `None` while it was not.
    pub fn exit(&self) -> Option<Exit> {
        if self.shutdown.is_cancelled() {
            return Some(Exit::Shutdown);
        }
        self.token.is_cancelled().then_some(Exit::Cancelled)
    }
}

impl Agent {
    /// The whole loop.
    async fn drive(&self, log: &TaskLog, cancel: &Cancel) -> Result<Exit, JournalError> {
        loop {
            if let Some(exit) = cancel.exit() {
                self.close_calls(log, exit).await?;
                return Ok(exit);
            }
            let worked = log.worked();
            match log.with_state(|state| next(state, &self.limits, worked)) {
                Step::CallModel { why, tool_choice } => {
                    let turn = log.with_state(|state| state.turns.len());
                    self.turn(log, why, tool_choice, cancel).instrument(info_span!("turn", turn)).await?;
                }
                Step::RunCalls(calls) => self.run_calls(log, &calls, cancel).await?,
                Step::AwaitApproval(calls) => self.await_approvals(log, &calls, cancel).await?,
                Step::Finish(exit) => return Ok(exit),
            }
        }
    }

    /// Runs a command to its one result. The journal's faults end the task honestly: what it could not record it
    /// does not do.
    pub(super) async fn run(&self, command: Command, cancel: Cancel) -> TaskResult {
        let log =
            TaskLog::new(command.task.clone(), self.journal.clone(), self.bus.clone(), self.clock.clone());
        let begun = tokio::time::Instant::now();
        let accepted = log.append(Event::Accepted { command: command.clone() }).await;
        let exit = match accepted {
            Ok(()) => self.drive(&log, &cancel).await,
            Err(error) => Err(error),
        };
        self.finish(&log, &command, exit, begun).await
    }

    /// Goes on with a task that the last run of the daemon left open.
    pub(super) async fn run_on(&self, command: Command, events: &[Event], cancel: Cancel) -> TaskResult {
        let task = command.task.clone();
        let log = TaskLog::resume(task, events, self.journal.clone(), self.bus.clone(), self.clock.clone());
        let begun = tokio::time::Instant::now();
        let exit = match self.close_interrupted(&log).await {
            Ok(true) => self.drive(&log, &cancel).await,
            Ok(false) => Ok(Exit::Interrupted),
            Err(error) => Err(error),
        };
        self.finish(&log, &command, exit, begun).await
    }

    async fn finish(
        &self,
        log: &TaskLog,
        command: &Command,
        exit: Result<Exit, JournalError>,
        begun: tokio::time::Instant,
    ) -> TaskResult {
        let language = self.language_of(command);
        let (exit, fault) = match exit {
            Ok(exit) => (exit, None),
            Err(error) => {
                tracing::error!(task = %command.task, %error, "the journal failed; the task ends");
                (Exit::Internal, Some(error.to_string()))
            }
        };
        let (ledger, usage) = log.with_state(|state| (state.ledger(), state.usage));
        let reply = log.with_state(|state| self.reply(state, exit, &language));
        let finished = Event::Finished { exit, reply: reply.clone(), ledger: ledger.clone(), usage };
        if fault.is_some() || log.append(finished.clone()).await.is_err() {
            log.take(finished);
        }
        let taint = log.with_state(|state| state.taint.clone());
        self.remember(command, &reply, taint);
        TaskResult {
            task: command.task.clone(),
            id: command.id.clone(),
            conversation: command.conversation.clone(),
            exit,
            reply,
            language,
            outcomes: ledger,
            usage,
            seconds: begun.elapsed().as_secs_f64(),
        }
    }

    fn remember(&self, command: &Command, reply: &str, taint: Option<String>) {
        let exchange = super::Exchange { said: command.text.clone(), reply: reply.to_owned(), taint };
        self.conversations.add(command.conversation.as_deref(), exchange);
    }

    /// Starts a task of its own for `command`; a panic in it becomes a result.
    pub(super) fn spawn(
        self: &Arc<Self>,
        command: Command,
        cancel: Cancel,
    ) -> tokio::task::JoinHandle<TaskResult> {
        let agent = self.clone();
        let guarded = async move {
            let inner = agent.clone();
            let mine = command.clone();
            let running = tokio::spawn(async move { inner.run(mine, cancel).await }.in_current_span());
            match running.await {
                Ok(result) => result,
                Err(error) => {
                    tracing::error!(task = %command.task, %error, "a task broke");
                    agent.broken(&command).await
                }
            }
        };
        tokio::spawn(guarded.in_current_span())
    }

    /// The result of a task whose own code failed: from its journal, with every open call closed.
    pub(super) async fn broken(&self, command: &Command) -> TaskResult {
        let rows = self.journal.events(&command.task).await.unwrap_or_default();
        let events: Vec<Event> = rows.iter().filter_map(|row| row.parse().ok()).collect();
        let task = command.task.clone();
        let log = TaskLog::resume(task, &events, self.journal.clone(), self.bus.clone(), self.clock.clone());
        // What was sent is verified first; then every call that is still open gets its result.
        let closed = async {
            self.close_interrupted(&log).await?;
            self.close_calls(&log, Exit::Internal).await?;
            Ok(Exit::Internal)
        }
        .await;
        self.finish(&log, command, closed, tokio::time::Instant::now()).await
    }
}
