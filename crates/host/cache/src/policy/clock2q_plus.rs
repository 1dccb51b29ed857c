//! Clock2Q+: S3-FIFO with bits instead of counters, and a window of newcomers whose uses do not count.
//!
//! ```text
//! hit(x):    x in S, and at least `window` of S was inserted after x: set bit(x);  x in M: set bit(x)
//! miss(x):   x in G: remove it
//!            while x does not fit:  |M| above its share, or S empty: EVICT-M;  else EVICT-S
//!            x was in G, or S is full and nothing was evicted yet: to the head of M;  else to the head of S
//!            bit(x) clear
//! EVICT-S, until one was evicted or S is empty:
//!            tail of S:  bit set: to the head of M, bit clear
//!                        else: evict it to G, which drops its oldest while above `ghost`
//! EVICT-M, until one was evicted:
//!            tail of M:  bit set: to the head of M, bit clear;  else: evict it
//! ```
//! S has 10 % of the capacity, its newest half is the window, and G holds half as many units as the cache. Source: Zhai
//! et al., "Clock2Q+: a simple and efficient replacement algorithm for metadata cache in VMware vSAN", arXiv
//! 2511.21958, 2025. The order of steps on a miss follows libCacheSim, which the authors contributed to; its ghost list
//! holds 90 % of the capacity.

use ssdlab_core::{HugeVec, Parameter, Unit};

use super::s3_fifo::SMALL_SHARE;
use super::three_queues::{Rules, SMALL, ThreeQueues, queued};
use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::grow;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "clock2q-plus",
    help: "A small FIFO that ignores hits soon after insertion, a CLOCK, and a ghost list of the FIFO's evictions.",
    source: "Zhai et al. 2025",
    parameters: &[
        SMALL_SHARE,
        Parameter::new(
            "window",
            Unit::Percent,
            50,
            [0, 100],
            "Share of the small FIFO, counted from its newest item, in which hits are ignored.",
        ),
        Parameter::share("ghost", 50, "Size of the ghost list, relative to the capacity."),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let rules = Rules { most_uses: 1, promoted_at: 1, keeps_uses: false, fills_main: true };
        let mut queues = ThreeQueues::new(rules, settings, capacity, 0);
        queues.ghost = settings.share("ghost", capacity);
        let window_percent = settings.get("window");
        let mut policy =
            Clock2QPlus { queues, window_percent, arrivals: Arrivals { all: 0, at: HugeVec::filled(0, 0) } };
        policy.grow(items);
        Box::new(policy)
    }),
};

/// Running total of units inserted into the small FIFO, and the value of this total when each item was inserted.
#[derive(Debug)]
struct Arrivals {
    all: u64,
    at: HugeVec<u64>,
}

impl Arrivals {
    fn note(&mut self, item: u32, size: u32) {
        self.all += u64::from(size);
        self.at[item as usize] = self.all;
    }

    fn since(&self, item: u32) -> u64 {
        self.all - self.at[item as usize]
    }

    fn grow(&mut self, items: u32) {
        grow(&mut self.at, 0, items as usize);
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.at)
    }

    fn prefetch(&self, item: u32) {
        ssdlab_core::mem::prefetch(&self.at, item as usize);
    }
}

#[derive(Debug)]
struct Clock2QPlus {
    queues: ThreeQueues,
    window_percent: u64,
    arrivals: Arrivals,
}

impl Clock2QPlus {
    /// True if an item entered the small FIFO so recently that its use does not count.
    fn is_correlated(&self, item: u32) -> bool {
        // Both sides of the comparison are scaled by 100 to avoid rounding.
        u128::from(self.arrivals.since(item)) * 100 < u128::from(self.queues.small) * u128::from(self.window_percent)
    }
}

impl Policy for Clock2QPlus {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.queues.contains(item) {
            if self.queues.lists.list(item) != SMALL || !self.is_correlated(item) {
                self.queues.count(item);
            }
            return true;
        }
        self.queues.insert(item, size, |item, _, _| evicted.push(item));
        if self.queues.lists.list(item) == SMALL {
            self.arrivals.note(item, size);
        }
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.queues.victim()
    }

    fn remove(&mut self, item: u32) {
        self.queues.remove(item);
    }

    queued!(queues, arrivals);
}
