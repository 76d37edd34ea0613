//! Faults of the disk: each one is a typed error, nothing half is stored, and the journal recovers where it can.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::journal::{Durability, Health, Journal, JournalError, NewEvent, Verification, set_aside};
use tempfile::TempDir;

use super::{dir, event, open, raw};

fn opening(dir: &TempDir) -> Result<Journal, JournalError> {
    Journal::open(dir.path(), Clock::system())
}

/// A closed journal with `events` events of some size.
async fn written(events: u64) -> TempDir {
    let dir = dir();
    let journal = open(&dir);
    for number in 0..events {
        journal.append(big(number), Durability::Normal).await.unwrap();
    }
    journal.close().await;
    dir
}

fn big(number: u64) -> NewEvent {
    NewEvent::of_task("t", "note", &format!("{number} {}", "x".repeat(2000))).unwrap()
}

fn database(dir: &TempDir) -> PathBuf {
    dir.path().join("journal.db")
}

#[tokio::test]
async fn a_second_instance_is_refused_and_a_reader_is_not() {
    let dir = dir();
    let journal = open(&dir);
    journal.append(event("t", 1), Durability::Normal).await.unwrap();
    let refused = opening(&dir).err().unwrap();
    assert_eq!(refused, JournalError::Locked { dir: dir.path().into(), pid: std::process::id().to_string() });
    assert!(set_aside(dir.path(), chrono::Utc::now()).is_err(), "nor is it moved away under a daemon");

    let reader = Journal::open_read_only(dir.path(), Clock::system()).unwrap();
    assert_eq!(reader.events("t").await.unwrap().len(), 1);
    assert!(matches!(reader.verify().await.unwrap(), Verification::Intact { events: 1, .. }));
    assert_eq!(reader.health(), Health::ReadOnly);
    journal.append(event("t", 2), Durability::Normal).await.unwrap();
    assert_eq!(reader.events("t").await.unwrap().len(), 2, "it sees what is written meanwhile");
    let refused = reader.append(event("t", 3), Durability::Normal).await.unwrap_err();
    assert!(matches!(refused, JournalError::ReadOnly(_)), "{refused}");

    journal.close().await;
    assert_eq!(journal.append(event("t", 3), Durability::Normal).await, Err(JournalError::Closed));
    assert_eq!(journal.events("t").await, Err(JournalError::Closed));
    assert_eq!(journal.health(), Health::Closed);
    assert!(opening(&dir).is_ok(), "a closed journal frees the directory");
}

/// A child has a copy of every open file until it runs: that of the lock must not hold the directory.
#[tokio::test]
async fn a_closed_journal_frees_the_directory_also_while_children_are_started() {
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let starting = std::thread::spawn({
        let ended = ended.clone();
        move || {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        }
    });
    let dir = dir();
    for time in 0..100 {
        let journal = opening(&dir).unwrap_or_else(|error| panic!("{time}: {error}"));
        journal.close().await;
    }
    ended.store(true, std::sync::atomic::Ordering::Relaxed);
    starting.join().unwrap();
}

#[tokio::test]
async fn f34_a_newer_schema_is_left_alone() {
    let dir = written(1).await;
    let before: i64 = raw(&dir).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    raw(&dir).execute_batch("PRAGMA user_version = 99").unwrap();
    assert_eq!(opening(&dir).err(), Some(JournalError::NewerSchema { found: 99, supported: before }));
    raw(&dir).pragma_update(None, "user_version", before).unwrap();
    assert!(opening(&dir).is_ok());
}

/// What a fault does to the bytes of the file.
type Damage = fn(&mut Vec<u8>);

#[tokio::test]
async fn f33_a_damaged_file_is_kept_and_never_written_over() {
    let size = fs::metadata(database(&written(50).await)).unwrap().len();
    let damage: [(&str, Damage); 5] = [
        ("zero bytes", |bytes| bytes.clear()),
        ("not a database", |bytes| bytes.fill(b'x')),
        ("another program's database", |bytes| bytes[68..72].copy_from_slice(&[0, 0, 0, 9])),
        ("cut off", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a page overwritten", |bytes| {
            let middle = bytes.len() / 2 / 4096 * 4096;
            bytes[middle..middle + 4096].fill(0x5a);
        }),
    ];
    for (what, damage) in damage {
        let dir = written(50).await;
        let mut bytes = fs::read(database(&dir)).unwrap();
        assert_eq!(bytes.len() as u64, size);
        damage(&mut bytes);
        fs::write(database(&dir), &bytes).unwrap();
        for _ in 0..2 {
            let Some(JournalError::Corrupt { copy: Some(copy), .. }) = opening(&dir).err() else {
                panic!("{what}: not seen as damage")
            };
            assert_eq!(fs::read(copy.join("journal.db")).unwrap(), bytes, "{what}: the copy");
        }
        assert_eq!(fs::read(database(&dir)).unwrap(), bytes, "{what}: the original is as it was");
        let copies = fs::read_dir(dir.path()).unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("journal.corrupt-")
        });
        assert_eq!(copies.count(), 1, "{what}: one copy however often it is started");

        // The person who decides to begin again.
        let aside = set_aside(dir.path(), chrono::Utc::now()).unwrap();
        assert_eq!(fs::read(aside.join("journal.db")).unwrap(), bytes);
        let fresh = open(&dir);
        assert_eq!(fresh.append(event("t", 1), Durability::Synced).await, Ok(1), "{what}");
    }
}

#[tokio::test]
async fn a_missing_file_beside_its_log_is_damage() {
    let dir = written(1).await;
    fs::rename(database(&dir), dir.path().join("journal.db-wal")).unwrap();
    assert!(matches!(opening(&dir), Err(JournalError::Corrupt { .. })));
    assert!(!database(&dir).exists(), "nothing new was begun");
}

#[tokio::test]
async fn a_start_that_was_cut_short_does_not_count_as_damage() {
    let dir = dir();
    fs::write(dir.path().join("journal.db.new"), b"half").unwrap();
    fs::write(dir.path().join("journal.db.new-wal"), b"half").unwrap();
    assert!(opening(&dir).is_ok());
}

#[tokio::test]
async fn a_full_size_limit_fails_closed_at_every_write_and_recovers() {
    let dir = dir();
    let journal = open(&dir);
    let mut stored = 0;
    journal.set_size_limit(400_000).await.unwrap();
    let full = loop {
        match journal.append(big(stored), Durability::Synced).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1000, "the limit was never met");
    };
    assert_eq!(full, JournalError::Full);
    assert_eq!(journal.health(), Health::Full);
    assert_eq!(journal.append(big(0), Durability::Normal).await, Err(JournalError::Full));
    assert_eq!(journal.events("t").await.unwrap().len() as u64, stored, "reads go on");
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));

    // Space returns, and nobody writes: the journal finds out by itself.
    let mut health = journal.health_changes();
    raise_limit(&journal).await;
    let good = health.wait_for(|health| *health == Health::Good);
    tokio::time::timeout(Duration::from_secs(30), good).await.unwrap().unwrap();
    let seq = journal.append(big(stored), Durability::Synced).await.unwrap();
    assert_eq!(seq as u64, stored + 1, "no number was lost to a failed write");
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
}

async fn raise_limit(journal: &Journal) {
    journal.set_size_limit(u64::MAX).await.unwrap();
}

#[tokio::test]
async fn one_that_does_not_fit_does_not_take_the_others_with_it() {
    let dir = dir();
    let journal = open(&dir);
    journal.append(event("t", 0), Durability::Synced).await.unwrap();
    let too_much = NewEvent::of_task("t", "note", &"x".repeat(900_000)).unwrap();
    journal.set_size_limit(400_000).await.unwrap();
    let (small, large, other) = tokio::join!(
        journal.append(event("t", 1), Durability::Synced),
        journal.append(too_much, Durability::Synced),
        journal.append(event("t", 2), Durability::Synced),
    );
    assert_eq!(large, Err(JournalError::Full));
    let stored = u64::from(small.is_ok()) + u64::from(other.is_ok());
    let events = journal.events("t").await.unwrap();
    assert_eq!(events.len() as u64, 1 + stored, "exactly what was promised is there");
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
}

#[tokio::test]
async fn f32_a_lock_of_another_process_is_waited_for() {
    let dir = dir();
    let journal = open(&dir);
    journal.append(event("t", 0), Durability::Normal).await.unwrap();
    let other = raw(&dir);
    other.execute_batch("BEGIN EXCLUSIVE; INSERT INTO memory VALUES ('x', 'y', 'z', 'other', 0)").unwrap();
    let mut health = journal.health_changes();
    let writing = tokio::spawn({
        let journal = journal.clone();
        async move { journal.append(event("t", 1), Durability::Synced).await }
    });
    let busy = health.wait_for(|health| *health == Health::Busy);
    tokio::time::timeout(Duration::from_secs(60), busy).await.unwrap().unwrap();
    assert_eq!(journal.events("t").await.unwrap().len(), 1, "reads go on");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(writing.await.unwrap(), Ok(2), "the write was only late");
    assert_eq!(journal.health(), Health::Good);
}

#[tokio::test]
async fn damage_found_while_open_stops_every_write() {
    let by_writer: &[&str] = &[
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'event_of_task'",
        "PRAGMA schema_version = 4321",
    ];
    for found_by_reader in [false, true] {
        let dir = written(50).await;
        let journal = open(&dir);
        if found_by_reader {
            // As a failing disk would; the writer still has its pages in memory and would not notice.
            let mut bytes = fs::read(database(&dir)).unwrap();
            bytes[4096..].fill(0x5a);
            fs::write(database(&dir), &bytes).unwrap();
            assert!(matches!(journal.events("t").await, Err(JournalError::Corrupt { .. })));
        } else {
            raw(&dir).execute_batch(&by_writer.join("; ")).unwrap();
            let refused = journal.append(big(0), Durability::Synced).await;
            assert!(matches!(refused, Err(JournalError::Corrupt { .. })), "{refused:?}");
        }
        assert_eq!(journal.health(), Health::Corrupt);
        let refused = journal.append(big(0), Durability::Normal).await;
        assert!(matches!(refused, Err(JournalError::Corrupt { .. })), "{refused:?}");
    }
}
