//! What is not understood, impossible or broken: a clear answer, and nothing is sent.

use bytes::Bytes;
use homeloop::mqtt::link::Publish;
use serde_json::Value;

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn b10_to_b12_b19_to_b23_and_b27_to_b29_sentences_that_must_not_act_send_nothing() {
    let house = House::start().await;
    let before = house.recorder.all().len();
    for (text, says) in [
        ("turn on the kitchn ligt in the atlantis", ""),
        ("turn on the lights in the ballroom", "ballroom"),
        ("turn on the zeppelin", "there is no zeppelin"),
        ("turn on the bedside lap", "did you mean"),
        ("is the kitchen light on?", "kitchen"),
        ("set the air conditioner to 60 degrees", "16 to 30"),
        ("set the air conditioner to 300 degrees", "16 to 30"),
        // In a house of °C, 72 without a unit is no wish that can be guessed.
        ("set the air conditioner to 72", "16 to 30"),
        ("set the kitchen light to 101%", "0 to 100"),
        ("don't turn off the fan", ""),
        ("make me a sandwich", "there is no sandwich"),
        ("unlock the lamp", "cannot do that"),
        ("unlock the kitchen light", "cannot do that"),
        ("open it", ""),
        ("lock and unlock the front door", "opposite"),
        ("turn the kitchen light off and on", "opposite"),
        ("éteins la lumière de la cuisine", ""),
        ("", ""),
        ("yes", ""),
        ("[MUSIC]", ""),
    ] {
        if text.is_empty() {
            continue;
        }
        let result = house.say(text).await;
        let reply = result["reply"].as_str().expect("a reply");
        assert!(!reply.is_empty(), "{text}: {result}");
        assert!(reply.to_lowercase().contains(says), "{text}: {reply}");
        assert_eq!(house.commands(before), Vec::<String>::new(), "{text}: {result}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_messages_are_rejected_on_the_result_topic() {
    let house = House::start().await;
    let command = "homeloop/home/command";
    let cases: [(&str, Vec<u8>); 6] = [
        ("empty", b"   ".to_vec()),
        ("broken JSON", b"{\"text\": \"turn on".to_vec()),
        ("an unknown field", b"{\"text\": \"hello\", \"sudo\": true}".to_vec()),
        ("equal keys", b"{\"text\": \"lock\", \"text\": \"unlock\"}".to_vec()),
        ("not UTF-8", vec![0xff, 0xfe, 0x00]),
        ("20 KB", vec![b'a'; 20 * 1024]),
    ];
    for (count, (what, payload)) in cases.into_iter().enumerate() {
        house.recorder.link.publish(Publish::new(command, Bytes::from(payload))).await.expect("published");
        let seen = house
            .recorder
            .wait(&format!("the rejection of {what}"), |message| {
                message.topic == "homeloop/home/result"
                    && house.recorder.on("homeloop/home/result").len() > count
            })
            .await;
        let body: Value = serde_json::from_slice(&seen.payload).expect("JSON");
        assert_eq!(body["exit"], "rejected", "{what}: {body}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b30_and_f6_a_repeated_id_gets_the_first_result() {
    let house = House::start().await;
    let body = "{\"text\": \"turn on the study lamp\", \"id\": \"once\"}";
    house.publish("homeloop/home/command", body).await;
    let first = house.result_of("once").await;
    let before = house.recorder.all().len();
    house.publish("homeloop/home/command", body).await;
    let results = || house.recorder.on("homeloop/home/result").len();
    house.recorder.wait("the result again", |_| results() == 2).await;
    let again: Value = serde_json::from_str(&house.recorder.on("homeloop/home/result")[1]).expect("JSON");
    assert_eq!((&again["task"], &again["reply"]), (&first["task"], &first["reply"]));
    assert!(house.commands(before).is_empty(), "nothing is done twice");
    house.stop().await;
}
