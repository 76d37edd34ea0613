//! B42, B44 and slow clients: nobody can hold more than their share.

use std::sync::Arc;
use std::time::Duration;

use homeloop::http::{BindError, check_bind};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{connect_from, raw, raw_from, read_all, read_until, request};
use crate::running::{JSON, Running, bearer, short};

#[tokio::test]
async fn b42_a_body_of_2_mb_and_an_endless_one_are_413() {
    let server = Running::start().await;
    let head =
        request("POST", "/api/commands", &[&bearer(&server.owner), JSON, "Content-Length: 2000000"], "");
    assert_eq!(raw(server.address, head).await.status, 413, "refused by its announced length");

    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let chunked = [&*bearer(&server.owner), JSON, "Transfer-Encoding: chunked"];
    stream.write_all(request("POST", "/api/commands", &chunked, "").as_bytes()).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let sender = tokio::spawn(async move {
        let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
        while write.write_all(chunk.as_bytes()).await.is_ok() {}
    });
    assert!(read_until(&mut read, "\r\n\r\n").await.starts_with("HTTP/1.1 413"));
    drop(read);
    sender.await.unwrap();
    assert!(server.fake.submitted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn long_and_many_headers_are_refused() {
    let server = Running::start().await;
    let long = request("GET", "/healthz", &[&format!("X-Long: {}", "x".repeat(20_000))], "");
    assert_eq!(raw(server.address, long).await.status, 431);
    let many: Vec<String> = (0..70).map(|number| format!("X-Many-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(raw(server.address, request("GET", "/healthz", &many, "")).await.status, 431);
}

#[tokio::test]
async fn slow_heads_and_bodies_are_closed() {
    let server = Running::limited(short).await;
    let body = request("POST", "/api/commands", &[&bearer(&server.owner), JSON, "Content-Length: 100"], "");
    for (name, sent) in [
        ("nothing at all", String::new()),
        ("half a head", "GET /healthz HTTP/1.1\r\nHost: localh".into()),
        ("half a body", format!("{body}{{\"text\"")),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let answer = String::from_utf8(read_all(&mut stream).await).unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{name}: {answer}");
    }
}

#[tokio::test]
async fn a_connection_that_idles_between_requests_is_closed() {
    let server = Running::limited(short).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    read_until(&mut stream, "alive").await;
    read_all(&mut stream).await;
}

#[tokio::test]
async fn a_thousand_slow_sockets_leave_the_others_served() {
    let server = Running::start().await;
    let mut held = Vec::new();
    for _ in 0..1000 {
        let mut stream = connect_from("127.0.0.5", server.address).await;
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHo").await;
        held.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(server.get("/api/tasks").await.status, 200);
    }
}

#[tokio::test]
async fn b44_of_too_many_idle_clients_the_next_is_refused() {
    let server = Running::limited(|limits| {
        limits.connections_per_address = 1000;
        limits.header_time = Duration::from_secs(60);
    })
    .await;
    let ask = request("GET", "/api/events", &[&bearer(&server.owner)], "");
    let mut held = Vec::new();
    for _ in 0..256 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(ask.as_bytes()).await.unwrap();
        held.push(stream);
    }
    for stream in &mut held {
        read_until(stream, "event: state").await;
    }
    let refused = raw(server.address, &ask).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
    // Once one leaves there is a place again.
    held.pop();
    let served = async {
        while raw(server.address, request("GET", "/healthz", &[], "")).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::client::PATIENCE, served).await.unwrap();
}

#[tokio::test]
async fn one_address_cannot_take_all_places() {
    let server = Running::limited(|limits| limits.connections_per_address = 4).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut stream = connect_from("127.0.0.6", server.address).await;
        stream
            .write_all(request("GET", "/api/events", &[&bearer(&server.owner)], "").as_bytes())
            .await
            .unwrap();
        read_until(&mut stream, "event: state").await;
        held.push(stream);
    }
    let ask = request("GET", "/healthz", &[], "");
    assert_eq!(raw_from("127.0.0.6", server.address, &ask).await.status, 503);
    assert_eq!(raw_from("127.0.0.7", server.address, &ask).await.status, 200);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed() {
    let server = Running::limited(|limits| {
        limits.write_time = Duration::from_millis(300);
        limits.connections_per_address = 1;
    })
    .await;
    *server.fake.names.lock().unwrap() = vec!["x".repeat(1_000_000); 40];
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let ask = request("GET", "/api/entities", &[&bearer(&server.owner)], "");
    stream.write_all(ask.as_bytes()).await.unwrap();
    // Its place is free again although it neither reads nor closes.
    let freed = async {
        while raw(server.address, request("GET", "/healthz", &[], "")).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::client::PATIENCE, freed).await.unwrap();
}

#[test]
fn beyond_loopback_only_with_tls_or_on_purpose() {
    let address = |text: &str| text.parse().unwrap();
    assert_eq!(check_bind(address("127.0.0.1:80"), false, false), Ok(()));
    assert_eq!(check_bind(address("[::1]:80"), false, false), Ok(()));
    for open in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80", "[::ffff:192.0.2.1]:80"] {
        let open = address(open);
        assert_eq!(check_bind(open, false, false), Err(BindError::PlainNetwork(open)));
        assert_eq!(check_bind(open, true, false), Ok(()));
        assert_eq!(check_bind(open, false, true), Ok(()));
    }
}

#[tokio::test]
async fn tls_is_spoken_with_the_owners_certificate() {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&certificate, issued.cert.pem()).unwrap();
    std::fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    assert!(homeloop::http::tls::acceptor(&key, &certificate).is_err(), "mixed up");
    let acceptor = homeloop::http::tls::acceptor(&certificate, &key).unwrap();

    let mut roots = rustls::RootCertStore::empty();
    roots.add(issued.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = Running::with_tls(Default::default(), Some(acceptor)).await;
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let plain = TcpStream::connect(server.address).await.unwrap();
    let mut stream = connector.connect("localhost".try_into().unwrap(), plain).await.unwrap();
    stream.write_all(request("GET", "/healthz", &[], "").as_bytes()).await.unwrap();
    read_until(&mut stream, "alive").await;
    let plain = raw(server.address, request("GET", "/healthz", &[], "")).await;
    assert_ne!(plain.status, 200, "no plain text on a TLS port");
}
