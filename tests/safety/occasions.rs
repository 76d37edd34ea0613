//! Questions about schedules: leave to keep or drop one is no leave to act.

use homeloop::actuate::{Occasion, RedeemError, Shown};
use homeloop::home::Verb;
use homeloop::policy::{ApprovalState, Decision, Moment, Verdict};

use crate::world::{World, action};

fn unlock() -> Vec<homeloop::home::Action> {
    vec![action("lock.front", Verb::Unlock)]
}

/// "Unlock every day at three" is another question than "unlock now": leave to keep the schedule is never leave to act.
#[tokio::test(start_paused = true)]
async fn leave_for_a_schedule_is_no_leave_to_act() {
    let world = World::new(1);
    let occasion = Occasion::Scheduled { when: "every day at 03:00".into() };
    let now = world.plan(&unlock());
    let later = world.plan(&unlock()).on(Some(occasion));
    assert_ne!(now.hash(), later.hash());
    let at_once = world.ask("t", &unlock()).await;
    let kept = world.ask_about("t", &later).await;
    assert_ne!(at_once.id, kept.id, "one question is not the other");
    let shown = Shown::of(&kept, "en", &Moment::of(&world.clock)).unwrap();
    assert!(shown.targets[0].what.starts_with("SCHEDULE: UNLOCK"), "{shown:?}");
    assert!(shown.text.contains("nothing is done now") && shown.text.contains("every day at 03:00"));
    assert_eq!(world.approve(&kept).await, Ok(Verdict::Approved));
    // Carried out as if it were for now, it sends nothing and is spent.
    let refused = world.carry_out(&kept).await;
    assert!(matches!(refused, Err(RedeemError::Invalidated(_))), "{refused:?}");
    assert_eq!(world.store.row(&at_once.id).state, ApprovalState::Pending);
    assert_eq!(world.sent(), 0);
    let kept = world.ask_about("t2", &later).await;
    assert_eq!(world.approve(&kept).await, Ok(Verdict::Approved));
    assert_eq!(world.door.use_up(&kept.id).await, Ok(()));
    assert_eq!(world.store.row(&kept.id).state, ApprovalState::DoneConfirmed);
    assert_eq!(
        world.door.use_up(&kept.id).await,
        Err(RedeemError::NotApproved(ApprovalState::DoneConfirmed)),
        "leave is used once"
    );
    assert_eq!(world.sent(), 0);
}

/// Whoever asks, dropping what locks the house at night waits for a person; what opens it may go.
#[tokio::test(start_paused = true)]
async fn dropping_a_schedule_that_locks_is_asked_about() {
    let world = World::new(1);
    let dropped = |verb| {
        let occasion = Occasion::Dropped { when: "Lock the Front door (every day at 22:00)".into() };
        world.plan(&[action("lock.front", verb)]).on(Some(occasion))
    };
    assert_eq!(world.decide(&dropped(Verb::Lock)).decision(), Decision::Ask);
    assert_eq!(world.decide(&dropped(Verb::Unlock)).decision(), Decision::Allow);
    let asked = world.ask_about("t", &dropped(Verb::Lock)).await;
    let shown = Shown::of(&asked, "zh", &Moment::of(&world.clock)).unwrap();
    assert!(shown.text.contains("取消定时：上锁") && shown.text.contains("22:00"), "{}", shown.text);
}
