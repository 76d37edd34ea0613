//! Changes that homeloop did not make: somebody turned the key, or another client of the broker did.
//!
//! MQTT says what changed and never who changed it. What is written down is therefore what is known: that the device
//! reported a change which no command of homeloop explains.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::App;
use super::history::state_word;
use crate::home::{Change, Domain, EntityId, Verb};
use crate::journal::{Durability, NewEvent};
use crate::tools::clean;

/// The kind of these events in the journal.
pub const CHANGED: &str = "changed";

/// Most changes of one entity that are written down within an hour: a device that flaps must not fill the record.
const IN_AN_HOUR: usize = 30;
/// How soon after a command a device that turns back is told to people as well: they were told that it was done.
const WENT_BACK: Duration = Duration::from_secs(15);
const HOUR: Duration = Duration::from_secs(3600);

impl App {
    /// Follows the house and writes down what nobody here caused, until the daemon stops.
    pub(super) async fn note_foreign_changes(self: Arc<Self>, mut changes: Receiver<Change>) {
        let mut known: HashMap<EntityId, String> = HashMap::new();
        let mut written: HashMap<EntityId, VecDeque<Duration>> = HashMap::new();
        loop {
            let change = match changes.recv().await {
                Ok(change) => change,
                Err(RecvError::Lagged(lost)) => {
                    tracing::warn!(lost, "changes of devices were too many to be looked at for their cause");
                    continue;
                }
                Err(RecvError::Closed) => return,
            };
            let Some(value) = settled(&change).map(str::to_owned) else { continue };
            let before = known.insert(change.entity.clone(), value.clone());
            // The first report after a start is no change, and a retained one says nothing about when.
            let live = change.state.value_stamp.is_some_and(|stamp| stamp.live);
            let Some(before) = before.filter(|before| *before != value && live) else { continue };
            if self.explained(&change.entity, &value) {
                continue;
            }
            if self.went_back(&change.entity, &value) {
                self.tell_it_went_back(&change.entity, &value);
            }
            let now = self.clock.since_boot();
            let times = written.entry(change.entity.clone()).or_default();
            times.retain(|at| now.saturating_sub(*at) < HOUR);
            if times.len() < IN_AN_HOUR {
                times.push_back(now);
                self.write_change(&change.entity, &before, &value).await;
            }
        }
    }

    /// Whether a command that homeloop sent lately explains the change.
    fn explained(&self, entity: &EntityId, value: &str) -> bool {
        self.door
            .last_sent(entity)
            .is_some_and(|(verb, ago)| ago < within(entity.domain()) && !is_opposite(verb, value))
    }

    /// Whether an entity has just left what a command of homeloop brought about: the person was told that it was done.
    fn went_back(&self, entity: &EntityId, value: &str) -> bool {
        self.door.last_sent(entity).is_some_and(|(verb, ago)| ago < WENT_BACK && is_opposite(verb, value))
    }

    fn tell_it_went_back(&self, entity: &EntityId, value: &str) {
        let language = &self.settings.home.language;
        let lexicon = self.household.report.lexicon(language);
        let (name, area) = {
            let house = self.house.read();
            let Some(known) = house.entity(entity.as_str()) else { return };
            (clean(known.name_in(language), 64), known.area.clone())
        };
        let said = lexicon.say("went_back", &[("name", &name), ("state", &state_word(lexicon, value))]);
        tracing::warn!(%entity, value, "a device left what a command had just brought about");
        self.announce(&said, area.as_deref());
    }

    async fn write_change(&self, entity: &EntityId, before: &str, value: &str) {
        let body = json!({"entity": entity, "from": before, "to": value});
        let written = async {
            let event = NewEvent::of_house(CHANGED, &body)?.about([entity.as_str()]);
            self.journal.append(event, Durability::Normal).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%entity, %error, "a change that homeloop did not make is not in the journal");
        }
    }
}

/// The value of a change that somebody may ask about; `None` for sensors, and while something still moves.
fn settled(change: &Change) -> Option<&str> {
    let asked_about = matches!(
        change.entity.domain(),
        Domain::Lock
            | Domain::Cover
            | Domain::Valve
            | Domain::AlarmControlPanel
            | Domain::Light
            | Domain::Switch
            | Domain::Fan
            | Domain::Climate
            | Domain::Siren
            | Domain::WaterHeater
            | Domain::Vacuum
            | Domain::Camera
            | Domain::Humidifier
            | Domain::LawnMower
    );
    let value = change.state.text()?;
    let moving = matches!(
        value,
        "opening"
            | "closing"
            | "locking"
            | "unlocking"
            | "arming"
            | "disarming"
            | "pending"
            | "unknown"
            | "unavailable"
    );
    (asked_about && !moving && change.changed).then_some(value)
}

/// How long after a command its effects may still show.
fn within(domain: Domain) -> Duration {
    match domain {
        Domain::Cover
        | Domain::Valve
        | Domain::AlarmControlPanel
        | Domain::Climate
        | Domain::Vacuum
        | Domain::LawnMower
        | Domain::WaterHeater => Duration::from_secs(120),
        _ => Duration::from_secs(20),
    }
}

/// Whether a value is the opposite of what a command wanted: then somebody else wanted it.
fn is_opposite(verb: Verb, value: &str) -> bool {
    match verb {
        Verb::Lock => matches!(value, "unlocked" | "open"),
        Verb::Unlock | Verb::Open => matches!(value, "locked" | "closed"),
        Verb::Close => value == "open",
        Verb::TurnOn => value == "off",
        Verb::TurnOff => value == "on",
        Verb::Disarm => value.starts_with("armed") || value == "triggered",
        Verb::ArmHome | Verb::ArmAway | Verb::ArmNight | Verb::ArmVacation | Verb::ArmCustomBypass => {
            matches!(value, "disarmed" | "triggered")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_opposite_of_a_command_is_not_its_effect() {
        for (verb, value, opposite) in [
            (Verb::Lock, "locked", false),
            (Verb::Lock, "jammed", false),
            (Verb::Lock, "unlocked", true),
            (Verb::Unlock, "locked", true),
            (Verb::Open, "open", false),
            (Verb::Open, "closed", true),
            (Verb::TurnOn, "heat", false),
            (Verb::TurnOn, "off", true),
            (Verb::ArmAway, "triggered", true),
            (Verb::SetPosition, "open", false),
        ] {
            assert_eq!(is_opposite(verb, value), opposite, "{verb} {value}");
        }
    }
}
