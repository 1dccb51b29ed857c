//! Block allocator: records which blocks are free, and chooses the blocks for a request.
//!
//! Models how ext4's multiblock allocator (fs/ext4/mballoc.c) places the delayed data of closed files. It prefers the
//! blocks right after the file's last block. Otherwise it takes the first free run that holds the whole request,
//! starting from a given group. A run lies within one group. Buddies and their alignment are not modelled.

use std::ops::Range;

use super::layout::GROUP_BLOCKS;

const WORD: u32 = u64::BITS;
const GROUP_WORDS: usize = (GROUP_BLOCKS / WORD) as usize;

/// A range of consecutive blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub start: u32,
    pub blocks: u32,
}

/// Block allocator for a device that consists of whole groups.
#[derive(Clone, Debug)]
pub(super) struct Allocator {
    /// Bitmap of the allocated blocks of the device.
    taken: Vec<u64>,
    groups: Vec<Group>,
    free: u64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    free: u32,
    /// Upper bound on the length of any run of free blocks in the group.
    longest: u32,
}

impl Allocator {
    /// Creates an allocator of `blocks` blocks; the blocks in `taken` are allocated.
    pub fn new(blocks: u32, taken: impl Iterator<Item = Range<u32>>) -> Self {
        let group = Group { free: GROUP_BLOCKS, longest: GROUP_BLOCKS };
        let mut new = Self {
            taken: vec![0; (blocks / WORD) as usize],
            groups: vec![group; (blocks / GROUP_BLOCKS) as usize],
            free: blocks.into(),
        };
        taken.for_each(|range| new.take(Extent { start: range.start, blocks: range.end - range.start }));
        new
    }

    pub fn free_blocks(&self) -> u64 {
        self.free
    }

    /// Allocates `count` blocks. Uses the blocks from `goal` on if they are free; otherwise the first sufficiently long
    /// run, searching from group `group` and wrapping around; otherwise the longest runs. Returns false and allocates
    /// nothing if there are too few free blocks.
    pub fn allocate(&mut self, count: u32, goal: Option<u32>, group: u32, out: &mut Vec<Extent>) -> bool {
        if u64::from(count) > self.free {
            return false;
        }
        let goal = goal.filter(|&start| self.is_free(start, count));
        let mut left = count;
        while left > 0 {
            let mut blocks = left.min(GROUP_BLOCKS);
            let start = loop {
                match goal.or_else(|| self.first_run(blocks, group)) {
                    Some(start) => break start,
                    None => blocks = self.groups.iter().map(|group| group.longest).max().unwrap_or(0),
                }
            };
            self.take(Extent { start, blocks });
            out.push(Extent { start, blocks });
            left -= blocks;
        }
        true
    }

    /// Allocates the first run of `count` free blocks. The search begins with group `group` and wraps around.
    pub fn allocate_run(&mut self, count: u32, group: u32) -> Option<Extent> {
        let extent = Extent { start: self.first_run(count, group)?, blocks: count };
        self.take(extent);
        Some(extent)
    }

    /// True if the `count` blocks that start at `start` lie in one group and are free.
    fn is_free(&self, start: u32, count: u32) -> bool {
        let end = u64::from(start) + u64::from(count);
        end <= self.taken.len() as u64 * u64::from(WORD)
            && start / GROUP_BLOCKS == (start + count - 1) / GROUP_BLOCKS
            && (start..start + count).all(|block| self.taken[(block / WORD) as usize] & bit(block) == 0)
    }

    /// Returns the start of the first run of at least `count` free blocks. Searches all groups, beginning with `from`
    /// and wrapping around.
    fn first_run(&mut self, count: u32, from: u32) -> Option<u32> {
        let groups = self.groups.len();
        (0..groups).map(|step| (from as usize + step) % groups).find_map(|group| {
            if self.groups[group].longest < count {
                return None;
            }
            match run_in(&self.taken[group * GROUP_WORDS..][..GROUP_WORDS], count) {
                Ok(start) => Some(group as u32 * GROUP_BLOCKS + start),
                Err(longest) => {
                    self.groups[group].longest = longest;
                    None
                }
            }
        })
    }

    fn take(&mut self, extent: Extent) {
        self.mark(extent, true);
        self.free -= u64::from(extent.blocks);
    }

    pub fn release(&mut self, extent: Extent) {
        self.mark(extent, false);
        self.free += u64::from(extent.blocks);
    }

    fn mark(&mut self, extent: Extent, taken: bool) {
        let (mut block, end) = (extent.start, extent.start + extent.blocks);
        while block < end {
            let upto = ((block / WORD + 1) * WORD).min(end);
            let mask = (u64::MAX >> (WORD - (upto - block))) << (block % WORD);
            let word = &mut self.taken[(block / WORD) as usize];
            debug_assert_eq!(*word & mask, if taken { 0 } else { mask }, "block {block} allocated or freed twice");
            *word ^= mask;
            let group = &mut self.groups[(block / GROUP_BLOCKS) as usize];
            if taken {
                group.free -= upto - block;
            } else {
                group.free += upto - block;
                group.longest = group.free;
            }
            block = upto;
        }
    }
}

fn bit(block: u32) -> u64 {
    1 << (block % WORD)
}

/// Returns the start of the first run of at least `count` zero bits. If no run is long enough, returns the length of
/// the longest run as the error.
fn run_in(words: &[u64], count: u32) -> Result<u32, u32> {
    let (mut run, mut longest) = (0, 0);
    for (index, &word) in words.iter().enumerate() {
        let mut at = 0;
        while at < WORD {
            let rest = word >> at;
            if rest & 1 == 1 {
                longest = longest.max(run);
                run = 0;
                at += rest.trailing_ones();
                continue;
            }
            let zeros = rest.trailing_zeros().min(WORD - at);
            at += zeros;
            run += zeros;
            if run >= count {
                return Ok(index as u32 * WORD + at - run);
            }
        }
    }
    Err(longest.max(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    fn allocate(allocator: &mut Allocator, count: u32, goal: Option<u32>, group: u32) -> Vec<(u32, u32)> {
        let mut out = Vec::new();
        assert!(allocator.allocate(count, goal, group, &mut out));
        out.iter().map(|extent| (extent.start, extent.blocks)).collect()
    }

    #[test]
    fn a_request_is_placed_after_the_file_or_in_the_first_run_that_holds_it() {
        let mut a = Allocator::new(3 * GROUP_BLOCKS, [].into_iter());
        let second = GROUP_BLOCKS;
        assert_eq!(allocate(&mut a, 10, None, 1), [(second, 10)]);
        assert_eq!(allocate(&mut a, 100, None, 1), [(second + 10, 100)]);
        a.release(Extent { start: second, blocks: 10 });
        // Eleven blocks do not fit into a gap of ten blocks, but four blocks do.
        assert_eq!(allocate(&mut a, 11, None, 1), [(second + 110, 11)]);
        assert_eq!(allocate(&mut a, 4, None, 1), [(second, 4)]);
        // A file grows into the blocks right after its last block, but only if they are all free.
        assert_eq!(allocate(&mut a, 6, Some(second + 4), 1), [(second + 4, 6)]);
        assert_eq!(allocate(&mut a, 2, Some(second + 10), 1), [(second + 121, 2)]);
    }

    #[test]
    fn without_a_long_enough_run_the_longest_are_used() {
        let mut a = Allocator::new(2 * GROUP_BLOCKS, [].into_iter());
        allocate(&mut a, GROUP_BLOCKS, None, 1);
        allocate(&mut a, GROUP_BLOCKS, None, 1);
        for (start, blocks) in [(5, 3), (100, 7), (GROUP_BLOCKS + 9, 4)] {
            a.release(Extent { start, blocks });
        }
        assert_eq!(allocate(&mut a, 12, None, 1), [(100, 7), (GROUP_BLOCKS + 9, 4), (5, 1)]);
        assert_eq!(a.free_blocks(), 2);
        assert!(!a.allocate(3, None, 0, &mut Vec::new()));
        assert_eq!(a.free_blocks(), 2);
    }

    /// Goal: no block is allocated twice. Method: compares random allocations and releases with a set of blocks, until
    /// the device is full and fragmented.
    #[test]
    fn no_block_is_allocated_twice() {
        let mut rng = Rng::named(4, "allocator");
        let mut a = Allocator::new(4 * GROUP_BLOCKS, [].into_iter());
        let (mut owned, mut held) = (std::collections::BTreeSet::new(), Vec::new());
        for _ in 0..20_000 {
            if !held.is_empty() && (a.free_blocks() < 20_000 || rng.below(3) == 0) {
                let extent: Extent = held.swap_remove(rng.below(held.len() as u64) as usize);
                (extent.start..extent.start + extent.blocks).for_each(|block| assert!(owned.remove(&block)));
                a.release(extent);
                continue;
            }
            let first = held.len();
            assert!(a.allocate(1 + rng.below(60) as u32, None, rng.below(4) as u32, &mut held));
            for extent in &held[first..] {
                (extent.start..extent.start + extent.blocks).for_each(|block| assert!(owned.insert(block)));
            }
        }
        assert_eq!(a.free_blocks(), u64::from(4 * GROUP_BLOCKS) - owned.len() as u64);
    }
}
