//! Exact LRU in which hits do not modify a shared list.
//!
//! A hit only writes the value of a shared counter to its slot, as a timestamp. A heap holds one timestamp per slot,
//! which may be older than the timestamp in the slot but never newer. The search for a victim removes the minimum of
//! the heap. If this timestamp is outdated, it is reinserted with its current value. The first minimum that is up to
//! date belongs to the least recently used page.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Policy, PoolPolicyInfo};
use crate::PageId;

pub(crate) static INFO: PoolPolicyInfo = PoolPolicyInfo {
    name: "lru",
    help: "Evicts the least recently used page; each hit advances a counter that all threads of a shard share.",
    source: "",
    parameters: &[],
    role: |_| Box::new(Lru::default()),
};

#[derive(Default)]
struct Lru {
    now: AtomicU64,
    /// Value of the shared counter at the last use of each slot's page.
    used: Vec<AtomicU64>,
    slots: Vec<SlotState>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Copy, Default)]
struct SlotState {
    /// True if the slot holds a page of this pool.
    has_page: bool,
    /// True if the slot is in the heap.
    in_heap: bool,
}

impl Policy for Lru {
    fn grow(&mut self, slots: usize) {
        let more = slots - self.used.len();
        self.used.reserve_exact(more);
        self.used.resize_with(slots, AtomicU64::default);
        self.slots.reserve_exact(more);
        self.slots.resize(slots, SlotState::default());
        self.heap.reserve_exact(slots - self.heap.len());
    }

    fn insert(&mut self, slot: u32, _: PageId) {
        self.hit(slot);
        let state = &mut self.slots[slot as usize];
        if !state.in_heap {
            self.heap.push(Reverse((*self.used[slot as usize].get_mut(), slot)));
        }
        *state = SlotState { has_page: true, in_heap: true };
    }

    #[inline]
    fn hit(&self, slot: u32) {
        self.used[slot as usize].store(self.now.fetch_add(1, Relaxed), Relaxed);
    }

    fn remove(&mut self, slot: u32) {
        self.slots[slot as usize].has_page = false;
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let limit = *self.now.get_mut();
        while let Some(Reverse((time, slot))) = self.heap.pop() {
            let used = *self.used[slot as usize].get_mut();
            if !self.slots[slot as usize].has_page {
                self.slots[slot as usize].in_heap = false;
            } else if time < used {
                self.heap.push(Reverse((used, slot)));
            } else if time >= limit {
                // This page was already rejected in the current call, so every page has been rejected and none is
                // evictable.
                self.heap.push(Reverse((time, slot)));
                return None;
            } else if evictable(slot) {
                self.slots[slot as usize] = SlotState::default();
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
            + self.slots.capacity() * size_of::<SlotState>()
            + self.heap.capacity() * size_of::<(u64, u32)>()
    }
}
