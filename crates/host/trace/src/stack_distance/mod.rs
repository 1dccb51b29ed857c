//! Computes the hits and write-backs of LRU caches of every size in a single pass over a sequence of uses of items.
//!
//! The *stack distance* of a use is the number of other items used since the item's previous use. An LRU cache of C
//! items holds the C items used last. So a use hits if and only if its distance is below C. A histogram of distances
//! yields the hits for every cache size.
//!
//! **Write-backs.** A changed item is dirty in every cache, and is written back on eviction. When an item is used at
//! distance d, caches of at most d items have evicted it. Let w be the largest distance since the item's last change (0
//! right after it). Caches of at most w items wrote the item back earlier, and it has been clean there since. So this
//! use adds a write-back for caches of w + 1 to d items: one increment and one decrement in a difference array. At the
//! end of the pass, d is the number of other items used since the last use. Items never changed are never written back.
//!
//! Cost: O(1) for repeated uses of an item, otherwise a `recency` update (a few vector instructions for a few
//! thousand items). Distances are exact up to the size of the largest cache requested. Memory: 8 bytes per item, plus
//! about 60 bytes for each item that fits into the largest cache.
//!
//! Sources: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2),
//! 1970 (stack distances). Write-backs: derived above, like the dirty levels of Thompson and Smith, "Efficient (stack)
//! algorithms for analysis of write-back and sector memories", ACM TOCS 7(1), 1989.

mod recency;

use ssdlab_core::HugeVec;
use ssdlab_core::mem::prefetch;

use recency::{LastUse, Recency};

/// Prefetch distance: the data for a use is prefetched this many uses before it is needed.
const AHEAD: usize = 16;

/// Index of the read counter in each pair of counters; the other counter counts changes.
const READS: usize = 0;

/// Histogram of reads or changes by stack distance.
#[derive(Clone, Debug)]
struct Uses {
    /// Number of uses at each stack distance below the size of the largest cache.
    near: HugeVec<u64>,
    /// Number of uses at stack distances equal to or above the size of the largest cache.
    far: u64,
    /// Number of first uses of items, which miss in every cache.
    first: u64,
}

impl Uses {
    #[inline]
    fn count(&mut self, last: LastUse) {
        match last {
            LastUse::Never => self.first += 1,
            LastUse::Forgotten => self.far += 1,
            LastUse::Distance(distance) => self.near[distance as usize] += 1,
        }
    }
}

/// Stack distances of uses of numbered items, with reads and changes counted separately.
#[derive(Clone, Debug)]
pub struct StackDistances {
    recency: Recency,
    /// For each item, the largest stack distance of its uses since its last change; `most` if the item is clean in
    /// every cache.
    since_change: Vec<u32>,
    most: u32,
    newest: u32,
    /// Histograms of the stack distances of reads and of changes.
    uses: [Uses; 2],
    /// Difference array: its prefix sum up to C is the number of write-backs of a cache of C items.
    write_backs: Vec<i64>,
    /// True once any item has been changed. Until then, dirty states need not be looked up.
    changed: bool,
}

/// Hits and write-backs of LRU caches of 1, 2, 3 ... items; one entry per size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheCurves {
    /// Number of reads that hit, by cache size.
    pub read_hits: Vec<u64>,
    /// Number of changes that hit, by cache size.
    pub change_hits: Vec<u64>,
    /// Number of changed items written back on eviction, by cache size; dirty items still cached at the end do not
    /// count.
    pub write_backs: Vec<u64>,
}

/// Number of reads and number of changes, over all items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UseCounts {
    /// Number of reads of items.
    pub reads: u64,
    /// Number of writes and other changes of items.
    pub changes: u64,
}

impl StackDistances {
    /// Creates a counter for items `0..items` and caches of 1 to `most` items (at most `items`).
    pub fn new(items: u32, most: u32) -> Self {
        let most = most.min(items).max(1);
        let uses = Uses { near: HugeVec::zeros(most as usize), far: 0, first: 0 };
        Self {
            recency: Recency::new(items, most),
            since_change: vec![most; items as usize],
            most,
            newest: u32::MAX,
            uses: [uses.clone(), uses],
            write_backs: vec![0; most as usize + 2],
            changed: false,
        }
    }

    /// Records reads of all `items` in order. Equivalent to [`Self::add`] for each item, but with prefetching.
    pub fn read_all(&mut self, items: impl Iterator<Item = u32> + Clone) {
        let mut items_ahead = items.clone().skip(2 * AHEAD);
        let mut slots_ahead = items.clone().skip(AHEAD);
        let mut distances = Vec::with_capacity(AHEAD);
        for item in items {
            items_ahead.next().inspect(|&item| self.recency.prefetch_item(item));
            slots_ahead.next().inspect(|&item| self.recency.prefetch_slot(item));
            let last = if item == self.newest { LastUse::Distance(0) } else { self.renew(item) };
            let uses = &mut self.uses[READS];
            if let LastUse::Distance(distance) = last {
                // Prefetches the counter of this distance while the next distances are computed.
                prefetch(&uses.near, distance as usize);
                distances.push(distance);
                if distances.len() == AHEAD {
                    distances.drain(..).for_each(|distance| uses.near[distance as usize] += 1);
                }
            } else {
                uses.count(last);
            }
        }
        distances.into_iter().for_each(|distance| self.uses[READS].near[distance as usize] += 1);
    }

    /// Records that `item` is used the given number of times in a row, at least once. If `changes` is true, the item
    /// becomes dirty.
    #[inline]
    pub fn add(&mut self, item: u32, times: u64, changes: bool) {
        if item == self.newest {
            self.uses[usize::from(changes)].near[0] += times;
        } else {
            let last = self.renew(item);
            let uses = &mut self.uses[usize::from(changes)];
            uses.near[0] += times - 1;
            uses.count(last);
        }
        if changes {
            self.changed = true;
            self.since_change[item as usize] = 0;
        }
    }

    /// Makes an item the most recently used item; returns the previous use of the item. Must not be called for the item
    /// that is already the most recently used.
    #[inline]
    fn renew(&mut self, item: u32) -> LastUse {
        self.newest = item;
        let (last, forgotten) = self.recency.renew(item);
        if self.changed {
            if let LastUse::Distance(distance) = last {
                self.given_up(item, distance);
            }
            if let Some(item) = forgotten {
                self.given_up(item, self.most);
            }
        }
        last
    }

    /// Counts write-backs of `item` in all caches of at most `distance` items, because these caches have evicted it.
    #[inline]
    fn given_up(&mut self, item: u32, distance: u32) {
        let since_change = &mut self.since_change[item as usize];
        if *since_change < distance {
            self.write_backs[*since_change as usize + 1] += 1;
            self.write_backs[distance as usize + 1] -= 1;
            *since_change = distance;
        }
    }

    /// Returns the largest cache size with results, in items.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Returns the numbers of reads and of changes so far.
    pub fn uses(&self) -> UseCounts {
        let [reads, changes] = self.uses.each_ref().map(|uses| uses.near.iter().sum::<u64>() + uses.far + uses.first);
        UseCounts { reads, changes }
    }

    /// Returns the numbers of first reads and first changes of items, which miss in every cache.
    pub fn first_uses(&self) -> UseCounts {
        let [reads, changes] = self.uses.each_ref().map(|uses| uses.first);
        UseCounts { reads, changes }
    }

    /// Returns the hits and write-backs so far, for caches of 1 to [`Self::most`] items.
    pub fn curves(&self) -> CacheCurves {
        let mut differences = self.write_backs.clone();
        for (item, distance) in self.recency.distances() {
            let since_change = self.since_change[item as usize];
            if since_change < distance {
                differences[since_change as usize + 1] += 1;
                differences[distance as usize + 1] -= 1;
            }
        }
        let [read_hits, change_hits] = self.uses.each_ref().map(|uses| sums(&uses.near));
        let write_backs = differences[1..=self.most as usize].iter().scan(0_i64, |sum, difference| {
            *sum += difference;
            Some(*sum as u64)
        });
        CacheCurves { read_hits, change_hits, write_backs: write_backs.collect() }
    }
}

fn sums(counts: &[u64]) -> Vec<u64> {
    counts
        .iter()
        .scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference LRU cache: newest item first, each with its dirty flag.
    struct Cache {
        items: Vec<(u32, bool)>,
        capacity: usize,
        /// Numbers of hits: reads that hit, then changes that hit.
        hits: [u64; 2],
        write_backs: u64,
    }

    impl Cache {
        fn new(capacity: u32) -> Self {
            Self { items: Vec::new(), capacity: capacity as usize, hits: [0; 2], write_backs: 0 }
        }

        fn add(&mut self, item: u32, changes: bool) {
            let dirty = match self.items.iter().position(|&(other, _)| other == item) {
                Some(at) => {
                    self.hits[usize::from(changes)] += 1;
                    self.items.remove(at).1
                }
                None => {
                    if self.items.len() == self.capacity {
                        self.write_backs += u64::from(self.items.pop().is_some_and(|(_, dirty)| dirty));
                    }
                    false
                }
            };
            self.items.insert(0, (item, dirty || changes));
        }
    }

    /// Compares reference caches of `sizes` with the results of one pass over `uses`.
    fn compare(items: u32, most: u32, sizes: impl Iterator<Item = u32>, uses: &[(u32, bool)]) {
        let mut distances = StackDistances::new(items, most);
        let mut rest = uses;
        while let Some(&(item, changes)) = rest.first() {
            let times = rest.iter().take_while(|&&entry| entry == (item, changes)).count();
            distances.add(item, times as u64, changes);
            rest = &rest[times..];
        }
        let curves = distances.curves();
        for size in sizes {
            let mut cache = Cache::new(size);
            uses.iter().for_each(|&(item, changes)| cache.add(item, changes));
            let at = size.min(distances.most()) as usize - 1;
            assert_eq!([curves.read_hits[at], curves.change_hits[at]], cache.hits, "a cache of {size}");
            assert_eq!(curves.write_backs[at], cache.write_backs, "a cache of {size}");
        }
        let changes = uses.iter().filter(|entry| entry.1).count() as u64;
        let counts = UseCounts { reads: uses.len() as u64 - changes, changes };
        assert_eq!(distances.uses(), counts);
        let mut seen = std::collections::BTreeSet::new();
        let first: Vec<bool> = uses.iter().filter(|entry| seen.insert(entry.0)).map(|entry| entry.1).collect();
        let changes = first.iter().filter(|&&changes| changes).count() as u64;
        assert_eq!(distances.first_uses(), UseCounts { reads: first.len() as u64 - changes, changes });
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Goal: hits and write-backs equal the results of simulated LRU caches. Method: simulates a cache of each
        /// size. Pages are grouped into segments of different sizes, which are the items.
        #[test]
        fn one_pass_equals_every_cache_size(
            uses in prop::collection::vec((prop_oneof![0_u32..12, 0_u32..200], any::<bool>()), 0..1500),
            most in 1_u32..60,
            page_shift in 0_u32..4,
        ) {
            let uses: Vec<(u32, bool)> = uses.into_iter().map(|(page, changes)| (page >> page_shift, changes)).collect();
            compare(200 >> page_shift, most, 1..=most, &uses);
        }

        /// Goal: `read_all` gives the same results as single reads. Method: compares both for random reads, after
        /// random changes of items.
        #[test]
        fn read_all_equals_single_reads(
            changed in prop::collection::vec(0_u32..60, 0..20),
            read in prop::collection::vec(prop_oneof![0_u32..4, 0_u32..60], 0..200),
            most in 1_u32..70,
        ) {
            let mut at_once = StackDistances::new(60, most);
            changed.iter().for_each(|&item| at_once.add(item, 1, true));
            let mut in_turn = at_once.clone();
            at_once.read_all(read.iter().copied());
            read.iter().for_each(|&item| in_turn.add(item, 1, false));
            prop_assert_eq!(at_once.curves(), in_turn.curves());
            prop_assert_eq!([at_once.uses(), at_once.first_uses()], [in_turn.uses(), in_turn.first_uses()]);
        }
    }

    /// The items fill several groups of words and cause many compactions.
    #[test]
    fn large_caches_are_exact_too() {
        let mut rng = ssdlab_core::Rng::named(1, "uses");
        let hot = |rng: &mut ssdlab_core::Rng| if rng.below(3) == 0 { rng.below(7000) } else { rng.below(2500) };
        let uses: Vec<(u32, bool)> = (0..60_000).map(|_| (hot(&mut rng) as u32, rng.below(4) == 0)).collect();
        compare(7000, 3000, [1, 63, 700, 1500, 2999, 3000].into_iter(), &uses);
        compare(7000, 10_000, [6999, 7000, 10_000].into_iter(), &uses);
    }

    #[test]
    fn write_backs_by_hand() {
        let mut distances = StackDistances::new(10, 4);
        distances.add(0, 1, true);
        distances.add(1, 1, false);
        // A cache of one item wrote item 0 back, so the item is clean there and dirty in larger caches.
        distances.add(0, 2, false);
        assert_eq!(distances.curves().write_backs, [1, 0, 0, 0]);
        distances.add(2, 1, false);
        distances.add(3, 1, false);
        assert_eq!(distances.curves().write_backs, [1, 1, 0, 0]);
        (4..8).for_each(|item| distances.add(item, 1, false));
        assert_eq!(distances.curves().write_backs, [1, 1, 1, 1]);
        assert_eq!(distances.curves().read_hits, [1, 2, 2, 2]);
    }
}
