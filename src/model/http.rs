//! One streamed request to a provider over HTTP: the client, the key, the time limits, and what its failures mean.
//!
//! It knows no wire format: a [`Reader`] turns events into deltas. It does not retry; `retry.rs` does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::prices::Meter;
use super::relay::{Sink, produce};
use super::settings::{KeySource, LimitSettings, ModelSettings};
use super::sse::{self, SseError, SseEvent};
use super::{Delta, ModelError, Wait};
use crate::clock::Clock;

mod client;
pub(super) mod failure;

/// Reads one answer in one wire format. Pure: events in, deltas out.
pub trait Reader: Send + 'static {
    /// Events that only keep the connection alive.
    fn is_ping(event: &SseEvent) -> bool;

    /// Takes one event. Deltas that it completes are appended to `out`, also before an error.
    fn take(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<Reading, ModelError>;

    /// There is nothing more to read. An error when the model had not said that it was done.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), ModelError>;

    /// True as soon as the model has said that it is done: a connection that fails after that does no harm.
    fn is_done(&self) -> bool;

    fn meter(&mut self) -> &mut Meter;
}

/// Whether an answer goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    More,
    Complete,
}

/// How the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// `x-api-key: …`
    Plain(&'static str),
}

/// How long more is waited for behind the end of an answer.
const LAST_WORDS_MS: u64 = 2_000;

/// What ends a request before its own limits do.
pub struct Until {
    pub begun: Instant,
    pub deadline: Option<Instant>,
    /// Nobody wants the answer any more.
    pub stop: CancellationToken,
}

impl Until {
    /// What comes of `wait`, unless it is stopped or takes beyond the earlier of `limit` and the deadline.
    async fn bound<T>(
        &self,
        wait: impl Future<Output = T>,
        limit: (Instant, Wait, Duration),
    ) -> Result<T, ModelError> {
        let (at, what, span) = limit;
        let (at, what, span) = match self.deadline {
            Some(deadline) if deadline < at => (deadline, Wait::Whole, deadline - self.begun),
            Some(_) | None => (at, what, span),
        };
        tokio::select! {
            () = self.stop.cancelled() => Err(ModelError::Cut("nobody wants the answer any more".to_owned())),
            ended = tokio::time::timeout_at(at, wait) => {
                ended.map_err(|_| ModelError::TimedOut { what, limit: span })
            }
        }
    }
}

/// Where requests of one model go.
pub(super) struct Endpoint {
    name: Arc<str>,
    settings: ModelSettings,
    url: String,
    key_header: KeyHeader,
    fixed_headers: &'static [(&'static str, &'static str)],
    /// Built at the first request: without certificate authorities it cannot be built, and that must not stop the start.
    client: OnceCell<reqwest::Client>,
    clock: Clock,
}

impl Endpoint {
    /// `path` is appended to the base URL.
    pub fn new(
        name: &str,
        settings: ModelSettings,
        path: &str,
        key_header: KeyHeader,
        fixed_headers: &'static [(&'static str, &'static str)],
        clock: Clock,
    ) -> Self {
        let url = format!("{}{path}", settings.base_url.trim_end_matches('/'));
        Self { name: name.into(), settings, url, key_header, fixed_headers, client: OnceCell::new(), clock }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Sends `body` and streams what the model says, as `reader` understands it.
    pub fn stream<R: Reader>(
        self: Arc<Self>,
        body: Vec<u8>,
        until: Until,
        mut reader: R,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        produce(move |out| async move {
            let request_bytes = body.len();
            let started = Instant::now();
            let limits = self.settings.limits;
            let answer = match self.send(body, started, &until).await {
                Ok(answer) => answer,
                Err(error) => {
                    // What was sent and not waited for is read all the same.
                    if matches!(error, ModelError::TimedOut { .. } | ModelError::Cut(_)) {
                        reader.meter().estimate_unreported(request_bytes, 0, false);
                        out.delta(Delta::Usage(reader.meter().take_new().unwrap_or_default())).await;
                    }
                    return Err(error);
                }
            };
            let mut events = Events::new(answer, started, limits, until, R::is_ping);
            let mut said_bytes = 0;
            let read = read_all(&mut events, &mut reader, &out, &mut said_bytes).await;
            // Also an attempt that failed or was stopped is paid for.
            let complete = reader.is_done();
            reader.meter().estimate_unreported(request_bytes, said_bytes, complete);
            if let Some(usage) = reader.meter().take_new() {
                out.delta(Delta::Usage(usage)).await;
            }
            for last in read? {
                out.delta(last).await;
            }
            Ok(())
        })
    }

    /// Sends the request and waits for the first byte of the answer's body.
    async fn send(&self, body: Vec<u8>, started: Instant, until: &Until) -> Result<BodyStream, ModelError> {
        let client = self.client.get_or_try_init(|| client::build(&self.settings)).await?;
        let key = match &self.settings.key {
            Some(source) => Some(source.read().await?),
            None => None,
        };
        let request = client.post(&self.url).headers(self.headers(key.as_ref())?).body(body);
        let limit = self.settings.limits.first_byte().min(self.settings.limits.total());
        let first_byte = async {
            let response = request.send().await.map_err(|error| failure::transport(&self.url, &error))?;
            if !response.status().is_success() {
                return Err(failure::status(response, key.as_ref(), self.clock.now()).await);
            }
            let mut body = Box::pin(response.bytes_stream());
            let first = body.next().await.transpose();
            let first = first.map_err(|error| ModelError::Cut(failure::root_cause(&error)))?;
            Ok((first, body))
        };
        let (first, rest) = until.bound(first_byte, (started + limit, Wait::FirstByte, limit)).await??;
        let rest = rest.map(|chunk| chunk.map_err(|error| failure::root_cause(&error)));
        Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
    }

    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in self.fixed_headers {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = key {
            let (name, value) = match self.key_header {
                KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.expose_secret())),
                KeyHeader::Plain(name) => (name, key.expose_secret().to_owned()),
            };
            headers.insert(name, sensitive(name, &value)?);
        }
        for (name, value) in &self.settings.headers {
            let parsed = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| ModelError::Misconfigured(format!("{name:?} is not a header name")))?;
            headers.insert(parsed, sensitive(name, value.expose_secret())?);
        }
        Ok(headers)
    }
}

fn sensitive(name: &str, value: &str) -> Result<HeaderValue, ModelError> {
    // The value is a secret: it is not part of the message.
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        ModelError::Misconfigured(format!("the value of {name} holds characters that a header cannot carry"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl KeySource {
    /// The key, without surrounding white space. The message of an error names the place, never the content.
    pub async fn read(&self) -> Result<SecretString, ModelError> {
        let (place, found) = match self {
            KeySource::Env(name) => {
                let found = std::env::var(name).map(SecretString::from).map_err(|error| error.to_string());
                (format!("environment variable {name}"), found)
            }
            KeySource::File(path) => (format!("file {}", path.display()), read_file(path.clone()).await),
            KeySource::Credential(name) => {
                let found = match std::env::var_os("CREDENTIALS_DIRECTORY") {
                    Some(dir) if !std::path::Path::new(&dir).join(name).is_file() => {
                        Err("the service manager gives no such credential".to_owned())
                    }
                    Some(_) => read_file(std::path::PathBuf::from(name)).await,
                    None => {
                        Err("CREDENTIALS_DIRECTORY is not set: add LoadCredential= to the unit".to_owned())
                    }
                };
                (format!("credential {name}"), found)
            }
        };
        match found {
            Ok(key) if key.expose_secret().trim().is_empty() => {
                Err(ModelError::Misconfigured(format!("the key in {place} is empty")))
            }
            Ok(key) => Ok(SecretString::from(key.expose_secret().trim().to_owned())),
            Err(reason) => Err(ModelError::Misconfigured(format!("no key in {place}: {reason}"))),
        }
    }
}

/// A secret that nobody else on the machine may read: what others can read is refused, as everywhere.
async fn read_file(path: std::path::PathBuf) -> Result<SecretString, String> {
    let read = tokio::task::spawn_blocking(move || crate::secret_file::read(&path)).await;
    read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Passes deltas on while the answer comes. What is returned stands at the very end, after usage: the reason to stop.
async fn read_all<R: Reader>(
    events: &mut Events,
    reader: &mut R,
    out: &Sink,
    said_bytes: &mut usize,
) -> Result<Vec<Delta>, ModelError> {
    let mut deltas = Vec::new();
    loop {
        if reader.is_done() {
            events.expect_the_end();
        }
        let reading = match events.next().await {
            Ok(Some(event)) => reader.take(&event, &mut deltas),
            Ok(None) => break,
            Err(_) if reader.is_done() => break,
            Err(error) => Err(error),
        };
        for delta in deltas.drain(..) {
            *said_bytes += size(&delta);
            out.delta(delta).await;
        }
        if let Some(usage) = reader.meter().take_new() {
            out.delta(Delta::Usage(usage)).await;
        }
        match reading? {
            Reading::More => {}
            Reading::Complete => break,
        }
    }
    reader.finish(&mut deltas)?;
    let end = deltas.iter().position(|delta| matches!(delta, Delta::End(_))).unwrap_or(deltas.len());
    let last = deltas.split_off(end);
    for delta in deltas {
        *said_bytes += size(&delta);
        out.delta(delta).await;
    }
    Ok(last)
}

/// Bytes that the model wrote.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) => text.len(),
        Delta::Call(call) => call.name.len() + call.arguments.len(),
        Delta::Model(_) | Delta::Usage(_) | Delta::End(_) => 0,
    }
}

type BodyStream = BoxStream<'static, Result<Bytes, String>>;

/// The events of one answer, under the time limits.
struct Events {
    inner: BoxStream<'static, Result<SseEvent, SseError>>,
    limits: LimitSettings,
    started: Instant,
    /// When the last event came that carried something.
    progress: Instant,
    until: Until,
    is_ping: fn(&SseEvent) -> bool,
}

impl Events {
    fn new(
        body: BodyStream,
        started: Instant,
        limits: LimitSettings,
        until: Until,
        is_ping: fn(&SseEvent) -> bool,
    ) -> Self {
        let inner = sse::events(body).boxed();
        Self { inner, limits, started, progress: Instant::now(), until, is_ping }
    }

    /// The model has said that it is done: usage may follow at once, and a connection that stays open is not waited for.
    fn expect_the_end(&mut self) {
        self.limits.event_idle_ms = self.limits.event_idle_ms.min(LAST_WORDS_MS);
    }

    /// The next event that carries something; `None` at a clean end.
    async fn next(&mut self) -> Result<Option<SseEvent>, ModelError> {
        let idle = self.limits.event_idle();
        let whole = self.limits.total();
        let limit = match self.progress + idle < self.started + whole {
            true => (self.progress + idle, Wait::Event, idle),
            false => (self.started + whole, Wait::Whole, whole),
        };
        loop {
            match self.until.bound(self.inner.next(), limit).await? {
                Some(Ok(event)) if (self.is_ping)(&event) => {}
                Some(Ok(event)) => {
                    self.progress = Instant::now();
                    return Ok(Some(event));
                }
                Some(Err(error)) => return Err(failure::of_stream(error)),
                None => return Ok(None),
            }
        }
    }
}
