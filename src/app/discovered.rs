//! What announcements make of the house: entities, their codecs, and what became of every announcement.
//!
//! No I/O: messages go in, and out comes which topics are to be subscribed to. The daemon and a replay of recorded
//! messages use the same.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use tokio::sync::broadcast;

use super::secrets::SecretStore;
use crate::actuate::{Door, Port};
use crate::devices::Codec;
use crate::devices::discovery::{
    Discovery, DiscoveryChange, Pins, Quarantine, Settings as DiscoverySettings,
};
use crate::devices::filters::Filters;
use crate::devices::registry::{Arrival, Registry};
use crate::devices::template::Sandbox;
use crate::home::{Action, Area, Arg, Entity, EntityId, SharedHouse, Stamp, State, Update};
use crate::http::views::{AnnouncementKind, AnnouncementView};
use crate::policy::{self, Rule, Tier};
use crate::settings::Settings;
use crate::settings::home_file::Overrides;
use crate::tools::clean;

/// Refused announcements that are remembered; the first of the alphabet go when there are more.
const MAX_REFUSED: usize = 256;
/// Changes that a slow listener may lag behind.
const CHANGES: usize = 1024;

/// Announced devices, and the house that they become.
pub struct Discovered {
    registry: Mutex<Discovery>,
    house: SharedHouse,
    codecs: Arc<Registry<dyn Port>>,
    overrides: RwLock<Overrides>,
    enabled: bool,
    prefix: String,
    /// Topics of announcements, those of producers with their own form included.
    filters: Vec<String>,
    /// The same, to look a topic up in: every message of the house passes here.
    topics: Filters<()>,
    /// Why the last announcement on a topic was refused.
    refused: Mutex<BTreeMap<String, String>>,
    changes: broadcast::Sender<AnnouncementView>,
    keepers: OnceLock<(Arc<Door>, Arc<SecretStore>)>,
    held: Mutex<Vec<Rule>>,
}

/// What is to be done after an announcement.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    pub subscribe: Vec<String>,
    pub unsubscribe: Vec<String>,
    /// Whether any entity was added, changed, removed or suspended.
    pub changed: bool,
    /// Whether the message is an announcement and nothing else: no entity reads it.
    pub consumed: bool,
    /// Whether devices are to be asked for their state.
    pub asks: bool,
}

/// Where [`Discovered`] puts what it finds.
pub struct Target {
    pub house: SharedHouse,
    pub codecs: Arc<Registry<dyn Port>>,
    pub overrides: Overrides,
}

impl Discovered {
    /// Starts with the pins of earlier runs; `taken` are the ids of the home file.
    pub fn new(
        settings: &Settings,
        target: Target,
        taken: HashSet<EntityId>,
        pins: Pins,
        quarantine: Arc<dyn Quarantine>,
        sandbox: Sandbox,
    ) -> Self {
        let registry = Discovery::new(
            sandbox,
            DiscoverySettings {
                prefix: settings.discovery.prefix.clone(),
                base: settings.base_topic(),
                accept: match settings.discovery.accept {
                    crate::settings::Accept::Auto => crate::devices::discovery::Accept::OnFirstUse,
                    crate::settings::Accept::Manual => crate::devices::discovery::Accept::Manual,
                },
                gate: Arc::new(is_gated),
                quarantine,
                pins,
                taken,
            },
        );
        let filters = registry.subscriptions();
        let mut topics = Filters::default();
        for filter in &filters {
            topics.insert(filter, ());
        }
        Self {
            registry: Mutex::new(registry),
            house: target.house,
            codecs: target.codecs,
            overrides: RwLock::new(target.overrides),
            enabled: settings.discovery.enabled,
            prefix: settings.discovery.prefix.clone(),
            filters,
            topics,
            refused: Mutex::default(),
            changes: broadcast::channel(CHANGES).0,
            keepers: OnceLock::new(),
            held: Mutex::default(),
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

    fn overrides(&self) -> RwLockReadGuard<'_, Overrides> {
        self.overrides.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Corrects an entity of any source by the home file, with its tier and its code; says whether it is to be hidden.
    pub fn amend(&self, entity: &mut Entity) -> bool {
        let applied = self.overrides().apply(entity);
        if applied.hide {
            return true;
        }
        // What is known of an entity is known before anybody can act on it.
        if let Some(note) = &applied.tier {
            self.hold(&entity.id, note.rule(entity));
        }
        if let (Some(code), Some((_, secrets))) = (applied.code, self.keepers.get()) {
            secrets.set_code(entity.id.clone(), code);
        }
        hide_codes(entity);
        false
    }

    /// Whether an announcement gave this unique id to an entity of this domain.
    pub fn holds(&self, unique_id: &str, domain: crate::home::Domain) -> bool {
        self.registry().holds(unique_id, domain)
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn registry(&self) -> MutexGuard<'_, Discovery> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes of announcements from now on.
    pub fn changes(&self) -> broadcast::Receiver<AnnouncementView> {
        self.changes.subscribe()
    }

    /// Topics of refused announcements with the reason, in their order.
    pub fn refused(&self) -> BTreeMap<String, String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes one message. Messages that are no announcements have no effect.
    pub fn read(&self, topic: &str, payload: &[u8], arrival: Arrival, port: &Arc<dyn Port>) -> Effect {
        let mut effect = Effect::default();
        let mut wanted = false;
        self.topics.each_match(topic, |()| wanted = true);
        if !(self.enabled && wanted) {
            return effect;
        }
        effect.consumed = topic.ends_with("/config") && topic.starts_with(self.prefix.as_str());
        let changes = {
            let mut registry = self.registry();
            let changes = registry.on_message(topic, payload, arrival.retained);
            effect.asks = registry.has_questions();
            changes
        };
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
        for change in changes {
            self.take(change, arrival, port, &mut effect);
        }
        effect
    }

    /// A person accepts what a suspended entity has become; `None` where it is not suspended.
    pub fn accept(&self, id: &EntityId, arrival: Arrival, port: &Arc<dyn Port>) -> Option<Effect> {
        let changes = self.registry().accept(id);
        if changes.is_empty() {
            return None;
        }
        let mut effect = Effect::default();
        for change in changes {
            self.take(change, arrival, port, &mut effect);
        }
        Some(effect)
    }

    /// The door that holds entities to the tiers of the home file, and the store of their codes.
    pub(super) fn set_keepers(&self, door: Arc<Door>, secrets: Arc<SecretStore>) {
        // Set once, at the start.
        let _ = self.keepers.set((door, secrets));
    }

    /// Rules of the home file for single entities, so far.
    pub fn held(&self) -> Vec<Rule> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, id: &EntityId, rule: Rule) {
        if let Some((door, _)) = self.keepers.get() {
            door.note_tier(id, rule.clone());
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|known| known.name != rule.name);
        held.push(rule);
    }

    fn take(&self, change: DiscoveryChange, arrival: Arrival, port: &Arc<dyn Port>, effect: &mut Effect) {
        // Nobody watches most of the time, and a burst need not be written down for nobody.
        if self.changes.receiver_count() > 0 {
            // No receiver is no fault.
            let _ = self.changes.send(view(&change, arrival));
        }
        match change {
            DiscoveryChange::Added { entity, codec, initial } => {
                self.add(entity, codec, Some(initial), arrival, port, effect);
            }
            DiscoveryChange::Updated { entity, codec } => {
                self.add(entity, codec, None, arrival, port, effect)
            }
            DiscoveryChange::Removed(id) => {
                self.house.write().remove(&id);
                effect.unsubscribe.extend(self.codecs.remove(&id));
                effect.changed = true;
            }
            DiscoveryChange::Suspended { entity, why } => {
                tracing::warn!(%entity, why, "an announced entity is suspended until a person accepts it");
                effect.changed = true;
            }
            DiscoveryChange::Refused { topic, why } => {
                // Both hold what the announcement says, and a log is read line by line.
                let (topic, why) = (clean(&topic, 512), clean(&why.to_string(), 400));
                tracing::warn!(topic, why, "an announcement was refused");
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                if refused.len() >= MAX_REFUSED {
                    refused.pop_first();
                }
                refused.insert(topic, why);
            }
            DiscoveryChange::Ignored { topic, why } => {
                tracing::debug!(topic, why, "an announcement was ignored");
            }
        }
    }

    fn add(
        &self,
        mut entity: Entity,
        codec: Arc<dyn Codec>,
        initial: Option<Update>,
        arrival: Arrival,
        port: &Arc<dyn Port>,
        effect: &mut Effect,
    ) {
        if self.amend(&mut entity) {
            return;
        }
        let id = entity.id.clone();
        // First how it speaks: whoever sees the entity can have it act.
        effect.subscribe.extend(self.codecs.insert(id.clone(), codec, port.clone()));
        {
            let mut house = self.house.write();
            if let Some(area) = &entity.area {
                house.places.areas.entry(area.clone()).or_insert_with(|| suggested(area));
            }
            house.insert(entity);
        }
        if let Some(initial) = initial.filter(|initial| !initial.is_empty()) {
            let stamp = Stamp {
                at: arrival.at,
                since_boot: arrival.since_boot,
                // It is what the announcement says, not what the device reported.
                live: false,
                connection: arrival.connection,
                sequence: 0,
            };
            self.house.apply(&id, &initial, stamp);
        }
        effect.changed = true;
    }
}

/// Whether an announced entity has actions that wait for a person.
fn is_gated(entity: &Entity) -> bool {
    let unknown = State::default();
    entity.actions.iter().any(|spec| {
        let action = Action::new(entity.id.clone(), spec.verb);
        policy::tier::classify(&action, entity, &unknown).tier >= Tier::Ask
    })
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

/// A change for people who watch.
fn view(change: &DiscoveryChange, arrival: Arrival) -> AnnouncementView {
    let (kind, entity, topic, why) = match change {
        DiscoveryChange::Added { entity, .. } => {
            (AnnouncementKind::Added, Some(&entity.id), Some(entity.source.clone()), None)
        }
        DiscoveryChange::Updated { entity, .. } => {
            (AnnouncementKind::Updated, Some(&entity.id), Some(entity.source.clone()), None)
        }
        DiscoveryChange::Removed(id) => (AnnouncementKind::Removed, Some(id), None, None),
        DiscoveryChange::Suspended { entity, why } => {
            (AnnouncementKind::Suspended, Some(entity), None, Some(why.clone()))
        }
        DiscoveryChange::Refused { topic, why } => {
            (AnnouncementKind::Refused, None, Some(topic.clone()), Some(why.to_string()))
        }
        DiscoveryChange::Ignored { topic, why } => {
            (AnnouncementKind::Ignored, None, Some(topic.clone()), Some(why.clone()))
        }
    };
    AnnouncementView { at: arrival.at, kind, entity: entity.map(ToString::to_string), topic, why }
}
