//! LIRS: items reused at short distance (LIR) stay; the others (HIR) pass through a small queue.
//!
//! ```text
//! S: stack of items by last use, with a LIR item at its bottom;  Q: queue of the cached HIR items
//! hit(x):   x LIR:           to the top of S;  prune S if it was at the bottom
//!           x HIR, in S:     LIR, to the top of S, out of Q;  demote
//!           x HIR, not in S: to the top of S and the end of Q
//! miss(x):  full: evict the first of Q; it stays in S, if there
//!           fewer LIR items than their share: x LIR, to the top of S
//!           x in S:  LIR, to the top of S;  demote
//!           else:    HIR, to the top of S and the end of Q
//! demote, while LIR items are above their share: the bottom of S becomes HIR, at the end of Q;  prune S
//! prune:    HIR items leave the bottom of S until a LIR item is there
//! ```
//! HIR items have 1 % of the cache, at least `hir_least` items. The default of one item follows the paper's examples.
//! The authors' program uses two items, which matters in caches below 200 items. Evicted items are remembered while
//! they are in S, whose size is not limited. Source: Jiang, Zhang, "LIRS: an efficient low inter-reference recency set
//! replacement policy to improve buffer cache performance", SIGMETRICS 2002, sections 3.2, 3.3 and 4.1.

use ssdlab_core::{Parameter, Unit};

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lirs",
    help: "Keeps items with a short reuse distance; other items pass through a small queue.",
    source: "Jiang, Zhang, SIGMETRICS 2002",
    parameters: &[
        Parameter::share("hir", 1, "Share of the cache for items with a long or unknown reuse distance."),
        Parameter::new(
            "hir_least",
            Unit::Count("items"),
            1,
            [1, 1 << 20],
            "Minimum number of cached items with a long or unknown reuse distance, if the cache is large enough.",
        ),
    ],
    role: PolicyRules::one_size(&|settings, capacity, items| {
        let hir = settings.share("hir", capacity).max(settings.get("hir_least")).min(capacity);
        let lir_share = capacity - hir;
        Box::new(Lirs { stack: Lists::new(items), queue: Lists::new(items), lir: 0, lir_share, capacity })
    }),
};

/// Status of an item, stored as the mark of its node in the stack.
const HIR: u8 = 0;
const LIR: u8 = 1;

#[derive(Debug)]
struct Lirs {
    stack: Lists<1>,
    queue: Lists<1>,
    /// Number of LIR items in the cache.
    lir: u64,
    lir_share: u64,
    capacity: u64,
}

impl Lirs {
    /// Makes an item LIR and moves it to the top of the stack.
    fn make_lir(&mut self, item: u32) {
        self.top(item);
        self.stack.set_mark(item, LIR);
        self.lir += 1;
        while self.lir > self.lir_share {
            let Some(bottom) = self.stack.oldest(0) else { break };
            if self.stack.mark(bottom) == LIR {
                self.lir -= 1;
                self.stack.set_mark(bottom, HIR);
                self.queue.push(0, bottom, 1);
            }
            self.stack.remove(bottom);
        }
        self.prune();
    }

    fn top(&mut self, item: u32) {
        if self.stack.has(item) {
            self.stack.renew(item);
        } else {
            self.stack.push(0, item, 1);
        }
    }

    fn prune(&mut self) {
        while let Some(bottom) = self.stack.oldest(0).filter(|&bottom| self.stack.mark(bottom) == HIR) {
            self.stack.remove(bottom);
        }
    }
}

impl Policy for Lirs {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.stack.mark(item) == LIR {
            self.stack.renew(item);
            self.prune();
            return true;
        }
        let hit = self.queue.has(item);
        if !hit && self.used() == self.capacity {
            evicted.extend(self.victim());
        }
        if self.stack.has(item) || (!hit && self.lir < self.lir_share) {
            self.queue.discard(item);
            self.make_lir(item);
        } else {
            self.top(item);
            self.prune();
            if hit {
                self.queue.renew(item);
            } else {
                self.queue.push(0, item, 1);
            }
        }
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        // If Q is empty because its items were removed, evicts the LIR item at the bottom of the stack.
        self.queue.pop_oldest(0).or_else(|| {
            let bottom = self.stack.oldest(0)?;
            self.remove(bottom);
            Some(bottom)
        })
    }

    fn remove(&mut self, item: u32) {
        self.queue.discard(item);
        if self.stack.discard(item) {
            if self.stack.mark(item) == LIR {
                self.lir -= 1;
                self.stack.set_mark(item, HIR);
            }
            self.prune();
        }
    }

    fn contains(&self, item: u32) -> bool {
        self.stack.mark(item) == LIR || self.queue.has(item)
    }

    fn size(&self, _: u32) -> u32 {
        1
    }

    fn used(&self) -> u64 {
        self.lir + self.queue.units(0)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    super::tables!(stack, queue);
}
