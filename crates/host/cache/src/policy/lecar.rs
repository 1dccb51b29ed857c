//! LeCaR: LRU or LFU, chosen at random, selects the victim. A policy loses weight when its victim is accessed again.
//!
//! ```text
//! access(x) at time t, in accesses:
//! hit(x):   increment uses(x), x becomes the newest
//! miss(x):  x in the history of LRU or LFU: remove it
//!                                           multiply that expert's weight by e^(-rate * 0.005^((t - t(x)) / N)),
//!                                           normalise both weights, and clamp them to 1 % to 99 %
//!                                           increment uses(x);  else uses(x) = 1
//!           while x does not fit: LRU with the probability of its weight, else LFU: evict its choice v to its history,
//!                                 which drops its oldest while above its share;  t(v) = t
//!           x becomes the newest
//! ```
//! N is the largest number of items ever cached. Source: Vietri et al., "Driving cache replacement with ML-based
//! LeCaR", HotStorage 2018, algorithms 1 and 2, with the paper's rate of 0.45. Three details follow the authors'
//! program: histories of half the cache each, the limits of the weights, and the remembered uses. On ties, LFU chooses
//! the least recently used item.

use ssdlab_core::{Parameter, Rng};

use super::{Policy, PolicyInfo, PolicyRules, make_room, random};
use crate::Access;
use crate::heap::Heap;
use crate::lists::{Lists, NOWHERE};
use crate::per_item::PerItem;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lecar",
    help: "Evicts by LRU or LFU, chosen at random; learns the probabilities from ghost hits.",
    source: "Vietri et al., HotStorage 2018",
    parameters: &[
        Parameter::share("rate", 45, "Learning rate."),
        Parameter::share(
            "history",
            50,
            "Size of each history of evicted items (LRU and LFU), relative to the capacity.",
        ),
        random::SEED,
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        Box::new(LeCaR {
            lists: Lists::new(items),
            heap: Heap::new(items, capacity),
            left: PerItem::new(NEVER, items),
            weights: Weights::default(),
            rate: settings.get("rate") as f64 / 100.0,
            history: settings.share("history", capacity),
            most_items: 0,
            now: 1,
            rng: Rng::named(settings.get("seed"), "LeCaR"),
            capacity,
        })
    }),
};

/// Factor applied to the penalty for an eviction mistake if the evicted item is accessed again N accesses after its
/// eviction, where N is the largest number of items ever cached.
const DISCOUNT: f64 = 0.005;

/// Weights of LRU and LFU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights([f64; 2]);

impl Default for Weights {
    fn default() -> Self {
        Self([0.5; 2])
    }
}

impl Weights {
    /// Draws the expert that chooses the victim: 0 for LRU, 1 for LFU.
    pub fn choose(&self, rng: &mut Rng) -> u8 {
        u8::from(rng.unit() >= self.0[0])
    }

    /// Reduces the weight of the expert that made a mistake.
    pub fn blame(&mut self, which: u8, rate: f64) {
        self.0[which as usize] *= libm::exp(-rate);
        let [lru, lfu] = self.0;
        let lru = (lru / (lru + lfu)).clamp(0.01, 0.99);
        self.0 = [lru, 1.0 - lru];
    }
}

const CACHED: u8 = 0;
/// Index of the list that holds the history of LRU evictions; the next list holds the history of LFU evictions.
const HISTORY: u8 = 1;

/// State of an evicted item while it is in a history list.
#[derive(Clone, Copy, Debug)]
struct Left {
    uses: u64,
    at: u64,
}

const NEVER: Left = Left { uses: 0, at: 0 };

#[derive(Debug)]
struct LeCaR {
    lists: Lists<3>,
    /// Cached items by number of uses and time of the last use.
    heap: Heap<(u64, u64)>,
    left: PerItem<Left>,
    weights: Weights,
    rate: f64,
    /// Maximum size of each history, in units.
    history: u64,
    /// Largest number of items ever cached.
    most_items: usize,
    /// Time of the current or the next access: one more than the number of accesses before it.
    now: u64,
    rng: Rng,
    capacity: u64,
}

impl Policy for LeCaR {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let list = self.lists.list(item);
        let hit = list == CACHED;
        if hit {
            self.lists.renew(item);
            let (uses, _) = self.heap.key(item);
            self.heap.set(item, (uses + 1, self.now));
        } else {
            let mut uses = 1;
            if list != NOWHERE {
                let Left { uses: before, at } = self.left[item];
                let since = (self.now - at) as f64 / self.most_items as f64;
                self.weights.blame(list - HISTORY, self.rate * libm::pow(DISCOUNT, since));
                self.lists.remove(item);
                uses = before + 1;
            }
            make_room(self, size, evicted);
            self.lists.push(CACHED, item, size);
            self.heap.push(item, size, (uses, self.now));
            self.most_items = self.most_items.max(self.heap.len());
        }
        self.now += 1;
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        let which = self.weights.choose(&mut self.rng);
        let victim = if which == 0 { self.lists.oldest(CACHED) } else { self.heap.least().map(|(_, item)| item) }?;
        self.left[victim] = Left { uses: self.heap.key(victim).0, at: self.now };
        self.heap.remove(victim);
        self.lists.move_to(HISTORY + which, victim);
        self.lists.shrink_to(HISTORY + which, self.history);
        Some(victim)
    }

    fn remove(&mut self, item: u32) {
        self.lists.discard(item);
        self.heap.discard(item);
    }

    super::listed!(lists, 1, only);
    super::tables!(lists, heap, left);
}
