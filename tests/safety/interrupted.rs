//! Questions over time: a stepped clock, a restart, and what was being done then.

use std::time::Duration;

use chrono::TimeDelta;
use homeloop::actuate::{AnswerError, Outcome, RedeemError};
use homeloop::home::Verb;
use homeloop::policy::ApprovalState;

use crate::world::{World, action};

fn unlock() -> Vec<homeloop::home::Action> {
    vec![action("lock.front", Verb::Unlock)]
}

#[tokio::test(start_paused = true)]
async fn f35_a_stepped_clock_expires_what_waits_and_what_was_approved() {
    for by in
        [TimeDelta::hours(1), TimeDelta::hours(-1), TimeDelta::days(1), TimeDelta::seconds(-20_000 * 86_400)]
    {
        let world = World::new(1);
        let waiting = world.ask("t", &unlock()).await;
        let approved = world.ask("t", &[action("lock.back", Verb::Unlock)]).await;
        world.approve(&approved).await.unwrap();
        world.clock.step_wall(by);
        assert_eq!(world.approve(&waiting).await, Err(AnswerError::Expired), "{by}");
        assert!(world.carry_out(&approved).await.is_err(), "{by}");
        assert_eq!(world.sent(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_dispatched_within_thirty_seconds() {
    for (seconds, sent) in [(30, 1), (31, 0)] {
        let world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        tokio::time::advance(Duration::from_secs(100)).await;
        world.approve(&approval).await.unwrap();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        assert_eq!(world.carry_out(&approval).await.is_ok(), sent == 1, "{seconds}");
        assert_eq!(world.sent(), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn f25_f26_a_restart_keeps_what_waits_and_asks_again_what_was_approved() {
    let mut world = World::new(1);
    let waiting = world.ask("t", &unlock()).await;
    let approved = world.ask("t", &[action("lock.back", Verb::Unlock)]).await;
    world.approve(&approved).await.unwrap();
    world.restart().await;
    assert!(world.carry_out(&approved).await.is_err());
    assert_eq!(world.store.row(&approved.id).state, ApprovalState::Invalidated);
    world.approve(&waiting).await.unwrap();
    assert_eq!(world.carry_out(&waiting).await.unwrap()[0].outcome, Outcome::Confirmed);
}

#[tokio::test(start_paused = true)]
async fn f27_what_was_being_done_is_read_and_never_sent_again() {
    for (really, outcome) in [("unlocked", Outcome::Confirmed), ("locked", Outcome::Unconfirmed)] {
        let mut world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        world.approve(&approval).await.unwrap();
        let (_plan, _permit) = world.door.redeem(&approval.id, &approval.plan_hash).await.unwrap();
        world.restart().await; // before the outcome was stored
        assert_eq!(world.store.row(&approval.id).state, ApprovalState::Uncertain);
        world.is("lock.front", really);
        let outcomes = world.carry_out(&approval).await.unwrap();
        assert_eq!(outcomes[0].outcome, outcome);
        assert_eq!(world.sent(), 0);
    }
}

/// Of what was given to be carried out nobody may say that it was not sent, whatever can no longer be read.
#[tokio::test(start_paused = true)]
async fn what_may_have_been_sent_is_not_told_as_not_sent() {
    let world = World::new(1);
    for state in ApprovalState::ALL {
        let approval = world.ask("t", &unlock()).await;
        world.store.tamper(&approval.id, |row| {
            row.state = state;
            row.decided_at = None;
            row.plan_json.push(' ');
        });
        let cancelled = tokio_util::sync::CancellationToken::new();
        cancelled.cancel();
        let error = world
            .door
            .carry_out(&approval.id, &approval.plan_hash, world.record.as_ref(), &cancelled)
            .await
            .unwrap_err();
        let begun = match state {
            ApprovalState::Executing => error == RedeemError::NotApproved(state),
            ApprovalState::Uncertain
            | ApprovalState::DoneConfirmed
            | ApprovalState::DoneUnconfirmed
            | ApprovalState::Failed => matches!(error, RedeemError::Unknown(_)),
            _ => false,
        };
        assert_eq!(error.may_have_sent(), begun, "{state:?}: {error:?}");
        world.store.tamper(&approval.id, |row| row.state = ApprovalState::Cancelled);
    }
    assert_eq!(world.sent(), 0);
}
