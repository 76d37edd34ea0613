//! What understands and decides: the offline understanding, the chain of models, the agent and its queue.
//!
//! Built once, from a house and a door that exist already. Nothing here starts to run.

use std::sync::Arc;

use chrono_tz::Tz;

use super::build::{BuildError, failed};
use super::household::Keeper;
use crate::actuate::Door;
use crate::agent::{Agent, Conversations, Parts, Queue, QueueLimits};
use crate::clock::Clock;
use crate::home::SharedHouse;
use crate::journal::Journal;
use crate::model::settings::Mode;
use crate::model::{Model, Offline, Report, Router};
use crate::settings::Settings;

/// What the mind stands on.
pub(super) struct Ground {
    pub house: SharedHouse,
    pub door: Arc<Door>,
    pub journal: Journal,
    pub household: Arc<Keeper>,
    pub report: Report,
    pub clock: Clock,
    pub zone: Tz,
}

/// The chain of models, and the queue that takes commands.
pub(super) fn build(settings: &Settings, ground: Ground) -> Result<(Router, Arc<Queue>), BuildError> {
    let Ground { house, door, journal, household, report, clock, zone } = ground;
    let conversations = Conversations::new(clock.clone());
    let offline: Arc<dyn Model> = Arc::new(Offline {
        nlu: report.nlu().clone(),
        house: house.clone(),
        dialogues: Arc::new(conversations.clone()),
        clock: clock.clone(),
        zone,
    });
    let private = settings.private_values();
    let models = Router::from_settings(&settings.models, Some(offline.clone()), &private, clock.clone())
        .map_err(failed("the models"))?;
    let agent = Agent::new(Parts {
        house,
        door,
        journal,
        frugal: Arc::new(models.with_mode(Mode::Offline)),
        model: Arc::new(models.clone()),
        offline,
        household,
        report,
        conversations,
        clock,
        zone,
        language: settings.home.language.clone(),
        limits: settings.agent.limits.clone(),
        budget: settings.agent.budget,
    });
    let limits = QueueLimits {
        at_once: settings.agent.at_once,
        waiting: settings.agent.queue,
        per_minute: settings.agent.commands_per_minute,
    };
    Ok((models, Queue::new(Arc::new(agent), limits)))
}
