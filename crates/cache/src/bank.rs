//! Many simulations fed with the same accesses.

use ssdlab_core::counters;
use ssdlab_trace::Request;

use crate::{Access, CacheError, Granularity, Policy, PolicyInfo, Splitter, Trims, Universe, build_policy};

counters! {
    /// What a cache has seen.
    pub struct Counts {
        accesses: "accesses", "Accesses to items.";
        misses: "accesses", "Accesses to items that were not cached.";
        units: "units", "Units accessed.";
        missed_units: "units", "Units accessed that were not cached.";
        outgrown: "accesses", "Hits of more units than the item had when it came in.";
        outgrown_units: "units", "Units that items of such hits lacked; they are missed units too.";
        evictions: "items", "Items evicted, or turned away by the policy.";
        too_large: "accesses", "Misses of items larger than the cache, which are not admitted.";
        expired: "accesses", "Misses of items that were cached, but had expired.";
    }
}

impl Counts {
    /// Misses of all accesses; 0 of none.
    pub fn miss_ratio(&self) -> f64 {
        if self.accesses == 0 { 0.0 } else { self.misses as f64 / self.accesses as f64 }
    }

    /// Missed units of all units; 0 of none.
    pub fn unit_miss_ratio(&self) -> f64 {
        if self.units == 0 { 0.0 } else { self.missed_units as f64 / self.units as f64 }
    }
}

/// One cache at work.
#[derive(Debug)]
pub struct Simulation {
    policy: Box<dyn Policy>,
    counts: Counts,
}

impl Simulation {
    /// A cache of `capacity` units, with `changes` to the defaults of the policy's parameters. Policies that must know
    /// the future are refused: they need an [`AccessTrace`](crate::AccessTrace).
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

    /// Accesses to items `0..items`, in order.
    pub fn feed(&mut self, accesses: &[Access], items: u32) {
        self.policy.grow(items);
        self.policy.simulate(accesses, &mut self.counts);
    }

    /// What it has seen so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Any number of simulations over one pass of a trace, whose ids are looked up once for all.
#[derive(Debug)]
pub struct Bank {
    splitter: Splitter,
    granularity: Granularity,
    simulations: Vec<Simulation>,
    accesses: Vec<Access>,
}

impl Bank {
    /// A bank without simulations.
    pub fn new(granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        let splitter = Splitter::new(granularity, trims)?;
        Ok(Self { splitter, granularity, simulations: Vec::new(), accesses: Vec::new() })
    }

    /// Adds a simulation, which sees what is fed from now on; they are numbered in the order in which they are added.
    pub fn add(&mut self, info: &PolicyInfo, changes: &[(String, u64)], capacity: u64) -> Result<usize, CacheError> {
        self.simulations.push(Simulation::new(info, changes, capacity, self.granularity)?);
        Ok(self.simulations.len() - 1)
    }

    /// Feeds a batch to every simulation.
    pub fn feed(&mut self, requests: &[Request]) -> Result<(), CacheError> {
        self.accesses.clear();
        self.splitter.split(requests, &mut self.accesses)?;
        for simulation in &mut self.simulations {
            simulation.feed(&self.accesses, self.splitter.universe().len());
        }
        Ok(())
    }

    /// The items so far.
    pub fn universe(&self) -> &Universe {
        self.splitter.universe()
    }

    /// The simulations, by number.
    pub fn simulations(&self) -> &[Simulation] {
        &self.simulations
    }
}
