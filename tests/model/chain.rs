//! The chain under the loop: another model goes on with the same task, and when none is left that is said.

use homeloop::agent::{Event, Exit};
use homeloop::model::settings::Mode;

use crate::harness::{BOTH, model_settings};
use crate::model_server::{After, Answer, Api, ModelServer};
use crate::world::{Setting, World, switch};

/// After an action was sent the next model goes on with the same record, and what ran does not run again.
#[tokio::test]
async fn another_model_goes_on_after_an_action_was_sent() {
    for (first_api, second_api) in [(Api::OpenAi, Api::Anthropic), (Api::Anthropic, Api::OpenAi)] {
        let on = switch("turn_on", &["light.kitchen"]);
        let first = ModelServer::start([Answer::calls(&[("a", "light", &on)]), Answer::status(401)]).await;
        let second = ModelServer::start([Answer::text("The kitchen lamp is on.")]).await;
        let world = World::new(vec![
            ("first", model_settings(first_api, &first.base_url())),
            ("second", model_settings(second_api, &second.base_url())),
        ]);
        let result = world.say("kitchen lamp on").await;
        assert_eq!((result.exit, result.reply.as_str()), (Exit::Done, "The kitchen lamp is on."));
        assert_eq!(world.devices.sent(), ["light.kitchen turn_on"], "{first_api:?}: exactly once");
        first.assert_clean();
        second.assert_clean();
        let sent = second.requests()[0].body.to_string();
        assert!(sent.contains("confirmed"), "the record went along: {sent}");
        let models: Vec<String> = world
            .events(&result.task)
            .await
            .into_iter()
            .filter_map(|event| match event {
                Event::ModelSaid { model, .. } => model,
                _ => None,
            })
            .collect();
        assert_eq!(models, ["first", "second"], "the record tells who took which turn");
    }
}

#[tokio::test]
async fn with_no_model_left_after_an_action_the_reply_is_what_the_house_confirmed() {
    for api in BOTH {
        let on = switch("turn_on", &["light.kitchen"]);
        let server = ModelServer::start([Answer::calls(&[("a", "light", &on)]), Answer::status(401)]).await;
        let world = World::new(vec![("only", model_settings(api, &server.base_url()))]);
        let result = world.say("kitchen lamp on").await;
        assert_eq!(result.exit, Exit::ModelFailed, "{api:?}");
        assert!(
            result.reply.contains("Kitchen lamp") && result.reply.contains("No language model"),
            "{}",
            result.reply
        );
        assert_eq!(world.devices.sent(), ["light.kitchen turn_on"]);
    }
}

/// What the offline understanding would have to ask about goes to a language model; without one it asks.
#[tokio::test]
async fn a_question_goes_to_a_model_first_and_to_the_person_when_there_is_none() {
    for api in BOTH {
        let on = switch("turn_on", &["light.kitchen"]);
        let server = ModelServer::start([
            Answer::calls(&[("a", "light", &on)]),
            Answer::text("The kitchen lamp is on."),
            Answer::status(401),
        ])
        .await;
        let models = vec![("only", model_settings(api, &server.base_url()))];
        let world = World::with(Setting { mode: Mode::OfflineFirst, ..Setting::of(models) });
        let vague = "turn on the lounge lamp";
        let done = world.say(vague).await;
        assert_eq!((done.exit, done.reply.as_str()), (Exit::Done, "The kitchen lamp is on."), "{api:?}");
        let asked = world.say(vague).await;
        assert!(
            asked.reply.contains("Did you mean") && world.devices.sent().len() == 1,
            "{api:?}: {}",
            asked.reply
        );
        assert_eq!(server.left(), 0);
    }
}

/// Nobody can be reached: what is understood offline is done, the rest is declined honestly.
#[tokio::test]
async fn with_no_model_at_all_the_offline_answer_is_honest() {
    for api in BOTH {
        for mode in [Mode::OfflineFirst, Mode::Model] {
            let server = ModelServer::start([]).await;
            server.then((0..12).map(|_| Answer::parts(vec![]).until(0, After::Cut)));
            let models = vec![("only", model_settings(api, &server.base_url()))];
            let world = World::with(Setting { mode, ..Setting::of(models) });
            let done = world.say("turn on the kitchen lamp").await;
            assert_eq!(
                (done.exit, world.devices.sent().len()),
                (Exit::Done, 1),
                "{api:?} {mode:?}: {}",
                done.reply
            );
            let declined = world.say("please philosophise about teapots").await;
            assert_eq!(declined.exit, Exit::Declined, "{api:?} {mode:?}: {}", declined.reply);
            assert!(!declined.reply.is_empty() && declined.outcomes.is_empty());
        }
    }
}
