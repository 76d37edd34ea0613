//! One turn: ask the model, keep what it streams, and append what it said.
//!
//! Only complete calls are kept (invariant `incomplete_call_never_runs`): a stream that breaks after some text and
//! before a complete call leaves nothing behind. Retries and fallbacks are the router's, in `model`.

use std::sync::Arc;

use super::run::Cancel;
use futures_util::StreamExt;
use serde_json::json;

use super::event::{CallId, Event};
use super::log::TaskLog;
use super::next::Why;
use super::prompt;
use super::state::{Phase, TaskState};
use super::{Agent, Command};
use crate::journal::JournalError;
use crate::model::{Delta, ModelError, OFFLINE, Situation, Stop, ToolCall, ToolChoice, TurnRequest, Usage};
use crate::tools::FINISH;

/// What a model said in one turn.
#[derive(Default)]
struct Said {
    text: String,
    calls: Vec<ToolCall>,
    usage: Usage,
    stop: Option<Stop>,
    /// Who took the turn in the end, where a router chose.
    model: Option<String>,
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
        let Some(request) = self.turn_request(log, why, tool_choice) else { return Ok(()) };
        let turn = log.with_state(|state| u32::try_from(state.turns.len()).unwrap_or(u32::MAX));
        log.append(Event::TurnStarted { turn, model: self.model.name().to_owned() }).await?;
        let begun = tokio::time::Instant::now();
        let said = tokio::select! {
            said = self.listen(request, log) => said,
            () = cancel.token.cancelled() => Err(ModelError::Cut("the task was stopped".into())),
        };
        log.add_work(begun.elapsed());
        match said {
            Ok(said) => {
                let calls =
                    said.calls.into_iter().enumerate().map(|(index, call)| (format!("{turn}.{index}"), call));
                let calls: Vec<(CallId, ToolCall)> = calls.collect();
                let surplus = self.surplus(log, tool_choice, &calls);
                let stop = said.stop.unwrap_or(Stop::Ended);
                let own = said.model.as_deref() == Some(OFFLINE);
                log.append(Event::ModelSaid { turn, text: said.text, calls, stop, usage: said.usage, own })
                    .await?;
                for id in surplus {
                    let why = json!({"error": "limit", "message": "not run: the limit of calls is reached; report"});
                    self.end(log, &id, why, true).await?;
                }
                Ok(())
            }
            Err(error) => log.append(Event::ModelFailed { turn, error: error.to_string() }).await,
        }
    }

    /// Calls beyond the limit of the task, or made although none were allowed. They get their result and never run.
    fn surplus(&self, log: &TaskLog, tool_choice: ToolChoice, calls: &[(CallId, ToolCall)]) -> Vec<CallId> {
        let used = log.with_state(|state| state.calls.len());
        let room = match tool_choice {
            ToolChoice::Auto => usize::try_from(self.limits.calls).unwrap_or(usize::MAX).saturating_sub(used),
            ToolChoice::None => 0,
        };
        calls.iter().skip(room).filter(|(_, call)| call.name != FINISH).map(|(id, _)| id.clone()).collect()
    }

    async fn listen(&self, request: TurnRequest, log: &TaskLog) -> Result<Said, ModelError> {
        let left = self.limits.work().saturating_sub(log.worked());
        // A plan was understood before: no language model reads it again.
        let model = if request.situation.plan.is_some() { &self.offline } else { &self.model };
        let mut stream = model.turn(Arc::new(request));
        let mut said = Said { model: Some(model.name().to_owned()), ..Said::default() };
        let until = tokio::time::Instant::now() + left;
        loop {
            let delta = tokio::time::timeout_at(until, stream.next()).await;
            match delta {
                Err(_) => return Err(ModelError::TimedOut { what: crate::model::Wait::Whole, limit: left }),
                Ok(None) => return Ok(said),
                // Complete calls that came before a failure stand; the loop goes on from their results.
                Ok(Some(Err(_))) if !said.calls.is_empty() => return Ok(said),
                Ok(Some(Err(error))) => return Err(error),
                Ok(Some(Ok(delta))) => match delta {
                    Delta::Model(name) => said.model = Some(name.to_string()),
                    Delta::Text(text) => said.text.push_str(&text),
                    Delta::Call(call) => said.calls.push(call),
                    Delta::Usage(usage) => said.usage += usage,
                    Delta::End(stop) => {
                        said.stop = Some(stop);
                        return Ok(said);
                    }
                },
            }
        }
    }

    fn turn_request(&self, log: &TaskLog, why: Why, tool_choice: ToolChoice) -> Option<TurnRequest> {
        let task = log.with_state(Clone::clone);
        let command = task.command.clone()?;
        let prefix = self.prefix();
        let history = self.conversations.history(command.conversation.as_deref());
        let messages = {
            let house = self.house.read();
            prompt::messages(&task, &command, &history, &house, &self.limits, self.now_local())
        };
        let max_tokens = match why {
            Why::Truncated => self.limits.answer_tokens.saturating_mul(4),
            Why::First | Why::Results | Why::Paused => self.limits.answer_tokens,
        };
        Some(TurnRequest {
            system: prefix.system.clone(),
            tools: prefix.tools.clone(),
            messages,
            tool_choice,
            max_tokens,
            deadline: Some(tokio::time::Instant::now() + self.limits.work().saturating_sub(log.worked())),
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
        turns: task.turns.len(),
        outcomes: task.ledger(),
        results: calls
            .filter_map(|call| match &call.phase {
                Phase::Ended { content, .. } => Some((call.call.name.clone(), content.clone())),
                Phase::Open | Phase::Waiting { .. } | Phase::Answered { .. } => None,
            })
            .collect(),
    }
}
