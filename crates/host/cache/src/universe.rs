//! Dense numbers for the items of a trace, in order of first appearance, from 0.
//!
//! One look-up per access serves any number of simulated policies and cache sizes. The hash table uses linear probing
//! and is between an eighth and half full, so that the slot of an id can be prefetched.

use std::ops::Range;

use ssdlab_core::HugeVec;
use ssdlab_core::mem::prefetch;

use crate::CacheError;

/// Number that marks a free slot of the hash table.
const EMPTY: u32 = u32::MAX;
/// Maximum number of items. Two item numbers are reserved: one marks free slots, the other marks items that the
/// stack-distance algorithm no longer tracks.
const ITEMS_MAX: usize = u32::MAX as usize - 1;

/// A full table grows to four times its size. This rehashes only a third as many ids in total as doubling would.
const GROWTH_BITS: u32 = 2;

/// Binary logarithm of the initial number of hash slots.
const SLOT_BITS: u32 = 12;

#[derive(Clone, Copy, Debug)]
struct Slot {
    id: u64,
    item: u32,
}

const FREE: Slot = Slot { id: 0, item: EMPTY };

/// The items of a trace seen so far; each takes 40 to 136 bytes.
#[derive(Clone, Debug)]
pub struct Universe {
    slots: HugeVec<Slot>,
    /// Right shift in bits that converts a hash to a slot index.
    shift: u32,
    ids: Vec<u64>,
}

impl Default for Universe {
    fn default() -> Self {
        Self { slots: HugeVec::filled(FREE, 1 << SLOT_BITS), shift: 64 - SLOT_BITS, ids: Vec::new() }
    }
}

impl Universe {
    /// Returns the number of items seen so far.
    pub fn len(&self) -> u32 {
        self.ids.len() as u32
    }

    /// True if no item has been seen yet.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the id that an item has in the trace.
    pub fn id(&self, item: u32) -> u64 {
        self.ids[item as usize]
    }

    /// Returns the ids of all items, by item number.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    #[inline]
    fn home(&self, id: u64) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): spreads adjacent page numbers.
        (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// Prefetches the hash slot of `id` for [`Self::number`].
    #[inline]
    pub fn prefetch(&self, id: u64) {
        prefetch(&self.slots, self.home(id));
    }

    #[inline]
    fn slot(&self, id: u64) -> usize {
        let mut at = self.home(id);
        while self.slots[at].item != EMPTY && self.slots[at].id != id {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Returns the item number of `id`; None if `id` has not been seen.
    pub fn find(&self, id: u64) -> Option<u32> {
        let item = self.slots[self.slot(id)].item;
        (item != EMPTY).then_some(item)
    }

    /// Returns the items whose ids lie in the given range; scans the range or the items, whichever is smaller.
    pub(crate) fn within(&self, ids: Range<u64>) -> Vec<u32> {
        if ids.end.saturating_sub(ids.start) > u64::from(self.len()) {
            (0..self.len()).filter(|&item| ids.contains(&self.id(item))).collect()
        } else {
            ids.filter_map(|id| self.find(id)).collect()
        }
    }

    /// Returns the item number of `id`; a new id gets the next number.
    #[inline]
    pub fn number(&mut self, id: u64) -> Result<u32, CacheError> {
        let at = self.slot(id);
        let item = self.slots[at].item;
        if item != EMPTY {
            return Ok(item);
        }
        self.add(at, id)
    }

    fn add(&mut self, at: usize, id: u64) -> Result<u32, CacheError> {
        let item = self.ids.len();
        if item >= ITEMS_MAX {
            return Err(CacheError::TooManyItems);
        }
        let no_memory = |_| CacheError::NoMemory { items: item as u32 };
        self.ids.try_reserve(1).map_err(no_memory)?;
        self.ids.push(id);
        self.slots[at] = Slot { id, item: item as u32 };
        if self.ids.len() * 2 > self.slots.len() {
            let larger = HugeVec::try_filled(FREE, self.slots.len() << GROWTH_BITS).map_err(no_memory)?;
            (self.slots, self.shift) = (larger, self.shift - GROWTH_BITS);
            for item in 0..self.ids.len() {
                let id = self.ids[item];
                let at = self.slot(id);
                self.slots[at] = Slot { id, item: item as u32 };
            }
        }
        Ok(item as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Compares with a `BTreeMap` that numbers ids in order of appearance.
        #[test]
        fn numbers_are_given_in_order(ids in prop::collection::vec(
            prop_oneof![0_u64..40, (0_u64..3000).prop_map(|page| page << 12), any::<u64>()], 0..4000,
        )) {
            let mut universe = Universe::default();
            let mut map = BTreeMap::new();
            for id in ids {
                prop_assert_eq!(universe.find(id), map.get(&id).copied());
                let next = map.len() as u32;
                prop_assert_eq!(universe.number(id).unwrap(), *map.entry(id).or_insert(next));
            }
            prop_assert_eq!(universe.len() as usize, map.len());
            for (id, item) in map {
                prop_assert_eq!((universe.id(item), universe.find(id)), (id, Some(item)));
            }
        }
    }
}
