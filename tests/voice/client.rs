//! A Wyoming client that writes what Home Assistant writes: a header line, a data block without a newline after it.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::common::soon;
use crate::house::House;

/// Settings of a demo with a Wyoming server on a free port.
pub const WYOMING: &str = "[voice.wyoming]\nenabled = true\nbind = \"127.0.0.1:0\"\n";

pub fn address(house: &House) -> SocketAddr {
    house.ready["wyoming"].as_str().expect("the Wyoming server").parse().expect("an address")
}

pub struct Client {
    reader: BufReader<tokio::net::tcp::OwnedReadHalf>,
    writer: tokio::net::tcp::OwnedWriteHalf,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        let (reader, writer) = TcpStream::connect(address).await.expect("it listens").into_split();
        Self { reader: BufReader::new(reader), writer }
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        // The server may have closed already: what it then answers is what the test looks at.
        let _ = self.writer.write_all(bytes).await;
    }

    /// Sends an event in the form of Home Assistant's library.
    pub async fn send(&mut self, kind: &str, data: &Value) {
        let data = data.to_string();
        let header = format!(
            "{{\"type\": \"{kind}\", \"version\": \"1.10.2\", \"data_length\": {}}}\n{data}",
            data.len()
        );
        self.write(header.as_bytes()).await;
    }

    /// The next event with its data; `None` when the server has closed the connection.
    pub async fn read(&mut self) -> Option<(String, Value)> {
        soon("an answer", async {
            let mut line = String::new();
            if self.reader.read_line(&mut line).await.unwrap_or(0) == 0 {
                return None;
            }
            let header: Map<String, Value> = serde_json::from_str(&line).expect("a header");
            let length = header.get("data_length").and_then(Value::as_u64).unwrap_or(0);
            let mut data = vec![0; usize::try_from(length).expect("a length")];
            self.reader.read_exact(&mut data).await.expect("the whole block");
            let data = if data.is_empty() { json!({}) } else { serde_json::from_slice(&data).expect("JSON") };
            Some((header["type"].as_str().expect("a type").to_owned(), data))
        })
        .await
    }
}

/// Says something on a connection of its own, as Home Assistant does, and returns the final event and its text.
pub async fn say(house: &House, text: &str, language: &str, context: Value) -> (String, String) {
    let mut client = Client::connect(address(house)).await;
    client.send("transcript", &json!({"text": text, "language": language, "context": context})).await;
    let (kind, data) = client.read().await.expect("a final event");
    (kind, data["text"].as_str().expect("a text").to_owned())
}
