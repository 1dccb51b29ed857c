//! A storage in memory that can fail, and pages that tell what they are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use ssdlab_core::{Bytes, Rng};

use crate::{Demotion, Loader, Options, PageId, Pool, Transitions, Usage};

pub const PAGE_BYTES: usize = 1024;

/// Version `version` of page `id`: how much of it is noise depends on the page, from none to all.
pub fn page(id: PageId, version: u64) -> Vec<u8> {
    let mut page = vec![(id % 251) as u8; PAGE_BYTES];
    let mut rng = Rng::named(id ^ version << 32, "page");
    let noise = PAGE_BYTES / 4 * (id % 5) as usize;
    page[PAGE_BYTES - noise..].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
    page[..8].copy_from_slice(&id.to_le_bytes());
    page[8..16].copy_from_slice(&version.to_le_bytes());
    page
}

/// The version of a page, all of whose bytes must be right.
pub fn version(id: PageId, bytes: &[u8]) -> u64 {
    let version = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    assert_eq!(bytes, page(id, version), "page {id}, which says that it is version {version}");
    version
}

#[derive(Debug, thiserror::Error)]
#[error("no luck with page {0}")]
pub struct Failed(pub PageId);

/// What a [`Storage`] holds and how it fails; clones are the same storage.
#[derive(Clone, Default)]
pub struct Storage(Arc<Held>);

#[derive(Default)]
pub struct Held {
    pages: Mutex<BTreeMap<PageId, Vec<u8>>>,
    at_work: Mutex<BTreeMap<PageId, ()>>,
    /// Loads and stores fail.
    pub loads_fail: AtomicBool,
    pub stores_fail: AtomicBool,
    /// One in so many loads and stores fails; 0 for none.
    pub fails_one_in: AtomicU64,
    /// Stores panic while this is positive.
    pub store_panics: AtomicU64,
    calls: AtomicU64,
}

impl std::ops::Deref for Storage {
    type Target = Held;
    fn deref(&self) -> &Held {
        &self.0
    }
}

impl Storage {
    /// The version that is stored.
    pub fn version(&self, id: PageId) -> u64 {
        self.pages.lock().unwrap().get(&id).map_or(0, |bytes| version(id, bytes))
    }

    fn fails(&self, always: &AtomicBool) -> bool {
        let call = self.calls.fetch_add(1, SeqCst);
        let one_in = self.fails_one_in.load(SeqCst);
        always.load(SeqCst) || (one_in > 0 && crate::hash::hash(call).is_multiple_of(one_in))
    }

    fn alone<T>(&self, id: PageId, work: impl FnOnce() -> T) -> T {
        assert!(self.at_work.lock().unwrap().insert(id, ()).is_none(), "two calls at a time for page {id}");
        let result = work();
        self.at_work.lock().unwrap().remove(&id);
        result
    }
}

impl Loader for Storage {
    type Error = Failed;

    fn load(&self, id: PageId, out: &mut [u8]) -> Result<(), Failed> {
        self.alone(id, || {
            if self.fails(&self.loads_fail) {
                // What a failing storage leaves behind must not matter.
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
            panic!("the storage panics, as this test wants");
        }
        self.alone(id, || {
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

/// One shard, small chunks, everything done by the caller.
pub fn options(budget_bytes: u64) -> Options {
    Options {
        shards: 1,
        chunk_bytes: 4096,
        demotion: Demotion::Synchronous,
        ..Options::new(Bytes(budget_bytes), PAGE_BYTES as u32)
    }
}

/// Compares what was counted with what is there; nobody may be at work, and no store or load may have failed.
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

/// The same for the compressed pool alone, whatever failed.
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

/// Counts all shards anew.
pub fn audit<L: Loader>(pool: &Pool<L>) {
    pool.shards().iter().for_each(|shard| shard.hold_as_worker().audit());
}
