//! Options of a cache and their validation.

use ssdlab_codec::CodecSpec;
use ssdlab_core::Bytes;

use crate::ConfigError;
use crate::policy::{self, Choice};

/// Share of the cache's memory budget for compressed pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Fixed percentage, from 0 (no compressed pool) to 100 (only the minimum number of uncompressed pages).
    Fixed {
        /// The compressed pool gets this percentage of the budget that remains for pages: C_% in Harper 2018, chapter
        /// 3.
        percent: f64,
    },
    /// Adaptive share: memory moves to the pool where more memory saves more time.
    ///
    /// Each shard counts two types of events: misses on recently dropped pages, which the compressed pool would have
    /// avoided with another sixteenth of the budget, saving `miss_us - restore_us` each; and restorations of recently
    /// compressed pages, which the uncompressed pool would have avoided with the same additional memory, saving
    /// `restore_us` each.
    Adaptive {
        /// Time to load a page, in microseconds.
        miss_us: f64,
        /// Total time, in microseconds, to restore a page and to compress another page to make room for it.
        restore_us: f64,
    },
}

/// Treatment of pages that do not shrink enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompressible {
    /// The page is dropped from the cache.
    Drop,
    /// The page moves uncompressed to the compressed pool.
    StoreRaw,
}

/// Threads that compress the victims of the uncompressed pool: calling threads or background workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demotion {
    /// A thread that needs a frame compresses a page itself, one page at a time. Deterministic with one shard and one
    /// thread.
    Synchronous,
    /// Background workers compress in bulk. A thread that needs a frame before the workers have freed one compresses a
    /// page itself.
    Background {
        /// Number of background workers.
        workers: u32,
        /// Number of victims that a worker takes in one batch.
        batch: u32,
    },
}

/// Options of a cache.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for uncompressed and compressed pages, page tables and buffers.
    pub budget: Bytes,
    /// Size of a page: a power of two from 512 bytes to 1 MiB.
    pub page_bytes: u32,
    /// Share of the budget that is used for compressed pages.
    pub share: Share,
    /// Codec of compressed pages.
    pub codec: CodecSpec,
    /// Maximum compressed size, in percent of a page, at which a page is kept compressed.
    pub max_stored_percent: f64,
    /// Treatment of pages that do not shrink to `max_stored_percent`.
    pub incompressible: Incompressible,
    /// True if pages requested only once are dropped instead of compressed.
    pub drop_cold: bool,
    /// Policy that selects the uncompressed page to compress.
    pub raw_policy: Choice,
    /// Policy that selects the compressed page to drop.
    pub compressed_policy: Choice,
    /// Threads that compress victims of the uncompressed pool.
    pub demotion: Demotion,
    /// Number of shards, each with its own lock and part of the budget; a power of two.
    pub shards: u32,
    /// Unit of memory allocation of the compressed pool; a power of two.
    pub chunk_bytes: u32,
}

const PAGE_BYTES: std::ops::RangeInclusive<u32> = 512..=1 << 20;
const MAX_WORKERS: u32 = 256;
const MAX_BATCH: u32 = 4096;
/// Minimum number of uncompressed pages per shard.
pub(crate) const MIN_FRAMES: usize = 8;
/// Overhead of an uncompressed page: reference counts, allocator header and free-list entry.
pub(crate) const FRAME_EXTRA_BYTES: usize = 48;

impl Options {
    /// Returns the defaults: LZ4, half of the memory for compressed pages, CLOCK, one worker.
    pub fn new(budget: Bytes, page_bytes: u32) -> Self {
        let pages = budget.0 / u64::from(page_bytes.max(1));
        Self {
            budget,
            page_bytes,
            share: Share::Fixed { percent: 50.0 },
            codec: "lz4".parse().expect("the default codec exists"),
            max_stored_percent: 75.0,
            incompressible: Incompressible::Drop,
            drop_cold: false,
            raw_policy: policy::policy("clock").expect("the default policy exists"),
            compressed_policy: policy::policy("fifo").expect("the default policy exists"),
            demotion: Demotion::Background { workers: 1, batch: (pages / 64).clamp(1, 32) as u32 },
            // Uses at least 2048 pages per shard, because smaller shards waste too much memory in partly filled chunks.
            shards: prev_power_of_two((pages / 2048).clamp(1, 64) as u32),
            chunk_bytes: (64 << 10).max(page_bytes.saturating_mul(8)),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        if let Demotion::Background { workers, .. } = self.demotion { workers as usize } else { 0 }
    }

    pub(crate) fn batch(&self) -> usize {
        if let Demotion::Background { batch, .. } = self.demotion { batch as usize } else { 1 }
    }

    pub(crate) fn frame_bytes(&self) -> usize {
        self.page_bytes as usize + FRAME_EXTRA_BYTES
    }

    /// Returns the maximum compressed size, in bytes, at which a page is kept compressed.
    pub(crate) fn max_stored_bytes(&self) -> usize {
        // The result is at least one byte less than a page, because a stored length equal to the page size marks a page
        // stored uncompressed.
        (f64::from(self.page_bytes) * self.max_stored_percent / 100.0).min(f64::from(self.page_bytes - 1)) as usize
    }

    /// Validates the options. [`Shard::new`](crate::shard::Shard::new) later checks if the budget suffices.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let page = self.page_bytes;
        if !PAGE_BYTES.contains(&page) || !page.is_power_of_two() {
            let nearest = prev_power_of_two(page.clamp(*PAGE_BYTES.start(), *PAGE_BYTES.end()));
            let remedy = format!("must be a power of two from 512 to 1048576 bytes, such as {nearest}");
            return Err(ConfigError::new("page size", page, remedy));
        }
        if self.budget.0 < u64::from(page) {
            let remedy = format!("a single page needs {page} bytes; raise the budget to at least 1000 times this size");
            return Err(ConfigError::new("budget", self.budget, remedy));
        }
        match self.share {
            Share::Fixed { percent } if !(0.0..=100.0).contains(&percent) => {
                return Err(ConfigError::new("share of compressed pages", percent, "must be from 0 to 100 %"));
            }
            Share::Adaptive { miss_us, restore_us } => {
                if !(restore_us > 0.0 && restore_us.is_finite()) {
                    let remedy = "must be finite and above 0";
                    return Err(ConfigError::new("time to restore a page", format!("{restore_us} us"), remedy));
                }
                if !(miss_us > restore_us && miss_us.is_finite()) {
                    let remedy = format!("must be finite and longer than the time to restore a page, {restore_us} us");
                    return Err(ConfigError::new("time to load a page", format!("{miss_us} us"), remedy));
                }
            }
            Share::Fixed { .. } => {}
        }
        if !(1.0..=100.0).contains(&self.max_stored_percent) {
            let value = format!("{} %", self.max_stored_percent);
            return Err(ConfigError::new("longest compressed page", value, "must be from 1 to 100 % of the page size"));
        }
        if let Demotion::Background { workers, batch } = self.demotion {
            if !(1..=MAX_WORKERS).contains(&workers) {
                let remedy = format!("must be 1 to {MAX_WORKERS}; to use no workers, choose synchronous demotion");
                return Err(ConfigError::new("number of workers", workers, remedy));
            }
            if !(1..=MAX_BATCH).contains(&batch) {
                return Err(ConfigError::new("batch", batch, format!("must be 1 to {MAX_BATCH} pages")));
            }
        }
        if !self.shards.is_power_of_two() {
            let remedy = format!("must be a power of two, such as {}", prev_power_of_two(self.shards.max(1)));
            return Err(ConfigError::new("number of shards", self.shards, remedy));
        }
        let chunks = page..=page.saturating_mul(1024);
        if !chunks.contains(&self.chunk_bytes) || !self.chunk_bytes.is_power_of_two() {
            let remedy = format!("must be a power of two from {} to {} bytes", chunks.start(), chunks.end());
            return Err(ConfigError::new("size of a chunk", self.chunk_bytes, remedy));
        }
        Ok(())
    }
}

/// Returns the largest power of two up to `number`, which must be positive.
fn prev_power_of_two(number: u32) -> u32 {
    1 << number.ilog2()
}
