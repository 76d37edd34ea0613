//! Announcements of devices: what `devices::discovery` makes of them becomes entities of the house.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::App;
use crate::clock::Clock;
use crate::devices::Codec;
use crate::devices::discovery::{
    Accept, Discovery, DiscoveryChange, NoQuarantine, Pins, Quarantine, Settings,
};
use crate::devices::template::Sandbox;
use crate::home::{Area, Arg, Entity, EntityId, Stamp, State, Update};
use crate::journal::Journal;
use crate::mqtt::link::{Inbound, Publish};
use crate::mqtt::topics::matches;
use crate::policy::{self, Tier};
use crate::quarantine::QuarantineFile;
use crate::settings::home_file::Overrides;
use crate::tools::clean;

/// Where the pins of announced entities are kept among the journal's memories.
const SCOPE: &str = "discovery";
const KEY: &str = "pins";

/// File of the state directory with the announcements that crashed the process.
const QUARANTINE: &str = "quarantine";

/// How long announcements are gathered before approvals are looked at again and pins are stored.
const GATHER: Duration = Duration::from_millis(300);

/// Announced devices.
pub struct Discovered {
    registry: Mutex<Discovery>,
    /// Topics of announcements, those of producers with their own form included.
    filters: Vec<String>,
    overrides: RwLock<Overrides>,
    enabled: bool,
    prefix: String,
    birth: bool,
    changed: Notify,
}

impl Discovered {
    /// Starts with the pins of earlier runs; `taken` are the ids of the home file.
    pub async fn new(
        settings: &crate::settings::Settings,
        overrides: Overrides,
        taken: HashSet<EntityId>,
        journal: &Journal,
        clock: &Clock,
        zone: chrono_tz::Tz,
    ) -> Self {
        let pins = match journal.memory(SCOPE, KEY).await {
            Ok(Some(row)) => serde_json::from_str(&row.value).unwrap_or_default(),
            Ok(None) => Pins::default(),
            Err(error) => {
                tracing::warn!(%error, "the pins of announced devices cannot be read; all are seen for the first time");
                Pins::default()
            }
        };
        let accept = match settings.discovery.accept {
            crate::settings::Accept::Auto => Accept::OnFirstUse,
            crate::settings::Accept::Manual => Accept::Manual,
        };
        let discovery = Settings {
            prefix: settings.discovery.prefix.clone(),
            base: settings.base_topic(),
            accept,
            gate: Arc::new(is_gated),
            quarantine: quarantine(&settings.state_dir().join(QUARANTINE)),
            pins,
            taken,
        };
        let registry = Discovery::new(Sandbox::new(clock.clone(), zone), discovery);
        Self {
            filters: registry.subscriptions(),
            registry: Mutex::new(registry),
            overrides: RwLock::new(overrides),
            enabled: settings.discovery.enabled,
            prefix: settings.discovery.prefix.clone(),
            birth: settings.discovery.birth,
            changed: Notify::new(),
        }
    }

    /// What must be subscribed to hear announcements.
    pub fn subscriptions(&self) -> Vec<String> {
        if self.enabled { self.filters.clone() } else { Vec::new() }
    }

    /// Corrections of the home file for what is announced from now on.
    pub fn correct(&self, overrides: Overrides) {
        *self.overrides.write().unwrap_or_else(PoisonError::into_inner) = overrides;
    }

    /// Version of the tiers that the home file gives now; see [`Overrides::version`].
    pub fn home_version(&self) -> String {
        self.overrides().version()
    }

    fn overrides(&self) -> std::sync::RwLockReadGuard<'_, Overrides> {
        self.overrides.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Corrects an entity by the home file; says whether it is to be hidden.
    pub fn amend(&self, entity: &mut Entity) -> bool {
        self.overrides().apply(entity).hide
    }

    /// Entities came, changed or went by another path: approvals that rest on them are looked at.
    pub fn tell_changed(&self) {
        self.changed.notify_one();
    }

    /// Whether an announcement gave this unique id to an entity of this domain.
    pub fn holds(&self, unique_id: &str, domain: crate::home::Domain) -> bool {
        self.registry().holds(unique_id, domain)
    }

    fn registry(&self) -> std::sync::MutexGuard<'_, Discovery> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The marks of announcements that crashed the process; without them none is skipped.
fn quarantine(path: &Path) -> Arc<dyn Quarantine> {
    match QuarantineFile::open(path) {
        Ok(file) => Arc::new(file),
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "announcements that crash homeloop cannot be remembered");
            Arc::new(NoQuarantine)
        }
    }
}

/// Whether an announced entity has actions that wait for a person.
fn is_gated(entity: &Entity) -> bool {
    let unknown = State::default();
    entity.actions.iter().any(|spec| {
        let action = crate::home::Action::new(entity.id.clone(), spec.verb);
        policy::tier::classify(&action, entity, &unknown).tier >= Tier::Ask
    })
}

impl App {
    /// Takes an announcement; `false` where the message is none, or is read by entities too.
    pub(super) fn announced(&self, message: &Inbound) -> bool {
        let discovery = &self.discovery;
        if !discovery.enabled || !discovery.filters.iter().any(|filter| matches(filter, &message.topic)) {
            return false;
        }
        let changes = discovery.registry().on_message(&message.topic, &message.payload, message.retain);
        for change in changes {
            self.take_change(change, message);
        }
        message.topic.ends_with("/config") && message.topic.starts_with(discovery.prefix.as_str())
    }

    fn take_change(&self, change: DiscoveryChange, message: &Inbound) {
        match change {
            DiscoveryChange::Added { entity, codec, initial } => {
                self.add_entity(entity, codec, Some(initial), message)
            }
            DiscoveryChange::Updated { entity, codec } => self.add_entity(entity, codec, None, message),
            DiscoveryChange::Removed(id) => {
                self.house.write().remove(&id);
                let filters = self.registry.remove(&id);
                self.link.unsubscribe(filters.iter().map(String::as_str));
                self.announcements_changed();
                self.discovery.changed.notify_one();
            }
            DiscoveryChange::Suspended { entity, why } => {
                tracing::warn!(%entity, why, "an announced entity is suspended until a person accepts it");
                self.discovery.changed.notify_one();
            }
            DiscoveryChange::Refused { topic, why } => {
                // Both hold what the announcement says, and a log is read line by line.
                let (topic, why) = (clean(&topic, 200), clean(&why.to_string(), 400));
                tracing::warn!(topic, why, "an announcement was refused")
            }
            DiscoveryChange::Ignored { topic, why } => {
                tracing::debug!(topic, why, "an announcement was ignored")
            }
        }
    }

    fn add_entity(
        &self,
        mut entity: Entity,
        codec: Arc<dyn Codec>,
        initial: Option<Update>,
        message: &Inbound,
    ) {
        let applied = self.discovery.overrides().apply(&mut entity);
        if applied.hide {
            return;
        }
        let id = entity.id.clone();
        // What is known of an entity is known before anybody can act on it.
        if let Some(note) = &applied.tier {
            self.door.note_tier(&id, note.rule(&entity));
        }
        if let Some(code) = applied.code {
            self.secrets.set_code(id.clone(), code);
        }
        hide_codes(&mut entity);
        {
            let mut house = self.house.write();
            if let Some(area) = &entity.area {
                house.places.areas.entry(area.clone()).or_insert_with(|| suggested(area));
            }
            house.insert(entity);
        }
        if let Some(initial) = initial.filter(|initial| !initial.is_empty()) {
            let stamp = Stamp {
                at: message.arrival.at,
                since_boot: message.arrival.since_boot,
                // It is what the announcement says, not what the device reported.
                live: false,
                connection: message.arrival.connection,
                sequence: 0,
            };
            self.house.apply(&id, &initial, stamp);
        }
        let filters = self.registry.insert(id.clone(), codec, Arc::new(self.link.clone()));
        if let Err(error) = self.link.subscribe(filters) {
            tracing::warn!(entity = %id, %error, "an announced topic cannot be subscribed to");
        }
        self.announcements_changed();
        self.discovery.changed.notify_one();
    }

    /// After announcements: approvals that rest on another definition end, and the pins are stored.
    pub(super) async fn after_announcements(self: Arc<Self>) {
        loop {
            self.discovery.changed.notified().await;
            tokio::time::sleep(GATHER).await;
            if let Err(error) = self.door.recheck().await {
                tracing::error!(%error, "open approvals could not be checked after an announcement");
            }
            let pins = serde_json::to_string(self.discovery.registry().pins()).unwrap_or_default();
            if let Err(error) = self.journal.remember(SCOPE, KEY, &pins, "discovery").await {
                tracing::warn!(%error, "the pins of announced devices are not stored");
            }
        }
    }

    /// Asks producers to announce again, on every connection, in the way they expect.
    pub(super) async fn say_birth(self: Arc<Self>) {
        if !(self.discovery.enabled && self.discovery.birth) {
            return;
        }
        let mut greeted = 0;
        while let Some(connection) = self.link.up().await {
            if connection != greeted {
                greeted = connection;
                let birth = Publish::new(format!("{}/status", self.discovery.prefix), "online");
                if let Err(error) = self.link.publish(birth).await {
                    tracing::debug!(%error, "producers were not asked to announce again");
                }
            }
            let mut state = self.link.state();
            let down =
                state.wait_for(|state| !matches!(state, crate::mqtt::link::LinkState::Up { .. })).await;
            if down.is_err() {
                return;
            }
        }
    }
}

/// Codes are filled in by the door. Nobody is asked for one, least of all a model.
fn hide_codes(entity: &mut Entity) {
    for action in &mut entity.actions {
        action.args.retain(|arg| arg.name != Arg::Code);
    }
}

/// An area that only an announcement names.
fn suggested(id: &str) -> Area {
    let mut words: Vec<String> = id.split('_').map(str::to_owned).collect();
    if let Some(first) = words.first_mut()
        && let Some(letter) = first.get(..1)
    {
        *first = letter.to_uppercase() + first.get(1..).unwrap_or_default();
    }
    Area { id: id.to_owned(), name: words.join(" "), aliases: Vec::new(), floor: None }
}
