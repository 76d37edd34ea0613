//! Certificates: expired, for another host, from nobody known; and a machine without certificate authorities.

use std::sync::Arc;

use homeloop::model::{ModelError, Stop};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{ask, in_a_process_of_its_own, model, model_settings, served, turn};
use crate::model_server::{Answer, Api, ModelServer};

/// A server with a certificate for `name`, valid until `year`, that gives every request the same answer. Returns its
/// address and the authority as PEM.
async fn secure_server(name: &str, year: i32) -> (std::net::SocketAddr, String) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(authority, authority_key).expect("an authority");
    let mut leaf = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
    leaf.not_before = date_time_ymd(2020, 1, 1);
    leaf.not_after = date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let certificate = leaf.signed_by(&key, &authority).expect("signed");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a server configuration");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut socket) = acceptor.accept(socket).await else { return };
                let mut seen = vec![0; 16 << 10];
                let _ = socket.read(&mut seen).await;
                let data =
                    "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = socket.write_all(format!("{head}{data}").as_bytes()).await;
                let _ = socket.shutdown().await;
            });
        }
    });
    (address, authority.pem())
}

async fn ask_secure(name: &str, year: i32, trusted: bool) -> crate::harness::Turn {
    let (address, authority) = secure_server(name, year).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, authority).expect("written");
    let mut settings = model_settings(Api::OpenAi, &format!("https://localhost:{}/v1", address.port()));
    settings.ca_file = trusted.then_some(file);
    turn(&*model(settings), ask()).await
}

#[tokio::test]
async fn f9_certificates_that_do_not_hold_are_refused() {
    let good = ask_secure("localhost", 2099, true).await;
    assert_eq!((good.text.as_str(), good.stop), ("hi", Some(Stop::Ended)), "{good:?}");
    for (what, name, year, trusted) in [
        ("expired", "localhost", 2021, true),
        ("another host", "other.example", 2099, true),
        ("nobody known", "localhost", 2099, false),
    ] {
        let found = ask_secure(name, year, trusted).await;
        // Where the machine has no authorities at all, that is said before any connection is made.
        let refused = matches!(found.error, Some(ModelError::Connect { .. } | ModelError::Misconfigured(_)));
        assert!(refused, "{what}: {found:?}");
    }
}

#[tokio::test]
async fn a_missing_ca_file_is_named() {
    let mut settings = model_settings(Api::OpenAi, "https://localhost:1/v1");
    settings.ca_file = Some("/nonexistent/ca.pem".into());
    let found = turn(&*model(settings), ask()).await;
    let Some(ModelError::Misconfigured(reason)) = found.error else { panic!("{found:?}") };
    assert!(reason.contains("/nonexistent/ca.pem"), "{reason}");
}

/// Runs the test below in a process of its own whose certificate authorities are nowhere.
#[test]
fn without_certificate_authorities_only_secure_connections_fail_and_say_why() {
    let nowhere = [("SSL_CERT_FILE", "/nonexistent/authorities.pem"), ("SSL_CERT_DIR", "/nonexistent")];
    in_a_process_of_its_own("tls::without_certificate_authorities", &nowhere);
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn without_certificate_authorities() {
    let found = turn(&*model(model_settings(Api::OpenAi, "https://localhost:1/v1")), ask()).await;
    let Some(ModelError::Misconfigured(reason)) = found.error else { panic!("{found:?}") };
    assert!(reason.contains("ca-certificates") && reason.contains("ca_file"), "{reason}");
    let server = ModelServer::start([Answer::text("a model in the house")]).await;
    assert_eq!(turn(&*served(Api::OpenAi, &server), ask()).await.text, "a model in the house");
}
