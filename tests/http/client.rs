//! A client that sends exactly the bytes that a test wants, also those that no library would send.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Waiting longer than this for anything means that the test has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { dechunk(body) } else { body.to_owned() };
        Self { status, head: head.to_owned(), body }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The word for programs in an answer that is no success.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or("").to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

fn dechunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

/// Sends `bytes` and reads until the server closes.
pub async fn raw(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Response {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(bytes.as_ref()).await;
    Response::parse(&read_all(&mut stream).await)
}

/// As [`raw`], from another address of the loopback network.
pub async fn raw_from(from: &str, address: SocketAddr, bytes: impl AsRef<[u8]>) -> Response {
    let mut stream = connect_from(from, address).await;
    let _ = stream.write_all(bytes.as_ref()).await;
    Response::parse(&read_all(&mut stream).await)
}

pub async fn connect_from(from: &str, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    socket.connect(address).await.unwrap()
}

/// Reads until the peer closes or resets.
pub async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        match tokio::time::timeout(PATIENCE, stream.read(&mut part)).await {
            Ok(Ok(0) | Err(_)) => return bytes,
            Ok(Ok(count)) => bytes.extend_from_slice(&part[..count]),
            Err(_) => panic!("the server did not close; so far: {}", String::from_utf8_lossy(&bytes)),
        }
    }
}

/// Reads until `word` has come.
pub async fn read_until(stream: &mut (impl AsyncRead + Unpin), word: &str) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.contains(word) {
            return text;
        }
        match tokio::time::timeout(PATIENCE, stream.read(&mut part)).await {
            Ok(Ok(count)) if count > 0 => bytes.extend_from_slice(&part[..count]),
            other => panic!("{word:?} did not come ({other:?}); so far: {text}"),
        }
    }
}

/// A request as text. `headers` are lines without their ends.
pub fn request(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}
