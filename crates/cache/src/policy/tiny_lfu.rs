//! TinyLFU: LRU with a doorman, who lets in only what was used more often lately than what it would evict.
//!
//! ```text
//! access(x):  record x in the sketch
//! hit(x):     x becomes the newest
//! miss(x):    room: x becomes the newest
//!             else v = the oldest:  estimate(x) > estimate(v): v gives way, x becomes the newest
//!                                   else: x is turned away
//! ```
//! Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM Transactions on Storage
//! 13(4), 2017, sections 3 and 5. Its doorkeeper, which saves memory at the cost of precision, is a parameter; it is
//! off by default, as in the simulator of the authors (Caffeine's), whose sample of ten accesses for each item is kept
//! too.

use ssdlab_core::{Parameter, Settings, Unit};

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;
use crate::sketch::{self, Sketch, SketchOptions};

pub(crate) static SAMPLE: Parameter = Parameter {
    name: "sample",
    unit: Unit::Count("accesses per item"),
    default: 10,
    min: 1,
    max: 100,
    example: None,
    help: "Accesses after which counters are halved, for each item of the cache.",
};

pub(crate) static DOORKEEPER: Parameter =
    Parameter::switch("doorkeeper", false, "1: items are counted only once they are seen again in a sample.");

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "tinylfu",
    help: "LRU that lets in only what was used more often lately than what it would evict.",
    source: "Einziger et al. 2017",
    parameters: &[SAMPLE, DOORKEEPER],
    role: PolicyRules {
        sizes: false,
        needs_future: false,
        largest: sketch::LARGEST,
        one_pass: None,
        build: |settings, capacity, items| {
            let sketch = sketch(settings, capacity);
            Box::new(TinyLfu { lists: Lists::new(items), sketch, newcomer: None, capacity })
        },
    },
};

/// The sketch of a cache.
pub(crate) fn sketch(settings: &Settings, capacity: u64) -> Sketch {
    let doorkeeper = settings.is_set("doorkeeper");
    Sketch::new(SketchOptions { capacity, sample: settings.get("sample"), doorkeeper })
}

#[derive(Debug)]
struct TinyLfu {
    lists: Lists<1>,
    sketch: Sketch,
    /// What came into the cache last.
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

    /// The doorman comes a step late: the item that came last gives way if it was used no more often than the oldest.
    fn victim(&mut self) -> Option<u32> {
        let oldest = self.lists.oldest(0)?;
        let unwanted = |item: &u32| self.sketch.estimate(*item) <= self.sketch.estimate(oldest);
        let turned_away = self.newcomer.take().filter(|&item| self.lists.has(item)).filter(unwanted);
        let victim = turned_away.unwrap_or(oldest);
        self.lists.remove(victim);
        Some(victim)
    }

    super::listed!(lists, 1, remove, and sketch);
}
