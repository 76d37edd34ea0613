//! What every request must satisfy before anybody looks at its token, and what every answer carries.
//!
//! The checks keep a web page that a resident opened, or a name that an attacker points at this machine, from
//! talking to the daemon: the Host must be ours, the Origin (where a browser sends one) must be this server's own,
//! and the browser must not call it a cross-site request. There are no CORS headers at all.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::fault::Fault;

/// The content security policy of every answer: scripts and styles from here alone, no frames, no markup from text.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; \
    require-trusted-types-for 'script'";

const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The two ends of the connection that a request came on.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    pub peer: SocketAddr,
    pub local: SocketAddr,
    pub tls: bool,
}

/// The address that a request is counted under: the peer's, or what a trusted proxy says.
#[derive(Debug, Clone, Copy)]
pub struct Client(pub IpAddr);

/// The outermost layer.
pub async fn guard(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let mut response = match admit(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn admit(shared: &Shared, request: &mut Request) -> Result<(), Fault> {
    let connection = request.extensions().get::<Connection>().copied();
    let host = host(request)?;
    if !host_allowed(&host, connection.map(|ends| ends.local.ip()), &shared.settings.allowed_hosts) {
        return Err(Fault::forbidden(
            "this Host is not one of ours; add it to http.allowed_hosts if it should be",
        ));
    }
    check_origin(request.headers(), &host, &shared.settings.allowed_origins)?;
    check_fetch_site(request)?;
    let peer = connection.map_or(IpAddr::from([0, 0, 0, 0]), |ends| ends.peer.ip());
    let client = client(request.headers(), peer, &shared.settings.trusted_proxies);
    request.extensions_mut().insert(Client(client));
    Ok(())
}

/// The one Host of a request. A request target with its own authority must name the same.
fn host(request: &Request) -> Result<Authority, Fault> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Fault::bad_request("exactly one Host header is needed"));
    };
    let host = Authority::try_from(host.as_bytes())
        .map_err(|_| Fault::bad_request("the Host header is not a host and port"))?;
    match request.uri().authority() {
        Some(other) if *other != host => {
            Err(Fault::bad_request("the request target names another host than the Host header"))
        }
        Some(_) | None => Ok(host),
    }
}

/// Names must be listed. The address that the client reached us at needs no listing: no foreign name can pretend it.
fn host_allowed(host: &Authority, local: Option<IpAddr>, allowed: &[String]) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    if host.as_str().contains('@') {
        return false;
    }
    if let Ok(address) = name.parse::<IpAddr>() {
        let address = address.to_canonical();
        if address.is_loopback() || Some(address) == local.map(|local| local.to_canonical()) {
            return true;
        }
    }
    name.eq_ignore_ascii_case("localhost") || allowed.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// An Origin, where there is one, is this server's own or listed. `null` never is.
fn check_origin(headers: &HeaderMap, host: &Authority, allowed: &[String]) -> Result<(), Fault> {
    for origin in headers.get_all(header::ORIGIN) {
        let text = origin.to_str().unwrap_or("null");
        let same = ["http://", "https://"]
            .iter()
            .filter_map(|scheme| text.strip_prefix(scheme))
            .any(|rest| rest.eq_ignore_ascii_case(host.as_str()));
        if !same && !allowed.iter().any(|other| other.eq_ignore_ascii_case(text)) {
            return Err(Fault::forbidden("this Origin may not use the API"));
        }
    }
    Ok(())
}

/// Browsers say from where a request comes. From another site only a person's own navigation to the page is taken.
fn check_fetch_site(request: &Request) -> Result<(), Fault> {
    let says = |name: &'static str| request.headers().get(name).map(HeaderValue::as_bytes);
    match says("sec-fetch-site") {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_)
            if request.method() == Method::GET
                && request.uri().path() == "/"
                && says("sec-fetch-mode") == Some(b"navigate")
                && says("sec-fetch-dest") == Some(b"document") =>
        {
            Ok(())
        }
        Some(_) => Err(Fault::forbidden("requests from other sites are refused")),
    }
}

/// Forwarding headers count only where the peer itself is a proxy that the owner named. Then the last entry is the
/// one that this proxy wrote.
fn client(headers: &HeaderMap, peer: IpAddr, proxies: &[IpAddr]) -> IpAddr {
    if !proxies.contains(&peer.to_canonical()) {
        return peer;
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let last = forwarded.and_then(|value| value.to_str().ok()).and_then(|list| list.rsplit(',').next());
    last.and_then(|address| address.trim().parse().ok()).unwrap_or(peer)
}

/// Requests with a body carry JSON and say so: a form or a plain text from another page cannot.
pub fn check_content_type(request: &Request) -> Result<(), Fault> {
    let mut types = request.headers().get_all(header::CONTENT_TYPE).iter();
    let first = types.next().and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = first.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("application/json") && types.next().is_none() {
        return Ok(());
    }
    Err(Fault::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "the body must be JSON, with Content-Type: application/json",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_hosts_are_allowed() {
        let local = Some("192.0.2.7".parse().unwrap());
        let allowed = ["home.example".to_owned()];
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("192.0.2.7:8080", true),
            ("home.example", true),
            ("home.example.:8443", true),
            ("192.0.2.8", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("evil@localhost", false),
            ("homeXexample", false),
        ] {
            let host = Authority::try_from(host.as_bytes()).unwrap();
            assert_eq!(host_allowed(&host, local, &allowed), expected, "{host}");
        }
    }

    #[test]
    fn forwarded_addresses_count_from_named_proxies_alone() {
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.1"));
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.2, 203.0.113.3"));
        let peer: IpAddr = "192.0.2.1".parse().unwrap();
        assert_eq!(client(&headers, peer, &[]), peer);
        assert_eq!(client(&headers, peer, &[peer]), "203.0.113.3".parse::<IpAddr>().unwrap());
        assert_eq!(client(&HeaderMap::new(), peer, &[peer]), peer);
    }
}
