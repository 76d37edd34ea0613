//! The client side of TLS: rustls with ring, certificates always checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::problem::Problem;
use super::settings::{ClientCertificate, TlsSettings};

/// Where the systems keep the certificates of the authorities: Debian, Fedora, openSUSE, Alpine, FreeBSD.
const SYSTEM_STORES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Reads the certificates anew for each connection, so that renewed files need no restart.
pub(super) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, Problem> {
    let roots = match &settings.ca_file {
        Some(file) => read_roots(file)?,
        None => system_roots()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Problem::Tls(error.to_string()))?
        .with_root_certificates(roots);
    let config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let (chain, key) = read_client(client)?;
            builder.with_client_auth_cert(chain, key).map_err(|error| Problem::Tls(error.to_string()))?
        }
    };
    Ok(Arc::new(config))
}

fn system_roots() -> Result<RootCertStore, Problem> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let known = SYSTEM_STORES.iter().map(PathBuf::from);
    match named.into_iter().chain(known).find(|file| file.is_file()) {
        Some(file) => read_roots(&file),
        None => Err(Problem::NoTrust("the system has no store of them".to_owned())),
    }
}

fn read_roots(file: &Path) -> Result<RootCertStore, Problem> {
    let fault = |error: String| Problem::NoTrust(format!("{}: {error}", file.display()));
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| fault(error.to_string()))?;
    // A system store may hold a certificate that rustls does not read; the others still count.
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    if roots.is_empty() {
        return Err(fault("no certificate in it".to_owned()));
    }
    Ok(roots)
}

fn read_client(
    client: &ClientCertificate,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Problem> {
    let fault =
        |file: &Path, error: &dyn std::fmt::Display| Problem::Tls(format!("{}: {error}", file.display()));
    let chain = CertificateDer::pem_file_iter(&client.certificate_file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fault(&client.certificate_file, &error))?;
    let key =
        PrivateKeyDer::from_pem_file(&client.key_file).map_err(|error| fault(&client.key_file, &error))?;
    Ok((chain, key))
}
