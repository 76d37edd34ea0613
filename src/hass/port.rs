//! Requests over a standing connection, and the port of the door: one action is one `call_service`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::codec::called;
use super::link::Inner;
use super::protocol::CallError;
use crate::actuate::{Port, SendError};
use crate::devices::Message;

/// How long Home Assistant may take for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// Requests that may wait to be written.
pub const WRITES: usize = 256;

/// Why a request has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    #[error("the connection is down")]
    Down,
    #[error("no answer in {} s", ANSWER_WITHIN.as_secs())]
    Silence,
    #[error("{code}: {message}")]
    Refused { code: String, message: String },
}

type Answer = Result<Value, CallError>;

/// The requests of one connection. They end with it.
pub struct Calls {
    out: mpsc::Sender<String>,
    last: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl Calls {
    pub fn new(out: mpsc::Sender<String>) -> Self {
        Self { out, last: AtomicU64::new(0), open: Mutex::default() }
    }

    /// Sends a request and waits for its result.
    pub async fn request(&self, kind: &str, body: Map<String, Value>) -> Result<Value, Fault> {
        self.begin(kind, body).await.1
    }

    /// The same, with the number of the request, which is that of a subscription.
    pub async fn begin(&self, kind: &str, mut body: Map<String, Value>) -> (u64, Result<Value, Fault>) {
        let (tell, answer) = oneshot::channel();
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        body.insert("id".to_owned(), json!(id));
        body.insert("type".to_owned(), json!(kind));
        self.open().insert(id, tell);
        let _close = Close { calls: self, id };
        // The queue is long; where it is full the connection hangs, and its end is near.
        if self.out.try_send(Value::Object(body).to_string()).is_err() {
            return (id, Err(Fault::Down));
        }
        let result = match tokio::time::timeout(ANSWER_WITHIN, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(CallError { code, message }))) => Err(Fault::Refused { code, message }),
            Ok(Err(_)) => Err(Fault::Down),
            Err(_) => Err(Fault::Silence),
        };
        (id, result)
    }

    /// Asks for a sign of life; the answer is any message.
    pub fn ping(&self) {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        // A full queue is noticed by the silence that follows.
        let _ = self.out.try_send(json!({"id": id, "type": "ping"}).to_string());
    }

    /// Hands a result to whoever waits for it.
    pub fn answered(&self, id: u64, answer: Answer) {
        let waiting = self.open().remove(&id);
        if let Some(waiting) = waiting {
            // Nobody waits any more: it took too long.
            let _ = waiting.send(answer);
        }
    }

    /// The connection is gone: everything that waits hears so.
    pub fn end(&self) {
        self.open().clear();
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a request that nobody waits for any more.
struct Close<'a> {
    calls: &'a Calls,
    id: u64,
}

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.calls.open().remove(&self.id);
    }
}

/// The way of actions to Home Assistant.
pub struct HassPort(pub(super) Arc<Inner>);

impl Port for HassPort {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let refused = |why: &str| SendError::Refused(why.to_owned());
            let (domain, service) =
                called(&message.topic).ok_or_else(|| refused("there is no such service"))?;
            let data: Value =
                serde_json::from_str(&message.payload).map_err(|_| refused("its data is no JSON"))?;
            let Some(calls) = self.0.ready() else {
                return Err(SendError::Down("Home Assistant is not connected".to_owned()));
            };
            let mut body = Map::new();
            body.insert("domain".to_owned(), json!(domain));
            body.insert("service".to_owned(), json!(service));
            body.insert("service_data".to_owned(), data);
            match calls.request("call_service", body).await {
                Ok(_) => Ok(()),
                // It was written perhaps, and nobody can say whether it was done: the states will.
                Err(Fault::Down | Fault::Silence) => Err(SendError::Uncertain),
                Err(Fault::Refused { code, message }) => match code.as_str() {
                    "unauthorized"
                    | "not_found"
                    | "not_supported"
                    | "invalid_format"
                    | "service_validation_error" => Err(SendError::Refused(format!("{code}: {message}"))),
                    // The service began and failed: part of it may have happened.
                    _ => {
                        tracing::warn!(%domain, service, code, message, "Home Assistant could not carry out a service");
                        Err(SendError::Uncertain)
                    }
                },
            }
        })
    }

    fn is_up(&self) -> bool {
        self.0.ready().is_some()
    }

    fn down_cause(&self) -> &'static str {
        "hass_down"
    }

    fn connection(&self) -> u64 {
        self.0.connection()
    }
}
