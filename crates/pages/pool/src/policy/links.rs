//! Linked lists of slots. A list stores its ends and its length; the links are in tables that grow with the pool.

pub use ssdlab_core::list::NONE;
use ssdlab_core::list::{self, Link};

/// For each slot, links to the next older and next newer slot. Several [`List`]s over the same slots can share one
/// `Links`.
#[derive(Default)]
pub struct Links(Vec<Link>);

/// First and last slot of a list, and the length of the list.
#[derive(Clone, Copy, Default)]
pub struct List {
    ends: list::List,
    pub len: usize,
}

impl Links {
    pub fn grow(&mut self, slots: usize) {
        self.0.reserve_exact(slots - self.0.len());
        self.0.resize(slots, Link::ALONE);
    }

    pub fn push(&mut self, list: &mut List, slot: u32) {
        list.ends.push(&mut self.0, slot);
        list.len += 1;
    }

    pub fn remove(&mut self, list: &mut List, slot: u32) {
        list.ends.remove(&mut self.0, slot);
        list.len -= 1;
    }

    pub fn pop_oldest(&mut self, list: &mut List) -> Option<u32> {
        let slot = list.ends.pop_oldest(&mut self.0)?;
        list.len -= 1;
        Some(slot)
    }

    /// Returns the oldest slot of a list, or [`NONE`].
    pub fn oldest(&self, list: &List) -> u32 {
        list.ends.oldest().unwrap_or(NONE)
    }

    /// Returns the next newer slot of the same list, or [`NONE`].
    pub fn newer(&self, slot: u32) -> u32 {
        self.0[slot as usize].newer
    }

    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Link>()
    }
}
