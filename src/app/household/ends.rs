//! The end of what must not last by itself: irrigation and heaters that were switched on go off after a while.
//!
//! The end is on disk before anything is sent, so that no crash leaves water running; it is taken back where nothing
//! was sent. An end that the command names itself ("for ten minutes") stands in its place when it is soon enough.

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Keeper, duration};
use crate::actuate::{Outcome, OutcomeEntry};
use crate::home::{Action, Arg, Entity, EntityId, Verb};
use crate::nlu::Intent;
use crate::policy::lasting::{Lasting, begins, lasting};
use crate::schedule::{Late, NewSchedule, Schedule, When};
use crate::tools::Occasion;

/// What a schedule that is such an end says of itself in `created_by`.
#[derive(Deserialize)]
struct Mark {
    /// The entity that it ends.
    ends: Option<EntityId>,
    task: Option<String>,
    call: Option<String>,
}

/// One thing that goes on and must end.
struct Begun {
    entity: EntityId,
    end: Action,
    seconds: u64,
}

impl Keeper {
    /// Stores an end for each of `actions` that needs one. `Err` when one cannot be stored: then nothing may be sent.
    pub(super) async fn arrange(&self, actions: &[Action], occasion: &Occasion) -> Result<(), String> {
        let begun = self.begun(actions);
        if begun.is_empty() {
            return Ok(());
        }
        let active = self.active().await?;
        for begun in begun {
            if self.named_end(&begun.entity, &active) {
                continue;
            }
            let intents = vec![Intent::Actions(vec![begun.end])];
            let plan = NewSchedule {
                description: self.describe(&intents, &occasion.language),
                when: When::After { seconds: begun.seconds },
                zone: None,
                steps: serde_json::to_value(&intents).map_err(|error| error.to_string())?,
                end: None,
                gated: false,
                late: Late::Run,
                created_by: json!({
                    "principal": occasion.principal,
                    "area": occasion.area,
                    "language": occasion.language,
                    "ends": begun.entity,
                    "task": occasion.task,
                    "call": occasion.call,
                }),
                conversation: occasion.conversation.clone().unwrap_or_default(),
                end_of: None,
            };
            self.scheduler.create(plan).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// After the outcomes are known: keeps the ends of what was sent, drops those that are not needed any more, and
    /// says what will end by itself.
    pub(super) async fn settle(&self, outcomes: &[OutcomeEntry], occasion: &Occasion) -> Option<String> {
        let concerned: Vec<(&OutcomeEntry, bool)> = {
            let house = self.house.read();
            let begins_or_ends = |entry: &OutcomeEntry| {
                let (_, end) = lasting(house.entity(entry.action.entity.as_str())?)?;
                if begins(&entry.action) { Some(true) } else { ends(&entry.action, end).then_some(false) }
            };
            outcomes.iter().filter_map(|entry| Some((entry, begins_or_ends(entry)?))).collect()
        };
        if concerned.is_empty() {
            return None;
        }
        let active = match self.active().await {
            Ok(active) => active,
            Err(error) => {
                tracing::warn!(error, "the ends of what was switched on cannot be read; they stay");
                return None;
            }
        };
        let mut told = Vec::new();
        for (entry, begins) in concerned {
            for schedule in active.iter().filter(|one| ends_of(one).as_ref() == Some(&entry.action.entity)) {
                let mine = is_of(schedule, occasion);
                let sent = !matches!(entry.outcome, Outcome::NotSent | Outcome::Refused);
                // What was switched off needs no end; what was switched on again needs the newer one alone.
                let drop = if begins { mine != sent } else { entry.outcome.is_wished() };
                if drop {
                    self.drop_end(schedule).await;
                } else if begins {
                    told.push(self.tell(schedule, occasion));
                }
            }
        }
        (!told.is_empty()).then(|| self.report.join(&occasion.language, &told))
    }

    /// Drops the automatic ends that a schedule just made stands in for.
    pub(super) async fn supersede_ends(&self, made: &Schedule) {
        let Ok(active) = self.active().await else { return };
        for schedule in &active {
            if let Some(entity) = ends_of(schedule)
                && self.names_end_of(made, &entity)
            {
                self.drop_end(schedule).await;
            }
        }
    }

    fn begun(&self, actions: &[Action]) -> Vec<Begun> {
        let house = self.house.read();
        let begun = |action: &Action| {
            let (kind, end) = lasting(house.entity(action.entity.as_str())?)?;
            begins(action).then(|| Begun {
                entity: action.entity.clone(),
                end: Action::new(action.entity.clone(), end),
                seconds: self.length(kind, action),
            })
        };
        actions.iter().filter_map(begun).collect()
    }

    /// After how many seconds: as long as the action itself says, at most the longest; else the setting of its kind.
    fn length(&self, kind: Lasting, action: &Action) -> u64 {
        let minutes = match kind {
            Lasting::Irrigation => self.ends.irrigation_minutes,
            Lasting::Heater => self.ends.heater_minutes,
        };
        let asked = action.args.get(&Arg::Duration).and_then(crate::home::ArgValue::as_number);
        let asked = asked.filter(|seconds| *seconds >= 1.0).map(|seconds| seconds as u64);
        asked.unwrap_or(u64::from(minutes) * 60).min(self.longest())
    }

    fn longest(&self) -> u64 {
        u64::from(self.ends.longest_minutes) * 60
    }

    /// Whether one of the schedules ends `entity`, named by a command and soon enough.
    fn named_end(&self, entity: &EntityId, active: &[Schedule]) -> bool {
        active.iter().any(|schedule| ends_of(schedule).is_none() && self.names_end_of(schedule, entity))
    }

    fn names_end_of(&self, schedule: &Schedule, entity: &EntityId) -> bool {
        let latest = self.clock.now() + TimeDelta::seconds(i64::try_from(self.longest()).unwrap_or(0));
        if schedule.next_fire.is_none_or(|next| next > latest) {
            return false;
        }
        let intents: Vec<Intent> = serde_json::from_value(schedule.plan.steps.clone()).unwrap_or_default();
        let house = self.house.read();
        let end = house.entity(entity.as_str()).and_then(lasting_end);
        drop(house);
        self.actions(&intents)
            .iter()
            .any(|action| action.entity == *entity && end.is_some_and(|end| ends(action, end)))
    }

    async fn drop_end(&self, schedule: &Schedule) {
        if let Err(error) = self.scheduler.cancel(&schedule.id).await {
            tracing::warn!(schedule = %schedule.id, %error, "an end that is not needed any more stays");
        }
    }

    fn tell(&self, schedule: &Schedule, occasion: &Occasion) -> String {
        let lexicon = self.report.lexicon(&occasion.language);
        let seconds = match schedule.plan.when {
            When::After { seconds } => seconds,
            When::Once { .. }
            | When::Daily { .. }
            | When::Weekly { .. }
            | When::Every { .. }
            | When::Cron { .. } => 0,
        };
        let left = duration(seconds, lexicon);
        lexicon.say("ends_by_itself", &[("what", &schedule.plan.description), ("left", &left)])
    }
}

fn lasting_end(entity: &std::sync::Arc<Entity>) -> Option<Verb> {
    lasting(entity).map(|(_, end)| end)
}

/// Whether `action` ends what `end` would end.
fn ends(action: &Action, end: Verb) -> bool {
    action.verb == end || (action.verb == Verb::SetPosition && !begins(action))
}

/// The entity that a schedule ends by itself; `None` for every other schedule.
pub(super) fn ends_of(schedule: &Schedule) -> Option<EntityId> {
    mark(&schedule.plan.created_by)?.ends
}

/// Whether the end was arranged for this very call.
fn is_of(schedule: &Schedule, occasion: &Occasion) -> bool {
    mark(&schedule.plan.created_by).is_some_and(|mark| {
        mark.task.as_deref() == Some(&occasion.task) && mark.call.as_deref() == Some(&occasion.call)
    })
}

fn mark(created_by: &Value) -> Option<Mark> {
    Mark::deserialize(created_by).ok()
}
