//! `/api/models`: which language models there are, whether they are asked, and what they have cost.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::http::Shared;
use crate::http::fault::Fault;
use crate::http::views::ModelsView;

#[utoipa::path(get, path = "/api/models", tag = "supervision", responses((status = 200, body = ModelsView)))]
/// The chain of language models with the state of each, and the money that is spent and left.
pub async fn list(State(shared): State<Arc<Shared>>) -> Result<Json<ModelsView>, Fault> {
    Ok(Json(shared.service.models().await?))
}
