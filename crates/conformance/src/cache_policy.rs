//! Checks for cache replacement policies, and for admission policies in front of LRU.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use proptest::prelude::*;
use ssdlab_cache::{Access, AccessTrace, AdmissionInfo, Counts, POLICIES, Policy, PolicyInfo};
use ssdlab_core::{Parameter, Settings};

use crate::case::{Check, Checked, World, check, check_limits};
use crate::parameters::{Limit, limits, settings, values};

/// Number of items in the random traces.
const ITEMS: u32 = 40;

/// A cache component under test.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// A replacement policy.
    Policy(&'static PolicyInfo),
    /// An admission policy in front of an LRU cache.
    Admission(&'static AdmissionInfo),
}

/// A slow but simple implementation of a replacement policy. The check compares it with the fast implementation.
pub trait Twin {
    /// Creates an empty cache with the given parameters of the policy and a capacity in units.
    fn new(settings: &Settings, capacity: u64) -> Self;

    /// Accesses an item; returns true if the item was cached.
    fn access(&mut self, access: Access) -> bool;

    /// Removes an item from the cache and from the policy's history.
    fn remove(&mut self, item: u32);

    /// True if the item is cached.
    fn contains(&self, item: u32) -> bool;
}

/// All cache checks with their names, except the checks that compare a policy with a [`Twin`].
pub const CHECKS: &[Check<Part>] = cache_checks!([table]);

/// A cache with its replacement policy.
#[derive(Clone, Debug)]
pub struct Cache {
    part: Part,
    settings: Settings,
    capacity: u64,
}

impl Display for Cache {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "cache: {} units, parameters: {:?}", self.capacity, self.settings)
    }
}

impl Cache {
    /// Builds a policy for [`ITEMS`] items. It first knows no items, and then grows, as on a trace of unknown length.
    fn build(&self) -> Box<dyn Policy> {
        let mut policy = match self.part {
            Part::Policy(info) => (info.role.build)(&self.settings, self.capacity, 0),
            Part::Admission(info) => {
                let lru = POLICIES.find("lru").expect("the built-in policies include LRU");
                let policy = (lru.role.build)(&Settings::defaults(&[]), self.capacity, 0);
                (info.role.guard)(&self.settings, policy)
            }
        };
        policy.grow(ITEMS);
        policy
    }
}

/// Operation on a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Accesses an item, given its number and its size in units.
    Access(u32, u32),
    /// Removes the item with this number.
    Remove(u32),
    /// Evicts an item before the next access.
    Evict,
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(item, 1) => write!(f, "access item {item}"),
            Self::Access(item, size) => write!(f, "access item {item} of {size} units"),
            Self::Remove(item) => write!(f, "remove item {item}"),
            Self::Evict => write!(f, "evict an item"),
        }
    }
}

impl Part {
    /// Returns the kind and the name of the component.
    pub fn name(self) -> String {
        match self {
            Self::Policy(info) => format!("cache policy {}", info.name),
            Self::Admission(info) => format!("admission policy {}", info.name),
        }
    }

    /// Returns the parameters of the component.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Policy(info) => info.parameters,
            Self::Admission(info) => info.parameters,
        }
    }

    fn has_sizes(self) -> bool {
        match self {
            Self::Policy(info) => info.role.sizes,
            Self::Admission(info) => info.role.sizes,
        }
    }
}

/// Generates random caches that use the component under test, each with a sequence of operations. Most accesses go to a
/// few hot items.
fn worlds(part: Part, limit: Option<Limit>) -> impl Strategy<Value = World<Cache, Operation>> {
    let item = prop_oneof![3 => 0..8_u32, 2 => 0..ITEMS];
    let size = if part.has_sizes() { prop_oneof![2 => Just(1_u32), 1 => 1..6_u32].boxed() } else { Just(1).boxed() };
    let operation = prop_oneof![
        20 => (item, size).prop_map(|(item, size)| Operation::Access(item, size)),
        1 => (0..8_u32).prop_map(Operation::Remove),
        1 => Just(Operation::Evict),
    ];
    let capacity = prop_oneof![Just(1_u64), 2..12_u64, 12..30_u64, Just(100)];
    let operations = prop::collection::vec(operation, 1..200);
    (values(part.parameters(), limit), capacity, operations).prop_map(move |(values, capacity, operations)| World {
        device: Cache { part, settings: settings(part.parameters(), &values), capacity },
        operations,
    })
}

/// Converts operations to accesses, each with the position of the next access to the same item. An eviction becomes
/// `None`.
fn steps(operations: &[Operation]) -> Vec<Option<Access>> {
    let access = |operation: &Operation| match *operation {
        Operation::Access(item, size) => Some(Access::new(item, size)),
        Operation::Remove(item) => Some(Access::drop(item)),
        Operation::Evict => None,
    };
    let accesses = operations.iter().filter_map(access).collect();
    let trace = AccessTrace::from_accesses(accesses, ITEMS).expect("all item numbers are below ITEMS");
    let mut known = trace.accesses().iter();
    operations.iter().map(|operation| access(operation).and_then(|_| known.next().copied())).collect()
}

/// If `is_kept` is false, a rule was broken: returns the error `problem`.
fn ensure(is_kept: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if is_kept { Ok(()) } else { Err(problem()) }
}

/// Expected contents of the cache (items with sizes), and expected numbers of misses and evictions.
#[derive(Default)]
struct Shadow {
    cached: BTreeMap<u32, u32>,
    misses: u64,
    evictions: u64,
}

impl Shadow {
    fn evicts(&mut self, item: u32) -> Result<(), String> {
        self.evictions += 1;
        ensure(self.cached.remove(&item).is_some(), || format!("the policy evicts item {item}, which is not cached"))
    }

    /// Applies an access or an eviction, and checks what the policy returns.
    fn step(&mut self, policy: &mut dyn Policy, step: Option<Access>) -> Result<(), String> {
        let Some(access) = step else {
            return match policy.victim() {
                Some(item) => self.evicts(item),
                None => {
                    ensure(self.cached.is_empty(), || "victim() returns no item, but the cache is not empty".to_owned())
                }
            };
        };
        let item = access.item;
        if access.is_drop() {
            policy.remove(item);
            self.cached.remove(&item);
            return Ok(());
        }
        policy.prefetch(item);
        let is_cached = self.cached.contains_key(&item);
        if u64::from(access.size) > policy.capacity() && !is_cached {
            self.misses += 1;
            return Ok(());
        }
        let mut evicted = Vec::new();
        let hit = policy.access(access, &mut evicted);
        ensure(hit == is_cached, || format!("the access to item {item} returns hit={hit} instead of hit={is_cached}"))?;
        ensure(!hit || evicted.is_empty(), || {
            format!("a hit on item {item} evicts items {evicted:?}; only a miss may evict")
        })?;
        self.misses += u64::from(!hit);
        self.cached.entry(item).or_insert(access.size);
        evicted.into_iter().try_for_each(|item| self.evicts(item))
    }

    /// Compares the contents of the cache with the expected contents after the operations so far.
    fn compare(&self, policy: &dyn Policy) -> Result<(), String> {
        for item in 0..ITEMS {
            let is_cached = self.cached.contains_key(&item);
            let holds = policy.contains(item);
            ensure(holds == is_cached, || format!("contains({item}) returns {holds} instead of {is_cached}"))?;
            if let Some(&size) = self.cached.get(&item) {
                ensure(policy.size(item) == size, || {
                    format!("size({item}) returns {} instead of {size} units", policy.size(item))
                })?;
            }
        }
        let used = self.cached.values().map(|&size| u64::from(size)).sum::<u64>();
        ensure(policy.used() == used, || {
            format!("used() returns {}, but the cached items occupy {used} units", policy.used())
        })?;
        let capacity = policy.capacity();
        ensure(used <= capacity, || {
            format!("the cached items occupy {used} units, but the capacity is {capacity} units")
        })
    }
}

/// Checks hits, evictions, contents and sizes against a simple model. Also checks that the cache never exceeds its
/// capacity.
pub fn the_cache_keeps_its_contract(part: Part) -> Checked {
    keeps_its_contract(part, None, "the_cache_keeps_its_contract", 200)
}

/// Repeats [`the_cache_keeps_its_contract`] with each parameter at its smallest and at its largest value.
pub fn parameters_work_at_their_limits(part: Part) -> Checked {
    let name = "parameters_work_at_their_limits";
    check_limits(limits(part.parameters()), |limit| keeps_its_contract(part, Some(limit), name, 8))
}

fn keeps_its_contract(part: Part, limit: Option<Limit>, name: &'static str, cases: u32) -> Checked {
    check(part.name(), name, cases, worlds(part, limit), |cache, operations| {
        let mut policy = cache.build();
        let (mut shadow, bytes) = (Shadow::default(), policy.bytes());
        for step in steps(operations) {
            shadow.step(&mut *policy, step)?;
            shadow.compare(&*policy)?;
        }
        ensure(policy.bytes() == bytes, || {
            format!("bytes() changes from {bytes} to {}, but must stay constant", policy.bytes())
        })?;
        // Evicts all remaining items.
        while !shadow.cached.is_empty() {
            shadow.step(&mut *policy, None)?;
        }
        shadow.compare(&*policy)
    })
}

/// Checks the counts of a simulation against the misses and evictions of the individual accesses.
pub fn counts_add_up(part: Part) -> Checked {
    check(part.name(), "counts_add_up", 100, worlds(part, None), |cache, operations| {
        let accesses: Vec<Access> = steps(operations).into_iter().flatten().collect();
        let trace = AccessTrace::from_accesses(accesses, ITEMS).map_err(|error| error.to_string())?;
        let (mut one, mut all) = (cache.build(), cache.build());
        let (mut shadow, mut counts) = (Shadow::default(), Counts::default());
        trace.accesses().iter().try_for_each(|&access| shadow.step(&mut *one, Some(access)))?;
        all.simulate(trace.accesses(), &mut counts);
        let (misses, evictions) = (counts.misses, counts.evictions);
        ensure(misses == shadow.misses, || {
            format!("the simulation counts {misses} misses instead of {}", shadow.misses)
        })?;
        ensure(evictions == shadow.evictions, || {
            format!("the simulation counts {evictions} evictions instead of {}", shadow.evictions)
        })
    })
}

/// Checks that two caches with identical parameters hold the same items after the same accesses.
pub fn equal_runs_are_equal(part: Part) -> Checked {
    check(part.name(), "equal_runs_are_equal", 50, worlds(part, None), |cache, operations| {
        let (mut one, mut two) = (cache.build(), cache.build());
        let mut shadow = Shadow::default();
        for step in steps(operations) {
            shadow.step(&mut *one, step)?;
            Shadow { cached: held(&*two), ..Shadow::default() }.step(&mut *two, step)?;
            let (first, second) = (held(&*one), held(&*two));
            ensure(first == second, || {
                format!(
                    "after the same accesses, two identical caches hold different items: {:?} and {:?}",
                    first.keys(),
                    second.keys()
                )
            })?;
        }
        Ok(())
    })
}

fn held(policy: &dyn Policy) -> BTreeMap<u32, u32> {
    (0..ITEMS).filter(|&item| policy.contains(item)).map(|item| (item, policy.size(item))).collect()
}

/// Checks that a policy produces the same hits and holds the same items as its slow twin.
pub fn equals_its_twin<T: Twin>(part: Part) -> Checked {
    check(part.name(), "equals_its_twin", 200, worlds(part, None), |cache, operations| {
        let mut policy = cache.build();
        let mut twin = T::new(&cache.settings, cache.capacity);
        for access in steps(operations).into_iter().flatten() {
            let item = access.item;
            if access.is_drop() {
                policy.remove(item);
                twin.remove(item);
            } else if u64::from(access.size) <= cache.capacity || policy.contains(item) {
                let (hit, twins) = (policy.access(access, &mut Vec::new()), twin.access(access));
                ensure(hit == twins, || {
                    format!("the access to item {item} returns hit={hit}, but the reference returns {twins}")
                })?;
            }
            let differs = (0..ITEMS).find(|&item| policy.contains(item) != twin.contains(item));
            if let Some(item) = differs {
                let [is, twins] = [policy.contains(item), twin.contains(item)];
                return Err(format!("contains({item}) returns {is}, but the reference returns {twins}"));
            }
        }
        Ok(())
    })
}
