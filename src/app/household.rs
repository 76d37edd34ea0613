//! Timers, lists and schedules, as tools and channels see them: what was understood becomes rows of the journal and
//! times of the scheduler, and every answer is a sentence in the language of the command.
//!
//! A schedule holds actions that were understood when it was made. Policy decides about them now and again when they
//! are due; what a person must approve is asked both times.

use std::sync::Arc;

use chrono::{TimeDelta, Timelike, Weekday};
use chrono_tz::Tz;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use crate::actuate::{Door, Question};
use crate::clock::Clock;
use crate::home::{Action, Domain, SharedHouse, Verb};
use crate::http::service::CancelError;
use crate::http::views::ScheduleView;
use crate::journal::Journal;
use crate::model::Report;
use crate::nlu::{Intent, Lexicon, ListChange, ScheduleChoice, TimerChange, TimerFilter, Weekdays, When};
use crate::policy::{Asked, Decision, Principal, Verdict};
use crate::schedule::{self, Late, NewSchedule, NewTimer, Schedule, Scheduler, Timer};
use crate::tools::{Household, HouseholdRequest};

/// The list that is meant where none is named.
const SHOPPING: &str = "todo.shopping_list";

/// See the module.
pub struct Keeper {
    pub house: SharedHouse,
    pub door: Arc<Door>,
    pub journal: Journal,
    pub scheduler: Arc<Scheduler>,
    pub report: Report,
    pub clock: Clock,
    pub zone: Tz,
    /// Publishes an announcement, text and area; says whether it left.
    pub announce: Arc<dyn Fn(String, Option<String>) -> bool + Send + Sync>,
    /// Stops all tasks and movers; says how many tasks there were.
    pub stop_all: Arc<dyn Fn(String) -> BoxFuture<'static, usize> + Send + Sync>,
}

impl Household for Keeper {
    fn handle(&self, request: HouseholdRequest) -> BoxFuture<'_, Result<Value, String>> {
        async move {
            let lexicon = self.report.lexicon(&request.language);
            match &request.intent {
                Intent::Timer(change) => self.timer(change, &request, lexicon).await,
                Intent::List(change) => self.list(change, &request, lexicon).await,
                Intent::Schedule { when, intents } => self.schedule(when, intents, &request, lexicon).await,
                Intent::ScheduleQuery => self.schedules(lexicon, &request.language).await,
                Intent::ScheduleCancel(which) => self.cancel(which, &request, lexicon).await,
                Intent::Broadcast { message, area } => {
                    if (self.announce)(message.clone(), area.clone()) {
                        Ok(said(message.clone()))
                    } else {
                        Err(lexicon.say("not_announced", &[]))
                    }
                }
                Intent::StopAll => {
                    let tasks = (self.stop_all)(request.task.clone()).await;
                    Ok(json!({"said": lexicon.say("stopped_all", &[]), "tasks": tasks}))
                }
                Intent::Actions(_) | Intent::Scene(_) => {
                    Err("this is done by the tools of the devices".into())
                }
            }
        }
        .boxed()
    }
}

fn said(text: String) -> Value {
    json!({"said": text})
}

impl Keeper {
    async fn timer(
        &self,
        change: &TimerChange,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        match change {
            TimerChange::Start { seconds, label } => {
                let timer = NewTimer {
                    label: label.clone().unwrap_or_default(),
                    seconds: *seconds,
                    origin: json!({"principal": request.principal, "area": request.area, "language": request.language}),
                    conversation: request.conversation.clone().unwrap_or_default(),
                };
                let timer = self.scheduler.set_timer(timer).await.map_err(|error| error.to_string())?;
                let text = lexicon.say(
                    "timer_set",
                    &[("name", &timer_name(&timer, lexicon)), ("left", &duration(timer.seconds, lexicon))],
                );
                Ok(json!({"said": text, "timer": timer}))
            }
            TimerChange::Extend { timer, seconds } => {
                self.extend(timer, signed(*seconds), request, lexicon).await
            }
            TimerChange::Shorten { timer, seconds } => {
                self.extend(timer, -signed(*seconds), request, lexicon).await
            }
            TimerChange::Cancel(filter) => {
                let timer = self.one_timer(filter, request, lexicon).await?;
                self.scheduler.cancel_timer(&timer.id).await.map_err(|error| error.to_string())?;
                Ok(said(lexicon.say("timer_cancelled", &[("name", &timer_name(&timer, lexicon))])))
            }
            TimerChange::CancelAll { area } => {
                let filter = TimerFilter { area: area.clone(), ..TimerFilter::default() };
                let timers = self.timers(&filter, request).await?;
                for timer in &timers {
                    self.scheduler.cancel_timer(&timer.id).await.map_err(|error| error.to_string())?;
                }
                let count = timers.len().to_string();
                Ok(said(lexicon.say("timers_cancelled", &[("count", &count)])))
            }
            TimerChange::Query(filter) => {
                let timers = self.timers(filter, request).await?;
                if timers.is_empty() {
                    return Ok(said(lexicon.say("no_timer", &[])));
                }
                let lines = timers.iter().map(|timer| {
                    let left = u64::try_from(timer.left_millis / 1000).unwrap_or(0);
                    lexicon.say(
                        "timer_left",
                        &[("name", &timer_name(timer, lexicon)), ("left", &duration(left, lexicon))],
                    )
                });
                Ok(
                    json!({"said": self.report.join(&request.language, &lines.collect::<Vec<_>>()), "timers": timers}),
                )
            }
            TimerChange::Pause(_) | TimerChange::Resume(_) => Err(lexicon.say("timer_no_pause", &[])),
        }
    }

    async fn extend(
        &self,
        filter: &TimerFilter,
        seconds: i64,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let timer = self.one_timer(filter, request, lexicon).await?;
        let timer =
            self.scheduler.extend_timer(&timer.id, seconds).await.map_err(|error| error.to_string())?;
        let left = u64::try_from(timer.left_millis / 1000).unwrap_or(0);
        let name = timer_name(&timer, lexicon);
        Ok(said(lexicon.say("timer_left", &[("name", &name), ("left", &duration(left, lexicon))])))
    }

    async fn timers(&self, filter: &TimerFilter, request: &HouseholdRequest) -> Result<Vec<Timer>, String> {
        let _ = request;
        let all = self.scheduler.timers().await.map_err(|error| error.to_string())?;
        let fits = |timer: &Timer| {
            filter.label.as_ref().is_none_or(|label| timer.label.eq_ignore_ascii_case(label))
                && filter.length.is_none_or(|length| timer.seconds == length)
                && filter.area.as_ref().is_none_or(|area| timer.origin["area"].as_str() == Some(area))
        };
        Ok(all.into_iter().filter(fits).collect())
    }

    /// The timer that is meant; several that fit are a question.
    async fn one_timer(
        &self,
        filter: &TimerFilter,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Timer, String> {
        let mut fits = self.timers(filter, request).await?;
        match fits.len() {
            0 => Err(lexicon.say("no_timer", &[])),
            1 => fits.pop().ok_or_else(|| lexicon.say("no_timer", &[])),
            _ => {
                let names: Vec<String> = fits.iter().map(|timer| timer_name(timer, lexicon)).collect();
                Err(lexicon.say("which", &[("names", &names.join(lexicon.phrase("comma").unwrap_or(", ")))]))
            }
        }
    }

    async fn list(
        &self,
        change: &ListChange,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let text = |error: crate::journal::JournalError| error.to_string();
        let id = |list: &Option<crate::home::EntityId>| {
            list.as_ref().map_or_else(|| SHOPPING.to_owned(), std::string::ToString::to_string)
        };
        match change {
            ListChange::Add { list, item } => {
                self.journal.add_list_item(&id(list), item, &request.principal.name).await.map_err(text)?;
                Ok(said(lexicon.say("list_added", &[("item", item)])))
            }
            ListChange::Complete { list, item } => {
                let row = self.item(&id(list), item, lexicon).await?;
                self.journal.set_list_item_done(&row, true).await.map_err(text)?;
                Ok(said(lexicon.say("list_completed", &[("item", item)])))
            }
            ListChange::Remove { list, item } => {
                let row = self.item(&id(list), item, lexicon).await?;
                self.journal.remove_list_item(&row).await.map_err(text)?;
                Ok(said(lexicon.say("list_removed", &[("item", item)])))
            }
            ListChange::Read { list } => {
                let items = self.journal.list_items(&id(list), false).await.map_err(text)?;
                if items.is_empty() {
                    return Ok(said(lexicon.say("list_empty", &[])));
                }
                let names: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
                let names = names.join(lexicon.phrase("comma").unwrap_or(", "));
                Ok(json!({"said": lexicon.say("list_items", &[("items", &names)]), "items": items}))
            }
        }
    }

    async fn item(&self, list: &str, item: &str, lexicon: &Lexicon) -> Result<String, String> {
        let items = self.journal.list_items(list, false).await.map_err(|error| error.to_string())?;
        let wanted = item.to_lowercase();
        let found = items.into_iter().find(|row| row.text.to_lowercase() == wanted);
        found.map(|row| row.id).ok_or_else(|| lexicon.say("list_no_item", &[("item", item)]))
    }

    async fn schedule(
        &self,
        when: &When,
        intents: &[Intent],
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let gated = self.may_schedule(intents, request, lexicon).await?;
        let plan = NewSchedule {
            description: self.describe(intents, &request.language),
            when: self.when(when)?,
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
        let text = lexicon.say(
            "scheduled",
            &[("what", &schedule.plan.description), ("when", &self.next(&schedule, lexicon))],
        );
        let sentences: Vec<String> =
            [Some(text), self.skipped(when, lexicon)].into_iter().flatten().collect();
        Ok(json!({"said": self.report.join(&request.language, &sentences), "schedule": schedule.id}))
    }

    /// Decides about the steps now. What needs a person is asked now, and again when it is due.
    async fn may_schedule(
        &self,
        intents: &[Intent],
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<bool, String> {
        let actions = self.actions(intents);
        if actions.is_empty() {
            return Ok(false);
        }
        let plan = self.door.plan(&actions).map_err(|error| error.to_string())?;
        let conversation = request.conversation.as_deref();
        let asked =
            Asked { principal: &request.principal, conversation, taint: request.taint.as_deref(), sent: &[] };
        let decided = self.door.decide(&plan, &asked);
        match decided.decision() {
            Decision::Allow => Ok(false),
            Decision::Deny => Err(lexicon.say("schedule_refused", &[("why", &decided.reasons().join("; "))])),
            Decision::Ask => {
                let question = Question {
                    task: &request.task,
                    step: 0,
                    conversation,
                    principal: &request.principal,
                    device: request.area.as_deref(),
                    utterance: &self.describe(intents, &request.language),
                    taint: request.taint.as_deref(),
                };
                let approval =
                    self.door.ask(&plan, &decided, &question).await.map_err(|error| error.to_string())?;
                (request.interim)(self.report.waiting(
                    &request.language,
                    &plan.actions(),
                    &approval.match_code,
                    &self.house.read(),
                ));
                match self.door.await_answer(&approval.id).await {
                    Ok((Verdict::Approved, _)) => Ok(true),
                    Ok((Verdict::Denied, _)) => Err(lexicon.say("schedule_denied", &[])),
                    Ok((Verdict::Expired | Verdict::Cancelled | Verdict::Invalidated, _)) => {
                        Err(lexicon.say("schedule_expired", &[]))
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }

    fn actions(&self, intents: &[Intent]) -> Vec<Action> {
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
                | Intent::StopAll => {}
            }
        }
        actions
    }

    fn describe(&self, intents: &[Intent], language: &str) -> String {
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

    async fn active(&self) -> Result<Vec<Schedule>, String> {
        self.scheduler.list(Some(schedule::State::Active)).await.map_err(|error| error.to_string())
    }

    async fn schedules(&self, lexicon: &Lexicon, language: &str) -> Result<Value, String> {
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

    async fn cancel(
        &self,
        which: &ScheduleChoice,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let active = self.active().await?;
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
        for schedule in &chosen {
            if let Err(error) = self.cancel_schedule(&schedule.id, &request.principal).await {
                return Err(error.to_string());
            }
        }
        let what: Vec<&str> = chosen.iter().map(|schedule| schedule.plan.description.as_str()).collect();
        Ok(said(lexicon.say("schedule_cancelled", &[("what", &what.join("; "))])))
    }

    /// Cancels one. Removing one that secures the house lowers its safety, so that is for a person who may approve.
    pub async fn cancel_schedule(&self, id: &str, by: &Principal) -> Result<(), CancelError> {
        let schedule = self.scheduler.get(id).await.map_err(|_| CancelError::NotFound)?;
        let intents: Vec<Intent> = serde_json::from_value(schedule.plan.steps.clone()).unwrap_or_default();
        let secures = self.actions(&intents).iter().any(secures);
        if secures && !by.has(crate::policy::Scope::Approve) {
            let why = "it locks, arms or closes something; cancel it with a person's token".to_owned();
            return Err(CancelError::Forbidden(why));
        }
        match self.scheduler.cancel(id).await {
            Ok(_) => Ok(()),
            Err(schedule::ScheduleError::Unknown { .. }) => Err(CancelError::NotFound),
            Err(error) => Err(CancelError::Forbidden(error.to_string())),
        }
    }

    /// What is scheduled, for clients.
    pub async fn schedule_views(&self) -> Result<Vec<ScheduleView>, String> {
        let active = self.active().await?;
        Ok(active
            .into_iter()
            .map(|schedule| ScheduleView {
                schedule_id: schedule.id,
                name: schedule.plan.description.clone(),
                when: schedule.plan.when.to_string(),
                what: schedule.plan.description,
                enabled: true,
                created_by: schedule.plan.created_by["principal"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                next_at: schedule.next_fire,
            })
            .collect())
    }
}

/// "Which one: …?", of several schedules.
fn which_schedule<'s>(several: impl Iterator<Item = &'s Schedule>, lexicon: &Lexicon) -> String {
    let names: Vec<&str> = several.map(|schedule| schedule.plan.description.as_str()).collect();
    lexicon.say("which", &[("names", &names.join("; "))])
}

fn signed(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn timer_name(timer: &Timer, lexicon: &Lexicon) -> String {
    if timer.label.is_empty() {
        return lexicon.say("timer_of", &[("length", &duration(timer.seconds, lexicon))]);
    }
    lexicon.say("timer_named", &[("label", &timer.label)])
}

/// "1 hour 5 minutes", in the language: the two largest units.
fn duration(seconds: u64, lexicon: &Lexicon) -> String {
    let parts = [("hours", seconds / 3600), ("minutes", seconds % 3600 / 60), ("seconds", seconds % 60)];
    let mut words: Vec<String> = parts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(unit, count)| {
            let one = format!("unit.{unit}_one");
            let key =
                if *count == 1 && lexicon.phrase(&one).is_some() { one } else { format!("unit.{unit}") };
            lexicon.say(&key, &[("count", &count.to_string())])
        })
        .take(2)
        .collect();
    if words.is_empty() {
        words.push(lexicon.say("unit.seconds", &[("count", "0")]));
    }
    words.join(lexicon.phrase("between_units").unwrap_or(" "))
}

/// Whether an action makes the house safer, so that dropping it makes it less safe.
fn secures(action: &Action) -> bool {
    match action.verb {
        Verb::Lock
        | Verb::ArmHome
        | Verb::ArmAway
        | Verb::ArmNight
        | Verb::ArmVacation
        | Verb::ArmCustomBypass => true,
        Verb::Close => matches!(action.entity.domain(), Domain::Cover | Domain::Valve),
        _ => false,
    }
}
