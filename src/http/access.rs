//! The layer around every route that is not public: who is it, may they, and what did they send.
//!
//! It reads the token, checks the scope that the route's row asks for, reads the body within its limits, and ends
//! the answer's stream when the token is revoked meanwhile. Handlers find the [`Caller`] in the request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{self, HeaderMap};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use hyper::body::Frame;

use super::Shared;
use super::fault::Fault;
use super::guard::{Client, check_content_type};
use super::routes::Access;
use super::tokens::{Token, TokenKind};
use crate::policy::{Channel, Principal, Scope};

/// Query parameters that others use for tokens. A URL ends up in logs and histories, so a token in it is refused.
const TOKEN_PARAMETERS: [&str; 6] = ["token", "access_token", "auth", "api_key", "apikey", "key"];

/// Who sent a request, as the token says.
#[derive(Debug, Clone)]
pub struct Caller {
    pub principal: Principal,
    pub kind: TokenKind,
}

/// Lets a request through to its handler if `access` allows it.
pub async fn authorize(
    shared: Arc<Shared>,
    access: Access,
    channel: Channel,
    request: Request,
    next: Next,
) -> Response {
    let scope = match access {
        Access::Public => return next.run(request).await,
        Access::LocalOr(_) if is_local(&request) => return next.run(request).await,
        Access::Needs(scope) | Access::LocalOr(scope) => scope,
    };
    let token = match authenticate(&shared, &request) {
        Ok(token) => token,
        Err(fault) => return fault.into_response(),
    };
    if !token.scopes.contains(&scope) {
        return Fault::forbidden(format!("this token lacks the scope {scope:?}").to_lowercase())
            .into_response();
    }
    let caller = caller(&token, channel);
    let response = match with_body(&shared, request).await {
        Ok(mut request) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(fault) => {
            let mut response = fault.into_response();
            response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
            response
        }
    };
    until_revoked(shared, token, response)
}

/// Whether a request comes from this machine itself and presents no token. What a proxy on this machine passes on
/// comes from elsewhere.
fn is_local(request: &Request) -> bool {
    let local =
        request.extensions().get::<Client>().is_some_and(|client| client.0.to_canonical().is_loopback());
    let passed_on = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
    let headers = request.headers();
    local
        && !headers.contains_key(header::AUTHORIZATION)
        && !headers.contains_key(header::ORIGIN)
        && !passed_on.iter().any(|name| headers.contains_key(*name))
}

fn caller(token: &Token, channel: Channel) -> Caller {
    let channel = match token.kind {
        TokenKind::Voice => Channel::Voice,
        TokenKind::Mcp => Channel::Mcp,
        TokenKind::Person | TokenKind::Agent | TokenKind::Device => channel,
    };
    // The file is checked when it is read; a credential class that may not hold a scope does not get it here either.
    let scopes: Vec<Scope> =
        token.scopes.iter().copied().filter(|scope| token.kind.may_hold(*scope)).collect();
    Caller {
        principal: Principal { name: format!("token:{}", token.name), channel, scopes },
        kind: token.kind,
    }
}

fn authenticate(shared: &Shared, request: &Request) -> Result<Arc<Token>, Fault> {
    let client = request.extensions().get::<Client>().map(|client| client.0);
    if let Some(seconds) = client.and_then(|address| shared.attempts.blocked(address)) {
        return Err(Fault::too_many("too many wrong tokens from this address", seconds));
    }
    let presented = presented(request.headers());
    // Hashing and comparing happen for a malformed header too: it must take as long as a wrong token.
    let token = shared.tokens.verify(presented.unwrap_or_default());
    if let (Some(token), false) = (token, has_token_in_query(request)) {
        return Ok(token);
    }
    if request.headers().contains_key(header::AUTHORIZATION)
        && let Some(address) = client
    {
        shared.attempts.failed(address);
    }
    Err(Fault::unauthorized())
}

/// What stands after `Bearer` in the one Authorization header.
fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

fn has_token_in_query(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or("");
    query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or("");
        TOKEN_PARAMETERS.iter().any(|other| other.eq_ignore_ascii_case(name))
    })
}

/// Reads the whole body, bounded in size and time, so that no handler waits for a slow sender.
async fn with_body(shared: &Shared, request: Request) -> Result<Request, Fault> {
    if request.method() == Method::POST {
        check_content_type(&request)?;
    }
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let limits = &shared.settings.limits;
    let too_large = || {
        Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body may have {} bytes", limits.body_bytes),
        )
    };
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(limits.body_time, collect(body, limits.body_bytes)).await {
        Ok(Ok(Some(bytes))) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Ok(None)) => Err(too_large()),
        Ok(Err(_)) => Err(Fault::bad_request("the body could not be read to its end")),
        Err(_) => Err(Fault::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            format!("the body did not arrive within {} s", limits.body_time.as_secs()),
        )),
    }
}

/// The whole body; `None` where it is longer than `limit` bytes.
async fn collect(body: Body, limit: usize) -> Result<Option<Bytes>, axum::Error> {
    let mut chunks = body.into_data_stream();
    let mut whole = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if whole.len() + chunk.len() > limit {
            return Ok(None);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Some(whole.freeze()))
}

/// Ends a stream when its token is revoked. Answers of known length are short and pass as they are.
fn until_revoked(shared: Arc<Shared>, token: Arc<Token>, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let revoked = Box::pin(async move { shared.tokens.revoked(&token).await });
    response.map(|body| Body::new(CutBody { body, cut: Some(revoked) }))
}

/// A body that ends early when `cut` resolves.
struct CutBody {
    body: Body,
    cut: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody for CutBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        match &mut this.cut {
            None => return Poll::Ready(None),
            Some(cut) => {
                if cut.as_mut().poll(context).is_ready() {
                    this.cut = None;
                    this.body = Body::empty();
                    return Poll::Ready(None);
                }
            }
        }
        Pin::new(&mut this.body).poll_frame(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_one_bearer_header_presents_a_token() {
        let headers = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            headers
        };
        assert_eq!(presented(&headers(&["Bearer abc"])), Some(&b"abc"[..]));
        assert_eq!(presented(&headers(&["bearer abc"])), Some(&b"abc"[..]));
        for bad in [&[][..], &[""], &["Bearer"], &["abc"], &["Basic abc"], &["Bearer abc", "Bearer abc"]] {
            assert_eq!(presented(&headers(bad)), None, "{bad:?}");
        }
    }

    #[test]
    fn a_token_in_the_query_is_seen() {
        let asks = |uri: &str| {
            has_token_in_query(&Request::builder().uri(uri).body(Body::empty()).unwrap_or_default())
        };
        assert!(asks("/api/events?token=x"));
        assert!(asks("/api/events?a=b&Access_Token=x"));
        assert!(!asks("/api/tasks?limit=3"));
    }
}
