//! Concentration of a run's writes on few pages, estimated from a sample of the pages.
//!
//! Let page i be written next with probability p_i. If n of N writes fall on a page, the sum over pages of n (n - 1) /
//! (N (N - 1)) estimates the sum of p_i² without bias. For uniform writes to U pages, this sum is 1 / U. So the inverse
//! of the sum is the number of uniformly written pages with the same concentration, whatever the length of the run.

/// Number of pages in the sample, a power of two.
const SAMPLED: u32 = 1 << 16;
/// Multiplier that scrambles page numbers, derived from the golden ratio. Multiplication by an odd number is a
/// permutation, and this factor separates neighbouring pages.
const SCRAMBLE: u32 = 0x9e37_79b1;
/// Minimum number of pairs of writes to the same page for a reliable estimate.
const ENOUGH_PAIRS: u64 = 200;

/// Counts the writes to the pages of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Concentration {
    /// Number of writes to each page in the sample, by scrambled page number.
    writes: Vec<u32>,
    /// Bit mask for scrambled page numbers. A page is in the sample if its masked number is a valid index into
    /// `writes`.
    mask: u32,
    logical_pages: u32,
    all: u64,
}

impl Concentration {
    pub fn new(logical_pages: u32) -> Self {
        let mask = logical_pages.checked_next_power_of_two().map_or(u32::MAX, |numbers| numbers.max(2) - 1);
        let sampled = SAMPLED.min(mask.saturating_add(1));
        Self { writes: vec![0; sampled as usize], mask, logical_pages, all: 0 }
    }

    /// Counts one write to each of `count` pages, starting at page `first`.
    #[inline]
    pub fn written(&mut self, first: u32, count: u32) {
        self.all += u64::from(count);
        for lpn in first..first + count {
            let number = lpn.wrapping_mul(SCRAMBLE) & self.mask;
            if let Some(writes) = self.writes.get_mut(number as usize) {
                *writes = writes.saturating_add(1);
            }
        }
    }

    /// Returns the effective number of written pages as a share of the logical pages; `None` if there were too few
    /// writes.
    pub fn share(&self) -> Option<f64> {
        let pairs = |writes: u64| writes as f64 * writes.saturating_sub(1) as f64;
        let counted = |&writes: &u32| u128::from(writes) * u128::from(writes.saturating_sub(1));
        let found = self.writes.iter().map(counted).sum::<u128>() as f64;
        let sampled_share = self.writes.len() as f64 / (f64::from(self.mask) + 1.0);
        let expected_evenly = pairs(self.all) * sampled_share / f64::from(self.logical_pages);
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

    /// Expected values follow from formulas. If writes are spread evenly over U pages, the effective number of pages is
    /// U. Let a share h of the writes go to a share c of the pages. The effective share is then 1 / (h² / c + (1 - h)²
    /// / (1 - c)).
    #[test]
    fn shares_match_closed_forms() {
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
        // A few pages receive very many writes.
        let few = shares(2_000, 400_000, |rng| rng.below(3) as u32);
        assert!((few * 2_000.0 - 3.0).abs() < 0.05, "{few}");
        let few = Concentration::new(1_000);
        assert_eq!(few.share(), None);
    }

    /// Writes each page once more, in turn, so that no page is written more often than others.
    #[test]
    fn passes_over_all_pages_are_even() {
        let mut concentration = Concentration::new(5_000);
        (0..3).for_each(|_| concentration.written(0, 5_000));
        assert!(concentration.share().expect("enough") > 0.99);
    }
}
