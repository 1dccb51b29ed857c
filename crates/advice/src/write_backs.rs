//! How often map caches of some sizes write back in one pass, each all dirty segments of a map page at once.
//!
//! A cache of C segments holds the C used last. So all caches share one order of use, and each has an *edge* in it: of
//! its segments the one used longest ago, which gives way to what the cache does not hold. A segment is dirty in a
//! cache if it has changed since its map page was written there last: to write a page back is to note when.
//!
//! Cost: O(1) for a use, and for each cache that misses. Memory: 24 bytes for each segment, 8 for each cache and map
//! page.

use ssdlab_core::list::{Link, List, NONE, Node};

/// Follows the caches.
#[derive(Clone, Debug)]
pub(crate) struct WriteBacks {
    /// Ascending by their segments.
    caches: Vec<Cache>,
    segments: Vec<Segment>,
    /// The segments used so far, by their last use.
    order: List,
    used: u32,
    /// Log2 of the segments of a map page.
    page_shift: u32,
    /// For each map page and, in it, each cache: when it was written last.
    written: Vec<u64>,
    /// Uses so far, but those of the same segment as before.
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
    /// So many of the caches, the smallest, do not hold it.
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
    /// Nothing used yet of `segments`, 2 to the power of `page_shift` of them in a map page, with empty caches of so
    /// many segments, ascending.
    pub fn new(segments: u32, page_shift: u32, capacities: impl Iterator<Item = u32>) -> Self {
        let caches: Vec<Cache> = capacities.map(|capacity| Cache { capacity, edge: NONE, write_backs: 0 }).collect();
        let unused = Segment { link: Link::ALONE, absent: caches.len() as u32, changed: 0 };
        let pages = segments.div_ceil(1 << page_shift) as usize;
        Self {
            // What has never changed has not since then.
            written: vec![1; pages * caches.len()],
            caches,
            segments: vec![unused; segments as usize],
            order: List::EMPTY,
            used: 0,
            page_shift,
            now: 0,
        }
    }

    /// Uses a segment; `changes` makes it dirty.
    #[inline]
    pub fn add(&mut self, segment: u32, changes: bool) {
        if self.order.newest() != Some(segment) {
            self.now += 1;
            self.renew(segment);
        }
        if changes {
            self.segments[segment as usize].changed = self.now;
        }
    }

    fn renew(&mut self, segment: u32) {
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

    /// Of each cache, how many segments it holds and the map pages it wrote back.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.caches.iter().map(|cache| (cache.capacity, cache.write_backs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;
    use ssdlab_ftl::map::{MapModel, SegmentCache, segments};

    /// Pages of a map page, each its own segment, and of the device, of which the last map page is not full.
    const PER_PAGE: u32 = 8;
    const PAGES: u32 = 60;

    fn simulated(capacity: u32, page_shift: u32, uses: &[(u32, bool)]) -> u64 {
        let segment = 512 >> page_shift;
        let changes = [("cache", u64::from(segment * capacity)), ("segment", segment.into()), ("entry", 64)];
        let mut cache =
            SegmentCache::new(PAGES, 64 * PER_PAGE, &segments::INFO.set(&changes).expect("in range")).expect("fits");
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

        /// Goal: counts are those of the map cache of a simulation. Method: random uses, each cache simulated, with a
        /// map page of one segment to one of eight.
        #[test]
        fn write_backs_are_those_of_each_cache(
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
