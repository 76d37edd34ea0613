//! The client side of TLS: rustls with ring, certificates always checked.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::problem::Problem;
use super::settings::{ClientCertificate, TlsSettings};
use crate::trust;

/// Reads the certificates anew for each connection, so that renewed files need no restart.
pub(super) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, Problem> {
    let roots =
        trust::roots(settings.ca_file.as_deref()).map_err(|error| Problem::NoTrust(error.to_string()))?;
    let builder =
        trust::client().map_err(|error| Problem::Tls(error.to_string()))?.with_root_certificates(roots);
    let config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let (chain, key) = read_client(client)?;
            builder.with_client_auth_cert(chain, key).map_err(|error| Problem::Tls(error.to_string()))?
        }
    };
    Ok(Arc::new(config))
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
