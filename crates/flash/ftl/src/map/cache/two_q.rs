//! 2Q: a new item enters a short FIFO. If the item is used again soon after its eviction, it enters an LRU list.
//!
//! ```text
//! hit(x):    x in Am: to its end;  x in A1in: nothing
//! admit(x):  full: if A1in holds over a quarter, or Am is empty: evict the oldest of A1in and remember it in A1out,
//!                  which forgets beyond half the capacity
//!                  else: evict the oldest of Am
//!            x remembered in A1out: into Am, else into A1in
//! ```
//! Source: Johnson, Shasha, "2Q: a low overhead high performance buffer management replacement algorithm", VLDB 1994,
//! with the sizes that the paper advises: Kin = c/4, Kout = c/2.

use super::{CachePolicy, CachePolicyInfo};
use serde::{Deserialize, Serialize};
use ssdlab_core::list::Queue;
use ssdlab_core::{Archive, Archived};

/// Registry entry of this map cache policy.
pub static INFO: CachePolicyInfo = CachePolicyInfo {
    name: "two_q",
    help: "2Q: prefers to evict entries that were used only once",
    source: "Johnson and Shasha, VLDB 1994",
    parameters: &[],
    role: |items, capacity| Box::new(TwoQ::new(items, capacity)),
};

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    Nowhere,
    /// A1in: the item is cached and new.
    In,
    /// A1out: the item is no longer cached, but its number is remembered.
    Out,
    /// Am: the item is cached and was accessed again.
    Main,
}

struct TwoQ {
    place: Vec<Place>,
    newcomers: Queue,
    remembered: Queue,
    main: Queue,
    counts: [u32; 3],
    capacity: u32,
}

impl TwoQ {
    fn new(items: u32, capacity: u32) -> Self {
        Self {
            place: vec![Place::Nowhere; items as usize],
            newcomers: Queue::new(items),
            remembered: Queue::new(items),
            main: Queue::new(items),
            counts: [0; 3],
            capacity,
        }
    }

    fn put(&mut self, item: u32, place: Place) {
        let before = std::mem::replace(&mut self.place[item as usize], place);
        if let Some((queue, count)) = self.queue(before) {
            queue.remove(item);
            *count -= 1;
        }
        if let Some((queue, count)) = self.queue(place) {
            queue.push(item);
            *count += 1;
        }
    }

    fn queue(&mut self, place: Place) -> Option<(&mut Queue, &mut u32)> {
        let [newcomers, remembered, main] = &mut self.counts;
        match place {
            Place::Nowhere => None,
            Place::In => Some((&mut self.newcomers, newcomers)),
            Place::Out => Some((&mut self.remembered, remembered)),
            Place::Main => Some((&mut self.main, main)),
        }
    }
}

impl CachePolicy for TwoQ {
    fn hit(&mut self, item: u32) {
        if self.place[item as usize] == Place::Main {
            self.main.renew(item);
        }
    }

    fn admit(&mut self, item: u32) -> Option<u32> {
        // Must be read before the eviction: recording the victim in A1out may push this item out of A1out.
        let came_back = self.place[item as usize] == Place::Out;
        let [newcomers, _, main] = self.counts;
        let victim = if newcomers + main < self.capacity {
            None
        } else if newcomers > (self.capacity / 4).max(1) || main == 0 {
            let victim = self.newcomers.oldest();
            victim.inspect(|&victim| self.put(victim, Place::Out))
        } else {
            let victim = self.main.oldest();
            victim.inspect(|&victim| self.put(victim, Place::Nowhere))
        };
        if self.counts[1] > (self.capacity / 2).max(1)
            && let Some(forgotten) = self.remembered.oldest()
        {
            self.put(forgotten, Place::Nowhere);
        }
        self.put(item, if came_back { Place::Main } else { Place::In });
        victim
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { place, newcomers, remembered, main, counts, capacity: _ } = self;
        archive.value(place)?;
        archive.value(newcomers)?;
        archive.value(remembered)?;
        archive.value(main)?;
        archive.value(counts)
    }
}
