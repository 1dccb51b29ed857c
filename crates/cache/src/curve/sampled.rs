//! Miss ratios of any policy and size, estimated from a sample of the items: SHARDS and miniature simulation.
//!
//! An item is in the sample if a hash of its id is below a threshold; then all accesses to it are, in a cache as much
//! smaller as the sample. A *rate* fixes the threshold; a *number of items* lowers it as more of them appear, so that
//! the sample holds the items of least hash of the whole trace. By other bits of the hash the sample is dealt
//! out to *replicas*: samples of different items, simulated each for itself. The estimate is their mean, and their
//! spread its standard error. That error is one of chance alone: scaled caches of few items behave differently from
//! large ones, and [`Estimate::scaled_capacity`] tells.
//!
//! Misses are divided by the accesses expected at the rate rather than by those in the sample: an item of many accesses
//! that is in the sample or not changes the latter, but hardly the misses (SHARDS-adj).
//!
//! Sources: Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC construction with SHARDS", FAST 2015; Waldspurger,
//! Saemundsson, Ahmad, Park, "Cache modeling and optimization using miniature simulations", USENIX ATC 2017.

use std::collections::BinaryHeap;

use ssdlab_trace::Request;

use crate::splitter::Sieve;
use crate::{Access, AccessTrace, CacheError, Granularity, PolicyInfo, Splitter, Trims};

/// How large a sample is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SampleSize {
    /// This share of the items, above 0 and at most 1.
    Rate(f64),
    /// This many items, or all if there are fewer; at least one for each replica.
    Items(u32),
}

/// How to sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SampleOptions {
    /// All replicas together.
    pub size: SampleSize,
    /// Samples to compare, 2 to 64.
    pub replicas: u32,
    /// Seed of the hash.
    pub seed: u64,
}

impl Default for SampleOptions {
    /// Eight replicas of 8,192 items together.
    fn default() -> Self {
        Self { size: SampleSize::Items(8192), replicas: 8, seed: 1 }
    }
}

/// Collects a sample while a trace passes by. Memory: 12 bytes for each access and some 60 for each item that was ever
/// in the sample.
#[derive(Clone, Debug)]
pub struct Sampler {
    splitter: Splitter,
    options: SampleOptions,
    /// Most items.
    most: usize,
    /// Hash of each item that was ever in the sample.
    hashes: Vec<u64>,
    /// Hashes of the items in the sample, the largest on top.
    largest: BinaryHeap<u64>,
    accesses: Vec<Access>,
    /// Accesses left when those to items that left the sample were last thrown away.
    left: usize,
}

impl Sampler {
    /// A sample of nothing.
    pub fn new(granularity: Granularity, trims: Trims, options: SampleOptions) -> Result<Self, CacheError> {
        let wrong = |field, value: String, range| Err(CacheError::Sampling { field, value, range });
        if !(2..=64).contains(&options.replicas) {
            return wrong("replicas", options.replicas.to_string(), "2..=64");
        }
        let (threshold, most) = match options.size {
            SampleSize::Rate(rate) if !(rate > 0.0 && rate <= 1.0) => {
                return wrong("rate", rate.to_string(), "0 (exclusive) to 1");
            }
            SampleSize::Items(items) if items < options.replicas => {
                return wrong("items", items.to_string(), "the number of replicas to 4294967295");
            }
            // The product of 1 and 2^64 saturates.
            SampleSize::Rate(rate) => ((rate * HASHES) as u64, usize::MAX),
            SampleSize::Items(items) => (u64::MAX, items as usize),
        };
        let sieve = Sieve { seed: options.seed, threshold, accesses: 0, units: 0 };
        Ok(Self {
            splitter: Splitter::sieved(granularity, trims, sieve)?,
            options,
            most,
            hashes: Vec::new(),
            largest: BinaryHeap::new(),
            accesses: Vec::new(),
            left: 0,
        })
    }

    /// Takes the next requests of the trace.
    pub fn add(&mut self, requests: &[Request]) -> Result<(), CacheError> {
        for batch in requests.chunks(BATCH) {
            self.splitter.split(batch, &mut self.accesses)?;
            let (new, sieve) = self.splitter.since(self.hashes.len());
            for id in new {
                let hash = sieve.hash(*id);
                self.hashes.push(hash);
                self.largest.push(hash);
            }
            while self.largest.len() > self.most {
                sieve.threshold = self.largest.pop().unwrap_or(sieve.threshold);
            }
            if self.accesses.len() > 2 * self.left + BATCH * 16 {
                let threshold = sieve.threshold;
                self.accesses.retain(|access| self.hashes[access.item as usize] < threshold);
                self.left = self.accesses.len();
            }
        }
        Ok(())
    }

    /// The sample of all that was added.
    pub fn finish(mut self) -> Result<Sample, CacheError> {
        let (_, &mut Sieve { threshold, accesses, units, .. }) = self.splitter.since(0);
        let replicas = u64::from(self.options.replicas);
        let mut dealt = vec![(Vec::new(), 0_u32); replicas as usize];
        let mut numbers = vec![None; self.hashes.len()];
        for &access in &self.accesses {
            let hash = self.hashes[access.item as usize];
            if hash >= threshold {
                continue;
            }
            // The upper half decides on the sample, the lower one on the replica.
            let (accesses, items) = &mut dealt[(((hash & 0xFFFF_FFFF) * replicas) >> 32) as usize];
            let item = *numbers[access.item as usize].get_or_insert_with(|| {
                *items += 1;
                *items - 1
            });
            accesses.push(Access { item, ..access });
        }
        let traces = dealt.into_iter().map(|(accesses, items)| AccessTrace::from_accesses(accesses, items));
        // Nothing was left out where the threshold never fell.
        let rate = if threshold == u64::MAX { 1.0 } else { threshold as f64 / HASHES };
        Ok(Sample { replicas: traces.collect::<Result<_, _>>()?, rate, accesses, units })
    }
}

/// Hashes there are.
const HASHES: f64 = 18_446_744_073_709_551_616.0;
/// Requests after which the threshold is adapted.
const BATCH: usize = 4096;

/// A sample of a trace, dealt out to replicas. Simulations only read it, so any number may run at once.
#[derive(Clone, Debug)]
pub struct Sample {
    replicas: Vec<AccessTrace>,
    rate: f64,
    accesses: u64,
    units: u64,
}

/// A miss ratio with its error.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Misses of all accesses, 0 to 1.
    pub miss_ratio: f64,
    /// Its standard error, by the spread of the replicas.
    pub standard_error: f64,
    /// Missed units of all units, 0 to 1.
    pub unit_miss_ratio: f64,
    /// Its standard error.
    pub unit_standard_error: f64,
    /// Hits of more units than the item had when it came in, as many as the whole trace is to have.
    pub outgrown: u64,
    /// Units that items of such hits lacked, likewise.
    pub outgrown_units: u64,
    /// Units of each replica's cache. Where they are but few items, the estimate is of another kind of cache.
    pub scaled_capacity: u64,
}

impl Sample {
    /// Share of the items of the trace that is in all replicas together.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The replicas.
    pub fn replicas(&self) -> &[AccessTrace] {
        &self.replicas
    }

    /// Accesses of the whole trace.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Estimates what a cache of `capacity` units would see of the whole trace, with `changes` to the defaults of the
    /// policy's parameters.
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

/// The mean of at least two ratios, at most 1, and its standard error.
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
    fn an_error_by_hand() {
        // Deviations -0.1, 0, 0.1: variance 0.01, of the mean a third of it.
        let (mean, error) = mean_and_error(&[0.2, 0.3, 0.4]);
        assert!((mean - 0.3).abs() < 1e-12 && (error - 0.1 / 3_f64.sqrt()).abs() < 1e-12);
    }
}
