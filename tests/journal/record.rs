//! Events, tasks, the chain, retention and export.

use std::io::Write;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use homeloop::clock::Clock;
use homeloop::journal::{Break, Durability, Event, Journal, NewEvent, Verification};
use serde_json::{Value, json};

use super::{dir, event, open, raw};

fn start() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.parse::<Value>().unwrap()["number"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn events_come_back_in_order_by_task_and_after_a_restart() {
    let dir = dir();
    let journal = open(&dir);
    assert_eq!(journal.append(event("a", 1), Durability::Normal).await.unwrap(), 1);
    assert_eq!(journal.append(event("b", 2), Durability::Synced).await.unwrap(), 2);
    let two = vec![event("a", 3), event("a", 4).ends_task()];
    assert_eq!(journal.append_all(two, Durability::Normal).await.unwrap(), 4);
    drop(journal);

    let journal = open(&dir);
    assert_eq!(numbers(&journal.events("a").await.unwrap()), [1, 3, 4]);
    assert_eq!(numbers(&journal.since(1, 2).await.unwrap()), [2, 3]);
    let ids = |tasks: Vec<homeloop::journal::TaskRow>| -> Vec<String> {
        tasks.into_iter().map(|task| task.id).collect()
    };
    assert_eq!(ids(journal.tasks(10, false).await.unwrap()), ["b", "a"], "newest first");
    assert_eq!(ids(journal.tasks(10, true).await.unwrap()), ["b"], "the first was ended");
    let task = journal.task("a").await.unwrap().unwrap();
    assert_eq!((task.first_seq, task.last_seq, task.closed_at.is_some()), (1, 4, true));
    assert_eq!(journal.task("c").await.unwrap(), None);
    assert_eq!(journal.append(event("c", 5), Durability::Normal).await.unwrap(), 5, "numbers go on");
}

#[tokio::test]
async fn many_writers_share_commits_and_no_number_is_given_twice() {
    let dir = dir();
    let journal = open(&dir);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..500 {
        let journal = journal.clone();
        let task = format!("t{}", number % 7);
        tasks.spawn(async move { journal.append(event(&task, number), Durability::Synced).await.unwrap() });
    }
    let mut seqs = tasks.join_all().await;
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=500).collect::<Vec<_>>());
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { events: 500, head: 500, .. }));
}

#[tokio::test]
async fn what_an_entity_went_through_is_found() {
    let dir = dir();
    let clock = Clock::system();
    let journal = Journal::open(dir.path(), clock.clone()).unwrap();
    let about = |number: u64, entities: &[&str]| event("t", number).about(entities);
    for (number, entities) in [
        (1, vec!["light.hall", "light.attic"]),
        (2, vec!["light.attic"]),
        (3, vec!["light.hall", "light.hall"]),
    ] {
        journal.append(about(number, &entities), Durability::Normal).await.unwrap();
    }
    let long_ago = clock.now() - TimeDelta::hours(1);
    let found = journal.about("light.hall", long_ago, 10).await.unwrap();
    assert_eq!(numbers(&found), [3, 1], "the newest first");
    assert_eq!(found[1].entities, ["light.attic", "light.hall"]);
    assert_eq!(numbers(&journal.about("light.hall", long_ago, 1).await.unwrap()), [3]);
    assert!(journal.about("light.hall", clock.now() + TimeDelta::hours(1), 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn who_follows_the_head_sees_every_event() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    let mut head = journal.head();
    let writer = journal.clone();
    let writing = tokio::spawn(async move {
        for number in 0..100 {
            writer.append(event("t", number), Durability::Normal).await.unwrap();
        }
    });
    let mut seen = Vec::new();
    while seen.len() < 100 {
        let after = i64::try_from(seen.len()).unwrap();
        head.wait_for(|seq| *seq > after).await.unwrap();
        seen.extend(numbers(&journal.since(after, 1000).await.unwrap()));
    }
    writing.await.unwrap();
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
}

/// Every way of changing the file that the chain must show, and what it says.
#[tokio::test]
async fn the_chain_shows_each_change_and_where() {
    let tampered = [
        ("UPDATE event SET body = '{\"number\":9}' WHERE seq = 3", 3, Break::Content),
        ("UPDATE event SET at = at + 1 WHERE seq = 2", 2, Break::Content),
        ("UPDATE event SET task = 'u' WHERE seq = 2", 2, Break::Content),
        ("UPDATE event SET entities = 'light.b' WHERE seq = 1", 1, Break::Content),
        ("DELETE FROM event WHERE seq = 3", 4, Break::Gap),
        ("DELETE FROM event WHERE seq = 1", 2, Break::Gap),
        ("UPDATE event SET prev_hash = zeroblob(32) WHERE seq = 4", 4, Break::Order),
        ("UPDATE event SET hash = zeroblob(32) WHERE seq = 5", 5, Break::Content),
        (
            "INSERT INTO checkpoint SELECT 1, seq, hash, at FROM event WHERE seq = 2;
             DELETE FROM event WHERE seq <= 2",
            3,
            Break::UnsignedCut,
        ),
        ("DELETE FROM event_entity WHERE seq = 4", 5, Break::Index),
    ];
    for (sql, seq, why) in tampered {
        let dir = dir();
        let journal = open(&dir);
        for number in 1..=5 {
            journal.append(event("t", number).about(["light.a"]), Durability::Normal).await.unwrap();
        }
        assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { events: 5, .. }));
        raw(&dir).execute_batch(sql).unwrap();
        assert_eq!(journal.verify().await.unwrap(), Verification::Broken { seq, why }, "{sql}");
    }
}

#[tokio::test]
async fn a_cut_keeps_the_chain_whole_and_open_tasks_complete() {
    let dir = dir();
    let journal = open(&dir);
    let many: Vec<NewEvent> = (0..12_000).map(|number| event("old", number)).collect();
    journal.append_all(many, Durability::Normal).await.unwrap();
    journal.append(event("old", 0).ends_task(), Durability::Normal).await.unwrap();
    journal.append(event("open", 1).about(["lock.a"]), Durability::Normal).await.unwrap();
    journal.append(event("late", 2).ends_task(), Durability::Normal).await.unwrap();

    let far = Utc::now() + TimeDelta::days(1);
    let nothing = journal.cut(Utc::now() - TimeDelta::days(1)).await.unwrap();
    assert_eq!((nothing.events, nothing.through), (0, 0));
    let cut = journal.cut(far).await.unwrap();
    assert_eq!((cut.events, cut.through), (12_001, 12_001), "up to the first event of the open task");
    assert_eq!(journal.last_cut().await.unwrap().unwrap().0, 12_001);
    assert_eq!(numbers(&journal.events("open").await.unwrap()), [1]);
    assert_eq!(journal.task("old").await.unwrap(), None);
    let Verification::Intact { cut_through, events, .. } = journal.verify().await.unwrap() else {
        panic!("the chain is broken after a cut")
    };
    assert_eq!((cut_through, events), (12_001, 5), "two tasks and three signed-off cuts");

    // A second cut on top of the first, and a restart.
    journal.append(event("open", 3).ends_task(), Durability::Normal).await.unwrap();
    let again = journal.cut(far).await.unwrap();
    assert!(again.events > 0);
    drop(journal);
    assert!(matches!(open(&dir).verify().await.unwrap(), Verification::Intact { .. }));
    raw(&dir).execute_batch("UPDATE checkpoint SET hash = zeroblob(32)").unwrap();
    assert!(matches!(open(&dir).verify().await.unwrap(), Verification::Broken { .. }));
}

/// A writer that a test can read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_export_is_one_json_object_a_line_and_chained() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    let odd = json!({ "text": "line\nbreak \u{2028} \"quote\" 灯", "n": 1.0 });
    journal.append(NewEvent::of_house("note", &odd).unwrap(), Durability::Normal).await.unwrap();
    journal.append(event("t", 2).about(["light.a"]), Durability::Normal).await.unwrap();
    let to = Shared::default();
    assert_eq!(journal.export(0, to.clone()).await.unwrap(), 2);
    let text = String::from_utf8(to.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["body"], odd);
    assert_eq!(lines[0]["task"], Value::Null);
    assert_eq!(lines[1]["entities"], json!(["light.a"]));
    assert_eq!(lines[1]["prev_hash"], lines[0]["hash"]);
    assert_eq!(journal.export(1, Shared::default()).await.unwrap(), 1);
}

/// Paused time must not run ahead while the journal works, and the same seed gives the same record.
#[tokio::test(start_paused = true)]
async fn simulated_time_stands_still_while_the_journal_writes() {
    let mut heads = Vec::new();
    for _ in 0..2 {
        let dir = dir();
        let clock = Clock::simulated(start(), 7);
        let journal = Journal::open(dir.path(), clock.clone()).unwrap();
        // A timer that is due in a minute: nothing may fire it while the journal is at work.
        let alarm = tokio::time::sleep(std::time::Duration::from_secs(60));
        for number in 0..50 {
            journal.append(event("t", number), Durability::Synced).await.unwrap();
            assert_eq!(journal.events("t").await.unwrap().len() as u64, number + 1);
        }
        assert!(!alarm.is_elapsed());
        assert_eq!(clock.now(), start());
        heads.push(journal.verify().await.unwrap());
    }
    assert_eq!(heads[0], heads[1]);
}

#[tokio::test]
async fn a_bad_event_is_refused_before_it_is_stored() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    assert!(NewEvent::of_task("", "note", &json!({})).is_err());
    let huge = "x".repeat(1 << 20);
    let refused = NewEvent::of_task("t", "note", &huge).unwrap_err().to_string();
    assert!(refused.contains("1048578 bytes; at most 1048576"), "{refused}");
    let kept = NewEvent::of_task("t", "note", &"x").unwrap();
    journal.append(kept, Durability::Normal).await.unwrap();
    assert_eq!(journal.events("t").await.unwrap()[0].parse::<String>().unwrap(), "x");
    assert!(journal.events("t").await.unwrap()[0].parse::<u64>().is_err(), "another type is an error");
}
