//! The record: SQLite in one state directory, one writer, readers on connections of their own.
//!
//! The heart is the append-only table of events with a hash chain over it ([`Journal::append`], [`Journal::verify`]);
//! a task's state is a fold over its events. Beside it, in the same file and the same transactions: approvals with
//! compare-and-swap ([`approvals`]), schedules and timers ([`due`]), lists ([`lists`]), memory, budget and first
//! results by command id ([`memory`]), and the embedded broker's retained messages.
//!
//! It knows plain types only: what an event's kind and JSON mean, which edge of an approval is allowed, and when a
//! schedule is due is decided above. It does not sign anything: the chain shows changes, it does not prove who wrote.
//!
//! Every fault is a typed [`JournalError`], and nothing is stored when one is returned; [`Journal::health`] says
//! whether a gated action may be promised at all.

pub mod approvals;
mod chain;
pub mod due;
mod error;
mod events;
pub mod lists;
pub mod memory;
mod open;
mod retain;
mod retained;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::clock::Clock;
use writer::{Job, Settle, Writer};

pub use chain::{Break, Verification};
pub use error::{Health, JournalError};
pub use events::{Event, NewEvent, TaskRow};
pub use open::{exists, holder, set_aside};
pub use retain::Cut;
pub use retained::RetainedRow;

/// An event's number. Counts from 1 without gaps over the whole journal.
pub type Seq = i64;

/// Writes that may wait for the writer; the next caller waits for a place.
const QUEUE: usize = 1024;

/// Reads that run at the same time.
const READERS: usize = 4;

/// What is promised when a write returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Survives a crash of homeloop; a power cut may lose the last moments.
    Normal,
    /// Is on disk (fsync) before the call returns. What must not be done twice or forgotten.
    Synced,
}

/// A handle on the journal; cheap to clone. The file is closed and unlocked when the last handle is dropped.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    /// `None` in memory: reads then go through the writer's connection.
    path: Option<PathBuf>,
    writer: Mutex<Option<(mpsc::Sender<Job>, JoinHandle<()>)>>,
    places: Arc<Semaphore>,
    idle_readers: Mutex<Vec<Connection>>,
    reading: Semaphore,
    health: Arc<watch::Sender<Health>>,
    head: watch::Receiver<Seq>,
    /// Why nothing durable is promised, in safe mode.
    safe_mode: Option<String>,
    retained: Arc<retained::Pending>,
    writes: AtomicU64,
}

impl Journal {
    /// Opens the journal of a state directory, which is made where it is missing. Blocks for as long as SQLite's quick
    /// check takes.
    ///
    /// # Errors
    /// [`JournalError::Locked`] when another instance runs, [`JournalError::NewerSchema`], [`JournalError::Corrupt`]
    /// with where the copy is, [`JournalError::ReadOnly`], [`JournalError::Full`], [`JournalError::Io`]. After any but
    /// `Locked` the caller may go on with [`Journal::safe_mode`].
    pub fn open(dir: &Path, clock: Clock) -> Result<Self, JournalError> {
        let lock = open::lock(dir)?;
        let conn = open::writer(dir)?;
        Self::start(conn, Some(open::database(dir)), Some(lock), None, clock)
    }

    /// Opens a journal for reading beside a daemon that may be running. Every write is refused as
    /// [`JournalError::ReadOnly`].
    pub fn open_read_only(dir: &Path, clock: Clock) -> Result<Self, JournalError> {
        let path = open::database(dir);
        let conn = open::reader(&path)?;
        Self::start(conn, Some(path), None, None, clock)
    }

    /// An empty journal in memory that works like one on disk: for tests, and for commands that leave nothing behind.
    pub fn in_memory(clock: Clock) -> Result<Self, JournalError> {
        Self::start(open::in_memory()?, None, None, None, clock)
    }

    /// An empty journal in memory that refuses every [`Durability::Synced`] write, so that no gated action can be
    /// promised: what the daemon runs on when its own file cannot be used. `reason` is shown to people.
    pub fn safe_mode(clock: Clock, reason: &str) -> Result<Self, JournalError> {
        Self::start(open::in_memory()?, None, None, Some(reason.to_owned()), clock)
    }

    fn start(
        conn: Connection,
        path: Option<PathBuf>,
        lock: Option<open::DirLock>,
        safe_mode: Option<String>,
        clock: Clock,
    ) -> Result<Self, JournalError> {
        let first = match (&safe_mode, conn.is_readonly("main")?) {
            (Some(reason), _) => Health::SafeMode(reason.clone()),
            (None, true) => Health::ReadOnly,
            (None, false) => Health::Good,
        };
        let health = Arc::new(watch::Sender::new(first));
        let (head_sender, head) = watch::channel(chain::head(&conn)?.0);
        let (sender, jobs) = mpsc::channel();
        let writer = Writer { conn, jobs, health: Arc::clone(&health), head: head_sender, _lock: lock };
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(move || writer.run())?;
        Ok(Self {
            inner: Arc::new(Inner {
                clock,
                path,
                writer: Mutex::new(Some((sender, thread))),
                places: Arc::new(Semaphore::new(QUEUE)),
                idle_readers: Mutex::default(),
                reading: Semaphore::new(READERS),
                health,
                head,
                safe_mode,
                retained: Arc::default(),
                writes: AtomicU64::new(0),
            }),
        })
    }

    /// Waits until everything written so far is stored, then closes the file and frees the directory. Later calls on
    /// any handle get [`JournalError::Closed`].
    pub async fn close(&self) {
        let Some((sender, thread)) = self.inner.take_writer() else { return };
        drop(sender);
        if self.inner.clock.is_simulated() {
            let _ = thread.join();
        } else {
            // A panic of the writer shows as Closed to everyone who waited for it.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    /// Whether the journal can be relied on now.
    pub fn health(&self) -> Health {
        self.inner.health.borrow().clone()
    }

    /// Follows the health.
    pub fn health_changes(&self) -> watch::Receiver<Health> {
        self.inner.health.subscribe()
    }

    /// Follows the number of the last event: who waits on it reads on with [`Journal::since`].
    pub fn head(&self) -> watch::Receiver<Seq> {
        self.inner.head.clone()
    }

    /// Write transactions asked for since the start.
    pub fn writes(&self) -> u64 {
        self.inner.writes.load(Ordering::Relaxed)
    }

    /// Caps the size of the file, so that the journal cannot fill the disk; writes beyond it fail as
    /// [`JournalError::Full`]. In bytes, rounded down to SQLite's pages of 4 KiB, never below what is in use.
    pub async fn set_size_limit(&self, bytes: u64) -> Result<(), JournalError> {
        self.write(Durability::Normal, move |conn| {
            let page: i64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = (i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1)).max(1);
            conn.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0))?;
            Ok(())
        })
        .await
    }

    fn now(&self) -> DateTime<Utc> {
        self.inner.clock.now()
    }

    /// Runs `work` in a write transaction; it is undone as a whole when it returns an error.
    async fn write<T, F>(&self, durability: Durability, work: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
    {
        if let (Durability::Synced, Some(reason)) = (durability, &self.inner.safe_mode) {
            return Err(JournalError::SafeMode(reason.clone()));
        }
        self.inner.writes.fetch_add(1, Ordering::Relaxed);
        self.on_writer(durability, move |conn| in_savepoint(conn, work)).await
    }

    /// Runs `work` on a connection that only reads, in one snapshot if it opens a transaction.
    async fn read<T, F>(&self, work: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
    {
        let Some(path) = &self.inner.path else {
            return self.on_writer(Durability::Normal, work).await;
        };
        let _reading = self.inner.reading.acquire().await.map_err(|_| JournalError::Closed)?;
        if self.inner.writer.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Err(JournalError::Closed);
        }
        let idle = self.idle_readers().pop();
        let path = path.clone();
        let run = move || {
            let conn = match idle {
                Some(conn) => conn,
                None => open::reader(&path)?,
            };
            let result = work(&conn)?;
            Ok((conn, result))
        };
        let done = if self.inner.clock.is_simulated() {
            run()
        } else {
            tokio::task::spawn_blocking(run)
                .await
                .unwrap_or_else(|error| Err(JournalError::Io(error.to_string())))
        };
        match done {
            Ok((conn, result)) => {
                self.idle_readers().push(conn);
                Ok(result)
            }
            Err(error) => {
                if let JournalError::Corrupt { .. } = error {
                    writer::set_health(&self.inner.health, Health::Corrupt);
                }
                Err(error)
            }
        }
    }

    fn idle_readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.inner.idle_readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands `work` to the writer and waits. Under a simulated clock it waits in place, because paused time would run
    /// ahead while the runtime waits for another thread.
    async fn on_writer<T, F>(&self, durability: Durability, work: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
    {
        if self.inner.clock.is_simulated() {
            let (reply, answer) = mpsc::sync_channel(1);
            self.inner.enqueue(durability, None, work, move |result| drop(reply.send(result)))?;
            return answer.recv().unwrap_or(Err(JournalError::Closed));
        }
        let place = Arc::clone(&self.inner.places).acquire_owned().await.map_err(|_| JournalError::Closed)?;
        let (reply, answer) = oneshot::channel();
        self.inner.enqueue(durability, Some(place), work, move |result| drop(reply.send(result)))?;
        answer.await.unwrap_or(Err(JournalError::Closed))
    }
}

impl Inner {
    fn enqueue<T, F, R>(
        &self,
        durability: Durability,
        place: Option<tokio::sync::OwnedSemaphorePermit>,
        work: F,
        reply: R,
    ) -> Result<(), JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
        R: FnOnce(Result<T, JournalError>) + Send + 'static,
    {
        let work = move |conn: Result<&Connection, JournalError>| {
            let result = conn.and_then(work);
            let error = result.as_ref().err().cloned();
            let settle: Settle = Box::new(move |committed| reply(committed.and(result)));
            (settle, error)
        };
        self.send(Job { durability, work: Box::new(work), _place: place })
    }

    fn send(&self, job: Job) -> Result<(), JournalError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, _) = writer.as_ref().ok_or(JournalError::Closed)?;
        sender.send(job).map_err(|_| JournalError::Closed)
    }

    fn take_writer(&self) -> Option<(mpsc::Sender<Job>, JoinHandle<()>)> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.take_writer() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn in_savepoint<T>(
    conn: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    conn.prepare_cached("SAVEPOINT job")?.execute([])?;
    let result = work(conn);
    // After some faults SQLite has rolled back by itself; the writer sees that.
    if !conn.is_autocommit() {
        if result.is_err() {
            conn.prepare_cached("ROLLBACK TO job")?.execute([])?;
        }
        conn.prepare_cached("RELEASE job")?.execute([])?;
    }
    result
}

/// Milliseconds since 1970, as every time is stored.
fn millis(time: DateTime<Utc>) -> i64 {
    time.timestamp_millis()
}

/// Back from milliseconds; a value outside chrono's range, which only a damaged row can hold, is 1970.
fn from_millis(millis: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH.checked_add_signed(TimeDelta::milliseconds(millis)).unwrap_or(DateTime::UNIX_EPOCH)
}
