//! Server-sent events of an answer: bounded, and forgiving where providers are known to be careless.
//!
//! The parser is the `sse-stream` crate. Around it: an upper bound on what one event may take in memory, and a last
//! event that lacks its closing blank line is still read when the body ended cleanly. What an event means is not
//! known here. Format: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use sse_stream::SseStream;

/// Largest event in bytes, its field names included. A line of a megabyte is read, anything longer is refused.
pub const MAX_EVENT: usize = 1_100_000;

/// Largest answer in bytes.
pub const MAX_ANSWER: usize = 8 << 20;

/// One event that carries data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; empty where there is none.
    pub name: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// Why the rest of an answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// The connection ended before the body did.
    #[error("{0}")]
    Body(String),
    #[error("an event is longer than {MAX_EVENT} bytes")]
    EventTooLong,
    #[error("the answer is longer than {MAX_ANSWER} bytes")]
    AnswerTooLong,
    /// Not server-sent events: a line without a colon, an unknown field, bytes that are not UTF-8.
    #[error("not server-sent events: {0}")]
    NotEvents(String),
}

/// The events in `bytes`. Comments and events without data are left out: they are a sign of life of the connection,
/// not of the model. The first error is the last item: nothing after damage is trusted.
pub fn events<S, E>(bytes: S) -> impl Stream<Item = Result<SseEvent, SseError>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let unread = Arc::new(AtomicUsize::new(0));
    let failed = Arc::new(AtomicBool::new(false));
    let body = until_set(closed(count(bytes, Arc::clone(&unread))), Arc::clone(&failed));
    let parsed = SseStream::from_bytes_stream(body);
    stream::unfold((parsed, None), move |(mut parsed, mut error)| {
        let (unread, failed) = (Arc::clone(&unread), Arc::clone(&failed));
        async move {
            loop {
                let item = parsed.next().await;
                // What the parser hands over it no longer holds; what else it holds of the same chunk is small.
                unread.store(0, Ordering::Relaxed);
                match item {
                    Some(Ok(event)) => {
                        if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                            let event = SseEvent { name: event.event.unwrap_or_default(), data };
                            return Some((Ok(event), (parsed, error)));
                        }
                    }
                    // The parser tells of damage before it hands over the good events that stood in the same chunk:
                    // the error waits for them.
                    Some(Err(first)) => {
                        failed.store(true, Ordering::Relaxed);
                        error.get_or_insert(translate(first));
                    }
                    None => return error.take().map(|error| (Err(error), (parsed, None))),
                }
            }
        }
    })
}

/// Ends `bytes` as soon as `stop` is set, without waiting for more of them.
fn until_set<S>(bytes: S, stop: Arc<AtomicBool>) -> impl Stream<Item = Result<Bytes, SseError>> + Send + Unpin
where
    S: Stream<Item = Result<Bytes, SseError>> + Send + 'static,
{
    let mut bytes = Box::pin(bytes);
    stream::poll_fn(move |context| match stop.load(Ordering::Relaxed) {
        true => Poll::Ready(None),
        false => bytes.poll_next_unpin(context),
    })
}

/// Passes bytes on until an event, or the whole, becomes too long.
fn count<S, E>(bytes: S, unread: Arc<AtomicUsize>) -> impl Stream<Item = Result<Bytes, SseError>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let mut whole = 0_usize;
    bytes.map(move |chunk| {
        let chunk = chunk.map_err(|error| SseError::Body(error.to_string()))?;
        whole = whole.saturating_add(chunk.len());
        let held = unread.fetch_add(chunk.len(), Ordering::Relaxed).saturating_add(chunk.len());
        if whole > MAX_ANSWER {
            return Err(SseError::AnswerTooLong);
        }
        if held > MAX_EVENT {
            return Err(SseError::EventTooLong);
        }
        Ok(chunk)
    })
}

/// Adds the blank line that some servers forget before they close; a body that ended by an error gets none.
fn closed<S>(bytes: S) -> impl Stream<Item = Result<Bytes, SseError>> + Send
where
    S: Stream<Item = Result<Bytes, SseError>> + Send + 'static,
{
    let end = stream::once(std::future::ready(Ok(Bytes::from_static(b"\n\n"))));
    bytes.chain(end).scan(false, |failed, chunk| {
        let over = *failed;
        *failed = chunk.is_err();
        std::future::ready((!over).then_some(chunk))
    })
}

fn translate(error: sse_stream::Error) -> SseError {
    match error {
        sse_stream::Error::Body(inner) => match inner.downcast::<SseError>() {
            Ok(own) => *own,
            Err(other) => SseError::Body(other.to_string()),
        },
        other @ (sse_stream::Error::InvalidLine
        | sse_stream::Error::DuplicatedEventLine
        | sse_stream::Error::DuplicatedIdLine
        | sse_stream::Error::DuplicatedRetry
        | sse_stream::Error::Utf8Parse(_)
        | sse_stream::Error::IntParse(_)) => SseError::NotEvents(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: Vec<Result<Vec<u8>, &'static str>>) -> Vec<Result<SseEvent, SseError>> {
        let chunks = chunks.into_iter().map(|chunk| chunk.map(Bytes::from));
        futures_util::FutureExt::now_or_never(events(stream::iter(chunks)).collect::<Vec<_>>())
            .expect("nothing to wait for")
    }

    fn whole(bytes: &[u8]) -> Vec<Result<SseEvent, SseError>> {
        read(vec![Ok(bytes.to_vec())])
    }

    fn event(name: &str, data: &str) -> Result<SseEvent, SseError> {
        Ok(SseEvent { name: name.to_owned(), data: data.to_owned() })
    }

    #[test]
    fn careless_servers_are_read() {
        for (what, bytes, expected) in [
            ("plain", "data: a\n\ndata: b\n\n", vec![event("", "a"), event("", "b")]),
            (
                "carriage returns",
                "event: x\r\ndata: a\r\n\r\ndata: b\r\r",
                vec![event("x", "a"), event("", "b")],
            ),
            ("mixed ends", "data: a\r\n\ndata: b\n\r\n", vec![event("", "a"), event("", "b")]),
            ("byte order mark", "\u{feff}data: a\n\n", vec![event("", "a")]),
            ("no last blank line", "data: a\n\ndata: b\n", vec![event("", "a"), event("", "b")]),
            ("no last line end", "data: a", vec![event("", "a")]),
            ("comments and pings", ": wait\n\n:\n\nevent: ping\n\ndata: a\n\n", vec![event("", "a")]),
            ("two lines of data", "data: a\ndata: b\n\n", vec![event("", "a\nb")]),
            ("no space", "data:a\n\n", vec![event("", "a")]),
            ("nothing", "", vec![]),
        ] {
            assert_eq!(whole(bytes.as_bytes()), expected, "{what}");
        }
    }

    #[test]
    fn damage_ends_the_stream_with_one_error() {
        let html = whole(b"data: a\n\n<html>\n\ndata: b\n\n");
        assert_eq!(html.len(), 2, "{html:?}");
        assert!(matches!(html.last(), Some(Err(SseError::NotEvents(_)))));
        let not_utf8 = whole(b"data: a\xff\n\n");
        assert!(matches!(not_utf8.as_slice(), [Err(SseError::NotEvents(_))]), "{not_utf8:?}");
        let cut = read(vec![Ok(b"data: a\n\ndata: {\"half".to_vec()), Err("connection reset")]);
        assert_eq!(cut, vec![event("", "a"), Err(SseError::Body("connection reset".to_owned()))]);
    }

    #[test]
    fn memory_is_bounded() {
        let long = vec![b'x'; 1_000_000];
        let read_fine = read(vec![Ok(b"data: ".to_vec()), Ok(long.clone()), Ok(b"\n\n".to_vec())]);
        assert_eq!(read_fine.len(), 1);
        assert!(read_fine.iter().all(Result::is_ok), "a line of a megabyte is read");
        let endless = read((0..64).map(|_| Ok(long.clone())).collect());
        assert_eq!(endless, vec![Err(SseError::EventTooLong)]);
        let many = (0..20).map(|_| Ok([b"data: ".as_slice(), &long, b"\n\n"].concat())).collect();
        assert_eq!(read(many).last(), Some(&Err(SseError::AnswerTooLong)));
    }

    proptest! {
        /// The same bytes give the same events however the network cuts them.
        #[test]
        fn parsing_is_independent_of_chunking(
            lines in prop::collection::vec(
                prop_oneof![
                    Just("data: 灯已打开 é".to_owned()), Just("event: ping".to_owned()), Just(String::new()),
                    Just(": comment".to_owned()), Just("data: {\"a\":1}".to_owned()), Just("nonsense".to_owned()),
                    Just("data:".to_owned()), "data: [a-z]{0,20}",
                ],
                0..24,
            ),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 24),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes: Vec<u8> =
                lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_bytes(), end.as_bytes()].concat()).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(Ok(bytes[from..cut].to_vec()));
                from = cut;
            }
            prop_assert_eq!(read(chunks), whole(&bytes));
        }
    }
}
