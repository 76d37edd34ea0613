//! `/api/tasks` and `/api/stop`.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::named;
use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::service::StopTarget;
use crate::http::views::TaskView;
use crate::strict_json::Fields;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    limit: Option<usize>,
}

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

/// One task with all its events.
pub async fn one(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<Json<TaskView>, Fault> {
    match shared.service.task(&id).await? {
        Some(task) => Ok(Json(task)),
        None => Err(Fault::not_found("no such task")),
    }
}

/// What was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoppedView {
    /// Ids of the tasks that were stopped.
    pub stopped: Vec<String>,
}

/// Stops one task, or all with `{}`.
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
