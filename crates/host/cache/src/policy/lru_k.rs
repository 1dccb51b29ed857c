//! LRU-K: evicts the item whose K-th most recent use is oldest.
//!
//! ```text
//! access(x) at time t, in accesses:
//!     cached:  if t - LAST(x) > correlated:                     a new, uncorrelated use
//!                  HIST(x,i) = HIST(x,i-1) + LAST(x) - HIST(x,1) for i = 2..K;  HIST(x,1) = t
//!              LAST(x) = t
//!     else:    while x does not fit: of the items with t - LAST > correlated, evict the one of least HIST(.,K);
//!                  the least recently used on ties, and among items without K uses
//!              HIST(x,i) = HIST(x,i-1) for i = 2..K, nothing if x is not remembered;  HIST(x,1) = LAST(x) = t
//! ```
//! The paper leaves open what happens if all items are correlated; here the rule then applies to all items. Source: E.
//! O'Neil, P. O'Neil, Weikum, "The LRU-K page replacement algorithm for database disk buffering", SIGMOD 1993, section
//! 2 and figure 2.1. The paper's periods are times; here they are counted in accesses. The history of an evicted item
//! is kept for the retained information period.
//!
//! Correlated items sort behind all others in the heap. Items whose correlated period has ended are found through a
//! list in order of last use, so that an eviction takes logarithmic time.

use ssdlab_core::{HugeVec, Parameter, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::heap::Heap;
use crate::lists::Lists;
use crate::per_item::{PerItem, grow};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lru-k",
    help: "Evicts the item whose K-th most recent use is oldest.",
    source: "O'Neil et al., SIGMOD 1993",
    parameters: &[
        Parameter::new("k", Unit::Count("uses"), 2, [1, 16], "Number of uses considered (K)."),
        Parameter::new(
            "correlated",
            Unit::Count("accesses"),
            0,
            [0, u64::MAX],
            "Correlated reference period: uses within it count as one use, and the item cannot be evicted.",
        ),
        Parameter::new(
            "retained",
            Unit::Count("accesses"),
            u64::MAX,
            [0, u64::MAX],
            "Retained information period: the history of an evicted item is kept this long after its last use.",
        ),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let k = settings.get("k") as usize;
        let mut policy = LruK {
            heap: Heap::new(0, capacity),
            history: HugeVec::filled(0, 0),
            last: PerItem::new(0, 0),
            k,
            correlated: settings.get("correlated"),
            retained: settings.get("retained"),
            now: 1,
            capacity,
            recent: Lists::new(0),
        };
        policy.grow(items);
        Box::new(policy)
    }),
};

/// Offset added to the heap keys of correlated items, so that all other items are evicted before them.
const PROTECTED: u64 = 1 << 63;

#[derive(Debug)]
struct LruK {
    /// Cached items by time of the K-th most recent use (plus [`PROTECTED`] if correlated) and time of the last use.
    heap: Heap<(u64, u64)>,
    /// Times of the last K uses of each item, most recent first; 0 if there was no such use.
    history: HugeVec<u64>,
    /// Time of the last use of each item, correlated or not; 0 if never used.
    last: PerItem<u64>,
    k: usize,
    correlated: u64,
    retained: u64,
    /// Time of the current or the next access: one more than the number of accesses before it.
    now: u64,
    capacity: u64,
    /// Items that were correlated when they were added to this list, in order of last use. Empty if `correlated` is 0.
    recent: Lists<1>,
}

impl LruK {
    /// Records a use in an item's history, and adds `period` to the times of its earlier uses.
    fn note(&mut self, item: u32, period: u64) {
        let history = &mut self.history[item as usize * self.k..][..self.k];
        for i in (1..history.len()).rev() {
            // 0 means that no such use is recorded.
            history[i] = if history[i - 1] == 0 { 0 } else { history[i - 1] + period };
        }
        history[0] = self.now;
    }

    fn protects(&self) -> bool {
        self.correlated > 0
    }

    /// Returns the heap key of an item that is used now.
    fn key(&self, item: u32) -> (u64, u64) {
        let protection = if self.protects() { PROTECTED } else { 0 };
        (protection + self.history[item as usize * self.k + self.k - 1], self.last[item])
    }

    fn forget_recent(&mut self, item: u32) {
        if self.protects() {
            self.recent.discard(item);
        }
    }

    /// Protects an item that was just used: it cannot be evicted during the correlated period.
    fn protect(&mut self, item: u32) {
        if self.protects() {
            self.forget_recent(item);
            self.recent.push(0, item, 0);
        }
    }
}

impl Policy for LruK {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let at = item as usize;
        let since = self.now - self.last[item];
        let hit = self.heap.has(item);
        if !hit {
            make_room(self, size, evicted);
            if since > self.retained {
                self.history[at * self.k..][..self.k].fill(0);
            }
            self.note(item, 0);
        } else if since > self.correlated {
            self.note(item, self.last[item] - self.history[at * self.k]);
        }
        self.last[item] = self.now;
        if hit {
            self.heap.set(item, self.key(item))
        } else {
            self.heap.push(item, size, self.key(item))
        }
        self.protect(item);
        self.now += 1;
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        while let Some(item) = self.recent.oldest(0) {
            let (used, last) = self.heap.key(item);
            if self.now - last <= self.correlated {
                break;
            }
            self.recent.remove(item);
            self.heap.set(item, (used - PROTECTED, last));
        }
        let victim = self.heap.pop();
        victim.into_iter().for_each(|item| self.forget_recent(item));
        victim
    }

    fn remove(&mut self, item: u32) {
        if self.heap.discard(item) {
            self.forget_recent(item);
        }
        self.history[item as usize * self.k..][..self.k].fill(0);
        self.last[item] = 0;
    }

    fn grow(&mut self, items: u32) {
        self.heap.grow(items);
        grow(&mut self.history, 0, items as usize * self.k);
        self.last.grow(items);
        if self.protects() {
            self.recent.grow(items);
        }
    }

    fn bytes(&self) -> usize {
        self.heap.bytes() + size_of_val(&*self.history) + self.last.bytes() + self.recent.bytes()
    }

    #[inline]
    fn prefetch(&self, item: u32) {
        self.heap.prefetch(item);
    }

    super::held!(heap, only);
}
