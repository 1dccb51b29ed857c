//! One bit per page of a device.

use std::ops::Range;

use crate::mem::prefetch;
use crate::{Access, Archive, Archived, HugeVec};

const WORD: u32 = u64::BITS;

/// One bit per page; any 64 consecutive bits can be read in one operation.
#[derive(Debug)]
pub struct PageBits {
    words: HugeVec<u64>,
}

impl PageBits {
    /// Creates `pages` cleared bits without touching their memory.
    pub fn new(pages: u32) -> Self {
        Self { words: HugeVec::zeros(pages as usize / WORD as usize + 2) }
    }

    /// True if the bit of a page is set.
    #[inline(always)]
    pub fn is_set(&self, page: u32) -> bool {
        self.words[(page / WORD) as usize] >> (page % WORD) & 1 != 0
    }

    /// Prefetches the bit of a page; does nothing if the page number is out of range.
    #[inline(always)]
    pub fn prefetch(&self, page: u32) {
        prefetch(&self.words, (page / WORD) as usize);
    }

    /// Clears the bit of a page.
    #[inline(always)]
    pub fn clear(&mut self, page: u32) {
        self.words[(page / WORD) as usize] &= !(1 << (page % WORD));
    }

    /// Sets the bit of a page.
    #[inline(always)]
    pub fn set(&mut self, page: u32) {
        self.words[(page / WORD) as usize] |= 1 << (page % WORD);
    }

    /// Returns the bits of `count` consecutive pages (at most 64); the lowest bit belongs to page `first`.
    #[inline(always)]
    pub fn window(&self, first: u32, count: u32) -> u64 {
        let (word, shift) = ((first / WORD) as usize, first % WORD);
        let low = self.words[word] >> shift;
        // Shifts in two steps, because a shift by 64 is not allowed.
        let high = self.words[word + 1] << 1 << (WORD - 1 - shift);
        (low | high) & lowest(count)
    }

    /// Overwrites the bits of `count` consecutive pages; the lowest bit of `bits` belongs to page `first`.
    #[inline(always)]
    pub fn set_window(&mut self, first: u32, count: u32, bits: u64) {
        let (word, shift) = ((first / WORD) as usize, first % WORD);
        let mask = lowest(count);
        let high = |bits: u64| bits >> 1 >> (WORD - 1 - shift);
        self.words[word] = self.words[word] & !(mask << shift) | bits << shift;
        self.words[word + 1] = self.words[word + 1] & !high(mask) | high(bits);
    }

    /// Splits a page range into windows of at most 64 pages: the first page and the number of pages of each window.
    fn windows(pages: Range<u32>) -> impl Iterator<Item = (u32, u32)> {
        let mut left = pages;
        std::iter::from_fn(move || {
            let window = (!left.is_empty()).then(|| (left.start, WORD.min(left.end - left.start)));
            left.start = left.start.saturating_add(WORD);
            window
        })
    }

    /// Sets the bits of the given pages to `value`.
    pub fn fill(&mut self, pages: Range<u32>, value: bool) {
        for (first, count) in Self::windows(pages) {
            self.set_window(first, count, if value { lowest(count) } else { 0 });
        }
    }

    /// Counts the set bits of the given pages.
    pub fn count(&self, pages: Range<u32>) -> u32 {
        Self::windows(pages).map(|(first, count)| self.window(first, count).count_ones()).sum()
    }

    /// Copies the bits of the page range `pages` from `other`; page `first` gets the bit of the range's first page.
    pub fn copy(&mut self, first: u32, other: &Self, pages: Range<u32>) {
        let shift = pages.start;
        for (from, count) in Self::windows(pages) {
            self.set_window(first + (from - shift), count, other.window(from, count));
        }
    }

    /// Saves or loads the bits of all pages.
    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let length = self.words.len();
        archive.huge(&mut self.words, length, Access::InRuns)
    }

    /// Returns the memory used by the bits, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }
}

/// Returns a mask of the `count` lowest bits, at most 64.
#[inline(always)]
const fn lowest(count: u32) -> u64 {
    if count == WORD { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Fills, copies, sets and reads random ranges, and compares the bits with an array of booleans.
        #[test]
        fn page_bits_agree_with_an_array(
            steps in prop::collection::vec((0..4_u8, 0_u32..300, 0_u32..300, 0_u32..300), 1..60),
        ) {
            let mut bits = [PageBits::new(300), PageBits::new(300)];
            let mut truth = [[false; 300], [false; 300]];
            for (what, a, b, at) in steps {
                let (start, end) = (a.min(b), a.max(b));
                match what {
                    0 => {
                        let value = at % 2 == 0;
                        bits[0].fill(start..end, value);
                        truth[0][start as usize..end as usize].fill(value);
                    }
                    1 => {
                        bits[0].set(a);
                        bits[0].clear(at);
                        truth[0][a as usize] = true;
                        truth[0][at as usize] = false;
                    }
                    2 => {
                        let count = (end - start).min(300 - at);
                        let [to, from] = &mut bits;
                        to.copy(at, from, start..start + count);
                        let copied = truth[1][start as usize..(start + count) as usize].to_vec();
                        truth[0][at as usize..(at + count) as usize].copy_from_slice(&copied);
                    }
                    _ => {
                        bits.swap(0, 1);
                        truth.swap(0, 1);
                    }
                }
                let set = truth[0][start as usize..end as usize].iter().filter(|&&set| set).count();
                prop_assert_eq!(bits[0].count(start..end), set as u32);
                let count = (300 - at).min(WORD);
                let window = (0..count).map(|bit| u64::from(truth[0][(at + bit) as usize]) << bit).sum::<u64>();
                prop_assert_eq!(bits[0].window(at, count), window);
                prop_assert_eq!(bits[0].is_set(at.min(299)), truth[0][at.min(299) as usize]);
            }
        }
    }
}
