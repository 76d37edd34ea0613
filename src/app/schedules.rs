//! What is due: a firing becomes a task of its own, with what was understood when the schedule was made.

use std::sync::Weak;
use std::time::Duration;

use serde::Deserialize;

use super::App;
use crate::agent::{Command, SubmitError};
use crate::model::Planned;
use crate::nlu::Intent;
use crate::policy::{Asked, Channel, Decision, Principal, Scope};
use crate::schedule::{FireEvent, Schedule, Timer};
use crate::voice::hermes;

/// How often, and after which pause, what is due is tried again while the queue is full.
const BUSY_TRIES: u32 = 60;
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// Who made a schedule or a timer, as it is stored with it.
#[derive(Debug, Deserialize)]
struct Origin {
    #[serde(default)]
    area: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    principal: Option<Principal>,
}

/// Takes what the scheduler hands over.
pub async fn fire(app: Weak<App>, event: FireEvent) {
    let Some(app) = app.upgrade() else { return };
    app.metrics.due(&event);
    match event {
        FireEvent::Due(firing) => app.due(firing.schedule).await,
        FireEvent::Skipped { schedule, late, .. } => {
            let minutes = (late.as_secs() / 60).to_string();
            app.tell_of(&schedule, "schedule_missed", &[("minutes", &minutes)]).await;
        }
        FireEvent::Interrupted { schedule, .. } => app.tell_of(&schedule, "schedule_interrupted", &[]).await,
        FireEvent::Rings { timer, .. } => app.ring(timer, false).await,
        FireEvent::MissedRing { timer, .. } => app.ring(timer, true).await,
    }
}

impl App {
    async fn due(&self, schedule: Schedule) {
        let intents: Vec<Intent> = match serde_json::from_value(schedule.plan.steps.clone()) {
            Ok(intents) => intents,
            Err(error) => {
                tracing::error!(schedule = %schedule.id, %error, "the steps of a schedule cannot be read; nothing is done");
                return;
            }
        };
        if let Some(creator) = origin(&schedule.plan.created_by).principal
            && self.may_not(&creator, &schedule, &intents)
        {
            return self.tell_of(&schedule, "schedule_forbidden", &[]).await;
        }
        self.start_schedule(&schedule, intents).await;
    }

    /// Whether the rules forbid the steps now to the one who made the schedule. What nobody could order at this hour
    /// is not had by ordering it before.
    fn may_not(&self, creator: &Principal, schedule: &Schedule, intents: &[Intent]) -> bool {
        let actions = self.household.actions(intents);
        // What cannot be planned is told by the task itself.
        let Ok(plan) = self.door.plan(&actions) else { return false };
        let conversation = Some(schedule.plan.conversation.as_str()).filter(|id| !id.is_empty());
        let asked = Asked { principal: creator, conversation, taint: None, sent: &[] };
        self.door.decide(&plan, &asked).decision() == Decision::Deny
    }

    /// Tells the one who made a schedule what became of it.
    async fn tell_of(&self, schedule: &Schedule, key: &str, values: &[(&str, &str)]) {
        let origin = origin(&schedule.plan.created_by);
        let language = origin.language.as_deref().unwrap_or(&self.settings.home.language);
        let mut all = vec![("what", schedule.plan.description.as_str())];
        all.extend_from_slice(values);
        let message = self.household.report.lexicon(language).say(key, &all);
        self.start_schedule(schedule, vec![Intent::Broadcast { message, area: origin.area }]).await;
    }

    async fn start_schedule(&self, schedule: &Schedule, intents: Vec<Intent>) {
        let origin = origin(&schedule.plan.created_by);
        let text = schedule.plan.description.clone();
        let conversation = Some(schedule.plan.conversation.clone()).filter(|id| !id.is_empty());
        self.run_plan(format!("schedule:{}", schedule.id), text, conversation, origin, intents).await;
    }

    /// A timer that rings, or that was due while nobody could ring it.
    async fn ring(&self, timer: Timer, missed: bool) {
        let origin = origin(&timer.origin);
        let language = origin.language.clone().unwrap_or_else(|| self.settings.home.language.clone());
        let lexicon = self.household.report.lexicon(&language);
        let key = match (missed, timer.label.is_empty()) {
            (false, true) => "timer_rings",
            (false, false) => "timer_rings_named",
            (true, true) => "timer_missed",
            (true, false) => "timer_missed_named",
        };
        let message = lexicon.say(key, &[("label", &timer.label)]);
        let conversation = Some(timer.conversation.clone()).filter(|id| !id.is_empty());
        let intents = vec![Intent::Broadcast { message: message.clone(), area: origin.area.clone() }];
        self.ring_at(&origin, conversation.as_deref(), &message, &language).await;
        self.run_plan(format!("timer:{}", timer.id), message, conversation, origin, intents).await;
    }

    /// Says a ring at the voice site that the timer was set at; a conversation hears it as the answer of its task.
    async fn ring_at(&self, origin: &Origin, conversation: Option<&str>, message: &str, language: &str) {
        let site = origin.principal.as_ref().and_then(|principal| principal.name.strip_prefix("voice:"));
        match (site, conversation) {
            (Some(site), Some(conversation)) if conversation.starts_with("hermes:") => {
                self.publish_hermes(hermes::say(site, message, Some(language)));
            }
            (Some(site), Some(conversation)) if conversation.starts_with("voice:") => {
                self.say_at_site(site, message, language).await;
            }
            (Some(_) | None, _) => {}
        }
    }

    async fn run_plan(
        &self,
        name: String,
        text: String,
        conversation: Option<String>,
        origin: Origin,
        intents: Vec<Intent>,
    ) {
        let command = Command {
            task: self.clock.new_id(),
            id: None,
            text,
            origin: Principal { name, channel: Channel::Schedule, scopes: vec![Scope::Read, Scope::Command] },
            area: origin.area,
            language: origin.language,
            conversation,
            user_hint: None,
            at: self.clock.now(),
            plan: Some(Planned::Intents(intents)),
        };
        self.replies.want_in(&command.task, command.conversation.as_deref());
        for _ in 0..BUSY_TRIES {
            match self.queue.submit(command.clone()).await {
                // Until the task is in the journal a crash would lose it: the firing stays open so long.
                Ok(submitted) => return submitted.accepted().await,
                Err(SubmitError::Busy { .. } | SubmitError::TooFast { .. }) => {
                    tokio::time::sleep(BUSY_PAUSE).await
                }
                Err(error @ (SubmitError::Stopping | SubmitError::Paused | SubmitError::Journal(_))) => {
                    tracing::error!(%error, text = command.text, "what was due could not be started");
                    return;
                }
            }
        }
        tracing::error!(text = command.text, "what was due could not be started: the queue stayed full");
        self.announce(&command.text, command.area.as_deref());
    }
}

fn origin(stored: &serde_json::Value) -> Origin {
    Origin::deserialize(stored).unwrap_or(Origin { area: None, language: None, principal: None })
}
