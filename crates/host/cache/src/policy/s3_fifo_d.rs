//! S3-FIFO-D: S3-FIFO that adapts its queue sizes when items recently evicted from either FIFO are accessed again.
//!
//! ```text
//! E-S, E-M: last evictions of S and M, at most `lately` of the capacity each;  hits of E-S and E-M: initially 0
//! access(x): hits of E-S + hits of E-M > 100, and E-M not empty:
//!                hits of E-S above twice the hits of E-M, and M above 1 % and a step:
//!                    S grows by a step, M shrinks
//!                hits of E-M above twice the hits of E-S, and S above 1 % and a step:
//!                    M grows by a step, S shrinks
//!                multiply both hit counts by 0.8, rounding down
//! miss(x):   x in E-S or E-M: remove it and count a hit;  then as S3-FIFO
//! eviction:  from S to E-S, from M to E-M; these drop their oldest
//! ```
//! A step is 0.1 % of the capacity, at least one unit; G has the size of M. Source: Yang, Zhang, Qiu, Yue, Rashmi,
//! "FIFO queues are all you need for cache eviction", SOSP 2023, section 6.2: two ghosts of 5 %, 100 hits, and a ratio
//! of two. The limit of 1 % and the factor 0.8 come from libCacheSim, the authors' simulator.

use ssdlab_core::{Parameter, Unit};

use super::s3_fifo::{RULES, SMALL_SHARE};
use super::three_queues::{GHOST, MAIN, ThreeQueues};
use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "s3-fifo-d",
    help: "S3-FIFO that adapts its queue sizes when recently evicted items are accessed again.",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        SMALL_SHARE,
        Parameter::new(
            "hits",
            Unit::Count("hits"),
            100,
            [0, 1 << 20],
            "Adapts the queue sizes after more than this number of accesses to recently evicted items.",
        ),
        Parameter::share("lately", 5, "Size of each FIFO's list of recently evicted items, relative to the capacity."),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        Box::new(S3FifoD {
            queues: ThreeQueues::new(RULES, settings, capacity, items),
            left: Lists::new(items),
            left_most: settings.share("lately", capacity),
            hits: [0; 2],
            hits_most: settings.get("hits"),
            capacity,
        })
    }),
};

#[derive(Debug)]
struct S3FifoD {
    queues: ThreeQueues,
    /// Recently evicted items of the small and the main FIFO.
    left: Lists<2>,
    /// Maximum size of each list of `left`, in units.
    left_most: u64,
    /// Hits of each list of `left`; decays by a fifth with each adaptation.
    hits: [u64; 2],
    hits_most: u64,
    capacity: u64,
}

impl S3FifoD {
    fn adapt(&mut self) {
        let [small, main] = self.hits;
        if small + main <= self.hits_most || self.left.units(MAIN) == 0 {
            return;
        }
        let step = (self.capacity / 1000).max(1);
        let is_large = |share: u64| u128::from(share) * 100 > u128::from(self.capacity) && share > step;
        if small > 2 * main && is_large(self.queues.main) {
            self.queues.small += step;
            self.queues.main -= step;
        } else if main > 2 * small && is_large(self.queues.small) {
            self.queues.small -= step;
            self.queues.main += step;
        }
        self.queues.ghost = self.queues.main;
        self.hits = [small * 4 / 5, main * 4 / 5];
    }
}

impl Policy for S3FifoD {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.adapt();
        if self.queues.contains(item) {
            self.queues.count(item);
            return true;
        }
        let left = self.left.list(item);
        if self.left.discard(item) {
            self.hits[left as usize] += 1;
        }
        self.queues.insert(item, size, |item, from, size| {
            evicted.push(item);
            self.left.push(from, item, size);
            self.left.shrink_to(from, self.left_most);
        });
        false
    }

    fn victim(&mut self) -> Option<u32> {
        let (item, from) = self.queues.evict()?;
        self.left.push(from, item, self.queues.lists.size(item));
        self.left.shrink_to(from, self.left_most);
        Some(item)
    }

    fn remove(&mut self, item: u32) {
        self.left.discard(item);
        self.queues.remove(item);
    }

    super::listed!(queues.lists, GHOST, only);
    super::tables!(queues, left);
}
