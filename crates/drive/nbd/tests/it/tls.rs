//! Tests of TLS with certificates, with the rustls client. `data/make.sh` creates the certificate authority and the
//! certificates in `data/`.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ssdlab_nbd::{Memory, Options, Tls};

use crate::peer::{choice, option, request, u32_of};
use crate::server::Running;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn serve(required: bool, verify_clients: bool) -> Running {
    let tls = Tls::load(&folder(), required, verify_clients).unwrap();
    Running::new(Arc::new(Memory::new(1 << 20)), Options { tls: Some(tls), ..Options::default() })
}

fn config(with_certificate: bool) -> Arc<ClientConfig> {
    let certificate = |name: &str| CertificateDer::from_pem_file(folder().join(name)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca-cert.pem")).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(if with_certificate {
        let key = PrivateKeyDer::from_pem_file(folder().join("client-key.pem")).unwrap();
        builder.with_client_auth_cert(vec![certificate("client-cert.pem")], key).unwrap()
    } else {
        builder.with_no_client_auth()
    })
}

/// Creates a client that may start TLS.
fn encrypted(path: &Path, with_certificate: bool) -> StreamOwned<ClientConnection, UnixStream> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(&[&[0, 0, 0, 3], &option(5, &[])[..]].concat()).unwrap();
    let mut reply = [0; 18 + 20];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(u32_of(&reply[30..34]), 1, "acknowledged");
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config(with_certificate), name).unwrap(), stream)
}

fn go(stream: &mut (impl Read + Write)) -> std::io::Result<()> {
    stream.write_all(&option(7, &choice("disk", &[])))?;
    stream.read_exact(&mut [0; 32 + 20])
}

#[test]
fn an_encrypted_client_reads_what_it_wrote() {
    for required in [false, true] {
        let server = serve(required, false);
        let mut client = encrypted(&server.path, false);
        go(&mut client).unwrap();
        // The data is larger than a TLS record and any buffer of rustls.
        let data: Vec<u8> = (0..300_000_u32).map(|n| (n / 7) as u8).collect();
        client.write_all(&[request(0, 1, 1, 100, 300_000), data.clone()].concat()).unwrap();
        client.read_exact(&mut [0; 16]).unwrap();
        client.write_all(&request(0, 0, 2, 100, 300_000).repeat(3)).unwrap();
        let mut reply = vec![0; 16 + 300_000];
        for _ in 0..3 {
            client.read_exact(&mut reply).unwrap();
            assert_eq!(reply[16..], data);
        }
        client.write_all(&request(0, 2, 3, 0, 0)).unwrap();
        assert_eq!(client.read(&mut reply).unwrap(), 0, "the server must close the connection with a TLS message");
        server.stop();
    }
}

#[test]
fn a_verifying_server_requires_a_certificate() {
    let server = serve(true, true);
    go(&mut encrypted(&server.path, true)).unwrap();
    assert!(go(&mut encrypted(&server.path, false)).is_err());
    server.stop();
}

#[test]
fn a_failed_handshake_does_not_affect_others() {
    let server = serve(true, false);
    let mut client = encrypted(&server.path, false);
    client.sock.write_all(&[0xff; 1000]).unwrap();
    // Reads until the end of the connection, which may follow an alert.
    let _ = client.sock.read_to_end(&mut Vec::new());
    go(&mut encrypted(&server.path, false)).unwrap();
    server.stop();
}

#[test]
fn unusable_files_are_named() {
    let missing = Tls::load(Path::new("/nowhere"), false, false).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere/server-cert.pem: "), "{missing}");
    let bad = Path::new(env!("CARGO_TARGET_TMPDIR")).join("certificates");
    fs::create_dir_all(&bad).unwrap();
    fs::write(bad.join("server-cert.pem"), "no certificate").unwrap();
    let empty = Tls::load(&bad, false, false).unwrap_err().to_string();
    assert!(empty.contains("server-cert.pem: contains no certificate; expected files"), "{empty}");
    fs::copy(folder().join("server-cert.pem"), bad.join("server-cert.pem")).unwrap();
    fs::copy(folder().join("client-key.pem"), bad.join("server-key.pem")).unwrap();
    let other = Tls::load(&bad, false, false).unwrap_err().to_string();
    assert!(other.contains("server-key.pem: "), "{other}");
}
