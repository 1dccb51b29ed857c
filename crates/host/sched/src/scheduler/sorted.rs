//! A set of waiting requests in sector order.

use crate::request::RequestId;

/// First sector and request number; the number orders requests at the same sector.
type Key = (u64, RequestId);

/// Sort key of a request as one integer (its rank), for branch-free comparison.
type Rank = u128;

const fn rank((start, id): Key) -> Rank {
    (start as Rank) << 64 | id.0 as Rank
}

const fn key(rank: Rank) -> Key {
    ((rank >> 64) as u64, RequestId(rank as u64))
}

/// Returns the number of entries in a chunk that are smaller than `rank`. Scans linearly, because the branches of a
/// binary search are unpredictable and cost more.
#[inline]
fn smaller(chunk: &[Rank], rank: Rank) -> usize {
    chunk.iter().map(|&other| usize::from(other < rank)).sum()
}

/// Maximum number of keys in a chunk; a full chunk is split into halves.
const CHUNK_KEYS: usize = 64;

/// A sorted set of requests in chunks. Usually few requests wait, so there is a single chunk. Even with many requests,
/// an insertion moves at most the keys of one chunk. A tree would have to allocate a node and follow pointers for each
/// request.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// Chunks of keys: at least one; if there are several, none is empty.
    chunks: Vec<Vec<Rank>>,
}

impl Default for Sorted {
    fn default() -> Self {
        Self { chunks: vec![Vec::new()] }
    }
}

impl Sorted {
    /// Returns the chunk for a key: the last chunk whose first key is not larger than the key.
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
        if chunk.len() == CHUNK_KEYS {
            let half = chunk.split_off(CHUNK_KEYS / 2);
            self.chunks.insert(at + 1, half);
        }
    }

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

    /// Returns the smallest key that is at least `from`.
    #[inline(always)]
    pub fn at_or_after(&self, from: Key) -> Option<Key> {
        let rank = rank(from);
        let at = self.chunk(rank);
        let chunk = &self.chunks[at];
        let entry = chunk.get(smaller(chunk, rank));
        entry.or_else(|| self.chunks.get(at + 1)?.first()).copied().map(key)
    }

    /// Returns the largest key that is below `than`.
    pub fn before(&self, than: Key) -> Option<Key> {
        let rank = rank(than);
        let at = self.chunk(rank);
        let chunk = &self.chunks[at];
        let entry = match smaller(chunk, rank) {
            0 => self.chunks[..at].last()?.last(),
            position => chunk.get(position - 1),
        };
        entry.copied().map(key)
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
        fn behaves_like_a_btree_set(steps in prop::collection::vec((0_u64..400, 0_u64..3, any::<bool>()), 0..2_000)) {
            let (mut sorted, mut reference) = (Sorted::default(), BTreeSet::new());
            for (sector, number, insert) in steps {
                let key = (sector, RequestId(number));
                if insert && reference.insert(key) {
                    sorted.insert(key);
                } else if !insert {
                    prop_assert_eq!(sorted.remove(key), reference.remove(&key));
                }
                prop_assert_eq!(sorted.first(), reference.first().copied());
                prop_assert_eq!(sorted.at_or_after(key), reference.range(key..).next().copied());
                prop_assert_eq!(sorted.before(key), reference.range(..key).next_back().copied());
            }
        }
    }
}
