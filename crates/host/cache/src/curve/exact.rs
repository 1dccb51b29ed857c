//! Computes the exact misses of every cache size in one pass, for stack algorithms: policies under which a larger cache
//! always holds everything that a smaller cache holds.
//!
//! The *distance* of an access is the size of the largest cache that misses it; the curve follows from the histogram of
//! distances. The first C items of a stack are the content of a cache of C items. An access moves its item from
//! position d to the top. The old top item sinks towards d: at each position it meets another item, and the item that
//! the policy would evict first sinks on (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage
//! hierarchies", IBM Systems Journal 9(2), 1970).
//!
//! - LRU: all items above d sink by one position; [`StackDistances`] counts without moving items.
//! - MRU: the old top is evicted before all other items, so it moves to d at once.
//! - Belady: the item with the farthest next use sinks. Swaps occur only at items that have a later next use than all
//!   items above them. A tree of maxima finds each such item in O(log items), but there may be as many swaps as items
//!   above d. With more than a few hundred thousand items, simulating a few dozen cache sizes is faster.

use ssdlab_trace::StackDistances;

use crate::access::Access;
use crate::access_trace::AccessTrace;
use crate::error::CacheError;

/// Computes the misses of caches with 1, 2, 3 ... items, up to the given number of items.
pub(crate) type OnePass = fn(&AccessTrace, u32) -> Result<ExactCurve, CacheError>;

/// Number of misses by cache size: 1, 2, 3 ... items of one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExactCurve {
    accesses: u64,
    misses: Vec<u64>,
}

impl ExactCurve {
    /// Returns the number of accesses of the trace.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Returns the number of misses of caches with 1, 2, 3 ... items. If the curve extends to the number of items in
    /// the trace, every larger cache has as many misses as the last entry.
    pub fn misses(&self) -> &[u64] {
        &self.misses
    }

    /// Creates a curve from the number of hits at each stack distance.
    fn from_hits(accesses: u64, hits: &[u64]) -> Self {
        let misses = hits.iter().scan(accesses, |misses, hits| {
            *misses -= hits;
            Some(*misses)
        });
        Self { accesses, misses: misses.collect() }
    }
}

/// Returns the accesses of the trace. Fails if stack algorithms cannot process them, for example because items differ
/// in size.
fn stackable(trace: &AccessTrace) -> Result<&[Access], CacheError> {
    if !trace.one_size() {
        return Err(CacheError::NoOnePass { why: "a one-pass curve needs items of equal size" });
    }
    if trace.accesses().iter().any(Access::is_drop) {
        return Err(CacheError::NoOnePass { why: "a one-pass curve cannot handle trims" });
    }
    Ok(trace.accesses())
}

/// Returns the number of cache sizes in the curve.
fn sizes(trace: &AccessTrace, most: u32) -> usize {
    most.min(trace.items()).max(1) as usize
}

/// Computes the curve of LRU for 1 to `most` items.
pub(crate) fn lru(trace: &AccessTrace, most: u32) -> Result<ExactCurve, CacheError> {
    let accesses = stackable(trace)?;
    let mut distances = StackDistances::new(trace.items(), most);
    distances.read_all(accesses.iter().map(|access| access.item));
    let all = accesses.len() as u64;
    let misses = distances.curves().read_hits.iter().map(|hits| all - hits).collect();
    Ok(ExactCurve { accesses: all, misses })
}

/// Depth of an item that is not on the stack.
const ABSENT: u32 = u32::MAX;

/// Computes the curve of MRU for 1 to `most` items.
pub(crate) fn mru(trace: &AccessTrace, most: u32) -> Result<ExactCurve, CacheError> {
    let accesses = stackable(trace)?;
    let mut hits = vec![0; sizes(trace, most)];
    let mut stack: Vec<u32> = Vec::with_capacity(trace.items() as usize);
    let mut depth = vec![ABSENT; trace.items() as usize];
    for access in accesses {
        let mut at = depth[access.item as usize];
        if let Some(hits) = hits.get_mut(at as usize) {
            *hits += 1;
        }
        if at == ABSENT {
            at = stack.len() as u32;
            stack.push(access.item);
        }
        stack.swap(0, at as usize);
        depth[stack[at as usize] as usize] = at;
        depth[access.item as usize] = 0;
    }
    Ok(ExactCurve::from_hits(accesses.len() as u64, &hits))
}

/// Computes the curve of Belady's MIN for 1 to `most` items.
pub(crate) fn belady(trace: &AccessTrace, most: u32) -> Result<ExactCurve, CacheError> {
    trace.check_future("belady", true)?;
    let accesses = stackable(trace)?;
    let mut hits = vec![0; sizes(trace, most)];
    // The stack is as deep as the largest cache; deeper items are not tracked.
    let mut stack = Farthest::new(hits.len());
    let mut depth = vec![ABSENT; trace.items() as usize];
    let mut on_stack = 0;
    for access in accesses {
        let mut end = depth[access.item as usize];
        if end == ABSENT {
            end = on_stack;
            on_stack = (on_stack + 1).min(hits.len() as u32);
        } else {
            hits[end as usize] += 1;
        }
        depth[access.item as usize] = 0;
        let mut sinking = stack.replace(0, Entry { item: access.item, next: access.next });
        if end == 0 {
            continue;
        }
        let mut at = 1;
        while let Some(later) = stack.first_later(at, end as usize, sinking.next) {
            let met = stack.replace(later, sinking);
            depth[sinking.item as usize] = later as u32;
            (sinking, at) = (met, later + 1);
        }
        if (end as usize) < hits.len() {
            stack.replace(end as usize, sinking);
            depth[sinking.item as usize] = end;
        } else {
            depth[sinking.item as usize] = ABSENT;
        }
    }
    Ok(ExactCurve::from_hits(accesses.len() as u64, &hits))
}

#[derive(Clone, Copy)]
struct Entry {
    item: u32,
    next: u32,
}

/// Items of the stack by position. Also stores the latest next use in every aligned range of 2, 4, 8 ... positions.
struct Farthest {
    entries: Vec<Entry>,
    /// Latest next use in each range of positions, as a binary tree in an array. Node n has the children 2n and 2n + 1;
    /// the second half of the array holds the leaves.
    latest: Vec<u32>,
}

impl Farthest {
    fn new(len: usize) -> Self {
        let leaves = len.next_power_of_two().max(2);
        Self { entries: vec![Entry { item: 0, next: 0 }; leaves], latest: vec![0; 2 * leaves] }
    }

    fn replace(&mut self, at: usize, entry: Entry) -> Entry {
        let mut node = at + self.entries.len();
        self.latest[node] = entry.next;
        while node > 1 {
            node /= 2;
            let latest = self.latest[2 * node].max(self.latest[2 * node + 1]);
            if self.latest[node] == latest {
                break;
            }
            self.latest[node] = latest;
        }
        std::mem::replace(&mut self.entries[at], entry)
    }

    /// Returns the first position in `from..to` whose next use is later than `next`.
    fn first_later(&self, from: usize, to: usize, next: u32) -> Option<usize> {
        let leaves = self.entries.len();
        if from >= to {
            return None;
        }
        let mut node = from + leaves;
        // Goes up and to the right in the tree until a range contains a later next use, then down to the first such
        // item.
        while self.latest[node] <= next {
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < leaves {
            node *= 2;
            if self.latest[node] <= next {
                node += 1;
            }
        }
        Some(node - leaves).filter(|&at| at < to)
    }
}
