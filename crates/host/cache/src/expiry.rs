//! Expiry of items. It is simulated in a separate loop, so that it does not slow down [`Policy::simulate`].
//!
//! ```text
//! access(x):  if x is cached and has expired: drop x; the access is a miss
//! insert(x):  x expires `ttl` seconds from now, if it has a TTL
//! ```
//! An expired item takes space until it is accessed or evicted, as in libCacheSim and in stores with lazy expiry. A hit
//! does not renew the TTL.

use crate::access::Access;
use crate::access_trace::Life;
use crate::counts::Counts;
use crate::per_item::PerItem;
use crate::policy::Policy;

/// Expiry time of items that never expire.
const NEVER: u64 = u64::MAX;

/// Expiry times of cached items.
#[derive(Debug)]
pub struct Expiry {
    until_ns: PerItem<u64>,
}

impl Expiry {
    /// Creates the table for items `0..items`; no item is cached.
    pub fn new(items: u32) -> Self {
        Self { until_ns: PerItem::new(NEVER, items) }
    }

    /// Processes accesses and removals in order; `lives` holds the time and TTL of each access. Adds the results to
    /// `counts`.
    ///
    /// # Panics
    /// Panics if `lives` and `accesses` differ in length, or an item is out of range.
    pub fn simulate(&mut self, policy: &mut dyn Policy, accesses: &[Access], lives: &[Life], counts: &mut Counts) {
        assert_eq!(accesses.len(), lives.len(), "each access must have one time to live");
        for (access, life) in accesses.iter().zip(lives) {
            let until_ns = &mut self.until_ns[access.item];
            if !access.is_drop() && policy.contains(access.item) {
                if *until_ns > life.time_ns {
                    policy.simulate(std::slice::from_ref(access), counts);
                    continue;
                }
                policy.remove(access.item);
                counts.expired += 1;
            }
            let ttl_ns = u64::from(life.ttl_s) * 1_000_000_000;
            *until_ns = if ttl_ns == 0 { NEVER } else { life.time_ns.saturating_add(ttl_ns) };
            policy.simulate(std::slice::from_ref(access), counts);
        }
    }
}
