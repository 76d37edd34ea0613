//! `/api/entities`: what the house is, and its state.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::Shared;
use crate::http::fault::Fault;
use crate::http::service::EntityFilter;
use crate::http::views::{EntityView, ErrorView};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Area id.
    #[param(example = "kitchen")]
    area: Option<String>,
    /// Domain, as in Home Assistant.
    #[param(example = "light")]
    domain: Option<String>,
}

#[utoipa::path(
    get, path = "/api/entities", tag = "house", params(ListQuery),
    responses((status = 200, body = Vec<EntityView>), (status = 400, body = ErrorView)),
)]
/// All entities, or those of an `area` or `domain`, in the order of their ids.
pub async fn list(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Vec<EntityView>>, Fault> {
    let Query(query) = query.map_err(|error| Fault::bad_request(error.body_text()))?;
    let filter = EntityFilter { area: query.area, domain: query.domain };
    Ok(Json(shared.service.entities(&filter)))
}

#[utoipa::path(
    get, path = "/api/entities/{id}", tag = "house", params(("id" = String, Path, example = "light.kitchen_ceiling")),
    responses((status = 200, body = EntityView), (status = 404, body = ErrorView)),
)]
/// One entity with its state and what can be done with it.
pub async fn one(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> Result<Json<EntityView>, Fault> {
    shared.service.entity(&id).map(Json).ok_or_else(|| Fault::not_found("no such entity"))
}
