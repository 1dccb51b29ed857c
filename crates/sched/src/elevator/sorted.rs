//! Requests in the order of their sectors.

use crate::request::RequestId;

/// First sector and number: requests that begin at one sector stay in the order of their numbers.
type Key = (u64, RequestId);

/// A key as one number, so that two are compared without a branch.
type Rank = u128;

const fn rank((start, id): Key) -> Rank {
    (start as Rank) << 64 | id.0 as Rank
}

const fn key(rank: Rank) -> Key {
    ((rank >> 64) as u64, RequestId(rank as u64))
}

/// How many of a chunk are smaller. All are compared: the branches of a search are as unpredictable as sectors are, and
/// cost more.
#[inline]
fn smaller(chunk: &[Rank], rank: Rank) -> usize {
    chunk.iter().map(|&other| usize::from(other < rank)).sum()
}

/// Keys of a chunk at most; it is halved when it is full.
const MOST: usize = 64;

/// A sorted set in chunks. Few requests wait as a rule, so that there is one chunk and a search in it is all; many
/// still cost little, as no more than a chunk is moved. Trees allocate and follow pointers for each.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// At least one; if there are more, none is empty.
    chunks: Vec<Vec<Rank>>,
}

impl Default for Sorted {
    fn default() -> Self {
        Self { chunks: vec![Vec::new()] }
    }
}

impl Sorted {
    /// The chunk that a key belongs to: the last that begins with no larger one.
    #[inline]
    fn chunk(&self, rank: Rank) -> usize {
        match self.chunks.len() {
            1 => 0,
            _ => self.chunks.partition_point(|chunk| chunk[0] <= rank).saturating_sub(1),
        }
    }

    #[inline(always)]
    pub fn insert(&mut self, key: Key) {
        let rank = rank(key);
        let at = self.chunk(rank);
        let chunk = &mut self.chunks[at];
        chunk.insert(smaller(chunk, rank), rank);
        if chunk.len() == MOST {
            let half = chunk.split_off(MOST / 2);
            self.chunks.insert(at + 1, half);
        }
    }

    /// Takes a key out; whether it was there.
    #[inline(always)]
    pub fn remove(&mut self, key: Key) -> bool {
        let rank = rank(key);
        let at = self.chunk(rank);
        let chunk = &mut self.chunks[at];
        let position = smaller(chunk, rank);
        if chunk.get(position) != Some(&rank) {
            return false;
        }
        chunk.remove(position);
        if chunk.is_empty() && self.chunks.len() > 1 {
            self.chunks.remove(at);
        }
        true
    }

    pub fn first(&self) -> Option<Key> {
        self.chunks[0].first().copied().map(key)
    }

    /// The first key that is no smaller.
    #[inline(always)]
    pub fn at_or_after(&self, from: Key) -> Option<Key> {
        let rank = rank(from);
        let at = self.chunk(rank);
        let chunk = &self.chunks[at];
        let found = chunk.get(smaller(chunk, rank));
        found.or_else(|| self.chunks.get(at + 1)?.first()).copied().map(key)
    }

    /// The last key that is smaller.
    pub fn before(&self, than: Key) -> Option<Key> {
        let rank = rank(than);
        let at = self.chunk(rank);
        let chunk = &self.chunks[at];
        let found = match smaller(chunk, rank) {
            0 => self.chunks[..at].last()?.last(),
            position => chunk.get(position - 1),
        };
        found.copied().map(key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        #[test]
        fn it_is_a_sorted_set(steps in prop::collection::vec((0_u64..400, 0_u64..3, any::<bool>()), 0..2_000)) {
            let (mut sorted, mut twin) = (Sorted::default(), BTreeSet::new());
            for (sector, number, insert) in steps {
                let key = (sector, RequestId(number));
                if insert && twin.insert(key) {
                    sorted.insert(key);
                } else if !insert {
                    prop_assert_eq!(sorted.remove(key), twin.remove(&key));
                }
                prop_assert_eq!(sorted.first(), twin.first().copied());
                prop_assert_eq!(sorted.at_or_after(key), twin.range(key..).next().copied());
                prop_assert_eq!(sorted.before(key), twin.range(..key).next_back().copied());
            }
        }
    }
}
