//! On how few pages the writes of a run concentrate, from a sample of the pages.
//!
//! If a page is written next with probability p_i, the writes n of each page yield an estimate without bias of the sum
//! of p_i²: the sum of n (n - 1) over N (N - 1), of N writes in all. Writes that fall on U pages evenly have 1 / U; so
//! its inverse is the number of pages that writes as concentrated would fall on evenly, however long the run is.

use std::collections::BTreeMap;

use ssdlab_core::mem::prefetch;

/// Pages of the sample, a power of two.
const SAMPLED: u32 = 1 << 16;
/// Odd, so that multiplication permutes: the golden ratio, which spreads neighbours.
const SCRAMBLE: u32 = 0x9e37_79b1;
/// Fewer pairs of writes to one page make an estimate of chance.
const ENOUGH_PAIRS: u64 = 200;

/// Counts writes by page.
#[derive(Clone, Debug)]
pub(crate) struct Concentration {
    /// Writes of each page of the sample, by its place among the scrambled numbers, and whole rounds of 2^16 beside: so
    /// that half as much competes with the simulation for the processor's cache.
    writes: Vec<u16>,
    rounds: BTreeMap<u32, u64>,
    /// Of a scrambled number.
    mask: u32,
    logical_pages: u32,
    all: u64,
    /// The place of the latest write, which is counted when the next one comes: until then it is fetched.
    pending: Option<u32>,
}

impl Concentration {
    pub fn new(logical_pages: u32) -> Self {
        let numbers = logical_pages.checked_next_power_of_two().map_or(u32::MAX, |numbers| numbers.max(2) - 1);
        let sampled = SAMPLED.min(numbers.saturating_add(1));
        let writes = vec![0; sampled as usize];
        Self { writes, rounds: BTreeMap::new(), mask: numbers, logical_pages, all: 0, pending: None }
    }

    /// Pages were written.
    #[inline]
    pub fn written(&mut self, first: u32, count: u32) {
        self.all += u64::from(count);
        for lpn in first..first + count {
            let place = lpn.wrapping_mul(SCRAMBLE) & self.mask;
            if (place as usize) < self.writes.len() {
                prefetch(&self.writes, place as usize);
                self.count();
                self.pending = Some(place);
            }
        }
    }

    fn count(&mut self) {
        if let Some(place) = self.pending.take() {
            let writes = &mut self.writes[place as usize];
            *writes = writes.wrapping_add(1);
            if *writes == 0 {
                self.begin_round(place);
            }
        }
    }

    #[cold]
    fn begin_round(&mut self, place: u32) {
        *self.rounds.entry(place).or_default() += 1 << u16::BITS;
    }

    /// As a share of the logical pages, the number on which the writes would fall evenly; none if there were too few.
    pub fn share(&mut self) -> Option<f64> {
        self.count();
        let pairs = |writes: u64| writes as f64 * writes.saturating_sub(1) as f64;
        let of_place = |writes: u16| u64::from(writes) * u64::from(writes.saturating_sub(1));
        let mut found = self.writes.iter().map(|&writes| of_place(writes)).sum::<u64>() as f64;
        for (&place, &before) in &self.rounds {
            let writes = self.writes[place as usize];
            found += pairs(before + u64::from(writes)) - of_place(writes) as f64;
        }
        let of_all = self.writes.len() as f64 / (f64::from(self.mask) + 1.0);
        let expected_evenly = pairs(self.all) * of_all / f64::from(self.logical_pages);
        (expected_evenly >= ENOUGH_PAIRS as f64).then(|| (expected_evenly / found).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use ssdlab_core::Rng;

    fn shares(pages: u32, writes: u64, mut draw: impl FnMut(&mut Rng) -> u32) -> f64 {
        let mut rng = Rng::named(5, "concentration");
        let mut concentration = Concentration::new(pages);
        (0..writes).for_each(|_| concentration.written(draw(&mut rng), 1));
        concentration.share().expect("enough")
    }

    /// Closed forms: U pages evenly; h of the writes to c of the pages: 1 / (h² / c + (1 - h)² / (1 - c)).
    #[test]
    fn the_share_is_that_of_closed_forms() {
        for pages in [3_000_u32, 65_536, 300_000] {
            let below = |rng: &mut Rng, end: f64| rng.below((end * f64::from(pages)) as u64) as u32;
            let writes = 2 * u64::from(pages);
            let evenly = shares(pages, writes, |rng| below(rng, 1.0));
            assert!((evenly - 1.0).abs() < 0.06, "{pages}: {evenly}");
            let half = shares(pages, writes, |rng| below(rng, 0.5));
            assert!((half - 0.5).abs() < 0.05, "{pages}: {half}");
            let skewed =
                shares(
                    pages,
                    writes,
                    |rng| {
                        if rng.unit() < 0.9 { below(rng, 0.1) } else { below(rng, 0.9) + pages / 10 }
                    },
                );
            assert!((skewed * (0.81 / 0.1 + 0.01 / 0.9) - 1.0).abs() < 0.1, "{pages}: {skewed}");
        }
        // Pages that are written more often than 16 bits count.
        let few = shares(2_000, 400_000, |rng| rng.below(3) as u32);
        assert!((few * 2_000.0 - 3.0).abs() < 0.05, "{few}");
        let mut few = Concentration::new(1_000);
        assert_eq!(few.share(), None);
    }

    /// Each page once more, in turn: no page is written more often than others.
    #[test]
    fn passes_over_all_pages_are_even() {
        let mut concentration = Concentration::new(5_000);
        (0..3).for_each(|_| concentration.written(0, 5_000));
        assert!(concentration.share().expect("enough") > 0.99);
    }
}
