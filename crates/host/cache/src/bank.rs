//! Runs several cache simulations on one stream of accesses.

use ssdlab_trace::Request;

use crate::access::Access;
use crate::build::build_policy;
use crate::counts::Counts;
use crate::error::CacheError;
use crate::policy::{Policy, PolicyInfo};
use crate::splitter::{Granularity, Splitter, Trims};
use crate::universe::Universe;

/// One simulated cache, with the counters of its accesses.
#[derive(Debug)]
pub struct Simulation {
    policy: Box<dyn Policy>,
    counts: Counts,
}

impl Simulation {
    /// Creates a cache of `capacity` units; `changes` override defaults of the policy's parameters. Fails for offline
    /// policies, which need an [`AccessTrace`](crate::AccessTrace).
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

    /// Processes accesses in order; all item numbers must be below `items`.
    pub fn feed(&mut self, accesses: &[Access], items: u32) {
        self.policy.grow(items);
        self.policy.simulate(accesses, &mut self.counts);
    }

    /// Returns the counters of the accesses so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Simulations that share one pass over a trace. Each page or object id is looked up once for all simulations.
#[derive(Debug)]
pub struct Bank {
    splitter: Splitter,
    granularity: Granularity,
    simulations: Vec<Simulation>,
    accesses: Vec<Access>,
}

impl Bank {
    /// Creates an empty set of simulations. Requests are split into items by `granularity`.
    pub fn new(granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        let splitter = Splitter::new(granularity, trims)?;
        Ok(Self { splitter, granularity, simulations: Vec::new(), accesses: Vec::new() })
    }

    /// Adds a simulation, which processes all later batches; returns its index.
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

    /// Returns all items seen so far, with their identifiers.
    pub fn universe(&self) -> &Universe {
        self.splitter.universe()
    }

    /// Returns the simulations, in the order in which they were added.
    pub fn simulations(&self) -> &[Simulation] {
        &self.simulations
    }
}
