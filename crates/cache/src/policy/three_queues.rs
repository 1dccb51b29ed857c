//! What S3-FIFO and its kin share: a small FIFO that filters, a main one that gives second chances, a ghost that
//! remembers what left the small one. S3-FIFO and QD-LP are these queues with rules of their own.

use super::{Policy, Settings};
use crate::Access;
use crate::lists::Lists;

pub(super) const SMALL: u8 = 0;
pub(super) const MAIN: u8 = 1;
pub(super) const GHOST: u8 = 2;

/// Where the kin differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Uses that are told apart.
    pub most_uses: u8,
    /// Uses in the small FIFO that earn a place in the main one.
    pub promoted_at: u8,
    /// Whether uses in the small FIFO count in the main one.
    pub keeps_uses: bool,
    /// Whether the small FIFO gives way unless the main one is above its share, which newcomers fill before anything
    /// has given way; else whether it gives way while it is full.
    pub fills_main: bool,
}

#[derive(Debug)]
pub(super) struct ThreeQueues {
    /// Marks are uses.
    pub lists: Lists<3>,
    rules: Rules,
    /// Units with which the small FIFO is full.
    pub small: u64,
    /// Most units of the main one.
    pub main: u64,
    /// Most units remembered.
    pub ghost: u64,
    /// Whether nothing gave way yet.
    cold: bool,
    capacity: u64,
}

impl ThreeQueues {
    /// Empty queues; the ghost remembers as much as the main FIFO holds.
    pub fn new(rules: Rules, settings: &Settings, capacity: u64, items: u32) -> Self {
        let share = settings.share("small", capacity);
        let rest = (u128::from(capacity) * u128::from(100 - settings.get("small")) / 100) as u64;
        // Exact shares in whole units: at least 10 % is a number rounded up, above 90 % one rounded down.
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

    fn begins_with_small(&self) -> bool {
        let [small, main] = [SMALL, MAIN].map(|list| self.lists.units(list));
        if self.rules.fills_main { main <= self.main && small > 0 } else { small >= self.small || main == 0 }
    }

    /// EVICT-S until something gives way: what, and from where.
    fn evict_small(&mut self) -> Option<(u32, u8)> {
        while let Some(item) = self.lists.oldest(SMALL) {
            if self.lists.mark(item) < self.rules.promoted_at {
                self.lists.move_to(GHOST, item);
                while self.lists.units(GHOST) > self.ghost {
                    self.lists.pop_oldest(GHOST);
                }
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

    /// Takes an item out of the ghost, and whether it was there.
    fn leave_ghost(&mut self, item: u32) -> bool {
        let remembered = self.lists.list(item) == GHOST;
        if remembered {
            self.lists.remove(item);
        }
        remembered
    }

    /// Brings an item in; `gone` is told what gives way for it, from where, and its size.
    pub fn bring(&mut self, item: u32, size: u32, mut gone: impl FnMut(u32, u8, u32)) {
        let known_before = self.rules.fills_main && self.leave_ghost(item);
        while self.used() + u64::from(size) > self.capacity {
            self.cold = false;
            if self.begins_with_small() {
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
        // What gave way for the item may have pushed it out of the ghost.
        let came_back = known_before || self.leave_ghost(item);
        self.lists.set_mark(item, 0);
        self.lists.push(if came_back || small_is_full { MAIN } else { SMALL }, item, size);
    }

    /// The first item that gives way, and from where; where EVICT-S would go on, it begins anew the next time.
    pub fn give_way(&mut self) -> Option<(u32, u8)> {
        self.cold = false;
        let small = if self.begins_with_small() { self.evict_small() } else { None };
        small.or_else(|| self.evict_main())
    }
}

impl Policy for ThreeQueues {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.contains(item) {
            self.count(item);
            return true;
        }
        self.bring(item, size, |item, _, _| evicted.push(item));
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.give_way().map(|(item, _)| item)
    }

    fn remove(&mut self, item: u32) {
        if self.lists.has(item) {
            self.lists.remove(item);
        }
    }

    #[inline]
    fn contains(&self, item: u32) -> bool {
        self.lists.list(item) <= MAIN
    }

    #[inline]
    fn size(&self, item: u32) -> u32 {
        self.lists.size(item)
    }

    fn used(&self) -> u64 {
        self.lists.units(SMALL) + self.lists.units(MAIN)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn grow(&mut self, items: u32) {
        self.lists.grow(items);
    }

    fn bytes(&self) -> usize {
        self.lists.bytes()
    }

    #[inline]
    fn prefetch(&self, item: u32) {
        self.lists.prefetch(item);
    }
}

/// The rest of a policy that is three queues `$queues`, and `$other`, which it knows of items beside.
macro_rules! queued {
    ($queues:ident, $other:ident) => {
        fn contains(&self, item: u32) -> bool {
            self.$queues.contains(item)
        }

        fn size(&self, item: u32) -> u32 {
            self.$queues.size(item)
        }

        fn used(&self) -> u64 {
            self.$queues.used()
        }

        fn capacity(&self) -> u64 {
            self.$queues.capacity()
        }

        fn grow(&mut self, items: u32) {
            self.$queues.grow(items);
            self.$other.grow(items);
        }

        fn bytes(&self) -> usize {
            self.$queues.bytes() + self.$other.bytes()
        }

        #[inline]
        fn prefetch(&self, item: u32) {
            self.$queues.prefetch(item);
            self.$other.prefetch(item);
        }
    };
}

pub(super) use queued;
