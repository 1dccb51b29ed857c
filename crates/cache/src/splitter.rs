//! From requests to accesses.

use std::ops::Range;

use ssdlab_core::PageSize;
use ssdlab_trace::{Op, Request};

use crate::sketch::mix;
use crate::{Access, CacheError, Universe};

/// What is cached as one item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    /// What a request addresses is one object, named by its first byte; capacities count objects.
    Objects,
    /// The same, but capacities are in bytes: an object has the size of the request that brings it in, until it leaves.
    /// A larger request for it is a hit, as in libCacheSim, whose further bytes are missed.
    SizedObjects,
    /// Pages: a request accesses every page it touches, be it in part; capacities count pages.
    Pages {
        /// Bytes of a page, a power of two from 512.
        page_bytes: u32,
    },
}

impl Granularity {
    /// Whether every item is one unit of the capacity.
    pub const fn one_size(self) -> bool {
        !matches!(self, Self::SizedObjects)
    }

    /// Bytes of a unit of the capacity; objects that are only counted have none.
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

/// What a trim does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trims {
    /// Drops the object of its first byte, or the pages that it covers whole.
    Drop,
    /// Nothing.
    Ignore,
}

/// Turns requests into accesses to items of a universe that grows. Reads and writes are accesses alike; flushes none.
#[derive(Clone, Debug)]
pub struct Splitter {
    granularity: Granularity,
    trims: Trims,
    universe: Universe,
    /// Ids and sizes whose slots are on their way from memory.
    ahead: Vec<(u64, u32)>,
    sieve: Option<Sieve>,
}

/// Lets only items of small hash through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve {
    pub seed: u64,
    /// Hashes below pass.
    pub threshold: u64,
    /// All that came, in accesses and in units.
    pub accesses: u64,
    pub units: u64,
}

impl Sieve {
    /// Different for different ids; all bits depend on all bits of the id.
    pub fn hash(&self, id: u64) -> u64 {
        mix(mix(id) ^ self.seed)
    }
}

/// Ids looked ahead.
const AHEAD: usize = 48;

/// Ids that are gathered before they are numbered.
const MOST_AHEAD: usize = 1 << 16;

impl Splitter {
    /// A splitter with an empty universe.
    pub fn new(granularity: Granularity, trims: Trims) -> Result<Self, CacheError> {
        granularity.check()?;
        Ok(Self { granularity, trims, universe: Universe::default(), ahead: Vec::new(), sieve: None })
    }

    /// A splitter that lets through what `sieve` does.
    pub(crate) fn sieved(granularity: Granularity, trims: Trims, sieve: Sieve) -> Result<Self, CacheError> {
        Ok(Self { sieve: Some(sieve), ..Self::new(granularity, trims)? })
    }

    /// Ids from number `first` on, and what lets them through; for sieved splitters only.
    pub(crate) fn since(&mut self, first: usize) -> (&[u64], &mut Sieve) {
        (&self.universe.ids()[first..], self.sieve.as_mut().expect("a splitter made with a sieve"))
    }

    /// The items so far.
    pub fn universe(&self) -> &Universe {
        &self.universe
    }

    /// Appends the accesses of `requests`.
    pub fn split(&mut self, requests: &[Request], accesses: &mut Vec<Access>) -> Result<(), CacheError> {
        for request in requests {
            match request.op {
                Op::Read | Op::Write => match self.granularity {
                    Granularity::Objects => self.ahead.push((request.offset, 1)),
                    Granularity::SizedObjects => self.ahead.push((request.offset, request.bytes.max(1))),
                    Granularity::Pages { page_bytes } => {
                        let Range { mut start, end } = PageSize::new(page_bytes).touched(request.offset, request.end());
                        // One request may touch more pages than there is memory for at a time.
                        while start < end {
                            let until = end.min(start + MOST_AHEAD as u64);
                            self.ahead.extend((start..until).map(|page| (page, 1)));
                            start = until;
                            if self.ahead.len() >= MOST_AHEAD {
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
        if let Some(sieve) = &mut self.sieve {
            sieve.accesses += self.ahead.len() as u64;
            sieve.units += self.ahead.iter().map(|&(_, size)| u64::from(size)).sum::<u64>();
            self.ahead.retain(|&(id, _)| sieve.hash(id) < sieve.threshold);
        }
        let items = self.universe.len();
        accesses.try_reserve(self.ahead.len()).map_err(|_| CacheError::NoMemory { items })?;
        for (position, &(id, size)) in self.ahead.iter().enumerate() {
            if let Some(&(id, _)) = self.ahead.get(position + AHEAD) {
                self.universe.prefetch(id);
            }
            accesses.push(Access::new(self.universe.number(id)?, size));
        }
        self.ahead.clear();
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

    /// The ids and sizes accessed.
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
        let pages = 2 * MOST_AHEAD as u32 + 3;
        let requests = [request(Op::Read, 512, 512), request(Op::Write, 0, 512 * pages), request(Op::Read, 0, 512)];
        let found = split(Granularity::Pages { page_bytes: 512 }, &requests);
        assert_eq!(found, [1].into_iter().chain(0..pages.into()).chain([0]).map(|page| (page, 1)).collect::<Vec<_>>());
    }

    #[test]
    fn a_trim_drops_what_it_covers_whole() {
        let pages = Granularity::Pages { page_bytes: 4096 };
        let seen = request(Op::Write, 0, 5 * 4096);
        let trim = request(Op::Trim, 4095, 2 * 4096 + 1);
        assert_eq!(split(pages, &[seen, trim])[5..], [(1, 0), (2, 0)]);
        // More pages than there are items.
        assert_eq!(split(pages, &[seen, request(Op::Trim, 4096, u32::MAX)])[5..], [1, 2, 3, 4].map(|page| (page, 0)));
        assert_eq!(split(Granularity::Objects, &[seen, request(Op::Trim, 0, 512)]), [(0, 1), (0, 0)]);
        assert_eq!(
            split(Granularity::Objects, &[seen, request(Op::Trim, 512, 512), request(Op::Flush, 0, 0)]).len(),
            1
        );
    }

    #[test]
    fn pages_are_powers_of_two() {
        for page_bytes in [0, 256, 3000] {
            assert!(Splitter::new(Granularity::Pages { page_bytes }, Trims::Drop).is_err());
        }
    }
}
