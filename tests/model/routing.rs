//! The chain over real HTTP: fallbacks, breakers, rates, and a record that another model goes on from.

use std::num::NonZeroU32;
use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::model::breaker::BreakerState;
use homeloop::model::probe::models_test;
use homeloop::model::{ModelError, Router};

use crate::harness::{
    BOTH, ask, assistant, chain, model, model_settings, request, result, router, served, turn, user,
    with_deadline,
};
use crate::model_server::{After, Answer, Api, ModelServer};

/// After actions were sent the next model goes on from the same record, and what was called is not called again.
#[tokio::test]
async fn retry_never_replays_a_completed_call() {
    for (first_api, second_api) in [(Api::OpenAi, Api::Anthropic), (Api::Anthropic, Api::OpenAi)] {
        let calls = || Answer::calls(&[("a", "light", "{\"x\":1}"), ("b", "fan", "{\"x\":22222222222222}")]);
        let first = ModelServer::start([calls().until(80, After::Cut), Answer::status(401)]).await;
        let second = ModelServer::start([Answer::text("The light is on.")]).await;
        let router = router(vec![
            ("first", model_settings(first_api, &first.base_url())),
            ("second", model_settings(second_api, &second.base_url())),
        ]);
        let cut = turn(&router, ask()).await;
        assert!(matches!(cut.error, Some(ModelError::Cut(_))), "{cut:?}");
        assert_eq!((cut.calls.len(), cut.models.len()), (1, 1), "nothing is asked again behind a call");
        let done = &cut.calls[0];
        let record = vec![
            user("kitchen light on"),
            assistant("", &[(&done.id, &done.name, &done.arguments)]),
            result(&done.id, "confirmed"),
        ];
        let found = turn(&router, request(record)).await;
        assert_eq!((found.text.as_str(), found.calls.len()), ("The light is on.", 0));
        first.assert_clean();
        second.assert_clean();
        let sent = second.requests()[0].body.to_string();
        assert!(sent.contains("confirmed"), "the result went along: {sent}");
    }
}

#[tokio::test]
async fn a_model_that_fails_three_times_is_paused_and_probed() {
    let first = ModelServer::start((0..3).map(|_| Answer::status(404))).await;
    let second = ModelServer::start((0..4).map(|_| Answer::text("from the second"))).await;
    let mut settings = chain(vec![
        ("first", model_settings(Api::OpenAi, &first.base_url())),
        ("second", model_settings(Api::Anthropic, &second.base_url())),
    ]);
    settings.breaker.pause_ms = 100;
    let router = Router::from_settings(&settings, None, &[], Clock::system()).expect("valid");
    let asked = |task: &str| {
        let mut request = ask();
        request.situation = std::sync::Arc::new(homeloop::model::Situation {
            task: task.to_owned(),
            ..homeloop::model::Situation::default()
        });
        request
    };
    for task in ["1", "2", "3"] {
        turn(&router, asked(task)).await;
    }
    assert!(!matches!(router.states()[0].breaker, BreakerState::Closed { .. }), "{:?}", router.states());
    assert_eq!(first.requests().len(), 3);
    // The pause is short; the state tells when it is over.
    let half_open = async {
        while router.states()[0].breaker != BreakerState::HalfOpen {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), half_open).await.expect("the pause ends");
    first.then([Answer::text("the first is back")]);
    assert_eq!(turn(&router, asked("4")).await.text, "the first is back");
    assert_eq!(router.states()[0].breaker, BreakerState::Closed { failures_in_a_row: 0 });
}

#[tokio::test]
async fn a_models_own_rate_is_kept() {
    let first = ModelServer::start([Answer::text("first"), Answer::text("never")]).await;
    let second = ModelServer::start([Answer::text("second")]).await;
    let mut slow = model_settings(Api::OpenAi, &first.base_url());
    slow.requests_per_minute = NonZeroU32::new(1);
    let chain = vec![("slow", slow.clone()), ("other", model_settings(Api::OpenAi, &second.base_url()))];
    let router = router(chain);
    assert_eq!(turn(&router, ask()).await.text, "first");
    assert_eq!(turn(&router, with_deadline(ask(), Duration::from_secs(5))).await.text, "second");
    assert_eq!(first.requests().len(), 1);
    slow.requests_per_minute = NonZeroU32::new(6_000);
    let quick = model(slow);
    assert_eq!(turn(&*quick, ask()).await.text, "never");
}

/// A model that hangs has two thirds of the task's time; the next one has the rest.
#[tokio::test]
async fn a_model_that_hangs_leaves_time_for_the_next() {
    for api in BOTH {
        let first = ModelServer::start([Answer::text("never told").until(60, After::Stall)]).await;
        let second = ModelServer::start([Answer::text("second")]).await;
        let mut patient = model_settings(api, &first.base_url());
        patient.limits.event_idle_ms = 60_000;
        let router = router(vec![("first", patient), ("second", model_settings(api, &second.base_url()))]);
        let found = turn(&router, with_deadline(ask(), Duration::from_millis(600))).await;
        assert_eq!(
            (found.text.as_str(), found.models.as_slice()),
            ("second", &["first", "second"].map(String::from)[..])
        );
        assert!(found.usage.input_tokens > 0, "what the first one read is counted: {:?}", found.usage);
        let unblamed = BreakerState::Closed { failures_in_a_row: 0 };
        assert_eq!(router.states()[0].breaker, unblamed, "so little time is nobody's fault");
    }
}

#[tokio::test]
async fn no_model_left_says_why() {
    for api in BOTH {
        let first = ModelServer::start([Answer::status(401)]).await;
        let mut keyless = model_settings(api, &first.base_url());
        keyless.key = Some(homeloop::model::settings::KeySource::Env("HOMELOOP_NO_SUCH_KEY".to_owned()));
        let router = router(vec![("first", model_settings(api, &first.base_url())), ("keyless", keyless)]);
        let found = turn(&router, ask()).await;
        let Some(ModelError::NoneLeft(reasons)) = found.error else { panic!("{found:?}") };
        for part in ["first: the provider answered 401: scripted 401", "keyless: ", "HOMELOOP_NO_SUCH_KEY"] {
            assert!(reasons.contains(part), "{part}: {reasons}");
        }
        assert_eq!(first.requests().len(), 1, "without its key nothing is sent");
    }
}

#[tokio::test]
async fn the_probe_tells_what_works() {
    for api in BOTH {
        let call = Answer::calls(&[("a", "look_up_word", "{\"number\":7}")]);
        let server = ModelServer::start([call, Answer::text("The word is Marigold.")]).await;
        let report = models_test(&*served(api, &server), 200).await;
        assert!(report.works(), "{report}");
        assert_eq!((report.turns.len(), report.usage.input_tokens), (2, 200));
        server.assert_clean();
        server.then([Answer::text("I cannot call tools.")]);
        let report = models_test(&*served(api, &server), 200).await;
        assert!(!report.works() && report.to_string().contains("does NOT work"), "{report}");
        server.then([Answer::status(401)]);
        let report = models_test(&*served(api, &server), 200).await;
        assert!(report.error.as_deref().is_some_and(|error| error.contains("401")), "{report}");
    }
}
