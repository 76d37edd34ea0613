//! kill -9 and power cuts against a real process: this test binary starts itself as a writer, kills it, and looks at
//! what is left.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use homeloop::clock::Clock;
use homeloop::journal::{Durability, Journal, Verification};
use serde_json::Value;

use super::{dir, event, preloaded};

/// Says to the child which directory to write in.
const CHILD: &str = "HOMELOOP_TEST_CRASH_DIR";

/// Set where the child calls durable what is not: the control that shows that the emulation drops something.
const LIES: &str = "HOMELOOP_TEST_LIES";

/// The writer that is killed: appends for ever and says on standard output what was promised as durable.
#[test]
#[ignore = "run by the other tests here as a process of its own"]
fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let durability = if std::env::var_os(LIES).is_some() { Durability::Normal } else { Durability::Synced };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let journal = Journal::open(Path::new(&dir), Clock::system()).unwrap();
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..4_u64 {
            let journal = journal.clone();
            writers.spawn(async move {
                for number in 0.. {
                    let number = writer * 1_000_000 + number;
                    let promised = event("t", number).about(["lock.a", "light.b"]);
                    journal.append(promised, durability).await.unwrap();
                    println!("promised {number}");
                    journal.append(event("u", number), Durability::Normal).await.unwrap();
                    journal.keep_retained(&format!("topic/{}", number % 50), &number.to_be_bytes(), 1);
                }
            });
        }
        writers.join_all().await;
    });
}

/// A command that runs the child on `dir`.
fn writer(dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::child", "--ignored", "--nocapture"]).env(CHILD, dir);
    command
}

/// Lets the child promise `lines` events, kills it, and returns what it had promised.
fn kill_after(mut command: Command, lines: usize) -> HashSet<u64> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut promised = HashSet::new();
    let mut killed = false;
    for line in output.lines() {
        // What was still in the pipe when the child died was promised as well.
        if let Some(number) = line.unwrap().strip_prefix("promised ").and_then(|text| text.parse().ok()) {
            promised.insert(number);
        }
        if promised.len() >= lines && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    assert!(killed, "the child ended by itself after {} promises", promised.len());
    promised
}

/// Opens what is left, checks that it is whole, and returns the promised events that it holds.
async fn look(dir: &Path) -> HashSet<u64> {
    let journal = Journal::open(dir, Clock::system()).unwrap();
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
    for row in journal.retained().await.unwrap() {
        assert_eq!(row.payload.len(), 8, "half a message");
    }
    let events = journal.events("t").await.unwrap();
    journal.close().await;
    let other = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
    let check: String = other.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    events.iter().map(|event| event.parse::<Value>().unwrap()["number"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn kill_nine_loses_nothing_that_was_promised() {
    let dir = dir();
    let mut promised = HashSet::new();
    for round in 0..8 {
        promised.extend(kill_after(writer(dir.path()), 1 + round * 37));
        let stored = look(dir.path()).await;
        let lost: Vec<_> = promised.difference(&stored).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} were promised and are gone");
    }
}

/// Runs the child until it promised `lines` events, cuts the power, and returns how many promises were not kept.
async fn cut_power(lines: usize, lies: bool) -> Option<usize> {
    let (tools, before, after) = (dir(), dir(), dir());
    let library = preloaded("power.c", &tools)?;
    let mut command = writer(before.path());
    command
        .env("LD_PRELOAD", library)
        .env("HOMELOOP_TEST_WATCH", before.path())
        .env("HOMELOOP_TEST_DURABLE", after.path());
    if lies {
        command.env(LIES, "1");
    }
    let promised = kill_after(command, lines);
    let stored = look(after.path()).await;
    Some(promised.difference(&stored).count())
}

#[tokio::test]
async fn f29_a_power_cut_loses_nothing_that_was_promised() {
    // The last is long enough for the log to be merged into the main file several times.
    for lines in [1, 20, 700] {
        let Some(lost) = cut_power(lines, false).await else { return };
        assert_eq!(lost, 0, "of {lines}");
    }
    let lost = cut_power(50, true).await;
    assert!(lost > Some(0), "the emulation dropped nothing, so it proves nothing");
}
