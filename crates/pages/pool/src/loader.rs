//! Interfaces that the owner of the cache implements: backing storage, and codecs for its threads.

use std::io;
use std::sync::Arc;

use ssdlab_codec::Codec;

use crate::PageId;

/// Backing storage. Several threads may call it at the same time, but never for the same page.
pub trait Loader: Send + Sync + 'static {
    /// Error of a failed load or store.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads page `id`; must fill the whole buffer `page`. Returns any error of the storage; the page is then not
    /// cached.
    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes the bytes of page `id` to the storage. Returns any error of the storage; the page then stays in the
    /// cache.
    fn store(&self, id: PageId, page: &[u8]) -> Result<(), Self::Error>;
}

/// Function that creates a codec for each thread that needs one.
pub type CodecFactory = Arc<dyn Fn() -> io::Result<Box<dyn Codec>> + Send + Sync>;
