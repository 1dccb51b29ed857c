//! Computes statistics of the arrival times of requests.

use ssdlab_core::LatencyHistogram;

use crate::Request;

/// Window lengths for counting arrivals, in ns: 1 ms to 100 s.
const SCALES: [u64; 6] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];

/// Burstiness at one time scale. Arrivals are counted in equal windows that begin at the first arrival. The incomplete
/// last window is not counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dispersion {
    /// Length of a window in ns.
    pub scale_ns: u64,
    /// Number of complete windows that were counted.
    pub stretches: u64,
    /// Index of dispersion: variance over mean of the arrivals per window. 1 for a Poisson process, 0 for fixed gaps,
    /// above 1 for bursts; `None` with fewer than two windows.
    pub index: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Scale {
    width: u64,
    /// End of the current window of arrivals, in ns.
    end: u64,
    count: u64,
    stretches: u64,
    sum: u64,
    squares: u128,
}

impl Scale {
    #[inline]
    fn add(&mut self, time: u64) {
        if time >= self.end {
            self.finish(time);
        }
        self.count += 1;
    }

    #[cold]
    fn finish(&mut self, time: u64) {
        let passed = (time - self.end) / self.width + 1;
        self.stretches += passed;
        self.sum += self.count;
        self.squares += u128::from(self.count) * u128::from(self.count);
        self.count = 0;
        // A window whose end would exceed the largest representable time is never closed.
        self.end = self.end.saturating_add(passed.saturating_mul(self.width));
    }

    fn figures(&self) -> Dispersion {
        let (n, sum) = (self.stretches as f64, self.sum as f64);
        let index = (self.stretches > 1).then(|| (self.squares as f64 / sum - sum / n).max(0.0));
        Dispersion { scale_ns: self.width, stretches: self.stretches, index }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// Arrival time of the first request. `latest` is the arrival time of the latest request; `by_op` holds the arrival
    /// time of the latest request of each operation.
    first: Option<u64>,
    latest: u64,
    by_op: [Option<u64>; 4],
    gaps: LatencyHistogram,
    gaps_by_op: [LatencyHistogram; 4],
    scales: [Scale; SCALES.len()],
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            first: None,
            latest: 0,
            by_op: [None; 4],
            gaps: LatencyHistogram::default(),
            gaps_by_op: std::array::from_fn(|_| LatencyHistogram::default()),
            scales: SCALES.map(|width| Scale { width, end: width, count: 0, stretches: 0, sum: 0, squares: 0 }),
        }
    }
}

impl Arrivals {
    #[inline]
    pub fn add(&mut self, request: &Request) {
        let (time, op) = (request.time_ns, request.op as usize);
        let first = match self.first {
            Some(first) => {
                self.gaps.record(time.saturating_sub(self.latest));
                first
            }
            None => *self.first.insert(time),
        };
        self.latest = time;
        if let Some(before) = self.by_op[op].replace(time) {
            self.gaps_by_op[op].record(time.saturating_sub(before));
        }
        for scale in &mut self.scales {
            scale.add(time.saturating_sub(first));
        }
    }

    pub fn gaps(&self) -> [&LatencyHistogram; 5] {
        let [read, write, trim, flush] = &self.gaps_by_op;
        [&self.gaps, read, write, trim, flush]
    }

    pub fn dispersion(&self) -> Vec<Dispersion> {
        self.scales.iter().map(Scale::figures).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{generate, request, workload};
    use crate::{Arrival, Op, Workload};

    fn arrivals(times: impl IntoIterator<Item = u64>) -> Arrivals {
        let mut arrivals = Arrivals::default();
        times.into_iter().for_each(|time| arrivals.add(&request(time, Op::Read, 0, 512)));
        arrivals
    }

    /// Expected values computed by hand: windows of 1 ms from 5 ms on hold 2, 0, 0 and 1 arrivals; the last window is
    /// incomplete and not counted.
    #[test]
    fn dispersion_follows_its_definition() {
        const MS: u64 = 1_000_000;
        let arrivals = arrivals([5 * MS, 5 * MS + 1, 8 * MS, 9 * MS + 5]);
        let index = (4.0 + 1.0) / 3.0 - 3.0 / 4.0;
        assert_eq!(arrivals.dispersion()[0], Dispersion { scale_ns: MS, stretches: 4, index: Some(index) });
        assert_eq!(arrivals.dispersion()[1], Dispersion { scale_ns: 10 * MS, stretches: 0, index: None });
        assert_eq!(arrivals.gaps()[0].sum_ns(), u128::from(4 * MS + 5));
        assert_eq!((arrivals.gaps()[1].count(), arrivals.gaps()[2].count()), (3, 0));
    }

    #[test]
    fn a_poisson_process_has_index_1_and_fixed_gaps_0() {
        let times = |arrival| {
            let workload = Workload { arrival, ..workload("uniform", &[]) };
            generate(&workload).into_iter().map(|r| r.time_ns).collect::<Vec<_>>()
        };
        let poisson = arrivals(times(Arrival::Poisson { per_second: 5000.0 })).dispersion();
        // With 20,000 windows of 1 ms, the index of dispersion has a standard deviation of 0.01.
        assert!((poisson[0].index.unwrap() - 1.0).abs() < 0.06, "{poisson:?}");
        let fixed = arrivals(times(Arrival::Fixed { per_second: 5000.0 })).dispersion();
        assert!(fixed[..4].iter().all(|scale| scale.index.unwrap() < 0.001), "{fixed:?}");
    }

    #[test]
    fn the_largest_time_is_accepted() {
        assert_eq!(arrivals([0, u64::MAX, u64::MAX]).gaps()[0].max_ns(), u64::MAX);
    }
}
