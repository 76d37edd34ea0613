//! `/api/approvals`: the questions that wait for a person, and the answer.
//!
//! An answer is one of two words together with the hash of the plan that the person saw. Who decides is the token's
//! owner; what the body says about it is ignored. Only a person's token reaches [`answer`] at all.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use bytes::Bytes;

use crate::http::Shared;
use crate::http::access::Caller;
use crate::http::fault::Fault;
use crate::http::service::{Answer, AnswerError, AnswerWord};
use crate::http::tokens::TokenKind;
use crate::http::views::{AnswerRequest, AnsweredView, ApprovalView, ErrorView};
use crate::strict_json::{Fields, JsonError};

#[utoipa::path(get, path = "/api/approvals", tag = "approvals", responses((status = 200, body = Vec<ApprovalView>)))]
/// The approvals that wait, oldest first.
pub async fn list(State(shared): State<Arc<Shared>>) -> Result<Json<Vec<ApprovalView>>, Fault> {
    Ok(Json(shared.service.approvals().await?))
}

#[utoipa::path(
    post, path = "/api/approvals/{id}", tag = "approvals",
    params(("id" = String, Path, example = "01HOMELOOPAPPROVAL00000000")),
    request_body(content = AnswerRequest, examples(
        ("approve" = (value = json!({
            "v": 1,
            "plan_hash": "aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11",
            "decision": "approve",
        }))),
        ("deny" = (value = json!({
            "v": 1,
            "plan_hash": "aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11",
            "decision": "deny",
            "issued_at": "2026-11-29T18:02:11Z",
        }))),
    )),
    responses(
        (status = 200, body = AnsweredView),
        (status = 400, body = ErrorView, description = "Wrong in form, or dated more than 60 s from now"),
        (status = 403, body = ErrorView, description = "Not a person's token with the scope approve"),
        (status = 404, body = ErrorView, description = "No such approval"),
        (status = 409, body = ErrorView, description = "Wrong hash, already decided, or no longer valid"),
        (status = 410, body = ErrorView, description = "Expired"),
        (status = 429, body = ErrorView, description = "Too many wrong answers"),
    ),
)]
/// Approves or denies one approval. The decider is the token's owner.
pub async fn answer(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<AnsweredView>, Fault> {
    match caller.kind {
        TokenKind::Person => {}
        TokenKind::Agent | TokenKind::Mcp | TokenKind::Voice | TokenKind::Device => {
            return Err(AnswerError::Forbidden.into());
        }
    }
    let answer = read(id, &body)?;
    let approval_id = answer.approval_id.clone();
    let decided_by = caller.principal.name.clone();
    let verdict = shared.service.answer(answer, caller.principal).await?;
    Ok(Json(AnsweredView { approval_id, verdict, decided_by }))
}

fn read(id: String, body: &[u8]) -> Result<Answer, Fault> {
    let mut fields = Fields::parse(body)?;
    match fields.whole("v")? {
        Some(1) => {}
        Some(_) | None => return Err(JsonError::new("v", "expected 1").into()),
    }
    let named = fields.text("approval_id")?;
    let plan_hash = fields.required_text("plan_hash")?;
    let decision = match fields.required_text("decision")?.as_str() {
        "approve" => AnswerWord::Approve,
        "deny" => AnswerWord::Deny,
        _ => return Err(JsonError::new("decision", "expected approve or deny").into()),
    };
    let issued_at = fields.time("issued_at")?;
    // Known so that it is no error, and never looked at: the session says who decides.
    let _ = fields.value("decided_by");
    fields.end()?;
    if named.is_some_and(|named| named != id) {
        return Err(JsonError::new("approval_id", "names another approval than the path").into());
    }
    if plan_hash.len() != 64 || !plan_hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(JsonError::new("plan_hash", "expected 64 hexadecimal digits").into());
    }
    Ok(Answer { approval_id: id, plan_hash, decision, issued_at })
}
