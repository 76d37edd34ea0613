//! Whoever listens is told of every change of a question, at once and not at the next look.

use std::time::Duration;

use homeloop::actuate::{Occasion, RedeemError};
use homeloop::home::{Action, Verb};
use homeloop::policy::{Approval, ApprovalState, Verdict};
use tokio::sync::broadcast::Receiver;

use crate::world::{World, action};

fn unlock() -> Vec<Action> {
    vec![action("lock.front", Verb::Unlock)]
}

/// The states that were told so far.
fn told(changes: &mut Receiver<Approval>) -> Vec<ApprovalState> {
    std::iter::from_fn(|| changes.try_recv().ok()).map(|approval| approval.state).collect()
}

#[tokio::test(start_paused = true)]
async fn every_change_of_a_question_is_told() {
    use ApprovalState::{Approved, Cancelled, Denied, DoneConfirmed, Executing, Expired, Pending};
    let world = World::new(1);
    let mut changes = world.door.approval_changes();
    let approval = world.ask("t", &unlock()).await;
    assert_eq!(told(&mut changes), [Pending]);
    world.approve(&approval).await.unwrap();
    assert_eq!(told(&mut changes), [Approved]);
    world.carry_out(&approval).await.unwrap();
    assert_eq!(told(&mut changes), [Executing, DoneConfirmed]);
    world.is("lock.front", "locked");
    let refused = world.ask("t", &unlock()).await;
    world.deny(&refused).await.unwrap();
    assert_eq!(told(&mut changes), [Pending, Denied]);
    let dropped = world.ask("u", &unlock()).await;
    world.door.cancel_approval(&dropped.id).await.unwrap();
    assert_eq!(told(&mut changes), [Pending, Cancelled]);
    let forgotten = world.ask("v", &unlock()).await;
    world.door.await_answer(&forgotten.id).await.unwrap();
    assert_eq!(told(&mut changes), [Pending, Expired]);
    let occasion = Occasion::Scheduled { when: "every day at 03:00".into() };
    let kept = world.ask_about("w", &world.plan(&unlock()).on(Some(occasion))).await;
    world.approve(&kept).await.unwrap();
    world.door.use_up(&kept.id).await.unwrap();
    assert_eq!(told(&mut changes), [Pending, Approved, DoneConfirmed]);
}

/// A waiting task goes on in the moment of the answer.
#[tokio::test(start_paused = true)]
async fn who_waits_hears_the_answer_at_once() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let begun = world.clock.since_boot();
    let answer = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        world.approve(&approval).await.unwrap();
    };
    let (ended, ()) = tokio::join!(world.door.await_answer(&approval.id), answer);
    assert_eq!(ended.unwrap().0, Verdict::Approved);
    assert_eq!(world.clock.since_boot() - begun, Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_over() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.door.cancel_approval(&approval.id).await.unwrap();
    assert_eq!(world.store.row(&approval.id).state, ApprovalState::Cancelled);
    assert!(world.approve(&approval).await.is_err());
    let refused = Err(RedeemError::NotApproved(ApprovalState::Cancelled));
    assert_eq!(world.carry_out(&approval).await, refused);
    assert_eq!(world.door.cancel_approval("01X").await, Ok(()), "what is gone needs no end");
    assert_eq!(world.sent(), 0);
}

/// Who loses the swap has changed nothing and tells nothing.
#[tokio::test(start_paused = true)]
async fn what_somebody_else_changed_is_not_told_twice() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let mut changes = world.door.approval_changes();
    *world.store.faster.lock().unwrap() = Some(|row| row.state = ApprovalState::Denied);
    world.door.cancel_approval(&approval.id).await.unwrap();
    assert_eq!(told(&mut changes), []);
    assert_eq!(world.store.row(&approval.id).state, ApprovalState::Denied);
}

/// A new policy ends what rests on the old one also where nobody waits for the answer.
#[tokio::test(start_paused = true)]
async fn a_new_policy_ends_every_open_question_itself() {
    let world = World::new(1);
    let waiting = world.ask("t", &unlock()).await;
    let approved = world.ask("t", &[action("lock.back", Verb::Unlock)]).await;
    world.approve(&approved).await.unwrap();
    world.door.recheck().await.unwrap();
    assert_eq!(world.store.row(&waiting.id).state, ApprovalState::Pending, "nothing has changed yet");
    world.set_policy(|_| {}).await;
    for id in [&waiting.id, &approved.id] {
        assert_eq!(world.store.row(id).state, ApprovalState::Invalidated);
    }
}

/// A further denial takes nothing from the time of an earlier one.
#[tokio::test(start_paused = true)]
async fn two_denials_both_cool_down() {
    let world = World::new(1);
    let back = || [action("lock.back", Verb::Unlock)];
    let first = world.ask("t", &unlock()).await;
    world.deny(&first).await.unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    let second = world.ask("t", &back()).await;
    world.deny(&second).await.unwrap();
    let who = crate::world::requester();
    for (target, left) in [(unlock(), 500), (back().to_vec(), 600)] {
        let again = world.try_ask("t", &who, &target).await;
        assert_eq!(again, Err(homeloop::actuate::AskError::CoolDown(left)), "{target:?}");
    }
}
