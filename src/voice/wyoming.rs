//! A Wyoming server: homeloop as Home Assistant's conversation agent.
//!
//! Home Assistant connects anew for `describe` (every 30 s) and for each utterance (`transcript`), and expects exactly
//! one final event: `handled` or `not-handled`. It waits without limit, so our own time is bounded: when a person must
//! be asked, or thinking takes too long, the interim sentence is the answer and the task goes on.
//! There is no authentication in the protocol: the server listens on loopback by default, and its one principal may
//! read and command, never approve. Replies are not streamed: they are made from outcomes, which come at the end, and
//! Home Assistant 2026.11 waits for ever on a stream without a plain `handled` after it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Surroundings;
use super::answer::answer;
use super::frame::{Event, read_event, write_event};
use crate::http::service::Service;
use crate::policy::Scope;

/// Connections at once; those beyond are closed at once.
const CONNECTIONS: usize = 64;
/// An event must be complete so long after the connection or the answer before it. Home Assistant sends at once.
const IDLE: Duration = Duration::from_secs(10);
/// A client that does not take its answer for so long is given up.
const WRITE_WITHIN: Duration = Duration::from_secs(5);
/// Events on one connection; a flood of `describe` must connect anew, behind everybody else.
const EVENTS: usize = 256;

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct WyomingSettings {
    /// Longest time until an answer, whatever the task does.
    pub answer_within: Duration,
    /// Languages that are offered, as BCP 47 tags; empty means all.
    pub languages: Vec<String>,
    /// Name of the one principal behind every utterance.
    pub principal: String,
    /// `Read`, and `Command` where voice may act. Never `Approve`.
    pub scopes: Vec<Scope>,
}

struct Server {
    settings: WyomingSettings,
    service: Arc<dyn Service>,
    surroundings: Arc<dyn Surroundings>,
    /// The answer to `describe`: it never changes while we run.
    info: Event,
}

/// Serves until `shutdown`.
pub async fn serve(
    listener: TcpListener,
    settings: WyomingSettings,
    service: Arc<dyn Service>,
    surroundings: Arc<dyn Surroundings>,
    shutdown: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let info = Event::new("info", info(&settings));
    let server = Arc::new(Server { settings, service, surroundings, info });
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a Wyoming connection was not accepted");
                // Out of file descriptors, most likely: let some come back.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tracing::debug!(limit = CONNECTIONS, "a Wyoming connection too many was closed");
            continue;
        };
        let (server, shutdown) = (server.clone(), shutdown.clone());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = server.connection(stream) => {}
            }
        });
    }
}

impl Server {
    async fn connection(&self, stream: TcpStream) {
        // Two small writes in a row must not wait for each other.
        let _ = stream.set_nodelay(true);
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        for _ in 0..EVENTS {
            let event = match tokio::time::timeout(IDLE, read_event(&mut reader)).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) | Err(_) => return,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a Wyoming client sent what cannot be read");
                    return;
                }
            };
            let made;
            let answer = match event.kind.as_str() {
                "describe" => &self.info,
                "ping" => {
                    made = Event::new("pong", json!({"text": event.text("text")}));
                    &made
                }
                "transcript" | "recognize" => {
                    let service = self.service.as_ref();
                    made = answer(&event, &self.settings, service, &self.surroundings).await;
                    &made
                }
                // Audio, `select-program` and what comes after this version: nothing to us.
                _ => continue,
            };
            let written = tokio::time::timeout(WRITE_WITHIN, write_event(&mut writer, answer)).await;
            if !matches!(written, Ok(Ok(()))) {
                return;
            }
        }
    }
}

/// What Home Assistant must know; a missing `attribution`, `installed`, `models` or `languages` breaks its set-up.
fn info(settings: &WyomingSettings) -> Value {
    let attribution = json!({"name": "homeloop", "url": env!("CARGO_PKG_REPOSITORY")});
    let version = env!("CARGO_PKG_VERSION");
    let description = "A home agent: acts through one guarded door and reports what the house confirmed";
    let mut program = json!({
        "name": "homeloop", "attribution": attribution, "installed": true, "description": description,
        "version": version, "models": [], "supports_handled_streaming": false, "supports_home_control": true,
    });
    // No model at all means every language.
    if !settings.languages.is_empty() {
        program["models"] = json!([{
            "name": "homeloop", "attribution": attribution, "installed": true, "description": description,
            "version": version, "languages": settings.languages,
        }]);
    }
    json!({"asr": [], "tts": [], "handle": [program], "intent": [], "wake": [], "mic": [], "snd": []})
}
