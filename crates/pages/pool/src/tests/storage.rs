//! In-memory storage with fault injection, and pages that identify themselves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use ssdlab_core::{Bytes, Rng};

use crate::{Demotion, Loader, Options, PageId, Pool, Transitions, Usage};

pub const PAGE_BYTES: usize = 1024;

/// Returns version `version` of page `id`. The page number determines the fraction of noise, from 0 to 1.
pub fn page(id: PageId, version: u64) -> Vec<u8> {
    let mut page = vec![(id % 251) as u8; PAGE_BYTES];
    let mut rng = Rng::named(id ^ version << 32, "page");
    let noise = PAGE_BYTES / 4 * (id % 5) as usize;
    page[PAGE_BYTES - noise..].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
    page[..8].copy_from_slice(&id.to_le_bytes());
    page[8..16].copy_from_slice(&version.to_le_bytes());
    page
}

/// Returns the version of a page after checking all its bytes.
pub fn version(id: PageId, bytes: &[u8]) -> u64 {
    let version = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    assert_eq!(bytes, page(id, version), "contents of page {id}, version {version}");
    version
}

#[derive(Debug, thiserror::Error)]
#[error("injected fault on page {0}")]
pub struct Failed(pub PageId);

/// In-memory storage with fault injection; clones share their contents.
#[derive(Clone, Default)]
pub struct Storage(Arc<StorageState>);

#[derive(Default)]
pub struct StorageState {
    pages: Mutex<BTreeMap<PageId, Vec<u8>>>,
    active: Mutex<BTreeMap<PageId, ()>>,
    /// All loads fail while this is true.
    pub loads_fail: AtomicBool,
    /// All stores fail while this is true.
    pub stores_fail: AtomicBool,
    /// One in this many loads and stores fails; 0 for none.
    pub fails_one_in: AtomicU64,
    /// Stores panic while this is positive.
    pub store_panics: AtomicU64,
    calls: AtomicU64,
}

impl std::ops::Deref for Storage {
    type Target = StorageState;
    fn deref(&self) -> &StorageState {
        &self.0
    }
}

impl Storage {
    /// Returns the stored version of a page.
    pub fn version(&self, id: PageId) -> u64 {
        self.pages.lock().unwrap().get(&id).map_or(0, |bytes| version(id, bytes))
    }

    fn fails(&self, always: &AtomicBool) -> bool {
        let call = self.calls.fetch_add(1, SeqCst);
        let one_in = self.fails_one_in.load(SeqCst);
        always.load(SeqCst) || (one_in > 0 && crate::hash::hash(call).is_multiple_of(one_in))
    }

    /// Calls `work`; fails if another call for the same page is active.
    fn exclusively<T>(&self, id: PageId, work: impl FnOnce() -> T) -> T {
        assert!(self.active.lock().unwrap().insert(id, ()).is_none(), "concurrent calls for page {id}");
        let result = work();
        self.active.lock().unwrap().remove(&id);
        result
    }
}

impl Loader for Storage {
    type Error = Failed;

    fn load(&self, id: PageId, out: &mut [u8]) -> Result<(), Failed> {
        self.exclusively(id, || {
            if self.fails(&self.loads_fail) {
                // The pool must not use the buffer after a failed load.
                out.fill(0xEE);
                return Err(Failed(id));
            }
            match self.pages.lock().unwrap().get(&id) {
                Some(bytes) => out.copy_from_slice(bytes),
                None => out.copy_from_slice(&page(id, 0)),
            }
            Ok(())
        })
    }

    fn store(&self, id: PageId, bytes: &[u8]) -> Result<(), Failed> {
        let panics = self.store_panics.load(SeqCst);
        if panics > 0 && self.store_panics.compare_exchange(panics, panics - 1, SeqCst, SeqCst).is_ok() {
            panic!("panic injected into the storage");
        }
        self.exclusively(id, || {
            if self.fails(&self.stores_fail) {
                return Err(Failed(id));
            }
            let new = version(id, bytes);
            let old = self.pages.lock().unwrap().insert(id, bytes.to_vec()).map_or(0, |bytes| version(id, &bytes));
            assert!(old <= new, "page {id}: version {new} stored over {old}");
            Ok(())
        })
    }
}

/// Returns options for one shard with small chunks and without workers.
pub fn options(budget_bytes: u64) -> Options {
    Options {
        shards: 1,
        chunk_bytes: 4096,
        demotion: Demotion::Synchronous,
        ..Options::new(Bytes(budget_bytes), PAGE_BYTES as u32)
    }
}

/// Checks that counters and page counts agree. No operation may be active, and no load or store may have failed.
pub fn pages_add_up(counts: &Transitions, usage: &Usage) {
    assert_eq!(
        counts.loaded + counts.restored + counts.created + counts.compressed_overwritten,
        usage.raw_pages
            + counts.compressed
            + counts.stored_raw
            + counts.incompressible_dropped
            + counts.cold_dropped
            + counts.raw_dropped,
        "{counts:?} {usage:?}"
    );
    compressed_pages_add_up(counts, usage);
}

/// Checks that counters and page counts of the compressed pool agree, also after failures.
pub fn compressed_pages_add_up(counts: &Transitions, usage: &Usage) {
    assert_eq!(
        counts.compressed + counts.stored_raw,
        usage.compressed_pages
            + counts.compressed_hits
            + counts.compressed_overwritten
            + counts.compressed_dropped
            + counts.fragmented_dropped,
        "{counts:?} {usage:?}"
    );
}

/// Audits all shards.
pub fn audit<L: Loader>(pool: &Pool<L>) {
    pool.shards().iter().for_each(|shard| shard.lock_as_worker().audit());
}
