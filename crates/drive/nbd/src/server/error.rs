//! Errors that an NBD server reports.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::export::Errno;

/// Maximum length of a socket path in bytes; Linux allows 108 with the terminating zero.
pub(super) const LONGEST_PATH: usize = 107;

/// Error that occurs when a server starts or ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The path of the socket is too long for the system.
    #[error(
        "{}: the socket path has {bytes} bytes, more than the maximum of {most}; choose a shorter path",
        path.display(),
        most = LONGEST_PATH
    )]
    PathTooLong {
        /// Path of the socket.
        path: PathBuf,
        /// Length of the path in bytes.
        bytes: usize,
    },
    /// A server is already listening on the path.
    #[error("{}: another server listens there; stop it, or choose another path", .0.display())]
    Live(PathBuf),
    /// The path belongs to a file that is not a socket.
    #[error("{}: exists and is not a socket; remove it, or choose another path", .0.display())]
    NoSocket(PathBuf),
    /// The socket could not be created.
    #[error("{}: {error}; choose a path in an existing, writable directory", path.display())]
    Unix {
        /// Path of the socket.
        path: PathBuf,
        /// Error that the system reports.
        error: io::Error,
    },
    /// The port cannot be used.
    #[error("{address}: {error}; choose another port or address")]
    Tcp {
        /// Address of the socket, including the port.
        address: SocketAddr,
        /// Error that the system reports.
        error: io::Error,
    },
    /// The system cannot start the thread that serves a socket.
    #[error("the system cannot start more threads; raise the process limit (ulimit -u), or end some processes")]
    Thread,
    /// The last flush of an export failed.
    #[error("export {name:?} could not be flushed at shutdown: {errno}")]
    Flush {
        /// Name of the export that could not be flushed.
        name: String,
        /// Error that the export returned.
        errno: Errno,
    },
}
