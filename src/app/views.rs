//! From what the daemon knows to what HTTP clients see.

use chrono::{DateTime, Utc};

use crate::actuate::{AnswerError as DoorError, Plan, Shown};
use crate::agent::{Balance, Event, Exit};
use crate::clock::Clock;
use crate::home::House;
use crate::http::service::{AnswerError, Unavailable};
use crate::http::views::{
    ApprovalView, BudgetView, ModelView, ModelsView, OutcomeView, TargetView, TaskEvent, TaskProgress,
    TaskView,
};
use crate::model::Usage;
use crate::model::breaker::BreakerState;
use crate::model::router::ModelState;
use crate::model::settings::Mode;
use crate::policy::{Approval, Channel, Moment};
use crate::tools::clean;

/// A task from its events; `None` where there are none.
pub fn task(id: &str, events: Vec<TaskEvent>) -> Option<TaskView> {
    let first = events.first()?;
    let Event::Accepted { command } = &first.event else { return None };
    let mut view = TaskView {
        task_id: id.to_owned(),
        state: TaskProgress::Running,
        text: command.text.clone(),
        channel: command.origin.channel,
        requested_by: command.origin.name.clone(),
        conversation: command.conversation.clone(),
        started_at: first.at,
        finished_at: None,
        exit: None,
        reply: None,
        interim: None,
        outcomes: Vec::new(),
        waiting_for: Vec::new(),
        usage: Usage::default(),
        events: Vec::new(),
    };
    for event in &events {
        take(&mut view, event);
    }
    if !view.waiting_for.is_empty() && view.finished_at.is_none() {
        view.state = TaskProgress::Waiting;
    }
    view.events = events;
    Some(view)
}

fn take(view: &mut TaskView, event: &TaskEvent) {
    match &event.event {
        Event::Interim { text } => view.interim = Some(text.clone()),
        Event::ApprovalAsked { approval, .. } => view.waiting_for.push(approval.clone()),
        Event::ApprovalEnded { approval, .. } => view.waiting_for.retain(|waiting| waiting != approval),
        Event::Outcome { entry, .. } => view.outcomes.push(OutcomeView::from(entry)),
        Event::ModelSaid { usage, .. } | Event::ModelFailed { usage, .. } => view.usage += *usage,
        Event::Finished { exit, reply, ledger, usage } => {
            view.state = TaskProgress::Finished;
            view.finished_at = Some(event.at);
            view.exit = Some(*exit);
            view.reply = Some(reply.clone());
            view.outcomes = ledger.iter().map(OutcomeView::from).collect();
            view.usage = *usage;
        }
        Event::Accepted { .. }
        | Event::TurnStarted { .. }
        | Event::Called { .. }
        | Event::Decided { .. }
        | Event::Sending { .. }
        | Event::CallResult { .. } => {}
    }
}

/// The language models with the states of their breakers, and the money.
pub fn models(mode: Mode, states: &[ModelState], balance: Balance) -> ModelsView {
    let chain = states.iter().map(|model| {
        let (failures_in_a_row, paused_ms) = match model.breaker {
            BreakerState::Closed { failures_in_a_row } => (failures_in_a_row, 0),
            BreakerState::Open { milliseconds_left } => (0, milliseconds_left),
            BreakerState::HalfOpen => (0, 0),
        };
        let state = model.breaker.word().to_owned();
        ModelView { name: model.name.clone(), state, failures_in_a_row, paused_ms }
    });
    let is_spent = balance.reached().is_some();
    let Balance { day_spent, day_limit, month_spent, month_limit } = balance;
    ModelsView {
        mode: mode.word().to_owned(),
        chain: chain.collect(),
        budget: BudgetView { day_spent, day_limit, month_spent, month_limit, is_spent },
    }
}

/// What a person must see before deciding, as the door renders it from the frozen plan.
pub fn approval(approval: &Approval, language: &str, house: &House, clock: &Clock) -> ApprovalView {
    let now = Moment::of(clock);
    let plan = Plan::restore(
        &approval.plan_json,
        &approval.policy_version,
        &approval.device_hash,
        &approval.plan_hash,
    );
    // A plan that is not what was hashed shows no target: there is nothing that a person could approve.
    let shown = Shown::of(approval, language, &now);
    let (text, warnings) =
        shown.as_ref().map(|shown| (shown.text.clone(), shown.warnings.clone())).unwrap_or_default();
    let leaves = plan.as_ref().map(Plan::leaves).unwrap_or_default();
    let rows = shown.iter().flat_map(|shown| &shown.targets).zip(leaves);
    let targets = rows.map(|(target, leaf)| {
        let action = &leaf.action;
        let state = house.state(action.entity.as_str());
        let args = action
            .args
            .iter()
            .map(|(name, value)| (name.word().to_owned(), serde_json::to_value(value).unwrap_or_default()));
        TargetView {
            entity: target.entity.clone(),
            name: target.name.clone(),
            device: target.device.clone(),
            verb: action.verb.word().to_owned(),
            args: args.collect(),
            now: state.and_then(|state| state.text()).map(|text| clean(text, 64)),
            age_s: state
                .and_then(|state| state.reported)
                .map(|stamp| clock.since_boot().saturating_sub(stamp.since_boot).as_secs()),
        }
    });
    ApprovalView {
        approval_id: approval.id.clone(),
        task_id: approval.task.clone(),
        plan_hash: approval.plan_hash.clone(),
        match_code: approval.match_code.clone(),
        tier: approval.tier.word().to_owned(),
        reasons: approval.reasons.iter().map(|reason| clean(reason, 300)).collect(),
        warnings,
        text,
        targets: targets.collect(),
        utterance: clean(&approval.utterance, 500),
        requested_by: approval.requester.principal.clone(),
        channel: approval.requester.channel,
        created_at: approval.created.wall,
        expires_at: approval.expires_at,
        expires_in_ms: u64::try_from((approval.expires_at - now.wall).num_milliseconds()).unwrap_or(0),
    }
}

/// The door's refusal of an answer, as HTTP names it.
pub fn answer_error(error: DoorError) -> AnswerError {
    match error {
        DoorError::Forbidden => AnswerError::Forbidden,
        DoorError::Locked(seconds) => AnswerError::Locked(seconds),
        DoorError::Dated => AnswerError::Stale,
        DoorError::NotFound => AnswerError::NotFound,
        DoorError::WrongHash => AnswerError::WrongHash,
        DoorError::AlreadyDecided(verdict) => AnswerError::AlreadyDecided(verdict),
        DoorError::Expired => AnswerError::Expired,
        DoorError::Invalidated => AnswerError::Invalidated,
        DoorError::Store(error) => Unavailable(error.to_string()).into(),
    }
}

/// The view of a task whose record cannot be read.
pub fn lost(id: &str, now: DateTime<Utc>) -> TaskView {
    TaskView {
        task_id: id.to_owned(),
        state: TaskProgress::Finished,
        text: String::new(),
        channel: Channel::Local,
        requested_by: String::new(),
        conversation: None,
        started_at: now,
        finished_at: Some(now),
        exit: Some(Exit::Internal),
        reply: Some("the record of this task cannot be read; look at the log".into()),
        interim: None,
        outcomes: Vec::new(),
        waiting_for: Vec::new(),
        usage: Usage::default(),
        events: Vec::new(),
    }
}
