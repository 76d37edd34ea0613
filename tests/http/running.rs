//! A server on a port of its own, with tokens of every kind, that stops when the test ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::http::tokens::{TokenKind, TokenStore};
use homeloop::http::{HttpSettings, Limits, Shared, serve};
use homeloop::policy::Scope;
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::client::{Response, raw, request};
use crate::fake::{Fake, FakeTools, fake};

pub struct Running {
    pub address: SocketAddr,
    pub fake: Arc<Fake>,
    pub tools: Arc<FakeTools>,
    pub tokens: Arc<TokenStore>,
    /// The owner's token: read, command, approve.
    pub owner: String,
    pub directory: tempfile::TempDir,
    pub stop: Option<oneshot::Sender<()>>,
    pub server: JoinHandle<()>,
}

impl Running {
    pub async fn start() -> Self {
        Self::with(HttpSettings::default()).await
    }

    /// Limits as they are, except what `change` changes.
    pub async fn limited(change: impl FnOnce(&mut Limits)) -> Self {
        let mut settings = HttpSettings::default();
        change(&mut settings.limits);
        Self::with(settings).await
    }

    pub async fn with(settings: HttpSettings) -> Self {
        Self::with_tls(settings, None).await
    }

    pub async fn with_tls(settings: HttpSettings, tls: Option<TlsAcceptor>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let (tokens, first) = TokenStore::open(directory.path(), clock.clone()).unwrap();
        let owner = std::fs::read_to_string(first.unwrap()).unwrap().trim().to_owned();
        let (tokens, fake, tools) = (Arc::new(tokens), fake(), Arc::new(FakeTools::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::new(settings, fake.clone(), tokens.clone(), Some(tools.clone()), clock);
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = stopped.await;
        };
        let server = tokio::spawn(serve(listener, tls, shutdown, Arc::new(shared)));
        Self { address, fake, tools, tokens, owner, directory, stop: Some(stop), server }
    }

    pub fn token(&self, name: &str, kind: TokenKind, scopes: &[Scope]) -> String {
        self.tokens.create(name, kind, scopes.to_vec()).unwrap().expose_secret().to_owned()
    }

    pub async fn get(&self, path: &str) -> Response {
        self.get_as(&self.owner, path).await
    }

    pub async fn get_as(&self, token: &str, path: &str) -> Response {
        raw(self.address, request("GET", path, &[&bearer(token)], "")).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Response {
        self.post_as(&self.owner, path, body).await
    }

    pub async fn post_as(&self, token: &str, path: &str, body: &str) -> Response {
        raw(self.address, request("POST", path, &[&bearer(token), JSON], body)).await
    }
}

pub const JSON: &str = "Content-Type: application/json";

pub fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// Short times, so that a test of a time-out does not take long.
pub fn short(limits: &mut Limits) {
    limits.header_time = Duration::from_millis(300);
    limits.body_time = Duration::from_millis(300);
}
