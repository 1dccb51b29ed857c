//! Sockets on which the server accepts clients.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::net;

use super::error::{LONGEST_PATH, ServerError};
use super::wire::Wire;

/// Maximum number of connections waiting to be accepted.
const BACKLOG: i32 = 128;

/// Address on which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket in the file system. Only processes of the same user on this machine can connect.
    Unix(PathBuf),
    /// A TCP port; anyone who reaches the port can connect.
    Tcp(SocketAddr),
}

pub(super) enum Listener {
    Unix { listener: UnixListener, path: PathBuf, inode: (u64, u64) },
    Tcp { listener: TcpListener, address: SocketAddr },
}

impl Listener {
    pub fn bind(address: &Address) -> Result<Self, ServerError> {
        match address {
            Address::Unix(path) => bind_unix(path),
            Address::Tcp(address) => {
                let bound = TcpListener::bind(address).and_then(|listener| {
                    let address = listener.local_addr()?;
                    Ok(Self::Tcp { listener, address })
                });
                bound.map_err(|error| ServerError::Tcp(*address, error))
            }
        }
    }

    pub fn address(&self) -> Address {
        match self {
            Self::Unix { path, .. } => Address::Unix(path.clone()),
            Self::Tcp { address, .. } => Address::Tcp(*address),
        }
    }

    pub fn accept(&self) -> io::Result<Wire> {
        match self {
            Self::Unix { listener, .. } => Ok(Wire::new(listener.accept()?.0)),
            Self::Tcp { listener, .. } => {
                let socket = listener.accept()?.0;
                // Turns off Nagle's algorithm, because the server batches replies itself. This fails only if the client
                // has disconnected.
                let _ = socket.set_nodelay(true);
                Ok(Wire::new(socket))
            }
        }
    }

    /// Removes the socket's file, unless it was replaced by another file.
    pub fn remove(&self) {
        if let Self::Unix { path, inode, .. } = self
            && fs::symlink_metadata(path).is_ok_and(|file| (file.dev(), file.ino()) == *inode)
        {
            // Ignores an error: the next server removes the stale socket.
            let _ = fs::remove_file(path);
        }
    }

    /// Refuses further clients and wakes the accept thread.
    pub fn close(&self) {
        let socket = match self {
            Self::Unix { listener, .. } => listener.as_fd(),
            Self::Tcp { listener, .. } => listener.as_fd(),
        };
        // Ignores an error, which means that the socket is already closed.
        let _ = net::shutdown(socket, net::Shutdown::Both);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.remove();
    }
}

fn bind_unix(path: &Path) -> Result<Listener, ServerError> {
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(ServerError::PathTooLong(path.to_owned()));
    }
    remove_stale(path)?;
    let make = || -> io::Result<Listener> {
        let kind = net::SocketType::STREAM;
        let socket = net::socket_with(net::AddressFamily::UNIX, kind, net::SocketFlags::CLOEXEC, None)?;
        net::bind(&socket, &net::SocketAddrUnix::new(path)?)?;
        // The permissions are set before `listen`, so that other users never have a chance to connect.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let file = fs::symlink_metadata(path)?;
        net::listen(&socket, BACKLOG)?;
        Ok(Listener::Unix { listener: socket.into(), path: path.to_owned(), inode: (file.dev(), file.ino()) })
    };
    make().map_err(|error| ServerError::Unix(path.to_owned(), error))
}

/// Removes a socket left behind by a dead server; fails for any other file.
fn remove_stale(path: &Path) -> Result<(), ServerError> {
    let failed = |error| ServerError::Unix(path.to_owned(), error);
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !file.file_type().is_socket() {
        return Err(ServerError::NoSocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ServerError::Live(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}
