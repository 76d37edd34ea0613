//! `GET /api/events`: everything that happens, from now on, as server-sent events.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::StreamExt;

use crate::http::service::LiveEvent;
use crate::http::{Shared, sse};

#[utoipa::path(
    get, path = "/api/events", tag = "house",
    responses((status = 200, content_type = "text/event-stream", body = String)),
)]
/// Everything that happens, from now on, as server-sent events.
///
/// `task` (one event of a task), `approval` (asked, or ended with its `verdict`), `state` (an entity),
/// `announcement` (what became of one), and `lost`
/// (how many were missed by a slow reader, who then reads the lists again).
pub async fn all(State(shared): State<Arc<Shared>>) -> Response {
    sse::respond_until_closing(&shared, shared.service.events().map(|event| write(&event)))
}

fn write(event: &LiveEvent) -> Event {
    match event {
        LiveEvent::Task(event) => sse::event("task", event),
        LiveEvent::Approval { approval, verdict } => {
            sse::event("approval", &serde_json::json!({"approval": approval, "verdict": verdict}))
        }
        LiveEvent::State(entity) => sse::event("state", entity),
        LiveEvent::Announcement(announcement) => sse::event("announcement", announcement),
        LiveEvent::Lost(count) => sse::event("lost", &serde_json::json!({"count": count})),
    }
}
