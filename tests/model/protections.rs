//! The protections of the loop, one by one, over real HTTP. What each task must hold besides is checked in `world`.

use std::time::Duration;

use homeloop::agent::{Exit, Limits};
use serde_json::{Value, json};

use crate::harness::{BOTH, model_settings};
use crate::model_server::{After, Answer, Api, ModelServer, Part};
use crate::world::{Fault, Setting, World, switch};

fn world(api: Api, server: &ModelServer) -> World {
    World::new(vec![("m", model_settings(api, &server.base_url()))])
}

fn limited(api: Api, server: &ModelServer, limits: Limits) -> World {
    World::with(Setting { limits, ..Setting::of(vec![("m", model_settings(api, &server.base_url()))]) })
}

fn read(entity: &str) -> String {
    json!({"entities": [entity]}).to_string()
}

fn errors(results: &[(String, Value)]) -> Vec<&str> {
    results.iter().map(|(_, result)| result["error"].as_str().unwrap_or("")).collect()
}

#[tokio::test]
async fn a_complete_call_is_followed_up_whatever_the_stop_reason_says() {
    for (api, reasons) in [
        (Api::OpenAi, ["stop", "length", "content_filter"]),
        (Api::Anthropic, ["end_turn", "max_tokens", "refusal"]),
    ] {
        for reason in reasons {
            let on = switch("turn_on", &["light.kitchen"]);
            let server = ModelServer::start([
                Answer::calls(&[("a", "light", &on)]).stop(reason),
                Answer::text("It is on."),
            ])
            .await;
            let world = world(api, &server);
            let result = world.say("kitchen lamp on").await;
            assert_eq!((result.exit, server.left()), (Exit::Done, 0), "{api:?} {reason}");
            assert_eq!(world.devices.sent(), ["light.kitchen turn_on"]);
            server.assert_clean();
        }
    }
}

#[tokio::test]
async fn finish_beside_actions_that_succeed_saves_the_last_round_trip() {
    for api in BOTH {
        let on = switch("turn_on", &["light.kitchen"]);
        let done = || Answer::calls(&[("a", "light", &on), ("b", "finish", "{}")]);
        let server = ModelServer::start([done()]).await;
        let first = world(api, &server).say("kitchen lamp on").await;
        assert_eq!((first.exit, server.requests().len()), (Exit::Done, 1), "{api:?}");
        assert!(first.reply.contains("Kitchen lamp"), "{}", first.reply);
        // What it said before acting is no reply; what it says with `finish` is one, where it is so.
        for (sentence, stands) in [("The kitchen lamp is on now.", true), ("The fan is on.", false)] {
            let finish = json!({"reply": sentence}).to_string();
            let call = |id: &str, name: &str, arguments: &str| Part::Call {
                id: id.into(),
                name: name.into(),
                arguments: arguments.into(),
            };
            let before = Part::Text("Sure, let me do that.".into());
            server.then([Answer::parts(vec![before, call("a", "light", &on), call("b", "finish", &finish)])]);
            let told = world(api, &server).say("kitchen lamp on").await;
            assert_eq!(told.reply == sentence, stands, "{api:?}: {}", told.reply);
            assert!(!told.reply.contains("Sure") && told.reply.contains("itchen lamp"), "{}", told.reply);
        }
        server.then([done(), Answer::text("I could not reach the kitchen lamp.")]);
        let broken = world(api, &server);
        broken.devices.breaks("light.kitchen", Fault::Refused);
        let second = broken.say("kitchen lamp on").await;
        assert_eq!(server.requests().len(), 5, "{api:?}: what did not work is told to the model");
        assert!(!second.outcomes[0].outcome.is_wished());
    }
}

/// F20: the same call twice in one turn, and two calls with one id.
#[tokio::test]
async fn f20_a_call_that_comes_twice_runs_once() {
    let on = switch("turn_on", &["light.kitchen"]);
    let fan = switch("turn_on", &["switch.fan"]);
    for api in BOTH {
        let twice = Answer::calls(&[("a", "light", &on), ("b", "light", &on), ("b", "switch", &fan)]);
        let server = ModelServer::start([twice, Answer::text("The kitchen lamp is on.")]).await;
        let world = world(api, &server);
        let result = world.say("kitchen lamp on").await;
        assert_eq!(world.devices.sent(), ["light.kitchen turn_on"], "{api:?}");
        let results = world.results(&result.task).await;
        assert_eq!(errors(&results), ["", "repeated", "malformed"]);
        let told = &results[2].1;
        assert!(told["attempt"].as_str().is_some_and(|attempt| attempt.starts_with("1 of ")), "{told}");
        assert!(
            told["did_you_mean"][0].as_str().is_some_and(|advice| advice.contains("id of its own")),
            "{told}"
        );
        assert!(
            results[2].1["message"].as_str().is_some_and(|why| why.contains("has the id")),
            "{results:?}"
        );
        server.assert_clean();
    }
}

/// F21: a model that never stops calling.
#[tokio::test]
async fn f21_an_endless_loop_ends_at_the_limits_and_says_so() {
    let entities = [
        "light.kitchen",
        "light.hall",
        "switch.fan",
        "lock.front",
        "cover.curtain",
        "sensor.hall_temperature",
    ];
    for api in BOTH {
        let always = |_| Answer::calls(&[("a", "get_state", &read("light.kitchen"))]);
        let server = ModelServer::start((0..20).map(always)).await;
        let circling = world(api, &server).say("go on for ever").await;
        assert_eq!(circling.exit, Exit::Repetition, "{api:?}");
        assert!(server.requests().len() <= 6, "{}", server.requests().len());
        assert!(circling.reply.contains("circles"), "{}", circling.reply);

        let other = |turn: usize| {
            let calls = [read(entities[turn % 6]), read(entities[(turn + 1 + turn / 6) % 6])];
            Answer::calls(&[("a", "get_state", &calls[0]), ("b", "get_state", &calls[1])])
        };
        let server = ModelServer::start((0..20).map(other)).await;
        let wandering = world(api, &server).say("go on for ever").await;
        let requests = server.requests();
        assert!(
            matches!(wandering.exit, Exit::Turns | Exit::Calls | Exit::Repetition),
            "{:?}",
            wandering.exit
        );
        assert!(requests.len() <= 8, "{}", requests.len());
        server.assert_clean();
        // A request of the script costs 100 tokens in and 10 out.
        assert!(wandering.usage.micro_dollars <= 8 * 200, "{:?}", wandering.usage);
    }
}

#[tokio::test]
async fn on_the_last_turn_the_model_may_only_report() {
    for api in BOTH {
        let server = ModelServer::start([
            Answer::calls(&[("a", "get_state", &read("light.kitchen"))]),
            Answer::calls(&[("b", "light", &switch("turn_on", &["light.kitchen"]))]),
        ])
        .await;
        let world = limited(api, &server, Limits { turns: 2, ..Limits::default() });
        let result = world.say("kitchen lamp on").await;
        let last = &server.requests()[1].body;
        assert!(last["tool_choice"].to_string().contains("none") && last["tools"].is_array(), "{last}");
        assert_eq!(world.devices.sent(), [""; 0], "{api:?}: a call that was not allowed does not run");
        assert_eq!(errors(&world.results(&result.task).await), ["", "limit"]);
        assert_eq!(result.exit, Exit::Turns);
    }
}

/// F22: far more calls in one turn than a task may make.
#[tokio::test]
async fn f22_of_two_hundred_calls_sixteen_run_and_all_have_a_result() {
    for api in BOTH {
        let call = |index: usize| Part::Call {
            id: format!("call_{index}"),
            name: "find_entities".into(),
            arguments: format!("{{\"query\":\"{index}\"}}"),
        };
        let server =
            ModelServer::start([Answer::parts((0..200).map(call).collect()), Answer::text("That is all.")])
                .await;
        let world = world(api, &server);
        let result = world.say("look for everything").await;
        let results = world.results(&result.task).await;
        let ran = results.iter().filter(|(_, result)| result.get("error").is_none()).count();
        assert_eq!((results.len(), ran), (200, 16), "{api:?}");
        // It is asked once to report, and may not call again.
        assert_eq!((result.exit, result.reply.as_str()), (Exit::Done, "That is all."), "{api:?}");
        assert_eq!(server.requests().len(), 2, "{api:?}");
        server.assert_clean();
    }
}

/// F23: nothing said, and refused.
#[tokio::test]
async fn f23_silence_and_refusals_are_told_as_they_are() {
    for (api, refusal) in [(Api::OpenAi, "content_filter"), (Api::Anthropic, "refusal")] {
        let server =
            ModelServer::start([Answer::parts(vec![]), Answer::text("I would rather not.").stop(refusal)])
                .await;
        let world = world(api, &server);
        let silent = world.say("what do you think?").await;
        assert_eq!((silent.exit, silent.reply.as_str()), (Exit::Done, "I did nothing."), "{api:?}");
        let refused = world.say("what do you think?").await;
        assert_eq!((refused.exit, refused.reply.as_str()), (Exit::Declined, "I would rather not."));
    }
}

/// F18, F19: what a model gets wrong it is told, with what would be right; three times in a row are enough.
#[tokio::test]
async fn f18_f19_malformed_calls_are_answered_and_end_the_task_after_three() {
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    let wrong: [(&str, &str); 9] = [
        ("light", "{\"verb\":\"turn_on\",\"entities\":[\"light.kitchen\"],\"brightness_pct\":\"loud\"}"),
        ("Light", "{\"verb\":\"turn_on\"}"),
        ("functions.light", "{\"verb\":\"turn_on\"}"),
        ("open_sesame", "{}"),
        ("light", "{\"verb\":\"turn_on\",}"),
        ("light", "{\"verb\":\"turn_on\",\"verb\":\"turn_off\"}"),
        ("light", "{\"verb\": NaN}"),
        ("light", "{\"verb\":\"turn_on\",\"entities\":5}"),
        ("light", &deep),
    ];
    for api in BOTH {
        for (name, arguments) in wrong {
            let on = switch("turn_on", &["light.kitchen"]);
            let server = ModelServer::start([
                Answer::calls(&[("a", name, arguments)]),
                Answer::calls(&[("b", "light", &on)]),
                Answer::text("The kitchen lamp is on."),
            ])
            .await;
            let world = world(api, &server);
            let result = world.say("kitchen lamp on").await;
            assert_eq!(result.exit, Exit::Done, "{api:?} {name}");
            let results = world.results(&result.task).await;
            let first = &results[0].1;
            assert_eq!(
                (&first["error"], &first["attempt"]),
                (&json!("malformed"), &json!("1 of 3")),
                "{first}"
            );
            let advice = first["did_you_mean"][0].as_str().unwrap_or_default();
            match name {
                "light" => {
                    let example = first["example"].as_str().unwrap_or_default();
                    assert!(example.contains("\"verb\":") && !example.contains("light."), "{first}");
                }
                "open_sesame" => {
                    assert!(first["message"].as_str().is_some_and(|why| why.contains("tools: ")))
                }
                _ => assert_eq!(advice, "light", "{first}"),
            }
            assert_eq!(world.devices.sent(), ["light.kitchen turn_on"]);
            server.assert_clean();
        }
        let bad = |index: usize| Answer::calls(&[("a", "open_sesame", &format!("{{\"n\":{index}}}"))]);
        let server = ModelServer::start((0..4).map(bad)).await;
        let result = world(api, &server).say("open sesame").await;
        assert_eq!((result.exit, server.left()), (Exit::Malformed, 1), "{api:?}");
        assert!(result.reply.contains("made no sense"), "{}", result.reply);
    }
}

/// Repetition: blocked the second time, unless somebody has undone it since.
#[tokio::test]
async fn an_action_is_repeated_only_when_the_state_changed() {
    let on = switch("turn_on", &["light.kitchen"]);
    for api in BOTH {
        let again = || Answer::calls(&[("a", "light", &on)]);
        let server = ModelServer::start([again(), again(), Answer::text("The kitchen lamp is on.")]).await;
        let world = world(api, &server);
        let result = world.say("kitchen lamp on").await;
        assert_eq!(errors(&world.results(&result.task).await), ["", "repeated"], "{api:?}");
        assert_eq!(world.devices.sent().len(), 1);
    }
}

/// An entity that fails again and again is left alone for the task; others are not.
#[tokio::test]
async fn an_entity_that_failed_three_times_is_paused_for_the_task() {
    for api in BOTH {
        let dim = |percent: u32| {
            let arguments = json!({"verb": "turn_on", "entities": ["light.hall"], "brightness_pct": percent});
            Answer::calls(&[("a", "light", &arguments.to_string())])
        };
        let kitchen = switch("turn_on", &["light.kitchen"]);
        let server = ModelServer::start([
            dim(10),
            dim(20),
            dim(30),
            dim(40),
            Answer::calls(&[("b", "light", &kitchen)]),
            Answer::text("The hall lamp does not answer."),
        ])
        .await;
        let world = world(api, &server);
        world.devices.breaks("light.hall", Fault::Refused);
        let result = world.say("dim the hall lamp").await;
        let results = world.results(&result.task).await;
        assert_eq!(errors(&results), ["", "", "", "paused", ""], "{api:?}");
        assert!(
            results[3].1["message"].as_str().is_some_and(|why| why.contains("light.hall failed 3 times"))
        );
        assert_eq!(world.devices.sent(), ["light.kitchen turn_on"]);
    }
}

/// The outcome check: a claim beyond the outcomes is corrected.
#[tokio::test]
async fn reply_never_exceeds_outcomes() {
    let both = switch("turn_on", &["light.kitchen", "light.hall"]);
    for api in BOTH {
        let server = ModelServer::start([
            Answer::calls(&[("a", "light", &both)]),
            Answer::text("I've turned on both lamps."),
            Answer::text("I have unlocked the front door."),
        ])
        .await;
        let world = world(api, &server);
        world.devices.breaks("light.hall", Fault::Refused);
        let result = world.say("lamps on").await;
        assert!(!result.reply.contains("both") && result.reply.contains("Hall lamp"), "{}", result.reply);
        let idle = world.say("open up").await;
        assert!(!idle.reply.contains("unlocked"), "no call, no claim: {}", idle.reply);
    }
}

/// Truncated: once more with a larger cap, then continued at most three times.
#[tokio::test]
async fn a_cut_answer_gets_more_room_and_is_then_continued() {
    for (api, field, reason) in
        [(Api::OpenAi, "max_completion_tokens", "length"), (Api::Anthropic, "max_tokens", "max_tokens")]
    {
        let cut = |text: &str| Answer::text(text).stop(reason);
        let server = ModelServer::start([cut("Once upon"), cut("Once upon a "), Answer::text("time.")]).await;
        let result = world(api, &server).say("tell me a story").await;
        assert_eq!((result.exit, result.reply.as_str()), (Exit::Done, "Once upon a time."), "{api:?}");
        server.assert_clean();
        let asked: Vec<u64> =
            server.requests().iter().map(|request| request.body[field].as_u64().expect("a cap")).collect();
        assert_eq!(asked, [1024, 4096, 4096]);
        assert!(!server.requests()[1].body.to_string().contains("Once upon"), "the first try is not shown");
        let server = ModelServer::start((0..9).map(|n| cut(&format!("{n} ")))).await;
        let endless = world(api, &server).say("tell me a story").await;
        assert_eq!((endless.exit, server.requests().len()), (Exit::Done, 5), "two, and three continuations");
    }
}

/// Context full: old results are left out, pairing is kept, and once is enough.
#[tokio::test]
async fn a_conversation_that_is_too_long_is_shortened_once_and_then_ends() {
    for (api, body) in [
        (
            Api::OpenAi,
            r#"{"error":{"message":"maximum context length is 8192","code":"context_length_exceeded"}}"#,
        ),
        (
            Api::Anthropic,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#,
        ),
    ] {
        let too_long = || Answer::Status { status: 400, headers: vec![], body: body.to_owned() };
        let server = ModelServer::start([
            Answer::calls(&[("a", "find_entities", "{\"query\":\"lamp\"}")]),
            Answer::calls(&[("b", "get_state", &read("light.hall"))]),
            too_long(),
            Answer::text("There are two lamps."),
        ])
        .await;
        let world = world(api, &server);
        let result = world.say("which lamps are there?").await;
        assert_eq!((result.exit, result.reply.as_str()), (Exit::Done, "There are two lamps."), "{api:?}");
        server.assert_clean();
        let (before, after) = (server.requests()[2].body.to_string(), server.requests()[3].body.to_string());
        assert!(!before.contains("left out to save room") && after.contains("left out to save room"));
        assert!(after.contains("light.hall"), "the newest result stays");
        server.then([too_long(), too_long()]);
        assert_eq!(world.say("and now?").await.exit, Exit::ContextFull);
    }
}

#[tokio::test]
async fn results_are_cut_to_size_and_stay_json() {
    for api in BOTH {
        let server = ModelServer::start([
            Answer::calls(&[(
                "a",
                "get_state",
                &json!({"entities": vec!["light.kitchen"; 200]}).to_string(),
            )]),
            Answer::text("It is off."),
        ])
        .await;
        world(api, &server).say("is the kitchen lamp on?").await;
        let sent =
            server.requests()[1].body["messages"].as_array().expect("messages").last().cloned().expect("one");
        let content = match api {
            Api::OpenAi => sent["content"].as_str(),
            Api::Anthropic => sent["content"][0]["content"].as_str(),
        };
        let content = content.expect("a result");
        assert!(content.len() <= Limits::default().result_bytes, "{api:?}: {}", content.len());
        let rows: Vec<Value> = serde_json::from_str(content).expect("still JSON");
        assert!(
            rows.last().is_some_and(|last| last["cut"].as_str().is_some_and(|note| note.contains("of 200")))
        );
    }
}

/// The time for work, not that of waiting, ends a task.
#[tokio::test]
async fn a_task_ends_at_its_deadline() {
    for api in BOTH {
        let server = ModelServer::start([Answer::text("I think").until(50, After::Pings)]).await;
        let world = limited(api, &server, Limits { work_seconds: 1, ..Limits::default() });
        let result = world.say("think hard").await;
        assert_eq!(result.exit, Exit::Deadline, "{api:?}");
        assert!(result.reply.contains("too long"), "{}", result.reply);
        assert!(result.usage.input_tokens > 0 && result.usage.micro_dollars > 0, "{:?}", result.usage);
    }
}

/// Isolation: what breaks in one task ends that task alone, with a result.
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_its_own_task_alone() {
    let on = |entity: &str| Answer::calls(&[("a", "light", &switch("turn_on", &[entity]))]);
    let server =
        ModelServer::start([on("light.hall"), on("light.kitchen"), Answer::text("The kitchen lamp is on.")])
            .await;
    let world = world(Api::OpenAi, &server);
    world.devices.breaks("light.hall", Fault::Panics);
    let broken = world.say("hall lamp on").await;
    assert_eq!(broken.exit, Exit::Internal);
    assert!(broken.reply.contains("failed inside"), "{}", broken.reply);
    let fine = world.say("kitchen lamp on").await;
    assert_eq!((fine.exit, fine.reply.as_str()), (Exit::Done, "The kitchen lamp is on."));
}

/// A question that waits when the daemon stops ends with its task, and its call has a result.
#[tokio::test]
async fn every_call_has_one_result_also_at_shutdown() {
    let server =
        ModelServer::start([Answer::calls(&[("a", "lock_unlock", &switch("unlock", &["lock.front"]))])])
            .await;
    let world = world(Api::Anthropic, &server);
    let run = world.run(world.command("unlock the front door"));
    let drain = async {
        while world.door.pending().await.expect("approvals").is_empty() {
            tokio::task::yield_now().await;
        }
        world.queue.drain(Duration::from_secs(10)).await;
    };
    let (result, ()) = tokio::join!(run, drain);
    assert_eq!(result.expect("taken").exit, Exit::Shutdown);
    assert_eq!(world.devices.sent(), [""; 0], "nobody approved");
    assert!(world.door.pending().await.expect("approvals").is_empty(), "and nothing waits any more");
}
