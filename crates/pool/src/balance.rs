//! How much of a shard compressed pages may take, from what more memory would have saved in either pool.
//!
//! Both counts look at the same number of bytes beyond the present size: the pages that left the cache last are those
//! that a larger compressed pool would still have, and the pages compressed last are those that a larger raw pool would
//! have kept raw. Counting hits on either, weighted by the time each would have saved, gives the marginal saving per
//! byte of either pool up to the same factor, without simulating a second cache.

use crate::PageId;
use crate::ghosts::Ghosts;

/// Savings must differ by this factor before memory moves, so that noise alone moves none.
const HYSTERESIS: f64 = 1.25;

/// Which pool deserves more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    MoreCompressed,
    MoreRaw,
}

pub struct Balance {
    miss_us: f64,
    restore_us: f64,
    /// Bytes beyond either pool that are looked at.
    margin_bytes: usize,
    frame_bytes: usize,
    /// Pages that left the cache.
    gone: Ghosts,
    /// Pages compressed so far.
    demoted: u32,
    /// Misses that `margin_bytes` more of compressed pages would have answered, and hits on compressed pages that as
    /// much more of raw pages would have.
    nearly_compressed: u64,
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
            // Room for pages that shrink to a quarter.
            gone: Ghosts::new(4 * frames),
            demoted: 0,
            nearly_compressed: 0,
            nearly_raw: 0,
            events: 0,
            window: (8 * frames).max(64),
        }
    }

    /// A page becomes compressed; the number goes to [`Balance::restored`].
    pub fn demoted(&mut self) -> u32 {
        self.demoted = self.demoted.wrapping_add(1);
        self.demoted
    }

    /// A compressed page is hit.
    pub fn restored(&mut self, demoted: u32) {
        let later = self.demoted.wrapping_sub(demoted) as usize;
        self.nearly_raw += u64::from(later < self.margin_bytes / self.frame_bytes);
        self.events += 1;
    }

    /// A page leaves the cache.
    pub fn gone(&mut self, id: PageId) {
        self.gone.leave(id);
    }

    /// A page is not in the cache, whose compressed pages have `mean_bytes`.
    pub fn missed(&mut self, id: PageId, mean_bytes: usize) {
        let later = self.gone.back(id).map_or(usize::MAX, |later| later as usize);
        self.nearly_compressed += u64::from(later < self.margin_bytes / mean_bytes.max(1));
        self.events += 1;
    }

    /// Once in a while, which pool deserves more.
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
        self.gone.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 frames of margin; compressed pages are half as long, so 200 departures count.
    #[test]
    fn the_larger_marginal_saving_wins() {
        let balance = || Balance::new(110.0, 10.0, 100 * 4096, 4096);
        let mut misses = balance();
        (0..300).for_each(|id| misses.gone(id));
        // The last 200 departures would still be there; the others count for nothing.
        (0..300).for_each(|id| misses.missed(id, 2048));
        assert!((195..=200).contains(&misses.nearly_compressed), "{}", misses.nearly_compressed);
        // A hit on a page compressed lately saves a tenth of that: 1,900 of them are not enough, 2,600 are.
        let mut few = balance();
        let stamp = few.demoted();
        (0..200).for_each(|id| {
            few.gone(id);
            few.missed(id, 2048);
        });
        (0..1_900).for_each(|_| few.restored(stamp));
        assert_eq!(few.verdict(), None);
        (0..200).for_each(|id| {
            few.gone(id);
            few.missed(id, 2048);
        });
        (0..2_600).for_each(|_| few.restored(stamp));
        assert_eq!(few.verdict(), Some(Verdict::MoreRaw));
        // Hits on pages compressed long ago say nothing for raw memory.
        (0..100).for_each(|_| {
            few.demoted();
        });
        (0..2_600).for_each(|_| few.restored(stamp));
        few.gone(1);
        few.missed(1, 2048);
        assert_eq!(few.verdict(), Some(Verdict::MoreCompressed));
        assert_eq!(few.verdict(), None, "the window begins anew");
    }
}
