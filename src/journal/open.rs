//! Opening the state directory: the lock, a new file, an old file, and a file that cannot be trusted.
//!
//! Nothing is repaired here. A damaged file stays where it is, a copy is kept beside it, and the caller goes into
//! safe mode; [`set_aside`] is for the person who decides to begin again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};

use super::error::JournalError;
use super::schema;

const FILE: &str = "journal.db";
const LOCK_FILE: &str = "homeloop.lock";

/// Files that belong together: SQLite's log holds commits that the main file does not have yet.
const FILES: [&str; 3] = [FILE, "journal.db-wal", "journal.db-shm"];

/// One wait for a lock that another process holds; the writer waits three times.
const LOCK_WAIT: Duration = Duration::from_secs(5);

pub(super) fn database(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// The directory is this process's until this is dropped.
#[derive(Debug)]
pub(super) struct DirLock(File);

impl Drop for DirLock {
    fn drop(&mut self) {
        // Closing alone would not free it while a child that is just being started holds a copy of every open file.
        let _ = self.0.unlock();
    }
}

/// Takes the directory for this process.
pub(super) fn lock(dir: &Path) -> Result<DirLock, JournalError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.join(LOCK_FILE))?;
    match file.try_lock() {
        Ok(()) => {
            let lock = DirLock(file);
            lock.0.set_len(0)?;
            write!(&lock.0, "{}", std::process::id())?;
            Ok(lock)
        }
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // The number is for the message alone.
            let _ = file.read_to_string(&mut pid);
            Err(JournalError::Locked { dir: dir.to_owned(), pid: pid.trim().to_owned() })
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Which process holds the directory, as far as it said; `None` where none does. Nothing is made and nothing is kept.
pub fn holder(dir: &Path) -> Result<Option<String>, JournalError> {
    let mut file = match File::open(dir.join(LOCK_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match file.try_lock() {
        Ok(()) => {
            drop(DirLock(file));
            Ok(None)
        }
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // The number is for the message alone.
            let _ = file.read_to_string(&mut pid);
            Ok(Some(pid.trim().to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Whether there is a journal in the directory.
pub fn exists(dir: &Path) -> bool {
    database(dir).exists()
}

/// The connection that writes, with the schema up to date. Where the file cannot be trusted a copy is kept.
pub(super) fn writer(dir: &Path) -> Result<Connection, JournalError> {
    let path = database(dir);
    if !path.try_exists()? {
        if dir.join("journal.db-wal").try_exists()? {
            return Err(damaged(dir, "journal.db is missing but its log is there"));
        }
        create(dir)?;
    }
    open_checked(&path).map_err(|error| match error {
        JournalError::Corrupt { detail, .. } => damaged(dir, &detail),
        other => other,
    })
}

/// A new file gets its schema and its log mode under another name, so that an empty or half-made `journal.db` is always
/// damage, and no rollback file of its own can ever be left beside it.
fn create(dir: &Path) -> Result<(), JournalError> {
    let fresh = dir.join("journal.db.new");
    for left in ["journal.db.new", "journal.db.new-wal", "journal.db.new-shm", "journal.db.new-journal"] {
        if dir.join(left).try_exists()? {
            fs::remove_file(dir.join(left))?;
        }
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let conn = Connection::open(&fresh)?;
    conn.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;",
    )?;
    schema::migrate(&conn)?;
    // Closing merges the log too, but hides it when that fails; without its log the file would be worth nothing.
    let unmerged: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    conn.close().map_err(|(_, error)| error)?;
    if unmerged != 0 {
        return Err(JournalError::Io("the new journal could not be merged with its log".to_owned()));
    }
    File::open(&fresh)?.sync_all()?;
    fs::rename(&fresh, database(dir))?;
    File::open(dir)?.sync_all()?;
    Ok(())
}

fn open_checked(path: &Path) -> Result<Connection, JournalError> {
    let corrupt = |detail: &str| JournalError::Corrupt { detail: detail.to_owned(), copy: None };
    if fs::metadata(path)?.len() == 0 {
        return Err(corrupt("journal.db is empty"));
    }
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(LOCK_WAIT)?;
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != schema::APPLICATION_ID {
        return Err(corrupt("journal.db is not a homeloop journal"));
    }
    let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let supported = schema::supported();
    if found > supported {
        return Err(JournalError::NewerSchema { found, supported });
    }
    let check: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if check != "ok" {
        return Err(corrupt(&check));
    }
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(JournalError::Io(format!("journal mode is {mode:?}, expected \"wal\"")));
    }
    schema::migrate(&conn)?;
    conn.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096;")?;
    Ok(conn)
}

/// A connection that only reads; several may be open beside the writer, also in other processes.
pub(super) fn reader(path: &Path) -> Result<Connection, JournalError> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(LOCK_WAIT)?;
    conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -2048;")?;
    Ok(conn)
}

/// An empty journal in memory.
pub(super) fn in_memory() -> Result<Connection, JournalError> {
    let conn = Connection::open_in_memory()?;
    schema::migrate(&conn)?;
    Ok(conn)
}

fn damaged(dir: &Path, detail: &str) -> JournalError {
    let copy =
        keep_copy(dir).inspect_err(|error| tracing::error!(%error, "no copy of the damaged journal")).ok();
    JournalError::Corrupt { detail: detail.to_owned(), copy }
}

/// Copies the damaged files once: the directory is named by the time of the last change, which a start that only
/// reads does not move.
fn keep_copy(dir: &Path) -> std::io::Result<PathBuf> {
    let changed = FILES.iter().filter_map(|file| fs::metadata(dir.join(file)).ok()?.modified().ok()).max();
    let seconds = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default().as_secs();
    let copy = dir.join(format!("journal.corrupt-{seconds}"));
    if copy.try_exists()? {
        return Ok(copy);
    }
    fs::DirBuilder::new().mode(0o700).create(&copy)?;
    for file in FILES {
        if dir.join(file).try_exists()? {
            fs::copy(dir.join(file), copy.join(file))?;
        }
    }
    Ok(copy)
}

/// Moves the journal's files into a directory beside them, so that the next start begins an empty journal. For a
/// person who decides to; fails with [`JournalError::Locked`] while a daemon runs. Returns where they are.
pub fn set_aside(dir: &Path, now: chrono::DateTime<chrono::Utc>) -> Result<PathBuf, JournalError> {
    let _lock = lock(dir)?;
    let aside = dir.join(format!("journal.aside-{}", now.timestamp()));
    fs::DirBuilder::new().mode(0o700).create(&aside)?;
    for file in FILES {
        if dir.join(file).try_exists()? {
            fs::rename(dir.join(file), aside.join(file))?;
        }
    }
    File::open(dir)?.sync_all()?;
    Ok(aside)
}
