//! Data shared by all connections of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::export::Export;
use crate::protocol::{MAX_STRING, rep};

/// Encryption of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Connections are never encrypted (`NOTLS`).
    #[default]
    Plain,
    /// Connections are encrypted on request of the client, and for exports that require it (`SELECTIVETLS`).
    Selective,
    /// Connections are always encrypted (`FORCEDTLS`).
    Forced,
}

/// An export of a server, with its name.
#[derive(Clone)]
pub struct Entry {
    /// Name presented to clients. Clients can also select the first export by the empty name.
    pub name: String,
    /// The export.
    pub export: Arc<dyn Export>,
    /// True if only encrypted connections may use the export.
    pub tls_only: bool,
}

impl Entry {
    /// Creates an entry for an export that every client may use, encrypted or not.
    pub fn new(name: &str, export: Arc<dyn Export>) -> Self {
        Self { name: name.to_owned(), export, tls_only: false }
    }
}

/// Exports and state of a server.
pub struct Host {
    pub(crate) entries: Vec<Entry>,
    pub(crate) security: Security,
    stopping: AtomicBool,
}

impl Host {
    /// Creates a host that offers the exports `entries`. Panics if there are none, two names are equal, a name is
    /// longer than 4,096 bytes, an export requires TLS although TLS is off, or request sizes break the rules of
    /// [`crate::BlockSizes`].
    pub fn new(entries: Vec<Entry>, security: Security) -> Self {
        assert!(!entries.is_empty(), "a server needs at least one export");
        for (at, entry) in entries.iter().enumerate() {
            let Entry { name, export, tls_only } = entry;
            assert!(entries[..at].iter().all(|other| other.name != *name), "two exports are named {name:?}");
            assert!(name.len() <= MAX_STRING, "the name of an export is longer than {MAX_STRING} bytes");
            assert!(!tls_only || security != Security::Plain, "export {name:?} requires TLS, but TLS is turned off");
            let sizes = export.block_sizes();
            assert!(
                sizes.are_valid(export.size()),
                "export {name:?} of {} bytes has invalid block sizes: {sizes:?}",
                export.size()
            );
        }
        Self { entries, security, stopping: AtomicBool::new(false) }
    }

    /// Refuses requests and options from now on, because the server is being shut down.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// True once [`Host::stop`] has been called.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Returns the exports that a client may see; `secure` is true for an encrypted connection.
    pub(super) fn visible(&self, secure: bool) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| secure || !entry.tls_only)
    }

    /// Returns the index of the export with the given name. If there is none, or it requires TLS, returns the type of
    /// the error reply.
    pub(super) fn find(&self, name: &str, secure: bool) -> Result<usize, u32> {
        let named = self.entries.iter().position(|entry| entry.name == name);
        let at = named.or(name.is_empty().then_some(0)).ok_or(rep::ERR_UNKNOWN)?;
        if self.entries[at].tls_only && !secure { Err(rep::ERR_TLS_REQD) } else { Ok(at) }
    }
}
