//! The HTTP server: REST and server-sent events, the page, and endpoints that other programs already speak.
//!
//! A request passes `server` (connections, time-outs), `guard` (Host, Origin, headers of every answer), the one
//! table of routes in `routes`, `access` (token, scope, body) and then its handler. Handlers translate between JSON
//! and the [`service::Service`] that the daemon implements; they decide nothing. Nothing here sends to a device,
//! and nothing here can approve: an answer to an approval is handed to the service with the credential that gave it.

pub mod access;
pub mod api;
mod attempts;
pub mod chat;
mod disconnect;
pub mod fault;
pub mod guard;
pub mod mcp;
pub mod openapi;
pub mod page;
pub mod routes;
pub mod server;
pub mod service;
mod sse;
mod stall;
pub mod tls;
pub mod tokens;
pub mod views;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use attempts::FailedAttempts;
use service::{Service, ToolHost};
use tokens::TokenStore;

pub use server::{BindError, check_bind, serve};

/// How the server behaves. Where it listens is the caller's matter: it brings the socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpSettings {
    pub limits: Limits,
    /// Names besides `localhost` and the addresses of this machine under which clients reach the server.
    pub allowed_hosts: Vec<String>,
    /// Foreign origins (`https://dash.example`) whose pages may use the API. They still need a token.
    pub allowed_origins: Vec<String>,
    /// Address of the page as people reach it (`https://home.example`), for links; else that of the request.
    pub public_url: Option<String>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether a task is stopped when its client goes away before the result, where the request does not say.
    pub cancel_on_disconnect: bool,
}

/// Bounds on what one client can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// For a TLS handshake, for the head of a request, and between two requests of a connection.
    pub header_time: Duration,
    pub header_bytes: usize,
    pub header_fields: usize,
    pub body_time: Duration,
    pub body_bytes: usize,
    /// For a client that does not read what it is sent.
    pub write_time: Duration,
    pub connections: usize,
    pub connections_per_address: usize,
    /// Between two signs of life on a quiet stream.
    pub heartbeat: Duration,
    /// For the requests in flight once the server is told to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_time: Duration::from_secs(10),
            header_bytes: 16 * 1024,
            header_fields: 64,
            body_time: Duration::from_secs(15),
            body_bytes: 64 * 1024,
            write_time: Duration::from_secs(30),
            connections: 256,
            connections_per_address: 32,
            heartbeat: Duration::from_secs(15),
            drain: Duration::from_secs(10),
        }
    }
}

/// Everything that the handlers share.
pub struct Shared {
    pub settings: HttpSettings,
    pub service: Arc<dyn Service>,
    pub tokens: Arc<TokenStore>,
    pub clock: Clock,
    /// Tools for other agents; without them `/mcp` does not exist.
    mcp: Option<mcp::McpService>,
    attempts: FailedAttempts,
    /// Cancelled when the server is told to stop: endless streams end then.
    closing: CancellationToken,
}

impl Shared {
    pub fn new(
        settings: HttpSettings,
        service: Arc<dyn Service>,
        tokens: Arc<TokenStore>,
        tools: Option<Arc<dyn ToolHost>>,
        clock: Clock,
    ) -> Self {
        let attempts = FailedAttempts::new(clock.clone());
        let (public_url, body_bytes) = (settings.public_url.clone(), settings.limits.body_bytes);
        let mcp = tools.map(|tools| mcp::service(tools, public_url, body_bytes));
        Self { settings, service, tokens, clock, mcp, attempts, closing: CancellationToken::new() }
    }
}
