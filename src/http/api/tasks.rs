//! `/api/tasks` and `/api/stop`.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use bytes::Bytes;
use serde::Deserialize;
use utoipa::IntoParams;

use super::named;
use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::service::StopTarget;
use crate::http::views::{ErrorView, StopRequest, StoppedView, TaskView};
use crate::strict_json::Fields;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// 1 to 100; 20 where missing.
    #[param(minimum = 1, maximum = 100, example = 5)]
    limit: Option<usize>,
}

#[utoipa::path(
    get, path = "/api/tasks", tag = "commands", params(ListQuery),
    responses((status = 200, body = Vec<TaskView>), (status = 400, body = ErrorView)),
)]
/// The newest tasks, newest first: 20, or `limit` (1 to 100).
pub async fn list(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Vec<TaskView>>, Fault> {
    let Query(query) = query.map_err(|error| Fault::bad_request(error.body_text()))?;
    match query.limit.unwrap_or(20) {
        limit @ 1..=100 => Ok(Json(shared.service.tasks(limit).await?)),
        limit => Err(Fault::bad_request(format!("limit is {limit}; expected 1 to 100"))),
    }
}

#[utoipa::path(
    get, path = "/api/tasks/{id}", tag = "commands", params(("id" = String, Path, example = "task-1")),
    responses((status = 200, body = TaskView), (status = 404, body = ErrorView)),
)]
/// One task with all its events.
pub async fn one(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<Json<TaskView>, Fault> {
    match shared.service.task(&id).await? {
        Some(task) => Ok(Json(task)),
        None => Err(Fault::not_found("no such task")),
    }
}

#[utoipa::path(
    post, path = "/api/stop", tag = "commands",
    request_body(content = StopRequest, examples(
        ("everything" = (value = json!({}))),
        ("one task" = (value = json!({"task_id": "task-1"}))),
    )),
    responses((status = 200, body = StoppedView), (status = 404, body = ErrorView)),
)]
/// Stops one task, or all with `{}`, and the movers that they started. Needs no model.
pub async fn stop(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<StoppedView>, Fault> {
    let mut fields = Fields::parse(&body)?;
    let task = named("task_id", fields.text("task_id")?, 64)?;
    fields.end()?;
    let target = task.map_or(StopTarget::All, StopTarget::Task);
    let stopped = shared.service.stop(target, caller.principal).await?;
    Ok(Json(StoppedView { stopped }))
}
