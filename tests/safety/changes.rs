//! What changed between the question and the answer is found by whoever comes first.

use std::time::Duration;

use homeloop::actuate::AnswerError;
use homeloop::home::{Action, EntityId, Verb};
use homeloop::policy::{AnswerWord, ApprovalState};

use crate::world::{World, action, person, requester};

fn unlock() -> Vec<Action> {
    vec![action("lock.front", Verb::Unlock)]
}

/// Nobody waits for it and nobody has looked: the answer itself finds that the device is gone.
#[tokio::test(start_paused = true)]
async fn an_answer_about_a_device_that_is_gone_is_refused() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.house.write().remove(&EntityId::parse("lock.front").unwrap());
    assert_eq!(world.approve(&approval).await, Err(AnswerError::Invalidated));
    let row = world.store.row(&approval.id);
    assert_eq!((row.state, row.decided_by), (ApprovalState::Invalidated, None));
}

/// A wrong hash counts against the question while it is open, and against the credential always.
#[tokio::test(start_paused = true)]
async fn a_wrong_hash_counts_only_while_the_question_is_open() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.approve(&approval).await.unwrap();
    for _ in 0..6 {
        let answer = world.door.answer(&approval.id, "0", AnswerWord::Deny, None, &person()).await;
        assert_eq!(answer, Err(AnswerError::WrongHash));
    }
    let row = world.store.row(&approval.id);
    assert_eq!((row.state, row.wrong_hashes), (ApprovalState::Approved, 0));
}

#[tokio::test(start_paused = true)]
async fn an_expired_question_is_neither_shown_nor_asked_again() {
    let world = World::new(1);
    let old = world.ask("t", &unlock()).await;
    tokio::time::advance(Duration::from_secs(121)).await;
    assert_eq!(world.door.pending().await.unwrap(), []);
    let new = world.try_ask("t", &requester(), &unlock()).await.unwrap();
    assert_ne!(new.id, old.id);
    assert_eq!(world.store.row(&old.id).state, ApprovalState::Expired);
    assert_eq!(world.door.pending().await.unwrap(), [new]);
}
