//! The decision as tables: events in, step out.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::actuate::{Outcome, OutcomeEntry};
use crate::agent::Event;
use crate::agent::event::Failure;
use crate::home::{Action, EntityId, Verb};
use crate::model::Usage;
use crate::policy::Verdict;
use crate::tools::ToolCall;

fn said(turn: u32, calls: &[&str], stop: Stop) -> Event {
    let calls = calls
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let (name, arguments) = name.split_once(' ').unwrap_or((name, "{}"));
            let call = ToolCall { id: format!("m{index}"), name: name.into(), arguments: arguments.into() };
            (format!("{turn}.{index}"), call)
        })
        .collect();
    Event::ModelSaid {
        turn,
        text: String::new(),
        calls,
        stop,
        usage: Usage::default(),
        model: None,
        own: false,
    }
}

fn result(call: &str, is_error: bool) -> Event {
    Event::CallResult {
        call: call.into(),
        content: json!({"error": "malformed"}).to_string(),
        is_error,
        taint: None,
    }
}

fn outcome(call: &str, outcome: Outcome) -> Event {
    let action = Action::new(EntityId::parse("light.kitchen").unwrap(), Verb::TurnOn);
    let entry = OutcomeEntry { action, outcome, cause: None, reported: None, details: vec![] };
    Event::Outcome { call: call.into(), entry }
}

fn step(events: &[Event]) -> Step {
    next(&TaskState::fold(events), &Limits::default(), Duration::ZERO)
}

fn call_model(why: Why) -> Step {
    Step::CallModel { why, tool_choice: ToolChoice::Auto }
}

#[test]
fn the_loop_goes_on_if_and_only_if_there_is_a_complete_call() {
    assert_eq!(step(&[]), call_model(Why::First));
    assert_eq!(step(&[said(0, &[], Stop::Ended)]), Step::Finish(Exit::Done));
    assert_eq!(step(&[said(0, &[], Stop::Refused)]), Step::Finish(Exit::Declined));
    assert_eq!(step(&[said(0, &[], Stop::Truncated)]), call_model(Why::Truncated));
    assert_eq!(step(&[said(0, &[], Stop::Paused)]), call_model(Why::Continued));
    for stop in [Stop::Ended, Stop::Truncated, Stop::Refused, Stop::Paused] {
        let events = [said(0, &["get_state"], stop)];
        assert_eq!(
            step(&events),
            Step::RunCalls(vec!["0.0".into()]),
            "{stop:?} counts for nothing beside a call"
        );
    }
    let events = [said(0, &["get_state"], Stop::Ended), result("0.0", false)];
    assert_eq!(step(&events), call_model(Why::Results));
}

#[test]
fn approvals_are_awaited_only_when_nothing_else_can_run() {
    let asked = Event::ApprovalAsked {
        call: "0.0".into(),
        approval: "A".into(),
        plan_hash: String::new(),
        match_code: "47".into(),
        expires_at: chrono::DateTime::UNIX_EPOCH,
    };
    let ended = Event::ApprovalEnded {
        call: "0.0".into(),
        approval: "A".into(),
        verdict: Verdict::Approved,
        by: Some("token:owner".into()),
    };
    let mut events = vec![said(0, &["lock_unlock", "light"], Stop::Ended), asked];
    assert_eq!(step(&events), Step::RunCalls(vec!["0.1".into()]));
    events.push(result("0.1", false));
    assert_eq!(step(&events), Step::AwaitApproval(vec!["0.0".into()]));
    events.push(ended);
    assert_eq!(step(&events), Step::RunCalls(vec!["0.0".into()]));
}

#[test]
fn finish_saves_the_last_round_trip_only_when_all_is_as_wished() {
    for (told, wished) in [
        (Outcome::Confirmed, true),
        (Outcome::Already, true),
        (Outcome::Unconfirmed, false),
        (Outcome::Contradicted, false),
        (Outcome::NotSent, false),
        (Outcome::Refused, false),
    ] {
        let events = [
            said(0, &["light", "finish"], Stop::Ended),
            outcome("0.0", told),
            result("0.0", false),
            result("0.1", false),
        ];
        let expected = if wished { Step::Finish(Exit::Done) } else { call_model(Why::Results) };
        assert_eq!(step(&events), expected, "{told:?}");
    }
}

#[test]
fn what_was_read_beside_finish_is_shown_to_the_model() {
    for calls in [vec!["get_state", "finish"], vec!["light", "get_state", "finish"]] {
        let mut events = vec![said(0, &calls, Stop::Ended)];
        if calls.len() == 3 {
            events.push(outcome("0.0", Outcome::Confirmed));
        }
        events.extend((0..calls.len()).map(|at| result(&format!("0.{at}"), false)));
        assert_eq!(step(&events), call_model(Why::Results), "{calls:?}");
    }
}

#[test]
fn limits_checked_before() {
    let limits = Limits { turns: 2, calls: 2, ..Limits::default() };
    let one = TaskState::fold(&[said(0, &["get_state"], Stop::Ended), result("0.0", false)]);
    let last = Step::CallModel { why: Why::Results, tool_choice: ToolChoice::None };
    assert_eq!(next(&one, &limits, Duration::ZERO), last, "the last turn may only report");
    let worked = Duration::from_secs(60);
    assert_eq!(next(&one, &limits, worked), Step::Finish(Exit::Deadline));
    let two = TaskState::fold(&[
        said(0, &["get_state"], Stop::Ended),
        result("0.0", false),
        said(1, &["find_entities"], Stop::Ended),
        result("1.0", false),
    ]);
    assert_eq!(next(&two, &limits, Duration::ZERO), Step::Finish(Exit::Turns));
    let many = TaskState::fold(&[
        said(0, &["get_state 1", "get_state 2", "get_state 3"], Stop::Ended),
        result("0.0", false),
        result("0.1", false),
        result("0.2", false),
    ]);
    assert_eq!(next(&many, &limits, Duration::ZERO), last, "it is asked once to report");
    let beyond = |call: &str| Event::CallResult {
        call: call.into(),
        content: json!({"error": "limit", "message": "not run"}).to_string(),
        is_error: true,
        taint: None,
    };
    let two_ran = [
        said(0, &["get_state 1", "get_state 2", "finish"], Stop::Ended),
        result("0.0", false),
        result("0.1", true),
        result("0.2", false),
    ];
    let events = [&two_ran[..], &[said(1, &["get_state 3"], Stop::Ended), beyond("1.0")]].concat();
    let more = Limits { turns: 8, ..limits.clone() };
    assert_eq!(next(&TaskState::fold(&two_ran), &more, Duration::ZERO), last, "finish does not count");
    assert_eq!(
        next(&TaskState::fold(&events), &more, Duration::ZERO),
        Step::Finish(Exit::Calls),
        "it called again"
    );
    let spent = Event::ModelSaid {
        turn: 0,
        text: String::new(),
        calls: vec![],
        stop: Stop::Truncated,
        usage: Usage { input_tokens: 70_000, ..Usage::default() },
        model: None,
        own: false,
    };
    assert_eq!(step(&[spent]), Step::Finish(Exit::Budget));
}

#[test]
fn f21_circles_end_the_task() {
    let mut malformed = Vec::new();
    for turn in 0..3 {
        malformed.push(said(turn, &[&format!("quux {{\"n\":{turn}}}")], Stop::Ended));
        malformed.push(result(&format!("{turn}.0"), true));
    }
    assert_eq!(step(&malformed), Step::Finish(Exit::Malformed));
    let mut cycle = Vec::new();
    for turn in 0..6 {
        cycle.push(said(turn, &[if turn % 2 == 0 { "get_state" } else { "find_entities" }], Stop::Ended));
        cycle.push(result(&format!("{turn}.0"), false));
    }
    assert_eq!(step(&cycle), Step::Finish(Exit::Repetition));
}

fn failed(failure: Failure) -> [Event; 2] {
    let started = Event::TurnStarted { turn: 0, model: "m".into(), spent: None, taint: None };
    let usage = Usage { input_tokens: 7, ..Usage::default() };
    [started, Event::ModelFailed { turn: 0, error: "cut".into(), failure, usage }]
}

#[test]
fn a_failed_model_ends_the_task_and_is_paid_for() {
    let events = failed(Failure::Model);
    assert_eq!(step(&events), Step::Finish(Exit::ModelFailed));
    let state = TaskState::fold(&events);
    assert_eq!(state.usage.input_tokens, 7);
    let limits = Limits::default();
    assert_eq!(next(&state, &limits, limits.work()), Step::Finish(Exit::Deadline), "the time was the reason");
}

#[test]
fn a_conversation_that_is_too_long_is_shortened_once() {
    let mut events = failed(Failure::ContextFull).to_vec();
    assert_eq!(step(&events), call_model(Why::TooLong));
    events.extend(failed(Failure::ContextFull));
    assert_eq!(step(&events), Step::Finish(Exit::ContextFull));
    events.truncate(2);
    events.push(said(0, &[], Stop::Ended));
    assert_eq!(step(&events), Step::Finish(Exit::Done), "it helped");
}

#[test]
fn a_cut_answer_is_asked_for_again_with_more_room_and_then_continued_three_times() {
    let mut events = Vec::new();
    for (turn, why) in
        [Why::Truncated, Why::Continued, Why::Continued, Why::Continued].into_iter().enumerate()
    {
        events.push(said(u32::try_from(turn).unwrap(), &[], Stop::Truncated));
        assert_eq!(step(&events), call_model(why), "{turn}");
    }
    assert!(TaskState::fold(&events).is_superseded(0), "what was cut first is not part of the answer");
    assert!(!TaskState::fold(&events).is_superseded(1));
    events.push(said(4, &[], Stop::Truncated));
    assert_eq!(step(&events), Step::Finish(Exit::Done));
    let mut paused = Vec::new();
    for turn in 0..3 {
        paused.push(said(turn, &[], Stop::Paused));
        assert_eq!(step(&paused), call_model(Why::Continued));
        assert!(!TaskState::fold(&paused).is_superseded(0), "what a provider paused in is kept");
    }
    paused.push(said(3, &[], Stop::Paused));
    assert_eq!(step(&paused), Step::Finish(Exit::Done));
}

/// Of a stream that began a call and then ended with the daemon, the call is in the record.
#[test]
fn a_call_that_started_early_is_part_of_its_turn() {
    let tool = ToolCall { id: "m0".into(), name: "get_state".into(), arguments: "{}".into() };
    let started = Event::TurnStarted { turn: 0, model: "m".into(), spent: None, taint: None };
    let called = Event::Called { turn: 0, call: "0.0".into(), tool };
    let mut events = vec![started, called, result("0.0", false)];
    let state = TaskState::fold(&events);
    assert_eq!((state.turns.len(), state.turns[0].calls.len(), state.turn_open), (1, 1, true));
    events.push(said(0, &["get_state", "find_entities"], Stop::Ended));
    let state = TaskState::fold(&events);
    assert_eq!((state.turns.len(), state.turns[0].calls.len(), state.turn_open), (1, 2, false));
    assert_eq!(step(&events), Step::RunCalls(vec!["0.1".into()]), "what ran does not run again");
}
