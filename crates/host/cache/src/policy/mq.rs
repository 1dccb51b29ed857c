//! MQ: sorts items into LRU queues by use count, moves idle items to lower queues, and remembers use counts of evicted
//! items.
//!
//! ```text
//! lifetime: `lifetime` accesses per cached item, for the largest number of items ever cached
//! hit(x):   x leaves its queue
//! miss(x):  while x does not fit: evict the oldest of the lowest non-empty queue to Qout, which keeps its uses
//!                                 and drops its oldest while above `remembered`
//!           x in Qout: remove it;  else uses(x) = 0
//! both:     increment uses(x);  x becomes the newest of queue min(log2(uses), queues - 1), until now + lifetime
//!           increment now;  for each queue but the lowest, from below: its oldest, if its time is before now,
//!                           becomes the newest of the next lower queue, until now + lifetime
//! ```
//! Source: Zhou, Philbin, Li, "The multi-queue replacement algorithm for second level buffer caches", USENIX ATC 2001,
//! figure 4, with eight queues and a Qout of four times the cache. In the paper, the lifetime follows measured reuse
//! distances, which exceed the number of blocks of the cache. Here the lifetime is a parameter.

use ssdlab_core::{Parameter, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::lists::Lists;
use crate::per_item::PerItem;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "mq",
    help: "Sorts items into LRU queues by use count; moves idle items to lower queues, and remembers use counts of \
           evicted items.",
    source: "Zhou et al., USENIX ATC 2001",
    parameters: &[
        Parameter::new(
            "lifetime",
            Unit::Count("accesses per item"),
            2,
            [1, 1 << 20],
            "Number of accesses, per cached item, after which an unused item moves to the next lower queue.",
        ),
        Parameter::new(
            "queues",
            Unit::Count("queues"),
            MOST_QUEUES as u64,
            [1, MOST_QUEUES as u64],
            "Number of queues.",
        ),
        Parameter::new(
            "remembered",
            Unit::Percent,
            400,
            [0, 10_000],
            "Number of evicted items remembered, relative to the capacity.",
        ),
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        Box::new(Mq {
            lists: Lists::new(items),
            ages: PerItem::new(NEW, items),
            now: 0,
            lifetime: settings.get("lifetime"),
            cached: 0,
            most_items: 0,
            queues: settings.get("queues") as u8,
            remembered: settings.share("remembered", capacity),
            capacity,
        })
    }),
};

const MOST_QUEUES: u8 = 8;
const QOUT: u8 = MOST_QUEUES;

/// State of an item in MQ: cached, or remembered in Qout.
#[derive(Clone, Copy, Debug)]
struct Age {
    uses: u64,
    /// Time at which the item moves down to the next lower queue.
    until: u64,
}

const NEW: Age = Age { uses: 0, until: 0 };

#[derive(Debug)]
struct Mq {
    lists: Lists<{ MOST_QUEUES as usize + 1 }>,
    ages: PerItem<Age>,
    /// Number of accesses to the cache so far, which is the policy's clock.
    now: u64,
    /// Time, in accesses per cached item, after which an unused item drops to the next lower queue.
    lifetime: u64,
    /// Current number of cached items, and the highest number so far.
    cached: u64,
    most_items: u64,
    queues: u8,
    /// Maximum size of the queue Qout, in units.
    remembered: u64,
    capacity: u64,
}

impl Mq {
    /// Returns the time at which an item that is used or moved now is due to drop to the next lower queue.
    fn until(&self) -> u64 {
        self.now + self.lifetime * self.most_items
    }

    fn move_down(&mut self) {
        self.now += 1;
        for queue in 1..self.queues {
            if let Some(item) = self.lists.oldest(queue)
                && self.ages[item].until < self.now
            {
                self.lists.move_to(queue - 1, item);
                self.ages[item].until = self.until();
            }
        }
    }
}

impl Policy for Mq {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let hit = self.contains(item);
        if !hit {
            make_room(self, size, evicted);
        }
        self.cached += u64::from(!hit);
        self.most_items = self.most_items.max(self.cached);
        let until = self.until();
        let age = &mut self.ages[item];
        // Evictions made for this access may have pushed the item itself out of Qout.
        age.uses = if self.lists.has(item) { age.uses + 1 } else { 1 };
        age.until = until;
        let queue = age.uses.ilog2().min(u32::from(self.queues) - 1) as u8;
        let size = if hit { self.lists.size(item) } else { size };
        self.lists.discard(item);
        self.lists.push(queue, item, size);
        self.move_down();
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        let victim = (0..self.queues).find_map(|queue| self.lists.move_oldest(queue, QOUT));
        self.cached -= u64::from(victim.is_some());
        self.lists.shrink_to(QOUT, self.remembered);
        victim
    }

    fn remove(&mut self, item: u32) {
        self.cached -= u64::from(self.contains(item));
        self.lists.discard(item);
    }

    super::listed!(lists, QOUT, only);
    super::tables!(lists, ages);
}
