//! Tests of socket files: their mode, and existing files at the path.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use ssdlab_nbd::{Address, ServerError, Sockets};

use crate::server::socket_path;

fn bind(address: Address) -> Result<Sockets, ServerError> {
    Sockets::bind(&[address])
}

fn bind_unix(path: &Path) -> Result<Sockets, ServerError> {
    bind(Address::Unix(path.to_owned()))
}

#[test]
fn only_the_owner_can_connect_and_the_file_is_removed_at_the_end() {
    let path = socket_path();
    let sockets = bind_unix(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(sockets);
    assert!(!path.exists());
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_refused() {
    let path = socket_path();
    drop(UnixListener::bind(&path).unwrap());
    let stale = fs::metadata(&path).unwrap().ino();
    let sockets = bind_unix(&path).unwrap();
    let error = bind_unix(&path).map(drop).unwrap_err();
    assert!(matches!(error, ServerError::Live(_)));
    assert!(error.to_string().ends_with("another server listens there; stop it, or choose another path"));
    assert!(path.exists(), "a server that cannot bind must not remove the file; stale file: {stale}");
    drop(sockets);
}

#[test]
fn a_socket_that_replaced_ours_is_left_alone() {
    let path = socket_path();
    let sockets = bind_unix(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    drop(sockets);
    assert!(path.exists());
    drop(other);
    fs::remove_file(&path).unwrap();
}

#[test]
fn other_files_are_never_removed() {
    let path = socket_path();
    fs::write(&path, "precious").unwrap();
    let error = bind_unix(&path).map(drop).unwrap_err();
    assert!(matches!(error, ServerError::NoSocket(_)), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
}

#[test]
fn unusable_paths_are_named_with_a_remedy() {
    let long = format!("/tmp/{}", "a".repeat(103));
    let error = bind_unix(Path::new(&long)).map(drop).unwrap_err();
    let words = format!("{long}: the socket path has 108 bytes, more than the maximum of 107; choose a shorter path");
    assert_eq!(error.to_string(), words);
    let error = bind_unix(Path::new("/nowhere/socket")).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/socket: No such file or directory"), "{error}");
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(Address::Tcp(address)).map(drop).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{address}: Address already in use")), "{error}");
}
