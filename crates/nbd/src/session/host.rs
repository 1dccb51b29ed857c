//! What all connections of a server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::export::Export;
use crate::protocol::{MAX_STRING, rep};

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Never (`NOTLS`).
    #[default]
    Plain,
    /// If the client wants it, and for exports that demand it (`SELECTIVETLS`).
    Selective,
    /// Always (`FORCEDTLS`).
    Forced,
}

/// An export under its name.
#[derive(Clone)]
pub struct Entry {
    /// What clients call it; the first export is also found under the empty name.
    pub name: String,
    /// What is served.
    pub export: Arc<dyn Export>,
    /// Only encrypted connections reach it.
    pub tls_only: bool,
}

impl Entry {
    /// An export that every client may use.
    pub fn new(name: &str, export: Arc<dyn Export>) -> Self {
        Self { name: name.to_owned(), export, tls_only: false }
    }
}

/// The exports of a server and whether it is being shut down.
pub struct Host {
    entries: Vec<Entry>,
    security: Security,
    stopping: AtomicBool,
}

impl Host {
    /// Serves these exports.
    ///
    /// # Panics
    /// If there is none, two have one name, a name is longer than 4,096 bytes, an export demands TLS where there is
    /// none, or its sizes of blocks break the rules of [`crate::BlockSizes`].
    pub fn new(entries: Vec<Entry>, security: Security) -> Self {
        assert!(!entries.is_empty(), "there is nothing to serve");
        for (at, entry) in entries.iter().enumerate() {
            let Entry { name, export, tls_only } = entry;
            assert!(entries[..at].iter().all(|other| other.name != *name), "two exports are named {name:?}");
            assert!(name.len() <= MAX_STRING, "the name of an export is longer than {MAX_STRING} bytes");
            assert!(!tls_only || security != Security::Plain, "export {name:?} demands TLS, which is off");
            let sizes = export.block_sizes();
            assert!(sizes.are_valid(export.size()), "export {name:?} of {} bytes has {sizes:?}", export.size());
        }
        Self { entries, security, stopping: AtomicBool::new(false) }
    }

    /// From now on requests and options are refused, as the server is being shut down.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Whether [`Host::stop`] was called.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn security(&self) -> Security {
        self.security
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Exports that a client may see.
    pub(super) fn visible(&self, secure: bool) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| secure || !entry.tls_only)
    }

    /// The export of a name, or the type of the reply that refuses it.
    pub(super) fn find(&self, name: &str, secure: bool) -> Result<usize, u32> {
        let named = self.entries.iter().position(|entry| entry.name == name);
        let at = named.or(name.is_empty().then_some(0)).ok_or(rep::ERR_UNKNOWN)?;
        if self.entries[at].tls_only && !secure { Err(rep::ERR_TLS_REQD) } else { Ok(at) }
    }
}
