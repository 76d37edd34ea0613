//! What a turn's calls do: read, act through the door, wait for a person; each gets exactly one result
//! (invariant `every_call_has_one_result`).

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::event::{CallId, Event, Exit};
use super::log::TaskLog;
use super::run::Cancel;
use super::state::{CallState, Phase};
use super::{Agent, repeat};
use crate::actuate::OutcomeEntry;
use crate::journal::JournalError;
use crate::model::ToolCall;
use crate::nlu::{Intent, ListChange};
use crate::policy::{Decision, Scope, Verdict};
use crate::tools::{self, HouseholdRequest, Request, ToolError};

/// Calls on their way.
pub(super) type Running<'a> = FuturesUnordered<BoxFuture<'a, Result<(), JournalError>>>;

impl Agent {
    /// Runs calls side by side, as many as the limit allows, until each has a result or waits for a person.
    pub(super) async fn run_calls(
        &self,
        log: &TaskLog,
        ids: &[CallId],
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        self.run_beside(FuturesUnordered::new(), log, ids.to_vec(), cancel).await
    }

    /// The same, beside calls that run already.
    pub(super) async fn run_beside<'a>(
        &'a self,
        mut running: Running<'a>,
        log: &'a TaskLog,
        ids: Vec<CallId>,
        cancel: &'a Cancel,
    ) -> Result<(), JournalError> {
        let mut waiting = ids.into_iter();
        loop {
            while running.len() < self.limits.parallel_calls
                && let Some(id) = waiting.next()
            {
                running.push(Box::pin(async move { self.run_call(log, &id, cancel).await }));
            }
            match running.next().await {
                Some(done) => done?,
                None => return Ok(()),
            }
        }
    }

    pub(super) async fn run_call(
        &self,
        log: &TaskLog,
        id: &CallId,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        let Some(state) = log.with_state(|state| state.calls.get(id).cloned()) else { return Ok(()) };
        if cancel.exit().is_some() {
            return self
                .end(log, id, json!({"error": "stopped", "message": "the task was stopped"}), true)
                .await;
        }
        let span = tracing::info_span!("call", call = %id);
        match &state.phase {
            Phase::Open => self.open_call(log, id, &state, cancel).instrument(span).await,
            Phase::Answered { approval, verdict } => {
                self.answered(log, id, approval, *verdict, cancel).instrument(span).await
            }
            Phase::Waiting { .. } | Phase::Ended { .. } => Ok(()),
        }
    }

    /// A call that nobody has looked at yet.
    async fn open_call(
        &self,
        log: &TaskLog,
        id: &CallId,
        state: &CallState,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        tracing::debug!(tool = %state.call.name, "a call begins");
        let prefix = self.prefix();
        let asked = tools::request(&state.call, &prefix.tools, &self.house.read());
        let request = match asked {
            Ok(request) => request,
            Err(error) => return self.refuse_call(log, id, &error).await,
        };
        match self.held_back(log, id, state, &request) {
            Some((error, why)) => self.end(log, id, json!({"error": error, "message": why}), true).await,
            None => self.carry_out(log, id, request, cancel).await,
        }
    }

    /// Why a well-formed call does not run: it repeats itself, or what it needs has failed too often.
    fn held_back(
        &self,
        log: &TaskLog,
        id: &CallId,
        state: &CallState,
        request: &Request,
    ) -> Option<(&'static str, String)> {
        log.with_state(|task| {
            let house = self.house.read();
            let changed = |earlier: &CallId, call: &CallState| match request {
                Request::GetState(ids) => {
                    repeat::reads_otherwise(call, &tools::get_state(ids, &house, self.clock.now()))
                }
                Request::FindEntities { query, area, domain } => {
                    let (area, domain) = (area.as_deref(), domain.as_deref());
                    let now = tools::find_entities(query, area, domain, &house, self.clock.now());
                    repeat::reads_otherwise(call, &now)
                }
                Request::Actions(_) | Request::Scene(_) => {
                    let outcomes = task.outcomes.get(earlier).map(Vec::as_slice).unwrap_or_default();
                    repeat::is_undone(outcomes, &house)
                }
                Request::Household(_) => repeat::household_changed(task, earlier),
                Request::AskUser(_) | Request::Finish { .. } => false,
            };
            if let Some(why) = repeat::blocked(task, id, &state.call, changed) {
                return Some(("repeated", why));
            }
            repeat::paused_tool(task, &state.call.name, &self.limits).map(|why| ("paused", why))
        })
    }

    /// Whether a call is one of actions that nobody is asked about and that could as well be sent twice.
    pub(super) fn is_free(&self, log: &TaskLog, call: &ToolCall) -> bool {
        let prefix = self.prefix();
        let asked = tools::request(call, &prefix.tools, &self.house.read());
        let Ok(Request::Actions(actions)) = asked else { return false };
        self.door.plan(&actions).is_ok_and(|plan| {
            self.door.is_absolute(&plan) && self.decide(log, &plan).decision() == Decision::Allow
        })
    }

    async fn carry_out(
        &self,
        log: &TaskLog,
        id: &CallId,
        request: Request,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        let acts = match &request {
            Request::Household(Intent::History(_)) => false,
            Request::Actions(_) | Request::Scene(_) | Request::Household(_) => true,
            Request::GetState(_)
            | Request::FindEntities { .. }
            | Request::AskUser(_)
            | Request::Finish { .. } => false,
        };
        let may_act = log.with_state(|task| {
            task.command.as_ref().is_some_and(|command| command.origin.has(Scope::Command))
        });
        if acts && !may_act {
            let why = json!({"error": "refused", "message": "this channel may only read"});
            return self.end(log, id, why, true).await;
        }
        match request {
            Request::GetState(ids) => {
                let states = { tools::get_state(&ids, &self.house.read(), self.clock.now()) };
                self.end_read(log, id, states).await
            }
            Request::FindEntities { query, area, domain } => {
                let found = {
                    let house = self.house.read();
                    tools::find_entities(&query, area.as_deref(), domain.as_deref(), &house, self.clock.now())
                };
                self.end_read(log, id, found).await
            }
            Request::AskUser(question) => self.end(log, id, json!({"asked": question}), false).await,
            Request::Finish { reply } => self.end(log, id, json!({"finish": reply}), false).await,
            Request::Household(intent) => self.household_call(log, id, intent, cancel).await,
            Request::Actions(actions) => self.act(log, id, actions, false, cancel).await,
            Request::Scene(scene) => {
                let (actions, waits) = {
                    let house = self.house.read();
                    let scene = house.scenes.get(&scene);
                    let steps = scene.map(|scene| scene.steps.iter().map(|step| step.0.clone()).collect());
                    (steps.unwrap_or_default(), scene.is_some_and(|scene| scene.waits_for_approval))
                };
                self.act(log, id, actions, !waits, cancel).await
            }
        }
    }

    /// A timer, a list, a schedule: may wait for a person, and tells so while it does.
    async fn household_call(
        &self,
        log: &TaskLog,
        id: &CallId,
        intent: crate::nlu::Intent,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        let Some(command) = log.with_state(|task| task.command.clone()) else { return Ok(()) };
        let (tell, mut told) = mpsc::unbounded_channel();
        let request = HouseholdRequest {
            intent,
            task: command.task.clone(),
            utterance: command.text.clone(),
            principal: command.origin.clone(),
            conversation: command.conversation.clone(),
            area: command.area.clone(),
            language: self.language_of(&command),
            taint: log.with_state(|task| task.taint.clone()),
            interim: Arc::new(move |text| {
                // Nobody listens any more: the call has ended.
                let _ = tell.send(text);
            }),
        };
        // What stands on a list was written by somebody, at some time, through some channel.
        let kept = match &request.intent {
            Intent::List(ListChange::Read { .. }) => Some("a list".to_owned()),
            _ => None,
        };
        let mut handled = self.household.handle(request);
        loop {
            tokio::select! {
                Some(text) = told.recv() => log.append(Event::Interim { text }).await?,
                answer = &mut handled => return match answer {
                    Ok(said) => self.end_kept(log, id, said, kept).await,
                    Err(why) => self.end(log, id, json!({"error": "refused", "said": why}), true).await,
                },
                () = cancel.token.cancelled() => {
                    let why = json!({"error": "stopped", "message": "the task was stopped"});
                    return self.end(log, id, why, true).await;
                }
            }
        }
    }

    /// The error of a call that cannot run; of a malformed one also how often that has happened in a row.
    async fn refuse_call(&self, log: &TaskLog, id: &CallId, error: &ToolError) -> Result<(), JournalError> {
        self.end_unrun(log, id, error.to_json()).await
    }

    /// The same for any reason not to run a call, as the model is told it.
    pub(super) async fn end_unrun(
        &self,
        log: &TaskLog,
        id: &CallId,
        mut told: serde_json::Value,
    ) -> Result<(), JournalError> {
        if told["error"] == "malformed" {
            let attempt = log.with_state(repeat::malformed_in_a_row) + 1;
            told["attempt"] = json!(format!("{attempt} of {}", self.limits.malformed_in_a_row));
        }
        self.end(log, id, told, true).await
    }

    /// Outcomes and the one result of a call that acted.
    pub(super) async fn report(
        &self,
        log: &TaskLog,
        id: &CallId,
        outcomes: Vec<OutcomeEntry>,
    ) -> Result<(), JournalError> {
        // A resumed call may have told some of its outcomes before.
        let told = log.with_state(|state| state.outcomes.get(id).cloned().unwrap_or_default());
        for entry in
            outcomes.into_iter().filter(|entry| !told.iter().any(|known| known.action == entry.action))
        {
            log.append(Event::Outcome { call: id.clone(), entry }).await?;
        }
        let all = log.with_state(|state| state.outcomes.get(id).cloned().unwrap_or_default());
        // No outcome at all is no good one: the question is gone, or is not the one that was asked.
        let is_error = all.is_empty() || !all.iter().all(|entry| entry.outcome.is_wished());
        let mut content = result_for_model(&all);
        if let Some(occasion) = self.occasion(log, id)
            && let Some(said) = self.household.settle_ends(&all, &occasion).await
        {
            content["said"] = json!(said);
        }
        self.end(log, id, content, is_error).await
    }

    pub(super) async fn end(
        &self,
        log: &TaskLog,
        id: &CallId,
        content: Value,
        is_error: bool,
    ) -> Result<(), JournalError> {
        let content = content.to_string();
        log.append(Event::CallResult { call: id.clone(), content, is_error, taint: None }).await
    }

    /// The result of a household call; `taint` says where free text in it comes from.
    async fn end_kept(
        &self,
        log: &TaskLog,
        id: &CallId,
        said: Value,
        taint: Option<String>,
    ) -> Result<(), JournalError> {
        let content = said.to_string();
        log.append(Event::CallResult { call: id.clone(), content, is_error: false, taint }).await
    }

    /// The result of a read: what it holds of free text from devices taints what follows.
    async fn end_read(&self, log: &TaskLog, id: &CallId, content: Value) -> Result<(), JournalError> {
        let taint = tools::free_text(&content, &self.house.read());
        let content = content.to_string();
        log.append(Event::CallResult { call: id.clone(), content, is_error: false, taint }).await
    }

    /// Gives every open call its result, because the task ends. What was already sent has its outcome from the door,
    /// which verifies it even after a stop.
    pub(super) async fn close_calls(&self, log: &TaskLog, exit: Exit) -> Result<(), JournalError> {
        let open: Vec<(CallId, CallState)> =
            log.with_state(|state| state.open_calls().map(|(id, call)| (id.clone(), call.clone())).collect());
        for (id, call) in open {
            if let Phase::Waiting { approval } = &call.phase {
                if let Err(error) = self.door.cancel_approval(approval).await {
                    tracing::warn!(%approval, %error, "an approval of a stopped task stays until it expires");
                }
                let ended = Event::ApprovalEnded {
                    call: id.clone(),
                    approval: approval.clone(),
                    verdict: Verdict::Cancelled,
                    by: None,
                };
                log.append(ended).await?;
            }
            let why = if exit == Exit::Shutdown { "shutdown" } else { "stopped" };
            self.end(log, &id, json!({"error": why, "message": "the task ended before this was done"}), true)
                .await?;
        }
        Ok(())
    }
}

/// What a model is told about outcomes: the words of the ledger, nothing more.
fn result_for_model(outcomes: &[OutcomeEntry]) -> Value {
    let rows: Vec<Value> = outcomes
        .iter()
        .map(|entry| {
            let mut row = json!({
                "entity": entry.action.entity, "verb": entry.action.verb, "outcome": entry.outcome,
            });
            if let Some(cause) = &entry.cause {
                row["cause"] = json!(cause);
            }
            if let Some(reported) = &entry.reported {
                row["reported"] = json!(tools::clean(reported, 256));
            }
            if !entry.details.is_empty() {
                row["details"] = entry.details.iter().map(|detail| json!(tools::clean(detail, 64))).collect();
            }
            row
        })
        .collect();
    json!({"outcomes": rows})
}
