//! kill -9 against a real process: this test binary starts itself as a writer, kills it, and looks at what is left.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use homeloop::clock::Clock;
use homeloop::journal::{Durability, Journal, Verification};

use super::{dir, event, open, raw};

/// Says to the child which directory to write in.
const CHILD: &str = "HOMELOOP_TEST_CRASH_DIR";

/// The writer that is killed: appends for ever and says on standard output what was promised as durable.
#[test]
#[ignore = "run by kill_nine_loses_nothing_that_was_promised as a process of its own"]
fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
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
                    journal.append(promised, Durability::Synced).await.unwrap();
                    println!("promised {number}");
                    journal.append(event("u", number), Durability::Normal).await.unwrap();
                    journal.keep_retained(&format!("topic/{}", number % 50), &number.to_be_bytes(), 1);
                }
            });
        }
        writers.join_all().await;
    });
}

/// Starts the child on `dir`, lets it promise `lines` events, kills it, and returns what it had promised.
fn kill_after(dir: &Path, lines: usize) -> HashSet<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
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

#[tokio::test]
async fn kill_nine_loses_nothing_that_was_promised() {
    let dir = dir();
    let mut promised = HashSet::new();
    for round in 0..8 {
        promised.extend(kill_after(dir.path(), 1 + round * 37).into_iter().map(|number| (round, number)));
        let journal = open(&dir);
        assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }), "round {round}");
        let check: String = raw(&dir).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "round {round}");
        let rows: Vec<u64> = journal
            .events("t")
            .await
            .unwrap()
            .iter()
            .map(|event| event.parse::<serde_json::Value>().unwrap()["number"].as_u64().unwrap())
            .collect();
        let stored: HashSet<u64> = rows.iter().copied().collect();
        for (_, number) in &promised {
            assert!(stored.contains(number), "round {round}: {number} was promised and is gone");
        }
        for row in journal.retained().await.unwrap() {
            assert_eq!(row.payload.len(), 8, "round {round}: half a message");
        }
    }
}
