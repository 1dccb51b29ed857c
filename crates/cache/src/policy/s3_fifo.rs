//! S3-FIFO: a small FIFO filters what is used only once, a main one gives second chances, a ghost remembers.
//!
//! ```text
//! hit(x):    uses(x) up by one, to 3 at most
//! miss(x):   while x does not fit:  |S| >= 10 %: EVICT-S;  else EVICT-M
//!            x still in G: out of it, to the head of M;  else to the head of S;  uses(x) = 0
//! EVICT-S, until one gave way or S is empty:
//!            tail of S:  uses > 1: to the head of M, and if M is above 90 %: EVICT-M
//!                        else: it gives way to G, which forgets its oldest while above 90 %
//! EVICT-M, until one gave way:
//!            tail of M:  uses > 0: uses down by one, to the head of M;  else: it gives way
//! ```
//! Where M is empty, EVICT-S is done in place of EVICT-M. Source: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all
//! you need for cache eviction", SOSP 2023, algorithm 1 and section 4.1.
//!
//! The simulator its authors published, libCacheSim 0.3.5, differs, and `simulator` = 1 does as it does: x leaves G before
//! others give way; until something gave way, newcomers go to M while S is full; EVICT-M is done if M is above its 90 %
//! or S is empty, EVICT-S otherwise; and what moves from S to M starts with no uses, and pushes nothing out.

use ssdlab_core::{Parameter, Unit};

use super::{Policy, PolicyInfo};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "s3-fifo",
    help: "A small FIFO for newcomers, a main one with second chances, and a memory of what left the small one.",
    parameters: &[
        Parameter {
            name: "small",
            unit: Unit::Percent,
            default: 10,
            min: 1,
            max: 99,
            example: None,
            help: "Share of the small FIFO.",
        },
        Parameter::switch("simulator", false, "0: as in the paper; 1: as in libCacheSim, its authors' simulator."),
    ],
    sizes: true,
    needs_future: false,
    largest: u64::MAX,
    one_pass: None,
    build: |settings, capacity, items| {
        let simulator = settings.is_set("simulator");
        let small = settings.share("small", capacity);
        let rest = (u128::from(capacity) * u128::from(100 - settings.get("small")) / 100) as u64;
        // Exact shares in whole units: at least 10 % is a number rounded up, above 90 % one rounded down.
        let (small, main) = if simulator { (small, capacity - small) } else { (capacity - rest, rest) };
        let lists = Lists::new(items);
        Box::new(S3Fifo { lists, small, main, ghost: rest, simulator, cold: true, capacity })
    },
};

const SMALL: u8 = 0;
const MAIN: u8 = 1;
const GHOST: u8 = 2;

/// Uses that are told apart.
const USES_MAX: u8 = 3;

#[derive(Debug)]
struct S3Fifo {
    /// Marks are uses.
    lists: Lists<3>,
    /// Units with which the small FIFO is full.
    small: u64,
    /// Most units of the main one.
    main: u64,
    /// Most units remembered.
    ghost: u64,
    simulator: bool,
    /// Whether nothing gave way yet.
    cold: bool,
    capacity: u64,
}

impl S3Fifo {
    fn begins_with_small(&self) -> bool {
        let [small, main] = [SMALL, MAIN].map(|list| self.lists.units(list));
        if self.simulator { main <= self.main && small > 0 } else { small >= self.small || main == 0 }
    }

    /// EVICT-S until something gives way, and whether that was its end.
    fn evict_small(&mut self) -> Option<(u32, bool)> {
        while let Some(item) = self.lists.oldest(SMALL) {
            if self.lists.mark(item) <= 1 {
                self.lists.move_to(GHOST, item);
                while self.lists.units(GHOST) > self.ghost {
                    self.lists.pop_oldest(GHOST);
                }
                return Some((item, true));
            }
            self.lists.move_to(MAIN, item);
            if self.simulator {
                self.lists.set_mark(item, 0);
            } else if self.lists.units(MAIN) > self.main {
                return self.evict_main().map(|item| (item, false));
            }
        }
        None
    }

    fn evict_main(&mut self) -> Option<u32> {
        while let Some(item) = self.lists.oldest(MAIN) {
            match self.lists.mark(item) {
                0 => {
                    self.lists.remove(item);
                    return Some(item);
                }
                uses => {
                    self.lists.set_mark(item, uses - 1);
                    self.lists.renew(item);
                }
            }
        }
        None
    }

    /// Takes an item out of the ghost, and whether it was there.
    fn leave_ghost(&mut self, item: u32) -> bool {
        let remembered = self.lists.list(item) == GHOST;
        if remembered {
            self.lists.remove(item);
        }
        remembered
    }
}

impl Policy for S3Fifo {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let list = self.lists.list(item);
        if list == SMALL || list == MAIN {
            let uses = self.lists.mark(item);
            if uses < USES_MAX {
                self.lists.set_mark(item, uses + 1);
            }
            return true;
        }
        let known_before = self.simulator && self.leave_ghost(item);
        while self.used() + u64::from(size) > self.capacity {
            self.cold = false;
            if self.begins_with_small() {
                while let Some((item, ended)) = self.evict_small() {
                    evicted.push(item);
                    if ended {
                        break;
                    }
                }
            } else {
                evicted.extend(self.evict_main());
            }
        }
        let small_is_full = self.simulator && self.cold && self.lists.units(SMALL) >= self.small;
        // What gave way for the item may have pushed it out of the ghost.
        let came_back = known_before || self.leave_ghost(item);
        self.lists.set_mark(item, 0);
        self.lists.push(if came_back || small_is_full { MAIN } else { SMALL }, item, size);
        false
    }

    /// The first item that gives way; where EVICT-S would go on, it begins anew the next time.
    fn victim(&mut self) -> Option<u32> {
        self.cold = false;
        let small = if self.begins_with_small() { self.evict_small() } else { None };
        small.map(|(item, _)| item).or_else(|| self.evict_main())
    }

    super::listed!(lists, 2, remove);
}
