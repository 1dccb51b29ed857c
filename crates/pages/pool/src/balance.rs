//! Adapts the share of the compressed pool by comparing the time that more memory would save in each pool.
//!
//! Both pools are compared as if each were larger by the same number of bytes, called the margin. With the margin, the
//! compressed pool would still hold the pages that left the cache most recently. The uncompressed pool would still hold
//! the pages that were compressed most recently. Each hit on such a page is weighted by the time that it would have
//! saved. The sums are the marginal savings per byte of each pool, up to a common factor, without simulating a second
//! cache.

use crate::PageId;
use crate::ghosts::Ghosts;

/// Memory moves only if the savings of the pools differ by at least this factor, so that noise has no effect.
const HYSTERESIS: f64 = 1.25;

/// Pool that should get more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    MoreCompressed,
    MoreRaw,
}

pub struct Balance {
    miss_us: f64,
    restore_us: f64,
    /// Number of bytes by which each pool is assumed to be larger, to compare the savings of both pools.
    margin_bytes: usize,
    frame_bytes: usize,
    /// Pages that left the cache recently.
    evicted: Ghosts,
    /// Number of pages compressed so far.
    demoted: u32,
    /// Number of misses that a compressed pool larger by `margin_bytes` would have avoided.
    nearly_compressed: u64,
    /// Number of hits on compressed pages that would have been uncompressed if the uncompressed pool were larger by
    /// `margin_bytes`.
    nearly_raw: u64,
    events: usize,
    window: usize,
}

impl Balance {
    pub fn new(miss_us: f64, restore_us: f64, margin_bytes: usize, frame_bytes: usize) -> Self {
        let frames = margin_bytes / frame_bytes;
        Self {
            miss_us,
            restore_us,
            margin_bytes,
            frame_bytes,
            // The margin could hold this many compressed pages if pages shrank to a quarter of their size.
            evicted: Ghosts::new(4 * frames),
            demoted: 0,
            nearly_compressed: 0,
            nearly_raw: 0,
            events: 0,
            window: (8 * frames).max(64),
        }
    }

    /// Records that a page is compressed; returns the page's sequence number for [`Balance::restored`].
    pub fn demoted(&mut self) -> u32 {
        self.demoted = self.demoted.wrapping_add(1);
        self.demoted
    }

    /// Records a hit on a compressed page, given the sequence number from [`Balance::demoted`].
    pub fn restored(&mut self, demoted: u32) {
        let later = self.demoted.wrapping_sub(demoted) as usize;
        self.nearly_raw += u64::from(later < self.margin_bytes / self.frame_bytes);
        self.events += 1;
    }

    pub fn evicted(&mut self, id: PageId) {
        self.evicted.insert(id);
    }

    /// Records a miss. `mean_bytes` is the mean length of compressed pages.
    pub fn missed(&mut self, id: PageId, mean_bytes: usize) {
        let later = self.evicted.take(id).map_or(usize::MAX, |later| later as usize);
        self.nearly_compressed += u64::from(later < self.margin_bytes / mean_bytes.max(1));
        self.events += 1;
    }

    /// Returns the pool that should get more memory. Returns `None` until enough events have been counted since the
    /// last comparison, or if the savings of the pools differ too little.
    pub fn verdict(&mut self) -> Option<Verdict> {
        if self.events < self.window {
            return None;
        }
        let by_compressed = self.nearly_compressed as f64 * (self.miss_us - self.restore_us);
        let by_raw = self.nearly_raw as f64 * self.restore_us;
        (self.events, self.nearly_compressed, self.nearly_raw) = (0, 0, 0);
        if by_compressed > by_raw * HYSTERESIS {
            Some(Verdict::MoreCompressed)
        } else if by_raw > by_compressed * HYSTERESIS {
            Some(Verdict::MoreRaw)
        } else {
            None
        }
    }

    pub fn bytes(&self) -> usize {
        self.evicted.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The margin is 100 frames. Compressed pages are half as long as frames, so the last 200 evictions count.
    #[test]
    fn the_larger_marginal_saving_wins() {
        let balance = || Balance::new(110.0, 10.0, 100 * 4096, 4096);
        let mut misses = balance();
        (0..300).for_each(|id| misses.evicted(id));
        // With 100 more frames of compressed pages, the last 200 evicted pages would still be cached. Only they count.
        (0..300).for_each(|id| misses.missed(id, 2048));
        assert!((195..=200).contains(&misses.nearly_compressed), "{}", misses.nearly_compressed);
        // A hit on a recently compressed page saves a tenth of what an avoided miss saves. So 1,900 such hits do not
        // outweigh the misses, but 2,600 do.
        let mut both = balance();
        let stamp = both.demoted();
        (0..200).for_each(|id| {
            both.evicted(id);
            both.missed(id, 2048);
        });
        (0..1_900).for_each(|_| both.restored(stamp));
        assert_eq!(both.verdict(), None);
        (0..200).for_each(|id| {
            both.evicted(id);
            both.missed(id, 2048);
        });
        (0..2_600).for_each(|_| both.restored(stamp));
        assert_eq!(both.verdict(), Some(Verdict::MoreRaw));
        // Hits on pages that were compressed long ago do not count in favour of the uncompressed pool.
        (0..100).for_each(|_| {
            both.demoted();
        });
        (0..2_600).for_each(|_| both.restored(stamp));
        both.evicted(1);
        both.missed(1, 2048);
        assert_eq!(both.verdict(), Some(Verdict::MoreCompressed));
        assert_eq!(both.verdict(), None, "a new window has begun");
    }
}
