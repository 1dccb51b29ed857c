//! Simulations that share one stream of accesses.

use ssdlab_core::counters;
use ssdlab_trace::Request;

use crate::{Access, CacheError, Granularity, Policy, PolicyInfo, Splitter, Trims, Universe, build_policy};

counters! {
    /// Counters of a simulated cache.
    pub struct Counts {
        accesses: "accesses", "Accesses to items.";
        misses: "accesses", "Accesses to items that were not cached.";
        units: "units", "Units accessed.";
        missed_units: "units", "Units accessed that were not cached.";
        outgrown: "accesses", "Hits that ask for more units than the cached item has.";
        outgrown_units: "units", "Units that such hits did not find; they count as missed units too.";
        evictions: "items", "Items evicted, or rejected by the policy.";
        too_large: "accesses", "Misses of items larger than the cache, which are not admitted.";
        expired: "accesses", "Misses of cached items that had expired.";
    }
}

impl Counts {
    /// Misses per access; 0 without accesses.
    pub fn miss_ratio(&self) -> f64 {
        if self.accesses == 0 { 0.0 } else { self.misses as f64 / self.accesses as f64 }
    }

    /// Missed units per unit accessed; 0 without accesses.
    pub fn unit_miss_ratio(&self) -> f64 {
        if self.units == 0 { 0.0 } else { self.missed_units as f64 / self.units as f64 }
    }
}

/// One simulated cache.
#[derive(Debug)]
pub struct Simulation {
    policy: Box<dyn Policy>,
    counts: Counts,
}

impl Simulation {
    /// Creates a cache of `capacity` units; `changes` override defaults of the policy's parameters. Offline policies
    /// are refused: they need an [`AccessTrace`](crate::AccessTrace).
    pub fn new(
        info: &PolicyInfo,
        changes: &[(String, u64)],
        capacity: u64,
        granularity: Granularity,
    ) -> Result<Self, CacheError> {
        if info.role.needs_future {
            return Err(CacheError::NeedsFuture { policy: info.name });
        }
        let policy = build_policy(info, changes, capacity, 0, granularity.one_size())?;
        Ok(Self { policy, counts: Counts::default() })
    }

    /// Processes accesses to items `0..items`, in order.
    pub fn feed(&mut self, accesses: &[Access], items: u32) {
        self.policy.grow(items);
        self.policy.simulate(accesses, &mut self.counts);
    }

    /// Returns the counters so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Simulations over one pass of a trace, with one look-up of each id for all of them.
#[derive(Debug)]
pub struct Bank {
    splitter: Splitter,
    granularity: Granularity,
    simulations: Vec<Simulation>,
    accesses: Vec<Access>,
}

impl Bank {
    /// Creates a bank without simulations.
    pub fn new(granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        let splitter = Splitter::new(granularity, trims)?;
        Ok(Self { splitter, granularity, simulations: Vec::new(), accesses: Vec::new() })
    }

    /// Adds a simulation, which sees all later batches; returns its index.
    pub fn add(&mut self, info: &PolicyInfo, changes: &[(String, u64)], capacity: u64) -> Result<usize, CacheError> {
        self.simulations.push(Simulation::new(info, changes, capacity, self.granularity)?);
        Ok(self.simulations.len() - 1)
    }

    /// Feeds a batch of requests to every simulation.
    pub fn feed(&mut self, requests: &[Request]) -> Result<(), CacheError> {
        self.accesses.clear();
        self.splitter.split(requests, &mut self.accesses)?;
        for simulation in &mut self.simulations {
            simulation.feed(&self.accesses, self.splitter.universe().len());
        }
        Ok(())
    }

    /// Returns the items seen so far.
    pub fn universe(&self) -> &Universe {
        self.splitter.universe()
    }

    /// Returns the simulations, in the order in which they were added.
    pub fn simulations(&self) -> &[Simulation] {
        &self.simulations
    }
}
