//! Attacks on approvals, by their numbers, and what an approval does when nobody attacks.

use std::time::Duration;

use chrono::TimeDelta;
use homeloop::actuate::{AnswerError, AskError, Outcome, RedeemError};
use homeloop::home::{ActionSpec, Verb};
use homeloop::policy::{AnswerWord, Approval, ApprovalState, Channel, Principal, Rule, Scope, Verdict};

use crate::world::{World, action, entity, person, requester};

fn unlock() -> Vec<homeloop::home::Action> {
    vec![action("lock.front", Verb::Unlock)]
}

fn wrong(hash: &str) -> String {
    hash.chars().rev().collect()
}

#[tokio::test(start_paused = true)]
async fn an_approved_plan_runs_once_and_is_confirmed() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    assert_eq!((approval.match_code.len(), approval.plan_hash.len()), (2, 64));
    assert_eq!(world.sent(), 0);
    assert_eq!(world.approve(&approval).await, Ok(Verdict::Approved));
    assert_eq!(
        world.door.await_answer(&approval.id).await,
        Ok((Verdict::Approved, Some("token:anna".into())))
    );
    let outcomes = world.carry_out(&approval).await.unwrap();
    assert_eq!(outcomes[0].outcome, Outcome::Confirmed);
    assert_eq!(world.store.row(&approval.id).state, ApprovalState::DoneConfirmed);
    // Carried out again, it tells the same and sends nothing.
    assert_eq!(world.carry_out(&approval).await.unwrap(), outcomes);
    assert_eq!(world.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn approval_is_exact_once_and_expires_to_denied_when_nobody_answers() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let begun = world.clock.since_boot();
    assert_eq!(world.door.await_answer(&approval.id).await, Ok((Verdict::Expired, None)));
    let waited = world.clock.since_boot() - begun;
    assert!(waited >= Duration::from_secs(120) && waited <= Duration::from_secs(121), "{waited:?}");
    assert_eq!(world.carry_out(&approval).await, Err(RedeemError::NotApproved(ApprovalState::Expired)));
    // No cool-down after silence.
    assert!(world.try_ask("t", &requester(), &unlock()).await.is_ok());
    assert_eq!(world.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn s1_an_unknown_id_is_not_found() {
    let world = World::new(1);
    let error = world.door.answer("01X", "0", AnswerWord::Approve, None, &person()).await.unwrap_err();
    assert_eq!((&error, error.status()), (&AnswerError::NotFound, 404));
}

#[tokio::test(start_paused = true)]
async fn s2_a_wrong_hash_is_refused_and_counted() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let hash = wrong(&approval.plan_hash);
    let error =
        world.door.answer(&approval.id, &hash, AnswerWord::Approve, None, &person()).await.unwrap_err();
    assert_eq!((&error, error.status()), (&AnswerError::WrongHash, 409));
    let row = world.store.row(&approval.id);
    assert_eq!((row.wrong_hashes, row.state), (1, ApprovalState::Pending));
}

#[tokio::test(start_paused = true)]
async fn s3_five_wrong_hashes_deny() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let hash = wrong(&approval.plan_hash);
    for expected in [ApprovalState::Pending; 4].into_iter().chain([ApprovalState::Denied]) {
        let _ = world.door.answer(&approval.id, &hash, AnswerWord::Approve, None, &person()).await;
        assert_eq!(world.store.row(&approval.id).state, expected);
    }
    assert_eq!(world.approve(&approval).await, Err(AnswerError::AlreadyDecided(Verdict::Denied)));
}

#[tokio::test(start_paused = true)]
async fn ten_wrong_tries_lock_the_credential() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    for _ in 0..10 {
        let _ = world.door.answer("01X", "0", AnswerWord::Approve, None, &person()).await;
    }
    let error = world.approve(&approval).await.unwrap_err();
    assert_eq!((&error, error.status()), (&AnswerError::Locked(900), 429));
    let other = Principal { name: "token:ben".into(), ..person() };
    let hash = &approval.plan_hash;
    assert!(world.door.answer(&approval.id, hash, AnswerWord::Approve, None, &other).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn s4_the_hash_of_another_approval_is_refused() {
    let world = World::new(1);
    let front = world.ask("t", &unlock()).await;
    let back = world.ask("t", &[action("lock.back", Verb::Unlock)]).await;
    let error = world
        .door
        .answer(&front.id, &back.plan_hash, AnswerWord::Approve, None, &person())
        .await
        .unwrap_err();
    assert_eq!(error, AnswerError::WrongHash);
}

#[tokio::test(start_paused = true)]
async fn s5_a_replayed_decision_sends_nothing_again() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.approve(&approval).await.unwrap();
    world.carry_out(&approval).await.unwrap();
    let error = world.approve(&approval).await.unwrap_err();
    assert_eq!((&error, error.status()), (&AnswerError::AlreadyDecided(Verdict::Approved), 409));
    assert_eq!(world.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn s6_a_millisecond_late_is_late() {
    for (millis, taken) in [(119_999, true), (120_000, false), (120_001, false)] {
        let world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        tokio::time::advance(Duration::from_millis(millis)).await;
        let answer = world.approve(&approval).await;
        assert_eq!(answer.is_ok(), taken, "{millis}");
        if let Err(error) = answer {
            assert_eq!((&error, error.status()), (&AnswerError::Expired, 410));
            assert_eq!(world.store.row(&approval.id).state, ApprovalState::Expired);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s7_a_decision_dated_far_from_now_is_refused() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    for seconds in [-61, 61, 86_400] {
        let dated = Some(world.clock.now() + TimeDelta::seconds(seconds));
        let error = world
            .door
            .answer(&approval.id, &approval.plan_hash, AnswerWord::Approve, dated, &person())
            .await
            .unwrap_err();
        assert_eq!((&error, error.status()), (&AnswerError::Dated, 400));
    }
}

#[tokio::test(start_paused = true)]
async fn s13_agents_voices_and_devices_cannot_decide() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let all = vec![Scope::Read, Scope::Command, Scope::Approve, Scope::Admin];
    for who in [
        Principal { name: "voice:kitchen".into(), channel: Channel::Voice, scopes: all.clone() },
        Principal { name: "mcp:agent".into(), channel: Channel::Mcp, scopes: all.clone() },
        Principal { name: "schedule:1".into(), channel: Channel::Schedule, scopes: all.clone() },
        Principal { name: "hass".into(), channel: Channel::HomeAssistant, scopes: all },
        requester(),
    ] {
        let answer =
            world.door.answer(&approval.id, &approval.plan_hash, AnswerWord::Approve, None, &who).await;
        let error = answer.unwrap_err();
        assert_eq!((&error, error.status()), (&AnswerError::Forbidden, 403), "{who:?}");
    }
    assert_eq!(world.store.row(&approval.id).state, ApprovalState::Pending);
}

#[tokio::test(start_paused = true)]
async fn s14_who_decided_is_the_session() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.approve(&approval).await.unwrap();
    let row = world.store.row(&approval.id);
    assert_eq!((row.decided_by.as_deref(), row.decided_via.as_deref()), (Some("token:anna"), Some("http")));
}

#[tokio::test(start_paused = true)]
async fn s17_what_was_changed_after_the_approval_is_not_done() {
    type Change = fn(&World, &Approval);
    let changes: [(&str, Change); 6] = [
        ("the stored plan", |world, approval| {
            world.store.tamper(&approval.id, |row| row.plan_json = row.plan_json.replace("front", "back"));
        }),
        ("the stored plan and its hash", |world, approval| {
            let other = world.plan(&[action("lock.back", Verb::Unlock)]);
            world.store.tamper(&approval.id, |row| row.plan_json = other.json().to_owned());
        }),
        // Somebody who can write to the database and does it thoroughly: the task's own record still knows.
        ("the whole row", |world, approval| {
            let other = world.plan(&[action("lock.back", Verb::Unlock)]);
            world.store.tamper(&approval.id, |row| {
                row.plan_json = other.json().to_owned();
                row.plan_hash = other.hash().to_owned();
                row.device_hash = other.device_hash().to_owned();
            });
        }),
        ("the device", |world, _| {
            let verbs = [Verb::Lock, Verb::Unlock].map(ActionSpec::new).to_vec();
            world.house.write().insert(entity("lock.front", "Front door", "other", verbs));
        }),
        ("the device is gone", |world, _| {
            world.house.write().remove(&homeloop::home::EntityId::parse("lock.front").unwrap());
        }),
        ("what the device reports", |world, _| world.is("lock.front", "jammed")),
    ];
    for (what, change) in changes {
        let world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        world.approve(&approval).await.unwrap();
        change(&world, &approval);
        assert!(matches!(world.carry_out(&approval).await, Err(RedeemError::Invalidated(_))), "{what}");
        assert_eq!(world.store.row(&approval.id).state, ApprovalState::Invalidated, "{what}");
        assert_eq!(world.sent(), 0, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn b40_a_device_that_goes_takes_its_question_with_it() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.house.write().remove(&homeloop::home::EntityId::parse("lock.front").unwrap());
    assert_eq!(world.door.await_answer(&approval.id).await, Ok((Verdict::Invalidated, None)));
    let error = world.approve(&approval).await.unwrap_err();
    assert_eq!((&error, error.status()), (&AnswerError::Invalidated, 409));
}

#[tokio::test(start_paused = true)]
async fn s18_other_actions_are_another_question() {
    let world = World::new(1);
    let first = world.ask("t", &unlock()).await;
    world.approve(&first).await.unwrap();
    let second = world.ask("t", &[action("lock.back", Verb::Unlock)]).await;
    assert_ne!(first.id, second.id);
    assert_eq!(world.carry_out(&second).await, Err(RedeemError::NotApproved(ApprovalState::Pending)));
    assert_eq!(world.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn s19_only_the_approved_one_of_two_runs() {
    let world = World::new(1);
    let front = world.ask("t", &unlock()).await;
    let back = world.ask("t", &[action("lock.back", Verb::Unlock)]).await;
    world.approve(&back).await.unwrap();
    world.carry_out(&back).await.unwrap();
    assert!(world.carry_out(&front).await.is_err());
    assert_eq!((world.devices.sent_to("lock.front"), world.devices.sent_to("lock.back")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn s20_a_tightened_policy_ends_what_was_approved() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.approve(&approval).await.unwrap();
    let never = Rule { verbs: vec![Verb::Unlock], ..Rule::empty(homeloop::policy::Decision::Deny) };
    world.set_policy(|policy| policy.rules.push(never)).await;
    assert!(world.carry_out(&approval).await.is_err());
    assert_eq!(world.store.row(&approval.id).state, ApprovalState::Invalidated);
    assert_eq!(world.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn s22_what_was_denied_is_not_asked_twenty_times() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    assert_eq!(world.deny(&approval).await, Ok(Verdict::Denied));
    for _ in 0..20 {
        let again = world.try_ask("t", &requester(), &unlock()).await;
        assert_eq!(again, Err(AskError::CoolDown(600)));
    }
    let bundle = [action("lock.back", Verb::Unlock), action("lock.front", Verb::Unlock)];
    assert!(world.try_ask("t", &requester(), &bundle).await.is_err(), "nor in a bundle");
    assert!(world.try_ask("t", &requester(), &[action("lock.back", Verb::Unlock)]).await.is_ok());
    assert!(world.try_ask("a person's new command", &requester(), &unlock()).await.is_ok());
    tokio::time::advance(Duration::from_secs(600)).await;
    assert!(world.try_ask("t", &requester(), &unlock()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn s23_a_flood_of_questions_is_refused_and_the_first_stays() {
    let world = World::new(1);
    let real = world.ask("t", &unlock()).await;
    let targets = [
        action("lock.front", Verb::Open),
        action("lock.back", Verb::Unlock),
        action("lock.back", Verb::Open),
        action("cover.garage", Verb::Open),
        action("siren.roof", Verb::TurnOn),
        action("alarm_control_panel.home", Verb::Disarm),
        action("script.unknown", Verb::Run),
    ];
    for number in 0..1000usize {
        let who = Principal { name: format!("token:{}", number % 7), ..requester() };
        let _ = world.try_ask("flood", &who, &[targets[number % targets.len()].clone()]).await;
    }
    let pending = world.door.pending().await.unwrap();
    assert_eq!(pending.len(), 5);
    assert!(pending.iter().any(|approval| approval.id == real.id));
    assert_eq!(world.try_ask("t", &requester(), &[targets[6].clone()]).await, Err(AskError::Full(5)));
}

#[tokio::test(start_paused = true)]
async fn one_requester_has_three_questions() {
    let world = World::new(1);
    for target in ["lock.front", "lock.back"] {
        world.ask("t", &[action(target, Verb::Unlock)]).await;
        world.ask("t", &[action(target, Verb::Unlock)]).await;
    }
    assert_eq!(world.door.pending().await.unwrap().len(), 2, "the same question is one");
    world.ask("t", &[action("cover.garage", Verb::Open)]).await;
    let fourth = world.try_ask("t", &requester(), &[action("siren.roof", Verb::TurnOn)]).await;
    assert_eq!(fourth, Err(AskError::RequesterFull(3)));
}

#[tokio::test(start_paused = true)]
async fn f44_f45_of_two_answers_one_is_taken() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    let (one, two) = tokio::join!(world.approve(&approval), world.deny(&approval));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    let decided = world.store.row(&approval.id).state;
    assert!(matches!(decided, ApprovalState::Approved | ApprovalState::Denied));
}

/// An answer in the very moment of the expiry: one of the two holds, and what is told is what holds.
#[tokio::test(start_paused = true)]
async fn f44_an_answer_at_the_moment_of_expiry_is_taken_or_refused_and_never_both() {
    for early in [0, 1] {
        let world = World::new(1);
        let approval = world.ask("t", &unlock()).await;
        let at = Duration::from_secs(120) - Duration::from_millis(early);
        let answer = async {
            tokio::time::sleep(at).await;
            world.approve(&approval).await
        };
        let (answer, ended) = tokio::join!(answer, world.door.await_answer(&approval.id));
        let (verdict, _) = ended.unwrap();
        assert_eq!(answer.is_ok(), verdict == Verdict::Approved, "{early}: {answer:?} {verdict:?}");
        assert_eq!(world.carry_out(&approval).await.is_ok(), verdict == Verdict::Approved);
        assert_eq!(world.sent(), usize::from(verdict == Verdict::Approved));
    }
}

#[tokio::test(start_paused = true)]
async fn two_tasks_with_the_same_question_share_the_one_send() {
    let world = World::new(1);
    let first = world.ask("t", &unlock()).await;
    let second = world.ask("u", &unlock()).await;
    assert_eq!(first.id, second.id);
    world.approve(&first).await.unwrap();
    let (one, two) = tokio::join!(world.carry_out(&first), world.carry_out(&second));
    assert_eq!(one.unwrap(), two.unwrap());
    assert_eq!(world.sent(), 1);
}
