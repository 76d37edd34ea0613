//! `describe`: what Home Assistant's set-up needs, and floods of it.

use serde_json::{Value, json};

use crate::client::{Client, WYOMING, address, say};
use crate::house::House;

const DESCRIBE: &[u8] = b"{\"type\": \"describe\", \"version\": \"1.10.2\"}\n";

#[tokio::test(flavor = "multi_thread")]
async fn info_has_everything_that_the_config_flow_needs() {
    let house = House::with(WYOMING).await;
    let mut client = Client::connect(address(&house)).await;
    client.write(DESCRIBE).await;
    let (kind, info) = client.read().await.expect("info");
    assert_eq!(kind, "info");
    for service in ["asr", "tts", "intent", "wake", "mic", "snd"] {
        assert_eq!(info[service], json!([]), "{service} is not offered");
    }
    assert!(info.get("satellite").is_none(), "a satellite would switch the agent off");
    let program = &info["handle"][0];
    for part in [program, &program["models"][0]] {
        assert!(part["name"].is_string() && part["installed"] == true, "{part}");
        assert!(part["attribution"]["name"].is_string() && part["attribution"]["url"].is_string(), "{part}");
    }
    assert_eq!(program["models"][0]["languages"], json!(["en", "de", "es", "fr", "nl", "zh"]));
    assert_eq!(program["supports_home_control"], true);
    assert_eq!(program["supports_handled_streaming"], false, "nothing is streamed, so nothing can hang");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_configured_languages_all_are_offered() {
    let house = House::with(&format!("{WYOMING}languages = []\n")).await;
    let mut client = Client::connect(address(&house)).await;
    client.write(DESCRIBE).await;
    let (_, info) = client.read().await.expect("info");
    assert_eq!(info["handle"][0]["models"], json!([]), "Home Assistant reads this as every language");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_describe_keeps_nobody_from_speaking() {
    let house = House::with(WYOMING).await;
    let at = address(&house);
    // On one connection: each is answered until the connection has had its share.
    let mut one = Client::connect(at).await;
    one.write(&DESCRIBE.repeat(400)).await;
    let mut answered = 0;
    while let Some((kind, _)) = one.read().await {
        assert_eq!(kind, "info");
        answered += 1;
    }
    assert!((1..400).contains(&answered), "the connection ends: {answered}");
    // On many: those beyond the limit are closed, and what was there before them is served.
    let mut many = Vec::new();
    for _ in 0..200 {
        let mut client = Client::connect(at).await;
        client.write(DESCRIBE).await;
        many.push(client);
    }
    let mut served = 0;
    for client in &mut many {
        served += usize::from(client.read().await.is_some());
    }
    assert!(served > 0, "some of 200 are served");
    drop(many);
    let (kind, text) = loop {
        // The places of the flood come back one after the other.
        let mut client = Client::connect(at).await;
        client.send("transcript", &json!({"text": "turn on the kitchen light", "language": "en"})).await;
        if let Some((kind, data)) = client.read().await {
            break (kind, data["text"].as_str().unwrap_or_default().to_owned());
        }
    };
    assert_eq!(kind, "handled", "{text}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ping_and_the_older_request_are_answered_and_the_rest_is_skipped() {
    let house = House::with(WYOMING).await;
    let mut client = Client::connect(address(&house)).await;
    client.send("select-program", &json!({"name": "homeloop"})).await;
    client.send("ping", &json!({"text": "7"})).await;
    assert_eq!(client.read().await, Some(("pong".to_owned(), json!({"text": "7"}))));
    // Audio with a payload, and null values: nothing of ours, and the framing holds.
    client.write(b"{\"type\":\"audio-chunk\",\"data_length\":41,\"payload_length\":4}\n").await;
    client.write(b"{\"rate\":16000,\"width\":2,\"timestamp\":null}").await;
    client.write(&[0, 10, 255, 10]).await;
    client.send("recognize", &json!({"text": "is the front door locked", "context": null})).await;
    let (kind, data) = client.read().await.expect("an answer");
    assert_eq!(kind, "handled", "{data}");
    // Inline data, which other clients write.
    client.write(b"{\"type\":\"transcript\",\"data\":{\"text\":\"turn off the kitchen light\"}}\n").await;
    let (kind, data) = client.read().await.expect("an answer");
    assert_eq!(kind, "handled", "{data}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_off_by_default_and_can_be_read_only() {
    let house = House::start().await;
    assert_eq!(house.ready["wyoming"], Value::Null);
    house.stop().await;
    let house = House::with(&format!("{WYOMING}scope = \"read\"\n")).await;
    let before = house.recorder.all().len();
    let (_, text) = say(&house, "turn on the kitchen light", "en", json!({})).await;
    assert!(house.commands(before).is_empty(), "{text}");
    house.stop().await;
}
