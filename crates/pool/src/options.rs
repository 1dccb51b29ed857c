//! What a cache is built from, checked as a whole.

use ssdlab_codec::CodecSpec;
use ssdlab_core::Bytes;

use crate::ConfigError;
use crate::policy::{self, Choice};

/// How much of the budget compressed pages may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// This percentage, from 0 (no compressed pool) to 100 (all but the few raw pages that work needs).
    Fixed {
        /// Percentage of what the budget leaves for pages: C_% of Harper 2018, chapter 3.
        percent: f64,
    },
    /// What saves the most time: the share follows the marginal time saved by either pool.
    ///
    /// Each shard keeps two counts. Misses on pages dropped lately are what a compressed pool larger by a sixteenth of
    /// the budget would have answered; each would have saved `miss_us - restore_us`. Hits on pages compressed lately
    /// are what a raw pool larger by as much would have answered; each would have saved `restore_us`. Memory moves to
    /// the side with the larger saving.
    Adaptive {
        /// Time to load a page, in microseconds.
        miss_us: f64,
        /// Time to restore a page and to compress another one for it, in microseconds.
        restore_us: f64,
    },
}

/// Where a page goes that does not shrink enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompressible {
    /// Out of the cache.
    Drop,
    /// As it is into the compressed pool.
    StoreRaw,
}

/// Who compresses the victims of the raw pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demotion {
    /// Whoever needs room, one page at a time. With one shard and one thread all is deterministic.
    Synchronous,
    /// Background threads, in bulk; whoever needs room while they are behind helps himself.
    Background {
        /// Number of threads.
        workers: u32,
        /// Victims compressed between two looks at the shard.
        batch: u32,
    },
}

/// What a cache is built from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for raw and compressed pages, page tables and buffers.
    pub budget: Bytes,
    /// Size of a page: a power of two from 512 bytes to 1 MiB.
    pub page_bytes: u32,
    /// How much of it compressed pages may take.
    pub share: Share,
    /// How they are compressed.
    pub codec: CodecSpec,
    /// Compressed pages longer than this percentage of a page are not worth keeping.
    pub max_stored_percent: f64,
    /// Where pages go that do not shrink to that.
    pub incompressible: Incompressible,
    /// Whether pages that were asked for only once are dropped rather than compressed.
    pub drop_cold: bool,
    /// Which raw page is compressed next.
    pub raw_policy: Choice,
    /// Which compressed page is dropped next.
    pub compressed_policy: Choice,
    /// Who compresses.
    pub demotion: Demotion,
    /// Parts with a lock and a share of the budget each; a power of two.
    pub shards: u32,
    /// Unit in which memory goes to the compressed pool; a power of two.
    pub chunk_bytes: u32,
}

const PAGE_BYTES: std::ops::RangeInclusive<u32> = 512..=1 << 20;
const MOST_WORKERS: u32 = 256;
const MOST_BATCH: u32 = 4096;
/// Raw pages that each shard has at least.
pub(crate) const LEAST_FRAMES: usize = 8;
/// Memory of a raw page beside its bytes: counts of references, the allocator's header and the entry of a free list.
pub(crate) const FRAME_EXTRA_BYTES: usize = 48;

impl Options {
    /// LZ4, half of the memory for compressed pages, CLOCK, one worker.
    pub fn new(budget: Bytes, page_bytes: u32) -> Self {
        let pages = budget.0 / u64::from(page_bytes.max(1));
        Self {
            budget,
            page_bytes,
            share: Share::Fixed { percent: 50.0 },
            codec: "lz4".parse().expect("a codec of the table"),
            max_stored_percent: 75.0,
            incompressible: Incompressible::Drop,
            drop_cold: false,
            raw_policy: policy::policy("clock").expect("a policy of the table"),
            compressed_policy: policy::policy("fifo").expect("a policy of the table"),
            demotion: Demotion::Background { workers: 1, batch: (pages / 64).clamp(1, 32) as u32 },
            // Shards of at least 8 MiB of usual pages: smaller ones waste too much in chunks begun.
            shards: prev_power_of_two((pages / 2048).clamp(1, 64) as u32),
            chunk_bytes: (64 << 10).max(page_bytes.saturating_mul(8)),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        match self.demotion {
            Demotion::Synchronous => 0,
            Demotion::Background { workers, .. } => workers as usize,
        }
    }

    pub(crate) fn batch(&self) -> usize {
        match self.demotion {
            Demotion::Synchronous => 1,
            Demotion::Background { batch, .. } => batch as usize,
        }
    }

    pub(crate) fn frame_bytes(&self) -> usize {
        self.page_bytes as usize + FRAME_EXTRA_BYTES
    }

    /// Longest compressed page that is kept.
    pub(crate) fn max_stored_bytes(&self) -> usize {
        // A page as long as a raw one is one that was stored raw.
        (f64::from(self.page_bytes) * self.max_stored_percent / 100.0).min(f64::from(self.page_bytes - 1)) as usize
    }

    /// Checks what can be checked before memory is laid out.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let page = self.page_bytes;
        if !PAGE_BYTES.contains(&page) || !page.is_power_of_two() {
            let nearest = prev_power_of_two(page.clamp(*PAGE_BYTES.start(), *PAGE_BYTES.end()));
            let remedy = format!("give a power of two from 512 to 1048576, as {nearest}");
            return Err(ConfigError::new("page size", page, remedy));
        }
        if self.budget.0 < u64::from(page) {
            let remedy = format!("a page alone has {page} bytes; give some thousand times as much");
            return Err(ConfigError::new("budget", self.budget, remedy));
        }
        match self.share {
            Share::Fixed { percent } if !(0.0..=100.0).contains(&percent) => {
                return Err(ConfigError::new("share of compressed pages", percent, "give a percentage from 0 to 100"));
            }
            Share::Adaptive { miss_us, restore_us } => {
                if !(restore_us > 0.0 && restore_us.is_finite()) {
                    return Err(ConfigError::new(
                        "time to restore a page, in us,",
                        restore_us,
                        "give the microseconds it takes",
                    ));
                }
                if !(miss_us > restore_us && miss_us.is_finite()) {
                    let remedy = format!("a compressed pool can pay only if a miss takes longer than {restore_us} us");
                    return Err(ConfigError::new("time to load a page, in us,", miss_us, remedy));
                }
            }
            Share::Fixed { .. } => {}
        }
        if !(1.0..=100.0).contains(&self.max_stored_percent) {
            let remedy = "give a percentage from 1 to 100, as 75";
            return Err(ConfigError::new("longest compressed page, in percent,", self.max_stored_percent, remedy));
        }
        if let Demotion::Background { workers, batch } = self.demotion {
            if !(1..=MOST_WORKERS).contains(&workers) {
                let remedy = format!("give 1 to {MOST_WORKERS} workers, or choose synchronous demotion to have none");
                return Err(ConfigError::new("number of workers", workers, remedy));
            }
            if !(1..=MOST_BATCH).contains(&batch) {
                return Err(ConfigError::new("batch", batch, format!("give 1 to {MOST_BATCH} pages")));
            }
        }
        if !self.shards.is_power_of_two() {
            let remedy = format!("give a power of two, as {}", prev_power_of_two(self.shards.max(1)));
            return Err(ConfigError::new("number of shards", self.shards, remedy));
        }
        let chunks = page..=page.saturating_mul(1024);
        if !chunks.contains(&self.chunk_bytes) || !self.chunk_bytes.is_power_of_two() {
            let remedy = format!("give a power of two from {} to {}", chunks.start(), chunks.end());
            return Err(ConfigError::new("size of a chunk", self.chunk_bytes, remedy));
        }
        Ok(())
    }
}

/// The largest power of two that is not above `number`, which is positive.
fn prev_power_of_two(number: u32) -> u32 {
    1 << number.ilog2()
}
