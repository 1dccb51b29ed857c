//! Converts requests to accesses of cache items.

use std::ops::Range;

use ssdlab_core::PageSize;
use ssdlab_trace::{Op, Request};

use crate::sketch::mix;
use crate::{Access, CacheError, Universe};

/// Unit of caching: objects or pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// Each request addresses one object, identified by its first byte; capacities count objects.
    Objects,
    /// Objects with sizes; capacities count bytes. A cached object keeps the size of the request that inserted it. A
    /// larger request for the object counts as a hit, as in libCacheSim, and its additional bytes count as missed.
    SizedObjects,
    /// A request accesses every page that it touches, even in part; capacities count pages.
    Pages {
        /// Page size in bytes: a power of two, at least 512.
        page_bytes: u32,
    },
}

impl Granularity {
    /// True if the capacity counts items, so that each item takes one unit.
    pub const fn one_size(self) -> bool {
        !matches!(self, Self::SizedObjects)
    }

    /// Returns the bytes per unit of the capacity; None if the capacity counts objects.
    pub const fn unit_bytes(self) -> Option<u32> {
        match self {
            Self::Objects => None,
            Self::SizedObjects => Some(1),
            Self::Pages { page_bytes } => Some(page_bytes),
        }
    }

    pub(crate) fn check(self) -> Result<(), CacheError> {
        match self {
            Self::Pages { page_bytes } if !page_bytes.is_power_of_two() || page_bytes < 512 => {
                Err(CacheError::PageBytes { page_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// Effect of a trim on cached items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trims {
    /// A trim removes the object that its first byte identifies, or the pages that it covers completely.
    Drop,
    /// A trim has no effect.
    Ignore,
}

/// Converts reads and writes to item accesses, and trims to item removals; skips flushes. Items are numbered in the
/// order of their first access.
#[derive(Clone, Debug)]
pub struct Splitter {
    granularity: Granularity,
    trims: Trims,
    universe: Universe,
    /// Ids and sizes of accesses that are not yet converted. They are collected so that the hash slot of an id can be
    /// prefetched before the id is looked up.
    pending: Vec<(u64, u32)>,
    filter: Option<HashFilter>,
}

/// Filter that passes only items with small hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashFilter {
    pub seed: u64,
    /// Items pass the filter if their hashes are below this value.
    pub threshold: u64,
    /// Total number of accesses, including those that the filter drops. `units` is the total size of these accesses, in
    /// units of the cache capacity.
    pub accesses: u64,
    pub units: u64,
}

impl HashFilter {
    /// Hashes an id without collisions; each bit depends on all bits of the id.
    pub fn hash(&self, id: u64) -> u64 {
        mix(mix(id) ^ self.seed)
    }
}

/// Prefetch distance: the hash slot of an id is prefetched this many ids before the id is looked up.
const AHEAD: usize = 48;

/// Number of pending ids at which they are converted to item numbers as a batch.
const PENDING_MAX: usize = 1 << 16;

impl Splitter {
    /// Creates a splitter that has not seen any item yet.
    pub fn new(granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        granularity.check()?;
        Ok(Self { granularity, trims, universe: Universe::default(), pending: Vec::new(), filter: None })
    }

    /// Creates a splitter that keeps only accesses to items that pass `filter`.
    pub(crate) fn filtered(granularity: Granularity, trims: Trims, filter: HashFilter) -> Result<Self, CacheError> {
        Ok(Self { filter: Some(filter), ..Self::new(granularity, trims)? })
    }

    /// Returns the ids of the items with number `first` or higher, and the filter, which the splitter must have.
    pub(crate) fn ids_from(&mut self, first: usize) -> (&[u64], &mut HashFilter) {
        (&self.universe.ids()[first..], self.filter.as_mut().expect("the splitter must have a filter"))
    }

    /// Returns all items seen so far.
    pub fn universe(&self) -> &Universe {
        &self.universe
    }

    /// Appends the accesses of `requests` to `accesses`.
    pub fn split(&mut self, requests: &[Request], accesses: &mut Vec<Access>) -> Result<(), CacheError> {
        for request in requests {
            match request.op {
                Op::Read | Op::Write => match self.granularity {
                    Granularity::Objects => self.pending.push((request.offset, 1)),
                    Granularity::SizedObjects => self.pending.push((request.offset, request.bytes.max(1))),
                    Granularity::Pages { page_bytes } => {
                        let Range { mut start, end } = PageSize::new(page_bytes).touched(request.offset, request.end());
                        // A single request may touch more pages than fit in memory, so its pages are processed in
                        // batches.
                        while start < end {
                            let until = end.min(start + PENDING_MAX as u64);
                            self.pending.extend((start..until).map(|page| (page, 1)));
                            start = until;
                            if self.pending.len() >= PENDING_MAX {
                                self.number(accesses)?;
                            }
                        }
                    }
                },
                Op::Trim if self.trims == Trims::Drop => {
                    self.number(accesses)?;
                    self.drop(request, accesses);
                }
                Op::Trim | Op::Flush => {}
            }
        }
        self.number(accesses)
    }

    fn number(&mut self, accesses: &mut Vec<Access>) -> Result<(), CacheError> {
        if let Some(filter) = &mut self.filter {
            filter.accesses += self.pending.len() as u64;
            filter.units += self.pending.iter().map(|&(_, size)| u64::from(size)).sum::<u64>();
            self.pending.retain(|&(id, _)| filter.hash(id) < filter.threshold);
        }
        let items = self.universe.len();
        accesses.try_reserve(self.pending.len()).map_err(|_| CacheError::NoMemory { items })?;
        for (position, &(id, size)) in self.pending.iter().enumerate() {
            if let Some(&(id, _)) = self.pending.get(position + AHEAD) {
                self.universe.prefetch(id);
            }
            accesses.push(Access::new(self.universe.number(id)?, size));
        }
        self.pending.clear();
        Ok(())
    }

    fn drop(&self, request: &Request, accesses: &mut Vec<Access>) {
        let ids = match self.granularity {
            Granularity::Objects | Granularity::SizedObjects => request.offset..request.offset + 1,
            Granularity::Pages { page_bytes } => PageSize::new(page_bytes).covered(request.offset, request.end()),
        };
        accesses.extend(self.universe.within(ids).into_iter().map(Access::drop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset: u64, bytes: u32) -> Request {
        Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
    }

    /// Splits requests; returns the item id and the size of each access.
    fn split(granularity: Granularity, requests: &[Request]) -> Vec<(u64, u32)> {
        let mut splitter = Splitter::new(granularity, Trims::Drop).unwrap();
        let mut accesses = Vec::new();
        splitter.split(requests, &mut accesses).unwrap();
        accesses.iter().map(|access| (splitter.universe().id(access.item), access.size)).collect()
    }

    #[test]
    fn a_request_is_an_object_or_the_pages_it_touches() {
        let requests = [request(Op::Read, 8192, 60 << 10), request(Op::Write, 4095, 2)];
        assert_eq!(split(Granularity::Objects, &requests), [(8192, 1), (4095, 1)]);
        assert_eq!(split(Granularity::SizedObjects, &requests), [(8192, 61_440), (4095, 2)]);
        let pages = split(Granularity::Pages { page_bytes: 4096 }, &requests);
        assert_eq!(pages, (2..17).chain([0, 1]).map(|page| (page, 1)).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_request_touches_every_page_once() {
        let pages = 2 * PENDING_MAX as u32 + 3;
        let requests = [request(Op::Read, 512, 512), request(Op::Write, 0, 512 * pages), request(Op::Read, 0, 512)];
        let accesses = split(Granularity::Pages { page_bytes: 512 }, &requests);
        assert_eq!(
            accesses,
            [1].into_iter().chain(0..pages.into()).chain([0]).map(|page| (page, 1)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_trim_drops_fully_covered_pages() {
        let pages = Granularity::Pages { page_bytes: 4096 };
        let seen = request(Op::Write, 0, 5 * 4096);
        let trim = request(Op::Trim, 4095, 2 * 4096 + 1);
        assert_eq!(split(pages, &[seen, trim])[5..], [(1, 0), (2, 0)]);
        // The trim covers more pages than the trace has items, so the items are scanned instead.
        assert_eq!(split(pages, &[seen, request(Op::Trim, 4096, u32::MAX)])[5..], [1, 2, 3, 4].map(|page| (page, 0)));
        assert_eq!(split(Granularity::Objects, &[seen, request(Op::Trim, 0, 512)]), [(0, 1), (0, 0)]);
        assert_eq!(
            split(Granularity::Objects, &[seen, request(Op::Trim, 512, 512), request(Op::Flush, 0, 0)]).len(),
            1
        );
    }

    #[test]
    fn page_sizes_must_be_powers_of_two_from_512() {
        for page_bytes in [0, 256, 3000] {
            assert!(Splitter::new(Granularity::Pages { page_bytes }, Trims::Drop).is_err());
        }
    }
}
