//! Compare-and-swap on approvals: every condition, limits, and two deciders at the same time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use homeloop::clock::Clock;
use homeloop::journal::approvals::{ApprovalLimits, ApprovalRow, ApprovalSet, Inserted, Moment, Transition};
use homeloop::journal::{Durability, Journal};

use super::{dir, event, open};

const LIMITS: ApprovalLimits = ApprovalLimits { per_requester: 3, total: 5 };

fn made() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

fn row(id: &str, principal: &str) -> ApprovalRow {
    ApprovalRow {
        id: id.into(),
        task: "t".into(),
        step: 1,
        conversation: "c".into(),
        subject: "lock.unlock lock.front_door".into(),
        requester_channel: "voice".into(),
        requester_principal: principal.into(),
        requester_device: "kitchen satellite".into(),
        requester_trust: "unverified".into(),
        utterance: "open up".into(),
        plan_json: "{}".into(),
        plan_hash: format!("hash of {id}"),
        policy_version: "1".into(),
        device_hash: "d".into(),
        tier: "G2".into(),
        reasons: "[]".into(),
        taint: None,
        precondition: "{}".into(),
        match_code: "47".into(),
        created_at: made(),
        boot_id: "boot".into(),
        created_boottime: Duration::from_secs(1000),
        expires_at: made() + TimeDelta::seconds(120),
        expires_boottime: Duration::from_secs(1120),
        state: "pending".into(),
        wrong_hashes: 0,
        decided_by: None,
        decided_via: None,
        decided_at: None,
        dispatched_at: None,
        puback_at: None,
        observed_at: None,
        outcome: None,
    }
}

/// `seconds` after the approval was made, by both clocks.
fn after(seconds: i64) -> Moment {
    Moment {
        now: made() + TimeDelta::seconds(seconds),
        boot_id: "boot".into(),
        boottime: Duration::from_secs(u64::try_from(1000 + seconds).unwrap()),
    }
}

fn approve(id: &str, moment: Moment) -> Transition {
    Transition {
        id: id.into(),
        from: vec!["pending"],
        to: "approved",
        plan_hash: Some(format!("hash of {id}")),
        unexpired_at: Some(moment),
        set: ApprovalSet { decided_by: Some("ann".into()), ..ApprovalSet::default() },
    }
}

#[tokio::test]
async fn each_condition_of_an_edge_is_needed() {
    let ok = || approve("a", after(10));
    let cases = [
        ("as it should be", ok(), true),
        ("the last moment", approve("a", after(119)), true),
        ("another hash", Transition { plan_hash: Some("hash of b".into()), ..ok() }, false),
        ("an unknown id", Transition { id: "b".into(), ..ok() }, false),
        ("another state", Transition { from: vec!["approved", "executing"], ..ok() }, false),
        ("one of several states", Transition { from: vec!["proposed", "pending"], ..ok() }, true),
        ("no state", Transition { from: vec![], ..ok() }, false),
        ("the instant of expiry", approve("a", after(120)), false),
        (
            "expired by wall clock alone",
            approve("a", Moment { boottime: after(10).boottime, ..after(120) }),
            false,
        ),
        (
            "expired by boot clock alone",
            approve("a", Moment { boottime: after(120).boottime, ..after(10) }),
            false,
        ),
        (
            "another boot, whose clock says nothing",
            approve("a", Moment { boot_id: "next".into(), boottime: Duration::from_secs(9000), ..after(10) }),
            true,
        ),
        ("the wall clock stood 5 s before", approve("a", after(-5)), true),
        ("the wall clock stood 6 s before", approve("a", after(-6)), false),
        ("without a look at the clock", Transition { unexpired_at: None, ..ok() }, true),
    ];
    for (what, edge, taken) in cases {
        let journal = Journal::in_memory(Clock::system()).unwrap();
        journal.insert_approval(row("a", "bob"), LIMITS, vec![]).await.unwrap();
        let events = vec![event("t", 1)];
        assert_eq!(journal.transition_approval(edge, events).await.unwrap(), taken, "{what}");
        let stored = journal.approval("a").await.unwrap().unwrap();
        let state = if taken { "approved" } else { "pending" };
        let decided = taken.then_some("ann");
        assert_eq!((stored.state.as_str(), stored.decided_by.as_deref()), (state, decided), "{what}");
        let events = journal.events("t").await.unwrap().len();
        assert_eq!(events, usize::from(taken), "{what}: the event goes with the edge");
    }
}

#[tokio::test]
async fn of_two_deciders_one_wins() {
    let dir = dir();
    let journal = open(&dir);
    for round in 0..20 {
        let id = format!("a{round}");
        journal.insert_approval(row(&id, "bob"), LIMITS, vec![]).await.unwrap();
        let deny = Transition { to: "denied", ..approve(&id, after(1)) };
        let (one, other) = tokio::join!(
            journal.transition_approval(approve(&id, after(1)), vec![event("t", 1)]),
            journal.transition_approval(deny, vec![event("t", 1)]),
        );
        assert!(one.unwrap() ^ other.unwrap(), "exactly one of the two");
    }
    assert_eq!(journal.events("t").await.unwrap().len(), 20);
}

#[tokio::test]
async fn a_full_house_refuses_the_new_one() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    let insert = async |id: &str, who: &str| {
        journal.insert_approval(row(id, who), LIMITS, vec![event("t", 1)]).await.unwrap()
    };
    for id in ["1", "2", "3"] {
        assert_eq!(insert(id, "bob").await, Inserted::Stored);
    }
    assert_eq!(insert("4", "bob").await, Inserted::RequesterFull);
    assert_eq!(insert("5", "eve").await, Inserted::Stored);
    assert_eq!(insert("6", "eve").await, Inserted::Stored);
    assert_eq!(insert("7", "ann").await, Inserted::Full);
    let waiting: Vec<String> =
        journal.approvals(&["pending"]).await.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(waiting, ["1", "2", "3", "5", "6"], "none was evicted; the oldest first");
    assert_eq!(journal.events("t").await.unwrap().len(), 5, "no event for what was refused");
    let denied = Transition { to: "denied", ..approve("1", after(1)) };
    assert!(journal.transition_approval(denied, vec![]).await.unwrap());
    assert_eq!(insert("4", "bob").await, Inserted::Stored, "a decided one makes room");
    assert_eq!(journal.approvals(&["denied"]).await.unwrap()[0].id, "1");
    assert_eq!(journal.approvals(&[]).await.unwrap().len(), 6);
    assert_eq!(journal.approvals_of_task("t").await.unwrap().len(), 6);
    let about = journal.approvals_about("c", "lock.unlock lock.front_door", made()).await.unwrap();
    assert_eq!(about.len(), 6);
    assert!(
        journal
            .insert_approval(row("4", "x"), ApprovalLimits { per_requester: 9, total: 9 }, vec![])
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_row_comes_back_whole_after_a_restart() {
    let dir = dir();
    let journal = open(&dir);
    journal.insert_approval(row("a", "bob"), LIMITS, vec![]).await.unwrap();
    for expected in 1..=3 {
        assert_eq!(journal.count_wrong_hash("a").await.unwrap(), expected);
    }
    assert_eq!(journal.count_wrong_hash("none").await.unwrap(), 0);
    let at = made() + TimeDelta::milliseconds(1234);
    let set = ApprovalSet {
        decided_by: Some("ann".into()),
        decided_via: Some("http".into()),
        decided_at: Some(at),
        dispatched_at: Some(at),
        puback_at: Some(at),
        observed_at: Some(at),
        outcome: Some("confirmed".into()),
    };
    let edge = Transition { set, ..approve("a", after(1)) };
    assert!(journal.transition_approval(edge, vec![]).await.unwrap());
    // A later edge that sets nothing leaves what was there.
    let later = Transition { id: "a".into(), from: vec!["approved"], to: "done", ..Transition::default() };
    assert!(journal.transition_approval(later, vec![]).await.unwrap());
    drop(journal);
    let expected = ApprovalRow {
        state: "done".into(),
        wrong_hashes: 3,
        decided_by: Some("ann".into()),
        decided_via: Some("http".into()),
        decided_at: Some(at),
        dispatched_at: Some(at),
        puback_at: Some(at),
        observed_at: Some(at),
        outcome: Some("confirmed".into()),
        ..row("a", "bob")
    };
    assert_eq!(open(&dir).approval("a").await.unwrap(), Some(expected));
}

#[tokio::test]
async fn safe_mode_takes_no_approval() {
    let journal = Journal::safe_mode(Clock::system(), "the journal is damaged").unwrap();
    assert!(journal.insert_approval(row("a", "bob"), LIMITS, vec![]).await.is_err());
    assert!(journal.transition_approval(approve("a", after(1)), vec![]).await.is_err());
    assert!(journal.append(event("t", 1), Durability::Synced).await.is_err());
    assert_eq!(
        journal.append(event("t", 1), Durability::Normal).await.unwrap(),
        1,
        "reads go on and are recorded"
    );
}
