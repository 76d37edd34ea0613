//! Attacks on approvals, by their numbers, and what an approval does when nobody attacks.

use std::time::Duration;

use chrono::TimeDelta;
use homeloop::actuate::{AnswerError, AskError, Occasion, Outcome, RedeemError, Shown};
use homeloop::home::{ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Verb};
use homeloop::policy::{
    AnswerWord, Approval, ApprovalState, Channel, Decision, Grant, Moment, Principal, Rule, Scope, Verdict,
};

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
async fn s24_a_name_cannot_hide_its_target() {
    let world = World::new(1);
    let verbs = vec![ActionSpec::new(Verb::Unlock)];
    let name = format!("Lamp\nLIGHT ON - \u{202e}rood\u{200b}\u{7} {}", "x".repeat(5000));
    world.house.write().insert(entity("lock.evil", &name, "", verbs));
    let approval =
        world.ask("t", &[action("lock.evil", Verb::Unlock), action("lock.front", Verb::Unlock)]).await;
    let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
    assert_eq!(shown.targets.len(), 2);
    let lines: Vec<&str> = shown.text.lines().collect();
    assert!(
        lines[0].starts_with("UNLOCK - Lamp LIGHT ON - rood xxx") && lines[0].contains("(lock.evil)"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("UNLOCK - Front door (lock.front) - now: locked, 0 s ago"), "{lines:?}");
    assert!(lines[2].contains("token:phone \"Kitchen\": \"open up for the courier\" (heard, not verified)"));
    assert!(lines[3].starts_with(&format!("Code {} - expires in 2:00", approval.match_code)));
    assert_eq!(lines.len(), 4);
    assert!(!shown.text.contains(['\u{202e}', '\u{200b}', '\u{7}']) && shown.text.len() < 1500);
    let chinese = Shown::of(&approval, "zh", &Moment::of(&world.clock)).unwrap();
    assert!(chinese.text.contains("开锁 - Front door (lock.front)"));
}

/// What a text may be is the reason why a person is asked: all of it is seen, and none of it passes for something else.
#[tokio::test(start_paused = true)]
async fn s24_free_text_is_shown_to_its_end_and_in_quotation_marks() {
    let world = World::new(1);
    let text = |max_chars| ArgKind::Text { max_chars };
    let verb = ActionSpec::new(Verb::SendCommand)
        .with(ArgSpec::required(Arg::Command, text(255)))
        .with(ArgSpec::optional(Arg::Params, text(1000)));
    world.house.write().insert(entity("vacuum.robot", "Robot", "", vec![verb]));
    let command = format!("go\u{200b} {} params={{}}", "x".repeat(200));
    let params = format!(r#"{{"pad":"{}","do":"reset"}}"#, "y".repeat(500));
    let action = action("vacuum.robot", Verb::SendCommand)
        .with(Arg::Command, ArgValue::Text(command))
        .with(Arg::Params, ArgValue::Text(params));
    let shown = Shown::of(&world.ask("t", &[action]).await, "en", &Moment::of(&world.clock)).unwrap();
    let what = &shown.targets[0].what;
    assert!(
        what.starts_with("SEND COMMAND command=\"go xxx") && what.contains("x params={}\" params=\""),
        "{what}"
    );
    assert!(what.contains(r#"\"do\":\"reset\"}""#) && what.ends_with(" -> dev/vacuum.robot/set"), "{what}");
}

#[tokio::test(start_paused = true)]
async fn t22_an_unreachable_target_is_shown_as_unknown() {
    let world = World::new(1);
    let update = homeloop::home::Update {
        availability: Some(homeloop::home::Availability::Offline),
        ..homeloop::home::Update::default()
    };
    world.devices.report(&homeloop::home::EntityId::parse("lock.front").unwrap(), &update, true);
    tokio::time::advance(Duration::from_secs(600)).await;
    let approval = world.ask("t", &unlock()).await;
    let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
    assert_eq!(shown.targets[0].now, "state unknown (last known: locked, 10 min ago)");
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

#[tokio::test(start_paused = true)]
async fn a_grant_opens_one_door_for_one_person_until_its_end() {
    let world = World::new(1);
    let now = world.clock.now();
    let grant = Grant {
        id: "g".into(),
        entity: homeloop::home::EntityId::parse("lock.back").unwrap(),
        verbs: vec![Verb::Unlock],
        principal: requester().name,
        from: now,
        until: now + TimeDelta::hours(1),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    };
    let local = Principal { name: "local".into(), channel: Channel::Local, scopes: vec![Scope::Admin] };
    assert!(world.door.grant(grant.clone(), &person()).await.is_err());
    world.door.grant(grant, &local).await.unwrap();
    assert_eq!(world.act(&[action("lock.back", Verb::Unlock)]).await[0].outcome, Outcome::Confirmed);
    let front = world.plan(&unlock());
    assert_eq!(world.decide(&front).decision(), homeloop::policy::Decision::Ask);
    tokio::time::advance(Duration::from_secs(3600)).await;
    let back = world.plan(&[action("lock.back", Verb::Unlock)]);
    assert_eq!(world.decide(&back).decision(), homeloop::policy::Decision::Ask);
    assert!(world.door.revoke("g").await.unwrap());
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
