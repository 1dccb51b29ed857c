//! Trace characterization in one pass: counts, sizes, extent, footprint, sequentiality.
//!
//! Memory is bounded, except for a count per distinct request size. Block traces have few distinct sizes.

use std::cmp::Reverse;
use std::collections::HashMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Op, Request};

/// Page size of the footprints, in bytes.
const PAGE: u64 = 4096;
/// Number of pages per bitmap chunk. A chunk covers 128 MiB of addresses with 8 KiB of bitmaps.
const CHUNK_PAGES: u64 = 1 << 15;
const CHUNK_WORDS: usize = (CHUNK_PAGES / 64) as usize;
/// Maximum number of chunks: 128 MiB of memory, which covers 2 TiB of densely used addresses.
const CHUNKS_MAX: usize = 16_384;

/// Characterization of a trace, from the requests added so far.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Number of requests of each operation, by [`Op`] number.
    pub requests: [u64; 4],
    /// Bytes requested by each operation, by [`Op`] number.
    pub bytes: [u64; 4],
    /// Time of the first request in ns.
    pub first_ns: u64,
    /// Time of the last request in ns.
    pub last_ns: u64,
    /// Lowest address of any request; 0 in an empty trace. Flushes have no address.
    pub min_offset: u64,
    /// First byte after the highest address. This is also the capacity of the smallest device for the trace.
    pub extent_bytes: u64,
    /// Bytes touched by reads or writes, in whole 4 KiB pages.
    pub footprint_bytes: u64,
    /// Bytes touched by reads, in whole 4 KiB pages.
    pub read_footprint_bytes: u64,
    /// Bytes touched by writes, in whole 4 KiB pages.
    pub write_footprint_bytes: u64,
    /// True if the footprints are exact. If the trace touches more than 16,384 regions of 128 MiB, they are lower
    /// bounds.
    pub footprint_exact: bool,
    /// Number of requests that begin where the previous request of the same operation ended, by [`Op`] number.
    pub sequential: [u64; 4],
    /// Number of reads, writes and trims whose offset and size are multiples of 4 KiB.
    pub aligned_4k: u64,
    /// Ids of the streams that read, write or trim; excludes 0, which means no stream.
    streams: FxHashSet<u16>,
    sizes: FxHashMap<u32, u64>,
    ends: [u64; 4],
    chunks: HashMap<u64, Box<Chunk>>,
}

/// Pages touched in one region, as bitmaps.
#[derive(Clone, Debug)]
struct Chunk {
    read: [u64; CHUNK_WORDS],
    written: [u64; CHUNK_WORDS],
}

impl Profile {
    /// Creates the profile of an empty trace.
    pub fn new() -> Self {
        Self { footprint_exact: true, ..Self::default() }
    }

    /// Adds requests in replay order.
    pub fn add(&mut self, requests: &[Request]) {
        for request in requests {
            self.add_one(request);
        }
    }

    fn add_one(&mut self, request: &Request) {
        let op = request.op as usize;
        if self.total_requests() == 0 {
            self.first_ns = request.time_ns;
        }
        self.last_ns = request.time_ns;
        self.requests[op] += 1;
        if request.op == Op::Flush {
            return;
        }
        if request.stream > 0 {
            self.streams.insert(request.stream);
        }
        let (offset, end, bytes) = (request.offset, request.offset.saturating_add(request.bytes.into()), request.bytes);
        self.min_offset = if self.extent_bytes == 0 { offset } else { self.min_offset.min(offset) };
        self.extent_bytes = self.extent_bytes.max(end);
        self.sequential[op] += u64::from(self.requests[op] > 1 && self.ends[op] == offset);
        self.ends[op] = end;
        self.bytes[op] += u64::from(bytes);
        self.aligned_4k += u64::from(offset.is_multiple_of(PAGE) && u64::from(bytes).is_multiple_of(PAGE));
        *self.sizes.entry(bytes).or_default() += 1;
        if request.op != Op::Trim && end > offset {
            self.touch(offset / PAGE, (end - 1) / PAGE, request.op == Op::Write);
        }
    }

    /// Marks the pages `first..=last` as touched by reads or writes.
    fn touch(&mut self, first: u64, last: u64, write: bool) {
        let mut page = first;
        while page <= last {
            let chunk_end = page / CHUNK_PAGES * CHUNK_PAGES + (CHUNK_PAGES - 1);
            let until = last.min(chunk_end);
            self.touch_chunk(page / CHUNK_PAGES, page % CHUNK_PAGES, until % CHUNK_PAGES, write);
            page = until + 1;
        }
    }

    fn touch_chunk(&mut self, number: u64, first: u64, last: u64, write: bool) {
        if self.chunks.len() == CHUNKS_MAX && !self.chunks.contains_key(&number) {
            self.footprint_exact = false;
            return;
        }
        let empty = || Box::new(Chunk { read: [0; CHUNK_WORDS], written: [0; CHUNK_WORDS] });
        let chunk = self.chunks.entry(number).or_insert_with(empty);
        let (mut fresh, mut fresh_in_any) = (0, 0);
        for word in first / 64..=last / 64 {
            let low = if word == first / 64 { first % 64 } else { 0 };
            let high = if word == last / 64 { last % 64 } else { 63 };
            let mask = (u64::MAX >> (63 - high)) & (u64::MAX << low);
            let index = word as usize;
            let (own, other) = if write {
                (&mut chunk.written[index], chunk.read[index])
            } else {
                (&mut chunk.read[index], chunk.written[index])
            };
            let new = mask & !*own;
            fresh += u64::from(new.count_ones());
            fresh_in_any += u64::from((new & !other).count_ones());
            *own |= mask;
        }
        let own = if write { &mut self.write_footprint_bytes } else { &mut self.read_footprint_bytes };
        *own += fresh * PAGE;
        self.footprint_bytes += fresh_in_any * PAGE;
    }

    /// Returns the number of requests of all operations.
    pub fn total_requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// Returns the bytes requested by all operations.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Returns the time from the first to the last request, in ns.
    pub fn duration_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// Returns the mean arrival rate in requests per second; `None` if the trace has no duration.
    pub fn rate_per_second(&self) -> Option<f64> {
        let seconds = self.duration_ns() as f64 / 1e9;
        (seconds > 0.0).then(|| self.total_requests() as f64 / seconds)
    }

    /// Returns the share of reads and writes that start where the previous request of the same operation ended, 0 to 1;
    /// `None` without reads and writes.
    pub fn sequential_share(&self) -> Option<f64> {
        let [reads, writes] = [Op::Read, Op::Write].map(|op| op as usize);
        share(self.sequential[reads] + self.sequential[writes], self.requests[reads] + self.requests[writes])
    }

    /// Returns the share of reads, writes and trims whose offset and size are multiples of 4 KiB, 0 to 1; `None`
    /// without such requests.
    pub fn aligned_share(&self) -> Option<f64> {
        share(self.aligned_4k, self.total_requests() - self.requests[Op::Flush as usize])
    }

    /// Returns the number of named streams that read, write or trim.
    pub fn streams(&self) -> u64 {
        self.streams.len() as u64
    }

    /// Returns the `count` most frequent sizes in bytes with their request counts; ties go to the smaller size.
    pub fn top_sizes(&self, count: usize) -> Vec<(u32, u64)> {
        let mut sizes: Vec<(u32, u64)> = self.sizes.iter().map(|(&size, &n)| (size, n)).collect();
        sizes.sort_unstable_by_key(|&(size, n)| (Reverse(n), size));
        sizes.truncate(count);
        sizes
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    #[test]
    fn counts_sizes_extent_and_order() {
        let mut profile = Profile::new();
        profile.add(&[
            request(5, Op::Write, 8192, 4096),
            request(6, Op::Write, 12288, 4096),
            request(7, Op::Read, 16384, 512),
            request(8, Op::Flush, 0, 0),
            request(1_000_000_005, Op::Trim, 1 << 30, 8192),
        ]);
        assert_eq!((profile.requests, profile.bytes), ([1, 2, 1, 1], [512, 8192, 8192, 0]));
        assert_eq!((profile.first_ns, profile.duration_ns()), (5, 1_000_000_000));
        assert_eq!((profile.min_offset, profile.extent_bytes), (8192, (1 << 30) + 8192));
        assert_eq!(profile.sequential, [0, 1, 0, 0]);
        assert_eq!(profile.top_sizes(2), [(4096, 2), (512, 1)]);
        assert_eq!((profile.aligned_share(), profile.rate_per_second()), (Some(0.75), Some(5.0)));
        assert_eq!(profile.sequential_share(), Some(1.0 / 3.0));
    }

    #[test]
    fn the_most_frequent_size_may_appear_late() {
        let mut profile = Profile::new();
        let once = (1..=5000).map(|size| request(0, Op::Read, 0, size));
        profile.add(&once.chain((0..3).map(|_| request(0, Op::Read, 0, 65_536))).collect::<Vec<_>>());
        assert_eq!(profile.top_sizes(3), [(65_536, 3), (1, 1), (2, 1)]);
    }

    #[test]
    fn only_streams_that_address_data_count() {
        let of = |stream, op| Request { stream, ..request(0, op, 0, if op == Op::Flush { 0 } else { 512 }) };
        let mut profile = Profile::new();
        profile.add(&[of(0, Op::Read), of(7, Op::Flush), of(300, Op::Read), of(9, Op::Trim), of(300, Op::Write)]);
        assert_eq!(profile.streams(), 2);
    }

    /// Goal: footprints are exact. Method: compares the footprints with a set of pages, across chunk and word
    /// boundaries.
    #[test]
    fn footprints_equal_a_set_of_pages() {
        let mut rng = ssdlab_core::Rng::named(9, "profile");
        let mut profile = Profile::new();
        let mut sets = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
        for _ in 0..2000 {
            let op = if rng.below(2) == 0 { Op::Read } else { Op::Write };
            let request = request(0, op, (128 << 20) - (1 << 19) + rng.below(1 << 20), 1 + rng.below(300_000) as u32);
            profile.add(&[request]);
            sets[op as usize].extend(request.offset / PAGE..=(request.end() - 1) / PAGE);
        }
        let pages = |set: &std::collections::BTreeSet<u64>| set.len() as u64 * PAGE;
        assert_eq!((profile.read_footprint_bytes, profile.write_footprint_bytes), (pages(&sets[0]), pages(&sets[1])));
        assert_eq!(profile.footprint_bytes, sets[0].union(&sets[1]).count() as u64 * PAGE);
        assert!(profile.footprint_exact);
    }

    #[test]
    fn a_footprint_beyond_the_bound_is_marked_inexact() {
        let mut profile = Profile::new();
        let all: Vec<Request> = (0..CHUNKS_MAX as u64 + 5).map(|n| request(0, Op::Read, n << 27, 4096)).collect();
        profile.add(&all);
        assert_eq!((profile.footprint_bytes, profile.footprint_exact), (CHUNKS_MAX as u64 * PAGE, false));
    }

    #[test]
    fn an_empty_trace_has_no_shares() {
        let profile = Profile::new();
        assert_eq!(
            (profile.aligned_share(), profile.sequential_share(), profile.rate_per_second()),
            (None, None, None)
        );
    }
}
