//! Items that expire: a path of its own beside [`Policy::simulate`], which stays free of it.
//!
//! ```text
//! access(x):  x is cached, and its time is over: it is dropped, and the access is a miss
//! x comes in: its time is over `ttl` seconds from now, if it has any
//! ```
//! An expired item takes its room until it is asked for or gives way, as in libCacheSim and in stores that look at times
//! only when an item is asked for. A hit does not renew the time.

use ssdlab_core::HugeVec;

use crate::bank::Counts;
use crate::lists::grow;
use crate::{Access, Policy};

/// When an access is made, and how long an item lives that it brings in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Life {
    /// Time of the access, seconds.
    pub time_s: u32,
    /// Seconds that the item lives; 0 for ever.
    pub ttl_s: u32,
}

/// Lives for ever.
const EVER: u32 = u32::MAX;

/// The times at which cached items expire.
#[derive(Debug)]
pub struct Expiry {
    until_s: HugeVec<u32>,
}

impl Expiry {
    /// Of items `0..items`, none of which is cached.
    pub fn new(items: u32) -> Self {
        let mut until_s = HugeVec::filled(EVER, 0);
        grow(&mut until_s, EVER, items as usize);
        Self { until_s }
    }

    /// Accesses and drops in order, each with its life; adds what is seen to `counts`.
    ///
    /// # Panics
    /// If there are not as many lives as accesses, or items beyond those of the times.
    pub fn simulate(&mut self, policy: &mut dyn Policy, accesses: &[Access], lives: &[Life], counts: &mut Counts) {
        assert_eq!(accesses.len(), lives.len(), "a life for each access");
        for (access, life) in accesses.iter().zip(lives) {
            let until_s = &mut self.until_s[access.item as usize];
            if !access.is_drop() && policy.contains(access.item) {
                if *until_s > life.time_s {
                    policy.simulate(std::slice::from_ref(access), counts);
                    continue;
                }
                policy.remove(access.item);
                counts.expired += 1;
            }
            *until_s = if life.ttl_s == 0 { EVER } else { life.time_s.saturating_add(life.ttl_s) };
            policy.simulate(std::slice::from_ref(access), counts);
        }
    }
}
