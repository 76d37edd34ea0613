//! The life of announced items: who owns them, what they are called, when they are suspended.

mod accept;
mod ids;
mod items;
mod native_items;
mod pinning;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use self::ids::{Ids, MAX_NAMESAKES};
use self::items::{Items, Keys};
use self::native_items::NATIVE;
pub use self::native_items::address_name;
use self::pinning::New;
use super::build::{self, Made};
use super::fields::{Fields, Refusal, text_of};
use super::message::{self, Announced, Announcement};
use super::names::{self, Names};
use super::native::Natives;
use super::quarantine::Quarantine;
use super::topic::{ConfigTopic, ItemKey};
use super::trust::{Pins, Reserved};
use super::{DiscoveryChange, MAX_PER_DEVICE, OWN_NODE};
use crate::devices::codec::Codec;
use crate::devices::template::{self, Sandbox};
use crate::home::{Domain, Entity, EntityId};

/// Whether an entity has actions that wait for a person: asked of `policy` by whoever builds a [`Discovery`].
pub type Gate = Arc<dyn Fn(&Entity) -> bool + Send + Sync>;

/// When a new entity may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accept {
    /// At first sight.
    #[default]
    OnFirstUse,
    /// When a person accepted it; until then it only reports.
    Manual,
}

/// What a [`Discovery`] depends on.
pub struct Settings {
    /// Discovery prefix, `homeassistant` by default.
    pub prefix: String,
    /// Our own tree, `homeloop/home` by default.
    pub base: String,
    pub accept: Accept,
    pub gate: Gate,
    pub quarantine: Arc<dyn Quarantine>,
    pub pins: Pins,
    /// Ids that others hold (the home file); they are never given away.
    pub taken: HashSet<EntityId>,
}

/// The registry of announced items.
pub struct Discovery {
    sandbox: Sandbox,
    reserved: Reserved,
    accept: Accept,
    gate: Gate,
    quarantine: Arc<dyn Quarantine>,
    pins: Pins,
    ids: Ids,
    natives: Natives,
    /// How many announced items name a device by this identifier or address.
    devices: HashMap<String, usize>,
    items: Items,
    /// First owner of a unique id of a component.
    unique: HashMap<(String, String), ItemKey>,
    /// Items that another topic may take over.
    migrating: Vec<Migrating>,
    per_device: HashMap<String, usize>,
}

/// What is kept of an item while it moves: it is recognised by its key or by its unique id.
struct Migrating {
    key: ItemKey,
    unique_id: Option<String>,
    id: EntityId,
}

impl Discovery {
    pub fn new(sandbox: Sandbox, settings: Settings) -> Self {
        Self {
            sandbox,
            reserved: Reserved { prefix: settings.prefix, base: settings.base },
            accept: settings.accept,
            gate: settings.gate,
            quarantine: settings.quarantine,
            pins: settings.pins,
            ids: Ids::new(settings.taken),
            natives: Natives::default(),
            devices: HashMap::new(),
            items: Items::default(),
            unique: HashMap::new(),
            migrating: Vec::new(),
            per_device: HashMap::new(),
        }
    }

    /// The topic filters whose messages are to be given to [`Discovery::on_message`].
    pub fn subscriptions(&self) -> Vec<String> {
        let prefix = &self.reserved.prefix;
        let mut filters = vec![format!("{prefix}/+/+/config"), format!("{prefix}/+/+/+/config")];
        filters.extend(Natives::subscriptions());
        filters
    }

    /// What is pinned now, to be kept over restarts.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Entities by id with their codecs, for look-ups.
    pub fn entities(&self) -> impl Iterator<Item = (&Entity, &Arc<dyn Codec>)> {
        self.items.all().map(|item| (&item.entity, &item.codec))
    }

    /// Whether an announced entity of `domain` has this unique id.
    pub fn holds(&self, unique_id: &str, domain: Domain) -> bool {
        let key = self.unique.get(&(domain.word().to_owned(), unique_id.to_owned()));
        key.is_some_and(|key| self.items.get(key).is_some())
    }

    /// The announcement behind an entity: its topic and its keys in full.
    pub fn announcement(&self, id: &str) -> Option<(&str, Map<String, Value>)> {
        let (_, item) = self.items.of_entity(id)?;
        Some((&item.topic, item.config.read()))
    }

    /// Why an entity only reports until a person accepts it, if so.
    pub fn suspended(&self, id: &str) -> Option<&str> {
        self.items.of_entity(id)?.1.pending.as_deref()
    }

    /// Entities that wait for a person's acceptance with the reason, in the order of their ids.
    pub fn all_suspended(&self) -> Vec<(EntityId, String)> {
        let waiting = |item: &items::Item| Some((item.entity.id.clone(), item.pending.clone()?));
        let mut all: Vec<_> = self.items.all().filter_map(waiting).collect();
        all.sort();
        all
    }

    /// Reads one message. Topics that are no discovery topics change nothing.
    pub fn on_message(&mut self, topic: &str, payload: &[u8], _retained: bool) -> Vec<DiscoveryChange> {
        let Some(parsed) = ConfigTopic::parse(&self.reserved.prefix, topic) else {
            return self.native(topic, payload);
        };
        let ignored =
            |why: &str| vec![DiscoveryChange::Ignored { topic: topic.to_owned(), why: why.to_owned() }];
        if parsed.node.as_deref() == Some(OWN_NODE) || parsed.object == OWN_NODE {
            return ignored("it is our own announcement");
        }
        if self.quarantine.holds(topic) {
            return vec![DiscoveryChange::Refused { topic: topic.to_owned(), why: Refusal::Quarantined }];
        }
        match message::read(&parsed, payload) {
            Err(why) => vec![DiscoveryChange::Refused { topic: topic.to_owned(), why }],
            Ok(Announcement::Remove) => self.remove_topic(topic),
            Ok(Announcement::Migrate) => self.migrate_topic(topic),
            Ok(Announcement::Items(items)) => self.announce(topic, items),
        }
    }

    /// Takes announced items of one topic in order.
    pub(super) fn announce(&mut self, topic: &str, items: Vec<Announced>) -> Vec<DiscoveryChange> {
        let mut changes = Vec::new();
        for Announced { key, config } in items {
            match config {
                None if self.items.get(&key).is_some_and(|item| item.topic == topic) => {
                    self.remove(&key, &mut changes);
                }
                None => {}
                Some(config) => {
                    if let Err(why) = self.item(topic, key, config, &mut changes) {
                        changes.push(DiscoveryChange::Refused { topic: topic.to_owned(), why });
                    }
                }
            }
        }
        changes
    }

    fn item(
        &mut self,
        topic: &str,
        key: ItemKey,
        config: Map<String, Value>,
        changes: &mut Vec<DiscoveryChange>,
    ) -> Result<(), Refusal> {
        if is_own(&config) {
            changes.push(ignored(topic, "it is our own announcement"));
            return Ok(());
        }
        if matches!(key.component.as_str(), "tag" | "device_automation") {
            changes.push(ignored(topic, "a trigger: known, and no entity"));
            return Ok(());
        }
        if build::domain(&key.component).is_none() {
            return Err(Refusal::UnknownComponent(key.component));
        }
        match self.items.get(&key) {
            Some(item) if item.topic == topic && item.config == Keys::of(&config) => Ok(()),
            Some(item) if item.topic == topic => self.change(&key, config, changes),
            Some(item) => Err(Refusal::Conflict(format!(
                "{key} was announced on {} first; this topic may take it over after a migration",
                item.topic
            ))),
            None => self.add(topic, key, config, changes),
        }
    }

    fn add(
        &mut self,
        topic: &str,
        key: ItemKey,
        config: Map<String, Value>,
        changes: &mut Vec<DiscoveryChange>,
    ) -> Result<(), Refusal> {
        if !key.id.starts_with(NATIVE) {
            self.prefer(&config, changes);
        }
        let unique_id = config.get("unique_id").and_then(text_of);
        self.free_unique_id(&key, unique_id.as_deref(), topic)?;
        let device = config.get("device").and_then(Value::as_object).and_then(build::device_id);
        if let Some(device) = &device
            && self.per_device.get(device).copied().unwrap_or(0) >= MAX_PER_DEVICE
        {
            return Err(Refusal::Conflict(format!(
                "device {device:?} announced {MAX_PER_DEVICE} entities already"
            )));
        }
        let domain = build::domain(&key.component).unwrap_or(Domain::Other);
        let (object, names) = self.naming(&key, &config)?;
        let moved = self.migrating.iter().position(|kept| {
            kept.key.component == key.component
                && (kept.key == key || (unique_id.is_some() && kept.unique_id == unique_id))
        });
        let object = match moved.and_then(|at| self.migrating.get(at)) {
            Some(moved) => moved.id.object_id().to_owned(),
            None => object,
        };
        // Everything is read once with a provisional id: a refusal leaves no trace.
        let provisional = names::numbered(domain, &object, 0);
        let first = self.make(topic, &key, &config, provisional, &names.shown)?;
        let Some((claim, place)) = self.ids.claim(domain, &object, topic, &key) else {
            return Err(Refusal::Conflict(format!(
                "{MAX_NAMESAKES} entities are called {domain}.{object} already"
            )));
        };
        // Not before: a refused announcement must not make the next one a new device.
        let moved = moved.map(|at| self.migrating.swap_remove(at));
        if let Some(device) = &device {
            *self.per_device.entry(device.clone()).or_default() += 1;
        }
        if let Some(unique_id) = &unique_id {
            self.unique.insert((key.component.clone(), unique_id.clone()), key.clone());
        }
        // Others first: their old ids may be the one that this item gets.
        self.renumber(&claim, place + 1, changes);
        let id = self.ids.of(&claim, place);
        let made = match first.entity.id == id {
            true => first,
            false => self.make(topic, &key, &config, id, &names.shown)?,
        };
        let (topic, moved_from) = (topic.to_owned(), moved.map(|moved| moved.key));
        let new = New { topic, key, config, object, unique_id, device, moved_from };
        self.keep(new, made, changes);
        Ok(())
    }

    /// Removes everything that `topic` owns.
    pub(super) fn remove_topic(&mut self, topic: &str) -> Vec<DiscoveryChange> {
        let keys = self.items.of_topic(topic);
        let mut changes = Vec::new();
        for key in keys {
            self.remove(&key, &mut changes);
        }
        changes
    }

    /// Unloads what `topic` owns and remembers its ids for the topic that takes over.
    fn migrate_topic(&mut self, topic: &str) -> Vec<DiscoveryChange> {
        let keys = self.items.of_topic(topic);
        let kept: Vec<Migrating> = keys
            .into_iter()
            .filter_map(|key| {
                let item = self.items.get(&key)?;
                Some(Migrating { unique_id: item.unique_id.clone(), id: item.entity.id.clone(), key })
            })
            .collect();
        let changes = self.remove_topic(topic);
        self.migrating.extend(kept);
        changes
    }

    fn remove(&mut self, key: &ItemKey, changes: &mut Vec<DiscoveryChange>) {
        let Some(mut item) = self.items.remove(key) else { return };
        if !item.native {
            self.forget_device(&item.config.read());
        }
        if let Some(unique_id) = item.unique_id.take() {
            self.unique.remove(&(key.component.clone(), unique_id));
        }
        if let Some(count) = item.device.take().and_then(|device| self.per_device.get_mut(&device)) {
            *count = count.saturating_sub(1);
        }
        changes.push(DiscoveryChange::Removed(item.entity.id.clone()));
        let claim = (build::domain(&key.component).unwrap_or(Domain::Other), item.object.clone());
        let place = self.ids.release(&claim, key);
        self.renumber(&claim, place, changes);
    }

    fn fields<'a>(&'a self, config: &'a Map<String, Value>) -> Fields<'a> {
        Fields { map: config, sandbox: &self.sandbox, reserved: &self.reserved }
    }

    fn naming(&self, key: &ItemKey, config: &Map<String, Value>) -> Result<(String, Names), Refusal> {
        let fields = self.fields(config);
        let names = Names::of(fields, &key.component)?;
        Ok((names::object_id(fields, &names.full)?, names))
    }

    /// Builds the entity inside the crash marker, where there are templates that the engine runs.
    fn make(
        &self,
        topic: &str,
        key: &ItemKey,
        config: &Map<String, Value>,
        id: EntityId,
        name: &str,
    ) -> Result<Made, Refusal> {
        let marked = config.values().any(runs_engine);
        if marked {
            self.quarantine.begin(topic);
        }
        let made = build::make(self.fields(config), &key.component, id, name, topic);
        if marked {
            self.quarantine.end(topic);
        }
        made
    }
}

fn ignored(topic: &str, why: &str) -> DiscoveryChange {
    DiscoveryChange::Ignored { topic: topic.to_owned(), why: why.to_owned() }
}

/// Whether there is a template in it that the engine runs.
fn runs_engine(value: &Value) -> bool {
    match value {
        Value::String(text) => template::runs_engine(text),
        Value::Array(items) => items.iter().any(runs_engine),
        Value::Object(map) => map.values().any(runs_engine),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The key and the unique id of an item, with `|` between them and nowhere in the key: announcements choose the ids of
/// their components, and no item's name may begin like that of another.
fn pin_name(key: &ItemKey, unique_id: Option<&str>) -> String {
    let key = key.to_string().replace('\\', r"\\").replace('|', r"\|");
    format!("{key}|{}", unique_id.unwrap_or_default())
}

/// Whether an announcement carries our own origin.
fn is_own(config: &Map<String, Value>) -> bool {
    let origin = config.get("origin").and_then(|origin| origin.get("name")).and_then(Value::as_str);
    let device = config.get("device").and_then(Value::as_object).and_then(build::device_id);
    origin == Some(OWN_NODE) || device.is_some_and(|id| id == OWN_NODE || id.starts_with("homeloop_"))
}
