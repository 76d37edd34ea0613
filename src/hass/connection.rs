//! One connection after the other: connect, authenticate, read the registries, follow the states, and begin again
//! when it breaks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::link::Inner;
use super::port::{Calls, WRITES};
use super::protocol::{self, Incoming, Version};
use super::transport::{self, Socket};

/// Time for the TCP connection and each step of the greeting.
const GREETING: Duration = Duration::from_secs(10);
/// A sign of life is asked for so often; silence twice as long ends the connection.
const ALIVE: Duration = Duration::from_secs(20);
/// First and longest pause before another try.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often the file of a refused token is looked at: Home Assistant bans who tries too often.
const TOKEN_LOOK: Duration = Duration::from_secs(5);
/// Changes of registries are gathered for so long.
const GATHER: Duration = Duration::from_millis(300);

/// Where Home Assistant is and what of it is used.
#[derive(Debug, Clone)]
pub struct HassSettings {
    /// `ws://…/api/websocket`, or `wss://…`.
    pub url: String,
    /// PEM file of the authorities to believe for `wss`; `None` takes those of the machine.
    pub ca_file: Option<PathBuf>,
    /// File with a long-lived token alone. It is read again on every connection.
    pub token_file: PathBuf,
    pub choice: Choice,
}

/// Which entities are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Those that are exposed to conversation.
    Exposed,
    /// Those with this label, or whose device or area has it.
    Label(String),
    All,
}

/// Why Home Assistant cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("Home Assistant cannot be reached: {0}")]
    Unreachable(String),
    #[error("the encryption with Home Assistant failed: {0}")]
    Tls(String),
    #[error("the token file cannot be read: {0}")]
    TokenFile(String),
    #[error("Home Assistant refused the token; put a valid long-lived token into the file")]
    TokenRefused,
    #[error("Home Assistant {0} is too old; {oldest} or later is needed", oldest = Version::OLDEST)]
    TooOld(String),
    #[error("Home Assistant sent what cannot be read: {0}")]
    Protocol(String),
    #[error("the connection to Home Assistant broke: {0}")]
    Broken(String),
}

/// How it stands with Home Assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Not connected; with the reason, where there was a try.
    Down(Option<Problem>),
    Up {
        version: String,
        entities: usize,
        /// What this version or this token does not allow, with the consequence.
        missing: Vec<String>,
    },
}

/// Connects for ever.
pub async fn run(inner: Arc<Inner>) {
    let mut pause = FIRST_PAUSE;
    let mut refused: Option<SecretString> = None;
    loop {
        let problem = match token(&inner.settings.token_file).await {
            Err(problem) => problem,
            Ok(token) if refused.as_ref().is_some_and(|old| old.expose_secret() == token.expose_secret()) => {
                tokio::time::sleep(TOKEN_LOOK).await;
                continue;
            }
            Ok(token) => {
                let begun = Instant::now();
                let problem = session(&inner, &token).await;
                refused = (problem == Problem::TokenRefused).then_some(token);
                if begun.elapsed() > LONGEST_PAUSE || inner.ready().is_some() {
                    pause = FIRST_PAUSE;
                }
                problem
            }
        };
        inner.down(problem);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn token(file: &std::path::Path) -> Result<SecretString, Problem> {
    let text = tokio::fs::read_to_string(file)
        .await
        .map_err(|error| Problem::TokenFile(format!("{}: {error}", file.display())))?;
    let token = text.trim();
    if token.is_empty() {
        return Err(Problem::TokenFile(format!("{}: it is empty", file.display())));
    }
    Ok(SecretString::from(token.to_owned()))
}

/// One connection from its beginning to its end.
async fn session(inner: &Arc<Inner>, token: &SecretString) -> Problem {
    match greet(inner, token).await {
        Ok((socket, version)) => follow(inner, socket, &version).await,
        Err(problem) => problem,
    }
}

/// Connects and authenticates; returns the version.
async fn greet(inner: &Inner, token: &SecretString) -> Result<(Socket, String), Problem> {
    let mut socket = tokio::time::timeout(GREETING, transport::connect(&inner.settings))
        .await
        .map_err(|_| Problem::Unreachable(format!("no answer in {} s", GREETING.as_secs())))??;
    let Incoming::AuthRequired { ha_version } = next(&mut socket).await? else {
        return Err(Problem::Protocol("the first message is no auth_required".into()));
    };
    if Version::parse(&ha_version).is_some_and(|version| version < Version::OLDEST) {
        return Err(Problem::TooOld(ha_version.chars().take(32).collect()));
    }
    let auth = json!({"type": "auth", "access_token": token.expose_secret()}).to_string();
    socket.send(Message::text(auth)).await.map_err(|error| Problem::Broken(error.to_string()))?;
    match next(&mut socket).await? {
        Incoming::AuthOk { .. } => Ok((socket, ha_version.chars().take(32).collect())),
        Incoming::AuthInvalid { message } => {
            tracing::warn!(message, "Home Assistant refused the token");
            Err(Problem::TokenRefused)
        }
        _ => Err(Problem::Protocol("the token was answered by neither auth_ok nor auth_invalid".into())),
    }
}

/// The next message of the greeting.
async fn next(socket: &mut Socket) -> Result<Incoming, Problem> {
    let read = async {
        while let Some(frame) = socket.next().await {
            match frame.map_err(|error| Problem::Broken(error.to_string()))? {
                Message::Text(text) => {
                    let mut messages =
                        protocol::read(&text).map_err(|error| Problem::Protocol(error.to_string()))?;
                    if !messages.is_empty() {
                        return Ok(messages.remove(0));
                    }
                }
                Message::Close(_) => break,
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
        Err(Problem::Broken("closed in the greeting".into()))
    };
    tokio::time::timeout(GREETING, read)
        .await
        .unwrap_or_else(|_| Err(Problem::Broken("silence in the greeting".into())))
}

/// Reads registries and states until the connection ends.
async fn follow(inner: &Arc<Inner>, socket: Socket, version: &str) -> Problem {
    let (mut sink, mut stream) = socket.split();
    let (out, mut waiting) = mpsc::channel::<String>(WRITES);
    let calls = Arc::new(Calls::new(out));
    inner.connected(calls.clone());
    let mut sync = Box::pin(inner.clone().synchronise(calls.clone(), version.to_owned(), true));
    let mut synchronised = false;
    let mut due: Option<Instant> = None;
    let mut heard = Instant::now();
    let mut alive = tokio::time::interval(ALIVE);
    let problem = loop {
        tokio::select! {
            frame = stream.next() => {
                heard = Instant::now();
                let text = match frame {
                    Some(Ok(Message::Text(text))) => text,
                    Some(Ok(Message::Close(_))) | None => break Problem::Broken("it was closed".into()),
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                    Some(Err(error)) => break Problem::Broken(error.to_string()),
                };
                match protocol::read(&text) {
                    Ok(messages) => {
                        for message in messages {
                            if inner.take(message, &calls) && due.is_none() {
                                due = Some(Instant::now() + GATHER);
                            }
                        }
                    }
                    Err(error) => break Problem::Protocol(error.to_string()),
                }
            }
            Some(text) = waiting.recv() => {
                if let Err(error) = sink.send(Message::text(text)).await {
                    break Problem::Broken(error.to_string());
                }
            }
            done = &mut sync, if !synchronised => match done {
                Ok(()) => synchronised = true,
                Err(problem) => break problem,
            },
            () = inner.asked_again() => { due.get_or_insert(Instant::now() + GATHER); }
            () = until(due), if due.is_some() && synchronised => {
                due = None;
                synchronised = false;
                sync = Box::pin(inner.clone().synchronise(calls.clone(), version.to_owned(), false));
            }
            _ = alive.tick() => {
                if heard.elapsed() > ALIVE * 2 {
                    break Problem::Broken(format!("silence for {} s", (ALIVE * 2).as_secs()));
                }
                calls.ping();
            }
        }
    };
    calls.end();
    problem
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
