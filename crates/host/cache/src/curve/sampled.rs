//! Miss ratios of any policy and size, estimated from a sample of items (SHARDS and miniature simulation).
//!
//! An item is sampled if a hash of its id is below a threshold. All accesses to sampled items are simulated, in a cache
//! scaled down by the sampling rate. A *rate* fixes the threshold. A *number of items* lowers the threshold as more
//! items appear, so that the sample holds the items with the smallest hashes of the whole trace.
//!
//! Other bits of the hash assign sampled items to *replicas*, which are simulated separately. The estimate is the mean
//! over the replicas; their spread gives its standard error. The standard error covers sampling only: a scaled cache of
//! a few items behaves differently from a large cache, so check [`Estimate::scaled_capacity`].
//!
//! Misses are divided by the number of accesses expected at the sampling rate, not by the number of sampled accesses
//! (SHARDS-adj). Whether the sample contains a hot item affects the number of sampled accesses, but hardly the number
//! of misses.
//!
//! Sources: Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC construction with SHARDS", FAST 2015; Waldspurger,
//! Saemundsson, Ahmad, Park, "Cache modeling and optimization using miniature simulations", USENIX ATC 2017.

use std::collections::BinaryHeap;

use ssdlab_trace::Request;

use crate::splitter::HashFilter;
use crate::{Access, AccessTrace, CacheError, Granularity, PolicyInfo, Splitter, Trims};

/// Size of a sample of items.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SampleSize {
    /// Share of the items, above 0 and at most 1.
    Rate(f64),
    /// Maximum number of items, at least one per replica. A trace with fewer items is sampled completely.
    Items(u32),
}

/// Options for sampling the items of a trace.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SampleOptions {
    /// Size of the sample, as a number of items or a share of all items; all replicas together have this size.
    pub size: SampleSize,
    /// Number of replicas into which the sample is split, 2 to 64.
    pub replicas: u32,
    /// Seed of the hash that selects items.
    pub seed: u64,
}

impl Default for SampleOptions {
    /// The default is eight replicas with 8,192 items in total.
    fn default() -> Self {
        Self { size: SampleSize::Items(8192), replicas: 8, seed: 1 }
    }
}

/// Collects a sample from a stream of requests. Memory: 12 bytes per sampled access, and about 60 bytes per item ever
/// sampled.
#[derive(Clone, Debug)]
pub struct Sampler {
    splitter: Splitter,
    options: SampleOptions,
    /// Maximum number of items in the sample.
    most: usize,
    /// Hash of each item ever sampled.
    hashes: Vec<u64>,
    /// Hashes of the currently sampled items, largest first.
    largest: BinaryHeap<u64>,
    accesses: Vec<Access>,
    /// Number of accesses left after the last purge, which drops the accesses of items that are no longer sampled.
    kept: usize,
}

impl Sampler {
    /// Creates a sampler with an empty sample.
    pub fn new(granularity: Granularity, trims: Trims, options: SampleOptions) -> Result<Self, CacheError> {
        let wrong = |field, value: String, range| Err(CacheError::Sampling { field, value, range });
        if !(2..=64).contains(&options.replicas) {
            return wrong("replicas", options.replicas.to_string(), "from 2 to 64");
        }
        let (threshold, most) = match options.size {
            SampleSize::Rate(rate) if !(rate > 0.0 && rate <= 1.0) => {
                return wrong("rate", rate.to_string(), "above 0 and at most 1");
            }
            SampleSize::Items(items) if items < options.replicas => {
                return wrong("items", items.to_string(), "at least the number of replicas");
            }
            // For a rate of 1, the threshold is 2^64; the cast saturates it to the largest hash value.
            SampleSize::Rate(rate) => ((rate * HASHES) as u64, usize::MAX),
            SampleSize::Items(items) => (u64::MAX, items as usize),
        };
        let filter = HashFilter { seed: options.seed, threshold, accesses: 0, units: 0 };
        Ok(Self {
            splitter: Splitter::filtered(granularity, trims, filter)?,
            options,
            most,
            hashes: Vec::new(),
            largest: BinaryHeap::new(),
            accesses: Vec::new(),
            kept: 0,
        })
    }

    /// Adds the next requests of the trace.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), CacheError> {
        for batch in requests.chunks(BATCH) {
            self.splitter.split(batch, &mut self.accesses)?;
            let (new, filter) = self.splitter.ids_from(self.hashes.len());
            for id in new {
                let hash = filter.hash(*id);
                self.hashes.push(hash);
                self.largest.push(hash);
            }
            while self.largest.len() > self.most {
                filter.threshold = self.largest.pop().unwrap_or(filter.threshold);
            }
            if self.accesses.len() > 2 * self.kept + BATCH * 16 {
                let threshold = filter.threshold;
                self.accesses.retain(|access| self.hashes[access.item as usize] < threshold);
                self.kept = self.accesses.len();
            }
        }
        Ok(())
    }

    /// Returns the sample of all added requests.
    pub fn finish(mut self) -> Result<Sample, CacheError> {
        let (_, &mut HashFilter { threshold, accesses, units, .. }) = self.splitter.ids_from(0);
        let replicas = u64::from(self.options.replicas);
        let mut dealt = vec![(Vec::new(), 0_u32); replicas as usize];
        let mut numbers = vec![None; self.hashes.len()];
        for &access in &self.accesses {
            let hash = self.hashes[access.item as usize];
            if hash >= threshold {
                continue;
            }
            // The upper half of the hash decides whether the item is in the sample; the lower half selects its replica.
            let (accesses, items) = &mut dealt[(((hash & 0xFFFF_FFFF) * replicas) >> 32) as usize];
            let item = *numbers[access.item as usize].get_or_insert_with(|| {
                *items += 1;
                *items - 1
            });
            accesses.push(Access { item, ..access });
        }
        let traces = dealt.into_iter().map(|(accesses, items)| AccessTrace::from_accesses(accesses, items));
        // A threshold that was never lowered admits all items, so the sampling rate is exactly 1.
        let rate = if threshold == u64::MAX { 1.0 } else { threshold as f64 / HASHES };
        Ok(Sample { replicas: traces.collect::<Result<_, _>>()?, rate, accesses, units })
    }
}

/// Number of possible hash values, 2^64.
const HASHES: f64 = 18_446_744_073_709_551_616.0;
/// Number of requests between adaptations of the sampling threshold.
const BATCH: usize = 4096;

/// A sample of a trace, split into replicas. Simulations only read it, so any number of them may run in parallel.
#[derive(Clone, Debug)]
pub struct Sample {
    replicas: Vec<AccessTrace>,
    rate: f64,
    accesses: u64,
    units: u64,
}

/// Estimated miss ratios with their standard errors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Misses per access, 0 to 1.
    pub miss_ratio: f64,
    /// Standard error of `miss_ratio`, from the spread of the replicas.
    pub standard_error: f64,
    /// Share of the accessed units that were missed, 0 to 1.
    pub unit_miss_ratio: f64,
    /// Standard error of `unit_miss_ratio`.
    pub unit_standard_error: f64,
    /// Number of hits that request a larger size than the item has in the cache, extrapolated to the whole trace.
    pub outgrown: u64,
    /// Total number of units that these hits request in excess of the cached sizes, extrapolated to the whole trace.
    pub outgrown_units: u64,
    /// Capacity of each replica's cache in units. The estimate is unreliable if a cache holds only a few items.
    pub scaled_capacity: u64,
}

impl Sample {
    /// Returns the fraction of the trace's items that all replicas together simulate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns the accesses to sampled items, as one trace per replica.
    pub fn replicas(&self) -> &[AccessTrace] {
        &self.replicas
    }

    /// Returns the number of accesses of the whole trace.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Estimates the miss ratios of a cache of `capacity` units; `changes` override defaults of the policy's
    /// parameters.
    pub fn estimate(
        &self,
        info: &PolicyInfo,
        changes: &[(String, u64)],
        capacity: u64,
    ) -> Result<Estimate, CacheError> {
        if capacity == 0 {
            return Err(CacheError::NoCapacity);
        }
        let share = self.rate / self.replicas.len() as f64;
        let scaled_capacity = ((capacity as f64 * share + 0.5) as u64).max(1);
        let mut ratios = Vec::with_capacity(self.replicas.len());
        let (mut outgrown, mut outgrown_units) = (0, 0);
        for replica in &self.replicas {
            let counts = replica.simulate(info, changes, scaled_capacity)?;
            let expected = [self.accesses, self.units].map(|all| (all as f64 * share).max(f64::MIN_POSITIVE));
            ratios.push([counts.misses as f64 / expected[0], counts.missed_units as f64 / expected[1]]);
            outgrown += counts.outgrown;
            outgrown_units += counts.outgrown_units;
        }
        let [(miss_ratio, standard_error), (unit_miss_ratio, unit_standard_error)] =
            [0, 1].map(|kind| mean_and_error(&ratios.iter().map(|ratios| ratios[kind]).collect::<Vec<_>>()));
        let [outgrown, outgrown_units] =
            [outgrown, outgrown_units].map(|part| (part as f64 / self.rate).round() as u64);
        Ok(Estimate {
            miss_ratio,
            standard_error,
            unit_miss_ratio,
            unit_standard_error,
            outgrown,
            outgrown_units,
            scaled_capacity,
        })
    }
}

/// Returns the mean of two or more ratios, capped at 1, and its standard error.
fn mean_and_error(ratios: &[f64]) -> (f64, f64) {
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let variance = ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean)).sum::<f64>() / (count - 1.0);
    (mean.min(1.0), (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_matches_a_manual_calculation() {
        // The deviations are -0.1, 0 and 0.1. Their variance is 0.01; the variance of the mean is a third of that.
        let (mean, error) = mean_and_error(&[0.2, 0.3, 0.4]);
        assert!((mean - 0.3).abs() < 1e-12 && (error - 0.1 / 3_f64.sqrt()).abs() < 1e-12);
    }
}
