//! `/api/schedules`: what will happen by itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};

use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::views::{ErrorView, ScheduleView};

#[utoipa::path(get, path = "/api/schedules", tag = "schedules", responses((status = 200, body = Vec<ScheduleView>)))]
/// All schedules.
pub async fn list(State(shared): State<Arc<Shared>>) -> Result<Json<Vec<ScheduleView>>, Fault> {
    Ok(Json(shared.service.schedules().await?))
}

#[utoipa::path(
    delete, path = "/api/schedules/{id}", tag = "schedules", params(("id" = String, Path, example = "lights")),
    responses(
        (status = 204, description = "Removed"),
        (status = 404, body = ErrorView),
        (status = 403, body = ErrorView, description = "It locks, arms or closes something: a person's token is needed"),
    ),
)]
/// Removes a schedule. One that locks, arms or closes something needs a token that may approve.
pub async fn cancel(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    shared.service.cancel_schedule(&id, caller.principal).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[utoipa::path(
    post, path = "/api/schedules/{id}/restore", tag = "schedules", params(("id" = String, Path, example = "lights")),
    responses(
        (status = 204, description = "It is active again"),
        (status = 403, body = ErrorView, description = "It was not removed, or its only time is over"),
        (status = 404, body = ErrorView),
    ),
)]
/// Takes back the removal of a schedule, within a day of it.
pub async fn restore(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    shared.service.restore_schedule(&id, caller.principal).await?;
    Ok(StatusCode::NO_CONTENT)
}
