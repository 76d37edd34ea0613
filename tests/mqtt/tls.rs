//! TLS between the link and mosquitto, and the embedded broker's own.

use std::path::PathBuf;
use std::sync::Arc;

use homeloop::clock::Clock;
use homeloop::mqtt::broker::accounts::Role;
use homeloop::mqtt::broker::{BrokerSettings, BrokerTls, EmbeddedBroker, MemoryStore};
use homeloop::mqtt::link::{Link, LinkSettings, LinkState, Problem, Publish, TlsSettings, Version};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::brokers::{connect, link_settings, next, settings};
use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::soon;

/// An authority with its file, and a certificate of it with its key.
struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let directory = TempDir::new().expect("a directory");
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("its file");
        Self { directory, issuer }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// PEM of a certificate for `names`, and of its key.
    fn certificate(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("parameters");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

fn tls(file: PathBuf) -> Option<TlsSettings> {
    Some(TlsSettings { ca_file: Some(file), client: None })
}

async fn problem(settings: LinkSettings) -> String {
    let (link, _arrivals) = Link::start(settings, Clock::system(), []).expect("good settings");
    let mut state = link.state();
    let told = soon(
        "the problem is told",
        state.wait_for(|state| matches!(state, LinkState::Connecting { problem: Some(_), .. })),
    )
    .await
    .expect("the link lives")
    .clone();
    link.stop().await;
    let LinkState::Connecting { problem: Some(problem), .. } = told else { panic!("{told:?}") };
    assert!(matches!(problem, Problem::Tls(_) | Problem::NoTrust(_)), "{problem:?}");
    problem.to_string()
}

#[tokio::test]
async fn tls_with_mosquitto_by_our_own_authority() {
    let authority = Authority::new();
    let options = Options { tls: Some(authority.certificate(&["127.0.0.1"], |_| {})), ..Options::default() };
    let Some(broker) = Mosquitto::start(options).await else { return };
    for (position, version) in [Version::V5, Version::V311].into_iter().enumerate() {
        let name = format!("agent-{position}");
        let settings =
            LinkSettings { tls: tls(authority.file()), ..link_settings(broker.address, &name, version) };
        let (link, mut arrivals) = connect(settings.clone(), &["a"]).await;
        let other = LinkSettings { client_id: format!("other-{position}"), ..settings };
        let (other, _unused) = connect(other, &[]).await;
        other.publish(Publish::new("a", vec![b'x'; 100_000])).await.expect("taken");
        assert_eq!(next(&mut arrivals).await.payload.len(), 100_000);
        link.stop().await;
    }
}

#[tokio::test]
async fn f9_bad_certificates_are_refused_with_the_reason() {
    let authority = Authority::new();
    let past = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    };
    let cases = [
        (authority.certificate(&["other.example"], |_| {}), authority.file(), "for another name"),
        (authority.certificate(&["127.0.0.1"], past), authority.file(), "has expired"),
        (
            authority.certificate(&["127.0.0.1"], |_| {}),
            Authority::new().keep(),
            "not signed by an authority",
        ),
        (
            authority.certificate(&["127.0.0.1"], |_| {}),
            PathBuf::from("/does/not/exist.pem"),
            "set a CA file",
        ),
    ];
    for (certificate, trusted, expected) in cases {
        let Some(broker) = Mosquitto::start(Options { tls: Some(certificate), ..Options::default() }).await
        else {
            return;
        };
        let settings =
            LinkSettings { tls: tls(trusted), ..link_settings(broker.address, "agent", Version::V5) };
        let problem = problem(settings).await;
        assert!(problem.contains(expected), "{problem}");
    }
    let Some(plain) = Mosquitto::start(Options::default()).await else { return };
    let settings =
        LinkSettings { tls: tls(authority.file()), ..link_settings(plain.address, "agent", Version::V5) };
    let problem = problem(settings).await;
    assert!(problem.contains("TLS"), "{problem}");
}

impl Authority {
    /// Its file, which outlives it.
    fn keep(self) -> PathBuf {
        let file = self.file();
        let _ = self.directory.keep();
        file
    }
}

#[tokio::test]
async fn the_embedded_broker_speaks_tls() {
    let authority = Authority::new();
    let (certificate, key) = authority.certificate(&["127.0.0.1"], |_| {});
    let (certificate_file, key_file) =
        (authority.directory.path().join("cert.pem"), authority.directory.path().join("key.pem"));
    std::fs::write(&certificate_file, certificate).expect("its file");
    std::fs::write(&key_file, key).expect("its file");
    let settings = BrokerSettings {
        anonymous: Some(Role::Agent),
        tls: Some(BrokerTls { bind: ([127, 0, 0, 1], 0).into(), certificate_file, key_file }),
        ..settings()
    };
    let broker = EmbeddedBroker::start(settings, Arc::new(MemoryStore::default()), &Clock::system())
        .await
        .expect("it starts");
    let address = broker.tls_address().expect("it listens with TLS");
    let settings =
        LinkSettings { tls: tls(authority.file()), ..link_settings(address, "agent", Version::V5) };
    let (link, mut arrivals) = connect(settings, &["a"]).await;
    let (other, _unused) = connect(link_settings(broker.address(), "other", Version::V5), &[]).await;
    other.publish(Publish::new("a", "over TLS")).await.expect("taken");
    assert_eq!(next(&mut arrivals).await.payload, "over TLS");
    link.stop().await;
    broker.stop().await;
}
