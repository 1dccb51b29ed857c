//! Counts requests by an integer property, such as their size. Values below a limit are counted exactly, larger values
//! in steps of 1.6 %.

use std::collections::BTreeMap;

use ssdlab_core::LatencyHistogram;

use super::by_kind::{ByKind, KINDS};

/// Number of requests for each value of an integer property, such as the request size.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    limit: u64,
    exact: Vec<ByKind>,
    /// Counts of values at and above the limit, one histogram per operation, allocated on first use. Latency histograms
    /// also work for other values.
    beyond: Option<Box<[LatencyHistogram; KINDS]>>,
}

/// A histogram bucket: the requests whose value is at least `lower` and less than `upper`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Smallest value of the bucket.
    pub lower: u64,
    /// Smallest value of the next bucket.
    pub upper: u64,
    /// Number of requests in the bucket, by operation.
    pub requests: ByKind,
}

impl Tally {
    /// Creates an empty tally that counts values below `limit` exactly.
    pub fn new(limit: u64) -> Self {
        Self { limit, exact: Vec::new(), beyond: None }
    }

    #[inline]
    pub fn add(&mut self, value: u64, kind: usize) {
        match self.exact.get_mut(value as usize) {
            Some(counts) => counts[kind] += 1,
            None => self.add_new(value, kind),
        }
    }

    #[cold]
    fn add_new(&mut self, value: u64, kind: usize) {
        if value < self.limit {
            self.exact.resize(value as usize + 1, [0; KINDS]);
            self.exact[value as usize][kind] += 1;
        } else {
            self.beyond.get_or_insert_default()[kind].record(value);
        }
    }

    /// Returns the non-empty buckets in ascending order.
    pub fn rows(&self) -> Vec<Step> {
        let exact = self.exact.iter().enumerate().filter(|(_, counts)| **counts != [0; KINDS]);
        let mut rows: Vec<Step> =
            exact.map(|(n, &requests)| Step { lower: n as u64, upper: n as u64 + 1, requests }).collect();
        let beyond = self.beyond.as_ref().map(|all| steps(all.each_ref())).unwrap_or_default();
        // A histogram bucket may start below the limit, but contains only values at or above it.
        rows.extend(beyond.into_iter().map(|(lower, upper, requests)| Step {
            lower: lower.max(self.limit),
            upper,
            requests,
        }));
        rows
    }
}

/// Combines the buckets of several histograms into rows of (first value, exclusive end, counts), with one count per
/// histogram.
pub fn steps<const N: usize>(histograms: [&LatencyHistogram; N]) -> Vec<(u64, u64, [u64; N])> {
    let mut rows = BTreeMap::new();
    for (column, histogram) in histograms.into_iter().enumerate() {
        for (lower, upper, count) in histogram.buckets() {
            rows.entry((lower, upper)).or_insert([0; N])[column] = count;
        }
    }
    rows.into_iter().map(|((lower, upper), counts)| (lower, upper, counts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_below_the_limit_and_in_narrow_steps_above() {
        let mut tally = Tally::new(100);
        for (value, kind) in [(0, 0), (99, 1), (99, 1), (100, 2), (5_000, 0), (5_000, 1), (1 << 40, 0)] {
            tally.add(value, kind);
        }
        let rows = tally.rows();
        let step = |lower, upper, requests| Step { lower, upper, requests };
        assert_eq!(rows[..3], [step(0, 1, [1, 0, 0]), step(99, 100, [0, 2, 0]), step(100, 101, [0, 0, 1])]);
        assert_eq!(rows[3], step(4992, 5056, [1, 1, 0]));
        assert!(rows[4].lower <= 1 << 40 && rows[4].upper > 1 << 40 && rows.len() == 5);
        assert!(rows[3..].iter().all(|row| (row.upper - row.lower) * 64 <= row.lower));
    }
}
