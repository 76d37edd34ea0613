//! Timers, lists and schedules, as tools and channels see them: what was understood becomes rows of the journal and
//! times of the scheduler, and every answer is a sentence in the language of the command.
//!
//! Here is the counter; what is behind it is in the files beside this one.

mod ends;
mod lists;
mod schedules;
mod timers;

use std::sync::Arc;

use chrono_tz::Tz;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use crate::actuate::{Door, OutcomeEntry};
use crate::clock::Clock;
use crate::home::{Action, SharedHouse};
use crate::journal::{Health, Journal};
use crate::model::Report;
use crate::nlu::{Intent, Lexicon, ListChange, TimerChange};
use crate::policy::Channel;
use crate::schedule::Scheduler;
use crate::settings::Ends;
use crate::tools::{Household, HouseholdRequest, Occasion};

/// See the module.
pub struct Keeper {
    pub house: SharedHouse,
    pub door: Arc<Door>,
    pub journal: Journal,
    pub scheduler: Arc<Scheduler>,
    pub report: Report,
    pub clock: Clock,
    pub zone: Tz,
    /// After how long what must not last ends by itself.
    pub ends: Ends,
    /// Publishes an announcement, text and area; says whether it left.
    pub announce: Arc<dyn Fn(String, Option<String>) -> bool + Send + Sync>,
    /// Stops all tasks and movers; says how many tasks there were.
    pub stop_all: Arc<dyn Fn(String) -> BoxFuture<'static, usize> + Send + Sync>,
}

impl Household for Keeper {
    fn handle(&self, request: HouseholdRequest) -> BoxFuture<'_, Result<Value, String>> {
        async move {
            let lexicon = self.report.lexicon(&request.language);
            if let Health::SafeMode(_) = self.journal.health()
                && keeps(&request.intent)
            {
                return Err(lexicon.say("cause.not_recorded", &[]));
            }
            match &request.intent {
                Intent::Timer(change) => self.timer(change, &request, lexicon).await,
                Intent::List(change) => self.list(change, &request, lexicon).await,
                Intent::Schedule { when, intents } => self.schedule(when, intents, &request, lexicon).await,
                Intent::ScheduleQuery => self.schedules(lexicon, &request.language).await,
                Intent::ScheduleCancel(which) => self.cancel(which, &request, lexicon).await,
                // What is due was asked for before; it is said however much else is.
                Intent::Broadcast { .. }
                    if request.principal.channel != Channel::Schedule && !self.door.may_notify() =>
                {
                    Err(lexicon.say("announced_too_often", &[]))
                }
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
                Intent::History(entities) => self.history(entities, &request.language).await,
                Intent::Actions(_) | Intent::Scene(_) => {
                    Err("this is done by the tools of the devices".into())
                }
            }
        }
        .boxed()
    }

    fn arrange_ends<'a>(
        &'a self,
        actions: &'a [Action],
        occasion: &'a Occasion,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.arrange(actions, occasion).boxed()
    }

    fn settle_ends<'a>(
        &'a self,
        outcomes: &'a [OutcomeEntry],
        occasion: &'a Occasion,
    ) -> BoxFuture<'a, Option<String>> {
        self.settle(outcomes, occasion).boxed()
    }
}

/// Whether an intent changes what is kept in the journal.
fn keeps(intent: &Intent) -> bool {
    match intent {
        Intent::Timer(TimerChange::Query(_))
        | Intent::List(ListChange::Read { .. })
        | Intent::ScheduleQuery
        | Intent::StopAll
        | Intent::History(_)
        | Intent::Broadcast { .. }
        | Intent::Actions(_)
        | Intent::Scene(_) => false,
        Intent::Timer(_) | Intent::List(_) | Intent::Schedule { .. } | Intent::ScheduleCancel(_) => true,
    }
}

fn said(text: String) -> Value {
    json!({"said": text})
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
