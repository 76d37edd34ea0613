//! At most once: a scheduler that is killed between "due" and "done", simulated at the worst moment and for real.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use chrono::{TimeDelta, Utc};
use chrono_tz::Europe;
use homeloop::clock::Clock;
use homeloop::journal::{Journal, Verification};
use homeloop::schedule::{Fire, FireEvent, Scheduler, State, When};

use super::{World, minutes, once, plan, utc};

/// The one who takes over dies while it does so.
#[tokio::test(start_paused = true)]
async fn a_firing_that_was_interrupted_is_told_and_not_repeated() {
    let world = World::at("2026-11-29T12:00:00Z", Europe::Berlin).await;
    world.scheduler.stop().await;
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let fire: Fire = Arc::new(move |_| {
        let _ = began.send(());
        Box::pin(std::future::pending())
    });
    let scheduler =
        Scheduler::start(world.journal.clone(), world.clock.clone(), world.zone, fire).await.unwrap();
    let schedule = scheduler.create(plan(once("2026-11-29T12:10:00Z"))).await.unwrap();
    begun.recv().await.unwrap();
    scheduler.stop().await;

    let mut world = world.restart(minutes(0)).await;
    let FireEvent::Interrupted { schedule: told, due } = world.next().await else { panic!("not told") };
    assert_eq!((told.id, due), (schedule.id, utc("2026-11-29T12:10:00Z")));
    world.quiet(48).await;
    let mut world = world.restart(minutes(0)).await;
    world.quiet(48).await;
    let kinds = world.kinds().await;
    assert_eq!(kinds, ["schedule_created", "schedule_fired", "schedule_interrupted"]);
}

/// Says to the child which directory to work in.
const CHILD: &str = "HOMELOOP_TEST_SCHEDULE_DIR";

/// How many schedules the first child makes.
const SCHEDULES: usize = 24;

/// The scheduler that is killed: real time, real alarms, schedules due one after another.
#[test]
#[ignore = "run by kill_nine_between_due_and_done_never_fires_twice as a process of its own"]
fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let journal = Journal::open(Path::new(&dir), Clock::system()).unwrap();
        let (handed_over, mut told) = tokio::sync::mpsc::unbounded_channel();
        let fire: Fire = Arc::new(move |event| {
            // The line is the effect: it is out as soon as the firing is handed over.
            match event {
                FireEvent::Due(firing) => println!("fired {}", firing.schedule.id),
                FireEvent::Interrupted { schedule, .. } => println!("interrupted {}", schedule.id),
                other => println!("other {other:?}"),
            }
            let _ = handed_over.send(());
            Box::pin(async {})
        });
        let scheduler = Scheduler::start(journal, Clock::system(), chrono_tz::UTC, fire).await.unwrap();
        if scheduler.list(None).await.unwrap().is_empty() {
            for number in 0..SCHEDULES {
                let at = Utc::now() + TimeDelta::milliseconds(1500 + i64::try_from(number).unwrap() * 250);
                println!("made {}", scheduler.create(plan(When::Once { at })).await.unwrap().id);
            }
        }
        while !scheduler.list(Some(State::Active)).await.unwrap().is_empty() {
            told.recv().await.unwrap();
        }
    });
}

/// Runs the child until it has said `lines` of a kind, kills it, and returns all that it said. One that has nothing left
/// to fire ends by itself, as on a machine so slow that all is due at once.
fn kill_after(dir: &Path, kind: &str, lines: usize) -> Vec<(String, String)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    let mut killed = false;
    for line in output.lines() {
        let line = line.unwrap();
        // The test harness writes the test's name in front of the first line.
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [.., word @ ("made" | "fired" | "interrupted" | "other"), id] = words.as_slice() {
            said.push(((*word).to_owned(), (*id).to_owned()));
        }
        if !killed && said.iter().filter(|(word, _)| word == kind).count() >= lines {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    said
}

#[tokio::test]
async fn kill_nine_between_due_and_done_never_fires_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut said = kill_after(dir.path(), "made", SCHEDULES);
    assert_eq!(said.iter().filter(|(word, _)| word == "made").count(), SCHEDULES);
    for lines in [3, 1, 5, 2] {
        said.extend(kill_after(dir.path(), "fired", lines));
    }
    let journal = Journal::open(dir.path(), Clock::system()).unwrap();
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
    let of = |kind: &str| -> Vec<String> {
        said.iter().filter(|(word, _)| word == kind).map(|(_, id)| id.clone()).collect()
    };
    assert!(of("other").is_empty(), "{said:?}");
    let fired = of("fired");
    let once: BTreeSet<&String> = fired.iter().collect();
    assert_eq!(once.len(), fired.len(), "a schedule fired twice: {said:?}");
    // What the journal says fired and was never seen was interrupted, and is told at the next start.
    let rows = journal.schedules(Some(State::Done.word())).await.unwrap();
    let interrupted = of("interrupted");
    for row in &rows {
        let told = once.contains(&row.id) || interrupted.contains(&row.id) || row.firing.is_some();
        assert!(told, "{} was fired by the journal and nobody was told: {said:?}", row.id);
    }
    for id in once {
        assert!(rows.iter().any(|row| row.id == *id), "{id} fired and the journal does not know");
    }
}
