//! Wyoming's framing: one line of JSON, then a block of JSON, then bytes, both with announced lengths.
//!
//! Source: the protocol as Home Assistant 2026.11 speaks it (`wyoming` 1.10). It has no limits of its own, so ours
//! are here. Unknown event types are read like any other; what they mean is the caller's.

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest header line, in bytes.
const MAX_LINE: u64 = 16 * 1024;
/// Longest data block, in bytes.
const MAX_DATA: u64 = 256 * 1024;
/// Longest payload of bytes (audio), in bytes.
const MAX_PAYLOAD: u64 = 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub kind: String,
    pub data: Map<String, Value>,
    pub payload: Vec<u8>,
}

impl Event {
    pub fn new(kind: &str, data: Value) -> Self {
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        Self { kind: kind.to_owned(), data, payload: Vec::new() }
    }

    /// A text member; JSON null counts as absent.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key).and_then(Value::as_str)
    }
}

/// Why an event could not be read. The connection is of no use after it.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    #[error("the header is not a JSON object with a type, of at most {MAX_LINE} bytes")]
    Header,
    #[error("the data block is not a JSON object: {0}")]
    Data(serde_json::Error),
    #[error("{what} of {bytes} bytes is announced; at most {limit} are taken")]
    TooLong { what: &'static str, bytes: u64, limit: u64 },
}

/// Reads one event; `None` at the end of the stream.
pub async fn read_event(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Event>, FrameError> {
    let mut line = Vec::new();
    let read = (&mut *reader).take(MAX_LINE).read_until(b'\n', &mut line).await?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(FrameError::Header);
    }
    let header: Map<String, Value> = serde_json::from_slice(&line).map_err(|_| FrameError::Header)?;
    let kind = header.get("type").and_then(Value::as_str).ok_or(FrameError::Header)?.to_owned();
    let mut data = match header.get("data") {
        Some(Value::Object(data)) => data.clone(),
        Some(_) | None => Map::new(),
    };
    let block = block(reader, &header, "data_length", "a data block", MAX_DATA).await?;
    if !block.is_empty() {
        let more: Map<String, Value> = serde_json::from_slice(&block).map_err(FrameError::Data)?;
        data.extend(more);
    }
    let payload = self::block(reader, &header, "payload_length", "a payload", MAX_PAYLOAD).await?;
    Ok(Some(Event { kind, data, payload }))
}

async fn block(
    reader: &mut (impl AsyncBufRead + Unpin),
    header: &Map<String, Value>,
    key: &str,
    what: &'static str,
    limit: u64,
) -> Result<Vec<u8>, FrameError> {
    let bytes = header.get(key).and_then(Value::as_u64).unwrap_or(0);
    if bytes > limit {
        return Err(FrameError::TooLong { what, bytes, limit });
    }
    let mut block = Vec::new();
    let read = (&mut *reader).take(bytes).read_to_end(&mut block).await?;
    if u64::try_from(read).unwrap_or(u64::MAX) < bytes {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    Ok(block)
}

/// Writes one event in one piece.
pub async fn write_event(writer: &mut (impl AsyncWrite + Unpin), event: &Event) -> std::io::Result<()> {
    let data = serde_json::to_vec(&event.data)?;
    let mut header =
        json!({"type": event.kind, "version": env!("CARGO_PKG_VERSION"), "data_length": data.len()});
    if !event.payload.is_empty() {
        header["payload_length"] = json!(event.payload.len());
    }
    let mut bytes = header.to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(&data);
    bytes.extend_from_slice(&event.payload);
    writer.write_all(&bytes).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Result<Option<Event>, FrameError> {
        read_event(&mut tokio::io::BufReader::new(bytes)).await
    }

    #[tokio::test]
    async fn events_go_both_ways_and_inline_data_is_overlaid() {
        let mut event = Event::new("audio-chunk", json!({"rate": 16000}));
        event.payload = vec![0, 1, 255];
        let mut bytes = Vec::new();
        write_event(&mut bytes, &event).await.unwrap();
        assert_eq!(read(&bytes).await.unwrap(), Some(event));
        let inline = b"{\"type\":\"x\",\"data\":{\"a\":1,\"b\":1},\"data_length\":7}\n{\"b\":2}";
        let read = read(inline).await.unwrap().unwrap();
        assert_eq!(Value::Object(read.data), json!({"a": 1, "b": 2}));
    }

    #[tokio::test]
    async fn bad_frames_are_refused_and_never_waited_for_in_memory() {
        assert!(matches!(read(b"").await, Ok(None)));
        for bad in [&b"not json\n"[..], b"{}\n", b"[]\n", b"{\"type\":\"x\"}"] {
            assert!(matches!(read(bad).await, Err(FrameError::Header)), "{bad:?}");
        }
        let long = b"{\"type\":\"x\",\"payload_length\":99999999999}\n";
        assert!(matches!(read(long).await, Err(FrameError::TooLong { .. })));
        let cut = b"{\"type\":\"x\",\"data_length\":10}\n{}";
        assert!(matches!(read(cut).await, Err(FrameError::Io(_))));
        assert!(matches!(read(&[b'a'; 20_000]).await, Err(FrameError::Header)));
    }
}
