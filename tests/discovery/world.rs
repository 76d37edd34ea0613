//! A house of discovered entities: messages in, states out, as the daemon's state path does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use homeloop::clock::Clock;
use homeloop::devices::discovery::{Accept, Discovery, DiscoveryChange, NoQuarantine, Pins, Settings};
use homeloop::devices::template::Sandbox;
use homeloop::devices::{Codec, Decoded, Payload};
use homeloop::home::{Availability, Entity, EntityId, Stamp, State, Update};

pub struct Seen {
    pub entity: Entity,
    pub codec: Arc<dyn Codec>,
    pub state: State,
    subscriptions: Vec<String>,
}

pub struct World {
    pub discovery: Discovery,
    pub entities: BTreeMap<EntityId, Seen>,
    /// Changes that were no entity: refusals, suspensions, what was ignored.
    pub notes: Vec<String>,
    sequence: u64,
    /// What the broker keeps, for those who subscribe later.
    retained: BTreeMap<String, Vec<u8>>,
    added: Vec<EntityId>,
}

pub fn settings() -> Settings {
    Settings {
        prefix: "homeassistant".into(),
        base: "homeloop/home".into(),
        accept: Accept::OnFirstUse,
        gate: Arc::new(|_| false),
        quarantine: Arc::new(NoQuarantine),
        pins: Pins::default(),
        taken: Default::default(),
    }
}

pub fn sandbox() -> Sandbox {
    Sandbox::new(Clock::system(), chrono_tz::UTC)
}

impl World {
    pub fn new() -> Self {
        Self::with(settings())
    }

    pub fn with(settings: Settings) -> Self {
        Self {
            discovery: Discovery::new(sandbox(), settings),
            entities: BTreeMap::new(),
            notes: Vec::new(),
            sequence: 0,
            retained: BTreeMap::new(),
            added: Vec::new(),
        }
    }

    /// One message as from the broker: an announcement, and for every entity on its topic.
    pub fn message(&mut self, topic: &str, payload: &[u8], retained: bool) {
        for change in self.discovery.on_message(topic, payload, retained) {
            self.change(change);
        }
        let payload = Payload::new(payload, retained);
        self.sequence += 1;
        let stamp = stamp(self.sequence, !retained);
        for seen in self.entities.values_mut() {
            if !seen.subscriptions.iter().any(|filter| matches(filter, topic)) {
                continue;
            }
            if let Decoded::Report(update) = seen.codec.decode(topic, &payload, &seen.state) {
                seen.state.apply(&update, stamp);
            }
        }
    }

    /// A live message, kept by the broker if its publisher said so; new entities get what is kept on their topics.
    pub fn live(&mut self, topic: &str, payload: &[u8], keep: bool) {
        if keep && payload.is_empty() {
            self.retained.remove(topic);
        } else if keep {
            self.retained.insert(topic.to_owned(), payload.to_vec());
        }
        self.added.clear();
        self.message(topic, payload, false);
        for id in std::mem::take(&mut self.added) {
            let kept: Vec<(String, Vec<u8>)> = self.retained.clone().into_iter().collect();
            let Some(seen) = self.entities.get_mut(&id) else { continue };
            for (topic, payload) in kept {
                if seen.subscriptions.iter().any(|filter| matches(filter, &topic)) {
                    let payload = Payload::new(&payload, true);
                    if let Decoded::Report(update) = seen.codec.decode(&topic, &payload, &seen.state) {
                        seen.state.apply(&update, stamp(0, false));
                    }
                }
            }
        }
    }

    fn change(&mut self, change: DiscoveryChange) {
        match change {
            DiscoveryChange::Added { entity, codec, initial } => {
                let mut state = State::default();
                state.apply(&initial, stamp(0, false));
                let subscriptions = codec.subscriptions();
                let id = entity.id.clone();
                self.added.push(id.clone());
                let old = self.entities.insert(id, Seen { entity, codec, state, subscriptions });
                assert!(old.is_none(), "an id was given twice: {}", old.unwrap().entity.id);
            }
            DiscoveryChange::Updated { entity, codec } => {
                let seen = self.entities.get_mut(&entity.id).expect("an update of what is known");
                seen.subscriptions = codec.subscriptions();
                seen.entity = entity;
                seen.codec = codec;
            }
            DiscoveryChange::Removed(id) => {
                assert!(self.entities.remove(&id).is_some(), "removed twice: {id}")
            }
            other => self.notes.push(format!("{other:?}")),
        }
    }

    pub fn assume(&mut self, id: &EntityId, update: &Update) {
        self.sequence += 1;
        let stamp = stamp(self.sequence, false);
        if let Some(seen) = self.entities.get_mut(id) {
            seen.state.apply(update, stamp);
        }
    }
}

impl Seen {
    /// The state as Home Assistant words it.
    pub fn shown(&self) -> String {
        match self.state.availability {
            Availability::Online => self.state.text().unwrap_or("unknown").to_owned(),
            Availability::Unknown | Availability::Offline => "unavailable".to_owned(),
        }
    }
}

fn stamp(sequence: u64, live: bool) -> Stamp {
    Stamp { at: DateTime::UNIX_EPOCH, since_boot: Duration::ZERO, live, connection: 1, sequence }
}

/// MQTT's filter rules, written again here so that the test does not trust the code that it tests.
fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let (filter, topic): (Vec<_>, Vec<_>) = (filter.split('/').collect(), topic.split('/').collect());
    for (at, part) in filter.iter().enumerate() {
        match (*part, topic.get(at)) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (part, Some(level)) if part == *level => {}
            _ => return false,
        }
    }
    filter.len() == topic.len()
}
