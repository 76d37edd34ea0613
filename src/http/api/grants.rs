//! `/api/grants`: leave that the owner gives in advance, on the machine itself.
//!
//! "Until 18:00 the cleaner may open the side door." A grant lowers what would be asked for one principal, one entity
//! and some verbs until its end; it never lifts a limit, a rule or what is forbidden. It is given by a person's token
//! with the scope admin over a loopback connection, and by nothing else.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use bytes::Bytes;

use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::guard::Client;
use crate::http::service::{GrantError, NewGrant};
use crate::http::tokens::TokenKind;
use crate::http::views::{ErrorView, GrantRequest, GrantView};
use crate::policy::{Channel, Principal};
use crate::strict_json::{Fields, JsonError};

#[utoipa::path(get, path = "/api/grants", tag = "grants", responses((status = 200, body = Vec<GrantView>)))]
/// The grants that have not ended.
pub async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<GrantView>> {
    Json(shared.service.grants())
}

#[utoipa::path(
    post, path = "/api/grants", tag = "grants",
    request_body(content = GrantRequest, examples(
        ("the cleaner" = (value = json!({
            "entity": "lock.side_door", "verbs": ["unlock"], "principal": "token:cleaner",
            "until": "2026-11-30T18:00:00Z", "reason": "cleans on Mondays",
        }))),
    )),
    responses(
        (status = 201, body = GrantView),
        (status = 400, body = ErrorView, description = "Wrong in form, unknown entity or verb, or too long"),
        (status = 403, body = ErrorView, description = "Not from this machine, or not a person's token"),
    ),
)]
/// Gives leave in advance. Needs scope admin and a loopback connection.
pub async fn give(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<GrantView>), Fault> {
    let by = local(caller, client, &headers)?;
    let grant = read(&body)?;
    Ok((StatusCode::CREATED, Json(shared.service.give_grant(grant, by).await?)))
}

#[utoipa::path(
    delete, path = "/api/grants/{id}", tag = "grants", params(("id" = String, Path, example = "01HOMELOOPGRANT")),
    responses((status = 204, description = "Taken back"), (status = 404, body = ErrorView)),
)]
/// Takes leave back, at once. Needs scope admin.
pub async fn revoke(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    shared.service.revoke_grant(&id, caller.principal).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The local principal behind a request; a connection from elsewhere, or through a proxy, is none.
fn local(caller: Caller, client: Client, headers: &HeaderMap) -> Result<Principal, Fault> {
    let person = match caller.kind {
        TokenKind::Person => true,
        TokenKind::Agent | TokenKind::Mcp | TokenKind::Voice | TokenKind::Device => false,
    };
    let forwarded = headers.contains_key("x-forwarded-for") || headers.contains_key("forwarded");
    if person && client.0.to_canonical().is_loopback() && !forwarded {
        Ok(Principal { channel: Channel::Local, ..caller.principal })
    } else {
        Err(GrantError::NotLocal.into())
    }
}

fn read(body: &[u8]) -> Result<NewGrant, Fault> {
    let mut fields = Fields::parse(body)?;
    let grant = NewGrant {
        entity: fields.required_text("entity")?,
        verbs: verbs(&mut fields)?,
        principal: fields.required_text("principal")?,
        from: fields.time("from")?,
        until: fields.time("until")?.ok_or_else(|| JsonError::new("until", "expected a time"))?,
        reason: fields.required_text("reason")?,
    };
    fields.end()?;
    for (name, text, most) in [("principal", &grant.principal, 128), ("reason", &grant.reason, 200)] {
        let length = text.trim().chars().count();
        if length == 0 || length > most || text.chars().any(char::is_control) {
            let expected = format!("expected 1 to {most} characters without control characters");
            return Err(JsonError::new(name, expected).into());
        }
    }
    Ok(grant)
}

fn verbs(fields: &mut Fields) -> Result<Vec<String>, Fault> {
    let wrong = || JsonError::new("verbs", "expected a list of verbs, such as [\"unlock\"]");
    let value = fields.value("verbs").ok_or_else(wrong)?;
    let list = value.as_array().ok_or_else(wrong)?;
    list.iter().map(|verb| verb.as_str().map(str::to_owned).ok_or_else(|| wrong().into())).collect()
}
