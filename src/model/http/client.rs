//! Building a client for one model.

use reqwest::Certificate;

use crate::model::ModelError;
use crate::model::settings::ModelSettings;

/// A client for the server that `settings` name. TLS is set up only where it is used, so that a model in one's own
/// house works on a machine without certificate authorities.
///
/// # Errors
/// [`ModelError::Misconfigured`], with what is missing.
pub(super) async fn build(settings: &ModelSettings) -> Result<reqwest::Client, ModelError> {
    // The process has one provider of cryptography; whoever comes first installs it, and all install the same.
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = reqwest::Url::parse(&settings.base_url).map_err(|error| {
        ModelError::Misconfigured(format!("base_url {:?} is not a URL: {error}", settings.base_url))
    })?;
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("homeloop/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.limits.connect())
        // A redirect would carry the key and the house to somewhere else.
        .redirect(reqwest::redirect::Policy::none());
    let authorities = match &settings.ca_file {
        Some(path) => {
            let text = tokio::fs::read(path)
                .await
                .map_err(|error| ModelError::Misconfigured(format!("ca_file {}: {error}", path.display())))?;
            Certificate::from_pem_bundle(&text).map_err(|error| {
                ModelError::Misconfigured(format!("ca_file {} is not PEM: {error}", path.display()))
            })?
        }
        None => Vec::new(),
    };
    if url.scheme() == "http" {
        builder = builder.tls_certs_only(authorities);
        if is_this_machine(&url) {
            builder = builder.no_proxy();
        } else if settings.key.is_some() {
            tracing::warn!(base_url = %settings.base_url, "the key of this model crosses the network in the clear");
        }
    } else {
        builder = builder.tls_certs_merge(authorities);
    }
    builder.build().map_err(|error| {
        ModelError::Misconfigured(format!(
            "no secure connection can be set up: {}; install the package ca-certificates, or name a ca_file",
            super::failure::root_cause(&error)
        ))
    })
}

fn is_this_machine(url: &reqwest::Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}
