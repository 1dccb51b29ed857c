//! Uncompressed pool and optional compressed pool of a [`WriteBackCache`](crate::WriteBackCache).
//!
//! ```text
//! access to an uncompressed page:  hit
//! access to a compressed page:     moves to the uncompressed pool; decompressed first unless it is fully overwritten
//! access to an absent page:        loaded into the uncompressed pool
//! uncompressed page evicted:       compressed into the compressed pool, or dropped if not worth keeping
//! compressed page evicted:         dropped
//! ```
//! The transitions of pages are the arrows of flowchart 2b of Harper, "Viability of Time-Memory Trade-Offs in Large
//! Data Sets", Dakota State University 2018; [`Transitions`] counts each arrow.
//!
//! Compressed pages are clean: the caller writes a dirty page back when it leaves the uncompressed pool, even if it
//! stays compressed. A newcomer that the policy of the uncompressed pool rejects is treated like an evicted page. The
//! policy of the compressed pool sees insertions only, because a hit removes the page. Memory is counted in pages and
//! compressed bytes; tables and fragmentation are not counted.

use ssdlab_core::counters;

use crate::{Access, CacheError, PageSizes, Policy, PolicyInfo, build_policy};

/// Options of a compressed pool.
#[derive(Clone, Copy, Debug)]
pub struct CompressedPool {
    /// Replacement policy of the compressed pages; must support items of different sizes.
    pub policy: &'static PolicyInfo,
    /// Capacity of the pool in compressed bytes, at least 1.
    pub bytes: u64,
    /// Model of the compressed sizes of pages.
    pub sizes: PageSizes,
    /// Seed of the model of page sizes.
    pub seed: u64,
}

counters! {
    /// Numbers of pages that moved between the two pools and the backing store, by type of transition, as in flowchart
    /// 2b of Harper 2018.
    pub struct Transitions {
        raw_hits: "pages", "Read accesses to raw pages.";
        compressed_hits: "pages", "Read accesses to compressed pages; the pages move to the raw pool.";
        misses: "pages", "Read accesses to uncached pages.";
        raw_overwritten: "pages", "Write accesses to raw pages.";
        compressed_overwritten: "pages", "Write accesses to compressed pages.";
        created: "pages", "Write accesses to uncached pages.";
        restored: "pages", "Compressed pages decompressed into the raw pool, for reads and partial writes.";
        loaded: "pages", "Pages read from the layer below into the raw pool.";
        compressed: "pages", "Raw pages moved to the compressed pool.";
        incompressible_dropped: "pages", "Raw pages dropped because they did not shrink enough.";
        raw_dropped: "pages", "Raw pages dropped because the compressed pool is missing or too small for the page.";
        compressed_dropped: "pages", "Compressed pages evicted from the compressed pool.";
        raw_trimmed: "pages", "Raw pages dropped by trims.";
        compressed_trimmed: "pages", "Compressed pages dropped by trims.";
    }
}

impl Transitions {
    /// Returns the number of pages evicted from the uncompressed pool. If there is a compressed pool, the cache tried
    /// to compress each of them.
    pub fn demoted(&self) -> u64 {
        self.compressed + self.incompressible_dropped + self.raw_dropped
    }

    /// Returns the number of pages evicted from the cache.
    pub fn dropped(&self) -> u64 {
        self.incompressible_dropped + self.raw_dropped + self.compressed_dropped
    }
}

/// Type of access to a page of the simulated cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    Read,
    /// A write that covers only part of the page.
    WrittenInPart,
    WrittenWhole,
}

#[derive(Debug)]
struct Compressed {
    policy: Box<dyn Policy>,
    options: CompressedPool,
    pages: u64,
    dropped: Vec<u32>,
}

/// An uncompressed pool and an optional compressed pool.
#[derive(Debug)]
pub(crate) struct Pools {
    /// The uncompressed pool.
    pub raw: Box<dyn Policy>,
    compressed: Option<Compressed>,
    page_bytes: u32,
    pub counts: Transitions,
}

impl Pools {
    /// Creates an uncompressed pool without a compressed pool.
    pub fn new(raw: Box<dyn Policy>, page_bytes: u32) -> Self {
        Self { raw, compressed: None, page_bytes, counts: Transitions::default() }
    }

    /// Adds an empty compressed pool below the uncompressed pool.
    pub fn compress(&mut self, options: CompressedPool) -> Result<(), CacheError> {
        options.sizes.check()?;
        if options.policy.role.needs_future {
            return Err(CacheError::NeedsFuture { policy: options.policy.name });
        }
        let policy = build_policy(options.policy, &[], options.bytes, 0, false)?;
        self.compressed = Some(Compressed { policy, options, pages: 0, dropped: Vec::new() });
        Ok(())
    }

    /// Returns the number of compressed pages and their total compressed size in bytes.
    pub fn compressed(&self) -> (u64, u64) {
        self.compressed.as_ref().map_or((0, 0), |pool| (pool.pages, pool.policy.used()))
    }

    pub fn is_compressed(&self, item: u32) -> bool {
        self.compressed.as_ref().is_some_and(|pool| pool.policy.contains(item))
    }

    pub fn grow(&mut self, items: u32) {
        self.raw.grow(items);
        if let Some(pool) = &mut self.compressed {
            pool.policy.grow(items);
        }
    }

    /// Accesses a page; returns true if either pool held the page. `victims` receives the items of the pages that leave
    /// the uncompressed pool; `page` maps items to page numbers.
    pub fn access(&mut self, item: u32, touch: Touch, page: impl Fn(u32) -> u64, victims: &mut Vec<u32>) -> bool {
        let first = victims.len();
        let raw = self.raw.access(Access::new(item, 1), victims);
        let compressed = !raw && self.compressed.as_mut().is_some_and(|pool| pool.take(item));
        let counts = &mut self.counts;
        let (raw_count, compressed_count, absent_count) = match touch {
            Touch::Read => (&mut counts.raw_hits, &mut counts.compressed_hits, &mut counts.misses),
            _ => (&mut counts.raw_overwritten, &mut counts.compressed_overwritten, &mut counts.created),
        };
        *raw_count += u64::from(raw);
        *compressed_count += u64::from(compressed);
        *absent_count += u64::from(!raw && !compressed);
        if touch != Touch::WrittenWhole {
            counts.restored += u64::from(compressed);
            counts.loaded += u64::from(!raw && !compressed);
        }
        for &victim in &victims[first..] {
            match &mut self.compressed {
                None => counts.raw_dropped += 1,
                Some(pool) => pool.put(victim, page(victim), self.page_bytes, counts),
            }
        }
        raw || compressed
    }

    /// Drops a trimmed page from both pools.
    pub fn trim(&mut self, item: u32) {
        self.counts.raw_trimmed += u64::from(self.raw.contains(item));
        self.raw.remove(item);
        if let Some(pool) = &mut self.compressed {
            self.counts.compressed_trimmed += u64::from(pool.take(item));
            // Also removes the ghost entry that the policy may still have for the page.
            pool.policy.remove(item);
        }
    }
}

impl Compressed {
    /// Removes a page from the compressed pool; returns true if the pool held it.
    fn take(&mut self, item: u32) -> bool {
        let cached = self.policy.contains(item);
        if cached {
            self.policy.remove(item);
            self.pages -= 1;
        }
        cached
    }

    /// Inserts a page into the compressed pool if the page is compressible.
    fn put(&mut self, item: u32, page: u64, page_bytes: u32, counts: &mut Transitions) {
        match self.options.sizes.stored_bytes(page, page_bytes, self.options.seed) {
            None => counts.incompressible_dropped += 1,
            Some(bytes) if u64::from(bytes) > self.policy.capacity() => counts.raw_dropped += 1,
            Some(bytes) => {
                self.policy.access(Access::new(item, bytes), &mut self.dropped);
                let dropped = self.dropped.len() as u64;
                self.dropped.clear();
                counts.compressed += 1;
                counts.compressed_dropped += dropped;
                self.pages = self.pages + 1 - dropped;
            }
        }
    }
}
