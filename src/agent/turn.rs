//! One turn: ask the model, keep what it streams, and append what it said.
//!
//! Only complete calls are kept (invariant `incomplete_call_never_runs`): a stream that breaks after some text and
//! before a complete call leaves nothing behind. What may start while the model still speaks is started here; retries
//! and fallbacks are the router's, in `model`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::calls::Running;
use super::event::{CallId, Event, Failure};
use super::log::TaskLog;
use super::next::Why;
use super::prompt;
use super::run::Cancel;
use super::state::{CallState, TaskState};
use super::{Agent, Command, Exchange};
use crate::journal::JournalError;
use crate::model::{
    Delta, Model, ModelError, OFFLINE, Situation, Stop, ToolCall, ToolChoice, TurnRequest, Usage, Wait,
};
use crate::tools::{FINISH, is_read};

/// How long a model may take, after a stop or the deadline, to tell what was used.
const LAST_WORD: Duration = Duration::from_millis(500);

/// What a model said in one turn so far.
#[derive(Default)]
struct Said {
    text: String,
    calls: Vec<(CallId, ToolCall)>,
    /// Calls that were started while the model spoke.
    started: Vec<CallId>,
    usage: Usage,
    stop: Option<Stop>,
    /// Who took the turn in the end, where a router chose.
    model: Option<String>,
}

/// One turn and what it is about.
struct Turn<'a> {
    number: u32,
    log: &'a TaskLog,
    tool_choice: ToolChoice,
    /// Whether the model speaks for a while. The offline understanding says everything at once.
    streams: bool,
    cancel: &'a Cancel,
}

impl Agent {
    /// Runs one turn. A failure is an event, not an error: the loop decides what follows from it.
    pub(super) async fn turn(
        &self,
        log: &TaskLog,
        why: Why,
        tool_choice: ToolChoice,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        tracing::debug!(?why, "a turn begins");
        let history = self.history(log);
        let Some(request) = self.turn_request(log, why, tool_choice, &history, cancel) else { return Ok(()) };
        let spent = self.purse.reached().await?;
        // A plan was understood before: no language model reads it again.
        let model = match (request.situation.plan.is_some(), spent) {
            (true, _) => &self.offline,
            (false, Some(_)) => &self.frugal,
            (false, None) => &self.model,
        };
        let number = log.with_state(|state| u32::try_from(state.turns.len()).unwrap_or(u32::MAX));
        // The offline understanding reads no earlier replies.
        let shown = history.iter().filter(|_| model.name() != OFFLINE);
        let taint = shown.rev().find_map(|exchange| exchange.taint.clone());
        log.append(Event::TurnStarted { turn: number, model: model.name().to_owned(), spent, taint }).await?;
        let turn = Turn { number, log, tool_choice, streams: model.name() != OFFLINE, cancel };
        let (mut said, mut running) = (Said::default(), FuturesUnordered::new());
        let (begun, deadline) = (Instant::now(), request.deadline);
        let left = self.limits.work().saturating_sub(log.worked());
        let ended = self.listen(&turn, &**model, request, &mut said, &mut running).await?;
        // A model that ended at the deadline has used up all that was left, to the last microsecond.
        let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        log.add_work(if over { begun.elapsed().max(left) } else { begun.elapsed() });
        self.purse.pay(said.usage).await?;
        match ended {
            Err(error) if said.calls.is_empty() => {
                let too_long = matches!(error, ModelError::ContextFull(_));
                let failure = if too_long { Failure::ContextFull } else { Failure::Model };
                let (error, usage) = (error.to_string(), said.usage);
                log.append(Event::ModelFailed { turn: number, error, failure, usage }).await
            }
            // Complete calls that came before a failure stand; the loop goes on from their results.
            ended => {
                if let Err(error) = ended {
                    tracing::warn!(turn = number, %error, "a model's answer broke off after its calls");
                }
                self.said(&turn, said, running).await
            }
        }
    }

    /// Keeps what was said. Where calls run already the others join them; else the loop starts them.
    async fn said<'a>(
        &'a self,
        turn: &Turn<'a>,
        said: Said,
        running: Running<'a>,
    ) -> Result<(), JournalError> {
        let (log, number) = (turn.log, turn.number);
        let not_run = self.not_run(turn, &said.calls);
        let rest: Vec<CallId> = said.calls.iter().map(|(id, _)| id.clone()).collect();
        let Said { text, calls, started, usage, stop, model } = said;
        let stop = stop.unwrap_or(Stop::Ended);
        let own = model.as_deref().map_or(!turn.streams, |model| model == OFFLINE);
        log.append(Event::ModelSaid { turn: number, text, calls, stop, usage, model, own }).await?;
        for (id, why) in not_run {
            self.end_unrun(log, &id, why).await?;
        }
        if running.is_empty() {
            return Ok(());
        }
        let is_open = |id: &CallId| {
            !started.contains(id)
                && log.with_state(|state| state.calls.get(id).is_some_and(|call| call.result().is_none()))
        };
        let rest: Vec<CallId> = rest.into_iter().filter(is_open).collect();
        self.run_beside(running, log, rest, turn.cancel).await
    }

    /// Reads the stream to its end or its failure, starting what may start at once.
    async fn listen<'a>(
        &'a self,
        turn: &Turn<'a>,
        model: &dyn Model,
        request: TurnRequest,
        said: &mut Said,
        running: &mut Running<'a>,
    ) -> Result<Result<(), ModelError>, JournalError> {
        let left = self.limits.work().saturating_sub(turn.log.worked());
        // The model ends by itself at the deadline and at a stop, and tells what was used.
        let mut until = Instant::now() + left + LAST_WORD;
        let mut stopped = false;
        let mut stream = model.turn(Arc::new(request));
        loop {
            let delta = tokio::select! {
                delta = timeout_at(until, stream.next()) => delta,
                Some(done) = running.next() => {
                    done?;
                    continue;
                }
                () = turn.cancel.token.cancelled(), if !stopped => {
                    stopped = true;
                    until = until.min(Instant::now() + LAST_WORD);
                    continue;
                }
            };
            match delta {
                Ok(Some(Ok(Delta::Usage(usage)))) => said.usage += usage,
                Ok(Some(Ok(_))) if stopped => {}
                Ok(None | Some(Err(_))) | Err(_) if stopped => {
                    return Ok(Err(ModelError::Cut("the task was stopped".into())));
                }
                Err(_) => return Ok(Err(ModelError::TimedOut { what: Wait::Whole, limit: left })),
                Ok(None) => return Ok(Ok(())),
                Ok(Some(Err(error))) => return Ok(Err(error)),
                Ok(Some(Ok(Delta::Model(name)))) => said.model = Some(name.to_string()),
                Ok(Some(Ok(Delta::Text(text)))) => said.text.push_str(&text),
                Ok(Some(Ok(Delta::Call(call)))) => self.take_call(turn, call, said, running).await?,
                Ok(Some(Ok(Delta::End(stop)))) => {
                    said.stop = Some(stop);
                    return Ok(Ok(()));
                }
            }
        }
    }

    /// A call whose block is complete: it starts at once if it may, else when the message has ended.
    async fn take_call<'a>(
        &'a self,
        turn: &Turn<'a>,
        call: ToolCall,
        said: &mut Said,
        running: &mut Running<'a>,
    ) -> Result<(), JournalError> {
        let id = format!("{}.{}", turn.number, said.calls.len());
        said.calls.push((id.clone(), call.clone()));
        let room = running.len() < self.limits.parallel_calls;
        let counted = !self.not_run(turn, &said.calls).iter().any(|(other, _)| *other == id);
        let streams = turn.streams && said.model.as_deref() != Some(OFFLINE);
        if !(streams && room && counted && self.may_start(turn.log, &call, said)) {
            return Ok(());
        }
        said.started.push(id.clone());
        turn.log.append(Event::Called { turn: turn.number, call: id.clone(), tool: call }).await?;
        let (log, cancel) = (turn.log, turn.cancel);
        running.push(Box::pin(async move { self.run_call(log, &id, cancel).await }));
        Ok(())
    }

    /// Reads may start while the model still speaks, and so may absolute actions that need nobody, as long as no call
    /// before them has to wait: what the model says in an order is done in that order.
    fn may_start(&self, log: &TaskLog, call: &ToolCall, said: &Said) -> bool {
        if is_read(&call.name) {
            return true;
        }
        let all_before_started = said.started.len() + 1 == said.calls.len();
        all_before_started && self.is_free(log, call)
    }

    /// Calls that never run, with the reason as their result: beyond the limit of the task, made although none were
    /// allowed, or under the id of another call of the turn.
    fn not_run(&self, turn: &Turn<'_>, calls: &[(CallId, ToolCall)]) -> Vec<(CallId, serde_json::Value)> {
        let of_this_turn = |id: &CallId| calls.iter().any(|(mine, _)| mine == id);
        let counts = |(id, call): &(&CallId, &CallState)| !of_this_turn(id) && call.call.name != FINISH;
        let used = turn.log.with_state(|state| state.calls.iter().filter(counts).count());
        let room = match turn.tool_choice {
            ToolChoice::Auto => usize::try_from(self.limits.calls).unwrap_or(usize::MAX).saturating_sub(used),
            ToolChoice::None => 0,
        };
        let mut not_run = Vec::new();
        let mut counted = 0;
        for (index, (id, call)) in calls.iter().enumerate() {
            let twice = calls.iter().take(index).any(|(_, earlier)| earlier.id == call.id);
            counted += usize::from(call.name != FINISH);
            if counted > room && call.name != FINISH {
                let why =
                    json!({"error": "limit", "message": "not run: the limit of calls is reached; report"});
                not_run.push((id.clone(), why));
            } else if twice {
                let message = format!("not run: an earlier call of this turn has the id {:?}", call.id);
                let other = "make the call again, each call of a turn with an id of its own";
                let why = json!({"error": "malformed", "message": message, "did_you_mean": [other]});
                not_run.push((id.clone(), why));
            }
        }
        not_run
    }

    /// What was said before in the conversation of the task, as far as a model is shown it.
    fn history(&self, log: &TaskLog) -> Vec<Exchange> {
        let conversation =
            log.with_state(|state| state.command.as_ref().and_then(|command| command.conversation.clone()));
        self.conversations.history(conversation.as_deref(), self.limits.history)
    }

    fn turn_request(
        &self,
        log: &TaskLog,
        why: Why,
        tool_choice: ToolChoice,
        history: &[Exchange],
        cancel: &Cancel,
    ) -> Option<TurnRequest> {
        let task = log.with_state(Clone::clone);
        let command = task.command.clone()?;
        let prefix = self.prefix();
        let messages = {
            let house = self.house.read();
            prompt::messages(&task, &command, history, &house, &self.limits, self.now_local())
        };
        let max_tokens = match why {
            Why::Truncated | Why::Continued => {
                self.limits.larger_answer_tokens.max(self.limits.answer_tokens)
            }
            Why::First | Why::Results | Why::TooLong => self.limits.answer_tokens,
        };
        Some(TurnRequest {
            system: prefix.system.clone(),
            tools: prefix.tools.clone(),
            messages,
            tool_choice,
            max_tokens,
            deadline: Some(Instant::now() + self.limits.work().saturating_sub(log.worked())),
            stop: cancel.token.clone(),
            situation: Arc::new(situation(&task, &command)),
        })
    }
}

/// The same facts for the offline model, which reads no messages.
fn situation(task: &TaskState, command: &Command) -> Situation {
    let calls = task.turns.iter().flat_map(|turn| &turn.calls).filter_map(|id| task.calls.get(id));
    Situation {
        task: command.task.clone(),
        text: command.text.clone(),
        language: command.language.clone(),
        area: command.area.clone(),
        conversation: command.conversation.clone(),
        plan: command.plan.clone(),
        leaves_questions: false,
        turns: task.turns.len(),
        outcomes: task.ledger(),
        results: calls
            .filter_map(|call| Some((call.call.name.clone(), call.result()?.0.to_owned())))
            .collect(),
    }
}
