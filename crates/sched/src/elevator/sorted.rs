//! Requests in the order of their sectors.

use crate::request::RequestId;

/// First sector and number: requests that begin at one sector stay in the order of their numbers.
type Key = (u64, RequestId);

/// Keys of a chunk at most; it is halved when it is full.
const MOST: usize = 128;

/// A sorted set in chunks. Few requests wait as a rule, so that there is one chunk and a search in it is all; many
/// still cost little, as no more than a chunk is moved. Trees allocate and follow pointers for each.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// None is empty.
    chunks: Vec<Vec<Key>>,
    /// A chunk that became empty, to be used again.
    spare: Vec<Key>,
}

impl Sorted {
    /// The chunk that a key belongs to: the last that begins with no larger one.
    fn chunk(&self, key: Key) -> usize {
        match self.chunks.len() {
            0 | 1 => 0,
            _ => self.chunks.partition_point(|chunk| chunk[0] <= key).saturating_sub(1),
        }
    }

    pub fn insert(&mut self, key: Key) {
        if self.chunks.is_empty() {
            self.chunks.push(std::mem::take(&mut self.spare));
        }
        let at = self.chunk(key);
        let chunk = &mut self.chunks[at];
        chunk.insert(chunk.partition_point(|&other| other < key), key);
        if chunk.len() == MOST {
            let half = chunk.split_off(MOST / 2);
            self.chunks.insert(at + 1, half);
        }
    }

    /// Takes a key out; whether it was there.
    pub fn remove(&mut self, key: Key) -> bool {
        let at = self.chunk(key);
        let Some(chunk) = self.chunks.get_mut(at) else { return false };
        let Ok(position) = chunk.binary_search(&key) else { return false };
        chunk.remove(position);
        if chunk.is_empty() {
            self.spare = self.chunks.remove(at);
        }
        true
    }

    pub fn first(&self) -> Option<Key> {
        self.chunks.first().map(|chunk| chunk[0])
    }

    /// The first key that is no smaller.
    pub fn at_or_after(&self, key: Key) -> Option<Key> {
        let at = self.chunk(key);
        let chunk = self.chunks.get(at)?;
        let found = chunk.get(chunk.partition_point(|&other| other < key));
        found.or_else(|| self.chunks.get(at + 1)?.first()).copied()
    }

    /// The last key that is smaller.
    pub fn before(&self, key: Key) -> Option<Key> {
        let at = self.chunk(key);
        let chunk = self.chunks.get(at)?;
        match chunk.partition_point(|&other| other < key) {
            0 => self.chunks[..at].last()?.last().copied(),
            position => Some(chunk[position - 1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
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
