//! Schedules by sentence and for clients: made, listed, cancelled.
//!
//! A schedule holds actions that were understood when it was made. Whether it may be kept or dropped is `leave`.

mod leave;

use chrono::{TimeDelta, Timelike, Weekday};
use serde_json::{Value, json};

use super::ends::ends_of;
use super::{Keeper, said};
use crate::home::Action;
use crate::http::service::CancelError;
use crate::http::views::{OccurrenceView, ScheduleView};
use crate::nlu::{Intent, Lexicon, ScheduleChoice, Weekdays, When};
use crate::policy::{Principal, Scope};
use crate::schedule::{self, Late, NewSchedule, Schedule};
use crate::tools::HouseholdRequest;

impl Keeper {
    pub(super) async fn schedule(
        &self,
        when: &When,
        intents: &[Intent],
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let when_due = self.when(when)?;
        let gated = self.may_schedule(intents, &when_due, request, lexicon).await?;
        let plan = NewSchedule {
            description: self.describe(intents, &request.language),
            when: when_due,
            zone: None,
            steps: serde_json::to_value(intents).map_err(|error| error.to_string())?,
            end: None,
            gated,
            late: Late::Skip,
            created_by: json!({"principal": request.principal, "area": request.area, "language": request.language}),
            conversation: request.conversation.clone().unwrap_or_default(),
            end_of: None,
        };
        let schedule = self
            .scheduler
            .create(plan)
            .await
            .map_err(|error| lexicon.say("schedule_refused", &[("why", &error.to_string())]))?;
        self.supersede_ends(&schedule).await;
        let text = lexicon.say(
            "scheduled",
            &[("what", &schedule.plan.description), ("when", &self.next(&schedule, lexicon))],
        );
        let sentences: Vec<String> =
            [Some(text), self.skipped(when, lexicon)].into_iter().flatten().collect();
        Ok(json!({"said": self.report.join(&request.language, &sentences), "schedule": schedule.id}))
    }

    pub(in crate::app) fn actions(&self, intents: &[Intent]) -> Vec<Action> {
        let house = self.house.read();
        let mut actions = Vec::new();
        for intent in intents {
            match intent {
                Intent::Actions(more) => actions.extend(more.iter().cloned()),
                Intent::Scene(scene) => {
                    let steps =
                        house.scenes.get(scene).map(|scene| scene.steps.iter().map(|step| step.0.clone()));
                    actions.extend(steps.into_iter().flatten());
                }
                Intent::Schedule { .. }
                | Intent::ScheduleQuery
                | Intent::ScheduleCancel { .. }
                | Intent::Timer(_)
                | Intent::List(_)
                | Intent::Broadcast { .. }
                | Intent::History(_)
                | Intent::StopAll => {}
            }
        }
        actions
    }

    pub(super) fn describe(&self, intents: &[Intent], language: &str) -> String {
        let actions = self.actions(intents);
        let house = self.house.read();
        if actions.is_empty() {
            let words: Vec<&str> = intents
                .iter()
                .filter_map(|intent| match intent {
                    Intent::Broadcast { message, .. } => Some(message.as_str()),
                    _ => None,
                })
                .collect();
            return words.join("; ");
        }
        self.report.intention(language, &actions, &house)
    }

    fn when(&self, when: &When) -> Result<schedule::When, String> {
        match when {
            When::After { seconds } => Ok(schedule::When::After { seconds: *seconds }),
            When::At { local } => {
                let now = self.clock.now();
                let at = schedule::local::instant(*local, self.zone).at;
                let at = if at <= now && now - at < TimeDelta::minutes(1) {
                    now + TimeDelta::seconds(1)
                } else {
                    at
                };
                Ok(schedule::When::Once { at })
            }
            When::Every { at, days } if *days == Weekdays::ALL => Ok(schedule::When::Daily { time: *at }),
            When::Every { at, days } => {
                let week = [
                    Weekday::Mon,
                    Weekday::Tue,
                    Weekday::Wed,
                    Weekday::Thu,
                    Weekday::Fri,
                    Weekday::Sat,
                    Weekday::Sun,
                ];
                let days = week.into_iter().zip(days.0).filter(|(_, on)| *on).map(|(day, _)| day).collect();
                Ok(schedule::When::Weekly { days, time: *at })
            }
        }
    }

    /// That the clocks skip the time that was asked for, where they do.
    fn skipped(&self, when: &When, lexicon: &Lexicon) -> Option<String> {
        let When::At { local } = when else { return None };
        let skipped = |note: &schedule::local::Note| matches!(note, schedule::local::Note::Skipped { .. });
        let notes = schedule::local::instant(*local, self.zone).notes;
        let clock = local.format("%H:%M").to_string();
        notes.iter().any(skipped).then(|| lexicon.say("time_skipped", &[("clock", &clock)]))
    }

    /// When it fires next, for people: the clock time, with the day where it is not today.
    fn next(&self, schedule: &Schedule, lexicon: &Lexicon) -> String {
        let Some(next) = schedule.next_fire else { return String::new() };
        let (next, now) = (next.with_timezone(&self.zone), self.clock.now().with_timezone(&self.zone));
        let clock = format!("{:02}:{:02}", next.hour(), next.minute());
        let days = (next.date_naive() - now.date_naive()).num_days();
        match days {
            0 => lexicon.say("at_today", &[("clock", &clock)]),
            1 => lexicon.say("at_tomorrow", &[("clock", &clock)]),
            _ => lexicon.say("at_day", &[("clock", &clock), ("date", &next.format("%Y-%m-%d").to_string())]),
        }
    }

    pub(super) async fn active(&self) -> Result<Vec<Schedule>, String> {
        self.scheduler.list(Some(schedule::State::Active)).await.map_err(|error| error.to_string())
    }

    pub(super) async fn schedules(&self, lexicon: &Lexicon, language: &str) -> Result<Value, String> {
        let active = self.active().await?;
        if active.is_empty() {
            return Ok(said(lexicon.say("nothing_scheduled", &[])));
        }
        let lines: Vec<String> = active
            .iter()
            .map(|schedule| {
                lexicon.say(
                    "schedule_line",
                    &[("what", &schedule.plan.description), ("when", &self.next(schedule, lexicon))],
                )
            })
            .collect();
        let ids: Vec<&str> = active.iter().map(|schedule| schedule.id.as_str()).collect();
        Ok(json!({"said": self.report.join(language, &lines), "schedules": ids}))
    }

    pub(super) async fn cancel(
        &self,
        which: &ScheduleChoice,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        // The end of what must not stay on is no wish of a person's: it goes with the thing itself.
        let mut active = self.active().await?;
        active.retain(|schedule| ends_of(schedule).is_none());
        let mine = |schedule: &&Schedule| {
            request
                .conversation
                .as_deref()
                .is_some_and(|conversation| schedule.plan.conversation == conversation)
        };
        let last = active.iter().rfind(mine);
        let chosen: Vec<&Schedule> = match (which, active.as_slice()) {
            (_, []) => Vec::new(),
            (ScheduleChoice::All, all) => all.iter().collect(),
            (ScheduleChoice::Last, _) => last.into_iter().collect(),
            (ScheduleChoice::Any, [only]) => vec![only],
            (ScheduleChoice::Any, several) => match last {
                Some(last) => vec![last],
                None => return Err(which_schedule(several.iter(), lexicon)),
            },
            (ScheduleChoice::Of(entities), _) => {
                let acts = |schedule: &&Schedule| {
                    let intents: Vec<Intent> =
                        serde_json::from_value(schedule.plan.steps.clone()).unwrap_or_default();
                    self.actions(&intents).iter().any(|action| entities.contains(&action.entity))
                };
                let of: Vec<&Schedule> = active.iter().filter(acts).collect();
                if of.len() > 1 && entities.len() == 1 {
                    return Err(which_schedule(of.into_iter(), lexicon));
                }
                of
            }
        };
        if chosen.is_empty() {
            return Err(lexicon.say("nothing_scheduled", &[]));
        }
        self.may_drop(&chosen, request, lexicon).await?;
        for schedule in &chosen {
            self.scheduler.cancel(&schedule.id).await.map_err(|error| error.to_string())?;
        }
        let what: Vec<&str> = chosen.iter().map(|schedule| schedule.plan.description.as_str()).collect();
        Ok(said(lexicon.say("schedule_cancelled", &[("what", &what.join("; "))])))
    }

    /// Cancels one for a client. Removing one that secures the house lowers its safety, so that is for a person who may
    /// approve; who presses the button there decides with it.
    pub async fn cancel_schedule(&self, id: &str, by: &Principal) -> Result<(), CancelError> {
        let schedule = self.scheduler.get(id).await.map_err(|_| CancelError::NotFound)?;
        if ends_of(&schedule).is_some() {
            let why = "it ends what must not stay on by itself; switch that off instead".to_owned();
            return Err(CancelError::Forbidden(why));
        }
        if self.securing(&schedule).next().is_some() && !by.has(Scope::Approve) {
            let why = "it locks, arms or closes something; cancel it with a person's token".to_owned();
            return Err(CancelError::Forbidden(why));
        }
        match self.scheduler.cancel(id).await {
            Ok(_) => Ok(()),
            Err(schedule::ScheduleError::Unknown { .. }) => Err(CancelError::NotFound),
            Err(error) => Err(CancelError::Forbidden(error.to_string())),
        }
    }

    /// Takes back a cancellation. What needs a person is asked again when it is due, so this asks nobody.
    pub async fn restore_schedule(&self, id: &str) -> Result<(), CancelError> {
        match self.scheduler.restore(id).await {
            Ok(_) => Ok(()),
            Err(schedule::ScheduleError::Unknown { .. }) => Err(CancelError::NotFound),
            Err(error) => Err(CancelError::Forbidden(error.to_string())),
        }
    }

    /// A schedule with its next firings, for clients.
    fn view(&self, schedule: Schedule) -> ScheduleView {
        let next = match self.scheduler.explain(schedule.clone()) {
            Ok(explanation) => explanation.next.iter().map(occurrence).collect(),
            Err(error) => {
                tracing::warn!(schedule = %schedule.id, %error, "the next times of a schedule cannot be told");
                Vec::new()
            }
        };
        ScheduleView {
            schedule_id: schedule.id,
            name: schedule.plan.description.clone(),
            when: schedule.plan.when.to_string(),
            what: schedule.plan.description,
            enabled: true,
            created_by: schedule.plan.created_by["principal"]["name"].as_str().unwrap_or_default().to_owned(),
            next_at: schedule.next_fire,
            next,
            gated: schedule.plan.gated,
        }
    }

    /// What is scheduled, for clients.
    pub async fn schedule_views(&self) -> Result<Vec<ScheduleView>, String> {
        let active = self.active().await?;
        Ok(active.into_iter().map(|schedule| self.view(schedule)).collect())
    }
}

fn occurrence(occurrence: &schedule::Occurrence) -> OccurrenceView {
    let word = |note: &schedule::local::Note| match note {
        schedule::local::Note::Tomorrow { .. } => "tomorrow",
        schedule::local::Note::Skipped { .. } => "skipped_time",
        schedule::local::Note::Twice { .. } => "repeated_time",
    };
    OccurrenceView {
        local: occurrence.local.clone(),
        notes: occurrence.notes.iter().map(|note| word(note).to_owned()).collect(),
    }
}

/// "Which one: …?", of several schedules.
fn which_schedule<'s>(several: impl Iterator<Item = &'s Schedule>, lexicon: &Lexicon) -> String {
    let names: Vec<&str> = several.map(|schedule| schedule.plan.description.as_str()).collect();
    lexicon.say("which", &[("names", &names.join("; "))])
}
