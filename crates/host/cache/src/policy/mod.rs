//! Replacement policies, one file each, registered in [`POLICIES`].
//!
//! To add a policy, write its file with pseudo-code, source, an `INFO` and an implementation of [`Policy`], and
//! register it here. Write a slow, obvious reference implementation (its twin) in `tests/it/twins/`; the tests iterate
//! over the table and require a twin. Parameters, help and the list of policies also come from the table.

mod arc;
mod belady;
mod cacheus;
mod car;
mod clock;
mod clock2q_plus;
mod clock_pro;
mod fbr;
mod fifo;
mod gds;
mod gdsf;
mod greedy_dual;
mod hyperbolic;
mod lecar;
mod lfu;
mod lfu_da;
mod lhd;
mod lifo;
mod lirs;
mod lru;
mod lru_k;
mod mq;
mod mru;
mod one_list;
mod qd_lp;
mod random;
mod s3_fifo;
mod s3_fifo_d;
mod sieve;
mod slru;
mod three_queues;
pub(crate) mod tiny_lfu;
mod two_q;
mod w_tiny_lfu;

use std::fmt::Debug;

use ssdlab_core::parameter::Settings;
use ssdlab_core::{Info, Registry};

use crate::access::Access;
use crate::counts::Counts;
use crate::curve::exact::OnePass;

/// A cache of limited capacity that chooses its own victims.
///
/// Contract: Item numbers are below the number of items last passed to [`Policy::grow`]. An access to an uncached item
/// inserts it and appends all items evicted for it to `evicted`, which may include the newcomer itself if the policy
/// rejects it. A cached item keeps the size of the access that inserted it. After an access, the used units never
/// exceed the capacity. Decisions are deterministic: random decisions depend only on a seed.
pub trait Policy: Send + Debug {
    /// Accesses an item; returns true if it was cached. Sizes of uncached items must be 1..=capacity.
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool;

    /// Evicts and returns an item without knowing which item will be accessed next; returns None if nothing is cached.
    ///
    /// Chooses the victim as if the cache were full and a new item arrived. Effects that depend on the new item, such
    /// as adapting to a ghost hit, happen only when that item arrives.
    fn victim(&mut self) -> Option<u32>;

    /// Removes an item from the cache and from the policy's history of evicted items.
    fn remove(&mut self, item: u32);

    /// True if the item is cached.
    fn contains(&self, item: u32) -> bool;

    /// Returns the size in units of a cached item, fixed at its insertion.
    fn size(&self, item: u32) -> u32;

    /// Returns the number of capacity units in use.
    fn used(&self) -> u64;

    /// Returns the capacity in units.
    fn capacity(&self) -> u64;

    /// Enlarges the tables, so that the cache can hold items `0..items`; `items` must not decrease.
    fn grow(&mut self, items: u32);

    /// Returns the memory in bytes of all tables that grow with items or capacity. Only [`Policy::grow`] changes the
    /// amount.
    fn bytes(&self) -> usize;

    /// Prefetches the memory that an access to this item needs.
    fn prefetch(&self, item: u32);

    /// Processes accesses and removals in order; adds the results to `counts`.
    fn simulate(&mut self, accesses: &[Access], counts: &mut Counts) {
        simulate(self, accesses, counts);
    }
}

/// Processes accesses and removals in order, for [`Policy::simulate`].
#[inline]
pub fn simulate<P: Policy + ?Sized>(policy: &mut P, accesses: &[Access], counts: &mut Counts) {
    let mut evicted = Vec::new();
    let capacity = policy.capacity();
    for (position, &access) in accesses.iter().enumerate() {
        if let Some(ahead) = accesses.get(position + AHEAD) {
            policy.prefetch(ahead.item);
        }
        if access.is_drop() {
            policy.remove(access.item);
            continue;
        }
        let size = u64::from(access.size);
        counts.accesses += 1;
        counts.units += size;
        let too_large = size > capacity && !policy.contains(access.item);
        if too_large || !policy.access(access, &mut evicted) {
            counts.misses += 1;
            counts.missed_units += size;
            counts.too_large += u64::from(too_large);
            counts.evictions += evicted.len() as u64;
            evicted.clear();
        } else if size > 1 {
            let lacking = size.saturating_sub(policy.size(access.item).into());
            counts.outgrown += u64::from(lacking > 0);
            counts.outgrown_units += lacking;
            counts.missed_units += lacking;
        }
    }
}

/// Evicts items until an item of `size` units fits.
#[inline]
fn make_room(policy: &mut impl Policy, size: u32, evicted: &mut Vec<u32>) {
    while policy.used() + u64::from(size) > policy.capacity() {
        evicted.extend(policy.victim());
    }
}

/// Prefetch distance in accesses; covers the memory latency.
const AHEAD: usize = 12;

/// Implements the rest of a [`Policy`] that keeps its items in the lists `$lists`; the first `$cached` lists hold the
/// cached items. `and` names a further field whose memory is counted and prefetched. With `only`, the macro implements
/// neither `remove` nor the methods of [`tables!`].
macro_rules! listed {
    ($lists:ident, $cached:expr $(, and $other:ident)?) => {
        super::listed!($lists, $cached, only);

        fn remove(&mut self, item: u32) {
            self.$lists.discard(item);
        }

        fn grow(&mut self, items: u32) {
            self.$lists.grow(items);
        }

        fn bytes(&self) -> usize {
            self.$lists.bytes() $(+ self.$other.bytes())?
        }

        #[inline]
        fn prefetch(&self, item: u32) {
            self.$lists.prefetch(item);
            $(self.$other.prefetch(item);)?
        }
    };
    ($($lists:ident).+, $cached:expr, only) => {
        #[inline]
        fn contains(&self, item: u32) -> bool {
            self.$($lists).+.list(item) < $cached
        }

        #[inline]
        fn size(&self, item: u32) -> u32 {
            self.$($lists).+.size(item)
        }

        fn used(&self) -> u64 {
            (0..$cached).map(|list| self.$($lists).+.units(list)).sum()
        }

        fn capacity(&self) -> u64 {
            self.capacity
        }
    };
}

/// Implements the rest of a [`Policy`] that keeps its cached items in the heap or bag `$heap`. With `only`, the macro
/// implements neither `remove` nor the methods of [`tables!`].
macro_rules! held {
    ($heap:ident) => {
        super::held!($heap, only);
        super::tables!($heap);

        fn remove(&mut self, item: u32) {
            self.$heap.discard(item);
        }
    };
    ($heap:ident, only) => {
        fn contains(&self, item: u32) -> bool {
            self.$heap.has(item)
        }

        fn size(&self, item: u32) -> u32 {
            self.$heap.size(item)
        }

        fn used(&self) -> u64 {
            self.$heap.units()
        }

        fn capacity(&self) -> u64 {
            self.capacity
        }
    };
}

/// Implements `grow`, `bytes` and `prefetch` of a [`Policy`] that keeps its state of items in the fields `$table`. The
/// field after the semicolon is not prefetched.
macro_rules! tables {
    ($($table:ident),+ $(; $rare:ident)?) => {
        fn grow(&mut self, items: u32) {
            $(self.$table.grow(items);)+
            $(self.$rare.grow(items);)?
        }

        fn bytes(&self) -> usize {
            [$(self.$table.bytes(),)+ $(self.$rare.bytes())?].into_iter().sum()
        }

        #[inline]
        fn prefetch(&self, item: u32) {
            $(self.$table.prefetch(item);)+
        }
    };
}

use {held, listed, tables};

/// A registered replacement policy.
pub type PolicyInfo = Info<PolicyRules>;

/// Properties of a replacement policy, and its constructor.
pub struct PolicyRules {
    /// True if the policy supports items of different sizes.
    pub sizes: bool,
    /// True if the policy reads [`Access::next`].
    pub needs_future: bool,
    /// Largest capacity that the policy supports, in units.
    pub largest: u64,
    /// Method that computes the misses of all cache sizes in one pass; only for stack algorithms with default
    /// parameters.
    pub one_pass: Option<OnePass>,
    /// Builds an empty cache, given its parameters, its capacity in units, and the number of items that its tables must
    /// hold.
    pub build: Build,
}

/// Constructor of a policy, see [`PolicyRules::build`].
pub type Build = &'static (dyn Fn(&Settings, u64, u32) -> Box<dyn Policy> + Send + Sync);

impl PolicyRules {
    /// Returns the properties of an online policy for items of any size and caches of any capacity.
    const fn any_size(build: Build) -> Self {
        Self { sizes: true, needs_future: false, largest: u64::MAX, one_pass: None, build }
    }

    /// Returns the properties of an online policy for items of equal size.
    const fn one_size(build: Build) -> Self {
        Self { sizes: false, ..Self::any_size(build) }
    }
}

/// Every registered replacement policy.
pub static POLICIES: Registry<PolicyRules> = Registry::new(
    "policy",
    &[
        &fifo::INFO,
        &lifo::INFO,
        &lru::INFO,
        &mru::INFO,
        &random::INFO,
        &clock::INFO,
        &clock_pro::INFO,
        &lfu::INFO,
        &lfu_da::INFO,
        &gds::INFO,
        &gdsf::INFO,
        &hyperbolic::INFO,
        &lhd::INFO,
        &fbr::INFO,
        &lru_k::INFO,
        &two_q::INFO,
        &slru::INFO,
        &mq::INFO,
        &arc::INFO,
        &car::INFO,
        &lirs::INFO,
        &lecar::INFO,
        &cacheus::INFO,
        &tiny_lfu::INFO,
        &w_tiny_lfu::INFO,
        &qd_lp::INFO,
        &s3_fifo::INFO,
        &s3_fifo_d::INFO,
        &clock2q_plus::INFO,
        &sieve::INFO,
        &belady::INFO,
    ],
);
