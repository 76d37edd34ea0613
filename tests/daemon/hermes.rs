//! Hermes with the real daemon, over real MQTT: what Rhasspy's services send, and what they need back.

use serde_json::{Value, json};

use crate::house::House;

const NLU: [(&str, &str); 1] = [("HOMELOOP__VOICE__HERMES__ROLE", "nlu")];

async fn first(house: &House, topic: &str) -> Value {
    let message = house.recorder.wait(topic, |message| message.topic == topic).await;
    serde_json::from_slice(&message.payload).expect("JSON")
}

fn query(text: &str) -> String {
    json!({
        "input": text, "siteId": "kitchen", "id": "q-1", "intentFilter": null, "sessionId": "kitchen-1",
        "wakewordId": "porcupine", "lang": "en", "customData": "c", "asrConfidence": 1.0,
    })
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_read_answered_and_ended() {
    let house = House::start_with(&NLU).await;
    house.publish("hermes/nlu/query", &query("turn off the light")).await;
    let parsed = first(&house, "hermes/nlu/intentParsed").await;
    assert_eq!((&parsed["id"], &parsed["sessionId"]), (&json!("q-1"), &json!("kitchen-1")));
    let end = first(&house, "hermes/dialogueManager/endSession").await;
    assert_eq!((&end["sessionId"], &end["customData"]), (&json!("kitchen-1"), &json!("c")), "{end}");
    // The site is the area: this light and no other.
    let sent = house.commands(0);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(house.get("/api/entities/light.kitchen").await["value"], "off");
    // The same query again is the same command.
    house.publish("hermes/nlu/query", &query("turn off the light")).await;
    let ends = || house.recorder.on("hermes/dialogueManager/endSession").len();
    house.recorder.wait("a second end", |_| ends() == 2).await;
    assert_eq!(house.commands(0).len(), 1, "nothing is done twice");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlock_ends_the_session_with_the_question_and_a_spoken_yes_decides_nothing() {
    let house = House::start_with(&NLU).await;
    house.publish("hermes/nlu/query", &query("unlock the front door")).await;
    let end = first(&house, "hermes/dialogueManager/endSession").await;
    let approval = house.approval().await;
    let code = approval["match_code"].as_str().expect("a code");
    assert!(end["text"].as_str().is_some_and(|text| text.contains(code)), "{end}");
    let yes =
        json!({"input": "yes", "siteId": "kitchen", "id": "q-2", "sessionId": "kitchen-2", "lang": "en"});
    house.publish("hermes/nlu/query", &yes.to_string()).await;
    let ends = || house.recorder.on("hermes/dialogueManager/endSession").len();
    house.recorder.wait("the yes is answered", |_| ends() == 2).await;
    assert!(house.commands(0).is_empty(), "{:?}", house.commands(0));
    assert_eq!(house.decide(&approval, "approve").await.0, 200);
    // The session is long over: the result is said at the site.
    let said = first(&house, "hermes/tts/say").await;
    assert_eq!(said["siteId"], "kitchen", "{said}");
    assert_eq!(house.commands(0).len(), 1);
    house.stop().await;
}

/// Whoever speaks hears after a moment that it takes longer, and the result when it is there.
#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_is_said_and_its_result_later() {
    let house = House::start_with(&[NLU[0], ("HOMELOOP__AGENT__INTERIM_AFTER_SECONDS", "1")]).await;
    house.fault("light.kitchen", "silent").await;
    house.publish("hermes/nlu/query", &query("turn off the light")).await;
    let end = first(&house, "hermes/dialogueManager/endSession").await;
    assert_eq!(end["text"], "I am still working on it.", "{end}");
    let said = first(&house, "hermes/tts/say").await;
    assert!(said["text"].as_str().is_some_and(|text| text.contains("did not confirm")), "{said}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_on_listening() {
    let house = House::start_with(&NLU).await;
    let vague = json!({"input": "turn on the bedside light", "siteId": "bedroom", "id": "q-3", "sessionId": "s-3", "lang": "en"});
    house.publish("hermes/nlu/query", &vague.to_string()).await;
    let more = first(&house, "hermes/dialogueManager/continueSession").await;
    assert_eq!(more["sessionId"], "s-3", "{more}");
    assert!(house.commands(0).is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_listens_to_its_own_topic_alone() {
    let house = House::start_with(&[("HOMELOOP__VOICE__HERMES__ROLE", "text")]).await;
    house.publish("hermes/nlu/query", &query("turn off the light")).await;
    let captured = json!({"text": "is the light on?", "likelihood": 1, "siteId": "kitchen", "sessionId": "k", "lang": null});
    house.publish("hermes/asr/textCaptured", &captured.to_string()).await;
    let said = first(&house, "hermes/tts/say").await;
    assert_eq!(said["siteId"], "kitchen", "{said}");
    for broken in ["", "not json", "{}", r#"{"text": 7}"#] {
        house.publish("hermes/asr/textCaptured", broken).await;
    }
    house.say("is the kitchen light on?").await;
    assert!(house.commands(0).is_empty(), "{:?}", house.commands(0));
    assert_eq!(house.recorder.on("hermes/tts/say").len(), 1);
    house.stop().await;
}

/// A timer rings at the site that set it, long after its session.
#[tokio::test(flavor = "multi_thread")]
async fn a_timer_rings_at_its_site() {
    let house = House::start_with(&NLU).await;
    house.publish("hermes/nlu/query", &query("set a tea timer for one second")).await;
    first(&house, "hermes/dialogueManager/endSession").await;
    let rings = first(&house, "hermes/tts/say").await;
    assert_eq!(rings["siteId"], "kitchen", "{rings}");
    assert!(rings["text"].as_str().is_some_and(|text| text.to_lowercase().contains("tea timer")), "{rings}");
    house.stop().await;
}
