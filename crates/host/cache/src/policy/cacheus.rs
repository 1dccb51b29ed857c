//! CACHEUS: LeCaR with scan-resistant and churn-resistant experts, and an adaptive learning rate.
//!
//! ```text
//! S, Q: LRU queues of cached items: used again, and the rest;  sizes s + q = N, initially q = max(1, 1 %)
//! hit(x):   uses(x) up by one
//!           x in S: its newest
//!           x in Q: if demoted: clear it, s += max(1, new in H-LRU / demoted);  x becomes the newest of S;  demote
//! miss(x):  x in H-LRU: remove it; if new: clear it, q += max(1, demoted / new in H-LRU);  blame LRU
//!           x in H-LFU: remove it; blame LFU
//!           if full: LRU with the probability of its weight, else LFU: evict its choice to its history, or without
//!                 a history entry if both choose the same item
//!           x was in a history: the newest of S, uses(x) up by one;  demote
//!           nothing was evicted yet: the newest of S while that is below s and Q is empty, else of Q;  uses(x) = 1
//!           else: the newest of Q, new, uses(x) = 1;  demote
//! demote, while S is above s: its oldest becomes the newest of Q, demoted
//! LRU (scan resistant) chooses the oldest of Q
//! LFU (churn resistant) chooses the item with the fewest uses, the most recently used on ties
//! blame:    multiply the weight by e^(-rate), normalise both weights, and clamp them to 1 % to 99 %
//! every N accesses:  dH, dR: changes of the hits per N accesses and of the rate
//!           dR not 0: rate += |rate * dR| if dH / dR > 0, else rate -= |rate * dR|
//!           else: no hits, or dH <= 0, ten times in a row: a random rate
//! ```
//! Histories hold N / 2 items each. Quotients are rounded. The rate stays within 0.001 to 1 and starts at sqrt(2 ln 2 /
//! N). Source: Rodriguez et al., "Learning cache replacement with CACHEUS", FAST 2021, sections 4 and 5. Details that
//! the paper leaves open follow the authors' program. One exception: their program demotes from S as soon as S reaches
//! its share.

use std::cmp::Reverse;

use ssdlab_core::Rng;

use super::lecar::Weights;
use super::{Policy, PolicyInfo, PolicyRules, random};
use crate::Access;
use crate::heap::Heap;
use crate::lists::Lists;
use crate::per_item::PerItem;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "cacheus",
    help: "LeCaR with scan-resistant and churn-resistant experts, and an adaptive learning rate.",
    source: "Rodriguez et al., FAST 2021",
    parameters: &[random::SEED],
    role: PolicyRules::one_size(&|settings, capacity, items| {
        let fresh = ((capacity + 50) / 100).max(1);
        Box::new(Cacheus {
            lists: Lists::new(items),
            heap: Heap::new(items, capacity),
            uses: PerItem::new(0, items),
            s_share: capacity - fresh,
            demoted: 0,
            new_in_history: 0,
            cold: true,
            weights: Weights::default(),
            learning: Learning::new(capacity),
            now: 0,
            rng: Rng::named(settings.get("seed"), "CACHEUS"),
            capacity,
        })
    }),
};

const S: u8 = 0;
const Q: u8 = 1;
/// Index of the list that holds the history of LRU evictions; the next list holds the history of LFU evictions.
const HISTORY: u8 = 2;

/// Mark bits of an item. Demoted: the item was moved from LRU queue S to LRU queue Q. New: the item was inserted after
/// the first eviction, without a ghost hit.
const DEMOTED: u8 = 1;
const NEW: u8 = 2;

/// Adaptive learning rate of the expert weights.
#[derive(Clone, Copy, Debug)]
struct Learning {
    rate: f64,
    rate_before: f64,
    hits: u64,
    hits_before: u64,
    periods_without_gain: u32,
}

impl Learning {
    const LEAST: f64 = 0.001;

    fn new(capacity: u64) -> Self {
        let rate = libm::sqrt(2.0 * std::f64::consts::LN_2 / capacity as f64).clamp(Self::LEAST, 1.0);
        Self { rate, rate_before: 0.0, hits: 0, hits_before: 0, periods_without_gain: 0 }
    }

    /// Adapts the learning rate at the end of a period.
    fn adapt(&mut self, rng: &mut Rng) {
        let (rate, change) = (self.rate, self.rate - self.rate_before);
        let more = self.hits > self.hits_before;
        let fewer = self.hits < self.hits_before;
        if change != 0.0 {
            let step = (rate * change).abs();
            let up = if change > 0.0 { more } else { fewer };
            self.rate = if up { rate + step } else { rate - step }.clamp(Self::LEAST, 1.0);
            self.periods_without_gain = 0;
        } else if self.hits == 0 || !more {
            self.periods_without_gain += 1;
            if self.periods_without_gain == 10 {
                self.periods_without_gain = 0;
                self.rate = Self::LEAST + (1.0 - Self::LEAST) * rng.unit();
            }
        }
        (self.rate_before, self.hits_before, self.hits) = (rate, self.hits, 0);
    }
}

#[derive(Debug)]
struct Cacheus {
    lists: Lists<4>,
    /// Cached items by number of uses and time of the last use.
    heap: Heap<(u64, Reverse<u64>)>,
    /// Number of uses of each evicted item.
    uses: PerItem<u64>,
    /// Maximum size of the list S, in units.
    s_share: u64,
    /// Number of items that are marked as demoted.
    demoted: u64,
    /// Number of items in the history of LRU evictions that are marked as new.
    new_in_history: u64,
    /// True until the cache evicts its first item.
    cold: bool,
    weights: Weights,
    learning: Learning,
    /// Number of accesses to the cache so far, which is the policy's clock.
    now: u64,
    rng: Rng,
    capacity: u64,
}

/// Returns the rounded quotient, but at least 1. Treats a divisor of 0 as 1.
fn quotient(of: u64, by: u64) -> u64 {
    let by = by.max(1);
    ((2 * of + by) / (2 * by)).max(1)
}

impl Cacheus {
    fn has_mark(&self, item: u32, bit: u8) -> bool {
        self.lists.mark(item) & bit != 0
    }

    fn demote(&mut self) {
        while self.lists.units(S) > self.s_share {
            if let Some(item) = self.lists.move_oldest(S, Q) {
                self.lists.set_mark(item, self.lists.mark(item) | DEMOTED);
                self.demoted += 1;
            }
        }
    }

    /// Clears the demoted mark of an item; returns true if the mark was set.
    fn restore(&mut self, item: u32) -> bool {
        let was = self.has_mark(item, DEMOTED);
        self.lists.set_mark(item, self.lists.mark(item) & !DEMOTED);
        self.demoted -= u64::from(was);
        was
    }

    /// Removes an item from the history that contains it.
    fn leave_history(&mut self, item: u32) {
        self.new_in_history -= u64::from(self.lists.list(item) == HISTORY && self.has_mark(item, NEW));
        self.lists.remove(item);
    }

    /// Adapts the size of S and the expert weights when an item in a history of evictions is accessed again.
    fn learn(&mut self, item: u32) {
        let which = self.lists.list(item) - HISTORY;
        self.leave_history(item);
        if which == 0 && self.has_mark(item, NEW) {
            let q_share = self.capacity - self.s_share + quotient(self.demoted, self.new_in_history);
            self.s_share = self.capacity - q_share.min(self.capacity - 1);
        }
        self.weights.blame(which, self.learning.rate);
    }

    fn insert(&mut self, item: u32, list: u8, mark: u8, uses: u64) {
        self.lists.set_mark(item, mark);
        self.lists.push(list, item, 1);
        self.heap.push(item, 1, (uses, Reverse(self.now)));
    }
}

impl Policy for Cacheus {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.now += 1;
        if self.now.is_multiple_of(self.capacity) {
            self.learning.adapt(&mut self.rng);
        }
        let list = self.lists.list(item);
        if list == S || list == Q {
            self.learning.hits += 1;
            let (uses, _) = self.heap.key(item);
            self.heap.set(item, (uses + 1, Reverse(self.now)));
            if self.restore(item) {
                let growth = quotient(self.new_in_history, self.demoted + 1);
                self.s_share = (self.s_share + growth).min(self.capacity - 1);
            }
            self.lists.move_to(S, item);
            self.demote();
            return true;
        }
        let came_back = self.lists.has(item);
        if came_back {
            self.learn(item);
        }
        if self.used() == self.capacity {
            evicted.extend(self.victim());
        }
        if came_back {
            self.insert(item, S, 0, self.uses[item] + 1);
        } else if self.cold {
            let to_s = self.lists.units(S) < self.s_share && self.lists.units(Q) == 0;
            self.insert(item, if to_s { S } else { Q }, 0, 1);
        } else {
            self.insert(item, Q, NEW, 1);
        }
        self.demote();
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.cold = false;
        let lru = self.lists.oldest(Q).or(self.lists.oldest(S))?;
        let ((_, _), lfu) = self.heap.least()?;
        let which = self.weights.choose(&mut self.rng);
        let victim = if which == 0 { lru } else { lfu };
        self.restore(victim);
        self.uses[victim] = self.heap.key(victim).0;
        self.heap.remove(victim);
        if lru == lfu {
            self.lists.remove(victim);
            return Some(victim);
        }
        self.lists.move_to(HISTORY + which, victim);
        self.new_in_history += u64::from(which == 0 && self.has_mark(victim, NEW));
        while self.lists.units(HISTORY + which) > self.capacity / 2 {
            let Some(forgotten) = self.lists.oldest(HISTORY + which) else { break };
            self.leave_history(forgotten);
        }
        Some(victim)
    }

    fn remove(&mut self, item: u32) {
        if self.heap.discard(item) {
            self.restore(item);
            self.lists.remove(item);
        } else if self.lists.has(item) {
            self.leave_history(item);
        }
    }

    super::listed!(lists, HISTORY, only);
    super::tables!(lists, heap; uses);
}
