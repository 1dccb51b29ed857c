//! Errors of the cache, with remedies.

use std::io;

use crate::PageId;

/// Invalid option of a cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {field} {value}: {remedy}")]
pub struct ConfigError {
    /// Name of the invalid option, in words.
    pub field: &'static str,
    /// Invalid value of the option.
    pub value: String,
    /// Reason why the value is invalid, or the remedy.
    pub remedy: String,
}

impl ConfigError {
    pub(crate) fn new(field: &'static str, value: impl ToString, remedy: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), remedy: remedy.into() }
    }
}

/// Reasons why a page could not be read or written. No error loses a page that was written.
#[derive(Debug, thiserror::Error)]
pub enum PoolError<E> {
    /// The backing storage failed to load the page. The page is not cached; the next read tries again.
    #[error("loading page {page} failed: {source}")]
    Load {
        /// Number of the page that could not be loaded.
        page: PageId,
        /// Error of the backing storage.
        source: E,
    },
    /// The backing storage failed to store a dirty page. The page stays cached and dirty.
    #[error("storing page {page} failed: {source}; the page stays cached; fix the storage, then flush again")]
    Store {
        /// Number of the page that could not be stored.
        page: PageId,
        /// Error that the backing storage returned.
        source: E,
    },
    /// No frame is free, because all uncompressed pages are pinned.
    #[error("no free frame for page {page}: all other raw pages are pinned; release some page references")]
    NoRoom {
        /// Number of the requested page.
        page: PageId,
    },
    /// A buffer does not have the length of a page.
    #[error("page {page}: the buffer has {given} bytes, but a page has {page_bytes} bytes")]
    WrongLength {
        /// Number of the page that was read or written.
        page: PageId,
        /// Length in bytes of the buffer.
        given: usize,
        /// Length in bytes of a page.
        page_bytes: usize,
    },
    /// A codec could not be set up.
    #[error("cannot set up a codec: {0}")]
    Codec(#[source] io::Error),
}
