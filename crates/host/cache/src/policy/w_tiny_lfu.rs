//! W-TinyLFU: a small LRU window for newcomers, and TinyLFU admission to a segmented LRU main cache.
//!
//! ```text
//! access(x):  record x in the sketch
//! hit(x):     in the window:  x becomes its newest
//!             in the main cache:  x becomes the newest of the protected segment
//!                                 while that is above its share: its oldest becomes the newest of the probationary one
//! miss(x):    x becomes the newest of the window;  while that is above its share, c = its oldest:
//!                 room in the main cache: c becomes the newest of the probationary segment
//!                 else v = the oldest of the probationary segment, of the protected one if that is empty:
//!                     estimate(c) > estimate(v): evict v, c becomes the newest of the probationary segment
//!                     else: evict c
//! ```
//! The window is 1 % of the cache, at least one item; the protected segment 80 % of the main cache.
//! Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM Transactions on Storage
//! 13(4), 2017, section 4.

use ssdlab_core::Parameter;

use super::{Policy, PolicyInfo, PolicyRules, slru, tiny_lfu};
use crate::Access;
use crate::lists::Lists;
use crate::sketch::{self, Sketch};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "w-tinylfu",
    help: "An LRU window, then a segmented LRU that admits only items recently accessed more often than the victim.",
    source: "Einziger et al. 2017",
    parameters: &[
        Parameter::share("window", 1, "Share of the cache for the LRU window of new items."),
        slru::PROTECTED,
        tiny_lfu::SAMPLE,
        tiny_lfu::DOORKEEPER,
    ],
    role: PolicyRules {
        largest: sketch::LARGEST,
        ..PolicyRules::one_size(&|settings, capacity, items| {
            let window = settings.share("window", capacity).max(1);
            let sketch = tiny_lfu::sketch(settings, capacity);
            let protected = settings.share("protected", capacity - window);
            Box::new(WTinyLfu { lists: Lists::new(items), sketch, window, protected, capacity })
        })
    },
};

const WINDOW: u8 = 0;
const PROBATION: u8 = 1;
const PROTECTION: u8 = 2;

#[derive(Debug)]
struct WTinyLfu {
    lists: Lists<3>,
    sketch: Sketch,
    /// Maximum number of items in the window.
    window: u64,
    /// Maximum number of items in the protected segment.
    protected: u64,
    capacity: u64,
}

impl WTinyLfu {
    /// Compares the oldest item of the window with the victim of the full main cache; evicts and returns the loser.
    fn compete(&mut self) -> Option<u32> {
        let candidate = self.lists.oldest(WINDOW)?;
        let victim = self.lists.oldest(PROBATION).or(self.lists.oldest(PROTECTION));
        let stronger = |victim: &u32| self.sketch.estimate(candidate) > self.sketch.estimate(*victim);
        let Some(victim) = victim.filter(stronger) else {
            self.lists.remove(candidate);
            return Some(candidate);
        };
        self.lists.remove(victim);
        self.lists.move_to(PROBATION, candidate);
        Some(victim)
    }
}

impl Policy for WTinyLfu {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.sketch.record(item);
        let list = self.lists.list(item);
        if list == WINDOW {
            self.lists.renew(item);
            return true;
        }
        if list == PROBATION || list == PROTECTION {
            self.lists.move_to(PROTECTION, item);
            while self.lists.units(PROTECTION) > self.protected {
                self.lists.move_oldest(PROTECTION, PROBATION);
            }
            return true;
        }
        self.lists.push(WINDOW, item, 1);
        while self.lists.units(WINDOW) > self.window {
            let main = self.lists.units(PROBATION) + self.lists.units(PROTECTION);
            if main + self.window < self.capacity {
                self.lists.move_oldest(WINDOW, PROBATION);
            } else {
                evicted.extend(self.compete());
            }
        }
        false
    }

    /// If the window is full, its oldest item, which the newcomer will push out, competes with the main cache's victim.
    /// Otherwise evicts from the main cache.
    fn victim(&mut self) -> Option<u32> {
        if self.lists.units(WINDOW) >= self.window {
            return self.compete();
        }
        [PROBATION, PROTECTION, WINDOW].into_iter().find_map(|list| self.lists.pop_oldest(list))
    }

    super::listed!(lists, 3, and sketch);
}
