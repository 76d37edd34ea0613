//! The same answer however it is written and cut by the network.

use futures_util::StreamExt;
use homeloop::model::{Delta, Stop};

use crate::harness::{BOTH, Turn, ask, served, tool_call, turn};
use crate::model_server::{After, Answer, Api, ModelServer, Part, Shape, Usage};

fn rich() -> Answer {
    let call = |id: &str, name: &str, arguments: &str| Part::Call {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    let said = vec![
        Part::Text("好的，我来看看 café 的灯。".to_owned()),
        call("a", "light", "{\"x\":1,\"text\":\"厨房\"}"),
        call("b", "fan", "{}"),
    ];
    Answer::parts(said).usage(Usage { input: 1_000, cached: 600, written: 0, output: 50 })
}

fn assert_rich(found: &Turn, what: &str) {
    assert_eq!(found.text, "好的，我来看看 café 的灯。", "{what}");
    assert_eq!(
        found.calls,
        [tool_call("a", "light", "{\"x\":1,\"text\":\"厨房\"}"), tool_call("b", "fan", "{}")],
        "{what}"
    );
    assert_eq!(found.stop, Some(Stop::Ended), "{what}");
}

#[tokio::test]
async fn an_answer_is_independent_of_how_the_network_cuts_it() {
    for api in BOTH {
        let server = ModelServer::start((0..24).map(|seed| rich().split(seed))).await;
        let model = served(api, &server);
        for seed in 0..24 {
            let found = turn(&*model, ask()).await;
            assert_rich(&found, &format!("{api:?} with seed {seed}"));
            let usage = found.usage;
            assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (1_000, 600, 50));
            assert_eq!(usage.micro_dollars, 1_000 + 500, "a dollar and ten dollars per million");
        }
        server.assert_clean();
    }
}

#[tokio::test]
async fn f16_malformed_events_are_read_or_refused_and_never_harm() {
    let careless = [
        Shape { line_end: "\r\n", ..Shape::default() },
        Shape { line_end: "\r", ..Shape::default() },
        Shape { byte_order_mark: true, ..Shape::default() },
        Shape { last_blank_line: false, ..Shape::default() },
        Shape { comments: true, line_end: "\r\n", byte_order_mark: true, ..Shape::default() },
        Shape { blank_lines: false, ..Shape::default() },
    ];
    for api in BOTH {
        let server = ModelServer::start(
            careless.iter().enumerate().map(|(seed, shape)| rich().shape(shape.clone()).split(seed as u64)),
        )
        .await;
        let model = served(api, &server);
        for shape in &careless {
            assert_rich(&turn(&*model, ask()).await, &format!("{api:?} {shape:?}"));
        }
        // What is no event at all is damage: it is asked again, and the right answer wins.
        let megabytes = vec![b'x'; 3 << 20];
        server.then([
            Answer::Raw(vec![b"<html>busy</html>\n\n".to_vec()], After::End),
            Answer::Raw(vec![b"data: \xff\xfe\n\n".to_vec()], After::End),
            Answer::Raw(vec![b"data: {\"half\n\n".to_vec()], After::End),
            rich(),
            Answer::Raw(vec![b"data: ".to_vec(), megabytes], After::Stall),
            Answer::Raw(vec![], After::End),
            rich(),
        ]);
        assert_rich(&turn(&*model, ask()).await, "after damage");
        assert_rich(&turn(&*model, ask()).await, "after an endless line");
        server.assert_clean();
        assert_eq!(server.left(), 0);
    }
}

#[tokio::test]
async fn f17_done_missing_or_twice() {
    for api in BOTH {
        let shape = |done| Shape { done, ..Shape::default() };
        let missing_and_cut = rich().shape(shape(0)).until(100, After::Cut);
        let server =
            ModelServer::start([rich().shape(shape(0)), rich().shape(shape(2)), missing_and_cut]).await;
        let model = served(api, &server);
        assert_rich(&turn(&*model, ask()).await, "missing");
        assert_rich(&turn(&*model, ask()).await, "twice");
        assert_rich(&turn(&*model, ask()).await, "missing, and the connection breaks");
    }
}

#[tokio::test]
async fn f23_empty_answers_and_refusals_are_answers() {
    for (api, reason, stop) in [
        (Api::OpenAi, "stop", Stop::Ended),
        (Api::OpenAi, "content_filter", Stop::Refused),
        (Api::OpenAi, "length", Stop::Truncated),
        (Api::Anthropic, "end_turn", Stop::Ended),
        (Api::Anthropic, "refusal", Stop::Refused),
        (Api::Anthropic, "pause_turn", Stop::Paused),
        (Api::Anthropic, "max_tokens", Stop::Truncated),
    ] {
        let server = ModelServer::start([Answer::parts(vec![]).stop(reason)]).await;
        let found = turn(&*served(api, &server), ask()).await;
        assert_eq!(
            (found.stop, found.text.as_str(), found.error),
            (Some(stop), "", None),
            "{api:?} {reason}"
        );
    }
}

#[tokio::test]
async fn f22_two_hundred_parallel_calls_come_in_order() {
    for api in BOTH {
        let call = |index: usize| Part::Call {
            id: format!("call_{index}"),
            name: "light".to_owned(),
            arguments: format!("{{\"x\":{index}}}"),
        };
        let server = ModelServer::start([Answer::parts((0..200).map(call).collect()).split(3)]).await;
        let found = turn(&*served(api, &server), ask()).await;
        let ids: Vec<String> = found.calls.iter().map(|call| call.id.clone()).collect();
        assert_eq!(ids, (0..200).map(|index| format!("call_{index}")).collect::<Vec<_>>(), "{api:?}");
    }
}

#[tokio::test]
async fn a_provider_that_does_not_count_is_estimated() {
    for api in BOTH {
        let server =
            ModelServer::start([Answer::text("hello").shape(Shape { usage: false, ..Shape::default() })])
                .await;
        let found = turn(&*served(api, &server), ask()).await;
        let sent = server.requests()[0].bytes.len() as u64;
        assert_eq!(found.usage.input_tokens, sent.div_ceil(4), "{api:?}");
        assert!(found.usage.output_tokens > 0);
    }
}

#[tokio::test]
async fn a_call_is_passed_on_while_the_answer_goes_on() {
    for api in BOTH {
        let server = ModelServer::start([rich().until(85, After::Stall)]).await;
        let model = served(api, &server);
        let mut stream = model.turn(std::sync::Arc::new(ask()));
        loop {
            let next = stream.next().await.expect("the stream goes on").expect("no error");
            if let Delta::Call(call) = next {
                assert_eq!(call.id, "a", "{api:?}");
                break;
            }
        }
        // Whoever has heard enough lets go, and the provider notices.
        drop(stream);
        server.wait_until_left_alone().await;
    }
}
