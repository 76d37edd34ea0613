//! Whether a schedule may be kept, or dropped: policy decides now and again when it is due, and a person is asked where
//! it says so. Leave that is given here is used up here; nothing is sent.

use std::sync::Arc;

use super::super::Keeper;
use crate::actuate::{Door, Occasion, Plan, Question};
use crate::home::Action;
use crate::nlu::{Intent, Lexicon};
use crate::policy::tier::secures;
use crate::policy::{Asked, Decided, Decision, Verdict};
use crate::schedule::{self, Schedule};
use crate::tools::HouseholdRequest;

impl Keeper {
    /// Decides about the steps now. What needs a person is asked now, and again when it is due.
    pub(super) async fn may_schedule(
        &self,
        intents: &[Intent],
        when: &schedule::When,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<bool, String> {
        let actions = self.actions(intents);
        if actions.is_empty() {
            return Ok(false);
        }
        let occasion = Occasion::Scheduled { when: when.to_string() };
        let plan = self.door.plan(&actions).map_err(|error| error.to_string())?.on(Some(occasion));
        let decided = self.door.decide(&plan, &asked(request));
        match decided.decision() {
            Decision::Allow => Ok(false),
            Decision::Deny => Err(lexicon.say("schedule_refused", &[("why", &decided.reasons().join("; "))])),
            Decision::Ask => match self.ask_about(&plan, &decided, request).await? {
                Verdict::Approved => Ok(true),
                Verdict::Denied => Err(lexicon.say("schedule_denied", &[])),
                Verdict::Expired | Verdict::Cancelled | Verdict::Invalidated => {
                    Err(lexicon.say("schedule_expired", &[]))
                }
            },
        }
    }

    /// Asks a person whether a schedule may be kept or dropped, and uses the leave up.
    async fn ask_about(
        &self,
        plan: &Plan,
        decided: &Decided,
        request: &HouseholdRequest,
    ) -> Result<Verdict, String> {
        let question = Question {
            task: &request.task,
            step: 0,
            conversation: request.conversation.as_deref(),
            principal: &request.principal,
            device: request.area.as_deref(),
            utterance: &request.utterance,
            taint: request.taint.as_deref(),
        };
        let approval = self.door.ask(plan, decided, &question).await.map_err(|error| error.to_string())?;
        (request.interim)(self.report.waiting(
            &request.language,
            &plan.actions(),
            &approval.match_code,
            &self.house.read(),
        ));
        let mut asking = Asking { door: self.door.clone(), approval: Some(approval.id.clone()) };
        let answer = self.door.await_answer(&approval.id).await;
        asking.approval = None;
        let (verdict, _) = answer.map_err(|error| error.to_string())?;
        if verdict == Verdict::Approved {
            self.door.use_up(&approval.id).await.map_err(|error| error.to_string())?;
        }
        Ok(verdict)
    }

    /// Asks a person before a command drops what locks, arms or closes, whoever gave the command: a sentence may have
    /// been put into a model's mouth. What no longer can be done, since its things are gone, is dropped unasked.
    pub(super) async fn may_drop(
        &self,
        chosen: &[&Schedule],
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<(), String> {
        let securing: Vec<&Schedule> =
            chosen.iter().copied().filter(|schedule| self.securing(schedule).next().is_some()).collect();
        let actions: Vec<Action> = securing.iter().flat_map(|schedule| self.securing(schedule)).collect();
        let Ok(plan) = self.door.plan(&actions) else { return Ok(()) };
        let times: Vec<String> = securing
            .iter()
            .map(|schedule| format!("{} ({})", schedule.plan.description, schedule.plan.when))
            .collect();
        let plan = plan.on(Some(Occasion::Dropped { when: times.join("; ") }));
        let decided = self.door.decide(&plan, &asked(request));
        match self.ask_about(&plan, &decided, request).await? {
            Verdict::Approved => Ok(()),
            Verdict::Denied => Err(lexicon.say("drop_denied", &[])),
            Verdict::Expired | Verdict::Cancelled | Verdict::Invalidated => {
                Err(lexicon.say("drop_expired", &[]))
            }
        }
    }

    /// What a schedule would do that makes the house safer.
    pub(super) fn securing(&self, schedule: &Schedule) -> impl Iterator<Item = Action> {
        let intents: Vec<Intent> = serde_json::from_value(schedule.plan.steps.clone()).unwrap_or_default();
        self.actions(&intents).into_iter().filter(secures)
    }
}

fn asked(request: &HouseholdRequest) -> Asked<'_> {
    Asked {
        principal: &request.principal,
        conversation: request.conversation.as_deref(),
        taint: request.taint.as_deref(),
        sent: &[],
    }
}

/// A question about a schedule that somebody waits for. When the task is stopped meanwhile, the question goes too.
struct Asking {
    door: Arc<Door>,
    approval: Option<String>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Some(approval) = self.approval.take() else { return };
        let door = self.door.clone();
        tokio::spawn(async move {
            if let Err(error) = door.cancel_approval(&approval).await {
                tracing::warn!(approval, %error, "a question that nobody waits for stays until it expires");
            }
        });
    }
}
