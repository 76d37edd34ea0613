//! `/openapi.json`: the description of this API for programs. It holds nothing of the home, so anybody may read it.
//!
//! Every example in it is run by a test, and a test compares its paths with the table of routes.

use axum::Json;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::api::{approvals, commands, entities, events, grants, health, models, schedules, tasks};
use super::chat::{ollama, openai};
use super::{mcp, views};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "homeloop",
        description = "The API of a home agent daemon. Commands, tasks, approvals and the house itself. Every fault \
            has the shape of ErrorView; 401 and 403 may come from every path that needs a token."
    ),
    paths(
        commands::submit,
        tasks::list,
        tasks::one,
        tasks::stop,
        entities::list,
        entities::one,
        entities::why,
        entities::accept,
        entities::discovery,
        approvals::list,
        approvals::answer,
        grants::list,
        grants::give,
        grants::revoke,
        schedules::list,
        schedules::cancel,
        schedules::restore,
        models::list,
        events::all,
        health::alive,
        health::ready,
        health::metrics,
        openai::models,
        openai::completions,
        ollama::version,
        ollama::tags,
        ollama::chat,
        mcp::handle,
    ),
    components(schemas(views::TaskEvent)),
    modifiers(&Token),
    security(("token" = []))
)]
struct Description;

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

pub async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Description::openapi())
}
