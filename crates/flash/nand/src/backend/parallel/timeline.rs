//! Busy times, recorded in equally long bins of simulated time.
//!
//! The length of a run is unknown at its start. Bins are therefore short at first, and pairs of bins are merged when
//! time passes the end of the last bin. This bounds the memory, and identical runs have identical bins.

use std::ops::Range;

const BINS: usize = 512;
/// Initial length of a bin: 2^10 ns.
const FIRST_SHIFT: u32 = 10;

/// Sums of weighted time in bins, with one row per resource.
#[derive(Clone, Debug)]
pub struct Bins {
    origin_ns: u64,
    shift: u32,
    rows: usize,
    /// Sums of all bins, stored row after row.
    sums: Vec<u64>,
    /// Number of bins used so far.
    used: usize,
    /// Range of times in the last used bin, relative to the origin. Most times lie in it and take the fast path.
    last: Range<u64>,
}

impl Bins {
    /// Returns empty bins that begin at `origin_ns`.
    pub fn new(rows: usize, origin_ns: u64) -> Self {
        Self { origin_ns, shift: FIRST_SHIFT, rows, sums: vec![0; rows * BINS], used: 0, last: 0..0 }
    }

    /// Merges bins until they cover `time_ns`, relative to the origin. Returns the number of its bin.
    fn reach(&mut self, time_ns: u64) -> usize {
        while time_ns >> self.shift >= BINS as u64 {
            self.double();
        }
        let bin = (time_ns >> self.shift) as usize;
        if bin >= self.used {
            self.used = bin + 1;
            self.last = (bin as u64) << self.shift..(bin as u64 + 1) << self.shift;
        }
        bin
    }

    #[cold]
    fn double(&mut self) {
        for row in self.sums.chunks_exact_mut(BINS) {
            for bin in 0..BINS / 2 {
                row[bin] = row[2 * bin] + row[2 * bin + 1];
            }
            row[BINS / 2..].fill(0);
        }
        self.shift += 1;
        self.used = self.used.div_ceil(2);
        self.last = 0..0;
    }

    /// Adds `weight` for each nanosecond from `from_ns` to `to_ns` to the bins of a row.
    #[inline]
    pub fn add(&mut self, row: usize, from_ns: u64, to_ns: u64, weight: u64) {
        let (from, to) = (from_ns.wrapping_sub(self.origin_ns), to_ns.wrapping_sub(self.origin_ns));
        if from >= self.last.start && to <= self.last.end && from < to {
            self.sums[row * BINS + self.used - 1] += (to - from) * weight;
        } else {
            self.add_across(row, from_ns, to_ns, weight);
        }
    }

    #[cold]
    fn add_across(&mut self, row: usize, from_ns: u64, to_ns: u64, weight: u64) {
        let mut from = from_ns.max(self.origin_ns) - self.origin_ns;
        let to = to_ns.max(self.origin_ns) - self.origin_ns;
        if from >= to {
            return;
        }
        let last = self.reach(to - 1);
        let mut bin = (from >> self.shift) as usize;
        let row = &mut self.sums[row * BINS..(row + 1) * BINS];
        while bin < last {
            let end = (bin as u64 + 1) << self.shift;
            row[bin] += (end - from) * weight;
            from = end;
            bin += 1;
        }
        row[last] += (to - from) * weight;
    }

    /// Returns the length of a bin, in nanoseconds.
    pub fn bin_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the sum in each bin of the given row.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.sums[row * BINS..row * BINS + self.used]
    }

    /// Returns the number of rows (resources).
    pub fn rows(&self) -> usize {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_double() {
        let mut bins = Bins::new(2, 100);
        let mut expected = 0;
        let mut at = 0;
        for step in 1..400_u64 {
            let length = step * 37 % 5_000;
            bins.add(1, at, at + length, 3);
            expected += 3 * (at + length).max(100).saturating_sub(at.max(100));
            at += step * 91 % 9_000;
        }
        assert!(bins.bin_ns() > 1 << FIRST_SHIFT);
        assert_eq!(bins.row(1).iter().sum::<u64>(), expected);
        assert_eq!(bins.row(0).iter().sum::<u64>(), 0);
        assert!(bins.row(1).len() as u64 * bins.bin_ns() + 100 >= at);
    }

    #[test]
    fn each_bin_holds_its_share() {
        let mut bins = Bins::new(1, 0);
        bins.add(0, 1_000, 3_000, 1);
        assert_eq!(bins.row(0), [24, 1024, 952]);
    }
}
