//! Actions of a call through the door: plan, decide, perform or ask; and the answer of a person.

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::json;

use super::event::{CallId, Event};
use super::log::{TaskLog, TaskLogOf};
use super::run::Cancel;
use super::state::{Phase, TaskState};
use super::{Agent, repeat};
use crate::actuate::{AskError, Outcome, OutcomeEntry, Plan, PlanError, Question, StoreError};
use crate::home::Action;
use crate::journal::JournalError;
use crate::policy::{Approval, Asked, Decided, Decision, Permit, Verdict};
use crate::tools::Occasion;

impl Agent {
    /// Plans and decides about `actions`. With `part`, what needs nobody does not wait for what needs a person.
    pub(super) async fn act(
        &self,
        log: &TaskLog,
        id: &CallId,
        actions: Vec<Action>,
        part: bool,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        let plan = match self.door.plan(&actions) {
            Ok(plan) => plan,
            Err(error) => return self.no_plan(log, id, &error).await,
        };
        // What a scene or a group is made of counts, and not its name.
        let paused = log.with_state(|task| repeat::paused_entity(task, &plan.actions(), &self.limits));
        if let Some(why) = paused {
            return self.end(log, id, json!({"error": "paused", "message": why}), true).await;
        }
        let decided = {
            let _in_turn = log.deciding.lock().await;
            let decided = self.decide(log, &plan);
            self.tell_decision(log, id, &plan, &decided).await?;
            decided
        };
        match decided.decision() {
            Decision::Allow => {
                let outcomes = self.perform_free(log, id, &plan, &decided, cancel).await;
                self.report(log, id, outcomes).await
            }
            Decision::Deny => self.report(log, id, self.door.refused(&plan, &decided)).await,
            Decision::Ask => match self.door.split(&plan, &decided).filter(|_| part) {
                Some((free, gated)) => {
                    let allowed = self.decide(log, &free);
                    for entry in self.perform_free(log, id, &free, &allowed, cancel).await {
                        log.append(Event::Outcome { call: id.clone(), entry }).await?;
                    }
                    let decided = self.decide(log, &gated);
                    self.ask(log, id, &gated, &decided).await
                }
                None => self.ask(log, id, &plan, &decided).await,
            },
        }
    }

    pub(super) fn decide(&self, log: &TaskLog, plan: &Plan) -> Decided {
        log.with_state(|state| {
            let sent = state.actions();
            let nobody = nobody();
            let principal = state.command.as_ref().map_or(&nobody, |command| &command.origin);
            let conversation = state.command.as_ref().and_then(|command| command.conversation.as_deref());
            self.door
                .decide(plan, &Asked { principal, conversation, taint: state.taint.as_deref(), sent: &sent })
        })
    }

    async fn tell_decision(
        &self,
        log: &TaskLog,
        id: &CallId,
        plan: &Plan,
        decided: &Decided,
    ) -> Result<(), JournalError> {
        log.append(Event::Decided {
            call: id.clone(),
            plan_hash: plan.hash().to_owned(),
            actions: plan.actions(),
            decision: decided.decision(),
            tier: decided.tier().word().to_owned(),
            reasons: decided.reasons(),
        })
        .await
    }

    async fn perform_free(
        &self,
        log: &TaskLog,
        id: &CallId,
        plan: &Plan,
        decided: &Decided,
        cancel: &Cancel,
    ) -> Vec<OutcomeEntry> {
        match Permit::free(decided) {
            Some(permit) => {
                if let Err(unsafe_to_send) = self.arrange_ends(log, id, &plan.actions()).await {
                    return unsafe_to_send;
                }
                let record = TaskLogOf { log, call: id.clone() };
                self.door.perform(plan, permit, &record, &cancel.token).await
            }
            None => self.door.refused(plan, decided),
        }
    }

    /// Puts the question to a person and tells at once that it waits.
    async fn ask(
        &self,
        log: &TaskLog,
        id: &CallId,
        plan: &Plan,
        decided: &Decided,
    ) -> Result<(), JournalError> {
        let Some(command) = log.with_state(|state| state.command.clone()) else { return Ok(()) };
        let taint = log.with_state(|state| state.taint.clone());
        let question = Question {
            task: &command.task,
            step: step(id),
            conversation: command.conversation.as_deref(),
            principal: &command.origin,
            device: command.area.as_deref(),
            utterance: &command.text,
            taint: taint.as_deref(),
        };
        match self.door.ask(plan, decided, &question).await {
            Ok(approval) => {
                log.append(Event::ApprovalAsked {
                    call: id.clone(),
                    approval: approval.id.clone(),
                    plan_hash: approval.plan_hash.clone(),
                    match_code: approval.match_code.clone(),
                    expires_at: approval.expires_at,
                })
                .await?;
                let text = self.interim(plan, &approval, &self.language_of(&command));
                log.append(Event::Interim { text }).await
            }
            Err(error) => {
                let cause = match &error {
                    AskError::CoolDown(_) => "cooling_down",
                    AskError::RequesterFull(_) | AskError::Full(_) => "too_many_questions",
                    AskError::NotAsked => "cannot_ask",
                    AskError::Store(_) => "not_recorded",
                };
                tracing::warn!(task = %command.task, call = %id, %error, "no question was put");
                self.report(log, id, not_sent(&plan.actions(), cause)).await
            }
        }
    }

    fn interim(&self, plan: &Plan, approval: &Approval, language: &str) -> String {
        let house = self.house.read();
        self.report.waiting(language, &plan.actions(), &approval.match_code, &house)
    }

    /// Waits for the first answer of a person, or the expiry, among these calls.
    pub(super) async fn await_approvals(
        &self,
        log: &TaskLog,
        ids: &[CallId],
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        let waiting: Vec<(CallId, String)> = log.with_state(|state| {
            let approval = |id: &CallId| match &state.calls.get(id)?.phase {
                Phase::Waiting { approval } => Some((id.clone(), approval.clone())),
                Phase::Open | Phase::Answered { .. } | Phase::Ended { .. } => None,
            };
            ids.iter().filter_map(approval).collect()
        });
        let mut answers: FuturesUnordered<BoxFuture<'_, Answered>> = FuturesUnordered::new();
        for (call, approval) in waiting {
            answers.push(Box::pin(self.await_answer(call, approval)));
        }
        let (call, approval, answer) = tokio::select! {
            () = cancel.token.cancelled() => return Ok(()),
            answer = answers.next() => match answer {
                Some(answer) => answer,
                None => return Ok(()),
            },
        };
        let (verdict, by) = answer.unwrap_or_else(|error| {
            tracing::error!(%approval, %error, "an answer cannot be read; nothing is sent");
            (Verdict::Invalidated, None)
        });
        log.append(Event::ApprovalEnded { call, approval, verdict, by }).await
    }

    async fn await_answer(&self, call: CallId, approval: String) -> Answered {
        let answer = self.door.await_answer(&approval).await;
        (call, approval, answer)
    }

    /// A call whose question has ended.
    pub(super) async fn answered(
        &self,
        log: &TaskLog,
        id: &CallId,
        approval: &str,
        verdict: Verdict,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        let cause = match verdict {
            Verdict::Approved => return self.approved(log, id, approval, cancel).await,
            Verdict::Denied => "denied",
            Verdict::Expired => "expired",
            Verdict::Cancelled => "cancelled",
            Verdict::Invalidated => "invalidated",
        };
        let actions = self.door.actions_of(approval).await;
        self.report(log, id, not_sent(&actions, cause)).await
    }

    /// The frozen plan goes on, once. What a stopped daemon was carrying out is read from the devices, never sent again.
    async fn approved(
        &self,
        log: &TaskLog,
        id: &CallId,
        approval: &str,
        cancel: &Cancel,
    ) -> Result<(), JournalError> {
        if let Err(unsafe_to_send) = self.arrange_ends(log, id, &self.door.actions_of(approval).await).await {
            return self.report(log, id, unsafe_to_send).await;
        }
        let record = TaskLogOf { log, call: id.clone() };
        let asked = log.with_state(|state| state.calls.get(id).and_then(|call| call.asked.clone()));
        let asked = asked.unwrap_or_default();
        let outcomes = match self.door.carry_out(approval, &asked, &record, &cancel.token).await {
            Ok(outcomes) => outcomes,
            Err(error) => {
                tracing::warn!(%approval, %error, "an approved plan is not carried out");
                self.not_carried_out(log, id, approval, error.may_have_sent()).await
            }
        };
        self.report(log, id, outcomes).await
    }

    /// What became of a plan that is not carried out now. What this call has sent before, and what another may have sent,
    /// is read from the devices: of neither may be said that nothing was sent.
    async fn not_carried_out(
        &self,
        log: &TaskLog,
        id: &CallId,
        approval: &str,
        may_have_sent: bool,
    ) -> Vec<OutcomeEntry> {
        let sent = log.with_state(|state| state.calls.get(id).map(|call| call.sent.clone()));
        let sent = sent.unwrap_or_default();
        let mut rest = self.door.actions_of(approval).await;
        rest.retain(|action| !sent.contains(action));
        let mut outcomes = self.door.verify(&sent).await;
        // Every leaf is told of, also one that was never begun.
        outcomes.extend(if may_have_sent {
            self.door.verify(&rest).await
        } else {
            not_sent(&rest, "invalidated")
        });
        outcomes
    }

    /// Before a send: what must not last by itself gets its end. `Err` holds the outcomes of not sending.
    async fn arrange_ends(
        &self,
        log: &TaskLog,
        id: &CallId,
        actions: &[Action],
    ) -> Result<(), Vec<OutcomeEntry>> {
        let Some(occasion) = self.occasion(log, id) else { return Ok(()) };
        self.household.arrange_ends(actions, &occasion).await.map_err(|error| {
            tracing::error!(task = %occasion.task, error, "an end cannot be stored; nothing is switched on");
            not_sent(actions, "no_end")
        })
    }

    /// The call as the household knows it.
    pub(super) fn occasion(&self, log: &TaskLog, id: &CallId) -> Option<Occasion> {
        let command = log.with_state(|state| state.command.clone())?;
        Some(Occasion {
            language: self.language_of(&command),
            task: command.task,
            call: id.clone(),
            principal: command.origin,
            conversation: command.conversation,
            area: command.area,
        })
    }

    /// Closes what the last run left half done; says whether the task can go on because it waits for a person.
    pub(super) async fn close_interrupted(&self, log: &TaskLog) -> Result<bool, JournalError> {
        let open: Vec<(CallId, Vec<Action>)> = log.with_state(|state: &TaskState| {
            let half_done = state.open_calls().filter(|(_, call)| call.phase == Phase::Open);
            half_done.map(|(id, call)| (id.clone(), call.sent.clone())).collect()
        });
        for (id, sent) in open {
            if sent.is_empty() {
                let why =
                    json!({"error": "interrupted", "message": "homeloop was stopped before this was done"});
                self.end(log, &id, why, true).await?;
            } else {
                let outcomes = self.door.verify(&sent).await;
                self.report(log, &id, outcomes).await?;
            }
        }
        Ok(log.with_state(|state| state.open_calls().next().is_some() && !state.turn_open))
    }

    async fn no_plan(&self, log: &TaskLog, id: &CallId, error: &PlanError) -> Result<(), JournalError> {
        self.end(log, id, json!({"error": "no_plan", "message": error.to_string()}), true).await
    }
}

/// A call, its approval, and how the question ended and through whom.
type Answered = (CallId, String, Result<(Verdict, Option<String>), StoreError>);

/// The ledger rows of actions that were not sent, all for the same cause.
fn not_sent(actions: &[Action], cause: &str) -> Vec<OutcomeEntry> {
    actions
        .iter()
        .map(|action| OutcomeEntry {
            action: action.clone(),
            outcome: Outcome::NotSent,
            cause: Some(cause.to_owned()),
            reported: None,
            details: Vec::new(),
        })
        .collect()
}

/// A principal without any right, for a task whose first event is missing.
fn nobody() -> crate::policy::Principal {
    crate::policy::Principal {
        name: "nobody".to_owned(),
        channel: crate::policy::Channel::Local,
        scopes: Vec::new(),
    }
}

/// Place of a call in its task, from its id `<turn>.<index>`.
fn step(id: &CallId) -> u32 {
    let (turn, index) = id.split_once('.').unwrap_or(("0", "0"));
    turn.parse::<u32>().unwrap_or(0).saturating_mul(1000).saturating_add(index.parse().unwrap_or(0))
}
