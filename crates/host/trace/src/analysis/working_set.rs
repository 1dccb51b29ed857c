//! Tracks the pages touched, each with the window of its last touch.
//!
//! Counts are exact up to [`GROUPS_MAX`] groups of 16 neighbouring pages. At this limit, half of the groups are
//! dropped, selected by a hash of their number, and each remaining page counts twice. Each time the limit is reached
//! again, the sample is halved again: adaptive sampling (Wegman; Flajolet 1990).
//!
//! If each page in the sample represents s pages, an estimate of n pages has a relative standard error of at most 4
//! sqrt(s / n), because pages are sampled in groups of 16. The error of the footprint is below 0.4 %, because its
//! sample keeps at least a million pages.

use ssdlab_core::mem::prefetch;

/// Size of a page in bytes.
const PAGE: u64 = 4096;
/// Number of pages per group.
const GROUP: u64 = 16;
/// Maximum number of groups (144 MiB of memory, plus 16 MiB of index); covers 192 GiB if all pages of the groups are
/// used, 12 GiB if one page per group is used.
const GROUPS_MAX: usize = 3 << 20;

/// Maximum number of windows of a trace.
pub(super) const WINDOWS: usize = 512;
/// Number of merge levels. A page's level is the number of pairwise merges that join the current window with the window
/// of the page's previous touch. Level 0 is for pages that have never been touched before.
pub(super) const LEVELS: usize = WINDOWS.ilog2() as usize + 1;

/// Pages touched by reads and writes.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    groups: Vec<Group>,
    /// Hash table of the groups. A slot holds the index of a group plus 1, or 0 if it is free. The number of slots is a
    /// power of two, and at most three quarters of them are used.
    slots: Vec<u32>,
    groups_max: usize,
    /// Number of low hash bits that must all be zero for a group to stay in the sample.
    halvings: u32,
    read_pages: u64,
    written_pages: u64,
    pages: u64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    number: u64,
    /// Number of the window, from 1, in which each page of the group was last touched; 0 if never touched.
    last: [u16; GROUP as usize],
    read: u16,
    written: u16,
}

/// Hashes a number with the finalizer (output function) of SplitMix64.
fn hash(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl WorkingSet {
    pub(super) fn new() -> Self {
        Self::bounded(GROUPS_MAX)
    }

    fn bounded(groups_max: usize) -> Self {
        Self {
            groups: Vec::new(),
            slots: vec![0; 64],
            groups_max,
            halvings: 0,
            read_pages: 0,
            written_pages: 0,
            pages: 0,
        }
    }

    /// Returns the number of pages that each page in the sample represents; 1 while counts are exact.
    pub fn sampling(&self) -> u64 {
        1 << self.halvings
    }

    /// Returns the bytes touched by reads, by writes, and by either, in whole 4 KiB pages.
    pub fn footprints(&self) -> [u64; 3] {
        [self.read_pages, self.written_pages, self.pages].map(|pages| pages * PAGE)
    }

    /// Marks the bytes from `offset` up to but not including `end` as touched in window `now`; windows are numbered
    /// from 1. Adds the number of pages that are new to this window to `fresh`, which counts pages by merge level (see
    /// [`LEVELS`]).
    pub(super) fn touch(&mut self, offset: u64, end: u64, write: bool, now: u16, fresh: &mut [u64; LEVELS]) {
        if end <= offset {
            return;
        }
        let (mut page, last) = (offset / PAGE, (end - 1) / PAGE);
        loop {
            let number = page / GROUP;
            let until = last.min(number * GROUP + (GROUP - 1));
            if let Some(index) = self.find(number) {
                self.touch_group(index, (page % GROUP) as usize, (until % GROUP) as usize, write, now, fresh);
            }
            if until == last {
                return;
            }
            page = until + 1;
        }
    }

    fn touch_group(
        &mut self,
        index: usize,
        first: usize,
        last: usize,
        write: bool,
        now: u16,
        fresh: &mut [u64; LEVELS],
    ) {
        let weight = 1 << self.halvings;
        let group = &mut self.groups[index];
        let mask = (u16::MAX >> (15 - last)) & (u16::MAX << first);
        let (own, other) = if write { (&mut group.written, group.read) } else { (&mut group.read, group.written) };
        let new = mask & !*own;
        *own |= mask;
        let pages = if write { &mut self.written_pages } else { &mut self.read_pages };
        *pages += weight * u64::from(new.count_ones());
        self.pages += weight * u64::from((new & !other).count_ones());
        for touched in &mut group.last[first..=last] {
            if *touched != now {
                // Windows are merged in pairs. So the highest bit in which two window numbers differ gives the number
                // of merges that join them.
                let level = if *touched == 0 { 0 } else { u16::BITS - ((*touched - 1) ^ (now - 1)).leading_zeros() };
                fresh[level as usize] += weight;
                *touched = now;
            }
        }
    }

    /// Merges windows in pairs.
    pub(super) fn join_windows(&mut self) {
        for last in self.groups.iter_mut().flat_map(|group| &mut group.last) {
            *last = last.div_ceil(2);
        }
    }

    /// Returns the index of a page group, and creates the group if necessary; `None` if the group is not part of the
    /// sample.
    #[inline]
    fn find(&mut self, number: u64) -> Option<usize> {
        let hash = hash(number);
        if hash & (self.sampling() - 1) != 0 {
            return None;
        }
        let mut slot = self.first_slot(hash);
        loop {
            match self.slots[slot] {
                0 => return self.insert(number, hash),
                index if self.groups[index as usize - 1].number == number => return Some(index as usize - 1),
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Prefetches the hash slot of an address's group.
    #[inline]
    pub(super) fn prefetch_slot(&self, offset: u64) {
        prefetch(&self.slots, self.first_slot(hash(offset / PAGE / GROUP)));
    }

    /// Prefetches the page group of an address. Takes effect only if the group is in the first slot probed for it.
    #[inline]
    pub(super) fn prefetch_group(&self, offset: u64) {
        let index = self.slots[self.first_slot(hash(offset / PAGE / GROUP))];
        prefetch(&self.groups, (index as usize).wrapping_sub(1));
    }

    /// Returns the first slot to probe for a hash. Uses high bits, because the low bits select the sample.
    fn first_slot(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    #[cold]
    fn insert(&mut self, number: u64, hash: u64) -> Option<usize> {
        if self.groups.len() == self.groups_max {
            self.halvings += 1;
            let kept = self.sampling() - 1;
            self.groups.retain(|group| self::hash(group.number) & kept == 0);
            self.rebuild(self.slots.len());
            return self.find(number);
        }
        if (self.groups.len() + 1) * 4 > self.slots.len() * 3 {
            self.rebuild(self.slots.len() * 2);
        }
        self.groups.push(Group { number, last: [0; GROUP as usize], read: 0, written: 0 });
        self.link(hash, self.groups.len());
        Some(self.groups.len() - 1)
    }

    fn link(&mut self, hash: u64, index: usize) {
        let mut slot = self.first_slot(hash);
        while self.slots[slot] != 0 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = index as u32;
    }

    fn rebuild(&mut self, slots: usize) {
        self.slots = vec![0; slots];
        for index in 0..self.groups.len() {
            self.link(hash(self.groups[index].number), index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Goal: estimates stay within their error bound. Method: touches about 300,000 pages, scattered and in runs of 40,
    /// in a set of 1,024 groups, and compares the estimate with the exact number.
    #[test]
    fn a_sample_estimates_within_its_error() {
        for (pages, run) in [(300_000_u64, 1), (300_000, 40)] {
            let mut rng = Rng::named(5, "working set");
            let mut set = WorkingSet::bounded(1024);
            let mut touched = std::collections::BTreeSet::new();
            let mut fresh = [0; LEVELS];
            while (touched.len() as u64) < pages {
                let (page, write) = (rng.below(1 << 20), rng.below(2) == 0);
                set.touch(page * PAGE, (page + run) * PAGE, write, 1, &mut fresh);
                touched.extend(page..page + run);
            }
            let (sampling, estimate) = (set.sampling(), set.footprints()[2] / PAGE);
            assert!(set.groups.len() <= 1024 && sampling >= 32, "{sampling}");
            let error = 4.0 * (sampling as f64 / pages as f64).sqrt();
            let off = estimate as f64 / touched.len() as f64 - 1.0;
            assert!(off.abs() < 4.0 * error, "{off} with {error}");
            assert_eq!(fresh[0], estimate);
            // Estimates are multiples of the sampling factor.
            assert!(set.footprints()[0] <= set.footprints()[2]);
        }
    }

    #[test]
    fn the_highest_address_has_a_page() {
        let mut set = WorkingSet::new();
        set.touch(u64::MAX - 10, u64::MAX, true, 1, &mut [0; LEVELS]);
        set.touch(5, 5, true, 1, &mut [0; LEVELS]);
        assert_eq!(set.footprints(), [0, PAGE, PAGE]);
    }
}
