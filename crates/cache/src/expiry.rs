//! Items that expire: a path of its own beside [`Policy::simulate`], which stays free of it.
//!
//! ```text
//! access(x):  x is cached, and its time is over: it is dropped, and the access is a miss
//! x comes in: its time is over `ttl` seconds from now, if it has any
//! ```
//! An expired item takes its room until it is asked for or gives way, as in libCacheSim and in stores that look at
//! times only when an item is asked for. A hit does not renew the time.

use ssdlab_core::HugeVec;

use crate::bank::Counts;
use crate::lists::grow;
use crate::{Access, Policy};

/// When an access is made, and how long an item lives that it brings in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Life {
    /// Time of the access.
    pub time_ns: u64,
    /// Seconds that the item lives; 0 for ever.
    pub ttl_s: u32,
}

/// Lives for ever.
const EVER: u64 = u64::MAX;

/// The times at which cached items expire.
#[derive(Debug)]
pub struct Expiry {
    until_ns: HugeVec<u64>,
}

impl Expiry {
    /// Of items `0..items`, none of which is cached.
    pub fn new(items: u32) -> Self {
        let mut until_ns = HugeVec::filled(EVER, 0);
        grow(&mut until_ns, EVER, items as usize);
        Self { until_ns }
    }

    /// Accesses and drops in order, each with its life; adds what is seen to `counts`.
    ///
    /// # Panics
    /// If there are not as many lives as accesses, or items beyond those of the times.
    pub fn simulate(&mut self, policy: &mut dyn Policy, accesses: &[Access], lives: &[Life], counts: &mut Counts) {
        assert_eq!(accesses.len(), lives.len(), "a life for each access");
        for (access, life) in accesses.iter().zip(lives) {
            let until_ns = &mut self.until_ns[access.item as usize];
            if !access.is_drop() && policy.contains(access.item) {
                if *until_ns > life.time_ns {
                    policy.simulate(std::slice::from_ref(access), counts);
                    continue;
                }
                policy.remove(access.item);
                counts.expired += 1;
            }
            let lives_ns = u64::from(life.ttl_s) * 1_000_000_000;
            *until_ns = if lives_ns == 0 { EVER } else { life.time_ns.saturating_add(lives_ns) };
            policy.simulate(std::slice::from_ref(access), counts);
        }
    }
}
