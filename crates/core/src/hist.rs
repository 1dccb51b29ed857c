//! A log-linear histogram of nanoseconds: 64 linear steps per power of two.
//!
//! The bucket width is at most 1/64 of the value (1.6 %); values below 128 ns are exact. Mean and standard deviation
//! come from exact sums, not from buckets. Histograms of the parts of a run add up to the histogram of the run.

const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;
const BUCKETS: usize = (64 - SUB_BITS as usize) * SUB + SUB;

/// Distribution of durations in nanoseconds.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, sum: 0, sum_of_squares: 0, min: u64::MAX, max: 0 }
    }
}

/// A duration and its histogram bucket. The bucket is computed once, even if several histograms record the duration.
#[derive(Clone, Copy, Debug)]
pub struct InBucket {
    /// Duration in nanoseconds.
    pub ns: u64,
    /// Number of the histogram bucket into which the duration falls.
    pub bucket: usize,
}

impl InBucket {
    /// Finds the bucket of a duration of `ns` nanoseconds.
    #[inline]
    pub fn of(ns: u64) -> Self {
        Self { ns, bucket: LatencyHistogram::bucket(ns) }
    }
}

/// Returns the smallest duration that falls into a bucket.
fn lower_bound(bucket: usize) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let shift = bucket / SUB - 1;
    ((bucket - shift * SUB) as u64) << shift
}

impl LatencyHistogram {
    /// Number of buckets in a histogram.
    pub const BUCKETS: usize = BUCKETS;

    /// Returns the bucket of a duration. Bucket numbers never decrease as durations increase.
    #[inline]
    pub const fn bucket(nanos: u64) -> usize {
        if nanos < 2 * SUB as u64 {
            return nanos as usize;
        }
        let shift = 63 - nanos.leading_zeros() - SUB_BITS;
        ((shift as usize) << SUB_BITS) + (nanos >> shift) as usize
    }

    /// Returns the smallest duration of a bucket, and the smallest duration of the next bucket, in nanoseconds.
    pub fn bounds(bucket: usize) -> (u64, u64) {
        (lower_bound(bucket), if bucket + 1 < BUCKETS { lower_bound(bucket + 1) } else { u64::MAX })
    }

    /// Adds one duration to the histogram.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.add(InBucket::of(nanos));
    }

    /// Adds a duration whose bucket was computed beforehand.
    #[inline]
    pub fn add(&mut self, InBucket { ns: nanos, bucket }: InBucket) {
        debug_assert_eq!(bucket, Self::bucket(nanos));
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        // The sum saturates only after more than 10^14 durations of 15 minutes each.
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(nanos) * u128::from(nanos));
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds all durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let used = Self::bucket(other.min)..=Self::bucket(other.max);
        for (mine, theirs) in self.counts[used.clone()].iter_mut().zip(&other.counts[used]) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of recorded durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Returns the mean in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Returns the population standard deviation in nanoseconds; 0 when empty.
    pub fn std_dev_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        // Computes n * sum(x^2) - sum(x)^2 in integers, to avoid cancellation when the mean is large.
        let n = u128::from(self.count);
        match (n.checked_mul(self.sum_of_squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => (a.saturating_sub(b) as f64).sqrt() / self.count as f64,
            _ => (self.sum_of_squares as f64 / n as f64 - self.mean_ns().powi(2)).max(0.0).sqrt(),
        }
    }

    /// Returns the smallest duration in nanoseconds; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// Returns the largest duration in nanoseconds; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max
    }

    /// Returns a quantile (0 to 1) of all durations by the nearest-rank method: 0.5 is the median, 0.99 is p99. The
    /// result is exact to one bucket (1.6 %) and never above the maximum; 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate().skip(Self::bucket(self.min_ns())) {
            seen += count;
            if count > 0 && seen >= rank {
                let upper = if bucket + 1 < BUCKETS { lower_bound(bucket + 1) - 1 } else { u64::MAX };
                return upper.min(self.max).max(self.min);
            }
        }
        0
    }

    /// Returns the [bounds](Self::bounds) and the count of each bucket that is not empty.
    pub fn buckets(&self) -> Vec<(u64, u64, u64)> {
        let counted = (0..BUCKETS).filter(|&bucket| self.counts[bucket] > 0);
        let bounded = counted.map(|bucket| (Self::bounds(bucket), self.counts[bucket]));
        bounded.map(|((lower, upper), count)| (lower, upper, count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn bounds_and_buckets_are_inverse() {
        for bucket in 0..BUCKETS {
            assert_eq!(LatencyHistogram::bucket(lower_bound(bucket)), bucket);
            if bucket > 0 {
                assert_eq!(LatencyHistogram::bucket(lower_bound(bucket) - 1), bucket - 1);
            }
        }
        assert_eq!(LatencyHistogram::bucket(u64::MAX), BUCKETS - 1);
    }

    /// Compares with the crate hdrhistogram at three significant digits.
    #[test]
    fn agrees_with_hdrhistogram() {
        let mut rng = Rng::named(11, "hist");
        let mut ours = LatencyHistogram::default();
        let mut oracle = hdrhistogram::Histogram::<u64>::new(3).expect("three digits are valid");
        for _ in 0..100_000 {
            let value = (25_000.0 * (-(1.0 - rng.unit()).ln()).exp()) as u64;
            ours.record(value);
            oracle.record(value).expect("in range");
        }
        for q in [0.5, 0.9, 0.99, 0.999, 0.9999] {
            let (a, b) = (ours.quantile_ns(q) as f64, oracle.value_at_quantile(q) as f64);
            assert!((a / b - 1.0).abs() < 0.02, "q{q}: {a} against {b}");
        }
        assert_eq!(ours.max_ns(), ours.quantile_ns(1.0));
    }

    #[test]
    fn mean_and_deviation_are_exact_and_merge_adds_up() {
        let (mut left, mut right) = (LatencyHistogram::default(), LatencyHistogram::default());
        for value in [2, 4, 4, 4] {
            left.record(1_000_000_000 + value);
        }
        for value in [5, 5, 7, 9] {
            right.record(1_000_000_000 + value);
        }
        left.merge(&right);
        assert_eq!((left.count(), left.min_ns(), left.max_ns()), (8, 1_000_000_002, 1_000_000_009));
        assert_eq!(left.mean_ns(), 1_000_000_005.0);
        assert_eq!(left.std_dev_ns(), 2.0);
    }

    #[test]
    fn an_empty_histogram_returns_zeros() {
        let empty = LatencyHistogram::default();
        assert_eq!((empty.quantile_ns(0.99), empty.min_ns(), empty.max_ns()), (0, 0, 0));
        assert_eq!((empty.mean_ns(), empty.std_dev_ns()), (0.0, 0.0));
    }
}
