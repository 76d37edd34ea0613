//! `/healthz`, `/readyz` and `/metrics`, for whoever supervises the daemon.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use crate::http::Shared;
use crate::http::views::ReadyView;

#[utoipa::path(get, path = "/healthz", tag = "supervision", security(()), responses((status = 200)))]
/// The process answers.
pub async fn alive() -> impl IntoResponse {
    Json(json!({"alive": true}))
}

#[utoipa::path(
    get, path = "/readyz", tag = "supervision", security(()),
    responses((status = 200, body = ReadyView), (status = 503, body = ReadyView)),
)]
/// 200 when commands can be served, else 503 with reasons as short words.
pub async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let health = shared.service.health();
    let status = if health.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(ReadyView { ready: health.ready, reasons: health.reasons }))
}

#[utoipa::path(
    get, path = "/metrics", tag = "supervision",
    responses((status = 200, content_type = "application/openmetrics-text", body = String)),
)]
/// Metrics for Prometheus, in the OpenMetrics text format.
pub async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], shared.service.metrics())
}
