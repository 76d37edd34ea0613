//! Whose certificates are believed: the machine's authorities, or those of a file.
//!
//! Read anew for each connection, so that renewed files need no restart. Nothing here connects, and nothing here
//! switches the check of certificates off.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// Where the systems keep the certificates of the authorities: Debian, Fedora, openSUSE, Alpine, FreeBSD.
const SYSTEM_STORES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Why nobody can be believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoTrust(String);

/// The authorities of `file` (PEM), or those of the machine: `SSL_CERT_FILE`, else the system's store.
pub fn roots(file: Option<&Path>) -> Result<RootCertStore, NoTrust> {
    match file {
        Some(file) => read(file),
        None => {
            let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
            let known = SYSTEM_STORES.iter().map(PathBuf::from);
            match named.into_iter().chain(known).find(|file| file.is_file()) {
                Some(file) => read(&file),
                None => Err(NoTrust("the system has no store of them".to_owned())),
            }
        }
    }
}

/// A client of TLS 1.2 and 1.3 with ring, before it is said whom it believes.
pub fn client() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

fn read(file: &Path) -> Result<RootCertStore, NoTrust> {
    let fault = |error: String| NoTrust(format!("{}: {error}", file.display()));
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| fault(error.to_string()))?;
    // A system store may hold a certificate that rustls does not read; the others still count.
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    if roots.is_empty() {
        return Err(fault("no certificate in it".to_owned()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_believed_by_nobody() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no certificate").unwrap();
        assert!(roots(Some(file.path())).unwrap_err().to_string().contains("no certificate in it"));
        assert!(
            roots(Some(Path::new("/nowhere/ca.pem"))).unwrap_err().to_string().starts_with("/nowhere/ca.pem")
        );
    }
}
