//! Server-sent events: one named JSON event after another, with a sign of life when nothing happens.

use std::convert::Infallible;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use serde::Serialize;

use super::Shared;

/// One event. A value that cannot be written as JSON is a fault of ours and becomes an `error` event.
pub fn event(name: &'static str, data: &impl Serialize) -> Event {
    match serde_json::to_string(data) {
        Ok(text) => Event::default().event(name).data(text),
        Err(error) => {
            tracing::error!(%error, name, "an event could not be written as JSON");
            Event::default().event("error").data("{}")
        }
    }
}

/// Sends `events` until they end.
pub fn respond(shared: &Shared, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let alive = KeepAlive::new().interval(shared.settings.limits.heartbeat).text("heartbeat");
    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(alive).into_response()
}

/// Sends `events` until they end or the server is told to stop.
pub fn respond_until_closing(
    shared: &Shared,
    events: impl Stream<Item = Event> + Send + 'static,
) -> Response {
    respond(shared, events.take_until(shared.closing.clone().cancelled_owned()))
}
