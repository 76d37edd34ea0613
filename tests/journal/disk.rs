//! A real file system that is full, and one that is read-only: a small one in memory, mounted for a child process alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::journal::{Durability, Health, Journal, JournalError, NewEvent, Verification};

use super::{dir, event};

/// Says to the child where its file system is.
const CHILD: &str = "HOMELOOP_TEST_DISK_DIR";

/// Runs a child test of this binary with a file system of 2 MB on `dir`, after the shell commands `prepare`.
fn on_small_disk(child: &str, prepare: &str) {
    let dir = dir();
    let script = format!("mount -t tmpfs -o size=2m tmpfs \"$0\" || exit 77; {prepare}; exec \"$@\"");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .arg(dir.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", child, "--ignored", "--nocapture"])
        .env(CHILD, dir.path())
        .output();
    let output = match output {
        Ok(output) if !matches!(output.status.code(), Some(1 | 77)) || !output.stdout.is_empty() => output,
        Ok(output) => {
            eprintln!("skipped: no file system can be mounted ({})", String::from_utf8_lossy(&output.stderr));
            return;
        }
        Err(error) => {
            eprintln!("skipped: no unshare ({error})");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn child_dir() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

#[test]
fn f30_a_full_disk_fails_closed_and_recovers() {
    on_small_disk("disk::full_child", ":");
}

#[tokio::test]
#[ignore = "run by f30_a_full_disk_fails_closed_and_recovers on a small disk"]
async fn full_child() {
    let Some(dir) = child_dir() else { return };
    let filler = dir.join("filler");
    fill(&filler);
    assert_eq!(Journal::open(&dir, Clock::system()).err(), Some(JournalError::Full), "no room to begin");
    fs::remove_file(&filler).unwrap();

    let journal = Journal::open(&dir, Clock::system()).unwrap();
    fs::write(&filler, vec![0; 1 << 20]).unwrap();
    let (mut stored, mut refused) = (0_u64, 0);
    // At every write from the first that fails: nothing half, and what fits still goes in.
    while refused < 30 {
        let body = "x".repeat(usize::try_from(stored % 7).unwrap() * 3000);
        let large = NewEvent::of_task("t", "note", &body).unwrap();
        match journal.append(large, Durability::Synced).await {
            Ok(seq) => {
                stored += 1;
                assert_eq!(seq.unsigned_abs(), stored);
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error, JournalError::Full);
                assert_eq!(journal.health(), Health::Full);
                assert_eq!(journal.events("t").await.unwrap().len() as u64, stored, "reads go on");
            }
        }
    }
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
    fs::remove_file(&filler).unwrap();
    let mut health = journal.health_changes();
    let good = health.wait_for(|health| *health == Health::Good);
    tokio::time::timeout(Duration::from_secs(30), good).await.unwrap().unwrap();
    journal.append(event("t", 1), Durability::Synced).await.unwrap();
    drop(journal);
    let journal = Journal::open(&dir, Clock::system()).unwrap();
    assert_eq!(journal.events("t").await.unwrap().len() as u64, stored + 1);
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
}

/// Takes the last byte of the file system.
fn fill(path: &Path) {
    let mut size = 1 << 21;
    while size > 0 {
        let mut all = fs::read(path).unwrap_or_default();
        all.resize(all.len() + size, 0);
        if fs::write(path, &all).is_err() {
            size /= 2;
        }
    }
}

#[test]
fn f31_a_read_only_file_system_is_said_so() {
    on_small_disk("disk::read_only_child", "mount -o remount,ro \"$0\"");
}

#[test]
#[ignore = "run by f31_a_read_only_file_system_is_said_so on a read-only disk"]
fn read_only_child() {
    let Some(dir) = child_dir() else { return };
    let refused = Journal::open(&dir, Clock::system()).err();
    assert!(matches!(refused, Some(JournalError::ReadOnly(_))), "{refused:?}");
    let refused = Journal::open(&dir.join("below"), Clock::system()).err();
    assert!(matches!(refused, Some(JournalError::ReadOnly(_))), "{refused:?}");
}
