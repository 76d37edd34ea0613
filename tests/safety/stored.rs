//! Approvals in the real journal: what is stored comes back, and compare-and-swap is the database's.

use std::sync::Arc;

use chrono::TimeDelta;
use homeloop::actuate::{ApprovalStore, Occasion, PendingLimits, Question, Stored, Swap};
use homeloop::clock::Clock;
use homeloop::journal::Journal;
use homeloop::policy::{AnswerWord, Approval, ApprovalState, Asked, Grant, Moment};
use tokio_util::sync::CancellationToken;

use crate::world::{World, action, door, person, requester};
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

/// The row says when it was decided, when it went to the devices, and when the house was last looked at.
#[tokio::test]
async fn the_row_tells_when_each_step_was() {
    let world = World::new(1);
    let journal = Arc::new(Journal::in_memory(world.clock.clone()).unwrap());
    let door = door(&world.house, &world.devices, journal.clone(), &world.clock);
    let who = requester();
    let now = world.plan(&[action("lock.front", Verb::Unlock)]);
    let later = now.clone().on(Some(Occasion::Scheduled { when: "every day at 03:00".into() }));
    for (plan, carried_out) in [(now, true), (later, false)] {
        let asked = Asked { principal: &who, conversation: None, taint: None, sent: &[] };
        let question = Question {
            task: "t",
            step: 0,
            conversation: None,
            principal: &who,
            device: None,
            utterance: "open up",
            taint: None,
        };
        let approval = door.ask(&plan, &door.decide(&plan, &asked), &question).await.unwrap();
        door.answer(&approval.id, plan.hash(), AnswerWord::Approve, None, &person()).await.unwrap();
        let row = async || journal.approval(&approval.id).await.unwrap().unwrap();
        let approved = row().await;
        assert!(approved.decided_at.is_some() && approved.dispatched_at.is_none());
        if carried_out {
            let (record, cancel) = (world.record.as_ref(), CancellationToken::new());
            door.carry_out(&approval.id, plan.hash(), record, &cancel).await.unwrap();
        } else {
            door.use_up(&approval.id).await.unwrap();
        }
        let done = row().await;
        assert!(done.dispatched_at >= done.decided_at, "{done:?}");
        // Leave to keep a schedule is used up without a device.
        assert_eq!(done.observed_at.is_some(), carried_out, "{done:?}");
        assert!(!carried_out || done.observed_at >= done.dispatched_at, "{done:?}");
    }
}
