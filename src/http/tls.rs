//! TLS for the server, from the owner's own certificate and key files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why a certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}: expected PEM with {expected}: {problem}", path.display())]
    File { path: PathBuf, expected: &'static str, problem: String },
    #[error("the certificate {} and its key do not fit: {problem}", path.display())]
    Unusable { path: PathBuf, problem: String },
}

/// Reads a certificate chain (leaf first) and its private key, both PEM. TLS 1.2 and 1.3, HTTP/1.1 only.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let file =
        |path: &Path, expected, problem: String| TlsError::File { path: path.to_owned(), expected, problem };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| file(certificate, "a certificate chain", error.to_string()))?;
    let secret =
        PrivateKeyDer::from_pem_file(key).map_err(|error| file(key, "a private key", error.to_string()))?;
    let unusable = |error: rustls::Error| TlsError::Unusable {
        path: certificate.to_owned(),
        problem: error.to_string(),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
