//! Home Assistant as the daemon holds it: what it has put into the house, and how it stands.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};

use super::codec::HassCodec;
use super::connection::{self, HassSettings, Problem, Status};
use super::entities::{Draft, Twins, changes_what_it_can_do};
use super::port::{Calls, HassPort};
use super::protocol::Incoming;
use super::states::{self, Entities, Report};
use crate::actuate::Port;
use crate::clock::Clock;
use crate::devices::registry::Registry;
use crate::home::{Entity, EntityId, House, SharedHouse, Stamp};

/// What Home Assistant is connected to on our side.
pub struct Parts {
    pub settings: HassSettings,
    pub house: SharedHouse,
    pub registry: Arc<Registry<dyn Port>>,
    pub clock: Clock,
    /// Whether an entity is known already by another path.
    pub twins: Twins,
    /// Corrects an entity by the home file; `false` hides it.
    pub prepare: Arc<dyn Fn(&mut Entity) -> bool + Send + Sync>,
    /// Called when entities came, changed or went.
    pub changed: Arc<dyn Fn() + Send + Sync>,
}

/// A handle on the connection. It ends when [`Hass::run`] is dropped.
#[derive(Clone)]
pub struct Hass {
    inner: Arc<Inner>,
}

impl Hass {
    pub fn new(parts: Parts) -> Self {
        let inner = Inner {
            settings: parts.settings,
            house: parts.house,
            registry: parts.registry,
            clock: parts.clock,
            twins: parts.twins,
            prepare: parts.prepare,
            changed: parts.changed,
            status: watch::Sender::new(Status::Down(None)),
            calls: Mutex::default(),
            connection: AtomicU64::new(0),
            again: Notify::new(),
            told: watch::Sender::new(0),
            ours: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Connects and follows, for ever.
    pub async fn run(self) {
        connection::run(self.inner).await;
    }

    pub fn status(&self) -> watch::Receiver<Status> {
        self.inner.status.subscribe()
    }

    /// Looks at the registries again: what is known by another path may have changed.
    pub fn look_again(&self) {
        self.inner.again.notify_one();
    }

    /// The area id of a device of Home Assistant, where it has one.
    pub fn area_of(&self, device: &str) -> Option<String> {
        self.inner.ours().device_areas.get(device).cloned()
    }
}

pub(super) struct Inner {
    pub(super) settings: HassSettings,
    pub(super) house: SharedHouse,
    registry: Arc<Registry<dyn Port>>,
    clock: Clock,
    pub(super) twins: Twins,
    prepare: Arc<dyn Fn(&mut Entity) -> bool + Send + Sync>,
    changed: Arc<dyn Fn() + Send + Sync>,
    pub(super) status: watch::Sender<Status>,
    /// The requests of the present connection.
    calls: Mutex<Option<Arc<Calls>>>,
    connection: AtomicU64,
    again: Notify,
    /// Counts events of states: the first one after a subscription holds everything.
    pub(super) told: watch::Sender<u64>,
    ours: Mutex<Ours>,
}

/// What we have put into the house.
#[derive(Default)]
pub(super) struct Ours {
    pub(super) drafts: HashMap<EntityId, Draft>,
    pub(super) entities: HashSet<EntityId>,
    pub(super) areas: HashSet<String>,
    pub(super) floors: HashSet<String>,
    pub(super) device_areas: HashMap<String, String>,
    pub(super) celsius: bool,
    /// Id of the standing subscription to states.
    pub(super) subscription: Option<u64>,
}

impl Inner {
    pub(super) fn ours(&self) -> MutexGuard<'_, Ours> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests of a connection that stands and is up to date.
    pub(super) fn ready(&self) -> Option<Arc<Calls>> {
        if !matches!(&*self.status.borrow(), Status::Up { .. }) {
            return None;
        }
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection.load(Ordering::Relaxed)
    }

    pub(super) async fn asked_again(&self) {
        self.again.notified().await;
    }

    pub(super) fn connected(&self, calls: Arc<Calls>) {
        self.connection.fetch_add(1, Ordering::Relaxed);
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) = Some(calls);
        self.ours().subscription = None;
    }

    pub(super) fn down(&self, problem: Problem) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let news = Status::Down(Some(problem));
        // The same problem again and again is told once.
        if self.status.send_if_modified(|status| {
            let changed = *status != news;
            if changed {
                status.clone_from(&news);
            }
            changed
        }) && let Status::Down(Some(problem)) = news
        {
            tracing::warn!(%problem, "Home Assistant is not used");
        }
    }

    /// Takes one message in; says whether the registries must be read again.
    pub(super) fn take(self: &Arc<Self>, message: Incoming, calls: &Calls) -> bool {
        match message {
            Incoming::Result { id, success: true, result, .. } => calls.answered(id, Ok(result)),
            Incoming::Result { id, error, .. } => {
                let error = error.unwrap_or(super::protocol::CallError {
                    code: "unknown".into(),
                    message: "no reason was given".into(),
                });
                calls.answered(id, Err(error));
            }
            Incoming::Event { event, .. } if event.get("event_type").is_some() => return true,
            Incoming::Event { event, .. } => return self.states(event),
            Incoming::AuthRequired { .. }
            | Incoming::AuthOk { .. }
            | Incoming::AuthInvalid { .. }
            | Incoming::Pong {}
            | Incoming::Other => {}
        }
        false
    }

    /// Takes states in; says whether the registries must be read again.
    fn states(self: &Arc<Self>, event: Value) -> bool {
        let Ok(event) = serde_json::from_value::<Entities>(event) else { return false };
        let mut again = false;
        let first = event.c.is_empty() && event.r.is_empty();
        if !event.a.is_empty() {
            self.install(&event.a);
        }
        // A subscription made anew repeats every state; what was known from this connection is no report of a device.
        let whole = event
            .a
            .iter()
            .filter_map(|(id, state)| states::whole(id, state))
            .filter(|report| !self.repeats(report));
        let differences = event.c.iter().filter_map(|(id, change)| {
            again |= changes_what_it_can_do(change);
            states::difference(id, change)
        });
        for Report { id, update, live } in whole.chain(differences) {
            let known = { self.ours().entities.contains(&id) };
            if known {
                let live =
                    live && self.house.read().entity(id.as_str()).is_none_or(|known| known.reports_state);
                self.house.apply(&id, &update, self.stamp(live));
            }
        }
        if !event.r.is_empty() {
            let gone: Vec<EntityId> = event.r.iter().filter_map(|id| EntityId::parse(id).ok()).collect();
            self.remove(&gone);
        }
        if first {
            self.told.send_modify(|count| *count += 1);
        }
        again
    }

    fn repeats(&self, report: &Report) -> bool {
        let house = self.house.read();
        house.state(report.id.as_str()).is_some_and(|known| {
            known.reported.is_some_and(|stamp| stamp.live && stamp.connection == self.connection())
                && states::is_known(&report.update, known)
        })
    }

    fn stamp(&self, live: bool) -> Stamp {
        Stamp {
            at: self.clock.now(),
            since_boot: self.clock.since_boot(),
            live,
            connection: self.connection(),
            // Given by the house.
            sequence: 0,
        }
    }

    /// Puts entities into the house whose whole states came.
    fn install(self: &Arc<Self>, states: &Map<String, Value>) {
        let none = Map::new();
        let mut made = Vec::new();
        {
            let ours = self.ours();
            for (id, state) in states {
                let Some(draft) = ours.drafts.get(id.as_str()) else { continue };
                let attributes = state.get("a").and_then(Value::as_object).unwrap_or(&none);
                made.push(draft.entity(attributes, ours.celsius));
            }
        }
        made.retain_mut(|entity| (self.prepare)(entity));
        let codec = Arc::new(HassCodec);
        let port: Arc<dyn Port> = Arc::new(HassPort(self.clone()));
        let mut ids = Vec::with_capacity(made.len());
        {
            let mut house = self.house.write();
            for entity in made {
                let known = house.entity(entity.id.as_str());
                if known.is_some_and(|known| known.source != super::SOURCE) {
                    // The home file or an announcement has this id: theirs is the same thing, and the shorter way.
                    continue;
                }
                ids.push(entity.id.clone());
                // An entity that is as it was leaves everything derived from the house as it is.
                if known.is_none_or(|known| **known != entity) {
                    house.insert(entity);
                }
            }
        }
        for id in &ids {
            self.registry.insert(id.clone(), codec.clone(), port.clone());
        }
        self.ours().entities.extend(ids);
        (self.changed)();
    }

    pub(super) fn remove(&self, gone: &[EntityId]) {
        let gone: Vec<&EntityId> = {
            let mut ours = self.ours();
            gone.iter().filter(|id| ours.entities.remove(*id)).collect()
        };
        if gone.is_empty() {
            return;
        }
        // The registry is asked when the house is free again: it gives messages to the house while it is locked itself.
        let removed: Vec<&EntityId> = {
            let mut house = self.house.write();
            // Another path may have taken the id meanwhile.
            let is_ours = |house: &House, id: &EntityId| {
                house.entity(id.as_str()).is_some_and(|entity| entity.source == super::SOURCE)
            };
            gone.into_iter().filter(|id| is_ours(&house, id) && house.remove(id)).collect()
        };
        for id in removed {
            self.registry.remove(id);
        }
        (self.changed)();
    }
}
