//! Counts requests by address range.

use super::by_kind::{ByKind, KINDS};

/// Maximum number of address ranges (24 MiB of memory).
const RANGES_MAX: u64 = 1 << 20;

/// Number of requests in each address range, from address 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    counts: Vec<ByKind>,
    /// Number of times that all address ranges were merged in pairs; each merge doubles their size.
    pub merged: u32,
}

impl Ranges {
    #[inline]
    pub fn add(&mut self, range: u64, kind: usize) {
        match self.counts.get_mut((range >> self.merged) as usize) {
            Some(counts) => counts[kind] += 1,
            None => self.add_new(range, kind),
        }
    }

    #[cold]
    fn add_new(&mut self, range: u64, kind: usize) {
        while range >> self.merged >= RANGES_MAX {
            self.merged += 1;
            self.counts = self.counts.chunks(2).map(|pair| std::array::from_fn(|k| sum(pair, k))).collect();
        }
        let index = (range >> self.merged) as usize;
        self.counts.resize(self.counts.len().max(index + 1), [0; KINDS]);
        self.counts[index][kind] += 1;
    }

    /// Returns the address ranges that have requests: the number of each range and its request counts by operation.
    pub fn rows(&self) -> Vec<(u64, ByKind)> {
        let rows = self.counts.iter().enumerate().filter(|(_, counts)| **counts != [0; KINDS]);
        rows.map(|(index, &counts)| (index as u64, counts)).collect()
    }
}

fn sum(pair: &[ByKind], kind: usize) -> u64 {
    pair.iter().map(|counts| counts[kind]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_widen_until_the_address_fits() {
        let mut ranges = Ranges::default();
        for (range, kind) in [(0, 0), (1, 1), (2, 0), (RANGES_MAX - 1, 2)] {
            ranges.add(range, kind);
        }
        assert_eq!(ranges.merged, 0);
        ranges.add(2 * RANGES_MAX, 1);
        assert_eq!(ranges.merged, 2);
        let quarter = RANGES_MAX / 4;
        assert_eq!(ranges.rows(), [(0, [2, 1, 0]), (quarter - 1, [0, 0, 1]), (2 * quarter, [0, 1, 0])]);
        ranges.add(u64::MAX >> 9, 0);
        assert_eq!(ranges.merged, 35);
    }
}
