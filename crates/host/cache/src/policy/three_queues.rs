//! Shared implementation of S3-FIFO and its variants: a small FIFO that filters newcomers, a main FIFO with second
//! chances, and a ghost list of the small FIFO's evictions. S3-FIFO and QD-LP differ only in their [`Rules`].

use super::{Policy, Settings};
use crate::Access;
use crate::lists::Lists;

pub(super) const SMALL: u8 = 0;
pub(super) const MAIN: u8 = 1;
pub(super) const GHOST: u8 = 2;

/// Rules that differ between the variants of S3-FIFO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Maximum use count of an item.
    pub most_uses: u8,
    /// Number of uses in the small FIFO after which an item is promoted to the main FIFO.
    pub promoted_at: u8,
    /// True if promoted items keep their use count.
    pub keeps_uses: bool,
    /// If true, evictions come from the small FIFO unless the main FIFO exceeds its share, and newcomers fill the main
    /// FIFO until the first eviction. If false, evictions come from the small FIFO only while it is full.
    pub fills_main: bool,
}

#[derive(Debug)]
pub(super) struct ThreeQueues {
    /// Small FIFO, main FIFO and ghost list. The mark of an item counts its uses.
    pub lists: Lists<3>,
    rules: Rules,
    /// Size in units at which the small FIFO is full.
    pub small: u64,
    /// Maximum size of the main FIFO, in units.
    pub main: u64,
    /// Maximum size of the ghost list, in units.
    pub ghost: u64,
    /// True until the cache evicts its first item.
    cold: bool,
    capacity: u64,
}

impl ThreeQueues {
    /// Creates empty queues; the ghost list has the size of the main FIFO.
    pub fn new(rules: Rules, settings: &Settings, capacity: u64, items: u32) -> Self {
        let share = settings.share("small", capacity);
        let rest = (u128::from(capacity) * u128::from(100 - settings.get("small")) / 100) as u64;
        // Computes exact shares in whole units: "at least 10 %" rounds up, "above 90 %" rounds down.
        let (small, main) = if rules.fills_main { (share, capacity - share) } else { (capacity - rest, rest) };
        Self { lists: Lists::new(items), rules, small, main, ghost: rest, cold: true, capacity }
    }

    /// Counts a use of a cached item.
    #[inline]
    pub fn count(&mut self, item: u32) {
        let uses = self.lists.mark(item);
        if uses < self.rules.most_uses {
            self.lists.set_mark(item, uses + 1);
        }
    }

    fn evicts_small_first(&self) -> bool {
        let [small, main] = [SMALL, MAIN].map(|list| self.lists.units(list));
        if self.rules.fills_main { main <= self.main && small > 0 } else { small >= self.small || main == 0 }
    }

    /// Runs EVICT-S of the S3-FIFO paper until an item is evicted; returns the item and its queue.
    fn evict_small(&mut self) -> Option<(u32, u8)> {
        while let Some(item) = self.lists.oldest(SMALL) {
            if self.lists.mark(item) < self.rules.promoted_at {
                self.lists.move_to(GHOST, item);
                self.lists.shrink_to(GHOST, self.ghost);
                return Some((item, SMALL));
            }
            self.lists.move_to(MAIN, item);
            if !self.rules.keeps_uses {
                self.lists.set_mark(item, 0);
            }
            if !self.rules.fills_main && self.lists.units(MAIN) > self.main {
                return self.evict_main();
            }
        }
        None
    }

    fn evict_main(&mut self) -> Option<(u32, u8)> {
        self.lists.pop_second_chance(MAIN).map(|item| (item, MAIN))
    }

    /// Removes an item from the ghost list; returns true if the item was there.
    fn leave_ghost(&mut self, item: u32) -> bool {
        let remembered = self.lists.list(item) == GHOST;
        if remembered {
            self.lists.remove(item);
        }
        remembered
    }

    /// Inserts an item. Calls `gone(item, queue, size)` for each evicted item.
    pub fn insert(&mut self, item: u32, size: u32, mut gone: impl FnMut(u32, u8, u32)) {
        let known_before = self.rules.fills_main && self.leave_ghost(item);
        while self.used() + u64::from(size) > self.capacity {
            self.cold = false;
            if self.evicts_small_first() {
                while let Some((item, from)) = self.evict_small() {
                    gone(item, from, self.lists.size(item));
                    if from == SMALL {
                        break;
                    }
                }
            } else if let Some((item, from)) = self.evict_main() {
                gone(item, from, self.lists.size(item));
            }
        }
        let small_is_full = self.rules.fills_main && self.cold && self.lists.units(SMALL) >= self.small;
        // With `fills_main`, the item leaves the ghost list before the evictions, because they could otherwise drop it
        // from that list.
        let came_back = known_before || self.leave_ghost(item);
        self.lists.set_mark(item, 0);
        self.lists.push(if came_back || small_is_full { MAIN } else { SMALL }, item, size);
    }

    /// Evicts one item; returns the item and its queue. EVICT-S may evict several items for one newcomer; each call
    /// starts EVICT-S anew.
    pub fn evict(&mut self) -> Option<(u32, u8)> {
        self.cold = false;
        let small = if self.evicts_small_first() { self.evict_small() } else { None };
        small.or_else(|| self.evict_main())
    }
}

impl Policy for ThreeQueues {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.contains(item) {
            self.count(item);
            return true;
        }
        self.insert(item, size, |item, _, _| evicted.push(item));
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.evict().map(|(item, _)| item)
    }

    super::listed!(lists, GHOST);
}
