//! Approvals in the real journal: what is stored comes back, and compare-and-swap is the database's.

use chrono::TimeDelta;
use homeloop::actuate::{ApprovalStore, PendingLimits, Stored, Swap};
use homeloop::clock::Clock;
use homeloop::journal::Journal;
use homeloop::policy::{Approval, ApprovalState, Grant, Moment};

use crate::world::{World, action};
use homeloop::home::{EntityId, Verb};

const LIMITS: PendingLimits = PendingLimits { per_requester: 3, total: 5 };

/// An approval as the door makes it, on the machine's clock.
async fn approval(clock: &Clock) -> Approval {
    let world = World::new(1);
    let mut made = world.ask("t", &[action("lock.front", Verb::Unlock)]).await;
    made.created = Moment::of(clock);
    // The journal keeps milliseconds.
    made.created.wall =
        chrono::DateTime::from_timestamp_millis(made.created.wall.timestamp_millis()).unwrap();
    made.created.since_boot =
        std::time::Duration::from_millis(u64::try_from(made.created.since_boot.as_millis()).unwrap());
    made.expires_at = made.created.wall + TimeDelta::seconds(120);
    made.expires_since_boot = made.created.since_boot + std::time::Duration::from_secs(120);
    for snapshot in &mut made.precondition {
        snapshot.reported_at = None;
    }
    made
}

#[tokio::test]
async fn what_is_stored_comes_back_the_same() {
    let clock = Clock::system();
    let journal = Journal::in_memory(clock.clone()).unwrap();
    let made = Approval { conversation: None, taint: Some("Doorbell".into()), ..approval(&clock).await };
    assert_eq!(journal.insert(&made, LIMITS).await, Ok(Stored::Stored));
    assert_eq!(journal.get(&made.id).await, Ok(Some(made.clone())));
    assert_eq!(journal.get("01X").await, Ok(None));
    assert_eq!(journal.list(&[ApprovalState::Pending]).await, Ok(vec![made.clone()]));
    assert_eq!(journal.list(&[ApprovalState::Approved]).await, Ok(vec![]));
    assert_eq!(ApprovalStore::count_wrong_hash(&journal, &made.id).await, Ok(1));
}

#[tokio::test]
async fn of_many_deciders_one_wins() {
    let clock = Clock::system();
    let journal = Journal::in_memory(clock.clone()).unwrap();
    let made = approval(&clock).await;
    journal.insert(&made, LIMITS).await.unwrap();
    let decide = |by: usize| {
        let swap = Swap {
            plan_hash: Some(made.plan_hash.clone()),
            unexpired_at: Some(Moment::of(&clock)),
            decided_by: Some(format!("person {by}")),
            decided_at: Some(clock.now()),
            ..Swap::new(
                &made.id,
                ApprovalState::Pending,
                if by.is_multiple_of(2) { ApprovalState::Approved } else { ApprovalState::Denied },
            )
        };
        journal.swap(swap)
    };
    let taken = futures_util::future::join_all((0..20).map(decide)).await;
    assert_eq!(taken.iter().filter(|taken| **taken == Ok(true)).count(), 1);
    let winner = taken.iter().position(|taken| *taken == Ok(true)).unwrap();
    let row = journal.get(&made.id).await.unwrap().unwrap();
    assert_eq!(row.decided_by, Some(format!("person {winner}")));
}

#[tokio::test]
async fn each_condition_of_the_swap_counts() {
    let clock = Clock::system();
    let journal = Journal::in_memory(clock.clone()).unwrap();
    let made = approval(&clock).await;
    journal.insert(&made, LIMITS).await.unwrap();
    let to = || Swap::new(&made.id, ApprovalState::Pending, ApprovalState::Approved);
    let later = |seconds| {
        let mut moment = Moment::of(&clock);
        moment.wall += TimeDelta::seconds(seconds);
        Some(moment)
    };
    for (what, swap) in [
        ("another hash", Swap { plan_hash: Some("0".repeat(64)), ..to() }),
        ("another state", Swap { from: vec![ApprovalState::Approved], ..to() }),
        ("another row", Swap { id: "01X".into(), ..to() }),
        ("too late", Swap { unexpired_at: later(121), ..to() }),
        ("before it was asked", Swap { unexpired_at: later(-10), ..to() }),
    ] {
        assert_eq!(journal.swap(swap).await, Ok(false), "{what}");
    }
    assert_eq!(journal.swap(Swap { unexpired_at: later(0), ..to() }).await, Ok(true));
}

#[tokio::test]
async fn limits_are_the_databases_too() {
    let clock = Clock::system();
    let journal = Journal::in_memory(clock.clone()).unwrap();
    let first = approval(&clock).await;
    let numbered = |number: usize, requester: &str| {
        let mut approval = first.clone();
        approval.id = format!("{}{number}", approval.id);
        approval.requester.principal = requester.to_owned();
        approval
    };
    for number in 0..3 {
        assert_eq!(journal.insert(&numbered(number, "a"), LIMITS).await, Ok(Stored::Stored));
    }
    assert_eq!(journal.insert(&numbered(3, "a"), LIMITS).await, Ok(Stored::RequesterFull));
    for number in 4..6 {
        assert_eq!(journal.insert(&numbered(number, "b"), LIMITS).await, Ok(Stored::Stored));
    }
    assert_eq!(journal.insert(&numbered(6, "b"), LIMITS).await, Ok(Stored::Full));
}

#[tokio::test]
async fn grants_are_kept() {
    let clock = Clock::system();
    let journal = Journal::in_memory(clock.clone()).unwrap();
    let grant = Grant {
        id: "g".into(),
        entity: EntityId::parse("lock.side").unwrap(),
        verbs: vec![Verb::Unlock],
        principal: "token:cleaner".into(),
        from: clock.now(),
        until: clock.now() + TimeDelta::hours(1),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    };
    journal.keep_grant(&grant).await.unwrap();
    assert_eq!(ApprovalStore::grants(&journal).await, Ok(vec![grant]));
    assert_eq!(journal.drop_grant("g").await, Ok(true));
    assert_eq!(journal.drop_grant("g").await, Ok(false));
    assert_eq!(ApprovalStore::grants(&journal).await, Ok(vec![]));
}
