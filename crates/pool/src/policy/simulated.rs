//! Any policy of simulated caches that need not know the future, at the price of a lock for each hit.
//!
//! A simulated policy decides whole accesses at a fixed capacity, the pool when and how many pages leave. So victims
//! are asked for ahead, and the capacity is the number of pages expected: what the policy itself gives up or turns away
//! while the pool still has room stays until the next victim is sought, and gives way first. A page that may not leave
//! is accessed once more.
//!
//! A policy knows pages by numbers, which a page keeps when it leaves, so that it is recognised when it comes back.
//! There are about twice as many numbers as slots; beyond that, the page that left first is forgotten. A number that
//! goes to another page takes along what a sketch has counted for it.

use ssdlab_cache::{Access, PolicyInfo, build_policy};

use super::Policy;
use super::links::{Links, List, NONE};
use super::numbers::Numbers;
use crate::sync::Mutex;
use crate::{ConfigError, PageId};

/// The policy with changes to its parameters, for a pool of about so many pages.
pub fn build(info: &PolicyInfo, changes: &[(String, u64)], pages: usize) -> Result<Box<dyn Policy>, ConfigError> {
    let policy = build_policy(info, changes, pages.max(1) as u64, 0, true)
        .map_err(|error| ConfigError::new("policy", info.name, error.to_string()))?;
    Ok(Box::new(Simulated(Mutex::new(State {
        policy,
        numbers: Numbers::default(),
        items: Vec::new(),
        slots: Vec::new(),
        links: Links::default(),
        given_up: List::default(),
        evicted: Vec::new(),
    }))))
}

struct Simulated(Mutex<State>);

struct State {
    policy: Box<dyn ssdlab_cache::Policy>,
    numbers: Numbers,
    /// Number of the page at each slot, if there is one, and slot of each number.
    items: Vec<u32>,
    slots: Vec<u32>,
    links: Links,
    /// Slots of pages that the policy holds no more, but the pool does.
    given_up: List,
    evicted: Vec<u32>,
}

impl State {
    fn access(&mut self, slot: u32) {
        self.policy.access(Access::new(self.items[slot as usize], 1), &mut self.evicted);
        for item in self.evicted.drain(..) {
            self.links.push(&mut self.given_up, self.slots[item as usize]);
        }
    }

    fn hit(&mut self, slot: u32) {
        let item = self.items[slot as usize];
        if item == NONE {
            return;
        }
        if !self.policy.contains(item) {
            self.links.remove(&mut self.given_up, slot);
        }
        self.access(slot);
    }

    fn leave(&mut self, slot: u32) {
        self.numbers.leave(std::mem::replace(&mut self.items[slot as usize], NONE));
    }

    fn choose(&mut self, may: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        for _ in 0..self.given_up.len {
            let slot = self.links.pop_oldest(&mut self.given_up)?;
            if may(slot) {
                return Some(slot);
            }
            self.links.push(&mut self.given_up, slot);
        }
        let mut refused = List::default();
        let mut victim = None;
        while let Some(item) = self.policy.victim() {
            let slot = self.slots[item as usize];
            if may(slot) {
                victim = Some(slot);
                break;
            }
            self.links.push(&mut refused, slot);
        }
        while let Some(slot) = self.links.pop_oldest(&mut refused) {
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
        // What there is may be enough for a while.
        if state.numbers.len() < slots + slots / 4 {
            let numbers = 2 * slots;
            state.numbers.grow(numbers);
            state.slots.reserve_exact(numbers - state.slots.len());
            state.slots.resize(numbers, 0);
            state.policy.grow(numbers as u32);
        }
    }

    fn growth_bytes(&self, more: usize) -> usize {
        // Tables at least double, and the old ones exist until they are copied.
        let state = self.0.lock();
        state.bytes() * (2 + 2 * more / state.items.len().max(1))
    }

    fn insert(&mut self, slot: u32, id: PageId) {
        let state = self.0.get_mut();
        let (item, was_others) = state.numbers.come(id);
        if was_others {
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
            state.links.remove(&mut state.given_up, slot);
        }
        state.leave(slot);
    }

    fn victim(&mut self, may: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let state = self.0.get_mut();
        let slot = state.choose(may)?;
        state.leave(slot);
        Some(slot)
    }

    fn bytes(&self) -> usize {
        self.0.lock().bytes()
    }
}
