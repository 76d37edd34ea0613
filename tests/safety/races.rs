//! What comes between a look and what follows from it: a lost swap ends the matter, and each check at the end is needed
//! though another stands before it.

use std::time::Duration;

use chrono::TimeDelta;
use homeloop::actuate::{AnswerError, AskError, Occasion, Plan, Question, RedeemError, Shown};
use homeloop::home::{Action, ActionSpec, EntityId, Update, Verb};
use homeloop::policy::{
    AnswerWord, Approval, ApprovalState, Decision, Grant, Moment, Principal, Rule, Tier, Verdict,
};

use crate::world::{World, action, entity, person, requester};

fn unlock() -> Vec<Action> {
    vec![action("lock.front", Verb::Unlock)]
}

fn scheduled(world: &World) -> Plan {
    world.plan(&unlock()).on(Some(Occasion::Scheduled { when: "every day at 03:00".into() }))
}

/// The door looked, and then the row was changed: the swap is what counts.
#[tokio::test(start_paused = true)]
async fn an_answer_that_loses_the_swap_decides_nothing() {
    type Faster = fn(&mut Approval);
    let faster: [(Faster, AnswerError); 5] = [
        (|row| row.state = ApprovalState::Denied, AnswerError::AlreadyDecided(Verdict::Denied)),
        (|row| row.state = ApprovalState::Cancelled, AnswerError::AlreadyDecided(Verdict::Cancelled)),
        (|row| row.state = ApprovalState::Invalidated, AnswerError::Invalidated),
        (|row| row.plan_hash = "0".repeat(64), AnswerError::Expired),
        (|row| row.expires_at = row.created.wall, AnswerError::Expired),
    ];
    for (at, (change, error)) in faster.into_iter().enumerate() {
        for word in [AnswerWord::Approve, AnswerWord::Deny] {
            let world = World::new(1);
            let approval = world.ask("t", &unlock()).await;
            *world.store.faster.lock().unwrap() = Some(change);
            let answer = world.door.answer(&approval.id, &approval.plan_hash, word, None, &person()).await;
            assert_eq!(answer.as_ref(), Err(&error), "{at}");
            let row = world.store.row(&approval.id);
            assert!(row.decided_by.is_none() && row.state != ApprovalState::Approved, "{at}: {row:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_swap_gives_no_permit() {
    type Faster = fn(&mut Approval);
    let faster: [Faster; 4] = [
        |row| row.state = ApprovalState::Executing,
        |row| row.state = ApprovalState::Cancelled,
        |row| row.state = ApprovalState::Pending,
        |row| row.plan_hash = "0".repeat(64),
    ];
    for (at, change) in faster.into_iter().enumerate() {
        let world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        world.approve(&approval).await.unwrap();
        *world.store.faster.lock().unwrap() = Some(change);
        let permit = world.door.redeem(&approval.id, &approval.plan_hash).await;
        assert!(matches!(permit, Err(RedeemError::NotApproved(_))), "{at}: {permit:?}");
        let kept = world.ask_about("t2", &scheduled(&world)).await;
        world.approve(&kept).await.unwrap();
        *world.store.faster.lock().unwrap() = Some(change);
        assert!(world.door.use_up(&kept.id).await.is_err(), "{at}");
        assert_ne!(world.store.row(&kept.id).state, ApprovalState::DoneConfirmed, "{at}");
        assert_eq!(world.sent(), 0);
    }
}

/// A machine that slept: the wall clock was set back by nearly as much, so it alone shows nothing.
#[tokio::test(start_paused = true)]
async fn f35_and_f37_of_two_clocks_that_part_neither_is_believed() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.approve(&approval).await.unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    world.clock.step_wall(TimeDelta::seconds(-95));
    assert!(matches!(world.carry_out(&approval).await, Err(RedeemError::Invalidated(_))));
    assert_eq!(world.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn leave_to_keep_a_schedule_grows_stale_as_any_other() {
    type Meanwhile = fn(&World);
    let meanwhile: [(Meanwhile, bool); 4] = [
        (|_| {}, true),
        (|world| world.clock.step_wall(TimeDelta::seconds(30)), true),
        (|world| world.clock.step_wall(TimeDelta::seconds(31)), false),
        (
            |world| {
                let verbs = [Verb::Lock, Verb::Unlock].map(ActionSpec::new).to_vec();
                world.house.write().insert(entity("lock.front", "Front door", "other", verbs));
            },
            false,
        ),
    ];
    for (at, (change, good)) in meanwhile.into_iter().enumerate() {
        let world = World::new(1);
        let kept = world.ask_about("t", &scheduled(&world)).await;
        world.approve(&kept).await.unwrap();
        change(&world);
        let used = world.door.use_up(&kept.id).await;
        let state = if good { ApprovalState::DoneConfirmed } else { ApprovalState::Invalidated };
        assert_eq!((used.is_ok(), world.store.row(&kept.id).state), (good, state), "{at}: {used:?}");
    }
}

/// Only what a stopped daemon left behind is settled by reading.
#[tokio::test(start_paused = true)]
async fn only_what_is_uncertain_is_settled() {
    for state in ApprovalState::ALL {
        let world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        world.store.tamper(&approval.id, |row| row.state = state);
        world.is("lock.front", "unlocked");
        let settled = world.door.settle_uncertain(&approval.id).await;
        if state == ApprovalState::Uncertain {
            assert!(settled.is_ok());
            assert_eq!(world.store.row(&approval.id).state, ApprovalState::DoneConfirmed);
        } else {
            assert_eq!(settled, Err(RedeemError::NotApproved(state)));
            assert_eq!(world.store.row(&approval.id).state, state);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_what_has_expired_and_forgets_grants_that_have_ended() {
    let mut world = World::new(1);
    let now = world.clock.now();
    let grant = |id: &str, seconds: i64| Grant {
        id: id.into(),
        entity: EntityId::parse("lock.back").unwrap(),
        verbs: vec![Verb::Unlock],
        principal: requester().name,
        from: now,
        until: now + TimeDelta::seconds(seconds),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    };
    world.store.grants.lock().unwrap().extend([grant("over", 121), grant("goes on", 122)]);
    let early = world.ask("t", &unlock()).await;
    tokio::time::advance(Duration::from_secs(60)).await;
    let late = world.ask("t", &[action("cover.garage", Verb::Open)]).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    world.restart().await;
    assert_eq!(world.store.row(&early.id).state, ApprovalState::Expired);
    assert_eq!(world.store.row(&late.id).state, ApprovalState::Pending);
    let pending: Vec<String> = world.door.pending().await.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(pending, [late.id]);
    let known: Vec<String> = world.door.grants().iter().map(|grant| grant.id.clone()).collect();
    assert_eq!(known, ["goes on"]);
}

/// Guesses at hashes count for the credential over all approvals, and not only for the one that is guessed at.
#[tokio::test(start_paused = true)]
async fn wrong_hashes_lock_the_credential_too() {
    let world = World::new(1);
    let third = world.ask("t", &[action("cover.garage", Verb::Open)]).await;
    for lock in ["lock.front", "lock.back"] {
        let approval = world.ask("t", &[action(lock, Verb::Unlock)]).await;
        for _ in 0..5 {
            let _ = world.door.answer(&approval.id, "0", AnswerWord::Approve, None, &person()).await;
        }
    }
    assert_eq!(world.approve(&third).await, Err(AnswerError::Locked(900)));
}

/// A question is about the plan that was decided about, and only where policy asks.
#[tokio::test(start_paused = true)]
async fn only_what_policy_asks_about_is_asked() {
    let world = World::new(1);
    let principal = requester();
    let question = Question {
        task: "t",
        step: 0,
        conversation: None,
        principal: &principal,
        device: None,
        utterance: "x",
        taint: None,
    };
    let (front, lamp) = (world.plan(&unlock()), world.plan(&[action("light.kitchen", Verb::TurnOn)]));
    let back = world.plan(&[action("lock.back", Verb::Unlock)]);
    for (plan, decided) in [(&lamp, &lamp), (&front, &back), (&front, &lamp), (&lamp, &front)] {
        let asked = world.door.ask(plan, &world.decide(decided), &question).await;
        assert_eq!(asked, Err(AskError::NotAsked));
    }
    assert!(world.store.rows.lock().unwrap().is_empty());
    let asked = world.door.ask(&front, &world.decide(&front), &question).await.unwrap();
    // Another conversation and another requester ask a question of their own.
    let elsewhere = Question { conversation: Some("c"), ..question };
    let other = Principal { name: "token:other".into(), ..requester() };
    let of_other = Question { principal: &other, ..question };
    for question in [elsewhere, of_other] {
        let again = world.door.ask(&front, &world.decide(&front), &question).await.unwrap();
        assert_ne!(again.id, asked.id);
    }
    assert_eq!(world.door.ask(&front, &world.decide(&front), &question).await.unwrap().id, asked.id);
    assert_eq!(world.door.approval(&asked.id).await.unwrap(), Some(asked.clone()));
    assert_eq!(world.door.actions_of(&asked.id).await, unlock());
    assert!(world.door.actions_of("01X").await.is_empty());
}

/// The tiers of the home file stand whatever policy is put in force, and give way only to their own successors.
#[tokio::test(start_paused = true)]
async fn tiers_of_the_home_file_outlast_a_new_policy() {
    let world = World::new(1);
    let front = EntityId::parse("lock.front").unwrap();
    let decision = || world.decide(&world.plan(&unlock())).decision();
    assert_eq!(decision(), Decision::Ask);
    for (tier, expected) in
        [(Tier::Never, Decision::Deny), (Tier::Ask, Decision::Ask), (Tier::Act, Decision::Allow)]
    {
        let rule = Rule::for_entity(front.clone(), tier, "as the owner wishes");
        world.door.note_tier(&front, rule.clone());
        assert_eq!(decision(), expected, "{tier:?}");
        world.set_policy(|policy| policy.rules.clear()).await;
        assert_eq!(decision(), expected, "{tier:?} after a reload");
        world.door.note_tier(&front, rule);
        assert_eq!(world.door.policy().rules.len(), 1, "noted twice, it stands once");
    }
}

/// A person sees the other entity that a name could be taken for, and that nobody is home.
#[tokio::test(start_paused = true)]
async fn b15_a_twin_is_shown_beside_the_target() {
    let world = World::new(1);
    let verbs = || [Verb::Lock, Verb::Unlock].map(ActionSpec::new).to_vec();
    let name = world.house.read().entity("lock.front").unwrap().name.to_string();
    let twin = name.replace('o', "\u{43e}");
    assert_ne!(twin, name);
    for (id, verbs) in
        [("lock.twin", verbs()), ("lock.mute", vec![ActionSpec::new(Verb::Lock)]), ("switch.twin", verbs())]
    {
        world.house.write().insert(entity(id, &twin, "", verbs));
    }
    world.house.write().insert(entity("lock.side", "Side", "", verbs()));
    world.house.write().insert(entity("person.anna", "Anna", "", vec![]));
    let at = |value: &str| Update::value(value.to_owned());
    for (value, away) in [("home", false), ("not_home", true)] {
        world.devices.report(&EntityId::parse("person.anna").unwrap(), &at(value), true);
        let approval = world.ask(value, &unlock()).await;
        let warned: Vec<&String> =
            approval.reasons.iter().filter(|reason| reason.contains("looks the same")).collect();
        assert_eq!(warned, ["lock.twin has a name that looks the same"]);
        assert_eq!(approval.reasons.iter().any(|reason| reason == "nobody is home"), away, "{value}");
        let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
        assert!(shown.text.contains("lock.twin"), "{}", shown.text);
        world.deny(&approval).await.unwrap();
    }
    // Both of a pair that is asked about together are no twins of each other.
    let both =
        world.ask("both", &[action("lock.front", Verb::Unlock), action("lock.twin", Verb::Unlock)]).await;
    assert!(!both.reasons.iter().any(|reason| reason.contains("looks the same")), "{:?}", both.reasons);
}
