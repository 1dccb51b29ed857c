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
        "{}: the socket path has {} bytes, more than the maximum of {LONGEST_PATH}; choose a shorter path",
        .0.display(), .0.as_os_str().len()
    )]
    PathTooLong(PathBuf),
    /// A server is already listening on the path.
    #[error("{0}: another server listens there; stop it, or choose another path")]
    Live(PathBuf),
    /// The path belongs to a file that is not a socket.
    #[error("{0}: exists and is not a socket; remove it, or choose another path")]
    NoSocket(PathBuf),
    /// The socket could not be created.
    #[error("{0}: {1}; choose a path in an existing, writable directory")]
    Unix(PathBuf, io::Error),
    /// The port cannot be used.
    #[error("{0}: {1}; choose another port or address")]
    Tcp(SocketAddr, io::Error),
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
