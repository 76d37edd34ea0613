//! Bytes that are no Wyoming, and utterances that are none.

use serde_json::json;

use crate::client::{Client, WYOMING, address, say};
use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn broken_frames_end_their_own_connection_alone() {
    let house = House::with(WYOMING).await;
    let at = address(&house);
    let long_line = [b"{\"type\":\"".as_slice(), &[b'a'; 20_000], b"\"}\n"].concat();
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: homeloop\r\n\r\n".as_slice(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
        b"{}\n",
        b"[]\n",
        b"{\"type\":7}\n",
        b"{\"type\":\"transcript\",\"data_length\":999999999999}\n",
        b"{\"type\":\"transcript\",\"data_length\":4}\n[1] ",
        b"{\"type\":\"audio-chunk\",\"payload_length\":18446744073709551615}\n",
        &long_line,
    ] {
        let mut client = Client::connect(at).await;
        client.write(bytes).await;
        assert_eq!(client.read().await, None, "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]));
    }
    // Half a message and then nothing: the client goes, and nothing is done.
    let before = house.recorder.all().len();
    let mut half = Client::connect(at).await;
    half.write(b"{\"type\":\"transcript\",\"data_length\":60}\n{\"text\": \"turn on the kitch").await;
    drop(half);
    let (kind, text) = say(&house, "turn on the hallway light", "en", json!({})).await;
    assert_eq!(kind, "handled", "{text}");
    assert_eq!(house.commands(before).len(), 1, "only the whole message acted");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_long_and_strange_utterances_have_an_answer() {
    let house = House::with(WYOMING).await;
    let before = house.recorder.all().len();
    let long = "light ".repeat(1000);
    for (text, kind) in [
        ("", "not-recognized"),
        ("   \n", "not-recognized"),
        (long.as_str(), "not-handled"),
        ("\u{202e}\u{0}🙂", "not-handled"),
        ("colourless green ideas sleep furiously", "not-handled"),
    ] {
        let (got, reply) = say(&house, text, "en", json!({"conversation_id": 7, "device_id": ["x"]})).await;
        assert!(!reply.is_empty(), "{text:?}");
        assert_eq!(got, kind, "{text:?}: {reply}");
    }
    assert!(house.commands(before).is_empty(), "{:?}", house.commands(before));
    // A language that we do not have, and text that is not a text.
    let mut client = Client::connect(address(&house)).await;
    client.send("transcript", &json!({"text": 5, "language": "tlh"})).await;
    assert_eq!(client.read().await.expect("an answer").0, "not-recognized");
    house.stop().await;
}
