//! From the first byte to the last: what is sent again, what is said of half a command, and which codes go out.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use homeloop::actuate::{Outcome, OutcomeEntry, SendError};
use homeloop::home::{ActionSpec, Arg, ArgValue, EntityId, Update, Verb};
use homeloop::policy::{ApprovalState, Permit};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scripted::{self, Link, Taken};
use crate::world::{Behaviour, World, action, entity};

type Told<'a> = (Outcome, Option<&'a str>);

fn told(entry: &OutcomeEntry) -> Told<'_> {
    (entry.outcome, entry.cause.as_deref())
}

/// What was sent once stays sent, also where the second send is no longer possible or no longer wished.
#[tokio::test(start_paused = true)]
async fn a_second_send_that_is_not_made_takes_nothing_back() {
    type Meanwhile = fn(&World, &CancellationToken);
    let meanwhile: [Meanwhile; 2] =
        [|world, _| world.devices.behave("light.kitchen", Behaviour::Down), |_, cancel| cancel.cancel()];
    for (at, change) in meanwhile.into_iter().enumerate() {
        let world = World::new(1);
        world.devices.behave("light.kitchen", Behaviour::Silent);
        let plan = world.plan(&[action("light.kitchen", Verb::TurnOn)]);
        let permit = Permit::free(&world.decide(&plan)).unwrap();
        let cancel = CancellationToken::new();
        let (outcomes, ()) =
            tokio::join!(world.door.perform(&plan, permit, world.record.as_ref(), &cancel), async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                change(&world, &cancel);
            });
        assert_eq!(told(&outcomes[0]), (Outcome::Unconfirmed, Some("no_answer")), "{at}");
        assert_eq!(world.sent(), 1, "{at}");
    }
}

/// A live report that is neither the wish nor its opposite is an answer: it is said, and nothing is sent again.
#[tokio::test(start_paused = true)]
async fn another_state_than_the_wished_one_is_told() {
    let world = World::new(1);
    world.devices.behave("light.kitchen", Behaviour::Silent);
    let dim = [action("light.kitchen", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(40.0))];
    let report =
        Update { attributes: vec![("brightness".into(), Some(json!(10)))], ..Update::value("on".to_owned()) };
    let (outcomes, ()) = tokio::join!(world.act(&dim), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.devices.report(&EntityId::parse("light.kitchen").unwrap(), &report, true);
    });
    assert_eq!(told(&outcomes[0]), (Outcome::Unconfirmed, Some("other_state")));
    assert_eq!(world.sent(), 1);
}

/// What is assumed shows that all of it was taken; it is no report.
#[tokio::test(start_paused = true)]
async fn what_is_assumed_is_what_was_taken_whole() {
    let uncertain = || Err(SendError::Uncertain);
    let down = || Err(SendError::Down("test".into()));
    let too_big = || Err(SendError::Refused("test".into()));
    let no_answer = (Outcome::Unconfirmed, Some("cannot_confirm"));
    let cases: [(Vec<Taken>, bool, Told<'_>, usize); 7] = [
        (vec![Ok(()), Ok(())], true, no_answer, 2),
        (vec![uncertain(), Ok(())], false, no_answer, 2),
        (vec![Ok(()), uncertain()], false, no_answer, 2),
        (vec![down()], false, (Outcome::NotSent, Some("link_down")), 0),
        (vec![too_big()], false, (Outcome::NotSent, Some("refused_by_link")), 0),
        // Half of it may have done something, and is not all.
        (vec![Ok(()), too_big()], false, no_answer, 1),
        (vec![Ok(()), down()], false, no_answer, 1),
    ];
    for (answers, assumed, outcome, sent) in cases {
        let world = World::new(1);
        let link = Arc::new(Link::default());
        link.answers.lock().unwrap().extend(answers.clone());
        let entry = scripted::act(&world, &link, "4711", action("light.blind", Verb::TurnOn)).await;
        assert_eq!(told(&entry), outcome, "{answers:?}");
        assert_eq!(link.sent.lock().unwrap().len(), sent, "{answers:?}");
        let state = world.house.read().state("light.blind").cloned().unwrap();
        assert_eq!(state.text() == Some("assumed turn_on"), assumed, "{answers:?}");
        assert_eq!(state.value_stamp.unwrap().live, !assumed, "{answers:?}");
    }
}

/// Ten seconds for each message that nobody acknowledges; then it may have arrived or not.
#[tokio::test(start_paused = true)]
async fn a_link_that_never_answers_is_not_waited_for_for_ever() {
    let world = World::new(1);
    let link = Arc::new(Link::default());
    link.mute.store(true, Ordering::SeqCst);
    let begun = world.clock.since_boot();
    let entry = scripted::act(&world, &link, "4711", action("light.blind", Verb::TurnOn)).await;
    assert_eq!(told(&entry), (Outcome::Unconfirmed, Some("cannot_confirm")));
    assert_eq!(world.clock.since_boot() - begun, Duration::from_secs(20), "two messages");
}

/// Eight at a time: a big scene does not flood the link.
#[tokio::test(start_paused = true)]
async fn eight_of_a_plan_are_worked_on_at_a_time() {
    for (lamps, seconds) in [(8, 1), (9, 2), (16, 2), (17, 3)] {
        let world = World::new(1);
        let ids: Vec<String> = (0..lamps).map(|number| format!("light.n{number}")).collect();
        for id in &ids {
            world.house.write().insert(entity(id, id, "", vec![ActionSpec::new(Verb::TurnOn)]));
            world.devices.behave(id, Behaviour::Slow(1_000));
        }
        let actions: Vec<_> = ids.iter().map(|id| action(id, Verb::TurnOn)).collect();
        let begun = world.clock.since_boot();
        let outcomes = world.act(&actions).await;
        assert!(outcomes.iter().all(|entry| entry.outcome == Outcome::Confirmed));
        assert_eq!(world.clock.since_boot() - begun, Duration::from_secs(seconds), "{lamps}");
    }
}

/// A code that could end its place in the message and begin another one goes nowhere.
#[tokio::test(start_paused = true)]
async fn a_code_that_would_break_out_of_its_place_is_not_sent() {
    for (code, goes) in [
        ("4711", true),
        ("a!#~", true),
        ("47\"11", false),
        ("47\\11", false),
        ("47 11", false),
        ("47\n11", false),
        ("４７１１", false),
    ] {
        let world = World::new(1);
        let link = Arc::new(Link::default());
        let entry = scripted::act(&world, &link, code, action("light.blind", Verb::TurnOn)).await;
        if goes {
            assert_eq!(link.sent.lock().unwrap()[0], format!("code {code}"));
        } else {
            assert_eq!(told(&entry), (Outcome::NotSent, Some("no_secret")), "{code:?}");
            assert!(link.sent.lock().unwrap().is_empty(), "{code:?}");
        }
    }
}

/// The row ends as the worst of its parts did.
#[tokio::test(start_paused = true)]
async fn an_approval_ends_as_its_parts_did() {
    use ApprovalState::{DoneConfirmed, DoneUnconfirmed, Failed};
    use Behaviour::{Down, Obey, Refuse, Silent};
    for (front, back, state) in [
        (Obey, Obey, DoneConfirmed),
        (Obey, Silent, DoneUnconfirmed),
        (Silent, Silent, DoneUnconfirmed),
        (Obey, Refuse, Failed),
        (Silent, Down, Failed),
    ] {
        let world = World::new(1);
        world.devices.behave("lock.front", front);
        world.devices.behave("lock.back", back);
        let both = [action("lock.front", Verb::Unlock), action("lock.back", Verb::Unlock)];
        let approval = world.ask("t", &both).await;
        world.approve(&approval).await.unwrap();
        world.carry_out(&approval).await.unwrap();
        assert_eq!(world.store.row(&approval.id).state, state, "{front:?} {back:?}");
    }
}
