//! Carrying out what another call carries out already, and what cannot be read or stored meanwhile.

use std::time::Duration;

use homeloop::actuate::{Outcome, RedeemError};
use homeloop::home::{Action, Verb};
use homeloop::policy::{Approval, ApprovalState};
use tokio_util::sync::CancellationToken;

use crate::store::Disk;
use crate::world::{Behaviour, World, action};

fn unlock() -> Vec<Action> {
    vec![action("lock.front", Verb::Unlock)]
}

async fn approved(world: &World) -> Approval {
    let approval = world.ask("t", &unlock()).await;
    world.approve(&approval).await.unwrap();
    approval
}

/// Ten minutes, and no longer, for a call that never ends; not at all for a task that was stopped.
#[tokio::test(start_paused = true)]
async fn another_call_is_not_waited_for_for_ever() {
    for (stopped, shortest, longest) in [(false, 601, 602), (true, 0, 0)] {
        let world = World::new(1);
        let approval = approved(&world).await;
        let _held = world.door.redeem(&approval.id, &approval.plan_hash).await.unwrap();
        let cancel = CancellationToken::new();
        if stopped {
            cancel.cancel();
        }
        let begun = world.clock.since_boot();
        let ended =
            world.door.carry_out(&approval.id, &approval.plan_hash, world.record.as_ref(), &cancel).await;
        assert_eq!(ended, Err(RedeemError::NotApproved(ApprovalState::Executing)));
        let waited = (world.clock.since_boot() - begun).as_secs();
        assert!((shortest..=longest).contains(&waited), "{stopped}: {waited} s");
    }
}

/// Until it is known to have begun, a store that fails means that nothing was sent; after that nobody knows.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_hides_only_what_had_begun() {
    let world = World::new(1);
    let approval = approved(&world).await;
    for disk in [Disk::Full, Disk::Unreadable] {
        *world.store.disk.lock().unwrap() = disk;
        let error = world.carry_out(&approval).await.unwrap_err();
        assert!(matches!(error, RedeemError::Store(_)) && !error.may_have_sent(), "{error:?}");
        *world.store.disk.lock().unwrap() = Disk::Good;
    }
    assert_eq!(world.sent(), 0);
    let _held = world.door.redeem(&approval.id, &approval.plan_hash).await.unwrap();
    let (ended, ()) = tokio::join!(world.carry_out(&approval), async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        *world.store.disk.lock().unwrap() = Disk::Unreadable;
    });
    let error = ended.unwrap_err();
    assert!(matches!(error, RedeemError::Unknown(_)) && error.may_have_sent(), "{error:?}");
}

/// What nobody knew when it was asked about has no state that could have changed since.
#[tokio::test(start_paused = true)]
async fn an_unknown_state_is_no_condition_of_the_approval() {
    for (known, carried_out) in [(true, false), (false, true)] {
        let world = World::new(1);
        if !known {
            // After a reconnect, before the lock has reported again.
            world.devices.connection.store(2, std::sync::atomic::Ordering::SeqCst);
        }
        let approval = approved(&world).await;
        world.is("lock.front", "jammed");
        assert_eq!(world.carry_out(&approval).await.is_ok(), carried_out, "{known}");
        assert_eq!(world.sent(), usize::from(carried_out));
    }
}

/// A second is a second: who has the turn for just as long as leave lasts makes nobody late.
#[tokio::test(start_paused = true)]
async fn what_was_approved_waits_for_its_turn_as_long_as_leave_lasts() {
    for (dispatch_s, sent) in [(15, 2), (14, 1)] {
        let world = World::new(1);
        world.set_policy(|policy| policy.approvals.dispatch_s = dispatch_s).await;
        // It waits fifteen seconds for its answer.
        world.devices.behave("lock.front", Behaviour::Silent);
        let first = approved(&world).await;
        let second = world.ask("u", &[action("lock.front", Verb::Open)]).await;
        world.approve(&second).await.unwrap();
        let (_, late) = tokio::join!(world.carry_out(&first), world.carry_out(&second));
        let late = &late.unwrap()[0];
        assert_eq!(late.outcome == Outcome::NotSent, sent == 1, "{dispatch_s}: {late:?}");
        assert_eq!(world.sent(), sent, "{dispatch_s}");
    }
}
