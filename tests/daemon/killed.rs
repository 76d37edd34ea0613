//! kill -9 at random moments while an unlock is asked, approved, sent and confirmed, over and over on one state
//! directory. `HOMELOOP_KILLS` sets how often (50 without it).
//!
//! The lock and the broker go on living, so the lock knows what it was told: at most one unlock for each approval, and
//! none without. A decision that was acknowledged is in the journal afterwards.

use std::time::{Duration, Instant};

use homeloop::clock::Clock;
use homeloop::journal::{Journal, Verification};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::process::{Daemon, FRONT_DOOR, Lock, on_broker};

/// Where the kill falls in the life of an approval.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// A person has been asked.
    Waiting,
    /// So many microseconds after the decision was sent off.
    Deciding(u64),
    /// The lock has been told, or is about to be.
    Sent,
    Finished,
}

fn moment(random: &mut StdRng) -> Moment {
    match random.random_range(0..10) {
        0 => Moment::Waiting,
        1 => Moment::Sent,
        2 => Moment::Finished,
        // The write of the decision, of the intention, the send and the answer all lie in the first milliseconds.
        _ => Moment::Deciding(random.random_range(0..25_000)),
    }
}

/// One approval and what became of it.
struct Round {
    approval: String,
    task: String,
    /// Whether the daemon acknowledged the decision before it was killed.
    acknowledged: bool,
}

async fn round(daemon: Daemon, lock: &Lock, moment: Moment) -> Round {
    let told = lock.commands().len();
    let task = daemon.give("unlock the front door").await;
    let approval = daemon.approval().await;
    let id = approval["approval_id"].as_str().unwrap().to_owned();
    let mut acknowledged = false;
    match moment {
        Moment::Waiting => daemon.kill().await,
        Moment::Deciding(micros) => {
            let url = format!("{}/api/approvals/{id}", daemon.http);
            let body = json!({"v": 1, "plan_hash": approval["plan_hash"], "decision": "approve"});
            let request = reqwest::Client::new().post(url).bearer_auth(&daemon.token).json(&body);
            let answer =
                tokio::spawn(async move { request.send().await.map(|answer| answer.status().as_u16()) });
            tokio::time::sleep(Duration::from_micros(micros)).await;
            daemon.kill().await;
            acknowledged = matches!(answer.await, Ok(Ok(200)));
        }
        Moment::Sent => {
            acknowledged = daemon.decide(&approval, "approve").await.0 == 200;
            crate::common::soon("the lock is told", async {
                while lock.commands().len() == told {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
            .await;
            daemon.kill().await;
        }
        Moment::Finished => {
            acknowledged = daemon.decide(&approval, "approve").await.0 == 200;
            daemon.result(&task).await;
            daemon.kill().await;
        }
    }
    Round { approval: id, task, acknowledged }
}

/// What the journal says, with the daemon dead.
async fn stored(dir: &std::path::Path, round: &Round) -> (String, Option<String>) {
    let journal =
        Journal::open_read_only(&dir.join("state"), Clock::system()).expect("the journal can be read");
    let row = journal.approval(&round.approval).await.expect("it can be read").expect("it is there");
    journal.close().await;
    (row.state, row.decided_by)
}

#[tokio::test(flavor = "multi_thread")]
async fn f25_to_f27_killed_at_any_moment_an_approved_unlock_is_sent_at_most_once() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let kills: u64 = std::env::var("HOMELOOP_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(50);
    let dir = tempfile::tempdir().unwrap();
    let settings = on_broker(dir.path(), FRONT_DOOR, mosquitto.address);
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    let mut ready = Vec::new();
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..kills {
        let mut random = StdRng::seed_from_u64(seed);
        let moment = moment(&mut random);
        lock.turn("locked").await;
        let daemon = Daemon::start(dir.path(), &settings).await;
        daemon.has("lock.front_door", "locked").await;
        let before = lock.commands().len();
        let round = round(daemon, &lock, moment).await;
        let (state, decided_by) = stored(dir.path(), &round).await;
        *seen.entry(state.clone()).or_default() += 1;
        if round.acknowledged {
            assert_eq!(
                decided_by.as_deref(),
                Some("token:owner"),
                "seed {seed}: an acknowledged decision is lost"
            );
        }
        // Started again, it brings the task to its one end, and reads the lock instead of telling it again.
        let begun = Instant::now();
        let daemon = Daemon::start(dir.path(), &settings).await;
        daemon.until("ready again", "/readyz", |it| (it["ready"] == json!(true)).then_some(())).await;
        ready.push(begun.elapsed());
        if state == "PENDING" {
            let waiting: Value = daemon.approval().await;
            assert_eq!(waiting["approval_id"], *round.approval, "seed {seed}: it is still asked");
            assert_eq!(daemon.decide(&waiting, "deny").await.0, 200);
        }
        // The lock reports again, as a lock does now and then.
        lock.turn(if lock.commands().len() > before { "unlocked" } else { "locked" }).await;
        let end = daemon.result(&round.task).await;
        let told = lock.commands().len() - before;
        let allowed = usize::from(decided_by.is_some());
        assert!(told <= allowed, "seed {seed} {moment:?} {state}: told {told} times; {end}");
        daemon.kill().await;
    }
    let journal = Journal::open_read_only(&dir.path().join("state"), Clock::system()).unwrap();
    assert!(matches!(journal.verify().await.unwrap(), Verification::Intact { .. }));
    journal.close().await;
    let file = rusqlite::Connection::open(dir.path().join("state/journal.db")).unwrap();
    let check: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    ready.sort_unstable();
    println!(
        "{kills} kills: states found {seen:?}; ready again after {:?} (median), {:?} (worst)",
        ready[ready.len() / 2],
        ready[ready.len() - 1]
    );
}
