//! The one writer: a thread that owns the only connection that writes, and commits what waits in one transaction.
//!
//! A job whose own statements fail is rolled back alone; a commit that fails fails every job in it. Nothing is
//! retried behind a caller's back except waiting for a lock: a caller that got an error knows that nothing was stored.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::error::{Health, JournalError};
use super::open::DirLock;
use super::{Durability, Seq, chain};

/// Jobs that share a commit at most; more would make the first of them wait.
const BATCH: usize = 256;

/// How often a sick journal is tried again while nobody writes.
const PROBE: Duration = Duration::from_secs(2);

/// How often one lock wait is repeated before the jobs are refused; with the wait of each (see `open`), 15 s.
const LOCK_WAITS: usize = 3;

/// Tells the caller how its job went, once it is known whether the commit reached the disk.
pub(super) type Settle = Box<dyn FnOnce(Result<(), JournalError>) + Send>;

/// Runs inside the transaction, or is told why there is none. Its own error comes back beside what settles it.
pub(super) type Work =
    Box<dyn FnOnce(Result<&Connection, JournalError>) -> (Settle, Option<JournalError>) + Send>;

pub(super) struct Job {
    pub durability: Durability,
    pub work: Work,
    /// The job's place in the bounded queue; freed when the job is dropped.
    pub _place: Option<OwnedSemaphorePermit>,
}

pub(super) struct Writer {
    pub conn: Connection,
    pub jobs: mpsc::Receiver<Job>,
    pub health: Arc<watch::Sender<Health>>,
    pub head: watch::Sender<Seq>,
    /// Held for as long as the writer lives, so that no second instance opens the directory.
    pub _lock: Option<DirLock>,
}

impl Writer {
    /// Serves until every handle is gone.
    pub(super) fn run(mut self) {
        let mut synced = false;
        while let Some(first) = self.next() {
            let mut batch = vec![first];
            while batch.len() < BATCH
                && let Ok(job) = self.jobs.try_recv()
            {
                batch.push(job);
            }
            self.commit(batch, &mut synced);
        }
        // Leaves one file behind where possible; the log is replayed at the next start if not.
        let _ = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        self.set_health(Health::Closed);
    }

    /// The next job. While the journal is sick it is tried every few seconds, so that it recovers by itself.
    fn next(&mut self) -> Option<Job> {
        loop {
            let sick = match &*self.health.borrow() {
                Health::Good | Health::SafeMode(_) | Health::Corrupt | Health::Closed => false,
                Health::Full | Health::ReadOnly | Health::Busy | Health::Failed(_) => true,
            };
            if !sick {
                return self.jobs.recv().ok();
            }
            match self.jobs.recv_timeout(PROBE) {
                Ok(job) => return Some(job),
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(mpsc::RecvTimeoutError::Timeout) => self.probe(),
            }
        }
    }

    /// A write of no meaning, large enough to need a page of its own.
    fn probe(&mut self) {
        let tried = self.conn.execute_batch(
            "BEGIN IMMEDIATE;
             INSERT OR REPLACE INTO memory VALUES ('journal', 'probe', hex(zeroblob(4096)), 'journal', 0);
             DELETE FROM memory WHERE scope = 'journal' AND key = 'probe';
             COMMIT;",
        );
        if tried.is_err() && !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        self.note(tried.map_err(JournalError::from).as_ref().err());
    }

    fn commit(&mut self, batch: Vec<Job>, synced: &mut bool) {
        let want_synced = batch.iter().any(|job| job.durability == Durability::Synced);
        let mut failed = self.ready(want_synced, synced).and_then(|()| self.begin()).err();
        let mut fault = None;
        let mut settles = Vec::with_capacity(batch.len());
        for job in batch {
            let place = match &failed {
                Some(error) => Err(error.clone()),
                None => Ok(&self.conn),
            };
            let (settle, error) = (job.work)(place);
            settles.push(settle);
            if failed.is_none() && self.conn.is_autocommit() {
                // SQLite answers some faults by rolling the whole transaction back, the earlier jobs included.
                failed =
                    Some(error.clone().unwrap_or(JournalError::Io("the transaction was lost".to_owned())));
            }
            fault = fault.or(error.filter(|error| Health::after(error).is_some()));
        }
        let outcome = match failed {
            Some(error) => Err(error),
            None => self.conn.execute_batch("COMMIT").map_err(JournalError::from),
        };
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        self.note(outcome.as_ref().err().or(fault.as_ref()));
        if outcome.is_ok() {
            self.announce_head();
        }
        for settle in settles {
            settle(outcome.clone());
        }
    }

    /// Sets how hard a commit is: `FULL` syncs the log with each commit, `NORMAL` leaves that to a later one.
    fn ready(&self, want_synced: bool, synced: &mut bool) -> Result<(), JournalError> {
        if let Health::Corrupt = &*self.health.borrow() {
            return Err(JournalError::Corrupt {
                detail: "damage was found while open".to_owned(),
                copy: None,
            });
        }
        if want_synced != *synced {
            let level = if want_synced { "FULL" } else { "NORMAL" };
            self.conn.execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            *synced = want_synced;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), JournalError> {
        for _ in 1..LOCK_WAITS {
            match self.conn.execute_batch("BEGIN IMMEDIATE").map_err(JournalError::from) {
                Err(JournalError::Busy) => self.set_health(Health::Busy),
                done => return done,
            }
        }
        Ok(self.conn.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Draws the health from what a transaction met.
    fn note(&self, error: Option<&JournalError>) {
        if let Some(health) = error.map_or(Some(Health::Good), Health::after) {
            self.set_health(health);
        }
    }

    fn set_health(&self, health: Health) {
        set_health(&self.health, health);
    }

    /// Wakes those who follow the record.
    fn announce_head(&self) {
        if let Ok((seq, _)) = chain::head(&self.conn) {
            self.head.send_if_modified(|now| {
                let moved = *now != seq;
                *now = seq;
                moved
            });
        }
    }
}

/// Moves the health and says so once. Damage and safe mode last until a restart.
pub(super) fn set_health(sender: &watch::Sender<Health>, health: Health) {
    sender.send_if_modified(|now| {
        let stays = matches!(now, Health::Corrupt | Health::SafeMode(_)) && health != Health::Closed;
        let changed = !stays && *now != health;
        if changed {
            match &health {
                Health::Good => tracing::info!("the journal works again"),
                Health::Closed => tracing::debug!("the journal is closed"),
                sick => tracing::error!(health = ?sick, "the journal cannot be relied on"),
            }
            *now = health;
        }
        changed
    });
}
