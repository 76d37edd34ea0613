//! Every route of the server with what it needs, in one table. The router is built from it and from nothing else,
//! so a test that walks the table has seen every route.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, on};

use super::Shared;
use super::access::authorize;
use super::api::{approvals, commands, entities, events, grants, health, models, schedules, tasks};
use super::chat::{ollama, openai};
use super::fault::Fault;
use super::guard::guard;
use super::{mcp, openapi, page};
use crate::policy::{Channel, Scope};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody: it shows nothing of the home and changes nothing.
    Public,
    /// A token with this scope.
    Needs(Scope),
    /// This machine itself, or a token with this scope from elsewhere: figures without names, for a scraper.
    LocalOr(Scope),
}

/// One row of the table.
pub struct Route {
    pub method: Method,
    /// As axum has it: `{id}` stands for one segment.
    pub path: &'static str,
    pub access: Access,
    /// The channel under which policy sees what comes in here.
    pub channel: Channel,
    handler: MethodRouter<Arc<Shared>>,
}

const READ: Access = Access::Needs(Scope::Read);
const COMMAND: Access = Access::Needs(Scope::Command);
const APPROVE: Access = Access::Needs(Scope::Approve);
const ADMIN: Access = Access::Needs(Scope::Admin);

/// The table.
#[rustfmt::skip]
pub fn table() -> Vec<Route> {
    let (http, chat) = (Channel::Http, Channel::Chat);
    vec![
        row(Method::GET, "/", Access::Public, http, on(MethodFilter::GET, page::html)),
        row(Method::GET, "/page.js", Access::Public, http, on(MethodFilter::GET, page::script)),
        row(Method::GET, "/page.css", Access::Public, http, on(MethodFilter::GET, page::style)),
        row(Method::GET, "/openapi.json", Access::Public, http, on(MethodFilter::GET, openapi::document)),
        row(Method::GET, "/healthz", Access::Public, http, on(MethodFilter::GET, health::alive)),
        row(Method::GET, "/readyz", Access::Public, http, on(MethodFilter::GET, health::ready)),
        row(Method::GET, "/metrics", Access::LocalOr(Scope::Read), http, on(MethodFilter::GET, health::metrics)),
        row(Method::POST, "/api/commands", COMMAND, http, on(MethodFilter::POST, commands::submit)),
        row(Method::GET, "/api/tasks", READ, http, on(MethodFilter::GET, tasks::list)),
        row(Method::GET, "/api/tasks/{id}", READ, http, on(MethodFilter::GET, tasks::one)),
        row(Method::POST, "/api/stop", COMMAND, http, on(MethodFilter::POST, tasks::stop)),
        row(Method::GET, "/api/entities", READ, http, on(MethodFilter::GET, entities::list)),
        row(Method::GET, "/api/entities/{id}", READ, http, on(MethodFilter::GET, entities::one)),
        row(Method::GET, "/api/entities/{id}/why", READ, http, on(MethodFilter::GET, entities::why)),
        row(Method::POST, "/api/entities/{id}/accept", APPROVE, http, on(MethodFilter::POST, entities::accept)),
        row(Method::GET, "/api/discovery", READ, http, on(MethodFilter::GET, entities::discovery)),
        row(Method::GET, "/api/approvals", READ, http, on(MethodFilter::GET, approvals::list)),
        row(Method::POST, "/api/approvals/{id}", APPROVE, http, on(MethodFilter::POST, approvals::answer)),
        row(Method::GET, "/api/grants", READ, http, on(MethodFilter::GET, grants::list)),
        row(Method::POST, "/api/grants", ADMIN, http, on(MethodFilter::POST, grants::give)),
        row(Method::DELETE, "/api/grants/{id}", ADMIN, http, on(MethodFilter::DELETE, grants::revoke)),
        row(Method::GET, "/api/schedules", READ, http, on(MethodFilter::GET, schedules::list)),
        row(Method::DELETE, "/api/schedules/{id}", COMMAND, http, on(MethodFilter::DELETE, schedules::cancel)),
        row(Method::POST, "/api/schedules/{id}/restore", COMMAND, http, on(MethodFilter::POST, schedules::restore)),
        row(Method::GET, "/api/models", READ, http, on(MethodFilter::GET, models::list)),
        row(Method::GET, "/api/events", READ, http, on(MethodFilter::GET, events::all)),
        row(Method::GET, "/v1/models", READ, chat, on(MethodFilter::GET, openai::models)),
        row(Method::POST, "/v1/chat/completions", COMMAND, chat, on(MethodFilter::POST, openai::completions)),
        row(Method::GET, "/api/version", READ, chat, on(MethodFilter::GET, ollama::version)),
        row(Method::GET, "/api/tags", READ, chat, on(MethodFilter::GET, ollama::tags)),
        row(Method::POST, "/api/chat", COMMAND, chat, on(MethodFilter::POST, ollama::chat)),
        row(Method::POST, "/mcp", COMMAND, Channel::Mcp, on(MethodFilter::POST, mcp::handle)),
    ]
}

fn row(
    method: Method,
    path: &'static str,
    access: Access,
    channel: Channel,
    handler: MethodRouter<Arc<Shared>>,
) -> Route {
    Route { method, path, access, channel, handler }
}

/// The router: the table, each row behind its access, all behind the guard.
pub fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for Route { path, access, channel, handler, .. } in table() {
        let inner = Arc::clone(&shared);
        let layer = from_fn(move |request: Request, next: Next| {
            authorize(Arc::clone(&inner), access, channel, request, next)
        });
        router = router.route(path, handler.route_layer(layer));
    }
    router
        .fallback(|| async { Fault::not_found("there is nothing here") })
        .method_not_allowed_fallback(|| async {
            Fault::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this path takes other methods; see the Allow header",
            )
        })
        .layer(from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}
