//! Conversations over MQTT: both sides on one topic, a history of its own each, and nothing that feeds on itself.

use serde_json::{Value, json};

use crate::house::House;

/// The next answer of homeloop in a conversation after `seen` of them.
async fn answer(house: &House, conversation: &str, seen: usize) -> Value {
    let topic = format!("homeloop/home/chat/{conversation}");
    let is_answer = |payload: &[u8]| {
        serde_json::from_slice::<Value>(payload).ok().filter(|message| message["role"] == "assistant")
    };
    let enough = || {
        let said: Vec<Value> =
            house.recorder.on(&topic).iter().filter_map(|message| is_answer(message.as_bytes())).collect();
        said.into_iter().nth(seen)
    };
    house.recorder.wait(&format!("answer {seen} in {conversation}"), |_| enough().is_some()).await;
    enough().expect("it is there")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_talk_at_once_and_each_has_a_history() {
    let house = House::start().await;
    house.publish("homeloop/home/chat/anna", "turn on the kitchen light").await;
    house
        .publish("homeloop/home/chat/boris", r#"{"text": "打开书房的灯", "role": "user", "id": "b1"}"#)
        .await;
    let anna = answer(&house, "anna", 0).await;
    assert_eq!((&anna["final"], &anna["exit"]), (&json!(true), &json!("done")), "{anna}");
    assert!(anna["text"].as_str().is_some_and(|text| text.contains("itchen")), "{anna}");
    let boris = answer(&house, "boris", 0).await;
    assert!(boris["text"].as_str().is_some_and(|text| text.contains("灯")), "{boris}");
    // "It" is what this conversation was about.
    house.publish("homeloop/home/chat/anna", "turn it off again").await;
    let again = answer(&house, "anna", 1).await;
    assert_eq!(again["exit"], "done", "{again}");
    assert_eq!(house.get("/api/entities/light.kitchen").await["value"], "off");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_to_a_person_is_told_and_a_yes_decides_nothing() {
    let house = House::start().await;
    let before = house.recorder.all().len();
    house.publish("homeloop/home/chat/anna", "unlock the front door").await;
    let waits = answer(&house, "anna", 0).await;
    assert_eq!(waits["final"], false, "{waits}");
    house.publish("homeloop/home/chat/anna", "yes").await;
    answer(&house, "anna", 1).await;
    assert!(house.commands(before).is_empty());
    let approval = house.approval().await;
    assert_eq!(house.decide(&approval, "deny").await.0, 200);
    let last = answer(&house, "anna", 2).await;
    assert_eq!(last["final"], true, "{last}");
    assert!(house.commands(before).is_empty());
    house.stop().await;
}

/// With MQTT 3.1.1 the broker sends us our own words back. They must not become commands.
#[tokio::test(flavor = "multi_thread")]
async fn own_words_and_those_of_other_programs_are_no_commands() {
    let house = House::start_with(&[("HOMELOOP__MQTT__VERSION", "3")]).await;
    house
        .publish("homeloop/home/chat/c", r#"{"role": "assistant", "text": "turn on the kitchen light"}"#)
        .await;
    house.publish("homeloop/home/chat/c", r#"{"role": "user", "text": ""}"#).await;
    house.publish("homeloop/home/chat/c", "what is the temperature in the bedroom?").await;
    // The recorder does not hear what it publishes itself.
    let rejected = answer(&house, "c", 0).await;
    assert_eq!(rejected["exit"], "rejected", "{rejected}");
    let last = answer(&house, "c", 1).await;
    assert_eq!(last["final"], true, "{last}");
    // One task was opened, and it is over: nothing answers an answer.
    house.say("is the kitchen light on?").await;
    assert_eq!(house.recorder.on("homeloop/home/result").len(), 2, "a rejection is told in its conversation");
    assert_eq!(house.get("/api/entities/light.kitchen").await["value"], "on", "as the demo starts");
    house.stop().await;
}

/// A timer rings where it was set.
#[tokio::test(flavor = "multi_thread")]
async fn a_timer_rings_in_the_conversation_that_set_it() {
    let house = House::start().await;
    house.publish("homeloop/home/chat/anna", "set a tea timer for one second").await;
    let set = answer(&house, "anna", 0).await;
    assert_eq!(set["exit"], "done", "{set}");
    let rings = answer(&house, "anna", 1).await;
    assert!(rings["text"].as_str().is_some_and(|text| text.to_lowercase().contains("tea timer")), "{rings}");
    assert_ne!(rings["task"], set["task"]);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_messages_at_once_each_get_one_answer() {
    let house = House::start().await;
    for number in 0..1_000 {
        house.publish(&format!("homeloop/home/chat/c{number}"), "is the kitchen light on?").await;
    }
    let answers = || {
        let is_answer = |payload: &[u8]| {
            serde_json::from_slice::<Value>(payload).is_ok_and(|message| message["role"] == "assistant")
        };
        let all = house.recorder.all();
        let said = all.iter().filter(|message| message.topic.starts_with("homeloop/home/chat/"));
        said.filter(|message| is_answer(&message.payload))
            .map(|message| message.topic.clone())
            .collect::<Vec<_>>()
    };
    house.recorder.wait("a thousand answers", |_| answers().len() >= 1_000).await;
    let mut topics = answers();
    topics.sort();
    topics.dedup();
    assert_eq!(topics.len(), 1_000, "one each, done or busy");
    house.stop().await;
}
