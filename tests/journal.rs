//! The journal against real files: the record, approvals, faults of the disk, and processes that are killed.

#[path = "journal/approvals.rs"]
mod approvals;
#[path = "journal/crash.rs"]
mod crash;
#[path = "journal/disk.rs"]
mod disk;
#[path = "journal/failing.rs"]
mod failing;
#[path = "journal/faults.rs"]
mod faults;
#[path = "journal/keys.rs"]
mod keys;
#[path = "journal/record.rs"]
mod record;

use std::path::{Path, PathBuf};
use std::process::Command;

use homeloop::clock::Clock;
use homeloop::journal::{Journal, NewEvent};
use serde_json::json;
use tempfile::TempDir;

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(dir: &TempDir) -> Journal {
    Journal::open(dir.path(), Clock::system()).unwrap()
}

/// An event of task `task` with a number in it.
fn event(task: &str, number: u64) -> NewEvent {
    NewEvent::of_task(task, "note", &json!({ "number": number })).unwrap()
}

/// A second connection, as another program would have.
fn raw(dir: &TempDir) -> rusqlite::Connection {
    rusqlite::Connection::open(dir.path().join("journal.db")).unwrap()
}

/// Builds one of the libraries in tests/journal that stand between a process and the disk; `None` where there is no C
/// compiler.
fn preloaded(source: &str, into: &TempDir) -> Option<PathBuf> {
    let library = into.path().join(source).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journal").join(source);
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").status();
    match built {
        Ok(status) => {
            assert!(status.success(), "{} does not compile", source.display());
            Some(library)
        }
        Err(error) => {
            eprintln!("skipped: no C compiler ({error})");
            None
        }
    }
}
