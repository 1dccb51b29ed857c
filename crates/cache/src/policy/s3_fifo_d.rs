//! S3-FIFO-D: S3-FIFO whose shares adapt to what comes back soon after it left either FIFO.
//!
//! ```text
//! E-S, E-M: what left S and M last, at most `lately` of the capacity each;  hits of E-S and E-M: 0 at first
//! access(x): hits of E-S + hits of E-M > 100, and E-M not empty:
//!                hits of E-S above twice those of E-M, and M above 1 % and a step:
//!                    the share of S up by a step, M's down
//!                hits of E-M above twice those of E-S, and S above 1 % and a step:
//!                    the share of M up by a step, S's down
//!                both counts of hits times 0.8, rounded down
//! miss(x):   x in E-S or E-M: out of it, and a hit of that;  then as S3-FIFO
//! gives way: what leaves S for good goes to E-S, what leaves M to E-M; these forget their oldest
//! ```
//! A step is 0.1 % of the capacity, at least a unit; G remembers as much as M may hold. Source: Yang, Zhang, Qiu, Yue,
//! Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023, section 6.2: two ghosts of 5 %, 100 hits,
//! twice as many. Limits of 1 % and the factor of 0.8 are of libCacheSim, its authors' simulator.

use ssdlab_core::{Parameter, Unit};

use super::s3_fifo::{RULES, SMALL_SHARE};
use super::three_queues::{MAIN, ThreeQueues, queued};
use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "s3-fifo-d",
    help: "S3-FIFO whose shares adapt to what comes back soon after it left.",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        SMALL_SHARE,
        Parameter {
            name: "hits",
            unit: Unit::Count("hits"),
            default: 100,
            min: 0,
            max: 1 << 20,
            example: None,
            help: "Hits on what left lately above which shares adapt.",
        },
        Parameter::share("lately", 5, "What counts as having left lately, in terms of the capacity, for each FIFO."),
    ],
    role: PolicyRules {
        sizes: true,
        needs_future: false,
        largest: u64::MAX,
        one_pass: None,
        build: |settings, capacity, items| {
            Box::new(S3FifoD {
                queues: ThreeQueues::new(RULES, settings, capacity, items),
                left: Left { lists: Lists::new(items), most: settings.share("lately", capacity), hits: [0; 2] },
                hits_most: settings.get("hits"),
            })
        },
    },
};

/// What left each FIFO last.
#[derive(Debug)]
struct Left {
    lists: Lists<2>,
    /// Most units of each.
    most: u64,
    hits: [u64; 2],
}

impl Left {
    fn note(&mut self, item: u32, from: u8, size: u32) {
        self.lists.push(from, item, size);
        while self.lists.units(from) > self.most {
            self.lists.pop_oldest(from);
        }
    }

    fn come_back(&mut self, item: u32) {
        if self.lists.has(item) {
            self.hits[self.lists.list(item) as usize] += 1;
            self.lists.remove(item);
        }
    }

    fn forget(&mut self, item: u32) {
        if self.lists.has(item) {
            self.lists.remove(item);
        }
    }

    fn grow(&mut self, items: u32) {
        self.lists.grow(items);
    }

    fn bytes(&self) -> usize {
        self.lists.bytes()
    }

    fn prefetch(&self, item: u32) {
        self.lists.prefetch(item);
    }
}

#[derive(Debug)]
struct S3FifoD {
    queues: ThreeQueues,
    left: Left,
    hits_most: u64,
}

impl S3FifoD {
    fn adapt(&mut self) {
        let [small, main] = self.left.hits;
        if small + main <= self.hits_most || self.left.lists.units(MAIN) == 0 {
            return;
        }
        let capacity = self.queues.capacity();
        let step = (capacity / 1000).max(1);
        let is_large = |share: u64| u128::from(share) * 100 > u128::from(capacity) && share > step;
        if small > 2 * main && is_large(self.queues.main) {
            self.queues.small += step;
            self.queues.main -= step;
        } else if main > 2 * small && is_large(self.queues.small) {
            self.queues.small -= step;
            self.queues.main += step;
        }
        self.queues.ghost = self.queues.main;
        self.left.hits = [small * 4 / 5, main * 4 / 5];
    }
}

impl Policy for S3FifoD {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.adapt();
        if self.queues.contains(item) {
            self.queues.count(item);
            return true;
        }
        self.left.come_back(item);
        self.queues.bring(item, size, |item, from, size| {
            evicted.push(item);
            self.left.note(item, from, size);
        });
        false
    }

    fn victim(&mut self) -> Option<u32> {
        let (item, from) = self.queues.give_way()?;
        self.left.note(item, from, self.queues.lists.size(item));
        Some(item)
    }

    fn remove(&mut self, item: u32) {
        self.left.forget(item);
        self.queues.remove(item);
    }

    queued!(queues, left);
}
