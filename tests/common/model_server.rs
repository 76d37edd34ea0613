//! A provider made of a script: real HTTP on a free port, both wire formats, and every way of failing.
//!
//! Each request takes the next answer of the script. Each request is checked against what the providers demand, and
//! a fault is remembered: call [`ModelServer::assert_clean`] at the end of a test.

// Every test binary that includes this file uses another part of it.
#![allow(dead_code)]

#[path = "model_server/check.rs"]
mod check;
#[path = "model_server/wire.rs"]
mod wire;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::post;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::sync::Notify;

pub use wire::{Api, Shape};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A well-formed answer, delivered in some way.
    Say { said: Said, delivery: Delivery },
    /// A status other than success.
    Status { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// These chunks as the body of a successful answer.
    Raw(Vec<Vec<u8>>, After),
    /// Nothing at all, for ever.
    Silence,
}

/// What a model says in one turn.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pub parts: Vec<Part>,
    /// In the words of the format; `None`: what fits the parts.
    pub stop: Option<&'static str>,
    pub usage: Usage,
}

#[derive(Debug, Clone)]
pub enum Part {
    Text(String),
    Call { id: String, name: String, arguments: String },
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// All input, what was cached included.
    pub input: u64,
    pub cached: u64,
    pub written: u64,
    pub output: u64,
}

/// How the bytes of an answer go out.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    /// The seed of the places where the bytes are split; `None`: one chunk an event.
    pub split: Option<u64>,
    pub shape: Shape,
    /// Stop after this share of the bytes, in percent.
    pub until_percent: Option<usize>,
    pub after: After,
}

/// What follows the last byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum After {
    /// The body ends.
    #[default]
    End,
    /// The connection breaks.
    Cut,
    /// Nothing comes, and the connection stays open.
    Stall,
    /// Only signs of life come, quickly and for ever.
    Pings,
    /// One byte of a comment at a time, for ever.
    Drip,
}

impl Answer {
    pub fn text(text: &str) -> Self {
        Self::parts(vec![Part::Text(text.to_owned())])
    }

    /// Calls as (id, name, arguments).
    pub fn calls(calls: &[(&str, &str, &str)]) -> Self {
        let call = |(id, name, arguments): &(&str, &str, &str)| Part::Call {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        };
        Self::parts(calls.iter().map(call).collect())
    }

    pub fn parts(parts: Vec<Part>) -> Self {
        let usage = Usage { input: 100, cached: 60, written: 0, output: 10 };
        Self::Say { said: Said { parts, stop: None, usage }, delivery: Delivery::default() }
    }

    pub fn status(status: u16) -> Self {
        let body = format!("{{\"error\":{{\"message\":\"scripted {status}\"}}}}");
        Self::Status { status, headers: Vec::new(), body }
    }

    pub fn status_with(status: u16, header: (&'static str, &str)) -> Self {
        let body = format!("{{\"error\":{{\"message\":\"scripted {status}\"}}}}");
        Self::Status { status, headers: vec![(header.0, header.1.to_owned())], body }
    }

    pub fn stop(mut self, reason: &'static str) -> Self {
        if let Self::Say { said, .. } = &mut self {
            said.stop = Some(reason);
        }
        self
    }

    pub fn usage(mut self, usage: Usage) -> Self {
        if let Self::Say { said, .. } = &mut self {
            said.usage = usage;
        }
        self
    }

    pub fn split(mut self, seed: u64) -> Self {
        if let Self::Say { delivery, .. } = &mut self {
            delivery.split = Some(seed);
        }
        self
    }

    pub fn shape(mut self, shape: Shape) -> Self {
        if let Self::Say { delivery, .. } = &mut self {
            delivery.shape = shape;
        }
        self
    }

    /// Delivers only the first `percent` of the bytes, and then does what `after` says.
    pub fn until(mut self, percent: usize, after: After) -> Self {
        if let Self::Say { delivery, .. } = &mut self {
            delivery.until_percent = Some(percent);
            delivery.after = after;
        }
        self
    }
}

/// A model that answers from what it reads, instead of a script.
pub type Brain = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// The running server. It ends when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    script: Mutex<VecDeque<Answer>>,
    brain: Option<Brain>,
    requests: Mutex<Vec<Request>>,
    faults: Mutex<Vec<String>>,
    forbidden: Mutex<Vec<String>>,
    key: Option<String>,
    /// Something happened: a request came, or a body ended.
    changed: Notify,
    open_bodies: AtomicUsize,
}

/// Lives as long as the body of an answer is read.
struct OpenBody(Arc<Shared>);

impl OpenBody {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.open_bodies.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for OpenBody {
    fn drop(&mut self) {
        self.0.open_bodies.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    pub api: Api,
    pub headers: HeaderMap,
    pub body: Value,
    pub bytes: Bytes,
}

impl ModelServer {
    /// Listens on a free port and answers by `script`.
    pub async fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_with_key(script, None).await
    }

    /// A server that answers every request by what `brain` makes of it.
    pub async fn start_thinking(brain: Brain) -> Self {
        Self::start_as(VecDeque::new(), Some(brain), None).await
    }

    /// The same; a request without this key is a fault.
    pub async fn start_with_key(script: impl IntoIterator<Item = Answer>, key: Option<&str>) -> Self {
        Self::start_as(script.into_iter().collect(), None, key).await
    }

    async fn start_as(script: VecDeque<Answer>, brain: Option<Brain>, key: Option<&str>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            brain,
            requests: Mutex::default(),
            faults: Mutex::default(),
            forbidden: Mutex::default(),
            key: key.map(str::to_owned),
            changed: Notify::new(),
            open_bodies: AtomicUsize::new(0),
        });
        let routes = axum::Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/messages", post(answer))
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.expect("serves") });
        Self { address, shared, task }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// For the setting `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds to the end of the script.
    pub fn then(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.script.lock().expect("lock").extend(answers);
    }

    /// No request may hold any of these texts.
    pub fn forbid(&self, texts: &[&str]) {
        self.shared.forbidden.lock().expect("lock").extend(texts.iter().map(|text| (*text).to_owned()));
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().expect("lock").clone()
    }

    /// Waits until `count` requests have come.
    pub async fn wait_for_requests(&self, count: usize) {
        self.wait_until(|| self.requests().len() >= count).await;
    }

    /// Waits until nobody reads an answer any more.
    pub async fn wait_until_left_alone(&self) {
        self.wait_until(|| self.shared.open_bodies.load(Ordering::SeqCst) == 0).await;
    }

    async fn wait_until(&self, holds: impl Fn() -> bool) {
        let wait = async {
            loop {
                let mut changed = std::pin::pin!(self.shared.changed.notified());
                changed.as_mut().enable();
                if holds() {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect("in time");
    }

    /// What was wrong with any request so far.
    pub fn faults(&self) -> Vec<String> {
        self.shared.faults.lock().expect("lock").clone()
    }

    #[track_caller]
    pub fn assert_clean(&self) {
        assert_eq!(self.faults(), Vec::<String>::new());
    }

    /// What of the script is left.
    pub fn left(&self) -> usize {
        self.shared.script.lock().expect("lock").len()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    let api = match uri.path().ends_with("/messages") {
        true => Api::Anthropic,
        false => Api::OpenAi,
    };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let forbidden = shared.forbidden.lock().expect("lock").clone();
    let mut faults = check::request(api, &headers, &body, shared.key.as_deref());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    faults.extend(
        forbidden.iter().filter(|secret| text.contains(*secret)).map(|secret| format!("{secret} leaked")),
    );
    let request = Request { api, headers, body, bytes };
    let next = match &shared.brain {
        Some(brain) => Some(brain(&request)),
        None => shared.script.lock().expect("lock").pop_front(),
    };
    if next.is_none() {
        faults.push("a request beyond the script".to_owned());
    }
    shared.faults.lock().expect("lock").extend(faults);
    shared.requests.lock().expect("lock").push(request);
    shared.changed.notify_waiters();
    match next.unwrap_or_else(|| Answer::status(500)) {
        Answer::Say { said, delivery } => {
            let bytes = wire::encode(api, &said, &delivery.shape);
            let length: usize = bytes.iter().map(Vec::len).sum();
            let keep = delivery.until_percent.map_or(length, |percent| length * percent / 100);
            // Signs of life come between events, never within one.
            let whole_events = matches!(delivery.after, After::Pings | After::Drip);
            let keep = if whole_events { wire::whole_events(&bytes, keep) } else { keep };
            let chunks = match delivery.split {
                Some(seed) => wire::split(&bytes.concat()[..keep], seed),
                None => wire::truncate(bytes, keep),
            };
            streamed(&shared, api, chunks, delivery.after)
        }
        Answer::Raw(chunks, after) => streamed(&shared, api, chunks, after),
        Answer::Status { status, headers, body } => {
            let mut response = Response::builder().status(StatusCode::from_u16(status).expect("a status"));
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("a response")
        }
        Answer::Silence => std::future::pending().await,
    }
}

fn streamed(shared: &Arc<Shared>, api: Api, chunks: Vec<Vec<u8>>, after: After) -> Response {
    let chunks = stream::iter(chunks.into_iter().map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk))))
        .then(|chunk| async {
            // Gives every chunk a packet of its own.
            tokio::task::yield_now().await;
            chunk
        });
    let tick = || tokio::time::sleep(std::time::Duration::from_millis(10));
    let ping = match api {
        Api::OpenAi => ": still here\n\n",
        Api::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    };
    let end = match after {
        After::End => stream::empty().boxed(),
        After::Cut => stream::once(async {
            // What was written before goes out first.
            tokio::task::yield_now().await;
            Err(std::io::Error::other("cut"))
        })
        .boxed(),
        After::Stall => stream::pending().boxed(),
        After::Pings => stream::repeat(ping)
            .then(move |ping| async move {
                tick().await;
                Ok(Bytes::from_static(ping.as_bytes()))
            })
            .boxed(),
        After::Drip => stream::iter([":"])
            .chain(stream::repeat("x"))
            .then(move |byte| async move {
                tick().await;
                Ok(Bytes::from_static(byte.as_bytes()))
            })
            .boxed(),
    };
    let open = OpenBody::new(shared);
    let body = chunks.chain(end).inspect(move |_| {
        let _ = &open;
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(body))
        .expect("a response")
}
