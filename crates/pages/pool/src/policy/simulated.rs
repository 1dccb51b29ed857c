//! Adapter for any online policy of simulated caches, with a lock per hit.
//!
//! A simulated policy evicts pages on its own at a fixed capacity. In contrast, the pool decides when and how many
//! pages leave. Therefore the adapter requests victims in advance and sets the capacity to the expected number of
//! pages. Pages that the policy evicts or rejects while the pool has free memory stay cached and become the next
//! victims. If the policy evicts a page that the pool cannot evict, the adapter accesses the page to insert it again.
//!
//! Policies identify pages by numbers. A removed page keeps its number, so that the policy recognises the page when it
//! returns. There are about twice as many numbers as slots. When no number is unused, a new page takes the number of
//! the page removed longest ago, and inherits any sketch counts of this number.

use ssdlab_cache::{Access, PolicyInfo, build_policy};

use super::Policy;
use super::links::{Links, List, NONE};
use super::numbers::Numbers;
use crate::sync::Mutex;
use crate::{ConfigError, PageId};

/// Builds the policy, with the parameter values in `changes`, for a pool of about `pages` pages.
pub fn build(info: &PolicyInfo, changes: &[(String, u64)], pages: usize) -> Result<Box<dyn Policy>, ConfigError> {
    let policy = build_policy(info, changes, pages.max(1) as u64, 0, true)
        .map_err(|error| ConfigError::new("policy", info.name, error.to_string()))?;
    Ok(Box::new(Simulated(Mutex::new(State {
        policy,
        numbers: Numbers::default(),
        items: Vec::new(),
        slots: Vec::new(),
        links: Links::default(),
        dropped: List::default(),
        evicted: Vec::new(),
    }))))
}

struct Simulated(Mutex<State>);

struct State {
    policy: Box<dyn ssdlab_cache::Policy>,
    numbers: Numbers,
    /// Dense number of the page in each slot, or [`NONE`].
    items: Vec<u32>,
    /// Slot of each page, by the page's dense number.
    slots: Vec<u32>,
    links: Links,
    /// Slots of pages that the policy has evicted but the pool still holds.
    dropped: List,
    evicted: Vec<u32>,
}

impl State {
    fn access(&mut self, slot: u32) {
        self.policy.access(Access::new(self.items[slot as usize], 1), &mut self.evicted);
        for item in self.evicted.drain(..) {
            self.links.push(&mut self.dropped, self.slots[item as usize]);
        }
    }

    fn hit(&mut self, slot: u32) {
        let item = self.items[slot as usize];
        if item == NONE {
            return;
        }
        if !self.policy.contains(item) {
            self.links.remove(&mut self.dropped, slot);
        }
        self.access(slot);
    }

    fn release(&mut self, slot: u32) {
        self.numbers.remove(std::mem::replace(&mut self.items[slot as usize], NONE));
    }

    fn choose(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        for _ in 0..self.dropped.len {
            let slot = self.links.pop_oldest(&mut self.dropped)?;
            if evictable(slot) {
                return Some(slot);
            }
            self.links.push(&mut self.dropped, slot);
        }
        let mut pinned = List::default();
        let mut victim = None;
        while let Some(item) = self.policy.victim() {
            let slot = self.slots[item as usize];
            if evictable(slot) {
                victim = Some(slot);
                break;
            }
            self.links.push(&mut pinned, slot);
        }
        while let Some(slot) = self.links.pop_oldest(&mut pinned) {
            self.access(slot);
        }
        victim
    }

    fn bytes(&self) -> usize {
        let numbers = self.items.capacity() + self.slots.capacity() + self.evicted.capacity();
        self.policy.bytes() + self.numbers.bytes() + self.links.bytes() + numbers * size_of::<u32>()
    }
}

impl Policy for Simulated {
    fn grow(&mut self, slots: usize) {
        let state = self.0.get_mut();
        let more = slots - state.items.len();
        state.items.reserve_exact(more);
        state.items.resize(slots, NONE);
        state.evicted.reserve_exact(slots);
        state.links.grow(slots);
        // Growing the policy's tables is costly, so they grow rarely, each time by more than is needed.
        if state.numbers.len() < slots + slots / 4 {
            let numbers = 2 * slots;
            state.numbers.grow(numbers);
            state.slots.reserve_exact(numbers - state.slots.len());
            state.slots.resize(numbers, 0);
            state.policy.grow(numbers as u32);
        }
    }

    fn growth_bytes(&self, more: usize) -> usize {
        // Tables at least double in size. The old memory of a table is freed only after its contents are copied.
        let state = self.0.lock();
        state.bytes() * (2 + 2 * more / state.items.len().max(1))
    }

    fn insert(&mut self, slot: u32, id: PageId) {
        let state = self.0.get_mut();
        let (item, reused) = state.numbers.insert(id);
        if reused {
            state.policy.remove(item);
        }
        state.items[slot as usize] = item;
        state.slots[item as usize] = slot;
        state.access(slot);
    }

    fn hit(&self, slot: u32) {
        self.0.lock().hit(slot);
    }

    fn remove(&mut self, slot: u32) {
        let state = self.0.get_mut();
        let item = state.items[slot as usize];
        if state.policy.contains(item) {
            state.policy.remove(item);
        } else {
            state.links.remove(&mut state.dropped, slot);
        }
        state.release(slot);
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let state = self.0.get_mut();
        let slot = state.choose(evictable)?;
        state.release(slot);
        Some(slot)
    }

    fn bytes(&self) -> usize {
        self.0.lock().bytes()
    }
}
