//! A Wyoming server: homeloop as Home Assistant's conversation agent.
//!
//! Home Assistant connects anew for `describe` (every 30 s) and for each utterance (`transcript`), and expects exactly
//! one final event: `handled` or `not-handled`. It waits without limit, so our own time is bounded: when a person must
//! be asked, or thinking takes too long, the interim sentence is the answer and the task goes on.
//! There is no authentication in the protocol: the server listens on loopback by default, and its one principal may
//! read and command, never approve.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::frame::{Event, read_event, write_event};
use crate::agent::{Event as TaskEvent, Exit};
use crate::http::service::{NewCommand, Service, SubmitError};
use crate::policy::{Channel, Principal, Scope};

/// Connections at once; `describe` floods end here.
const CONNECTIONS: usize = 64;
/// A connection that says nothing for so long is closed.
const IDLE: Duration = Duration::from_secs(60);
/// Characters of one utterance.
const MAX_TEXT: usize = 2000;

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct WyomingSettings {
    /// Longest time until an answer, whatever the task does.
    pub answer_within: Duration,
    /// Languages that are offered; empty means all.
    pub languages: Vec<String>,
}

impl Default for WyomingSettings {
    fn default() -> Self {
        Self { answer_within: Duration::from_secs(20), languages: vec!["en".into(), "zh".into()] }
    }
}

/// Serves until `shutdown`.
pub async fn serve(
    listener: TcpListener,
    settings: WyomingSettings,
    service: Arc<dyn Service>,
    shutdown: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let settings = Arc::new(settings);
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: let some come back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let (settings, service, shutdown) = (settings.clone(), service.clone(), shutdown.clone());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = connection(stream, &settings, service) => {}
            }
        });
    }
}

async fn connection(stream: TcpStream, settings: &WyomingSettings, service: Arc<dyn Service>) {
    // Two small writes in a row must not wait for each other.
    let _ = stream.set_nodelay(true);
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let event = match tokio::time::timeout(IDLE, read_event(&mut reader)).await {
            Ok(Ok(Some(event))) => event,
            Ok(Ok(None)) | Err(_) => return,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a Wyoming client sent what cannot be read");
                return;
            }
        };
        let answer = match event.kind.as_str() {
            "describe" => Some(Event::new("info", info(settings))),
            "ping" => Some(Event::new("pong", json!({"text": event.text("text")}))),
            "transcript" | "recognize" => Some(answer(&event, settings, service.as_ref()).await),
            _ => None,
        };
        if let Some(answer) = answer
            && write_event(&mut writer, &answer).await.is_err()
        {
            return;
        }
    }
}

/// What Home Assistant must know; a missing `attribution`, `installed`, `models` or `languages` breaks its set-up.
fn info(settings: &WyomingSettings) -> Value {
    let attribution = json!({"name": "homeloop", "url": "https://github.com/homeloop/homeloop"});
    let version = env!("CARGO_PKG_VERSION");
    let description = "A home agent: acts through one guarded door and reports what the house confirmed";
    let model = json!({
        "name": "homeloop", "attribution": attribution, "installed": true, "description": description,
        "version": version, "languages": settings.languages,
    });
    let program = json!({
        "name": "homeloop", "attribution": attribution, "installed": true, "description": description,
        "version": version, "models": [model], "supports_handled_streaming": false, "supports_home_control": true,
    });
    json!({"asr": [], "tts": [], "handle": [program], "intent": [], "wake": [], "mic": [], "snd": []})
}

/// Runs an utterance and gives the one final event.
async fn answer(event: &Event, settings: &WyomingSettings, service: &dyn Service) -> Event {
    let text = event.text("text").unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        return Event::new("not-recognized", json!({"text": ""}));
    }
    if text.chars().count() > MAX_TEXT {
        return Event::new(
            "not-handled",
            json!({"text": format!("more than {MAX_TEXT} characters are not taken")}),
        );
    }
    let context = event.data.get("context");
    let inner =
        |key: &str| context.and_then(|context| context.get(key)).and_then(Value::as_str).map(str::to_owned);
    let mut command = NewCommand::text(text);
    command.language =
        event.text("language").map(|tag| tag.split(['-', '_']).next().unwrap_or(tag).to_lowercase());
    command.conversation = inner("conversation_id").map(|id| format!("wyoming:{id}"));
    let device = inner("satellite_id").or_else(|| inner("device_id"));
    let principal = Principal {
        name: device.map_or_else(|| "voice:home-assistant".to_owned(), |device| format!("voice:{device}")),
        channel: Channel::HomeAssistant,
        scopes: vec![Scope::Read, Scope::Command],
    };
    let task = match service.submit(command, principal).await {
        Ok(task) => task,
        Err(
            error @ (SubmitError::Busy
            | SubmitError::TooFast { .. }
            | SubmitError::Rejected { .. }
            | SubmitError::Unavailable(_)),
        ) => {
            return Event::new("not-handled", json!({"text": error.to_string()}));
        }
    };
    let mut interims = task.events.filter_map(|event| {
        let interim = match event.event {
            TaskEvent::Interim { text } => Some(text),
            _ => None,
        };
        std::future::ready(interim)
    });
    tokio::select! {
        view = task.result => {
            let text = view.reply.unwrap_or_default();
            match view.exit {
                Some(Exit::Done) => Event::new("handled", json!({"text": text})),
                _ => Event::new("not-handled", json!({"text": text})),
            }
        }
        // One answer is all that this channel has: a person must be told now, the result follows elsewhere.
        Some(text) = interims.next() => Event::new("handled", json!({"text": text})),
        () = tokio::time::sleep(settings.answer_within) => {
            Event::new("handled", json!({"text": "I am still working on it."}))
        }
    }
}
