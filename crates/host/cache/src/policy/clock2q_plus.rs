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

use ssdlab_core::{Parameter, Unit};

use super::s3_fifo::SMALL_SHARE;
use super::three_queues::{GHOST, Rules, SMALL, ThreeQueues};
use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::per_item::PerItem;

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
        let mut queues = ThreeQueues::new(rules, settings, capacity, items);
        queues.ghost = settings.share("ghost", capacity);
        let window_percent = settings.get("window");
        Box::new(Clock2QPlus { queues, window_percent, arrived: 0, arrived_at: PerItem::new(0, items), capacity })
    }),
};

#[derive(Debug)]
struct Clock2QPlus {
    queues: ThreeQueues,
    window_percent: u64,
    /// Number of units ever inserted into the small FIFO.
    arrived: u64,
    /// Value of `arrived` just after each item was inserted.
    arrived_at: PerItem<u64>,
    capacity: u64,
}

impl Clock2QPlus {
    /// True if an item entered the small FIFO so recently that its use does not count.
    fn is_correlated(&self, item: u32) -> bool {
        let since = self.arrived - self.arrived_at[item];
        // Both sides of the comparison are scaled by 100 to avoid rounding.
        u128::from(since) * 100 < u128::from(self.queues.small) * u128::from(self.window_percent)
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
            self.arrived += u64::from(size);
            self.arrived_at[item] = self.arrived;
        }
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.queues.victim()
    }

    fn remove(&mut self, item: u32) {
        self.queues.remove(item);
    }

    super::listed!(queues.lists, GHOST, only);
    super::tables!(queues, arrived_at);
}
