//! Exact misses of caches of every size from one pass, for stack algorithms: policies whose larger caches always hold
//! what their smaller ones do.
//!
//! The *distance* of an access is the size of the largest cache that misses it; a histogram of distances is the curve.
//! Items are kept on a stack whose first C are what a cache of C holds. An access takes its item from position d to the
//! top; on its way down the old top meets every item above d, and of the two the one that gives way first goes on
//! (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970).
//!
//! - LRU: everything above d goes down by one; [`StackDistances`] counts without moving anything.
//! - MRU: the old top gives way before all others, so it goes to d at once.
//! - Belady: the item used next farthest away goes on. Items change places only where one is used later than all above
//!   it: a tree of maxima finds these places in O(log items) each. There may be as many as items above, so that large
//!   caches take long: simulating a few dozen sizes is faster from some hundred thousand items on.

use ssdlab_trace::StackDistances;

use crate::{Access, AccessTrace, CacheError};

/// Finds the misses of caches of 1 to so many items.
pub(crate) type OnePass = fn(&AccessTrace, u32) -> Result<ExactCurve, CacheError>;

/// Misses of caches of 1, 2, 3 ... items of one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExactCurve {
    accesses: u64,
    misses: Vec<u64>,
}

impl ExactCurve {
    /// All accesses.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Misses by size, the first that of one item. Sizes beyond the last miss as much as the last, if it was asked for
    /// at least as many items as there are.
    pub fn misses(&self) -> &[u64] {
        &self.misses
    }

    /// From hits by distance.
    fn from_hits(accesses: u64, hits: &[u64]) -> Self {
        let misses = hits.iter().scan(accesses, |misses, hits| {
            *misses -= hits;
            Some(*misses)
        });
        Self { accesses, misses: misses.collect() }
    }
}

/// The accesses, if a stack can follow them.
fn followed(trace: &AccessTrace) -> Result<&[Access], CacheError> {
    if !trace.one_size() {
        return Err(CacheError::NoOnePass { why: "items of different sizes form no stack" });
    }
    if trace.accesses().iter().any(Access::is_drop) {
        return Err(CacheError::NoOnePass { why: "items are dropped, which leaves gaps in a stack; ignore trims" });
    }
    Ok(trace.accesses())
}

/// Largest size told apart.
fn sizes(trace: &AccessTrace, most: u32) -> usize {
    most.min(trace.items()).max(1) as usize
}

/// LRU of 1 to `most` items.
pub(crate) fn lru(trace: &AccessTrace, most: u32) -> Result<ExactCurve, CacheError> {
    let accesses = followed(trace)?;
    let mut distances = StackDistances::new(trace.items(), most);
    distances.read_all(accesses.iter().map(|access| access.item));
    let all = accesses.len() as u64;
    let misses = distances.curves().read_hits.iter().map(|hits| all - hits).collect();
    Ok(ExactCurve { accesses: all, misses })
}

/// Not on the stack yet.
const ABSENT: u32 = u32::MAX;

/// MRU of 1 to `most` items.
pub(crate) fn mru(trace: &AccessTrace, most: u32) -> Result<ExactCurve, CacheError> {
    let accesses = followed(trace)?;
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

/// Belady's MIN of 1 to `most` items.
pub(crate) fn belady(trace: &AccessTrace, most: u32) -> Result<ExactCurve, CacheError> {
    trace.knows_what("belady", true)?;
    let accesses = followed(trace)?;
    let mut hits = vec![0; sizes(trace, most)];
    // What lies deeper than the largest cache is as good as not there.
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
        let mut carried = stack.replace(0, Entry { item: access.item, next: access.next });
        if end == 0 {
            continue;
        }
        let mut at = 1;
        while let Some(later) = stack.first_later(at, end as usize, carried.next) {
            let met = stack.replace(later, carried);
            depth[carried.item as usize] = later as u32;
            (carried, at) = (met, later + 1);
        }
        if (end as usize) < hits.len() {
            stack.replace(end as usize, carried);
            depth[carried.item as usize] = end;
        } else {
            depth[carried.item as usize] = ABSENT;
        }
    }
    Ok(ExactCurve::from_hits(accesses.len() as u64, &hits))
}

#[derive(Clone, Copy)]
struct Entry {
    item: u32,
    next: u32,
}

/// Entries by position with the latest next use of every aligned stretch of 2, 4, 8 ... of them.
struct Farthest {
    entries: Vec<Entry>,
    /// A binary tree in an array: the children of n are 2n and 2n + 1, the leaves its second half.
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

    /// The first position in `from..to` whose next use is later than `next`.
    fn first_later(&self, from: usize, to: usize, next: u32) -> Option<usize> {
        let leaves = self.entries.len();
        if from >= to {
            return None;
        }
        let mut node = from + leaves;
        // Up and to the right until a stretch has one, then down to it.
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
