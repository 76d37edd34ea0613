//! `/api/entities`: what the house is, and its state.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::service::EntityFilter;
use crate::http::tokens::TokenKind;
use crate::http::views::{DiscoveryView, EntityView, ErrorView, WhyView};

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

#[utoipa::path(
    get, path = "/api/entities/{id}/why", tag = "house",
    params(("id" = String, Path, example = "light.kitchen_ceiling")),
    responses((status = 200, body = WhyView), (status = 404, body = ErrorView)),
)]
/// Why an entity is what it is.
///
/// Its announcement, topics and templates, its last message, why it is available or not, and what policy says about
/// each of its actions. Where there is no such entity, the message tells of a refused announcement that may be it.
pub async fn why(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<Json<WhyView>, Fault> {
    shared.service.why(&id).map(Json).map_err(Fault::not_found)
}

#[utoipa::path(
    post, path = "/api/entities/{id}/accept", tag = "house",
    params(("id" = String, Path, example = "cover.garage_door")),
    responses(
        (status = 204, description = "Accepted"),
        (status = 403, body = ErrorView, description = "Not a person's token with the scope approve"),
        (status = 404, body = ErrorView, description = "Nothing to accept"),
    ),
)]
/// Accept what an announced entity has become; until then it only reports.
pub async fn accept(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    match caller.kind {
        TokenKind::Person => {}
        TokenKind::Agent | TokenKind::Mcp | TokenKind::Voice | TokenKind::Device => {
            return Err(Fault::forbidden("only a person may accept an entity"));
        }
    }
    if shared.service.accept(&id, caller.principal) {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Fault::not_found("no entity with this id waits to be accepted"))
    }
}

#[utoipa::path(get, path = "/api/discovery", tag = "house", responses((status = 200, body = DiscoveryView)))]
/// Announcements that wait for a person or were not accepted.
pub async fn discovery(State(shared): State<Arc<Shared>>) -> Json<DiscoveryView> {
    Json(shared.service.discovery())
}
