//! Certificates of an NBD server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// TLS configuration of a server.
#[derive(Clone, Debug)]
pub struct Tls {
    pub(super) config: Arc<ServerConfig>,
    pub(super) required: bool,
}

/// Error: a certificate file or key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: {why}; expected files: server-cert.pem, server-key.pem, and ca-cert.pem to verify clients",
    path.display()
)]
pub struct TlsError {
    /// Certificate file or key file.
    pub path: PathBuf,
    /// Reason why the file cannot be used.
    pub why: String,
}

impl Tls {
    /// Reads `server-cert.pem` and `server-key.pem` from a folder, like nbdkit and QEMU. If `required` is true, clients
    /// without encryption are refused. If `verify_clients` is true, clients without a certificate signed by
    /// `ca-cert.pem` are refused. Fails if a certificate or key file is missing or invalid.
    pub fn load(folder: &Path, required: bool, verify_clients: bool) -> Result<Self, TlsError> {
        let path = |name: &str| folder.join(name);
        let (cert, key, ca) = (path("server-cert.pem"), path("server-key.pem"), path("ca-cert.pem"));
        let chain = certificates(&cert)?;
        let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| fault(&key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| fault(&cert, &error))?;
        let builder = if verify_clients {
            let mut roots = RootCertStore::empty();
            for root in certificates(&ca)? {
                roots.add(root).map_err(|error| fault(&ca, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| fault(&ca, &error))?)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(chain, private).map_err(|error| fault(&key, &error))?;
        Ok(Self { config: Arc::new(config), required })
    }
}

fn fault(path: &Path, why: &dyn fmt::Display) -> TlsError {
    TlsError { path: path.to_owned(), why: why.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    let chain = read().map_err(|error| fault(path, &error))?;
    if chain.is_empty() { Err(fault(path, &"contains no certificate")) } else { Ok(chain) }
}
