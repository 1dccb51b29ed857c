//! What can go wrong, with the remedy.

use std::io;

use crate::PageId;

/// Options that make no cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {field} {value} makes no cache: {remedy}")]
pub struct ConfigError {
    /// The option, in words.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What to do.
    pub remedy: String,
}

impl ConfigError {
    pub(crate) fn new(field: &'static str, value: impl ToString, remedy: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), remedy: remedy.into() }
    }
}

/// Why a page could not be read or written. Whatever the error, no written page is lost.
#[derive(Debug, thiserror::Error)]
pub enum PoolError<E> {
    /// The storage below failed to load the page; it is not cached, and the next read tries again.
    #[error("loading page {page} failed: {source}")]
    Load {
        /// The page.
        page: PageId,
        /// What the loader said.
        source: E,
    },
    /// The storage below failed to take a written page. The page stays in the cache, still to be written.
    #[error("storing page {page} failed: {source}; it stays cached: make room below and flush again")]
    Store {
        /// The page.
        page: PageId,
        /// What the loader said.
        source: E,
    },
    /// Every raw page that could give way is pinned.
    #[error(
        "no room for page {page}: all raw pages beside it are pinned; drop some page references or raise the budget"
    )]
    NoRoom {
        /// The page that asked.
        page: PageId,
    },
    /// A buffer has not the length of a page.
    #[error("page {page}: the buffer has {given} bytes, pages have {page_bytes}")]
    WrongLength {
        /// The page.
        page: PageId,
        /// Length of the buffer.
        given: usize,
        /// Length of a page.
        page_bytes: usize,
    },
    /// A codec could not be set up.
    #[error("no memory for another codec: {source}")]
    Codec {
        /// What the codec's library said.
        source: io::Error,
    },
}
