//! `/api/entities`: what the house is, and its state.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

use crate::http::Shared;
use crate::http::fault::Fault;
use crate::http::service::EntityFilter;
use crate::http::views::EntityView;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    area: Option<String>,
    domain: Option<String>,
}

/// All entities, or those of an `area` or `domain`, in the order of their ids.
pub async fn list(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Vec<EntityView>>, Fault> {
    let Query(query) = query.map_err(|error| Fault::bad_request(error.body_text()))?;
    let filter = EntityFilter { area: query.area, domain: query.domain };
    Ok(Json(shared.service.entities(&filter)))
}

/// One entity.
pub async fn one(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> Result<Json<EntityView>, Fault> {
    shared.service.entity(&id).map(Json).ok_or_else(|| Fault::not_found("no such entity"))
}
