//! CLOCK: a hand moves around the cached items and evicts the first item that was not used since its last pass.
//!
//! Source: Corbato, "A paging experiment with the Multics system", 1968.

use super::{CachePolicy, CachePolicyInfo};
use ssdlab_core::{Archive, Archived};

/// Registry entry of this map cache policy.
pub static INFO: CachePolicyInfo = CachePolicyInfo {
    name: "clock",
    help: "CLOCK: evicts the next entry not used since the hand last passed it",
    source: "Corbato 1968",
    parameters: &[],
    role: |items, capacity| Box::new(Clock::new(items, capacity)),
};

struct Clock {
    circle: Vec<u32>,
    capacity: usize,
    hand: usize,
    used: Vec<bool>,
}

impl Clock {
    fn new(items: u32, capacity: u32) -> Self {
        Self { circle: Vec::new(), capacity: capacity as usize, hand: 0, used: vec![false; items as usize] }
    }
}

impl CachePolicy for Clock {
    fn hit(&mut self, item: u32) {
        self.used[item as usize] = true;
    }

    fn admit(&mut self, item: u32) -> Option<u32> {
        if self.circle.len() < self.capacity {
            self.circle.push(item);
            return None;
        }
        while std::mem::take(&mut self.used[self.circle[self.hand] as usize]) {
            self.hand = (self.hand + 1) % self.capacity;
        }
        let victim = std::mem::replace(&mut self.circle[self.hand], item);
        self.hand = (self.hand + 1) % self.capacity;
        Some(victim)
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { circle, capacity: _, hand, used } = self;
        archive.value(circle)?;
        archive.value(hand)?;
        archive.value(used)
    }
}
