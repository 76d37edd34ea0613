//! Connections: accepting, refusing, time-outs and the orderly end.
//!
//! A client can hold a connection only as long as it does something: the head of a request, its body, the reading
//! of an answer and the pause between two requests all have their time. What a request means is not known here.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::attempts::group;
use super::guard::Connection;
use super::routes::router;
use super::stall::StallGuard;
use super::{HttpSettings, Shared};

/// Refusals that may be under way at once; beyond them a connection is closed without a word.
const REFUSALS: usize = 64;

/// How often the tokens file is looked at: a revoked token is out, and its streams are closed, within 5 s.
const TOKENS_EVERY: Duration = Duration::from_secs(2);

/// Serves on `listener` until `shutdown` resolves, then lets the requests in flight end (`limits.drain`).
/// With `tls` every connection speaks TLS.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    shutdown: impl Future<Output = ()>,
    shared: Arc<Shared>,
) {
    let places = Places::new(&shared.settings);
    let server = Server { router: router(Arc::clone(&shared)), tls, shared };
    let tracker = TaskTracker::new();
    let tokens = Arc::clone(&server.shared.tokens);
    let follower = tokio::spawn(async move { tokens.follow(TOKENS_EVERY).await });
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match places.take(peer.ip()) {
                Some(place) => {
                    tracker.spawn(server.clone().connection(stream, peer, place));
                }
                None => places.refuse(stream),
            },
            Err(error) => {
                // Out of file descriptors, most likely: wait for some to come back instead of spinning.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    follower.abort();
    server.shared.closing.cancel();
    tracker.close();
    if tokio::time::timeout(server.shared.settings.limits.drain, tracker.wait()).await.is_err() {
        tracing::warn!(
            connections = tracker.len(),
            "connections are closed although their requests have not ended"
        );
    }
}

/// Why an address must not be listened on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    #[error(
        "{0} can be reached from the network and would carry tokens in plain text: set http.tls_cert and \
         http.tls_key, or http.insecure_lan = true where a proxy or a trusted network is meant"
    )]
    PlainNetwork(SocketAddr),
}

/// Whether the server may listen on `address`: beyond loopback only with TLS, or where the owner said so.
pub fn check_bind(address: SocketAddr, tls: bool, insecure_lan: bool) -> Result<(), BindError> {
    if address.ip().to_canonical().is_loopback() || tls {
        return Ok(());
    }
    if !insecure_lan {
        return Err(BindError::PlainNetwork(address));
    }
    tracing::warn!(%address, "HTTP without TLS can be reached from the network; tokens travel in plain text");
    Ok(())
}

#[derive(Clone)]
struct Server {
    router: Router,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
}

impl Server {
    async fn connection(self, stream: TcpStream, peer: SocketAddr, place: Place) {
        let Ok(local) = stream.local_addr() else { return };
        // Small answers and events must leave at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %peer, "TCP_NODELAY could not be set");
        }
        let ends = Connection { peer, local, tls: self.tls.is_some() };
        match &self.tls {
            None => self.http(stream, ends).await,
            Some(tls) => {
                let handshake = tls.accept(stream);
                match tokio::time::timeout(self.shared.settings.limits.header_time, handshake).await {
                    Ok(Ok(stream)) => self.http(stream, ends).await,
                    Ok(Err(error)) => tracing::debug!(%error, %peer, "no TLS"),
                    Err(_) => tracing::debug!(%peer, "the TLS handshake took too long"),
                }
            }
        }
        drop(place);
    }

    async fn http(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin, ends: Connection) {
        let limits = &self.shared.settings.limits;
        let router = self.router.clone().map_request(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ends);
            request
        });
        let stream = TokioIo::new(StallGuard::new(stream, limits.write_time));
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.header_time)
                .max_buf_size(limits.header_bytes)
                .max_headers(limits.header_fields)
                .serve_connection(stream, TowerToHyperService::new(router))
        );
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.shared.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, peer = %ends.peer, "a connection ended early");
        }
    }
}

/// Who may connect: so many at once, and so many from one address.
struct Places {
    all: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    per_address: usize,
    /// Many clients come through these.
    proxies: Vec<IpAddr>,
}

/// One connection's place, given back when it is dropped.
struct Place {
    _permit: OwnedSemaphorePermit,
    address: IpAddr,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Places {
    fn new(settings: &HttpSettings) -> Self {
        let limits = &settings.limits;
        Self {
            all: Arc::new(Semaphore::new(limits.connections)),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            by_address: Arc::default(),
            per_address: limits.connections_per_address,
            proxies: settings.trusted_proxies.clone(),
        }
    }

    fn take(&self, address: IpAddr) -> Option<Place> {
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let is_proxy = self.proxies.contains(&address.to_canonical());
        let address = group(address);
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = by_address.entry(address).or_default();
        if *count >= self.per_address && !is_proxy {
            return None;
        }
        *count += 1;
        Some(Place { _permit: permit, address, by_address: Arc::clone(&self.by_address) })
    }

    /// Says 503 and closes. What the client sent is read away for a moment, since closing over unread bytes would
    /// reset the connection before the client has seen the answer.
    fn refuse(&self, mut stream: TcpStream) {
        const BODY: &str = r#"{"error":{"code":"unavailable","message":"too many connections"}}"#;
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let answer = format!(
                "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 retry-after: 5\r\nconnection: close\r\n\r\n{BODY}",
                BODY.len()
            );
            let talk = async {
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await?;
                let mut rest = [0; 1024];
                while stream.read(&mut rest).await? > 0 {}
                io::Result::Ok(())
            };
            // Neither a slow nor a broken client is worth more than this second.
            let _ = tokio::time::timeout(Duration::from_secs(1), talk).await;
            drop(permit);
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}
