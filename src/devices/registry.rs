//! Which codec speaks for which entity, and the way of a message from its topic into the house.
//!
//! A message is looked up once, decoded once for all entities that read it, and applied. What cannot be read is
//! counted and told at most once an hour for each entity. The registry subscribes to nothing itself: it says which
//! filters are needed, and the link subscribes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::filters::Filters;
use super::{Codec, Decoded, Expiry, Fault, Payload};
use crate::home::{Availability, EntityId, SharedHouse, Stamp, State, Update};

/// Longest state message that is decoded, in bytes. Longer ones are counted as faults.
pub const MAX_STATE_BYTES: usize = 256 * 1024;

/// How much of the latest message of an entity is kept for a person who asks why, in bytes.
const KEPT_BYTES: usize = 4 * 1024;

/// Time between two log lines about faults of one entity.
const FAULT_INTERVAL: Duration = Duration::from_secs(3600);

/// When and how a message came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    pub at: DateTime<Utc>,
    /// Time since boot at arrival.
    pub since_boot: Duration,
    /// Whether the broker marked it as retained: it says what was, not what is.
    pub retained: bool,
    /// Number of the connection that it came on.
    pub connection: u64,
}

/// The latest message that an entity read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastMessage {
    pub topic: String,
    /// At most the first 4 KiB.
    pub payload: Vec<u8>,
    pub cut: bool,
    pub retained: bool,
    pub at: DateTime<Utc>,
    /// Why it could not be read, if it could not.
    pub fault: Option<Fault>,
}

/// How many messages came and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub messages: u64,
    /// Messages on topics that no entity reads.
    pub unread: u64,
    /// Messages that an entity could not read.
    pub faults: u64,
}

/// Codecs by entity with the port `P` that their messages leave through, and the entities by topic filter.
pub struct Registry<P: ?Sized> {
    house: SharedHouse,
    inner: RwLock<Inner<P>>,
    messages: AtomicU64,
    unread: AtomicU64,
    faults: AtomicU64,
}

struct Inner<P: ?Sized> {
    entries: HashMap<EntityId, Arc<Entry<P>>>,
    filters: Filters<Known<P>>,
    /// How many entities need a filter.
    needed: HashMap<String, usize>,
    /// Entities for which silence means something.
    expiring: HashMap<EntityId, Arc<Entry<P>>>,
}

/// An entry in the trie: the same entry under several filters is one.
struct Known<P: ?Sized>(Arc<Entry<P>>);

impl<P: ?Sized> PartialEq for Known<P> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

struct Entry<P: ?Sized> {
    id: EntityId,
    codec: Arc<dyn Codec>,
    port: Arc<P>,
    filters: Vec<String>,
    expiry: Expiry,
    /// When it falls silent and when its value goes back to off, in milliseconds since boot; 0: never.
    silent_at: AtomicU64,
    off_at: AtomicU64,
    /// Number of the last message that it was given: two filters of one entity may match one topic.
    seen: AtomicU64,
    faults: AtomicU64,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    last: Option<LastMessage>,
    /// Time since boot of the last log line about a fault.
    told: Option<Duration>,
}

impl<P: ?Sized> Registry<P> {
    /// A registry that applies reports to `house`.
    pub fn new(house: SharedHouse) -> Self {
        Self {
            house,
            inner: RwLock::new(Inner {
                entries: HashMap::new(),
                filters: Filters::default(),
                needed: HashMap::new(),
                expiring: HashMap::new(),
            }),
            messages: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            faults: AtomicU64::new(0),
        }
    }

    /// Takes one message in. It must be called in the order of arrival.
    pub fn on_message(&self, topic: &str, payload: &[u8], arrival: Arrival) {
        let number = 1 + self.messages.fetch_add(1, Ordering::Relaxed);
        let payload = Payload::new(payload, arrival.retained);
        let mut read = false;
        self.inner().filters.each_match(topic, |Known(entry)| {
            read = true;
            if entry.seen.swap(number, Ordering::Relaxed) != number {
                self.give(entry, topic, &payload, arrival);
            }
        });
        if !read {
            self.unread.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn give(&self, entry: &Entry<P>, topic: &str, payload: &Payload<'_>, arrival: Arrival) {
        let bytes = payload.bytes().len();
        let decoded = if bytes > MAX_STATE_BYTES {
            Decoded::Fault(Fault::TooLong { bytes, limit: MAX_STATE_BYTES })
        } else {
            let house = self.house.read();
            let unknown = State::default();
            entry.codec.decode(topic, payload, house.state(entry.id.as_str()).unwrap_or(&unknown))
        };
        match decoded {
            Decoded::Report(update) => {
                entry.keep(topic, payload, arrival, None);
                let stamp = Stamp {
                    at: arrival.at,
                    since_boot: arrival.since_boot,
                    live: !arrival.retained,
                    connection: arrival.connection,
                    // Given by the house.
                    sequence: 0,
                };
                self.house.apply(&entry.id, &update, stamp);
                entry.postpone(topic, &update, arrival.since_boot);
            }
            Decoded::Nothing => entry.keep(topic, payload, arrival, None),
            Decoded::Fault(fault) => {
                self.faults.fetch_add(1, Ordering::Relaxed);
                entry.fault(topic, payload, arrival, fault);
            }
        }
    }

    /// Sets who speaks for an entity, in place of any codec before. Returns the filters that must be subscribed to
    /// now and were not needed before.
    pub fn insert(&self, id: EntityId, codec: Arc<dyn Codec>, port: Arc<P>) -> Vec<String> {
        let mut filters = codec.subscriptions();
        filters.sort_unstable();
        filters.dedup();
        let entry = Arc::new(Entry {
            id: id.clone(),
            expiry: codec.expiry(),
            codec,
            port,
            filters,
            silent_at: AtomicU64::new(0),
            off_at: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            heard: Mutex::default(),
        });
        let mut inner = self.inner_mut();
        let mut new = Vec::new();
        for filter in &entry.filters {
            inner.filters.insert(filter, Known(entry.clone()));
            let needed = inner.needed.entry(filter.clone()).or_default();
            *needed += 1;
            if *needed == 1 {
                new.push(filter.clone());
            }
        }
        match entry.expiry == Expiry::default() {
            true => inner.expiring.remove(&id),
            false => inner.expiring.insert(id.clone(), entry.clone()),
        };
        if let Some(old) = inner.entries.insert(id, entry.clone()) {
            entry.inherit(&old);
            inner.release(&old);
        }
        new
    }

    /// Forgets an entity. Returns the filters that nobody needs any more.
    pub fn remove(&self, id: &EntityId) -> Vec<String> {
        let mut inner = self.inner_mut();
        inner.expiring.remove(id.as_str());
        match inner.entries.remove(id.as_str()) {
            Some(entry) => inner.release(&entry),
            None => Vec::new(),
        }
    }

    /// Applies what the silence of entities means by `now` (see [`Expiry`]). Nothing of it is a report: it confirms no
    /// action. To be called a few times a second.
    pub fn expire(&self, now: Arrival) {
        let due: Vec<(Arc<Entry<P>>, Update)> = {
            let inner = self.inner();
            let due = |entry: &Arc<Entry<P>>| Some((entry.clone(), entry.due(now.since_boot)?));
            inner.expiring.values().filter_map(due).collect()
        };
        for (entry, update) in due {
            let stamp = Stamp {
                at: now.at,
                since_boot: now.since_boot,
                live: false,
                connection: now.connection,
                sequence: 0,
            };
            self.house.apply(&entry.id, &update, stamp);
        }
    }

    /// The codec of an entity, and the port that its messages leave through.
    pub fn speaker(&self, id: &EntityId) -> Option<(Arc<dyn Codec>, Arc<P>)> {
        let inner = self.inner();
        let entry = inner.entries.get(id.as_str())?;
        Some((entry.codec.clone(), entry.port.clone()))
    }

    /// Every filter that is needed, in a stable order.
    pub fn subscriptions(&self) -> Vec<String> {
        let mut filters: Vec<String> = self.inner().needed.keys().cloned().collect();
        filters.sort_unstable();
        filters
    }

    /// The latest message of an entity, for a person who asks why its state is what it is.
    pub fn last_message(&self, id: &EntityId) -> Option<LastMessage> {
        self.inner().entries.get(id.as_str())?.heard().last.clone()
    }

    /// How many messages of an entity could not be read.
    pub fn faults(&self, id: &EntityId) -> u64 {
        self.inner().entries.get(id.as_str()).map_or(0, |entry| entry.faults.load(Ordering::Relaxed))
    }

    pub fn counts(&self) -> Counts {
        Counts {
            messages: self.messages.load(Ordering::Relaxed),
            unread: self.unread.load(Ordering::Relaxed),
            faults: self.faults.load(Ordering::Relaxed),
        }
    }

    /// A message is read while the house is locked or waited for, and others ask for codecs while they hold the house:
    /// no reader may wait for a writer that waits itself.
    fn inner(&self) -> RwLockReadGuard<'_, Inner<P>> {
        self.inner.read_recursive()
    }

    fn inner_mut(&self) -> RwLockWriteGuard<'_, Inner<P>> {
        self.inner.write()
    }
}

impl<P: ?Sized> Inner<P> {
    /// Takes an entry out of the trie; returns the filters that nobody needs any more.
    fn release(&mut self, entry: &Arc<Entry<P>>) -> Vec<String> {
        let mut free = Vec::new();
        for filter in &entry.filters {
            self.filters.remove(filter, &Known(entry.clone()));
            if let Some(needed) = self.needed.get_mut(filter) {
                *needed -= 1;
                if *needed == 0 {
                    self.needed.remove(filter);
                    free.push(filter.clone());
                }
            }
        }
        free
    }
}

impl<P: ?Sized> Entry<P> {
    /// Something was heard: what silence would mean is put off, or off again.
    fn postpone(&self, topic: &str, update: &Update, now: Duration) {
        let at = |after: Duration| millis(now + after).max(1);
        if let Some(after) = self.expiry.unavailable_after
            && self.codec.is_sign_of_life(topic)
        {
            self.silent_at.store(at(after), Ordering::Relaxed);
        }
        if let (Some(after), Some(value)) = (self.expiry.off_after, &update.value) {
            let on = value.as_deref() == Some("on");
            self.off_at.store(if on { at(after) } else { 0 }, Ordering::Relaxed);
        }
    }

    /// What silence means by now, once.
    fn due(&self, now: Duration) -> Option<Update> {
        let passed = |at: &AtomicU64| {
            let when = at.load(Ordering::Relaxed);
            // A message that comes at this very moment has put it off.
            when != 0
                && when <= millis(now)
                && at.compare_exchange(when, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let mut update = Update::default();
        if passed(&self.silent_at) {
            self.codec.fell_silent();
            update.availability = Some(Availability::Offline);
        }
        if passed(&self.off_at) {
            update.value = Some(Some("off".into()));
        }
        Some(update).filter(|update| !update.is_empty())
    }

    /// Takes over what the entry of a changed announcement knew.
    fn inherit(&self, before: &Self) {
        if self.expiry.unavailable_after.is_some() {
            self.silent_at.store(before.silent_at.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        if self.expiry.off_after.is_some() {
            self.off_at.store(before.off_at.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the message in the space of the one before.
    fn keep(&self, topic: &str, payload: &Payload<'_>, arrival: Arrival, fault: Option<Fault>) {
        let bytes = payload.bytes();
        let kept = bytes.get(..KEPT_BYTES).unwrap_or(bytes);
        let mut heard = self.heard();
        let last = heard.last.get_or_insert_with(|| LastMessage {
            topic: String::new(),
            payload: Vec::new(),
            cut: false,
            retained: false,
            at: arrival.at,
            fault: None,
        });
        last.topic.clear();
        last.topic.push_str(topic);
        last.payload.clear();
        last.payload.extend_from_slice(kept);
        last.cut = kept.len() < bytes.len();
        last.retained = arrival.retained;
        last.at = arrival.at;
        last.fault = fault;
    }

    fn fault(&self, topic: &str, payload: &Payload<'_>, arrival: Arrival, fault: Fault) {
        let count = 1 + self.faults.fetch_add(1, Ordering::Relaxed);
        let due = |told: Duration| arrival.since_boot.saturating_sub(told) >= FAULT_INTERVAL;
        let mut heard = self.heard();
        if heard.told.is_none_or(due) {
            heard.told = Some(arrival.since_boot);
            tracing::warn!(entity = %self.id, topic, %fault, count, "a message could not be read; the state stays");
        }
        drop(heard);
        self.keep(topic, payload, arrival, Some(fault));
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
