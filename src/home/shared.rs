//! A house that many tasks read and few write, with a stream of what changed.
//!
//! No caller may hold a guard over an await, and the compiler says so (the guard is not `Send`). Whoever reads may read
//! again further down: such a read never waits for a writer that waits itself, which would stop the whole house. The price
//! is that readers without a pause between them keep a report waiting; nobody reads for long.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::broadcast;

use super::entity::EntityId;
use super::house::{Change, House};
use super::state::{Stamp, Update};

/// Changes that a slow reader may lag behind before it is told that it lost some.
const CHANGES: usize = 4096;

#[derive(Clone)]
pub struct SharedHouse {
    inner: Arc<Inner>,
}

struct Inner {
    house: RwLock<House>,
    changes: broadcast::Sender<Change>,
    /// Entities whose every report is wanted, changed or not, with the number of those who want it.
    watched: Mutex<HashMap<EntityId, usize>>,
}

impl SharedHouse {
    pub fn new(house: House) -> Self {
        let (changes, _) = broadcast::channel(CHANGES);
        Self { inner: Arc::new(Inner { house: RwLock::new(house), changes, watched: Mutex::default() }) }
    }

    pub fn read(&self) -> RwLockReadGuard<'_, House> {
        self.inner.house.read_recursive()
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, House> {
        self.inner.house.write()
    }

    /// Applies a report and tells those who listen. A report that changed nothing wakes nobody, unless somebody
    /// waits for this entity's reports ([`SharedHouse::watch`]).
    pub fn apply(&self, id: &EntityId, update: &Update, stamp: Stamp) {
        let mut house = self.write();
        let Some(changed) = house.apply(id, update, stamp) else { return };
        let wanted = changed || self.watched().contains_key(id);
        if wanted && let Some(state) = house.state(id.as_str()) {
            // No receiver is no fault.
            let _ = self.inner.changes.send(Change { entity: id.clone(), state: state.clone(), changed });
        }
    }

    /// Changes from now on. Repeated reports of watched entities are among them (`changed` is false).
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.inner.changes.subscribe()
    }

    /// Every report of `entities` from now on, also those that repeat what is known, until the watch is dropped.
    pub fn watch(&self, entities: Vec<EntityId>) -> Watch {
        let changes = self.changes();
        let mut watched = self.watched();
        for id in &entities {
            *watched.entry(id.clone()).or_default() += 1;
        }
        drop(watched);
        Watch { changes, entities, house: self.clone() }
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, HashMap<EntityId, usize>> {
        self.inner.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`SharedHouse::watch`].
pub struct Watch {
    pub changes: broadcast::Receiver<Change>,
    entities: Vec<EntityId>,
    house: SharedHouse,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.house.watched();
        for id in &self.entities {
            if let Some(count) = watched.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    watched.remove(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::home::Places;

    #[test]
    fn whoever_reads_may_read_again_while_a_report_waits() {
        let house = SharedHouse::new(House::new(Places::default()));
        let (done, ended) = mpsc::channel();
        let reading = house.read();
        let writer = std::thread::spawn({
            let house = house.clone();
            move || {
                drop(house.write());
                done.send(()).unwrap();
            }
        });
        // An ordinary read is refused as soon as a writer waits: then a further read must get through all the same.
        while house.inner.house.try_read().is_some() {
            std::thread::yield_now();
        }
        assert_eq!(house.read().len(), 0);
        assert!(ended.try_recv().is_err(), "nobody writes while somebody reads");
        drop(reading);
        writer.join().unwrap();
        assert!(ended.try_recv().is_ok());
    }
}
