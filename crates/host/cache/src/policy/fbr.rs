//! FBR: an LRU stack of three sections; hits in the top section are not counted, and items of the bottom section are
//! evicted by use count.
//!
//! ```text
//! sections of the stack, from the top: new, middle, old;  count(x): uses that were not correlated
//! hit(x):   x not in the new section: increment count(x);  x goes to the top
//! miss(x):  while x does not fit: evict the item of the old section with the smallest count, capped at `count_most`;
//!                                 the lowest on ties
//!           x goes to the top, count(x) = 1
//! both:     the mean of all counts above `mean_most`: every count = count / 2, rounded up
//! ```
//! If the old section is empty, the lowest item is evicted. Source: Robinson, Devarakonda, "Data cache management using
//! frequency-based replacement", SIGMETRICS 1990, sections 2 and 3. The paper's parameters depend on the workload; the
//! defaults here are our choice.

use ssdlab_core::{Parameter, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::heap::Heap;
use crate::lists::Lists;
use crate::per_item::PerItem;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "fbr",
    help: "LRU that ignores uses of its newest items and evicts the least frequently used of its oldest items.",
    source: "Robinson, Devarakonda, SIGMETRICS 1990",
    parameters: &[
        Parameter::new(
            "new",
            Unit::Percent,
            25,
            [0, 100],
            "Size of the new section (most recently used items), relative to the capacity.",
        ),
        Parameter::new(
            "old",
            Unit::Percent,
            50,
            [0, 100],
            "Size of the old section (least recently used items), relative to the capacity.",
        ),
        Parameter::new(
            "mean_most",
            Unit::Count("uses"),
            100,
            [1, 1 << 30],
            "Mean use count above which all use counts are halved.",
        ),
        Parameter::new(
            "count_most",
            Unit::Count("uses"),
            1000,
            [1, 1 << 30],
            "Maximum use count: the eviction order treats higher use counts as equal to this value.",
        ),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let new_most = settings.share("new", capacity);
        Box::new(Fbr {
            stack: Lists::new(items),
            old: Heap::new(items, capacity),
            counts: PerItem::new(0, items),
            arrivals: 0,
            sum: 0,
            cached: 0,
            new_most,
            middle_most: capacity.saturating_sub(new_most + settings.share("old", capacity)),
            mean_most: settings.get("mean_most"),
            count_most: settings.get("count_most"),
            capacity,
        })
    }),
};

const NEW: u8 = 0;
const MIDDLE: u8 = 1;
const OLD: u8 = 2;

#[derive(Debug)]
struct Fbr {
    stack: Lists<3>,
    /// Items of the old section, by use count and time of arrival in the section.
    old: Heap<(u64, u64)>,
    counts: PerItem<u64>,
    /// Total number of arrivals in the old section.
    arrivals: u64,
    /// Sum of the use counts of all cached items.
    sum: u64,
    cached: u64,
    new_most: u64,
    middle_most: u64,
    mean_most: u64,
    count_most: u64,
    capacity: u64,
}

impl Fbr {
    /// Moves the oldest items of each oversized section to the next lower section. Halves all use counts if their mean
    /// exceeds the limit.
    fn settle(&mut self) {
        while self.stack.units(NEW) > self.new_most {
            self.stack.move_oldest(NEW, MIDDLE);
        }
        while self.stack.units(MIDDLE) > self.middle_most {
            if let Some(item) = self.stack.move_oldest(MIDDLE, OLD) {
                self.arrivals += 1;
                self.old.push(item, 0, (self.counts[item].min(self.count_most), self.arrivals));
            }
        }
        if self.sum > self.mean_most * self.cached {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.sum = 0;
        for section in [NEW, MIDDLE, OLD] {
            let mut at = self.stack.oldest(section);
            while let Some(item) = at {
                let count = &mut self.counts[item];
                *count = count.div_ceil(2);
                self.sum += *count;
                if section == OLD {
                    let (_, arrival) = self.old.key(item);
                    self.old.set(item, ((*count).min(self.count_most), arrival));
                }
                at = self.stack.newer(item);
            }
        }
    }
}

impl Policy for Fbr {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let section = self.stack.list(item);
        let hit = section <= OLD;
        if hit {
            if section != NEW {
                self.counts[item] += 1;
                self.sum += 1;
            }
            if section == OLD {
                self.old.remove(item);
            }
            self.stack.move_to(NEW, item);
        } else {
            make_room(self, size, evicted);
            self.counts[item] = 1;
            self.sum += 1;
            self.cached += 1;
            self.stack.push(NEW, item, size);
        }
        self.settle();
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        let least = self.old.least().map(|(_, item)| item);
        let victim = least.or(self.stack.oldest(MIDDLE)).or(self.stack.oldest(NEW))?;
        self.remove(victim);
        Some(victim)
    }

    fn remove(&mut self, item: u32) {
        if self.stack.discard(item) {
            self.old.discard(item);
            self.sum -= self.counts[item];
            self.cached -= 1;
        }
    }

    super::listed!(stack, OLD + 1, only);
    super::tables!(stack, old, counts);
}
