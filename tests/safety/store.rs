//! Approvals in memory, for tests whose time is simulated. The real store is tested in `stored.rs`.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use homeloop::actuate::{ApprovalStore, PendingLimits, StoreError, Stored, Swap};
use homeloop::policy::{Approval, ApprovalState, Grant};

/// What the disk under the store does with writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disk {
    #[default]
    Good,
    /// Nothing is stored, and the caller is told so.
    Full,
    /// It is stored, and the caller is told that it was not: a commit whose sync failed.
    Unsure,
    /// Rows cannot be read.
    Unreadable,
}

#[derive(Default)]
pub struct MemoryStore {
    pub disk: Mutex<Disk>,
    pub rows: Mutex<Vec<Approval>>,
    pub grants: Mutex<Vec<Grant>>,
    /// Every edge that was taken, in order.
    pub taken: Mutex<Vec<(String, ApprovalState, ApprovalState)>>,
    /// What somebody faster does to the row before the next swap looks at it, once.
    pub faster: Mutex<Option<fn(&mut Approval)>>,
}

impl MemoryStore {
    pub fn row(&self, id: &str) -> Approval {
        self.rows.lock().unwrap().iter().find(|row| row.id == id).cloned().unwrap()
    }

    fn disk(&self) -> Disk {
        *self.disk.lock().unwrap()
    }

    /// Before a write: an error where nothing is stored.
    fn before(&self) -> Result<(), StoreError> {
        if self.disk() == Disk::Full { Err(StoreError("the disk is full".into())) } else { Ok(()) }
    }

    /// After a write: an error where the caller must not rely on it.
    fn after<T>(&self, value: T) -> Result<T, StoreError> {
        if self.disk() == Disk::Unsure { Err(StoreError("the disk did not sync".into())) } else { Ok(value) }
    }

    /// Changes a row behind the door's back, as an intruder in the database would.
    pub fn tamper(&self, id: &str, change: impl FnOnce(&mut Approval)) {
        change(self.rows.lock().unwrap().iter_mut().find(|row| row.id == id).unwrap());
    }
}

impl ApprovalStore for MemoryStore {
    fn insert<'a>(
        &'a self,
        approval: &'a Approval,
        limits: PendingLimits,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        Box::pin(async move {
            self.before()?;
            let mut rows = self.rows.lock().unwrap();
            let pending = || rows.iter().filter(|row| row.state == ApprovalState::Pending);
            let own = pending().filter(|row| row.requester.principal == approval.requester.principal).count();
            if own >= limits.per_requester as usize {
                return Ok(Stored::RequesterFull);
            }
            if pending().count() >= limits.total as usize {
                return Ok(Stored::Full);
            }
            rows.push(approval.clone());
            self.after(Stored::Stored)
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Approval>, StoreError>> {
        Box::pin(async move {
            if self.disk() == Disk::Unreadable {
                return Err(StoreError("the disk cannot be read".into()));
            }
            Ok(self.rows.lock().unwrap().iter().find(|row| row.id == id).cloned())
        })
    }

    fn list<'a>(&'a self, states: &'a [ApprovalState]) -> BoxFuture<'a, Result<Vec<Approval>, StoreError>> {
        Box::pin(async move {
            let rows = self.rows.lock().unwrap();
            Ok(rows.iter().filter(|row| states.contains(&row.state)).cloned().collect())
        })
    }

    fn swap<'a>(&'a self, swap: Swap) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            self.before()?;
            let mut rows = self.rows.lock().unwrap();
            let Some(row) = rows.iter_mut().find(|row| row.id == swap.id) else { return Ok(false) };
            if let Some(faster) = self.faster.lock().unwrap().take() {
                faster(row);
            }
            let as_asked = swap.from.contains(&row.state)
                && swap.plan_hash.as_ref().is_none_or(|hash| *hash == row.plan_hash)
                && swap.unexpired_at.as_ref().is_none_or(|now| !row.expired(now));
            if !as_asked {
                return Ok(false);
            }
            self.taken.lock().unwrap().push((swap.id.clone(), row.state, swap.to));
            row.state = swap.to;
            let fill = |old: &mut Option<String>, new: Option<String>| {
                if new.is_some() {
                    *old = new;
                }
            };
            fill(&mut row.decided_by, swap.decided_by);
            fill(&mut row.decided_via, swap.decided_via);
            fill(&mut row.outcome, swap.outcome);
            if swap.decided_at.is_some() {
                row.decided_at = swap.decided_at;
            }
            self.after(true)
        })
    }

    fn count_wrong_hash<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>> {
        Box::pin(async move {
            self.before()?;
            let mut rows = self.rows.lock().unwrap();
            let row = rows.iter_mut().find(|row| row.id == id);
            self.after(row.map_or(0, |row| {
                row.wrong_hashes += 1;
                row.wrong_hashes
            }))
        })
    }

    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        Box::pin(async move { Ok(self.grants.lock().unwrap().clone()) })
    }

    fn keep_grant<'a>(&'a self, grant: &'a Grant) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.before()?;
            self.grants.lock().unwrap().push(grant.clone());
            self.after(())
        })
    }

    fn drop_grant<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let mut grants = self.grants.lock().unwrap();
            let before = grants.len();
            grants.retain(|grant| grant.id != id);
            Ok(grants.len() < before)
        })
    }
}
