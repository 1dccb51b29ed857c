//! Least recently used, exactly, without a list that every hit would change.
//!
//! A hit only writes the time of a shared counter to its slot. A heap holds for each slot a time that is never later
//! than that; when the earliest one turns out to be outdated it goes back with the later time. The first that is not
//! outdated is the least recently used page.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Policy, PoolPolicyInfo};
use crate::PageId;

pub(crate) static INFO: PoolPolicyInfo = PoolPolicyInfo {
    name: "lru",
    help: "Used longest ago; each hit advances a counter that the threads of a shard share.",
    source: "",
    parameters: &[],
    role: |_| Box::new(Lru::default()),
};

#[derive(Default)]
struct Lru {
    now: AtomicU64,
    /// When each slot was used last.
    used: Vec<AtomicU64>,
    held: Vec<Held>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Copy, Default)]
struct Held {
    /// The slot has a page of this pool.
    page: bool,
    /// The slot is in the heap.
    entry: bool,
}

impl Policy for Lru {
    fn grow(&mut self, slots: usize) {
        let more = slots - self.used.len();
        self.used.reserve_exact(more);
        self.used.resize_with(slots, AtomicU64::default);
        self.held.reserve_exact(more);
        self.held.resize(slots, Held::default());
        self.heap.reserve_exact(slots - self.heap.len());
    }

    fn insert(&mut self, slot: u32, _: PageId) {
        self.hit(slot);
        let held = &mut self.held[slot as usize];
        if !held.entry {
            self.heap.push(Reverse((*self.used[slot as usize].get_mut(), slot)));
        }
        *held = Held { page: true, entry: true };
    }

    #[inline]
    fn hit(&self, slot: u32) {
        self.used[slot as usize].store(self.now.fetch_add(1, Relaxed), Relaxed);
    }

    fn remove(&mut self, slot: u32) {
        self.held[slot as usize].page = false;
    }

    fn victim(&mut self, may: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let limit = *self.now.get_mut();
        while let Some(Reverse((time, slot))) = self.heap.pop() {
            let used = *self.used[slot as usize].get_mut();
            if !self.held[slot as usize].page {
                self.held[slot as usize].entry = false;
            } else if time < used {
                self.heap.push(Reverse((used, slot)));
            } else if time >= limit {
                // Refused in this very call, and so are all others.
                self.heap.push(Reverse((time, slot)));
                return None;
            } else if may(slot) {
                self.held[slot as usize] = Held::default();
                return Some(slot);
            } else {
                self.hit(slot);
                self.heap.push(Reverse((*self.used[slot as usize].get_mut(), slot)));
            }
        }
        None
    }

    fn bytes(&self) -> usize {
        self.used.capacity() * size_of::<u64>()
            + self.held.capacity() * size_of::<Held>()
            + self.heap.capacity() * size_of::<(u64, u32)>()
    }
}
