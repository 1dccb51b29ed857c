//! Keeps items in the order of their last use, and counts the other items used since an item's last use.
//!
//! ```text
//! slots    one per use, in order of uses; the bit is 1 if the slot's item has not been used since
//! words    bits set in each 64 slots
//! groups   bits set in each 64 words
//! regions  bits set in each 16 groups
//! renew(item):     distance = bits set after its slot;  clear its bit, set the next free one
//! no free slot:    compact the items into the first slots, keeping their order
//! ```
//! Only the `most` items used last are kept. With four slots per item, compaction moves at most a third of an item per
//! use, on average. A distance is a bit count in one word plus three sums: over words of the group, groups of the
//! region, and at most `most` / 16,384 regions. That is a few dozen vector instructions for a million items.

use ssdlab_core::HugeVec;
use ssdlab_core::mem::prefetch;

/// Number of slots per word; each slot is a bit.
const WORD: usize = 64;
/// Number of words per group, and number of groups per region. The counts within a region fit in 16 bits.
const GROUP: usize = 64;
const REGION: usize = 16;
/// Number of slots per kept item; minimum total number of slots.
const SLOTS_PER_ITEM: usize = 4;
const LEAST_SLOTS: usize = 512;

/// Marks an item that was never used.
const NEVER: u32 = u32::MAX;
/// Marks an item that was used but is no longer kept.
const FORGOTTEN: u32 = u32::MAX - 1;

/// Previous use of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LastUse {
    /// The item was never used before.
    Never,
    /// The item was used before, but `most` or more other items have been used since.
    Forgotten,
    /// Number of other items used since the item's last use.
    Distance(u32),
}

/// Recency order of the most recently used items. Memory: about 17 bytes per kept item, and 4 bytes per item.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    most: usize,
    kept: usize,
    /// Slot of each item; [`NEVER`] or [`FORGOTTEN`] if the item has no slot.
    slot_of: HugeVec<u32>,
    item_at: Vec<u32>,
    bits: HugeVec<u64>,
    words: Vec<u16>,
    groups: Vec<u16>,
    regions: Vec<u32>,
    /// Bitmap slot that the item used next is assigned to.
    next: usize,
    /// Index of the first bitmap word whose slots may hold an item.
    oldest_word: usize,
}

impl Recency {
    /// Creates an empty recency order for items `0..items` (at most 2^32 - 2). It keeps the `most` items used last, at
    /// least one.
    pub(super) fn new(items: u32, most: u32) -> Self {
        let most = most.max(1) as usize;
        let words = (most * SLOTS_PER_ITEM).max(LEAST_SLOTS).div_ceil(WORD);
        let groups = words.div_ceil(GROUP);
        let regions = groups.div_ceil(REGION);
        Self {
            most,
            kept: 0,
            slot_of: HugeVec::filled(NEVER, items as usize),
            item_at: vec![0; words * WORD],
            bits: HugeVec::zeros(words),
            words: vec![0; groups * GROUP],
            groups: vec![0; regions * REGION],
            regions: vec![0; regions],
            next: 0,
            oldest_word: 0,
        }
    }

    /// Records a use of an item. Returns the item's previous use, and the item that was forgotten to make room, if any.
    #[inline]
    pub(super) fn renew(&mut self, item: u32) -> (LastUse, Option<u32>) {
        let slot = self.slot_of[item as usize];
        let (last, forgotten) = match slot {
            NEVER => (LastUse::Never, self.make_room()),
            FORGOTTEN => (LastUse::Forgotten, self.make_room()),
            slot => {
                let distance = self.count_after(slot as usize);
                self.clear(slot as usize);
                (LastUse::Distance(distance), None)
            }
        };
        self.append(item);
        (last, forgotten)
    }

    /// Returns each kept item with the number of other items used since, oldest first.
    pub(super) fn distances(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let slots = (0..self.next).filter(|slot| self.bits[slot / WORD] >> (slot % WORD) & 1 == 1);
        slots.enumerate().map(|(older, slot)| (self.item_at[slot], (self.kept - 1 - older) as u32))
    }

    /// Prefetches the slot number of `item`, which [`Self::prefetch_slot`] needs.
    #[inline]
    pub(super) fn prefetch_item(&self, item: u32) {
        prefetch(&self.slot_of, item as usize);
    }

    /// Prefetches the words that [`Self::renew`] reads for `item`.
    #[inline]
    pub(super) fn prefetch_slot(&self, item: u32) {
        let word = self.slot_of[item as usize] as usize / WORD;
        if word < self.bits.len() {
            prefetch(&self.bits, word);
            prefetch(&self.words, word);
        }
    }

    /// Returns the number of items whose slots come after `slot`.
    #[inline]
    fn count_after(&self, slot: usize) -> u32 {
        let word = slot / WORD;
        let (group, region) = (word / GROUP, word / (GROUP * REGION));
        let in_word = (self.bits[word] >> (slot % WORD) >> 1).count_ones();
        let in_group = sum_after(&self.words.as_chunks::<GROUP>().0[group], word % GROUP);
        let in_region = sum_after(&self.groups.as_chunks::<REGION>().0[region], group % REGION);
        in_word + in_group + in_region + self.regions[region + 1..].iter().sum::<u32>()
    }

    #[inline]
    fn clear(&mut self, slot: usize) {
        let word = slot / WORD;
        self.bits[word] &= !(1 << (slot % WORD));
        self.words[word] -= 1;
        self.groups[word / GROUP] -= 1;
        self.regions[word / (GROUP * REGION)] -= 1;
        self.kept -= 1;
    }

    #[inline]
    fn append(&mut self, item: u32) {
        if self.next == self.item_at.len() {
            self.move_together();
        }
        let (slot, word) = (self.next, self.next / WORD);
        self.bits[word] |= 1 << (slot % WORD);
        self.words[word] += 1;
        self.groups[word / GROUP] += 1;
        self.regions[word / (GROUP * REGION)] += 1;
        self.item_at[slot] = item;
        self.slot_of[item as usize] = slot as u32;
        self.next += 1;
        self.kept += 1;
    }

    /// Forgets the least recently used item if the maximum number of items is kept.
    #[inline]
    fn make_room(&mut self) -> Option<u32> {
        if self.kept < self.most {
            return None;
        }
        while self.bits[self.oldest_word] == 0 {
            self.oldest_word += 1;
        }
        let slot = self.oldest_word * WORD + self.bits[self.oldest_word].trailing_zeros() as usize;
        let item = self.item_at[slot];
        self.clear(slot);
        self.slot_of[item as usize] = FORGOTTEN;
        Some(item)
    }

    #[cold]
    fn move_together(&mut self) {
        let mut to = 0;
        for word in 0..self.bits.len() {
            let mut bits = self.bits[word];
            while bits != 0 {
                let item = self.item_at[word * WORD + bits.trailing_zeros() as usize];
                self.item_at[to] = item;
                self.slot_of[item as usize] = to as u32;
                to += 1;
                bits &= bits - 1;
            }
        }
        for (word, (bits, count)) in self.bits.iter_mut().zip(&mut self.words).enumerate() {
            let filled = to.saturating_sub(word * WORD).min(WORD);
            *bits = if filled == WORD { u64::MAX } else { (1 << filled) - 1 };
            *count = filled as u16;
        }
        for (group, words) in self.groups.iter_mut().zip(self.words.chunks(GROUP)) {
            *group = words.iter().sum();
        }
        for (region, groups) in self.regions.iter_mut().zip(self.groups.chunks(REGION)) {
            *region = groups.iter().map(|&count| u32::from(count)).sum();
        }
        self.next = to;
        self.oldest_word = 0;
    }
}

/// Sums the counts after index `at`. Loops over all counts and masks the counts up to `at` to 0, because a loop of
/// variable length would suffer from branch mispredictions.
#[inline]
fn sum_after<const N: usize>(counts: &[u16; N], at: usize) -> u32 {
    const AFTER: [u16; 2 * GROUP] = {
        let mut after = [0; 2 * GROUP];
        let mut at = GROUP;
        while at < after.len() {
            after[at] = u16::MAX;
            at += 1;
        }
        after
    };
    let after = &AFTER[GROUP - 1 - at..][..N];
    u32::from(counts.iter().zip(after).map(|(count, mask)| count & mask).sum::<u16>())
}
