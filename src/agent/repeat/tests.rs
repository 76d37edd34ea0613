//! Repetition as tables: what was called and what came of it in, verdicts out.

use serde_json::json;

use super::*;
use crate::actuate::Outcome;
use crate::agent::Event;
use crate::home::{Places, Verb};
use crate::model::{Stop, Usage};

/// One turn for each call; results are (content, is error).
fn task(calls: &[(&str, &str, Value, bool)]) -> TaskState {
    let mut events = Vec::new();
    for (turn, (name, arguments, content, is_error)) in (0_u32..).zip(calls) {
        let id = format!("{turn}.0");
        let call = ToolCall { id: "m".into(), name: (*name).into(), arguments: (*arguments).into() };
        events.push(Event::ModelSaid {
            turn,
            text: String::new(),
            calls: vec![(id.clone(), call)],
            stop: Stop::Ended,
            usage: Usage::default(),
            model: None,
            own: false,
        });
        if !content.is_null() {
            let content = content.to_string();
            events.push(Event::CallResult { call: id, content, is_error: *is_error, taint: None });
        }
    }
    TaskState::fold(&events)
}

fn outcome(state: &mut TaskState, call: &str, entity: &str, outcome: Outcome, reported: &str) {
    let action = Action::new(EntityId::parse(entity).unwrap(), Verb::TurnOn);
    let reported = Some(reported.to_owned());
    let entry = OutcomeEntry { action, outcome, cause: None, reported, details: vec![] };
    state.apply(&Event::Outcome { call: call.into(), entry });
}

#[test]
fn an_action_is_blocked_the_second_time_and_a_read_the_third() {
    let ok = || json!({"outcomes": []});
    for (name, times, expected) in
        [("light", 1, false), ("light", 2, true), ("get_state", 2, false), ("get_state", 3, true)]
    {
        let spellings = [r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, r#"{"a":1,"b":2}"#];
        let calls: Vec<_> = (0..times).map(|at| (name, spellings[at], ok(), false)).collect();
        let state = task(&calls);
        let last = format!("{}.0", times - 1);
        let call = &state.calls[&last].call;
        assert_eq!(blocked(&state, &last, call, |_, _| false).is_some(), expected, "{name} {times}");
        assert_eq!(blocked(&state, &last, call, |_, _| true), None, "the state changed");
    }
    let refused = [("light", "{}", json!({"error": "no_plan"}), true), ("light", "{}", Value::Null, false)];
    let state = task(&refused);
    assert_eq!(blocked(&state, &"1.0".into(), &state.calls["1.0"].call, |_, _| false), None, "it never ran");
}

#[test]
fn what_changed_is_told_by_values_and_not_by_ages() {
    let read = |state: &str, age: u32| json!([{"id": "light.a", "state": state, "age_seconds": age}]);
    let state = task(&[("get_state", "{}", read("on", 1), false)]);
    assert!(!reads_otherwise(&state.calls["0.0"], &read("on", 9)));
    assert!(reads_otherwise(&state.calls["0.0"], &read("off", 1)));
    let mut house = House::new(Places::default());
    let mut acted = task(&[("light", "{}", Value::Null, false)]);
    outcome(&mut acted, "0.0", "light.a", Outcome::Confirmed, "on");
    assert!(!is_undone(&acted.outcomes["0.0"], &house), "nobody knows");
    let id = EntityId::parse("light.a").unwrap();
    let reports = |house: &mut House, value: &'static str| {
        let stamp = crate::home::Stamp {
            at: chrono::DateTime::UNIX_EPOCH,
            since_boot: std::time::Duration::ZERO,
            live: true,
            connection: 1,
            sequence: 1,
        };
        house.apply(&id, &crate::home::Update::value(value), stamp);
    };
    house.insert(lamp(&id));
    for (value, undone) in [("on", false), ("off", true)] {
        reports(&mut house, value);
        assert_eq!(is_undone(&acted.outcomes["0.0"], &house), undone, "{value}");
    }
}

#[test]
fn an_entity_that_failed_three_times_in_a_row_is_paused_and_others_are_not() {
    let limits = Limits::default();
    let mut state = task(&["1", "2", "3", "4"].map(|n| ("light", n, Value::Null, false)));
    let actions = |id: &str| [Action::new(EntityId::parse(id).unwrap(), Verb::TurnOff)];
    for (call, told) in [
        ("0.0", Outcome::Confirmed),
        ("1.0", Outcome::Unconfirmed),
        ("2.0", Outcome::Contradicted),
        ("3.0", Outcome::NotSent),
    ] {
        assert_eq!(paused_entity(&state, &actions("light.a"), &limits), None);
        outcome(&mut state, call, "light.a", told, "off");
    }
    let why = paused_entity(&state, &actions("light.a"), &limits).expect("paused");
    assert!(why.contains("light.a failed 3 times in a row"), "{why}");
    assert_eq!(paused_entity(&state, &actions("light.b"), &limits), None);
    assert_eq!(paused_tool(&state, "light", &limits), None, "a device that fails is not the tool's fault");
}

#[test]
fn a_tool_that_failed_three_times_in_a_row_is_paused() {
    let refused = |why: &str| json!({"error": "refused", "said": why});
    let timer = |n: &'static str| ("timer", n, refused(n), true);
    let limits = Limits::default();
    assert_eq!(paused_tool(&task(&[timer("1"), timer("2")]), "timer", &limits), None);
    let state = task(&[timer("1"), ("list", "{}", json!({"said": "ok"}), false), timer("2"), timer("3")]);
    assert!(paused_tool(&state, "timer", &limits).expect("paused").contains("timer failed 3 times"));
    assert_eq!(paused_tool(&state, "list", &limits), None);
    let state = task(&[timer("1"), timer("2"), ("timer", "3", json!({"said": "ok"}), false), timer("4")]);
    assert_eq!(paused_tool(&state, "timer", &limits), None, "a success ends the row");
}

#[test]
fn a_cycle_ends_the_task_unless_each_round_tells_something_new() {
    let round = |n: u32, new: bool| {
        let told = if new { n } else { 0 };
        [("get_state", "{}", json!({"n": told}), false), ("find_entities", "{}", json!({"n": told}), false)]
    };
    let cycle = |new| task(&(0..3).flat_map(|n| round(n, new)).collect::<Vec<_>>());
    assert_eq!(verdict(&cycle(false), &Limits::default()), Some(Exit::Repetition));
    assert_eq!(verdict(&cycle(true), &Limits::default()), None);
}

#[test]
fn failures_alike_and_malformed_calls_end_the_task() {
    let alike = ["{}"; 3].map(|arguments| ("light", arguments, json!({"error": "no_plan"}), true));
    assert_eq!(verdict(&task(&alike), &Limits::default()), Some(Exit::Repetition));
    let bad = |n: &'static str| ("light", n, json!({"error": "malformed", "attempt": n}), true);
    assert_eq!(verdict(&task(&[bad("1"), bad("2")]), &Limits::default()), None);
    assert_eq!(verdict(&task(&[bad("1"), bad("2"), bad("3")]), &Limits::default()), Some(Exit::Malformed));
    let mended = task(&[bad("1"), bad("2"), ("light", "{}", json!({"outcomes": []}), false), bad("3")]);
    assert_eq!(verdict(&mended, &Limits::default()), None);
}

#[test]
fn cycles_up_to_period_four_are_seen_after_their_rounds() {
    for (calls, period, cycle) in [
        ("aaa", 1, true),
        ("xaab", 1, false),
        ("ababab", 2, true),
        ("abab", 2, false),
        ("xabcabcabc", 3, true),
        ("abcdabcdabcd", 4, true),
        ("abcdabcdabce", 4, false),
    ] {
        let calls: Vec<char> = calls.chars().collect();
        assert_eq!(is_cycle(&calls, period, 3), cycle, "{calls:?}");
    }
}

#[test]
fn who_looks_at_the_same_things_again_is_to_report_and_a_lamp_may_blink() {
    let look = |n: &'static str| ("get_state", n, json!([n]), false);
    let circle = [look("1"), look("2"), look("1"), look("2")];
    assert!(looks_in_circles(&task(&circle)));
    assert_eq!(verdict(&task(&circle), &Limits::default()), None, "it is not over yet");
    assert!(!looks_in_circles(&task(&circle[..3])));
    let refused = ("get_state", "3", json!({"error": "limit"}), true);
    assert!(looks_in_circles(&task(&[&circle[..], &[refused]].concat())), "what was not run is no news");
    let blink = |n: &'static str| ("light", n, json!({"outcomes": []}), false);
    let mut state = task(&[blink("on"), blink("off"), blink("on"), blink("off")]);
    for call in ["0.0", "1.0", "2.0", "3.0"] {
        outcome(&mut state, call, "light.a", Outcome::Confirmed, "on");
    }
    assert!(!looks_in_circles(&state));
    assert_eq!(verdict(&state, &Limits::default()), None);
}

#[test]
fn a_list_may_be_read_again_after_something_was_added() {
    let said = || json!({"said": "ok"});
    let read = ("list", r#"{"action":"read"}"#, said(), false);
    let add = ("list", r#"{"action":"add","item":"milk"}"#, said(), false);
    let refused = ("list", r#"{"action":"add","item":"milk"}"#, json!({"error": "refused"}), true);
    let look = ("get_state", "{}", json!([]), false);
    let remove = ("list", r#"{"action":"remove","item":"milk"}"#, said(), false);
    let start = ("timer", r#"{"action":"start","seconds":300}"#, said(), false);
    for (first, between, again) in [
        (&read, Some(&add), true),
        (&read, Some(&start), true),
        (&read, Some(&refused), false),
        (&read, Some(&look), false),
        (&read, None, false),
        // Adding a second time is no reading.
        (&add, Some(&read), false),
        (&add, Some(&start), false),
        (&add, Some(&remove), true),
        (&start, Some(&remove), false),
    ] {
        let calls: Vec<_> = [Some(first), between, Some(first)].into_iter().flatten().cloned().collect();
        assert_eq!(household_changed(&task(&calls), &"0.0".into()), again, "{first:?} {between:?}");
    }
}

#[test]
fn spellings_of_one_call_are_one_call() {
    let call =
        |arguments: &str| ToolCall { id: "a".into(), name: "light".into(), arguments: arguments.into() };
    for (one, other, same) in [
        (r#"{"entities":["light.a","light.b"]}"#, r#"{"entities":["light.b","light.a"]}"#, true),
        (r#"{"entities":["light.a"]}"#, r#"{ "entities": "light.a" }"#, true),
        (r#"{"a":40,"b":{"x":1,"y":2}}"#, r#"{"b":{"y":2.0,"x":1},"a":40.0}"#, true),
        (r#"{"a":40}"#, r#"{"a":41}"#, false),
        (r#"{"rgb":[1,2,3]}"#, r#"{"rgb":[3,2,1]}"#, false),
        ("{", "{ ", true),
    ] {
        assert_eq!(normal_arguments(&call(one)) == normal_arguments(&call(other)), same, "{one} {other}");
    }
}

fn lamp(id: &EntityId) -> crate::home::Entity {
    crate::home::Entity {
        id: id.clone(),
        name: "Lamp".into(),
        aliases: Vec::new(),
        area: None,
        device: None,
        device_class: None,
        category: crate::home::Category::Main,
        unit: None,
        actions: Vec::new(),
        members: Vec::new(),
        reports_state: true,
        source: "test".into(),
    }
}
