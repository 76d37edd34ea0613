//! The way to Home Assistant: a WebSocket over TCP, or over TLS where the address says `wss`. Certificates are always
//! checked.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::connection::{HassSettings, Problem};
use super::protocol::MAX_MESSAGE;
use crate::trust;

/// Bytes both ways, encrypted or not.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

pub type Socket = WebSocketStream<Box<dyn Bytes>>;

/// Connects. The caller bounds the time.
pub async fn connect(settings: &HassSettings) -> Result<Socket, Problem> {
    let unreachable = |error: &dyn std::fmt::Display| Problem::Unreachable(error.to_string());
    let request = settings.url.as_str().into_client_request().map_err(|error| unreachable(&error))?;
    let secure = request.uri().scheme_str() == Some("wss");
    let host = request.uri().host().unwrap_or_default();
    // An address of IPv6 stands in brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = request.uri().port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|error| unreachable(&error))?;
    // Small messages in a row must not wait for each other.
    stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
    let bytes: Box<dyn Bytes> = if secure {
        Box::new(encrypted(settings, &host, stream).await.map_err(|error| Problem::Tls(error.to_string()))?)
    } else {
        Box::new(stream)
    };
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    let (socket, _) =
        client_async_with_config(request, bytes, Some(config)).await.map_err(|error| unreachable(&error))?;
    Ok(socket)
}

async fn encrypted(
    settings: &HassSettings,
    host: &str,
    stream: TcpStream,
) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let roots = trust::roots(settings.ca_file.as_deref()).map_err(io::Error::other)?;
    let config =
        trust::client().map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
