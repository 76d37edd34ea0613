//! What starts while a model still speaks, and what becomes of it when the stream fails or somebody stops the task.

use homeloop::agent::{Event, Exit};

use crate::harness::{BOTH, model_settings};
use crate::model_server::{After, Answer, Api, ModelServer, Part};
use crate::world::{Fault, World, switch};

/// A first call that is complete, and a second one whose arguments take so long that a break falls into them.
fn complete_and_half(first: (&str, &str), after: After) -> Answer {
    let long =
        format!("{{\"verb\":\"turn_on\",\"entities\":[\"switch.fan\"],\"pad\":\"{}\"}}", "x".repeat(2_000));
    Answer::calls(&[("a", first.0, first.1), ("b", "switch", &long)]).until(70, after)
}

fn kitchen_on() -> String {
    switch("turn_on", &["light.kitchen"])
}

#[tokio::test]
async fn an_ungated_absolute_action_starts_while_the_stream_goes_on() {
    for api in BOTH {
        let server = ModelServer::start([complete_and_half(("light", &kitchen_on()), After::Stall)]).await;
        let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
        let command = world.command("kitchen lamp on");
        let task = command.task.clone();
        let run = world.run(command);
        let stop = async {
            world.devices.wait_for(1).await;
            assert_eq!(server.requests().len(), 1, "{api:?}: the first answer still comes");
            assert!(world.queue.stop(&task));
        };
        let (result, ()) = tokio::join!(run, stop);
        let result = result.expect("it was taken");
        assert_eq!(result.exit, Exit::Cancelled, "{api:?}");
        assert_eq!(world.devices.sent(), ["light.kitchen turn_on"], "an incomplete call never runs");
        assert!(result.outcomes.iter().all(|entry| entry.outcome.is_wished()), "what was sent is verified");
        server.wait_until_left_alone().await;
    }
}

#[tokio::test]
async fn after_a_stream_that_failed_the_task_goes_on_from_what_ran() {
    for api in BOTH {
        for after in [After::Cut, After::Stall] {
            let server = ModelServer::start([
                complete_and_half(("light", &kitchen_on()), after),
                Answer::text("The kitchen lamp is on."),
            ])
            .await;
            let mut settings = model_settings(api, &server.base_url());
            settings.limits.event_idle_ms = 500;
            let world = World::new(vec![("m", settings)]);
            let result = world.say("kitchen lamp and fan on").await;
            assert_eq!(
                (result.exit, result.reply.as_str()),
                (Exit::Done, "The kitchen lamp is on."),
                "{api:?}"
            );
            assert_eq!(world.devices.sent(), ["light.kitchen turn_on"], "nothing runs twice, nothing half");
            server.assert_clean();
            let second = server.requests()[1].body.to_string();
            assert!(second.contains("confirmed") && !second.contains("xxxx"), "{api:?}: {second}");
        }
    }
}

#[tokio::test]
async fn a_read_starts_at_once_too() {
    for api in BOTH {
        let read = ("get_state", "{\"entities\":[\"sensor.hall_temperature\"]}");
        let server = ModelServer::start([
            complete_and_half(read, After::Cut),
            Answer::text("It is 21.5 degrees in the hall."),
        ])
        .await;
        let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
        let result = world.say("how warm is it in the hall?").await;
        let events = world.events(&result.task).await;
        let place = |wanted: fn(&Event) -> bool| events.iter().position(wanted).expect("it happened");
        let read = place(|event| matches!(event, Event::CallResult { .. }));
        let said = place(|event| matches!(event, Event::ModelSaid { .. }));
        assert!(place(|event| matches!(event, Event::Called { .. })) < read && read < said, "{api:?}");
        assert!(result.reply.contains("21.5"), "{}", result.reply);
    }
}

/// What needs a person, what moves, and what stands behind such a call waits for the end of the message.
#[tokio::test]
async fn everything_else_waits_for_the_end_of_the_message() {
    for api in BOTH {
        for first in [
            ("lock_unlock", switch("unlock", &["lock.front"])),
            ("cover", switch("close", &["cover.curtain"])),
        ] {
            let long = format!(
                "{{\"verb\":\"turn_on\",\"entities\":[\"light.hall\"],\"pad\":\"{}\"}}",
                "x".repeat(2_000)
            );
            let kitchen = kitchen_on();
            let calls = [
                ("a", first.0, first.1.as_str()),
                ("b", "light", &kitchen),
                ("c", "get_state", "{\"entities\":[\"switch.fan\"]}"),
                ("d", "light", &long),
            ];
            let server = ModelServer::start([Answer::calls(&calls).until(80, After::Stall)]).await;
            let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
            let command = world.command("do things");
            let task = command.task.clone();
            let stop = async {
                // The read behind them has run: both were there before it.
                while !world.events(&task).await.iter().any(|event| matches!(event, Event::CallResult { .. }))
                {
                    tokio::task::yield_now().await;
                }
                assert_eq!(world.devices.sent(), [""; 0], "{api:?}: nothing is sent meanwhile");
                world.queue.stop(&task);
            };
            let (result, ()) = tokio::join!(world.run(command), stop);
            assert_eq!(result.expect("taken").exit, Exit::Cancelled);
            assert_eq!(world.devices.sent(), [""; 0], "{api:?} {first:?}");
            let events = world.events(&task).await;
            assert!(
                !events.iter().any(|event| matches!(event, Event::ApprovalAsked { .. })),
                "nobody was asked"
            );
        }
    }
}

/// Calls of one turn run side by side; their results stand in the order of the calls, whoever is first.
#[tokio::test]
async fn results_stand_in_the_order_of_the_calls() {
    for api in BOTH {
        let calls = [
            ("a", "light", switch("turn_on", &["light.hall"])),
            ("b", "get_state", "{\"entities\":[\"lock.front\"]}".to_owned()),
            ("c", "switch", switch("turn_on", &["switch.fan"])),
            ("d", "find_entities", "{\"query\":\"lamp\"}".to_owned()),
            ("e", "light", switch("turn_on", &["light.kitchen"])),
        ];
        let part = |(id, name, arguments): &(&str, &str, String)| Part::Call {
            id: (*id).into(),
            name: (*name).into(),
            arguments: arguments.clone(),
        };
        let server = ModelServer::start([
            Answer::parts(calls.iter().map(part).collect()).split(7),
            Answer::text("The lamps and the fan are on."),
        ])
        .await;
        let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
        world.devices.breaks("light.hall", Fault::Refused);
        let result = world.say("lamps and fan on").await;
        server.assert_clean();
        let names: Vec<String> =
            world.results(&result.task).await.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["light", "get_state", "switch", "find_entities", "light"]);
        let entities: Vec<&str> = result.outcomes.iter().map(|entry| entry.action.entity.as_str()).collect();
        assert_eq!(entities, ["light.hall", "switch.fan", "light.kitchen"], "{api:?}");
        assert!(result.reply.contains("Hall lamp"), "the one that did not is told: {}", result.reply);
    }
}

/// Commands for one entity go out one after the other, in the order of the calls.
#[tokio::test]
async fn one_entity_has_one_command_at_a_time() {
    let calls = [
        ("a", "light", &*switch("turn_on", &["light.kitchen"])),
        ("b", "light", &*switch("turn_off", &["light.kitchen"])),
    ];
    for api in BOTH {
        let server = ModelServer::start([Answer::calls(&calls), Answer::text("It is off.")]).await;
        let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
        world.say("blink the kitchen lamp").await;
        assert_eq!(world.devices.sent(), ["light.kitchen turn_on", "light.kitchen turn_off"], "{api:?}");
    }
}

/// The tokens of an answer that failed on its way count.
#[tokio::test]
async fn a_turn_that_failed_is_paid_for() {
    let server = ModelServer::start([]).await;
    let cut = || Answer::text("I am about to say").until(60, After::Cut);
    server.then([cut(), cut(), cut(), cut()]);
    let world = World::new(vec![("m", model_settings(Api::OpenAi, &server.base_url()))]);
    let result = world.say("tell me a story").await;
    assert_eq!(result.exit, Exit::Declined, "the offline understanding says that it does not understand");
    assert!(result.usage.micro_dollars > 0, "{:?}", result.usage);
    let balance = world.queue.agent().balance().await.expect("the journal is read");
    assert_eq!(balance.day_spent, result.usage.micro_dollars);
}

/// A task that is stopped in the middle of an answer is paid for, and asks nobody again.
#[tokio::test]
async fn a_stopped_turn_is_paid_for_and_not_asked_again() {
    let calls = [
        ("a", "light", &*switch("turn_on", &["light.kitchen"])),
        ("b", "get_state", "{\"entities\":[\"light.hall\"]}"),
    ];
    for api in BOTH {
        let server = ModelServer::start([Answer::calls(&calls).until(85, After::Stall)]).await;
        let world = World::new(vec![("m", model_settings(api, &server.base_url()))]);
        let run = world.run(world.command("think hard"));
        let stop = async {
            // The answer has begun, and goes no further.
            world.devices.wait_for(1).await;
            world.queue.stop_all();
        };
        let (result, ()) = tokio::join!(run, stop);
        let result = result.expect("taken");
        assert_eq!(result.exit, Exit::Cancelled, "{api:?}");
        assert!(
            result.usage.input_tokens > 0 && result.usage.micro_dollars > 0,
            "{api:?}: {:?}",
            result.usage
        );
        assert_eq!(server.requests().len(), 1, "{api:?}");
    }
}
