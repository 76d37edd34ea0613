//! Audio over MQTT, to text and back, with services that speak Wyoming's bytes over real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use homeloop::mqtt::link::Publish;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::house::House;
use crate::process::Daemon;

/// How a service behaves.
#[derive(Clone, Copy)]
enum Service {
    /// Hears this, whatever it is sent.
    Hears(&'static str),
    /// Hears the text of that many whole seconds.
    HearsByLength(&'static [&'static str]),
    /// Hears this so long after the end of the audio.
    Late(&'static str, Duration),
    /// Speaks half a second of silence.
    Speaks,
    /// Takes everything and answers nothing.
    Mute,
}

async fn start(service: Service) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, service));
        }
    });
    address
}

/// Reads events with an eye of its own: a line, a block of data, a payload.
async fn serve(stream: TcpStream, service: Service) {
    let mut stream = BufReader::new(stream);
    let mut heard = 0;
    loop {
        let mut line = String::new();
        if !matches!(stream.read_line(&mut line).await, Ok(1..)) {
            return;
        }
        let header: Value = serde_json::from_str(&line).expect("a header");
        let length = |key: &str| usize::try_from(header[key].as_u64().unwrap_or(0)).expect("a length");
        let mut data = vec![0; length("data_length")];
        stream.read_exact(&mut data).await.expect("the data");
        let mut payload = vec![0; length("payload_length")];
        stream.read_exact(&mut payload).await.expect("the payload");
        heard += payload.len();
        let answer: Vec<u8> = match (header["type"].as_str().expect("a type"), service) {
            ("audio-stop", Service::Hears(text)) => {
                assert!(heard > 0, "sound came before its end");
                transcript(text)
            }
            ("audio-stop", Service::HearsByLength(texts)) => transcript(texts[heard / 32_000 - 1]),
            ("audio-stop", Service::Late(text, after)) => {
                // This is how the service behaves; nobody waits for a time to pass.
                tokio::time::sleep(after).await;
                transcript(text)
            }
            ("synthesize", Service::Speaks) => {
                let format = json!({"rate": 16000, "width": 2, "channels": 1});
                let mut bytes = format!("{}\n", json!({"type": "audio-start", "data": format})).into_bytes();
                let chunk = json!({"type": "audio-chunk", "data": format, "payload_length": 16000});
                bytes.extend_from_slice(format!("{chunk}\n").as_bytes());
                bytes.extend_from_slice(&[0; 16000]);
                bytes.extend_from_slice(b"{\"type\":\"audio-stop\"}\n");
                bytes
            }
            _ => continue,
        };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

fn transcript(text: &str) -> Vec<u8> {
    // Inline data is as good as a block.
    format!("{}\n", json!({"type": "transcript", "data": {"text": text}})).into_bytes()
}

/// A WAV file of so many seconds of silence at 16 kHz, written by hand.
fn wav(seconds: u32) -> Vec<u8> {
    wav_at(16_000, 16, seconds)
}

fn wav_at(rate: u32, bits: u32, seconds: u32) -> Vec<u8> {
    let bytes = seconds * rate * bits / 8;
    let mut file = b"RIFF".to_vec();
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt ");
    let format = [(16_u32, 4), (1, 2), (1, 2), (rate, 4), (rate * bits / 8, 4), (bits / 8, 2), (bits, 2)];
    for (value, size) in format {
        file.extend(&value.to_le_bytes()[..size]);
    }
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    file.extend(std::iter::repeat_n(0, usize::try_from(bytes).expect("it fits")));
    file
}

async fn house(stt: Service, tts: Service) -> House {
    let (stt, tts) = (start(stt).await.to_string(), start(tts).await.to_string());
    House::start_with(&[
        ("HOMELOOP__VOICE__SPEECH__STT", &stt),
        ("HOMELOOP__VOICE__SPEECH__TTS", &tts),
        ("HOMELOOP__VOICE__SPEECH__SERVICE_SECONDS", "1"),
    ])
    .await
}

async fn send(house: &House, site: &str, audio: Vec<u8>) {
    let topic = format!("homeloop/home/voice/{site}/audio");
    house.recorder.link.publish(Publish::new(topic, audio)).await.expect("published");
}

async fn text(house: &House, site: &str, number: usize) -> Value {
    let topic = format!("homeloop/home/voice/{site}/text");
    house.recorder.wait(&topic, |_| house.recorder.on(&topic).len() > number).await;
    serde_json::from_str(&house.recorder.on(&topic)[number]).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_utterance_becomes_a_command_and_the_reply_is_spoken() {
    let house = house(Service::Hears("turn off the light"), Service::Speaks).await;
    send(&house, "kitchen", wav(1)).await;
    let told = text(&house, "kitchen", 0).await;
    assert_eq!((&told["heard"], &told["exit"]), (&json!("turn off the light"), &json!("done")), "{told}");
    assert_eq!(house.get("/api/entities/light.kitchen").await["value"], "off", "the site is the area");
    assert_eq!(house.commands(0).len(), 1);
    let topic = "homeloop/home/voice/kitchen/speech";
    let speech = house.recorder.wait(topic, |message| message.topic == topic).await;
    assert_eq!(&speech.payload[..4], b"RIFF");
    assert_eq!(speech.payload.len(), 16_044);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_speech_does_nothing_and_is_told() {
    let house = house(Service::Hears("[MUSIC]"), Service::Mute).await;
    for (number, (audio, says)) in [
        (wav(1), "no speech was heard"),
        (wav(60), "the audio lasts 60 s; at most 30 s are taken"),
        (wav(1)[..20_000].to_vec(), "no WAV file"),
        (b"OggS".to_vec(), "no WAV file"),
        (wav_at(16_000, 8, 1), "1 channels of 8 bits at 16000 Hz; expected"),
        (wav_at(96_000, 16, 1), "16 bits at 96000 Hz; expected"),
        (Vec::new(), "no WAV file"),
    ]
    .into_iter()
    .enumerate()
    {
        send(&house, "nowhere", audio).await;
        let told = text(&house, "nowhere", number).await;
        assert!(told["error"].as_str().is_some_and(|error| error.contains(says)), "{told}");
    }
    assert!(house.commands(0).is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f42_a_service_that_is_gone_or_silent_is_told_and_the_text_comes_anyway() {
    let deaf = house(Service::Mute, Service::Mute).await;
    send(&deaf, "kitchen", wav(1)).await;
    let told = text(&deaf, "kitchen", 0).await;
    assert!(
        told["error"].as_str().is_some_and(|error| error.contains("did not answer within 1 s")),
        "{told}"
    );
    assert!(deaf.commands(0).is_empty());
    deaf.stop().await;

    let mute = house(Service::Hears("unlock the front door"), Service::Mute).await;
    send(&mute, "kitchen", wav(1)).await;
    let waits = text(&mute, "kitchen", 0).await;
    assert_eq!(waits["final"], false, "{waits}");
    let approval = mute.approval().await;
    assert_eq!(mute.decide(&approval, "deny").await.0, 200);
    let last = text(&mute, "kitchen", 1).await;
    assert_eq!(last["final"], true, "{last}");
    assert!(mute.commands(0).is_empty());
    mute.stop().await;
}

/// The answer comes when nobody waits for it any more: it is no command.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_answers_after_the_time_out_moves_nothing() {
    let late = Service::Late("turn off the light", Duration::from_millis(1_300));
    let house = house(late, Service::Speaks).await;
    send(&house, "kitchen", wav(1)).await;
    let told = text(&house, "kitchen", 0).await;
    assert!(told["error"].as_str().is_some_and(|error| error.contains("within 1 s")), "{told}");
    // The second one ends later than the first one's answer came.
    send(&house, "kitchen", wav(1)).await;
    text(&house, "kitchen", 1).await;
    assert!(house.commands(0).is_empty(), "{:?}", house.commands(0));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoken_yes_decides_nothing_while_an_approval_waits() {
    let house =
        house(Service::HearsByLength(&["unlock the front door", "yes", "approve it"]), Service::Speaks).await;
    send(&house, "kitchen", wav(1)).await;
    text(&house, "kitchen", 0).await;
    let approval = house.approval().await;
    for (number, seconds) in [(1, 2), (2, 3)] {
        send(&house, "kitchen", wav(seconds)).await;
        text(&house, "kitchen", number).await;
    }
    assert!(house.commands(0).is_empty(), "{:?}", house.commands(0));
    assert_eq!(house.approval().await["approval_id"], approval["approval_id"], "it still waits");
    house.stop().await;
}

/// Ten minutes of silence on a broker without a limit: told where they fit, not taken where they do not, and the house
/// is there afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn ten_minutes_of_silence_are_refused() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let stt = start(Service::Hears("turn off the light")).await;
    let dir = tempfile::tempdir().expect("a directory");
    let settings = format!(
        "[mqtt]\nbroker = \"external\"\nport = {}\n[voice.speech]\nstt = \"{stt}\"\n",
        mosquitto.address.port()
    );
    let daemon = Daemon::start(dir.path(), &settings).await;
    let recorder = Recorder::start(mosquitto.address, None).await;
    let audio = "homeloop/home/voice/kitchen/audio";
    // The first is more than homeloop takes from any broker, the second more than it takes as audio.
    for silence in [wav_at(16_000, 16, 600), wav_at(8_000, 16, 600)] {
        recorder.link.publish(Publish::new(audio, silence)).await.expect("published");
    }
    let heard = "homeloop/home/voice/kitchen/text";
    let told = recorder.wait(heard, |message| message.topic == heard).await;
    let told: Value = serde_json::from_slice(&told.payload).expect("JSON");
    assert!(
        told["error"].as_str().is_some_and(|error| error.contains("at most 4194304 are accepted")),
        "{told}"
    );
    assert_eq!(daemon.get("/readyz").await["ready"], true);
    daemon.kill().await;
}
