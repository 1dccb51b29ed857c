//! Replacement policies, one file each, registered in [`POLICIES`].
//!
//! To add one: write its file with pseudo-code, source, an `INFO` and an implementation of [`Policy`], and register it
//! here. Write its twin, slow and obvious, in `tests/it/twins/`; the tests, which take the policies from the table, ask
//! for it. Parameters, help and the list of policies are read from the table too.

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

use ssdlab_core::parameter::{Owner, Settings};
use ssdlab_core::{Info, Registry};

use crate::admission;
use crate::bank::Counts;
use crate::curve::exact::OnePass;
use crate::{Access, CacheError};

/// Which items a cache of limited capacity holds.
///
/// Contract. Items are below what [`Policy::grow`] was last told. An access to an item that is not cached brings it in;
/// whatever leaves the cache for it is appended to `evicted`, which may be the newcomer itself where a policy turns it
/// away. An item has the size of the access that brought it in until it leaves. The units held never exceed
/// the capacity after an access. Equal accesses give equal decisions: random ones come from a seed.
pub trait Policy: Send + Debug {
    /// Accesses an item: whether it was cached. The caller guarantees that an item that is not cached is of at least
    /// one unit and no larger than the capacity.
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool;

    /// Gives up a cached item, so that there is room before the next one is known; none if nothing is cached.
    ///
    /// The policy decides as if the cache were full and an item never seen came now. What it would do only then, such
    /// as to adapt to an item that comes back, it does when that comes.
    fn victim(&mut self) -> Option<u32>;

    /// Forgets an item, cached or remembered, if it is either.
    fn remove(&mut self, item: u32);

    /// Whether an item is cached.
    fn contains(&self, item: u32) -> bool;

    /// Units of a cached item: those that it had when it came in.
    fn size(&self, item: u32) -> u32;

    /// Units held.
    fn used(&self) -> u64;

    /// Units that can be held.
    fn capacity(&self) -> u64;

    /// Items are below this number from now on; never less than before.
    fn grow(&mut self, items: u32);

    /// Memory of all that grows with items or capacity. Nothing but [`Policy::grow`] changes it.
    fn bytes(&self) -> usize;

    /// Loads into the processor's cache what an access to this item will need.
    fn prefetch(&self, item: u32);

    /// Accesses and drops, in order; adds what is seen to `counts`.
    fn simulate(&mut self, accesses: &[Access], counts: &mut Counts) {
        let mut evicted = Vec::new();
        let capacity = self.capacity();
        for (position, &access) in accesses.iter().enumerate() {
            if let Some(ahead) = accesses.get(position + AHEAD) {
                self.prefetch(ahead.item);
            }
            if access.is_drop() {
                self.remove(access.item);
                continue;
            }
            let size = u64::from(access.size);
            counts.accesses += 1;
            counts.units += size;
            let too_large = size > capacity && !self.contains(access.item);
            if too_large || !self.access(access, &mut evicted) {
                counts.misses += 1;
                counts.missed_units += size;
                counts.too_large += u64::from(too_large);
                counts.evictions += evicted.len() as u64;
                evicted.clear();
            } else if size > 1 {
                let lacking = size.saturating_sub(self.size(access.item).into());
                counts.outgrown += u64::from(lacking > 0);
                counts.outgrown_units += lacking;
                counts.missed_units += lacking;
            }
        }
    }
}

/// Accesses looked ahead: enough for memory to answer.
const AHEAD: usize = 12;

/// The rest of a [`Policy`] whose items are in the lists `$lists`, of which the first `$cached` hold what is cached.
/// With `remove`, dropping an item is just taking it out; `and` names what else an access will need; with `only`, more
/// is known of an item than its node.
macro_rules! listed {
    ($lists:ident, $cached:expr, remove $(, and $other:ident)?) => {
        fn remove(&mut self, item: u32) {
            if self.$lists.has(item) {
                self.$lists.remove(item);
            }
        }

        super::listed!($lists, $cached $(, and $other)?);
    };
    ($lists:ident, $cached:expr $(, and $other:ident)?) => {
        super::listed!($lists, $cached, only);

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
    ($lists:ident, $cached:expr, only) => {
        fn contains(&self, item: u32) -> bool {
            self.$lists.list(item) < $cached
        }

        fn size(&self, item: u32) -> u32 {
            self.$lists.size(item)
        }

        fn used(&self) -> u64 {
            (0..$cached).map(|list| self.$lists.units(list)).sum()
        }

        fn capacity(&self) -> u64 {
            self.capacity
        }
    };
}

/// The rest of a [`Policy`] whose cached items are in the heap or bag `$heap`; with `alone`, nothing else is known of
/// an item.
macro_rules! held {
    ($heap:ident, alone) => {
        fn remove(&mut self, item: u32) {
            if self.$heap.has(item) {
                self.$heap.remove(item);
            }
        }

        fn grow(&mut self, items: u32) {
            self.$heap.grow(items);
        }

        fn bytes(&self) -> usize {
            self.$heap.bytes()
        }

        super::held!($heap);
    };
    ($heap:ident) => {
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

        #[inline]
        fn prefetch(&self, item: u32) {
            self.$heap.prefetch(item);
        }
    };
}

use {held, listed};

/// A registered policy.
pub type PolicyInfo = Info<PolicyRules>;

/// Properties of a policy, and its constructor.
#[derive(Debug)]
pub struct PolicyRules {
    /// True if items may differ in size.
    pub sizes: bool,
    /// True if it reads [`Access::next`].
    pub needs_future: bool,
    /// Largest capacity, in units.
    pub largest: u64,
    /// Computes the misses of all sizes in one pass, for a stack algorithm with default parameters.
    pub one_pass: Option<OnePass>,
    /// Builds an empty cache from its parameters, its capacity in units, and a number of items.
    pub build: fn(&Settings, u64, u32) -> Box<dyn Policy>,
}

/// Builds an empty cache of `capacity` units for items `0..items`, which may grow; `one_size` says that every item takes
/// one unit. `changes` to the default parameters may also ask for an admission ([`ADMISSIONS`](crate::ADMISSIONS)) in
/// front of the policy.
///
/// # Errors
/// If the policy has no such parameter, or cannot have this capacity or items of different sizes.
pub fn build_policy(
    info: &PolicyInfo,
    changes: &[(String, u64)],
    capacity: u64,
    items: u32,
    one_size: bool,
) -> Result<Box<dyn Policy>, CacheError> {
    let owner = Owner { kind: "policy", name: info.name, parameter: "parameter" };
    let admission = admission::Asked::new(info.name, changes)?;
    let settings = Settings::new(owner, info.parameters, &admission.own)?;
    if capacity == 0 {
        return Err(CacheError::NoCapacity);
    }
    if !one_size && !info.role.sizes {
        let able = POLICIES.iter().filter(|info| info.role.sizes).map(|info| info.name);
        return Err(CacheError::OneSizeOnly { policy: info.name, others: able.collect::<Vec<_>>().join(", ") });
    }
    if capacity > info.role.largest {
        return Err(CacheError::TooLarge { policy: info.name, capacity, most: info.role.largest });
    }
    // Item numbers have 32 bits, so a larger cache of unit-sized items never evicts anything either.
    let capacity = if one_size { capacity.min(u64::from(u32::MAX)) } else { capacity };
    admission.guard((info.role.build)(&settings, capacity, items), one_size)
}

/// Every policy.
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
