//! What a cache of any size would see of one sequence of uses, from a single pass over it.
//!
//! The *stack distance* of a use is the number of other items used since the same item was used last. A cache that
//! gives up the item used longest ago (LRU) holds exactly the items used last, so that one of C items hits if and only
//! if the distance is below C: a histogram of distances tells the hits of every size at once.
//!
//! **Write-backs.** A changed item is dirty in every cache, and is written back when it is given up. At a use at
//! distance d it had been given up by the caches of at most d items. Let w be the largest distance since its last
//! change, 0 right after it: caches of at most w items wrote it back then and have held it clean since, if at all. So
//! this use finds it written back, since its last one, by the caches of w + 1 to d items: one more and one less in an
//! array of differences. At the end of the pass the same holds with the number of items used since in place of d. What
//! is never changed is never written back.
//!
//! Cost: O(1) for a use of the same item as before; otherwise that of [`recency`], a few vector instructions for some
//! thousand items. Distances are told apart up to the largest cache asked for. Memory: 8 bytes for each item there is,
//! some 60 for each item of the largest cache.
//!
//! Source: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2),
//! 1970 (stack distances); write-backs: derived above, as Thompson and Smith's dirty levels ("Efficient (stack)
//! algorithms for analysis of write-back and sector memories", ACM TOCS 7(1), 1989).

mod recency;

use ssdlab_core::HugeVec;
use ssdlab_core::mem::prefetch;

use recency::{LastUse, Recency};

/// So many uses ahead, what a use needs is loaded.
const AHEAD: usize = 16;

/// Reads among the kinds of uses.
const READS: usize = 0;

/// Uses of one kind by their stack distance.
#[derive(Clone, Debug)]
struct Uses {
    /// By distance, below the largest cache.
    near: HugeVec<u64>,
    /// At larger distances.
    far: u64,
    /// First uses, which no cache has.
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

/// Stack distances of uses of numbered items, reads and changes apart.
#[derive(Clone, Debug)]
pub struct StackDistances {
    recency: Recency,
    /// The largest distance since the last change; `most` for what is clean in every cache.
    since_change: Vec<u32>,
    most: u32,
    newest: u32,
    /// Reads, and changes.
    uses: [Uses; 2],
    /// Differences: write-backs of a cache of C items are the sum up to index C.
    write_backs: Vec<i64>,
    /// Whether anything was changed: what is only read need not be looked up among what is dirty.
    changed: bool,
}

/// What caches of 1, 2, 3 ... items see: one entry for each size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheCurves {
    /// Reads that find their item.
    pub read_hits: Vec<u64>,
    /// Changes that find their item.
    pub change_hits: Vec<u64>,
    /// Items written back because they were changed and gave way; what is cached at the end is not.
    pub write_backs: Vec<u64>,
}

/// All uses of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UseCounts {
    /// Reads.
    pub reads: u64,
    /// Changes.
    pub changes: u64,
}

impl StackDistances {
    /// Nothing used yet of items `0..items`, for caches of up to `most` items, at least one. A cache larger than all
    /// items is one of all items.
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

    /// Reads all `items` in their order: the same as [`Self::add`] for each, with what they need loaded ahead.
    pub fn read_all(&mut self, items: impl Iterator<Item = u32> + Clone) {
        let mut lying = items.clone().skip(2 * AHEAD);
        let mut counted = items.clone().skip(AHEAD);
        let mut found = Vec::with_capacity(AHEAD);
        for item in items {
            lying.next().inspect(|&item| self.recency.prefetch_item(item));
            counted.next().inspect(|&item| self.recency.prefetch_slot(item));
            let last = if item == self.newest { LastUse::Distance(0) } else { self.renew(item) };
            let uses = &mut self.uses[READS];
            if let LastUse::Distance(distance) = last {
                // What counts this distance is loaded while others are found.
                prefetch(&uses.near, distance as usize);
                found.push(distance);
                if found.len() == AHEAD {
                    found.drain(..).for_each(|distance| uses.near[distance as usize] += 1);
                }
            } else {
                uses.count(last);
            }
        }
        found.into_iter().for_each(|distance| self.uses[READS].near[distance as usize] += 1);
    }

    /// Uses `item` so many times in a row, at least once; `changes` makes it dirty.
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

    /// When an item other than the newest was used before; it is the newest now.
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

    /// Caches of at most `distance` items have given up `item`: those which held it dirty have written it back.
    #[inline]
    fn given_up(&mut self, item: u32, distance: u32) {
        let since_change = &mut self.since_change[item as usize];
        if *since_change < distance {
            self.write_backs[*since_change as usize + 1] += 1;
            self.write_backs[distance as usize + 1] -= 1;
            *since_change = distance;
        }
    }

    /// The largest cache told apart, in items.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// All uses.
    pub fn uses(&self) -> UseCounts {
        let [reads, changes] = self.uses.each_ref().map(|uses| uses.near.iter().sum::<u64>() + uses.far + uses.first);
        UseCounts { reads, changes }
    }

    /// First uses of items, which miss in every cache.
    pub fn first_uses(&self) -> UseCounts {
        let [reads, changes] = self.uses.each_ref().map(|uses| uses.first);
        UseCounts { reads, changes }
    }

    /// What caches of 1 to [`Self::most`] items have seen so far.
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

    /// One LRU cache by hand: the newest item first, each with whether it is dirty.
    struct Cache {
        items: Vec<(u32, bool)>,
        capacity: usize,
        /// Of reads and of changes.
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

    /// Compares caches of `sizes` with the curves of one pass.
    fn compare(items: u32, most: u32, sizes: impl Iterator<Item = u32>, uses: &[(u32, bool)]) {
        let mut distances = StackDistances::new(items, most);
        let mut rest = uses;
        while let Some(&(item, changes)) = rest.first() {
            let times = rest.iter().take_while(|&&one| one == (item, changes)).count();
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
        let changes = uses.iter().filter(|one| one.1).count() as u64;
        let counts = UseCounts { reads: uses.len() as u64 - changes, changes };
        assert_eq!(distances.uses(), counts);
        let mut seen = std::collections::BTreeSet::new();
        let first: Vec<bool> = uses.iter().filter(|one| seen.insert(one.0)).map(|one| one.1).collect();
        let changes = first.iter().filter(|&&changes| changes).count() as u64;
        assert_eq!(distances.first_uses(), UseCounts { reads: first.len() as u64 - changes, changes });
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Goal: hits and write-backs are those of LRU caches. Method: each cache by hand, of every size, where items
        /// are segments of any number of pages.
        #[test]
        fn one_pass_tells_what_every_cache_sees(
            uses in prop::collection::vec((prop_oneof![0_u32..12, 0_u32..200], any::<bool>()), 0..1500),
            most in 1_u32..60,
            page_shift in 0_u32..4,
        ) {
            let uses: Vec<(u32, bool)> = uses.into_iter().map(|(page, changes)| (page >> page_shift, changes)).collect();
            compare(200 >> page_shift, most, 1..=most, &uses);
        }

        /// Goal: reading many at once is reading one after another, also of what was changed before.
        #[test]
        fn reads_at_once_are_reads_in_turn(
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

    /// Enough items for several groups of words, moved together many times.
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
        // A cache of one wrote 0 back; it is clean there now, and dirty in the others.
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
