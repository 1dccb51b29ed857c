//! What a [`Stage`](crate::Stage) holds: raw pages, and compressed ones if there is a pool for them.
//!
//! ```text
//! page is raw:         a hit
//! page is compressed:  it leaves the compressed pool and is restored to the raw pool, unless it is written whole
//! page is absent:      it comes into the raw pool
//! raw page gives way:  it is compressed; it goes to the compressed pool, or is dropped if it is not worth keeping
//! compressed page gives way:  it is dropped
//! ```
//! These are the arrows of flowchart 2b of Harper, "Viability of Time-Memory Trade-Offs in Large Data Sets", Dakota
//! State University 2018; [`Transitions`] counts each. Compressed pages are clean: whoever drives the pools writes a
//! dirty page below when it leaves the raw pool, whether it stays compressed or not. A newcomer that the raw policy
//! turns away is a victim like any other. The policy of the compressed pool sees arrivals only, as a hit takes the page
//! away. Memory is pages and compressed bytes, without tables and without gaps between them.

use ssdlab_core::counters;

use crate::{Access, CacheError, PageSizes, Policy, PolicyInfo, build_policy};

/// A compressed pool.
#[derive(Clone, Copy, Debug)]
pub struct CompressedPool {
    /// Which compressed page is dropped first; a policy for items of different sizes.
    pub policy: &'static PolicyInfo,
    /// Bytes of compressed pages that it holds, at least 1.
    pub bytes: u64,
    /// How pages shrink.
    pub sizes: PageSizes,
    /// Seed of their sizes.
    pub seed: u64,
}

counters! {
    /// Every transition of a page between two pools and what lies below, as in flowchart 2b of Harper 2018.
    pub struct Transitions {
        raw_hits: "pages", "Pages touched by reads that were raw.";
        compressed_hits: "pages", "Pages touched by reads that were compressed, which takes them out of the compressed pool.";
        misses: "pages", "Pages touched by reads that were not cached.";
        raw_overwritten: "pages", "Pages touched by writes that were raw.";
        compressed_overwritten: "pages", "Pages touched by writes that were compressed.";
        created: "pages", "Pages touched by writes that were not cached.";
        restored: "pages", "Compressed pages restored to the raw pool: those read, and those written in part.";
        loaded: "pages", "Pages read below into the raw pool.";
        compressed: "pages", "Raw pages that went compressed to the compressed pool.";
        incompressible_dropped: "pages", "Raw pages dropped because they did not shrink enough.";
        raw_dropped: "pages", "Raw pages dropped because there is no compressed pool, or one too small for the page.";
        compressed_dropped: "pages", "Compressed pages dropped by the policy of the compressed pool.";
        raw_trimmed: "pages", "Raw pages dropped by trims.";
        compressed_trimmed: "pages", "Compressed pages dropped by trims.";
    }
}

impl Transitions {
    /// Pages that left the raw pool for want of room. Each was compressed, if there is a compressed pool.
    pub fn demoted(&self) -> u64 {
        self.compressed + self.incompressible_dropped + self.raw_dropped
    }

    /// Pages that left the cache for want of room.
    pub fn dropped(&self) -> u64 {
        self.incompressible_dropped + self.raw_dropped + self.compressed_dropped
    }
}

/// What a page is touched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    Read,
    /// A write that leaves some of the page as it was.
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

/// A raw pool, and a compressed one if there is one.
#[derive(Debug)]
pub(crate) struct Pools {
    raw: Box<dyn Policy>,
    compressed: Option<Compressed>,
    page_bytes: u32,
    counts: Transitions,
}

impl Pools {
    /// A raw pool of pages of this size.
    pub fn new(raw: Box<dyn Policy>, page_bytes: u32) -> Self {
        Self { raw, compressed: None, page_bytes, counts: Transitions::default() }
    }

    /// Adds an empty compressed pool.
    pub fn compress(&mut self, options: CompressedPool) -> Result<(), CacheError> {
        options.sizes.check()?;
        if options.policy.role.needs_future {
            return Err(CacheError::NeedsFuture { policy: options.policy.name });
        }
        let policy = build_policy(options.policy, &[], options.bytes, 0, false)?;
        self.compressed = Some(Compressed { policy, options, pages: 0, dropped: Vec::new() });
        Ok(())
    }

    pub fn counts(&self) -> Transitions {
        self.counts
    }

    pub fn raw_pages(&self) -> u64 {
        self.raw.used()
    }

    /// Compressed pages and their bytes.
    pub fn compressed(&self) -> (u64, u64) {
        self.compressed.as_ref().map_or((0, 0), |pool| (pool.pages, pool.policy.used()))
    }

    pub fn is_raw(&self, item: u32) -> bool {
        self.raw.contains(item)
    }

    pub fn is_compressed(&self, item: u32) -> bool {
        self.compressed.as_ref().is_some_and(|pool| pool.policy.contains(item))
    }

    /// Items are below this number from now on.
    pub fn grow(&mut self, items: u32) {
        self.raw.grow(items);
        if let Some(pool) = &mut self.compressed {
            pool.policy.grow(items);
        }
    }

    /// Touches a page: whether it was cached, in either pool. Those that leave the raw pool are appended to `victims`;
    /// `page` tells the pages of items.
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

    /// Forgets a page.
    pub fn trim(&mut self, item: u32) {
        self.counts.raw_trimmed += u64::from(self.is_raw(item));
        self.raw.remove(item);
        if let Some(pool) = &mut self.compressed {
            self.counts.compressed_trimmed += u64::from(pool.take(item));
            // It may be remembered.
            pool.policy.remove(item);
        }
    }
}

impl Compressed {
    /// Takes a page out, if it is there.
    fn take(&mut self, item: u32) -> bool {
        let there = self.policy.contains(item);
        if there {
            self.policy.remove(item);
            self.pages -= 1;
        }
        there
    }

    /// Takes a page in, if it shrinks.
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
