//! Compares the cache on one thread with a simple model: two naive policies, page maps, and flowchart 2b of Harper
//! 2018.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use ssdlab_codec::{Codec, Corrupt};

use super::naive::{Naive, naive};
use super::storage::{PAGE_BYTES, Storage, audit, options, pages_add_up};
use crate::policy::policies;
use crate::shard::Expected;
use crate::slabs::Slabs;
use crate::{Incompressible, PageId, Pool, Share, Source, Transitions};

/// Codec that halves pages, except if the page number is a multiple of three; such pages are incompressible.
struct Halving;

impl Codec for Halving {
    fn compress(&mut self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        let id = u64::from_le_bytes(page[..8].try_into().unwrap());
        let half = page.len() / 2;
        out[..half].copy_from_slice(&page[..half]);
        (!id.is_multiple_of(3)).then_some(half)
    }

    fn decompress(&mut self, bytes: &[u8], page: &mut [u8]) -> Result<(), Corrupt> {
        let half = page.len() / 2;
        page[..half].copy_from_slice(bytes);
        page[half..].fill(0);
        Ok(())
    }
}

struct Obvious {
    raw: Box<dyn Naive>,
    raw_capacity: usize,
    /// Uncompressed pages; the flag is true if the page is dirty.
    raw_pages: BTreeMap<PageId, bool>,
    compressed: Box<dyn Naive>,
    compressed_capacity: usize,
    compressed_pages: BTreeMap<PageId, ()>,
    counts: Transitions,
}

impl Obvious {
    fn make_room(&mut self) {
        if self.raw_pages.len() < self.raw_capacity {
            return;
        }
        let victim = self.raw.victim().unwrap();
        self.counts.demoted_by_callers += 1;
        self.counts.written_back += u64::from(self.raw_pages.remove(&victim).unwrap());
        if self.compressed_capacity == 0 {
            self.counts.raw_dropped += 1;
        } else if victim.is_multiple_of(3) {
            self.counts.incompressible_dropped += 1;
        } else {
            if self.compressed_pages.len() == self.compressed_capacity {
                let dropped = self.compressed.victim().unwrap();
                self.compressed_pages.remove(&dropped);
                self.counts.compressed_dropped += 1;
            }
            self.compressed.insert(victim);
            self.compressed_pages.insert(victim, ());
            self.counts.compressed += 1;
        }
    }

    fn take_out(&mut self, id: PageId) -> bool {
        let was_compressed = self.compressed_pages.remove(&id).is_some();
        if was_compressed {
            self.compressed.remove(id);
        }
        was_compressed
    }

    fn read(&mut self, id: PageId) -> Source {
        if self.raw_pages.contains_key(&id) {
            self.raw.hit(id);
            self.counts.raw_hits += 1;
            return Source::Raw;
        }
        let source = if self.take_out(id) { Source::Compressed } else { Source::Loader };
        self.make_room();
        match source {
            Source::Compressed => {
                self.counts.compressed_hits += 1;
                self.counts.restored += 1;
            }
            _ => {
                self.counts.misses += 1;
                self.counts.loaded += 1;
            }
        }
        self.raw.insert(id);
        self.raw_pages.insert(id, false);
        source
    }

    fn write(&mut self, id: PageId) {
        if self.raw_pages.contains_key(&id) {
            self.raw.hit(id);
            self.raw_pages.insert(id, true);
            self.counts.raw_overwritten += 1;
            return;
        }
        let was_compressed = self.take_out(id);
        self.make_room();
        *(if was_compressed { &mut self.counts.compressed_overwritten } else { &mut self.counts.created }) += 1;
        self.raw.insert(id);
        self.raw_pages.insert(id, true);
    }
}

/// Returns the number of half-size pages that fit in `limit_bytes`. Chunks are added while the largest chunk would fit.
fn compressed_capacity(limit_bytes: usize) -> usize {
    let mut slabs = Slabs::new(4096, PAGE_BYTES);
    let mut pages = 0;
    while slabs.bytes() + slabs.chunk_cost() <= limit_bytes {
        slabs.add_chunk();
        while slabs.store(&[0; PAGE_BYTES / 2], 0, usize::MAX).is_some() {
            pages += 1;
        }
    }
    pages
}

/// Returns a page whose second half is zero, so that [`Halving`] restores it exactly.
fn page(id: PageId, version: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    page[..8].copy_from_slice(&id.to_le_bytes());
    page[8..16].copy_from_slice(&version.to_le_bytes());
    page
}

/// In-memory storage of pages of [`page`].
#[derive(Clone, Default)]
struct PageStorage(Arc<std::sync::Mutex<BTreeMap<PageId, Vec<u8>>>>);

impl crate::Loader for PageStorage {
    type Error = std::io::Error;
    fn load(&self, id: PageId, out: &mut [u8]) -> Result<(), Self::Error> {
        out.copy_from_slice(self.0.lock().unwrap().get(&id).unwrap_or(&page(id, 0)));
        Ok(())
    }
    fn store(&self, id: PageId, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.lock().unwrap().insert(id, bytes.to_vec());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(256))]

    #[test]
    fn cache_matches_the_simple_model(
        steps in prop::collection::vec((0_u8..5, 0_u64..220), 1..1500),
        raw in prop::sample::select(policies().collect::<Vec<_>>()),
        compressed in prop::sample::select(policies().collect::<Vec<_>>()),
        percent in prop::sample::select(vec![0.0, 30.0, 60.0, 100.0]),
    ) {
        // The smallest budget that leaves room for pages with the tables of every pair of policies.
        let mut options = options(112 << 10);
        options.share = Share::Fixed { percent };
        options.raw_policy = raw.clone();
        options.compressed_policy = compressed.clone();
        let storage = PageStorage::default();
        let pool = Pool::with_codec(options.clone(), storage.clone(), Arc::new(|| Ok(Box::new(Halving)))).unwrap();
        let limit = pool.usage().compressed_limit_bytes as usize;
        let (raw_capacity, budget_bytes) = {
            let shard = pool.shards()[0].read();
            (shard.raw_limit(), shard.budget_bytes())
        };
        let mut obvious = Obvious {
            raw: naive(&raw, raw_capacity),
            raw_capacity,
            raw_pages: BTreeMap::new(),
            compressed: naive(&compressed, Expected::new(&options, budget_bytes).compressed_pages),
            compressed_capacity: compressed_capacity(limit),
            compressed_pages: BTreeMap::new(),
            counts: Transitions::default(),
        };
        let mut versions = BTreeMap::new();
        let mut out = vec![0; PAGE_BYTES];
        for (step, (action, id)) in steps.into_iter().enumerate() {
            // Most accesses go to an eighth of the pages.
            let id = if action % 2 == 0 { id / 8 } else { id };
            if action == 4 {
                pool.write(id, &page(id, step as u64)).unwrap();
                versions.insert(id, step as u64);
                obvious.write(id);
            } else {
                let source = pool.read(id, &mut out).unwrap();
                prop_assert_eq!(source, obvious.read(id), "step {}", step);
                prop_assert_eq!(&out, &page(id, versions.get(&id).copied().unwrap_or(0)));
            }
            prop_assert_eq!(pool.transitions(), obvious.counts, "step {}", step);
        }
        let usage = pool.usage();
        prop_assert_eq!(usage.raw_pages as usize, obvious.raw_pages.len());
        prop_assert_eq!(usage.compressed_pages as usize, obvious.compressed_pages.len());
        prop_assert_eq!(usage.dirty_pages as usize, obvious.raw_pages.values().filter(|dirty| **dirty).count());
        pages_add_up(&pool.transitions(), &usage);
        pool.shards()[0].read().audit();
        pool.flush().unwrap();
        for (id, version) in versions {
            prop_assert!(storage.0.lock().unwrap().get(&id) == Some(&page(id, version)));
        }
    }

    /// Checks contents, counters and budget with real codecs and every option.
    #[test]
    fn any_cache_returns_what_was_written(
        steps in prop::collection::vec((0_u8..5, 0_u64..400), 1..1500),
        kib in 90_u64..200,
        policies in prop::sample::subsequence(policies().collect::<Vec<_>>(), 2),
        codec in prop::sample::select(vec!["none", "lz4", "zstd:1", "libdeflate"]),
        share in prop::sample::select(vec![
            Share::Fixed { percent: 0.0 },
            Share::Fixed { percent: 50.0 },
            Share::Fixed { percent: 90.0 },
            Share::Adaptive { miss_us: 100.0, restore_us: 10.0 },
        ]),
        store_raw: bool,
        drop_cold: bool,
    ) {
        let mut options = options(kib << 10);
        options.codec = codec.parse().unwrap();
        options.share = share;
        [options.raw_policy, options.compressed_policy] = policies.try_into().unwrap();
        options.incompressible = if store_raw { Incompressible::StoreRaw } else { Incompressible::Drop };
        options.drop_cold = drop_cold;
        let storage = Storage::default();
        let pool = Pool::new(options, storage.clone()).unwrap();
        let mut versions = BTreeMap::new();
        let mut out = vec![0; PAGE_BYTES];
        let mut reads = 0;
        for (step, (action, id)) in steps.into_iter().enumerate() {
            let id = if action % 2 == 0 { id / 4 } else { id };
            if action == 4 {
                versions.insert(id, step as u64 + 1);
                pool.write(id, &super::storage::page(id, step as u64 + 1)).unwrap();
            } else {
                reads += 1;
                pool.read(id, &mut out).unwrap();
                prop_assert_eq!(super::storage::version(id, &out), versions.get(&id).copied().unwrap_or(0));
            }
            prop_assert!(pool.usage().total_bytes() <= kib << 10);
        }
        let counts = pool.transitions();
        prop_assert_eq!(counts.raw_hits + counts.compressed_hits + counts.misses, reads);
        pages_add_up(&counts, &pool.usage());
        audit(&pool);
        drop(pool);
        prop_assert!(versions.iter().all(|(&id, &version)| storage.version(id) == version), "dropping flushes");
    }
}
