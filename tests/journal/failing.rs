//! Every write and every sync of the disk made to fail once, one after the other.

use std::path::Path;
use std::process::Command;

use homeloop::clock::Clock;
use homeloop::journal::{Durability, Health, Journal, JournalError, Verification};
use serde_json::Value;

use super::{dir, event, preloaded};

/// Says to the child which directory to write in.
const CHILD: &str = "HOMELOOP_TEST_FAILING_DIR";

/// What the child writes.
const EVENTS: u64 = 40;

/// The writer whose disk fails: says what was promised, and how each refusal was typed.
#[tokio::test]
#[ignore = "run by f30_the_nth_failure_of_the_disk_fails_closed as a process of its own"]
async fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let mut starts = 0;
    let journal = loop {
        starts += 1;
        match Journal::open(Path::new(&dir), Clock::system()) {
            Ok(journal) => break journal,
            Err(error) => println!("refused to open: {}", typed(&error)),
        }
        assert!(starts <= 3, "three failures refused four starts");
    };
    for number in 0..EVENTS {
        match journal.append(event("t", number), Durability::Synced).await {
            Ok(_) => println!("promised {number}"),
            Err(error) => {
                println!("refused {number}: {}", typed(&error));
                assert_ne!(journal.health(), Health::Good, "{error}");
            }
        }
    }
    assert_eq!(journal.health(), Health::Good, "three failures are over long ago");
    println!("survived");
}

fn typed(error: &JournalError) -> &'static str {
    match error {
        JournalError::Full => "full",
        JournalError::Io(_) => "io",
        other => panic!("another fault than the disk's: {other}"),
    }
}

#[tokio::test]
async fn f30_the_nth_failure_of_the_disk_fails_closed() {
    let tools = dir();
    let Some(library) = preloaded("fail.c", &tools) else { return };
    let mut refusals = 0;
    // What SQLite shares between processes reports a lack of space as an error of the disk.
    for (how, kinds) in [("full", &["full", "io"][..]), ("write", &["io"]), ("sync", &["io"])] {
        for at in 1..=50 {
            // In memory where that is possible: what fails is decided here, not by a disk.
            let dir = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| dir());
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "failing::child", "--ignored", "--nocapture"])
                .env(CHILD, dir.path())
                .env("LD_PRELOAD", &library)
                .env("HOMELOOP_TEST_WATCH", dir.path())
                .env("HOMELOOP_TEST_FAIL_HOW", how)
                .env("HOMELOOP_TEST_FAIL_AT", at.to_string())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let what = format!("{how} {at}: {said} {}", String::from_utf8_lossy(&output.stderr));
            assert!(said.contains("survived"), "{what}");
            let promised: Vec<u64> =
                said.lines().filter_map(|line| line.strip_prefix("promised ")?.parse().ok()).collect();
            for line in said.lines().filter(|line| line.starts_with("refused")) {
                assert!(kinds.iter().any(|kind| line.ends_with(kind)), "{what}");
                refusals += 1;
            }
            let journal = Journal::open(dir.path(), Clock::system()).unwrap();
            assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }), "{what}");
            let events = journal.events("t").await.unwrap();
            let number = |value: Value| value["number"].as_u64().unwrap();
            let stored: Vec<u64> = events.iter().map(|event| number(event.parse().unwrap())).collect();
            assert_eq!(stored, promised, "what was refused is not there, what was promised is: {what}");
        }
    }
    assert!(refusals > 100, "only {refusals} refusals: the failures did not reach the journal");
}
