//! Money and rates: what is spent stays spent, and who is too fast waits.

use std::num::NonZeroU32;

use homeloop::agent::{Budget, Exit, Limits, SubmitError};
use homeloop::model::settings::Mode;

use crate::harness::{BOTH, model_settings};
use crate::model_server::{Answer, Api, ModelServer};
use crate::world::{Setting, World, switch};

/// One answer of the script costs 100 + 10 × 10 = 200 micro-dollars.
const ANSWER: u64 = 200;

fn setting(api: Api, server: &ModelServer) -> Setting {
    Setting::of(vec![("m", model_settings(api, &server.base_url()))])
}

#[tokio::test]
async fn a_spent_day_leaves_the_offline_understanding_also_after_a_restart() {
    for api in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let server =
            ModelServer::start([Answer::text("I am fine, thank you."), Answer::text("never asked")]).await;
        let start = |day: u64, month: u64| {
            let budget = Budget { micro_dollars_a_day: day, micro_dollars_a_month: month };
            let state = Some(folder.path().to_owned());
            World::with(Setting { budget, state, mode: Mode::OfflineFirst, ..setting(api, &server) })
        };
        let world = start(ANSWER, 0);
        assert_eq!(world.say("please philosophise about teapots").await.reply, "I am fine, thank you.");
        let refused = world.say("please philosophise about teapots").await;
        assert_eq!((refused.exit, server.requests().len()), (Exit::Declined, 1), "{api:?}");
        assert!(refused.reply.contains("spent for today"), "it is said: {}", refused.reply);
        let balance = world.queue.agent().balance().await.expect("read");
        assert_eq!((balance.day_spent, balance.month_spent), (ANSWER, ANSWER));
        world.journal.close().await;
        drop(world);

        let again = start(0, ANSWER);
        let done = again.say("turn on the kitchen lamp").await;
        assert_eq!((done.exit, again.devices.sent().len()), (Exit::Done, 1), "what needs no model is done");
        assert!(!done.reply.contains("spent"), "{}", done.reply);
        let refused = again.say("please philosophise about teapots").await;
        assert!(refused.reply.contains("spent for this month"), "{}", refused.reply);
        assert_eq!(server.requests().len(), 1, "{api:?}: a restart forgets nothing");
        again.journal.close().await;
    }
}

/// A task that a model began ends with what was done, and says why it went no further.
#[tokio::test]
async fn money_that_ends_in_the_middle_of_a_task() {
    for api in BOTH {
        let on = switch("turn_on", &["light.kitchen"]);
        let server =
            ModelServer::start([Answer::calls(&[("a", "light", &on)]), Answer::text("never asked")]).await;
        let budget = Budget { micro_dollars_a_day: ANSWER, micro_dollars_a_month: 0 };
        let world = World::with(Setting { budget, ..setting(api, &server) });
        let result = world.say("please do the thing with the kitchen lamp").await;
        assert_eq!(server.requests().len(), 1, "{api:?}");
        assert!(result.reply.contains("Kitchen lamp") && result.reply.contains("spent"), "{}", result.reply);
    }
}

#[tokio::test]
async fn a_task_has_a_budget_of_its_own() {
    for api in BOTH {
        let read =
            |entity: &str| Answer::calls(&[("a", "get_state", &format!("{{\"entities\":[\"{entity}\"]}}"))]);
        let script = || [read("light.kitchen"), read("light.hall"), read("switch.fan")];
        let server = ModelServer::start(script()).await;
        let limits = Limits { micro_dollars: ANSWER, ..Limits::default() };
        let by_money = World::with(Setting { limits, ..setting(api, &server) }).say("look around").await;
        assert_eq!((by_money.exit, server.requests().len()), (Exit::Budget, 2), "{api:?}");
        assert!(by_money.reply.contains("budget"), "{}", by_money.reply);
        server.then(script());
        let limits = Limits { tokens: 220, ..Limits::default() };
        let by_tokens = World::with(Setting { limits, ..setting(api, &server) }).say("look around").await;
        assert_eq!(by_tokens.exit, Exit::Budget);
    }
}

#[tokio::test]
async fn whoever_gives_too_many_commands_waits() {
    let server = ModelServer::start([]).await;
    let per_minute = NonZeroU32::new(2);
    let world = World::with(Setting { per_minute, mode: Mode::Offline, ..setting(Api::OpenAi, &server) });
    world.say("turn on the kitchen lamp").await;
    world.say("turn off the kitchen lamp").await;
    let refused = world.run(world.command("turn on the kitchen lamp")).await;
    let Err(SubmitError::TooFast { principal, per_minute: 2, wait }) = refused else { panic!("{refused:?}") };
    assert!(principal == "token:anna" && wait.as_secs() <= 30, "{principal} {wait:?}");
    let mut other = world.command("turn on the kitchen lamp");
    other.origin.name = "token:bert".into();
    assert_eq!(world.run(other).await.expect("another one is not held back").exit, Exit::Done);
}
