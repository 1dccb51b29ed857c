//! Counts the write-backs of LRU map caches of several sizes in one pass.
//!
//! A cache of C segments holds the C most recently used segments. So all caches share one LRU list; the *edge* of each
//! cache is its least recently used segment, the next victim. A write-back writes all dirty segments of a map page. A
//! segment is dirty in a cache if it changed after that cache last wrote its map page.
//!
//! Cost: O(1) per use, plus O(1) per cache that misses. Memory: 24 bytes per segment, and 8 bytes per cache and map
//! page.

use ssdlab_core::list::{Link, List, NONE, Node};

/// Counts of write-backs for several caches.
#[derive(Clone, Debug)]
pub(crate) struct WriteBacks {
    /// Caches in ascending order of their capacity.
    caches: Vec<Cache>,
    segments: Vec<Segment>,
    /// Segments used so far, ordered by time of last use.
    order: List,
    used: u32,
    /// Log2 of the number of segments per map page.
    page_shift: u32,
    /// Time when each cache last wrote back each map page. The times of a map page for all caches are adjacent.
    written: Vec<u64>,
    /// Number of segment uses so far; consecutive uses of the same segment count once.
    now: u64,
}

#[derive(Clone, Debug)]
struct Cache {
    capacity: u32,
    edge: u32,
    write_backs: u64,
}

#[derive(Clone, Debug)]
struct Segment {
    link: Link,
    /// Number of caches that do not hold this segment. These are always the smallest caches.
    absent: u32,
    changed: u64,
}

impl Node for Segment {
    fn link(&self) -> &Link {
        &self.link
    }

    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl WriteBacks {
    /// Creates empty caches of the given `capacities` in segments, in ascending order. The map has `segments` segments,
    /// `2^page_shift` per map page.
    pub fn new(segments: u32, page_shift: u32, capacities: impl Iterator<Item = u32>) -> Self {
        let caches: Vec<Cache> = capacities.map(|capacity| Cache { capacity, edge: NONE, write_backs: 0 }).collect();
        let unused = Segment { link: Link::ALONE, absent: caches.len() as u32, changed: 0 };
        let pages = segments.div_ceil(1 << page_shift) as usize;
        Self {
            // All write-back times start at 1. This is later than 0, the change time of a segment that never changed,
            // so such a segment is clean.
            written: vec![1; pages * caches.len()],
            caches,
            segments: vec![unused; segments as usize],
            order: List::EMPTY,
            used: 0,
            page_shift,
            now: 0,
        }
    }

    /// Records a use of a segment; `changes` is true if the use makes the segment dirty.
    #[inline]
    pub fn add(&mut self, segment: u32, changes: bool) {
        if self.order.newest() != Some(segment) {
            self.now += 1;
            self.touch(segment);
        }
        if changes {
            self.segments[segment as usize].changed = self.now;
        }
    }

    /// Makes `segment` the most recently used segment.
    fn touch(&mut self, segment: u32) {
        let Segment { link: Link { newer, .. }, absent, .. } = self.segments[segment as usize];
        let caches = self.caches.len();
        let (missing, holding) = self.caches.split_at_mut(absent as usize);
        holding.iter_mut().filter(|cache| cache.edge == segment).for_each(|cache| cache.edge = newer);
        let is_new = newer == NONE;
        if !is_new {
            self.order.remove(&mut self.segments, segment);
        }
        self.order.push(&mut self.segments, segment);
        self.segments[segment as usize].absent = 0;
        for (at, cache) in missing.iter_mut().enumerate() {
            if self.used < cache.capacity {
                cache.edge = self.order.oldest().unwrap_or(segment);
                continue;
            }
            let victim = &mut self.segments[cache.edge as usize];
            victim.absent = at as u32 + 1;
            let page = (cache.edge >> self.page_shift) as usize;
            let written = &mut self.written[page * caches + at];
            if victim.changed >= *written {
                *written = self.now;
                cache.write_backs += 1;
            }
            cache.edge = victim.link.newer;
        }
        self.used += u32::from(is_new);
    }

    /// Returns the capacity in segments and the number of write-backs of each cache.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.caches.iter().map(|cache| (cache.capacity, cache.write_backs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;
    use ssdlab_ftl::map::{MapModel, SegmentCache, segments};

    /// Number of map entries per map page.
    const PER_PAGE: u32 = 8;
    /// Number of pages of the device, which fill the last map page only partly.
    const PAGES: u32 = 60;

    fn simulated(capacity: u32, page_shift: u32, uses: &[(u32, bool)]) -> u64 {
        let segment = 512 >> page_shift;
        let changes = [("cache", u64::from(segment * capacity)), ("segment", segment.into()), ("entry", 64)];
        let mut cache = SegmentCache::new(
            PAGES,
            64 * PER_PAGE,
            &segments::INFO.set(&changes).expect("the parameters are in range"),
        )
        .expect("the sizes are valid");
        let mut written_back = 0;
        for &(page, changes) in uses {
            if let Some(page) = cache.look_up(page).write_back {
                cache.written(page);
                written_back += 1;
            }
            if changes {
                cache.changed(page);
            }
        }
        written_back
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Compares the counts with the simulated map cache, for random uses and map pages of 1 to 8 segments.
        #[test]
        fn write_backs_match_the_simulated_cache(
            uses in prop::collection::vec((0..PAGES, any::<bool>()), 0..400),
            page_shift in 0_u32..4,
        ) {
            let entries_shift = PER_PAGE.ilog2() - page_shift;
            let segments = PAGES.div_ceil(1 << entries_shift);
            let capacities = [1, 2, 3, 7, 30, 64].map(|capacity: u32| capacity.min(segments));
            let mut counted = WriteBacks::new(segments, page_shift, capacities.into_iter());
            uses.iter().for_each(|&(page, changes)| counted.add(page >> entries_shift, changes));
            prop_assert!(counted.counts().map(|(capacity, _)| capacity).eq(capacities));
            for (capacity, count) in counted.counts() {
                prop_assert_eq!(count, simulated(capacity, page_shift, &uses), "{} segments", capacity);
            }
        }
    }
}
