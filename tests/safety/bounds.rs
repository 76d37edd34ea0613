//! Bounds of a question: how long it stands, how much of the words it keeps, and what is said where it cannot be put.

use std::time::Duration;

use homeloop::actuate::{AnswerError, AskError, Occasion, Question, Shown};
use homeloop::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Verb};
use homeloop::policy::{AnswerWord, Moment};

use crate::store::Disk;
use crate::world::{World, action, entity, person, requester};

fn unlock() -> Vec<Action> {
    vec![action("lock.front", Verb::Unlock)]
}

/// Whatever the settings say, a question stands for a second at least and ten minutes at most.
#[tokio::test(start_paused = true)]
async fn a_question_stands_from_a_second_to_ten_minutes() {
    for (ttl_s, stands) in [(0, 1), (1, 1), (2, 2), (600, 600), (601, 600), (u64::MAX, 600)] {
        let world = World::new(1);
        world.set_policy(|policy| policy.approvals.ttl_s = ttl_s).await;
        let approval = world.ask("t", &unlock()).await;
        assert_eq!((approval.expires_at - approval.created.wall).num_seconds(), stands, "{ttl_s}");
        let since_boot = approval.expires_since_boot - approval.created.since_boot;
        assert_eq!(since_boot.as_secs(), stands.unsigned_abs(), "{ttl_s}");
    }
}

#[tokio::test(start_paused = true)]
async fn five_hundred_characters_of_the_words_are_kept() {
    let world = World::new(1);
    let plan = world.plan(&unlock());
    let who = requester();
    for (said, kept) in [(499, 499), (500, 500), (501, 500), (9000, 500)] {
        let words = "门".repeat(said);
        let question = Question {
            task: "t",
            step: 0,
            conversation: None,
            principal: &who,
            device: None,
            utterance: &words,
            taint: None,
        };
        let asked = world.door.ask(&plan, &world.decide(&plan), &question).await.unwrap();
        assert_eq!(asked.utterance.chars().count(), kept, "{said}");
        world.door.cancel_approval(&asked.id).await.unwrap();
    }
}

/// A name keeps 64 characters and the times of a schedule 200; the id beside a name is whole.
#[tokio::test(start_paused = true)]
async fn names_and_times_are_shown_up_to_their_bound() {
    let world = World::new(1);
    for (length, cut) in [(64, false), (65, true)] {
        let name = "n".repeat(length);
        let verbs = vec![ActionSpec::new(Verb::Unlock)];
        world.house.write().insert(entity("lock.long", &name, "", verbs));
        let occasion = Occasion::Scheduled { when: "w".repeat(length + 136) };
        let plan = world.plan(&[action("lock.long", Verb::Unlock)]).on(Some(occasion));
        let approval = world.ask_about(&name, &plan).await;
        let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
        assert_eq!(shown.targets[0].name.ends_with('…'), cut, "{length}");
        assert_eq!(shown.targets[0].name.matches('n').count(), 64, "{length}");
        assert_eq!(shown.warnings[0].ends_with('…'), cut, "{length}");
        assert_eq!(shown.warnings[0].matches("w".repeat(200).as_str()).count(), 1, "{length}");
        assert!(!shown.warnings[0].contains(&"w".repeat(201)), "{length}");
    }
}

/// How far a gate is to open is part of what is asked.
#[tokio::test(start_paused = true)]
async fn arguments_are_shown_with_their_unit() {
    let world = World::new(1);
    let spec = ActionSpec::new(Verb::SetPosition).with(ArgSpec::required(Arg::Position, ArgKind::percent()));
    world.house.write().insert(entity("cover.gate", "Gate", "gate", vec![spec]));
    let open = action("cover.gate", Verb::SetPosition).with(Arg::Position, ArgValue::Number(40.0));
    let approval = world.ask("t", &[open]).await;
    let shown = Shown::of(&approval, "en", &Moment::of(&world.clock)).unwrap();
    assert_eq!(shown.targets[0].what, "SET POSITION position=40.0%");
}

/// "Again in 0 s" would be no answer.
#[tokio::test(start_paused = true)]
async fn less_than_a_second_is_told_as_one() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    world.deny(&approval).await.unwrap();
    tokio::time::advance(Duration::from_millis(599_500)).await;
    assert_eq!(world.try_ask("t", &requester(), &unlock()).await, Err(AskError::CoolDown(1)));
    for _ in 0..10 {
        let _ = world.door.answer("01X", "0", AnswerWord::Approve, None, &person()).await;
    }
    tokio::time::advance(Duration::from_millis(899_500)).await;
    let locked = world.door.answer("01X", "0", AnswerWord::Approve, None, &person()).await;
    assert_eq!(locked, Err(AnswerError::Locked(1)));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_stored_is_not_taken() {
    let world = World::new(1);
    let approval = world.ask("t", &unlock()).await;
    *world.store.disk.lock().unwrap() = Disk::Full;
    let error = world.approve(&approval).await.unwrap_err();
    assert!(matches!(error, AnswerError::Store(_)), "{error:?}");
    assert_eq!(error.status(), 503);
    *world.store.disk.lock().unwrap() = Disk::Good;
    assert!(world.store.row(&approval.id).decided_by.is_none());
    assert!(world.approve(&approval).await.is_ok(), "the question still stands");
}
