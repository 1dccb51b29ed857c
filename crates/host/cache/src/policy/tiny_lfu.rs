//! TinyLFU: LRU that admits only newcomers recently accessed more often than the victim.
//!
//! ```text
//! access(x):  record x in the sketch
//! hit(x):     x becomes the newest
//! miss(x):    room: x becomes the newest
//!             else v = the oldest:  estimate(x) > estimate(v): evict v, x becomes the newest
//!                                   else: reject x
//! ```
//! Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM Transactions on Storage
//! 13(4), 2017, sections 3 and 5. The doorkeeper, which saves memory at the cost of precision, is a parameter. It is
//! off by default, as in the authors' simulator (part of Caffeine). The sample of ten accesses per item also follows
//! that simulator.

use ssdlab_core::{Parameter, Settings, Unit};

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;
use crate::sketch::{self, Sketch, SketchOptions};

pub(crate) static SAMPLE: Parameter = Parameter::new(
    "sample",
    Unit::Count("accesses per item"),
    10,
    [1, 100],
    "Number of accesses between two halvings of the counters, as a multiple of the cache capacity in items.",
);

pub(crate) static DOORKEEPER: Parameter = Parameter::switch(
    "doorkeeper",
    false,
    "True (1) to use a Bloom filter instead of the counters for each item's first access after a halving.",
);

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "tinylfu",
    help: "LRU that admits only items recently accessed more often than the victim.",
    source: "Einziger et al. 2017",
    parameters: &[SAMPLE, DOORKEEPER],
    role: PolicyRules {
        largest: sketch::LARGEST,
        ..PolicyRules::one_size(&|settings, capacity, items| {
            let sketch = sketch(settings, capacity);
            Box::new(TinyLfu { lists: Lists::new(items), sketch, newcomer: None, capacity })
        })
    },
};

/// Creates the sketch for a cache of the given capacity.
pub(crate) fn sketch(settings: &Settings, capacity: u64) -> Sketch {
    let doorkeeper = settings.is_set("doorkeeper");
    Sketch::new(SketchOptions { capacity, sample: settings.get("sample"), doorkeeper })
}

#[derive(Debug)]
struct TinyLfu {
    lists: Lists<1>,
    sketch: Sketch,
    /// Item most recently inserted into the cache.
    newcomer: Option<u32>,
    capacity: u64,
}

impl Policy for TinyLfu {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.sketch.record(item);
        if self.lists.has(item) {
            self.lists.renew(item);
            return true;
        }
        if self.lists.units(0) == self.capacity
            && let Some(victim) = self.lists.oldest(0)
        {
            if self.sketch.estimate(item) <= self.sketch.estimate(victim) {
                evicted.push(item);
                return false;
            }
            self.lists.remove(victim);
            evicted.push(victim);
        }
        self.lists.push(0, item, 1);
        self.newcomer = Some(item);
        false
    }

    /// Applies the admission rule one step late: evicts the item most recently inserted unless it was used more often
    /// than the oldest item.
    fn victim(&mut self) -> Option<u32> {
        let oldest = self.lists.oldest(0)?;
        let unwanted = |item: &u32| self.sketch.estimate(*item) <= self.sketch.estimate(oldest);
        let turned_away = self.newcomer.take().filter(|&item| self.lists.has(item)).filter(unwanted);
        let victim = turned_away.unwrap_or(oldest);
        self.lists.remove(victim);
        Some(victim)
    }

    super::listed!(lists, 1, and sketch);
}
